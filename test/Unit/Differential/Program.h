//===- Program.h - random programs for te-run -------------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fragment is what one random configuration adds to the body of a function,
// with its inputs and what it must return. Many fragments run as one program:
// compiling them together costs a part of what each alone would.
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_DIFFERENTIAL_PROGRAM_H
#define TE_TEST_UNIT_DIFFERENTIAL_PROGRAM_H

#include "Reference/Reference.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <random>

namespace te::differential {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

/// A number below `count`.
inline unsigned pick(Random &random, unsigned count) {
  return random() % count;
}

/// MLIR's name of an element type; FP4 data is bytes.
const char *getName(reference::DType dtype);

/// A random logical shape of one to four dims whose flattened extents are
/// multiples of the blocks.
struct Shape {
  Shape(Random &random, unsigned rowBlock, unsigned colBlock);

  /// `2x64x`, with `?` for all dims if dynamic.
  std::string getText(bool isDynamic = false) const;
  /// `2x64`.
  std::string getSizes() const;

  std::vector<size_t> dims;
  size_t rows, cols;
};

/// Values over many magnitudes with runs of zeros; in some of the inputs NaN,
/// infinities, -0.0 and subnormals, in a few nothing but those or zeros.
reference::Matrix makeInput(Random &random, reference::DType dtype,
                            const Shape &shape);

/// An f32 that may be any of the special ones.
float makeScalar(Random &random);

/// The bytes of a trivial value.
template <typename T> llvm::StringRef toBytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

class Fragment {
public:
  /// `prefix` sets the names of the fragment's values apart from others'.
  explicit Fragment(std::string prefix) : prefix(std::move(prefix)) {}

  /// Adds an argument; returns its name. A type with dynamic dims needs a
  /// shape, `2x3`; a quantized type takes the bytes of all its inner tensors.
  std::string addArgument(const std::string &type,
                          llvm::ArrayRef<llvm::StringRef> bytes,
                          const std::string &shape = "");

  /// Adds an op with `count` results; returns the name of the first one, of
  /// which several are `name#0` and so on.
  std::string addOp(const std::string &text, unsigned count = 1);

  /// Returns `value` from the function; it must have these inner tensors.
  /// Those without one (an empty tensor's) are not compared.
  void addResult(const std::string &value, const std::string &type,
                 reference::InnerTensors expected);

  /// What a failure says about the fragment.
  std::string description;
  std::string chip;

private:
  friend class Program;

  struct Argument {
    std::string name, type, shape;
    std::vector<Bytes> files;
  };
  struct Result {
    std::string value, type;
    reference::InnerTensors expected;
  };

  std::string prefix;
  unsigned numValues = 0;
  std::vector<Argument> arguments;
  std::string body;
  std::vector<Result> results;
};

/// Adds to a fragment a configuration and all that must come of it.
using Builder = llvm::function_ref<void(Random &, Fragment &)>;

/// Builds and checks as many random fragments as TE_DIFFERENTIAL_COUNT says.
/// `family` sets the seeds of families apart and is a part of the trace.
void check(llvm::StringRef family, Builder build);

} // namespace te::differential

#endif // TE_TEST_UNIT_DIFFERENTIAL_PROGRAM_H
