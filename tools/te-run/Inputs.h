//===- Inputs.h - argument values from files ------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_INPUTS_H
#define TE_RUN_INPUTS_H

#include "Signature.h"
#include "llvm/Support/MemoryBuffer.h"

namespace te::run {

/// The value of one argument.
struct Input {
  /// All sizes of a tensor; empty for a scalar.
  llvm::SmallVector<int64_t> shape;
  /// The elements in C order, a part of `file`.
  llvm::StringRef bytes;
  std::unique_ptr<llvm::MemoryBuffer> file;
};

/// Reads the values of all of `arguments` from what `--input` was given:
/// `FILE` or `FILE:2x128x64`.
llvm::Expected<std::vector<Input>>
loadInputs(llvm::ArrayRef<std::string> inputs,
           llvm::ArrayRef<BoundaryValue> arguments);

} // namespace te::run

#endif // TE_RUN_INPUTS_H
