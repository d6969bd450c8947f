//===- Options.cpp - the command line of te-run ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "te/Target/TargetInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llvm;
using namespace te::run;

static cl::OptionCategory category("te-run options");

static cl::opt<std::string> fileOption(cl::Positional, cl::desc("FILE.mlir"),
                                       cl::cat(category));

static cl::opt<std::string>
    entryOption("entry", cl::value_desc("name"),
                cl::desc("Public function to run (required)"),
                cl::cat(category));

static cl::opt<std::string> targetOption(
    "target", cl::value_desc("target"),
    cl::desc("Where to run it (required): emulate runs the GPU kernels on the "
             "CPU by emulation; cpu and cuda are not supported yet"),
    cl::cat(category));

static cl::opt<std::string> chipOption(
    "chip", cl::value_desc("chip"), cl::init("sm_90a"),
    cl::desc("GPU that kernels are compiled for (default sm_90a); means "
             "nothing for a module that is lowered already"),
    cl::cat(category));

static cl::opt<int64_t> ranksOption(
    "ranks", cl::value_desc("N"), cl::init(1),
    cl::desc("Run N ranks at once, which every group of the program consists "
             "of (default 1); see below"),
    cl::cat(category));

static cl::list<std::string> inputOption(
    "input", cl::value_desc("FILE[:SHAPE]"),
    cl::desc("Value of the next argument after flattening; see below"),
    cl::cat(category));

static cl::opt<std::string> outputOption(
    "output-dir", cl::value_desc("dir"),
    cl::desc("Folder for the results and manifest.json (required); made if it "
             "is not there"),
    cl::cat(category));

static cl::list<std::string> loadOption(
    "load", cl::value_desc("LIB"),
    cl::desc("Shared library with functions that the program calls, such as "
             "those that a custom quantizer names: a path with a slash, or a "
             "name that the loader finds"),
    cl::cat(category));

static cl::opt<std::string> statsOption(
    "emulator-stats", cl::value_desc("FILE.json"),
    cl::desc("Count memory traffic, check for races, and write for each kernel "
             "its launches, bytes, sectors and bank conflicts, and all faults; "
             "written after a failed run too"),
    cl::cat(category));

static cl::extrahelp details(R"(
INPUT: FILE.mlir, `-` for the standard input, is text or bytecode in any of the
dialects that te-opt knows. It is lowered with te-quant-gpu-pipeline, unless it
is in the LLVM dialect already, as te-opt's
--te-quant-gpu-pipeline="chip=CHIP format=llvm" leaves it.

ARGUMENTS: a quantized tensor is passed as its inner tensors in canonical order.
There is one --input for each argument after flattening, in order, the same for
scalars. A trailing !llvm.ptr argument, the stream, is no input: te-run passes
one. Formats:

  FILE            the elements as raw little-endian bytes in C order, exactly as
                  many as the argument has; i1 takes a byte of 0 or 1, index
                  takes 8 bytes
  FILE.npy        a numpy array, versions 1 to 3, C order, little-endian. f16,
                  f32, f64: dtypes <f2, <f4, <f8; integers: <iN or <uN; i1: |b1;
                  index: <i8 or <u8; bf16: <V2, bfloat16, <u2, <i2; 8-bit
                  floats: |V1, ml_dtypes' names, |u1, |i1. The sizes must be the
                  argument's.
  FILE:2x128x64   either, with the sizes of an argument that has dynamic
                  dimensions; with a .npy file they must be its own. A file that
                  has this very name is preferred.

RESULTS: each result after flattening goes to DIR/<result index>_<inner name>.bin
as raw little-endian bytes in C order; the inner name of a plain tensor is
`data`, of a scalar `value`. DIR/manifest.json is an array, in order, of
  {"result": 0, "name": "data", "shape": [2, 64], "dtype": "bf16",
   "file": "0_data.bin"}
with MLIR's spelling of the dtype; a scalar has the shape []. Results that are
updated in place or passed through are written like any other.

RANKS: with --ranks=N above 1 the function runs N times at once, each in a
thread of its own, and collectives of groups of N connect them. There are N
times as many --input, those of rank 0 first; results go to DIR/rank0 to
DIR/rank<N-1>.

EXIT STATUS: 0, or 1 after one line on the standard error that says what is
wrong: FILE:LINE:COLUMN: error: ... for the program, te-run: error: ... for
everything else. Then DIR is as it was before. A fault that the emulator finds,
such as an access out of bounds, or a check that fails at run time is an error.
)");

/// Returns what is wrong in one line, without the name of the program and hints
/// on further lines.
static Error makeCommandLineError(StringRef text) {
  StringRef line = text.split('\n').first;
  if (size_t colon = line.find(": ");
      colon != StringRef::npos && !line.take_front(colon).contains(' '))
    line = line.drop_front(colon + 2);
  return createStringError(line.rtrim());
}

static Error checkOptions() {
  struct Required {
    cl::Option &option;
    StringRef description;
  };
  for (const Required &required : {Required{fileOption, "a file with a module"},
                                   Required{entryOption, "--entry=NAME"},
                                   Required{targetOption, "--target=emulate"},
                                   Required{outputOption, "--output-dir DIR"}})
    if (required.option.getNumOccurrences() == 0)
      return createStringError("expected " + required.description +
                               "; see te-run --help");
  if (outputOption.empty())
    return createStringError("expected --output-dir to name a folder, but got "
                             "an empty name");
  if (targetOption == "cpu" || targetOption == "cuda")
    return createStringError("the target " + targetOption +
                             " is not supported yet, only emulate is");
  if (targetOption != "emulate")
    return createStringError("expected --target to be emulate, cpu or cuda, "
                             "but got '" +
                             targetOption + "'");
  if (!te::quant::TargetInfo::lookup(chipOption))
    return createStringError("expected --chip to be one of " +
                             te::quant::TargetInfo::getKnownChips() +
                             ", but got '" + chipOption + "'");
  if (ranksOption < 1 || ranksOption > 64)
    return createStringError("expected --ranks to be 1 to 64, but got " +
                             Twine(ranksOption));
  if (is_contained(loadOption, ""))
    return createStringError("expected --load to name a library, but got an "
                             "empty name");
  if (statsOption.getNumOccurrences() && statsOption.empty())
    return createStringError("expected --emulator-stats to name a file, but "
                             "got an empty name");
  return Error::success();
}

Expected<Options> te::run::parseOptions(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &stream) {
    stream << "te-run (te-mlir " TE_RUN_VERSION ", LLVM " LLVM_VERSION_STRING
              ")\n";
  });
  std::string message;
  raw_string_ostream stream(message);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "te-run: compiles a function of an MLIR "
                                   "module and runs it on files\n",
                                   &stream)) {
    // Some errors are printed, in one line, whatever stream is given.
    if (message.empty())
      std::exit(1);
    return makeCommandLineError(message);
  }
  if (Error error = checkOptions())
    return error;

  Options options;
  options.executable = sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&te::run::parseOptions));
  options.file = fileOption;
  options.entry = entryOption;
  options.chip = chipOption;
  options.ranks = ranksOption;
  options.inputs.assign(inputOption.begin(), inputOption.end());
  options.libraries.assign(loadOption.begin(), loadOption.end());
  options.outputDirectory = outputOption;
  options.emulatorStats = statsOption;
  return options;
}
