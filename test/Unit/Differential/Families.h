//===- Families.h - random configurations of all families -------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_DIFFERENTIAL_FAMILIES_H
#define TE_TEST_UNIT_DIFFERENTIAL_FAMILIES_H

#include "Program.h"
#include "Reference/Reference.h"
#include <array>
#include <functional>
#include <optional>

namespace te::differential {

/// Seed and offset of stochastic rounding.
using RandomState = std::array<uint64_t, 2>;

/// A quantizer: its text, the operands that its quantize takes, and what the
/// references make of an input.
struct Configuration {
  /// Name and parameters but `usage` and `optimize_for_gemm`.
  std::string family;
  std::vector<std::string> parameters;
  reference::Usage usage;
  /// Whether scales are in GEMM order, and whether they can be.
  bool isSwizzled = false, hasGemmOrder = false;

  unsigned rowBlock = 1, colBlock = 1;
  /// The input's dtype must be bf16.
  bool needsBF16 = false;
  std::optional<float> scale;
  /// How many amaxes quantize may take, and those that it is given.
  unsigned numAmaxes = 0;
  std::vector<float> amaxes;
  std::optional<RandomState> randomState;
  /// The operand `scale` comes with an amax as a result.
  std::function<float(const reference::Matrix &)> getAmax;

  /// Which changes make columnwise data from rowwise data alone.
  bool derivesColumnwise = false, derivesAndDrops = false;
  /// Whether one buffer serves both usages, so that any change is none.
  bool hasOneBuffer = false;

  /// Inner tensors for a usage and scale order, which may be others than the
  /// configuration's own.
  std::function<reference::InnerTensors(const reference::Matrix &,
                                        reference::Usage, bool isSwizzled)>
      quantize;
  /// Nothing where the family does not decode what is there.
  std::function<std::optional<Bytes>(const reference::InnerTensors &,
                                     const reference::Matrix &,
                                     reference::DType, bool isSwizzled)>
      dequantize;

  /// The attribute; a hybrid's children leave the usage out.
  std::string getText(std::optional<reference::Usage> usage,
                      bool isSwizzled) const;
};

reference::Usage pickUsage(Random &random);

using MakeConfiguration = Configuration (*)(Random &, reference::Usage);

Configuration makeMXFP8(Random &random, reference::Usage usage);
Configuration makeFP8Block(Random &random, reference::Usage usage);
Configuration makeCurrentScaling(Random &random, reference::Usage usage);
Configuration makeDelayedScaling(Random &random, reference::Usage usage);
Configuration makeNVFP4(Random &random, reference::Usage usage);
Configuration makeIdentity(Random &random, reference::Usage usage);
Configuration makeHybrid(Random &random, reference::Usage usage);

} // namespace te::differential

#endif // TE_TEST_UNIT_DIFFERENTIAL_FAMILIES_H
