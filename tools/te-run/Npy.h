//===- Npy.h - the header of numpy's array files --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_NPY_H
#define TE_RUN_NPY_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace te::run {

/// What the header of a `.npy` file says, versions 1 to 3 of the format.
struct NpyHeader {
  /// The dtype as numpy spells it, e.g. `<f4`.
  std::string descr;
  bool isFortranOrder = false;
  llvm::SmallVector<int64_t> shape;
  /// Where the data starts in the file.
  size_t dataOffset = 0;
};

/// Reads the header of a file's contents.
llvm::Expected<NpyHeader> parseNpyHeader(llvm::StringRef contents);

/// The parts of a `descr`.
struct NpyDtype {
  /// numpy's letter, e.g. `f`, `i`, `u`, `b`, `V`.
  char kind;
  unsigned sizeInBytes;
  bool isBigEndian;
};

/// Reads `<f4`, `|V1` and their like. A name of ml_dtypes (`bfloat16`,
/// `float8_e4m3fn`, ...) gives the kind `V`, as which numpy stores it.
llvm::Expected<NpyDtype> parseNpyDtype(llvm::StringRef descr);

} // namespace te::run

#endif // TE_RUN_NPY_H
