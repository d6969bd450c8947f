//===- Options.h - the command line of te-run -----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_OPTIONS_H
#define TE_RUN_OPTIONS_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace te::run {

struct Options {
  /// The path of te-run itself.
  std::string executable;
  std::string file;
  std::string entry;
  std::string chip;
  int64_t ranks = 1;
  std::vector<std::string> inputs;
  /// Shared libraries with functions that the program calls.
  std::vector<std::string> libraries;
  std::string outputDirectory;
  /// Empty if not asked for.
  std::string emulatorStats;
};

/// Parses and checks the command line. Exits for --help and --version.
llvm::Expected<Options> parseOptions(int argc, char **argv);

} // namespace te::run

#endif // TE_RUN_OPTIONS_H
