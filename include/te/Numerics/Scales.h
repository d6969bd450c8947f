//===- Scales.h - how scales follow from an amax ---------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scale rules of every family (docs/numerics.md sections 2 to 6 and 8).
// Each step is one f32 operation rounded to nearest, in the order written here:
// an algebraically equal form gives other bytes. Subnormals count, so callers
// must not have flushing to zero switched on.
//
//===----------------------------------------------------------------------===//

#ifndef TE_NUMERICS_SCALES_H
#define TE_NUMERICS_SCALES_H

#include "te/Numerics/Formats.h"

#include <cstddef>

namespace te::numerics {

//===----------------------------------------------------------------------===//
// Per-tensor FP8 and FP8 block scaling
//===----------------------------------------------------------------------===//

/// The factor that maps `amax` to `maxFinite` (numerics: 2.1). An amax below
/// `epsilon` counts as `epsilon`; zero, infinity and NaN give 1. A quotient
/// beyond f32 becomes `valueForInf`, and only then the power of two is taken by
/// dropping the mantissa.
float scaleFromAmax(float amax, float maxFinite, bool powerOfTwo, float epsilon,
                    float valueForInf = fromBits(kMaxF32Bits));

/// What an infinite scale becomes in FP8 block scaling: the largest finite
/// value of the input's format (numerics: 3.1). `input` is F32, BF16 or F16.
float getBlockScaleForInf(Format input);

/// The stored inverse of a scale, rounded once (numerics: 2.2, 3.1).
float scaleInverse(float scale);

/// How the amax that makes the next scale is taken from the history.
enum class AmaxAlgorithm : uint8_t { Max, MostRecent };

/// The next scale of delayed scaling; rolls `history` (`length` values, slot 0
/// the one being filled) in place (numerics: 2.3).
///
/// `amax` is what the last casts saw, over the whole group; a zero one stands
/// for none, and slot 0 is taken. With `keepOnZeroAmax`, if that is zero too,
/// history and scale stay as they are. An amax that is zero or not finite keeps
/// `scale`. An empty history counts as one slot holding zero.
float updateDelayedScale(float *history, size_t length, float amax, float scale,
                         float maxFinite, AmaxAlgorithm algorithm, int margin,
                         bool keepOnZeroAmax);

/// The MXFP8 scale code of an FP8 block whose stored inverse scale is a power
/// of two: its exponent field (numerics: 3.4).
uint8_t e8m0OfPowerOfTwo(float inverse);

//===----------------------------------------------------------------------===//
// MXFP8
//===----------------------------------------------------------------------===//

/// The scale code of a block: the product of `amax` with the rounded reciprocal
/// of the largest value of `element` (E4M3 or E5M2), rounded up to a power of
/// two (numerics: 4.1).
uint8_t mxfp8BlockScale(float amax, Format element);

//===----------------------------------------------------------------------===//
// NVFP4
//===----------------------------------------------------------------------===//

/// The E4M3 bound of the block scales: 448, or 256 in tensors of four-over-six.
enum class E4M3Bound : uint16_t { Max448 = 448, Max256 = 256 };

/// The encode scale of a tensor, or of a row when row-scaled (numerics: 5.1).
float nvfp4EncodeScale(float amax, E4M3Bound bound = E4M3Bound::Max448);

/// The decode scale of a tensor: the rounded inverse of its encode scale
/// (numerics: 5.1). Only quantization uses it; see nvfp4DequantScale.
float nvfp4DecodeScale(float encodeScale);

/// The stored scale code of a block (numerics: 5.2). The encode scale meets the
/// rounded 1/6 before it meets the block's amax.
uint8_t nvfp4BlockScale(float blockAmax, float encodeScale);

/// What the values of a block are multiplied with, from its stored scale code
/// (numerics: 5.2). A zero code gives the largest f32.
float nvfp4ElementScale(uint8_t blockScale, float decodeScale);

/// The two candidates of four-over-six (numerics: 5.7).
struct FourOverSixScales {
  uint8_t mapTo4;
  uint8_t mapTo6;
};

/// The candidate scale codes of a block. Unlike nvfp4BlockScale this divides by
/// 6, and does so first; the clamp is 448 for either bound (numerics: 5.7).
FourOverSixScales fourOverSixBlockScales(float blockAmax, float encodeScale);

/// The value that four-over-six compares with its input for an element code
/// under a candidate scale; `amax` is that of the tensor (numerics: 5.7).
float fourOverSixValue(uint8_t code, uint8_t blockScale, float amax,
                       E4M3Bound bound);

/// The factor of a block's codes in dequantization (numerics: 6). It can differ
/// by one unit in the last place from block scale times decode scale.
float nvfp4DequantScale(uint8_t blockScale, float amax,
                        E4M3Bound bound = E4M3Bound::Max448);

/// The factor of a GEMM of two NVFP4 tensors (numerics: 8.2).
float nvfp4GemmAlpha(float alpha, float amaxA, E4M3Bound boundA, float amaxB,
                     E4M3Bound boundB);

} // namespace te::numerics

#endif // TE_NUMERICS_SCALES_H
