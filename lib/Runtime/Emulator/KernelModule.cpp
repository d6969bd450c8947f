//===- KernelModule.cpp - loaded kernel modules ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelModule.h"

#include "DeviceFunctions.h"
#include "KernelTransforms.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/SROA.h"

using namespace llvm;
using namespace te::emulator;

//===----------------------------------------------------------------------===//
// The host compiler
//===----------------------------------------------------------------------===//

namespace {

/// The process's compiler and linker for host code. It is never destroyed, as
/// modules may be unloaded by the last destructors of a program.
class HostCompiler {
public:
  static Expected<HostCompiler &> get() {
    static HostCompiler *compiler = nullptr;
    static std::string failure;
    static std::once_flag once;
    std::call_once(once, [] {
      auto fresh = std::make_unique<HostCompiler>();
      if (Error error = fresh->initialize())
        failure = toString(std::move(error));
      else
        compiler = fresh.release();
    });
    if (!compiler)
      return createStringError("the emulator cannot compile for this host: " +
                               failure);
    return *compiler;
  }

  Expected<orc::JITDylib &> createLibrary();

  /// Optimises and compiles a module, and adds it to a library.
  Error add(orc::JITDylib &library, Module &module);

  TargetMachine &getTarget() { return *target; }
  orc::LLJIT &getJIT() { return *jit; }
  /// One compilation at a time uses the target machine.
  std::mutex mutex;

private:
  Error initialize();

  std::unique_ptr<orc::LLJIT> jit;
  std::unique_ptr<TargetMachine> target;
  unsigned libraryCount = 0;
};

} // namespace

Error HostCompiler::initialize() {
  if (InitializeNativeTarget() || InitializeNativeTargetAsmPrinter())
    return createStringError("LLVM was built without the host's target");
  Expected<orc::JITTargetMachineBuilder> builder =
      orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  // Instructions that flush subnormals or round in their own way.
  StringMap<bool> features = sys::getHostCPUFeatures();
  for (const auto &feature : features)
    if (StringRef name = feature.getKey();
        name.starts_with("avx512bf16") || name.starts_with("avxneconvert") ||
        name.starts_with("avx10.2") || name.starts_with("avx512fp16"))
      builder->getFeatures().AddFeature(name, /*Enable=*/false);
  builder->getOptions().AllowFPOpFusion = FPOpFusion::Strict;
  builder->setCodeGenOptLevel(CodeGenOptLevel::Default);
  Expected<std::unique_ptr<TargetMachine>> machine =
      builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  target = std::move(*machine);

  Expected<std::unique_ptr<orc::LLJIT>> created =
      orc::LLJITBuilder()
          .setJITTargetMachineBuilder(std::move(*builder))
          .setPlatformSetUp(orc::setUpInactivePlatform)
          .create();
  if (!created)
    return created.takeError();
  jit = std::move(*created);
  return Error::success();
}

Expected<orc::JITDylib &> HostCompiler::createLibrary() {
  Expected<orc::JITDylib &> library =
      jit->createJITDylib("kernels." + std::to_string(libraryCount++));
  if (!library)
    return library.takeError();
  orc::SymbolMap symbols;
  for (ArrayRef<DeviceFunction> functions :
       {getArithmeticFunctions(), getExecutionFunctions()})
    for (const DeviceFunction &function : functions)
      symbols[jit->mangleAndIntern(function.name)] = {
          orc::ExecutorAddr::fromPtr(function.address),
          JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = library->define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  // Code generation calls the C library for memcpy, fmaf and their like.
  Expected<std::unique_ptr<orc::DynamicLibrarySearchGenerator>> process =
      orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library->addGenerator(std::move(*process));
  return library;
}

Error HostCompiler::add(orc::JITDylib &library, Module &module) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder passes(target.get());
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);

  Expected<std::unique_ptr<MemoryBuffer>> object =
      orc::SimpleCompiler(*target)(module);
  if (!object)
    return object.takeError();
  return jit->addObjectFile(library, std::move(*object));
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {
class DiagnosticCollector : public DiagnosticHandler {
public:
  explicit DiagnosticCollector(std::string &text) : text(text) {}

  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() != DS_Error)
      return true;
    raw_string_ostream stream(text);
    DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

private:
  std::string &text;
};
} // namespace

/// Makes several lines one.
static std::string toOneLine(StringRef text) {
  std::string line;
  for (char c : text.trim())
    line += c == '\n' ? ' ' : c;
  return line;
}

static Error describeForeignBlob(StringRef blob) {
  StringRef start = blob.ltrim();
  StringRef kind = start.starts_with("//") || start.starts_with(".version")
                       ? "PTX"
                   : blob.starts_with("\x7f" "ELF") ? "a cubin"
                   : blob.starts_with(StringRef("\x50\xed\x55\xba", 4))
                       ? "a fatbin"
                       : "something else";
  return createStringError("expected LLVM bitcode of a kernel module, as "
                           "format=llvm embeds it, but got " +
                           kind);
}

Expected<std::unique_ptr<KernelModule>> KernelModule::load(StringRef bitcode) {
  if (identify_magic(bitcode) != file_magic::bitcode)
    return describeForeignBlob(bitcode);
  std::unique_ptr<KernelModule> loaded(new KernelModule);
  loaded->context = std::make_unique<LLVMContext>();
  loaded->context->setDiagnosticHandler(
      std::make_unique<DiagnosticCollector>(loaded->diagnostics));
  Expected<std::unique_ptr<Module>> parsed = parseBitcodeFile(
      MemoryBufferRef(bitcode, "kernels"), *loaded->context);
  if (!parsed)
    return createStringError("cannot read the kernel module's bitcode: " +
                             toOneLine(toString(parsed.takeError())));
  loaded->module = std::move(*parsed);
  Module &module = *loaded->module;
  if (!module.getTargetTriple().isNVPTX())
    return createStringError("expected a kernel module for nvptx64, but got "
                             "one for '" +
                             module.getTargetTriple().str() + "'");
  std::string problems;
  raw_string_ostream stream(problems);
  if (verifyModule(module, &stream))
    return createStringError("the kernel module is not valid: " +
                             toOneLine(problems));
  StripDebugInfo(module);
  if (Error error = checkKernelModule(module))
    return error;
  for (auto [index, variable] : enumerate(module.globals()))
    if (!variable.hasName())
      variable.setName("unnamed." + Twine(index));
  if (Error error = loaded->link())
    return error;
  return loaded;
}

KernelModule::~KernelModule() {
  for (uint64_t address : variableAddresses)
    DeviceMemory::get().removeRange(address);
  if (!library)
    return;
  if (Expected<HostCompiler &> compiler = HostCompiler::get())
    // Nothing is left to do about code that cannot be freed.
    consumeError(
        compiler->getJIT().getExecutionSession().removeJITDylib(*library));
}

Error KernelModule::link() {
  Expected<HostCompiler &> compiler = HostCompiler::get();
  if (!compiler)
    return compiler.takeError();
  std::lock_guard<std::mutex> lock(compiler->mutex);
  Expected<orc::JITDylib &> created = compiler->createLibrary();
  if (!created)
    return created.takeError();
  library = &*created;
  return placeVariables();
}

/// Gives the module's global and constant variables their memory.
Error KernelModule::placeVariables() {
  if (none_of(module->globals(), isPlacedVariable))
    return Error::success();
  HostCompiler &compiler = *HostCompiler::get();
  std::unique_ptr<Module> variables = flattenVariables(*module);
  for (const Function &function : *variables)
    return createStringError("a variable of the kernel module holds the "
                             "address of function '" +
                             function.getName() +
                             "', which the emulator does not support");
  variables->setTargetTriple(compiler.getTarget().getTargetTriple());
  variables->setDataLayout(compiler.getTarget().createDataLayout());
  if (Error error = compiler.add(*library, *variables))
    return error;
  for (const GlobalVariable &variable : module->globals()) {
    if (!isPlacedVariable(variable))
      continue;
    Expected<orc::ExecutorAddr> address =
        compiler.getJIT().lookup(*library, getVariableSymbol(variable));
    if (!address)
      return address.takeError();
    Allocation range;
    range.begin = address->getValue();
    range.size = module->getDataLayout()
                     .getTypeAllocSize(variable.getValueType())
                     .getFixedValue();
    range.description = ("variable '" + variable.getName() + "'").str();
    range.isReadOnly = variable.isConstant();
    range.isConstantSpace = variable.getAddressSpace() == 4;
    variableAddresses.push_back(range.begin);
    DeviceMemory::get().addRange(std::move(range));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Reads "x,y,z", where missing numbers are 1.
static std::optional<std::array<uint32_t, 3>>
parseRequiredBlock(const Function &kernel) {
  Attribute attribute = kernel.getFnAttribute("nvvm.reqntid");
  if (!attribute.isValid())
    return std::nullopt;
  std::array<uint32_t, 3> block = {1, 1, 1};
  SmallVector<StringRef, 3> parts;
  attribute.getValueAsString().split(parts, ',');
  for (auto [extent, part] : zip(block, parts))
    if (part.trim().getAsInteger(10, extent))
      return std::nullopt;
  return block;
}

Expected<Kernel *> KernelModule::getKernel(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Kernel> &kernel = kernels[name];
  if (kernel)
    return kernel.get();
  Function *function = module->getFunction(name);
  if (!function || function->isDeclaration() ||
      function->getCallingConv() != CallingConv::PTX_Kernel) {
    kernels.erase(name);
    return createStringError("the kernel module has no kernel '" + name + "'");
  }
  kernel = std::make_unique<Kernel>();
  kernel->module = this;
  kernel->function = function;
  kernel->name = name.str();
  kernel->argumentCount = function->arg_size();
  kernel->requiredBlock = parseRequiredBlock(*function);
  return kernel.get();
}

Expected<const KernelCode *> KernelModule::getCode(Kernel &kernel,
                                                   bool reportsAccesses) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<KernelCode> &code = kernel.code[reportsAccesses];
  if (!code) {
    Expected<std::unique_ptr<KernelCode>> compiled =
        compile(kernel, reportsAccesses);
    if (!compiled)
      return createStringError("cannot compile kernel '" + kernel.name +
                               "': " +
                               toOneLine(toString(compiled.takeError())));
    code = std::move(*compiled);
  }
  return code.get();
}

/// Keeps small local variables out of memory, so that accesses of them are not
/// reported one by one.
static void promoteLocalVariables(Module &module) {
  FunctionAnalysisManager analyses;
  PassBuilder passes;
  passes.registerFunctionAnalyses(analyses);
  FunctionPassManager manager;
  manager.addPass(SROAPass(SROAOptions::PreserveCFG));
  for (Function &function : module)
    if (!function.isDeclaration())
      manager.run(function, analyses);
}

Expected<std::unique_ptr<KernelCode>>
KernelModule::compile(Kernel &kernel, bool reportsAccesses) {
  Expected<HostCompiler &> compiler = HostCompiler::get();
  if (!compiler)
    return compiler.takeError();
  std::lock_guard<std::mutex> lock(compiler->mutex);
  KernelUnit unit = flattenKernel(*kernel.function);
  Module &host = *unit.module;
  host.setTargetTriple(compiler->getTarget().getTargetTriple());
  host.setDataLayout(compiler->getTarget().createDataLayout());
  promoteLocalVariables(host);
  if (Error error = placeSharedMemory(unit))
    return error;
  lowerIntrinsics(unit);
  lowerArithmetic(host);
  if (reportsAccesses)
    instrumentAccesses(unit);
  std::string name = ("te.thunk." + Twine(reportsAccesses) + "." + kernel.name)
                         .str();
  addThunk(unit, name);
  std::string problems;
  raw_string_ostream stream(problems);
  if (verifyModule(host, &stream))
    return createStringError("its host code is not valid: " + problems);
  if (Error error = compiler->add(*library, host))
    return error;
  if (!diagnostics.empty())
    return createStringError(diagnostics);
  Expected<orc::ExecutorAddr> thunk =
      compiler->getJIT().lookup(*library, name);
  if (!thunk)
    return thunk.takeError();

  auto code = std::make_unique<KernelCode>();
  code->name = kernel.name;
  code->thunk = thunk->toPtr<void (*)(void **)>();
  code->staticSharedSize = unit.staticSharedSize;
  code->usesFibers = unit.usesFibers;
  code->siteCount = unit.siteCount;
  return code;
}
