//===- te-run.cpp - compiles a function and runs it on files --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints one line for any error, exits with 1 then, and writes either all
// results or none.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "Lowering.h"
#include "Options.h"
#include "OutputDirectory.h"
#include "Program.h"
#include "Runtime.h"
#include "Signature.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "te/InitAll.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace mlir;
using namespace te::run;

static constexpr StringLiteral manifestName = "manifest.json";

static void registerEverything(DialectRegistry &registry) {
  mlir::registerAllPasses();
  te::quant::registerAllPasses();
  te::quant::registerAllPipelines();
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  te::quant::registerAllDialects(registry);
  te::quant::registerAllExtensions(registry);
}

static Expected<OwningOpRef<ModuleOp>>
parseModule(const std::string &path, MLIRContext &context,
            DiagnosticCollector &diagnostics) {
  std::string message;
  std::unique_ptr<MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return createStringError(Twine(message));
  auto sources = std::make_shared<SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), SMLoc());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return diagnostics.takeError("cannot parse '" + path + "'");
  return module;
}

static std::string getFileName(const BoundaryValue &result) {
  return (Twine(result.position) + "_" + result.name + ".bin").str();
}

/// Writes one object a line, with the keys in the order of the documentation.
static void writeManifest(const Signature &signature, ArrayRef<Output> outputs,
                          raw_ostream &stream) {
  StringRef separator = "[\n  ";
  for (auto [result, output] : zip(signature.results, outputs)) {
    stream << std::exchange(separator, ",\n  ");
    json::OStream json(stream);
    json.object([&, &result = result, &output = output] {
      json.attribute("result", result.position);
      json.attribute("name", result.name);
      json.attributeArray("shape", [&] {
        for (int64_t size : output.shape)
          json.value(size);
      });
      std::string dtype;
      raw_string_ostream(dtype) << result.elementType;
      json.attribute("dtype", dtype);
      json.attribute("file", getFileName(result));
    });
  }
  stream << (outputs.empty() ? "[]\n" : "\n]\n");
}

static Error addResults(const Program &program, const Signature &signature,
                        OutputDirectory &directory) {
  if (Error error = directory.create())
    return error;
  for (auto [result, output] : zip(signature.results, program.getOutputs()))
    if (Error error = directory.addFile(
            getFileName(result), [&, &output = output](raw_ostream &stream) {
              return program.write(output, stream);
            }))
      return error;
  return directory.addFile(manifestName, [&](raw_ostream &stream) {
    writeManifest(signature, program.getOutputs(), stream);
    return Error::success();
  });
}

/// Runs the program up to results that wait for their names.
static Error runProgram(LLVM::LLVMFuncOp function, const Signature &signature,
                        ArrayRef<Input> inputs, const Runtime &runtime,
                        DiagnosticCollector &diagnostics,
                        OutputDirectory &directory) {
  Expected<std::unique_ptr<Program>> program =
      Program::compile(function, signature, runtime, diagnostics);
  if (!program)
    return program.takeError();
  if (Error error = (*program)->run(inputs))
    return error;
  if (Error error = addResults(**program, signature, directory))
    return error;
  if (Error error = (*program)->release())
    return error;
  if (uint64_t faults = runtime.getFaultCount())
    return createStringError("the emulator found " + Twine(faults) +
                             " faults; --emulator-stats=FILE.json lists them");
  return Error::success();
}

static Error run(const Options &options) {
  if (Error error = checkOutputDirectory(options.outputDirectory))
    return error;

  DialectRegistry registry;
  registerEverything(registry);
  MLIRContext context(registry);
  DiagnosticCollector diagnostics(&context);
  Expected<OwningOpRef<ModuleOp>> module =
      parseModule(options.file, context, diagnostics);
  if (!module)
    return module.takeError();
  Expected<LLVM::LLVMFuncOp> function =
      lowerEntry(**module, options.entry, options.chip, diagnostics);
  if (!function)
    return function.takeError();
  Expected<Signature> signature = getSignature(*function);
  if (!signature)
    return signature.takeError();
  Expected<std::vector<Input>> inputs =
      loadInputs(options.inputs, signature->getInputs());
  if (!inputs)
    return inputs.takeError();

  Expected<Runtime> runtime = openEmulator(options.executable);
  if (!runtime)
    return runtime.takeError();
  for (const std::string &library : options.libraries)
    if (Error error = loadLibrary(library))
      return error;
  bool writesStats = !options.emulatorStats.empty();
  TeEmulatorOptions emulatorOptions = runtime->getOptions();
  emulatorOptions.statistics = writesStats;
  emulatorOptions.raceChecks = writesStats;
  runtime->setOptions(emulatorOptions);

  OutputDirectory directory(options.outputDirectory);
  Error error = runProgram(*function, *signature, *inputs, *runtime,
                           diagnostics, directory);
  // Statistics are there to explain a failure too.
  if (writesStats && runtime->writeStats(options.emulatorStats.c_str())) {
    Error statsError = runtime->takeError();
    if (error)
      consumeError(std::move(statsError));
    else
      error = std::move(statsError);
  }
  if (error)
    return error;
  if (Error error = directory.commit())
    return error;
  diagnostics.printWarnings(errs());
  return Error::success();
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  Error error = options ? run(*options) : options.takeError();
  if (!error)
    return 0;
  bool isLocated = error.isA<LocatedError>();
  std::string message = toString(std::move(error));
  std::replace(message.begin(), message.end(), '\n', ' ');
  errs() << (isLocated ? "" : "te-run: error: ") << message << '\n';
  return 1;
}
