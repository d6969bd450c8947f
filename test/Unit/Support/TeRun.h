//===- TeRun.h - programs through te-run ------------------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_SUPPORT_TERUN_H
#define TE_TEST_UNIT_SUPPORT_TERUN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace te::testing {

using Bytes = std::vector<uint8_t>;

/// One flattened argument of the function `main`.
struct Input {
  Bytes bytes;
  /// `2x3` where the argument's type has dynamic dims.
  std::string shape;
};

/// One flattened result, as the manifest lists it.
struct Output {
  unsigned result;
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype;
  Bytes bytes;
};

/// Runs the function `main` of a module in the emulator.
llvm::Expected<std::vector<Output>> runModule(llvm::StringRef module,
                                              llvm::ArrayRef<Input> inputs,
                                              llvm::StringRef chip);

} // namespace te::testing

#endif // TE_TEST_UNIT_SUPPORT_TERUN_H
