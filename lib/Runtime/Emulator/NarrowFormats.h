//===- NarrowFormats.h - rounding to the formats of PTX's cvt -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Numerics library converts as the quantizers do: f32 to nearest, with each
// format's one way to overflow. PTX has more formats, rounding modes and wider
// inputs; one general function in exact integer arithmetic covers them.
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_NARROWFORMATS_H
#define TE_RUNTIME_EMULATOR_NARROWFORMATS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace te::emulator {

enum class Rounding : uint8_t {
  NearestEven,
  Zero,
  Down,
  Up,
  NearestAway,
};

/// An IEEE-like format of up to 32 bits.
struct NarrowFormat {
  int signShift;
  int mantissaBits;
  int bias;
  uint32_t maxFinite;
  /// What overflow gives without saturation: infinity, where there is one.
  uint32_t overflow;
  uint32_t nan;
  bool hasInfinity;
};

inline constexpr NarrowFormat formatE2M3 = {5, 3, 1, 0x1F, 0x1F,
                                            0x1F, false};
inline constexpr NarrowFormat formatE3M2 = {5, 2, 3, 0x1F, 0x1F,
                                            0x1F, false};
inline constexpr NarrowFormat formatF16 = {15, 10, 15, 0x7BFF, 0x7C00,
                                           0x7FFF, true};
inline constexpr NarrowFormat formatBF16 = {15, 7, 127, 0x7F7F, 0x7F80,
                                            0x7FFF, true};
/// The upper 19 bits of an f32.
inline constexpr NarrowFormat formatTF32 = {18, 10, 127, 0x3FBFF, 0x3FC00,
                                            0x3FFFF, true};

inline uint64_t bitsOfDouble(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Rounds a value once. Any NaN gives the format's NaN code with a positive
/// sign, as PTX has it.
inline uint32_t encodeNarrow(double value, const NarrowFormat &format,
                             Rounding rounding, bool saturate) {
  if (std::isnan(value))
    return format.nan;
  uint64_t bits = bitsOfDouble(value);
  bool isNegative = bits >> 63;
  uint32_t sign = isNegative ? 1u << format.signShift : 0;
  bool awayFromZero = rounding == (isNegative ? Rounding::Down : Rounding::Up);
  uint32_t overflow = saturate ? format.maxFinite : format.overflow;
  if (std::isinf(value))
    return sign | overflow;

  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  int field = bits >> 52 & 0x7FF;
  int exponent = field ? field - 1023 : -1022;
  uint64_t significand = field ? fraction | uint64_t(1) << 52 : fraction;
  if (significand == 0)
    return sign;

  // The result counts units of 2^(unitExponent - mantissaBits).
  int minExponent = 1 - format.bias;
  int unitExponent = exponent > minExponent ? exponent : minExponent;
  int dropped = unitExponent - format.mantissaBits - (exponent - 52);
  uint64_t kept = 0, rest = 1, half = 2; // less than half a unit
  if (dropped <= 54) {
    kept = significand >> dropped;
    rest = significand & ((uint64_t(1) << dropped) - 1);
    half = uint64_t(1) << (dropped - 1);
  }
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::NearestAway:
    up = rest >= half;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
  case Rounding::Up:
    up = awayFromZero && rest != 0;
    break;
  }
  // The leading bit of `kept` and a carry step the exponent field.
  uint64_t code =
      kept + up +
      (static_cast<uint64_t>(unitExponent - minExponent) << format.mantissaBits);
  if (code <= format.maxFinite)
    return sign | static_cast<uint32_t>(code);
  // Overflow rounds to the largest finite value where rounding goes inward.
  bool inward = rounding == Rounding::Zero ||
                ((rounding == Rounding::Down || rounding == Rounding::Up) &&
                 !awayFromZero);
  return sign | (inward ? format.maxFinite : overflow);
}

/// The exact value of a code.
inline float decodeNarrow(uint32_t code, const NarrowFormat &format) {
  uint32_t magnitude = code & ((1u << format.signShift) - 1);
  bool isNegative = code >> format.signShift & 1;
  float value;
  if (magnitude > format.maxFinite) {
    if (!format.hasInfinity || magnitude != format.overflow) {
      uint32_t nan = 0x7FFFFFFF;
      memcpy(&value, &nan, sizeof(value));
      return value;
    }
    value = INFINITY;
  } else {
    int exponent = magnitude >> format.mantissaBits;
    uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
    if (exponent == 0)
      exponent = 1;
    else
      mantissa |= 1u << format.mantissaBits;
    value = std::ldexp(static_cast<float>(mantissa),
                       exponent - format.bias - format.mantissaBits);
  }
  return isNegative ? -value : value;
}

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_NARROWFORMATS_H
