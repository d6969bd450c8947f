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
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdlib>
#include <thread>

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

/// Runs the programs of all ranks, each in a thread of its own where there are
/// several. The error says what each rank found.
static Error runRanks(ArrayRef<std::unique_ptr<Program>> programs,
                      ArrayRef<std::vector<Input>> inputs,
                      const Runtime &runtime) {
  int64_t numRanks = programs.size();
  if (numRanks == 1)
    return programs.front()->run(inputs.front());
  void *communicator = runtime.communicatorCreate(numRanks);
  std::vector<std::string> messages(numRanks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank != numRanks; ++rank)
    threads.emplace_back([&, rank] {
      runtime.setGroup(nullptr, rank, numRanks, communicator);
      if (Error error = programs[rank]->run(inputs[rank]))
        messages[rank] = toString(std::move(error));
      // Those that still wait for this rank fail.
      runtime.setGroup(nullptr, rank, numRanks, nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  runtime.communicatorDestroy(communicator);
  std::string message;
  for (auto [rank, text] : enumerate(messages))
    if (!text.empty())
      message += ((message.empty() ? "rank " : "; rank ") + Twine(rank) +
                  ": " + text)
                     .str();
  return message.empty() ? Error::success()
                         : createStringError(Twine(message));
}

/// Runs the program up to results that wait for their names.
static Error runProgram(LLVM::LLVMFuncOp function, const Signature &signature,
                        ArrayRef<std::vector<Input>> inputs,
                        const Runtime &runtime,
                        DiagnosticCollector &diagnostics,
                        ArrayRef<std::unique_ptr<OutputDirectory>> directories) {
  // Each rank has machine code, and with it constants on the device, of its
  // own.
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t rank = 0; rank != inputs.size(); ++rank) {
    Expected<std::unique_ptr<Program>> program =
        Program::compile(function, signature, runtime, diagnostics);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (Error error = runRanks(programs, inputs, runtime))
    return error;
  for (auto [program, directory] : zip(programs, directories)) {
    if (Error error = addResults(*program, signature, *directory))
      return error;
    if (Error error = program->release())
      return error;
  }
  if (uint64_t faults = runtime.getFaultCount())
    return createStringError("the emulator found " + Twine(faults) +
                             " faults; --emulator-stats=FILE.json lists them");
  return Error::success();
}

/// The inputs of each rank.
static Expected<std::vector<std::vector<Input>>>
loadInputs(const Options &options, const Signature &signature) {
  ArrayRef<std::string> files = options.inputs;
  size_t perRank = signature.getInputs().size();
  std::vector<std::vector<Input>> inputs;
  if (options.ranks > 1 && files.size() != perRank * options.ranks)
    return createStringError(
        "expected " + Twine(perRank) + " inputs for each of " +
        Twine(options.ranks) + " ranks, but got " + Twine(files.size()));
  for (int64_t rank = 0; rank != options.ranks; ++rank) {
    Expected<std::vector<Input>> loaded = te::run::loadInputs(
        options.ranks == 1 ? files : files.slice(rank * perRank, perRank),
        signature.getInputs());
    if (!loaded)
      return loaded.takeError();
    inputs.push_back(std::move(*loaded));
  }
  return inputs;
}

/// Where the results of each rank go.
static std::vector<std::unique_ptr<OutputDirectory>>
getOutputDirectories(const Options &options) {
  std::vector<std::unique_ptr<OutputDirectory>> directories;
  if (options.ranks == 1) {
    directories.push_back(
        std::make_unique<OutputDirectory>(options.outputDirectory));
    return directories;
  }
  for (int64_t rank = 0; rank != options.ranks; ++rank) {
    SmallString<128> path(options.outputDirectory);
    sys::path::append(path, "rank" + Twine(rank));
    directories.push_back(std::make_unique<OutputDirectory>(path));
  }
  return directories;
}

/// The first may have made what the others are in.
static void
removeAll(std::vector<std::unique_ptr<OutputDirectory>> &directories) {
  while (!directories.empty())
    directories.pop_back();
}

/// What a program that is running would write to.
static std::vector<std::unique_ptr<OutputDirectory>> *runningInto = nullptr;

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
  Expected<std::vector<std::vector<Input>>> inputs =
      loadInputs(options, *signature);
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

  std::vector<std::unique_ptr<OutputDirectory>> directories =
      getOutputDirectories(options);
  scope_exit removeLastFirst([&] { removeAll(directories); });
  runningInto = &directories;
  Error error = runProgram(*function, *signature, *inputs, *runtime,
                           diagnostics, directories);
  runningInto = nullptr;
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
  for (std::unique_ptr<OutputDirectory> &directory : directories)
    if (Error error = directory->commit())
      return error;
  diagnostics.printWarnings(errs());
  return Error::success();
}

/// A program that calls `exit` has not finished: no result is written.
static void failOnExit() {
  if (!runningInto)
    return;
  removeAll(*runningInto);
  errs() << "te-run: error: the program called exit\n";
  _Exit(1);
}

int main(int argc, char **argv) {
  std::atexit(failOnExit);
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
