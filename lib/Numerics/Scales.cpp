//===- Scales.cpp - how scales follow from an amax ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every expression below is a chain of single f32 operations. The file is built
// with -ffp-contract=off, and the check below rules out excess precision.
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Scales.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace te::numerics {

static_assert(FLT_EVAL_METHOD == 0, "f32 expressions must round to f32");

// Of a NaN and a number, the number. std::fmin and std::fmax are not that for a
// signaling NaN, which they may return.
static float minNumber(float value, float bound) {
  return value < bound ? value : bound;
}
static float maxNumber(float bound, float value) {
  return value > bound ? value : bound;
}

static float clampToMaxF32(float value) {
  return minNumber(value, fromBits(kMaxF32Bits));
}

static float getBound(E4M3Bound bound) {
  return bound == E4M3Bound::Max256 ? 256.0f : 448.0f;
}

//===----------------------------------------------------------------------===//
// Per-tensor FP8 and FP8 block scaling
//===----------------------------------------------------------------------===//

float scaleFromAmax(float amax, float maxFinite, bool powerOfTwo, float epsilon,
                    float valueForInf) {
  if (amax < epsilon)
    amax = epsilon;
  if (!std::isfinite(amax) || amax == 0)
    return 1.0f;
  float scale = maxFinite / amax;
  if (std::isinf(scale))
    scale = valueForInf;
  if (powerOfTwo)
    scale = fromBits(bitsOf(scale) & 0xFF800000);
  return scale;
}

float getBlockScaleForInf(Format input) { return getMaxFinite(input); }

float scaleInverse(float scale) { return 1.0f / scale; }

float updateDelayedScale(float *history, size_t length, float amax, float scale,
                         float maxFinite, AmaxAlgorithm algorithm, int margin,
                         bool keepOnZeroAmax) {
  float last = amax != 0 || length == 0 ? amax : history[0];
  if (keepOnZeroAmax && last == 0)
    return scale;

  // The oldest value still takes part in this maximum; it leaves afterwards.
  float chosen = last;
  if (algorithm == AmaxAlgorithm::Max) {
    chosen = maxNumber(0.0f, last);
    for (size_t i = 1; i < length; ++i)
      chosen = maxNumber(chosen, history[i]);
  }
  if (length != 0) {
    for (size_t i = 0; i + 1 < length; ++i)
      history[i] = history[i + 1];
    history[length - 1] = last;
    history[0] = 0.0f;
  }

  if (std::isfinite(chosen) && chosen > 0) {
    // Beyond the clamp the power has long become zero or infinite.
    float power = std::ldexp(1.0f, -std::clamp(margin, -512, 512));
    scale = maxFinite * power / chosen;
  }
  return std::isinf(scale) ? fromBits(kMaxF32Bits) : scale;
}

uint8_t e8m0OfPowerOfTwo(float inverse) {
  return static_cast<uint8_t>(bitsOf(inverse) >> 23);
}

//===----------------------------------------------------------------------===//
// MXFP8
//===----------------------------------------------------------------------===//

uint8_t mxfp8BlockScale(float amax, Format element) {
  uint32_t reciprocal =
      element == Format::E5M2 ? kReciprocalOf57344Bits : kReciprocalOf448Bits;
  return encodeE8M0(amax * fromBits(reciprocal));
}

//===----------------------------------------------------------------------===//
// NVFP4
//===----------------------------------------------------------------------===//

float nvfp4EncodeScale(float amax, E4M3Bound bound) {
  float scale = clampToMaxF32(kMaxE2M1 * getBound(bound) / amax);
  // An infinite amax gives zero here.
  return amax == 0 || scale == 0 ? 1.0f : scale;
}

float nvfp4DecodeScale(float encodeScale) { return 1.0f / encodeScale; }

uint8_t nvfp4BlockScale(float blockAmax, float encodeScale) {
  float factor = encodeScale * fromBits(kReciprocalOf6Bits);
  return encodeE4M3(clampToMaxF32(blockAmax * factor));
}

float nvfp4ElementScale(uint8_t blockScale, float decodeScale) {
  return clampToMaxF32(1.0f / (decodeE4M3(blockScale) * decodeScale));
}

FourOverSixScales fourOverSixBlockScales(float blockAmax, float encodeScale) {
  float base = blockAmax / 6.0f * encodeScale;
  return {encodeE4M3(minNumber(base * 1.5f, kMaxE4M3)),
          encodeE4M3(minNumber(base, kMaxE4M3))};
}

float fourOverSixValue(uint8_t code, uint8_t blockScale, float amax,
                       E4M3Bound bound) {
  return decodeE2M1(code) * decodeE4M3(blockScale) * amax /
         (kMaxE2M1 * getBound(bound));
}

float nvfp4DequantScale(uint8_t blockScale, float amax, E4M3Bound bound) {
  uint32_t reciprocal = bound == E4M3Bound::Max256 ? kReciprocalOf1536Bits
                                                   : kReciprocalOf2688Bits;
  return decodeE4M3(blockScale) * amax * fromBits(reciprocal);
}

float nvfp4GemmAlpha(float alpha, float amaxA, E4M3Bound boundA, float amaxB,
                     E4M3Bound boundB) {
  uint32_t reciprocal = kReciprocalOf36x448x448Bits;
  if (boundA != boundB)
    reciprocal = kReciprocalOf36x448x256Bits;
  else if (boundA == E4M3Bound::Max256)
    reciprocal = kReciprocalOf36x256x256Bits;
  return alpha * amaxA * amaxB * fromBits(reciprocal);
}

} // namespace te::numerics
