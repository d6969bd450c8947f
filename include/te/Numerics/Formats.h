//===- Formats.h - element formats and their conversions -------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and the storage formats of quantized tensors, bit for
// bit as docs/numerics.md section 1 defines them. All of it is integer
// arithmetic on bit patterns: neither the rounding mode nor flushing of
// subnormals in the calling process changes a result.
//
// This library is plain C++17 and includes nothing but the standard library.
//
//===----------------------------------------------------------------------===//

#ifndef TE_NUMERICS_FORMATS_H
#define TE_NUMERICS_FORMATS_H

#include <cstdint>
#include <cstring>

namespace te::numerics {

/// A storage format of one element or one scale.
enum class Format : uint8_t { F32, BF16, F16, E4M3, E5M2, E2M1, E8M0 };

/// The bit pattern of `value`.
inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// The f32 whose bit pattern is `bits`.
inline float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

//===----------------------------------------------------------------------===//
// Constants (numerics: 1.5)
//===----------------------------------------------------------------------===//

// Largest finite values. The block scales of NVFP4 are E4M3 too.
inline constexpr float kMaxE4M3 = 448.0f;
inline constexpr float kMaxE5M2 = 57344.0f;
inline constexpr float kMaxE2M1 = 6.0f;
inline constexpr float kMaxF16 = 65504.0f;
inline constexpr uint32_t kMaxF32Bits = 0x7F7FFFFF;
inline constexpr uint32_t kMaxBF16AsF32Bits = 0x7F7F0000;

// Reciprocals as f32 patterns: each is the f32 nearest to the true value, and
// the rules multiply by them where a division would round differently.
inline constexpr uint32_t kReciprocalOf448Bits = 0x3B124925;
inline constexpr uint32_t kReciprocalOf57344Bits = 0x37924925;
inline constexpr uint32_t kReciprocalOf6Bits = 0x3E2AAAAB;
inline constexpr uint32_t kReciprocalOf2688Bits = 0x39C30C31; // 6*448
inline constexpr uint32_t kReciprocalOf1536Bits = 0x3A2AAAAB; // 6*256
inline constexpr uint32_t kReciprocalOf36x448x448Bits = 0x34149B93;
inline constexpr uint32_t kReciprocalOf36x448x256Bits = 0x34820821;
inline constexpr uint32_t kReciprocalOf36x256x256Bits = 0x34E38E39;

/// The quiet NaN that decoding a NaN code gives.
inline constexpr uint32_t kNaNBits = 0x7FFFFFFF;

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

namespace detail {

/// What sets one IEEE-like format apart. `maxMagnitude` is the code that a
/// value above the largest finite one gets (the largest finite code where
/// conversion saturates, infinity where it does not), `nan` the code of any
/// NaN.
struct FormatTraits {
  unsigned exponentBits;
  unsigned mantissaBits;
  uint32_t maxMagnitude;
  uint32_t nan;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr unsigned signShift() const { return exponentBits + mantissaBits; }
};

inline constexpr FormatTraits kE4M3 = {4, 3, 0x7E, 0x7F};
inline constexpr FormatTraits kE5M2 = {5, 2, 0x7B, 0x7F};
inline constexpr FormatTraits kE2M1 = {2, 1, 0x7, 0x7};
inline constexpr FormatTraits kBF16 = {8, 7, 0x7F80, 0x7FFF};
inline constexpr FormatTraits kF16 = {5, 10, 0x7C00, 0x7FFF};

/// Rounds f32 to nearest, ties to even, subnormals included.
template <const FormatTraits &traits>
inline uint32_t encode(float value) {
  constexpr int minExponent = 127 - traits.bias() + 1; // of a normal, as in f32
  constexpr unsigned dropped = 23 - traits.mantissaBits;
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits >> 31 << traits.signShift();
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return traits.nan;
  int exponent = magnitude >> 23;
  uint32_t code;
  if (exponent >= minExponent) {
    // The carry out of the mantissa steps the exponent, which is right.
    uint32_t rebased =
        magnitude - (static_cast<uint32_t>(minExponent - 1) << 23);
    uint32_t odd = rebased >> dropped & 1;
    code = (rebased + ((1u << (dropped - 1)) - 1) + odd) >> dropped;
  } else {
    // A subnormal: the significand counts units of the smallest subnormal.
    // Subnormal f32 inputs share the exponent of the smallest normals.
    uint32_t significand = magnitude & 0x7FFFFF;
    if (exponent != 0)
      significand |= 0x800000;
    int shift = static_cast<int>(dropped) + minExponent -
                (exponent == 0 ? 1 : exponent);
    if (shift > 24) {
      code = 0; // below half of the smallest subnormal
    } else {
      uint32_t odd = significand >> shift & 1;
      code = (significand + ((1u << (shift - 1)) - 1) + odd) >> shift;
    }
  }
  return sign | (code > traits.maxMagnitude ? traits.maxMagnitude : code);
}

/// The exact value of a code of a format without its own infinities and NaNs;
/// callers treat those codes first.
template <const FormatTraits &traits>
inline float decodeFinite(uint32_t code) {
  uint32_t sign = code >> traits.signShift() << 31;
  uint32_t magnitude = code & ((1u << traits.signShift()) - 1);
  uint32_t exponent = magnitude >> traits.mantissaBits;
  uint32_t mantissa = magnitude & ((1u << traits.mantissaBits) - 1);
  if (exponent == 0) {
    if (mantissa == 0)
      return fromBits(sign);
    // Normalize: f32 holds the subnormals of the narrow formats as normals.
    exponent = 1;
    while (!(mantissa >> traits.mantissaBits)) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= (1u << traits.mantissaBits) - 1;
  }
  return fromBits(sign | (exponent + 127 - traits.bias()) << 23 |
                  mantissa << (23 - traits.mantissaBits));
}

} // namespace detail

/// Nearest, ties to even; saturates to 448, infinity included; any NaN gives
/// 0x7F (numerics: 1.1).
inline uint8_t encodeE4M3(float value) {
  return static_cast<uint8_t>(detail::encode<detail::kE4M3>(value));
}

/// Nearest, ties to even; saturates to 57344, infinity included; any NaN gives
/// 0x7F (numerics: 1.1).
inline uint8_t encodeE5M2(float value) {
  return static_cast<uint8_t>(detail::encode<detail::kE5M2>(value));
}

/// Nearest, ties to even; saturates to 6; the sign of zero stays; any NaN gives
/// 7, which is +6 (numerics: 1.2). The code is in the low four bits.
inline uint8_t encodeE2M1(float value) {
  return static_cast<uint8_t>(detail::encode<detail::kE2M1>(value));
}

/// The smallest power of two that is not below |value|, at least 2^-127 and at
/// most 2^127, as the code b of 2^(b-127); NaN gives 0xFF (numerics: 1.3).
inline uint8_t encodeE8M0(float value) {
  uint32_t magnitude = bitsOf(value) & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return 0xFF;
  if (magnitude <= 0x00400000) // 2^-127, a subnormal
    return 0;
  // Any mantissa bit carries into the exponent.
  uint32_t code = (magnitude + 0x7FFFFF) >> 23;
  return static_cast<uint8_t>(code > 0xFE ? 0xFE : code);
}

/// Nearest, ties to even, without saturation: overflow gives infinity. Any NaN
/// gives 0x7FFF (numerics: 1.6).
inline uint16_t encodeBF16(float value) {
  return static_cast<uint16_t>(detail::encode<detail::kBF16>(value));
}

/// Nearest, ties to even, without saturation: overflow gives infinity. Any NaN
/// gives 0x7FFF (numerics: 1.6).
inline uint16_t encodeF16(float value) {
  return static_cast<uint16_t>(detail::encode<detail::kF16>(value));
}

//===----------------------------------------------------------------------===//
// Decoding: exact (numerics: 1.6)
//===----------------------------------------------------------------------===//

inline float decodeE4M3(uint8_t code) {
  if ((code & 0x7F) == 0x7F)
    return fromBits(kNaNBits);
  return detail::decodeFinite<detail::kE4M3>(code);
}

inline float decodeE5M2(uint8_t code) {
  if ((code & 0x7F) > 0x7C)
    return fromBits(kNaNBits);
  if ((code & 0x7F) == 0x7C)
    return fromBits(0x7F800000 | static_cast<uint32_t>(code & 0x80) << 24);
  return detail::decodeFinite<detail::kE5M2>(code);
}

/// The code is in the low four bits; the others are ignored.
inline float decodeE2M1(uint8_t code) {
  return detail::decodeFinite<detail::kE2M1>(code & 0xF);
}

/// 2^(code-127); code 0 is the subnormal 2^-127, not zero (numerics: 1.4).
inline float decodeE8M0(uint8_t code) {
  if (code == 0xFF)
    return fromBits(kNaNBits);
  return fromBits(code == 0 ? 0x00400000 : static_cast<uint32_t>(code) << 23);
}

/// 2^(127-code), what a value is multiplied with (numerics: 1.4).
inline float reciprocalE8M0(uint8_t code) {
  if (code == 0xFF)
    return fromBits(kNaNBits);
  return decodeE8M0(static_cast<uint8_t>(0xFE - code));
}

/// The payload of a NaN is kept.
inline float decodeBF16(uint16_t code) {
  return fromBits(static_cast<uint32_t>(code) << 16);
}

/// The payload of a NaN is kept.
inline float decodeF16(uint16_t code) {
  if ((code & 0x7C00) == 0x7C00)
    return fromBits(static_cast<uint32_t>(code & 0x8000) << 16 | 0x7F800000 |
                    static_cast<uint32_t>(code & 0x3FF) << 13);
  return detail::decodeFinite<detail::kF16>(code);
}

//===----------------------------------------------------------------------===//
// Any format
//===----------------------------------------------------------------------===//

/// Converts as the encode function of `format` does; F32 gives the pattern.
uint32_t encode(Format format, float value);

/// Converts as the decode function of `format` does; bits above the width of
/// the format are ignored.
float decode(Format format, uint32_t bits);

/// The number of bits of one value.
unsigned getWidth(Format format);

/// The largest finite value; of E8M0, 2^127.
float getMaxFinite(Format format);

} // namespace te::numerics

#endif // TE_NUMERICS_FORMATS_H
