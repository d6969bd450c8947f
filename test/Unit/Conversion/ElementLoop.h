//===- ElementLoop.h - IR on elements, run over arrays ---------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_CONVERSION_ELEMENTLOOP_H
#define TE_TEST_UNIT_CONVERSION_ELEMENTLOOP_H

#include "te/Numerics/Formats.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace te::test {

/// Ops in MLIR that read vector or scalar `%x` and define `%y`, for each
/// element of an array. With more than one lane the number of elements is a
/// multiple of it. Codes of E2M1 are one byte each in scalar loops, two a byte,
/// the even one in the low half, in others.
struct ElementLoop {
  numerics::Format from;
  numerics::Format to;
  int lanes = 1;
  std::string ops;

  /// One `te_quant.cast`.
  static ElementLoop cast(numerics::Format from, numerics::Format to,
                          int lanes);

  /// The type of `%x` and `%y`.
  std::string inputType() const;
  std::string outputType() const;

  /// The loop over `%in`, `%out` of `!llvm.ptr` and `%n` of `i64`.
  std::string body() const;
};

/// A compiled loop: (inputs, outputs, number of elements).
using ElementFunction = std::function<void(const void *, void *, int64_t)>;

/// A way to compile and run a loop.
class Backend {
public:
  virtual ~Backend() = default;

  /// Null, after a diagnostic, where the loop does not compile.
  virtual ElementFunction compile(const ElementLoop &loop) = 0;

  /// The results on codes or patterns; E2M1 has one code in each entry on
  /// either side, whatever the loop stores.
  std::vector<uint32_t> run(const ElementLoop &loop,
                            const std::vector<uint32_t> &inputs);
};

/// The backends by name: `cpu` is te-quant-expand-casts and the expansions of
/// math, compiled for this CPU; all others are chips, whose kernels, lowered by
/// the passes for GPUs, run in the emulator.
Backend &getBackend(const std::string &name);

/// As IR spells the type of `format`.
std::string getTypeName(numerics::Format format);

} // namespace te::test

#endif // TE_TEST_UNIT_CONVERSION_ELEMENTLOOP_H
