//===- Golden.h - reading the golden cases ---------------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_NUMERICS_GOLDEN_H
#define TE_TEST_UNIT_NUMERICS_GOLDEN_H

#include "Reference/Reference.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace te::golden {

/// The whole of a file under the folder of golden data; fails the running test
/// and returns nothing if it cannot be read.
std::vector<uint8_t> readFile(const std::string &path);

/// The object in a JSON file under the folder of golden data; on failure an
/// empty one, and the running test fails.
llvm::json::Object readJSON(const std::string &path);

/// The dtype that a case file names; `u8` counts as E8M0, a byte.
reference::DType parseDType(llvm::StringRef name);

/// One folder with a case.json.
struct Case {
  std::string name;
  llvm::json::Object root;

  llvm::StringRef getFamily() const;
  const llvm::json::Object &getOptions() const;
  /// An option, or what it is when the case leaves it out.
  bool getFlag(llvm::StringRef option) const;
  int64_t getInteger(llvm::StringRef option, int64_t missing) const;
  llvm::StringRef getString(llvm::StringRef option) const;
  /// The f32 whose bits an option spells in hexadecimal, if it is there.
  std::optional<float> getBits(llvm::StringRef option) const;

  std::vector<size_t> getRowsCols() const;
  std::vector<uint8_t> read(llvm::StringRef file) const;
};

/// All cases, in order of their names.
const std::vector<Case> &getCases();

/// The list of sizes under `key`.
std::vector<size_t> getSizes(const llvm::json::Object &object,
                             llvm::StringRef key);

/// The f32 whose bits `value`, a string, spells in hexadecimal.
float parseBits(const llvm::json::Value &value);

} // namespace te::golden

#endif // TE_TEST_UNIT_NUMERICS_GOLDEN_H
