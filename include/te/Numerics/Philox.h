//===- Philox.h - random bits and stochastic rounding ----------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_NUMERICS_PHILOX_H
#define TE_NUMERICS_PHILOX_H

#include <array>
#include <cstdint>

namespace te::numerics {

inline constexpr unsigned kPhiloxRounds = 10;
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
/// What the halves of the key grow by from round to round.
inline constexpr uint32_t kPhiloxIncrements[2] = {0x9E3779B9, 0xBB67AE85};

/// Four random words, in the order in which they are used.
using PhiloxWords = std::array<uint32_t, 4>;

/// One draw of Philox4x32 (numerics: 5.9): the key is the seed, the counter is
/// (offset low, offset high, subsequence low, subsequence high). The next draw
/// of the same stream has the next offset.
PhiloxWords philox4x32(uint64_t seed, uint64_t subsequence, uint64_t offset,
                       unsigned rounds = kPhiloxRounds);

/// The eight bits of `word` that round element `index` (0 to 3) of the four
/// consecutive elements it serves (numerics: 5.9).
inline uint8_t getRandomByte(uint32_t word, unsigned index) {
  return static_cast<uint8_t>(word >> (8 * index));
}

/// Rounds `value` to one of its two neighbours among the E2M1 values, away from
/// zero with a probability that grows with the distance, driven by eight random
/// bits (numerics: 5.9, the software definition). Saturates to 6, keeps the
/// sign of zero, gives +6 for NaN. Zero bits round toward zero.
float sr(float value, uint8_t randomBits);

/// The E2M1 code of sr(value, randomBits).
uint8_t encodeE2M1Stochastic(float value, uint8_t randomBits);

} // namespace te::numerics

#endif // TE_NUMERICS_PHILOX_H
