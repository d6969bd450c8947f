//===- Program.cpp - a compiled function with its buffers -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace mlir;
using namespace te::run;

/// Results are copied to the host in pieces of this size.
static constexpr uint64_t transferSize = uint64_t(16) << 20;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// The engine would print an unresolved symbol by itself and say less about it.
static Error checkSymbols(const llvm::Module &module) {
  // Makes the search include this process.
  sys::DynamicLibrary::getPermanentLibrary(nullptr);
  for (const GlobalValue &value : module.global_values())
    if (value.isDeclaration() && !value.use_empty() &&
        !value.getName().starts_with("llvm.") &&
        !sys::DynamicLibrary::SearchForAddressOfSymbol(value.getName().str()))
      return createStringError(
          "expected '" + value.getName() +
          "' to be defined in the module, the runtime, a library of --load "
          "or the C library");
  // The engine wraps each function in another of this name.
  for (const llvm::Function &function : module)
    if (!function.isDeclaration() &&
        module.getNamedValue(("_mlir_" + function.getName()).str()))
      return createStringError(
          "expected no function beside '" + function.getName() +
          "' to have the name '_mlir_" + function.getName() + "'");
  return Error::success();
}

/// Stands in for abort(), to which cf.assert is lowered, so that it ends the
/// program and not te-run.
static void endProgram() { __builtin_trap(); }

Expected<std::unique_ptr<Program>>
Program::compile(LLVM::LLVMFuncOp function, const Signature &signature,
                 const Runtime &runtime, DiagnosticCollector &diagnostics) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  InitializeNativeTargetAsmParser();
  Expected<orc::JITTargetMachineBuilder> builder =
      orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(CodeGenOptLevel::Default);
  Expected<std::unique_ptr<TargetMachine>> optimizerTarget =
      builder->createTargetMachine();
  if (!optimizerTarget)
    return optimizerTarget.takeError();

  Error symbolError = Error::success();
  auto buildModule = [&](Operation *op, LLVMContext &context) {
    std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(op, context);
    if (module)
      symbolError = joinErrors(std::move(symbolError), checkSymbols(*module));
    return symbolError ? nullptr : std::move(module);
  };
  auto optimize = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0,
                                            optimizerTarget->get());
  StringRef libraries[] = {runtime.path};
  ExecutionEngineOptions options;
  options.llvmModuleBuilder = buildModule;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = CodeGenOptLevel::Default;
  options.sharedLibPaths = libraries;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  Expected<std::unique_ptr<mlir::ExecutionEngine>> engine =
      mlir::ExecutionEngine::create(function->getParentOfType<ModuleOp>(),
                                    options);
  if (symbolError) {
    consumeError(engine.takeError());
    return symbolError;
  }
  if (!engine)
    return diagnostics.takeError(toString(engine.takeError()));

  std::unique_ptr<Program> program(new Program(signature, runtime));
  program->engine = std::move(*engine);
  auto abortFunction = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      function->getParentOp(), StringAttr::get(function.getContext(), "abort"));
  if (abortFunction && abortFunction.isExternal())
    program->engine->registerSymbols([](orc::MangleAndInterner intern) {
      orc::SymbolMap symbols;
      symbols[intern("abort")] = {orc::ExecutorAddr::fromPtr(&endProgram),
                                  JITSymbolFlags::Exported};
      return symbols;
    });
  Expected<void (*)(void **)> entry =
      program->engine->lookupPacked(function.getName());
  if (!entry)
    return entry.takeError();
  program->entry = *entry;
  if (Error error = program->call([&] { program->engine->initialize(); }))
    return error;
  return program;
}

/// Runs compiled code so that its faults are errors.
Error Program::call(llvm::function_ref<void()> compiledCode) {
  int status = runtime.callGuarded(
      [](void *code) { (*static_cast<llvm::function_ref<void()> *>(code))(); },
      &compiledCode);
  if (status == 0)
    return Error::success();
  // What a fault left behind in the engine, locks for example, is unknown.
  (void)engine.release();
  if (Error error = runtime.takeError())
    return error;
  return createStringError("the compiled program did not come to its end");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Error Program::upload(ArrayRef<Input> inputs) {
  for (auto [argument, input] : zip(signature.getInputs(), inputs)) {
    if (!argument.isTensor()) {
      uint64_t word = 0;
      std::memcpy(&word, input.bytes.data(), input.bytes.size());
      words.push_back(word);
      inputBuffers.push_back(nullptr);
      continue;
    }
    void *buffer =
        runtime.memAlloc(input.bytes.size(), stream, /*isHostShared=*/false);
    if (buffer)
      buffers.insert(buffer);
    inputBuffers.push_back(buffer);
    if (!input.bytes.empty())
      runtime.memcpy(buffer, const_cast<char *>(input.bytes.data()),
                     input.bytes.size(), stream);
    if (Error error = runtime.takeError())
      return error;

    uint64_t address = reinterpret_cast<uint64_t>(buffer);
    words.append({address, address, /*offset=*/0});
    words.append(input.shape.begin(), input.shape.end());
    size_t firstStride = words.size();
    words.append(input.shape.size(), 1);
    for (size_t i = input.shape.size(); i-- > 1;)
      words[firstStride + i - 1] = words[firstStride + i] * input.shape[i];
  }
  if (signature.getInputs().size() != signature.arguments.size())
    words.push_back(reinterpret_cast<uint64_t>(stream));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {

/// Walks over what the function returned: one value, or a struct of several,
/// with the fields of each descriptor in place.
class ReturnedReader {
public:
  explicit ReturnedReader(ArrayRef<char> bytes) : bytes(bytes) {}

  void read(void *value, size_t size) {
    offset = alignTo(offset, size);
    std::memcpy(value, bytes.data() + offset, size);
    offset += size;
  }
  int64_t readWord() {
    int64_t word;
    read(&word, sizeof(word));
    return word;
  }

private:
  ArrayRef<char> bytes;
  size_t offset = 0;
};

} // namespace

/// Returns an upper bound of the bytes that the function returns.
static size_t getReturnedSize(const Signature &signature) {
  size_t size = 0;
  for (const BoundaryValue &result : signature.results)
    size += 8 * (result.isTensor() ? 3 + 2 * result.shape->size() : 1);
  return size;
}

/// Whether elements lie as in an array in C order. Strides of sizes below two
/// mean nothing.
static bool isContiguous(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  if (is_contained(shape, 0))
    return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

Error Program::readResults(ArrayRef<Input> inputs, ArrayRef<char> returned) {
  ReturnedReader reader(returned);
  // The first error is kept until all buffers are known, to free them.
  Error firstError = Error::success();
  auto fail = [&](const BoundaryValue &result, const Twine &message) {
    if (firstError)
      return;
    firstError = createStringError("result " + Twine(result.position) + " ('" +
                                   result.name + "'): " + message);
  };
  for (const BoundaryValue &result : signature.results) {
    Output &output = outputs.emplace_back();
    if (!result.isTensor()) {
      output.sizeInBytes = result.elementSize;
      reader.read(output.scalar.data(), result.elementSize);
      continue;
    }
    if (result.tiedArgument) {
      output.shape = inputs[*result.tiedArgument].shape;
      output.sizeInBytes = inputs[*result.tiedArgument].bytes.size();
      output.deviceData =
          static_cast<char *>(inputBuffers[*result.tiedArgument]);
      continue;
    }

    if (void *allocated = reinterpret_cast<void *>(reader.readWord()))
      buffers.insert(allocated);
    output.deviceData = reinterpret_cast<char *>(reader.readWord());
    output.deviceData += reader.readWord() * result.elementSize;
    SmallVector<int64_t> strides;
    for (size_t i = 0; i < result.shape->size(); ++i)
      output.shape.push_back(reader.readWord());
    for (size_t i = 0; i < result.shape->size(); ++i)
      strides.push_back(reader.readWord());

    for (auto [expected, size] : zip(*result.shape, output.shape))
      if (size < 0 || (!ShapedType::isDynamic(expected) && size != expected))
        fail(result, "expected the shape [" + formatShape(*result.shape) +
                         "], but got [" + formatShape(output.shape) + "]");
    std::optional<int64_t> size =
        getSizeInBytes(output.shape, result.elementSize);
    if (!size)
      fail(result, "the shape [" + formatShape(output.shape) +
                       "] has more bytes than 63 bits can count");
    else if (!isContiguous(output.shape, strides))
      fail(result, "expected a contiguous buffer, but got the strides [" +
                       formatShape(strides) + "]");
    output.sizeInBytes = size.value_or(0);
  }
  return firstError;
}

Error Program::write(const Output &output, raw_ostream &stream) const {
  if (!output.deviceData) {
    stream.write(output.scalar.data(), output.sizeInBytes);
    return Error::success();
  }
  std::vector<char> piece(std::min(transferSize, output.sizeInBytes));
  for (uint64_t offset = 0; offset < output.sizeInBytes;
       offset += piece.size()) {
    uint64_t size =
        std::min<uint64_t>(piece.size(), output.sizeInBytes - offset);
    runtime.memcpy(piece.data(), output.deviceData + offset, size,
                   this->stream);
    runtime.streamSynchronize(this->stream);
    if (Error error = runtime.takeError())
      return error;
    stream.write(piece.data(), size);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Error Program::run(ArrayRef<Input> inputs) {
  stream = runtime.streamCreate();
  if (Error error = runtime.takeError())
    return error;
  if (Error error = upload(inputs))
    return error;

  SmallVector<uint64_t> returned(getReturnedSize(signature) / 8);
  SmallVector<void *> packed;
  for (uint64_t &word : words)
    packed.push_back(&word);
  packed.push_back(returned.data());
  if (Error error = call([&] { entry(packed.data()); }))
    return error;
  runtime.streamSynchronize(stream);
  if (Error error = runtime.takeError())
    return error;
  return readResults(inputs,
                     ArrayRef(reinterpret_cast<const char *>(returned.data()),
                              returned.size() * sizeof(uint64_t)));
}

Error Program::release() {
  for (void *buffer : buffers)
    runtime.memFree(buffer, stream);
  buffers.clear();
  if (stream)
    runtime.streamDestroy(stream);
  stream = nullptr;
  return runtime.takeError();
}

Program::~Program() { consumeError(release()); }
