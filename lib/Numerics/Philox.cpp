//===- Philox.cpp - random bits and stochastic rounding -------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Philox.h"

#include "te/Numerics/Formats.h"

#include <cmath>

namespace te::numerics {

PhiloxWords philox4x32(uint64_t seed, uint64_t subsequence, uint64_t offset,
                       unsigned rounds) {
  uint32_t x = static_cast<uint32_t>(offset);
  uint32_t y = static_cast<uint32_t>(offset >> 32);
  uint32_t z = static_cast<uint32_t>(subsequence);
  uint32_t w = static_cast<uint32_t>(subsequence >> 32);
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  for (unsigned round = 0; round < rounds; ++round) {
    uint64_t product0 = uint64_t{kPhiloxMultipliers[0]} * x;
    uint64_t product1 = uint64_t{kPhiloxMultipliers[1]} * z;
    x = static_cast<uint32_t>(product1 >> 32) ^ y ^ key0;
    y = static_cast<uint32_t>(product1);
    z = static_cast<uint32_t>(product0 >> 32) ^ w ^ key1;
    w = static_cast<uint32_t>(product0);
    key0 += kPhiloxIncrements[0];
    key1 += kPhiloxIncrements[1];
  }
  return {x, y, z, w};
}

/// The distance between E2M1 values at a magnitude.
static float getStep(float magnitude) {
  if (magnitude >= 4.0f)
    return 2.0f;
  return magnitude >= 2.0f ? 1.0f : 0.5f;
}

float sr(float value, uint8_t randomBits) {
  if (std::isnan(value))
    return kMaxE2M1;
  float magnitude = std::fabs(value);
  // The product is exact, so that the sum rounds as a fused multiply-add does.
  // That rounding may reach the next step, and is part of the definition.
  float lifted =
      magnitude + static_cast<float>(randomBits) / 256.0f * getStep(magnitude);
  float step = getStep(lifted);
  float rounded = std::fmin(std::floor(lifted / step) * step, kMaxE2M1);
  return std::copysign(rounded, value);
}

uint8_t encodeE2M1Stochastic(float value, uint8_t randomBits) {
  return encodeE2M1(sr(value, randomBits));
}

} // namespace te::numerics
