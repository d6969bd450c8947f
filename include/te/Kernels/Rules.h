//===- Rules.h - scale and element rules as IR ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numerics of the families, one function a rule, on scalars or vectors of
// any shape alike; only arith ops and `te_quant.cast`. Each arithmetic op is
// one f32 operation rounded to nearest: no fast-math flags, no contraction.
//
//===----------------------------------------------------------------------===//

#ifndef TE_KERNELS_RULES_H
#define TE_KERNELS_RULES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace te::quant {

/// `like` with another element type: the same shape, or a scalar.
mlir::Type withElementType(mlir::Type like, mlir::Type elementType);

/// The constant with these f32 bits in the shape of `like`.
mlir::Value buildF32Bits(mlir::ImplicitLocOpBuilder &b, mlir::Type like,
                         uint32_t bits);

/// An MXFP8 block's scale as the i8 code of an E8M0 value, from the amax of the
/// block (numerics: 4.1).
mlir::Value buildMXFP8Scale(mlir::ImplicitLocOpBuilder &b, mlir::Value amax,
                            mlir::Type fp8Dtype);

/// The f32 value 2^(code - 127) of an i8 code (numerics: 1.4).
mlir::Value buildE8M0Value(mlir::ImplicitLocOpBuilder &b, mlir::Value code);

/// The f32 value 2^(127 - code) of an i8 code (numerics: 1.4).
mlir::Value buildE8M0Reciprocal(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value code);

/// The f32 scale that maps `amax` to `fp8Max` (numerics: 2.1). One that is
/// infinite becomes `valueForInf`; with `isPow2` the scale is then rounded down
/// to a power of two.
mlir::Value buildScaleFromAmax(mlir::ImplicitLocOpBuilder &b, mlir::Value amax,
                               float fp8Max, bool isPow2, float epsilon,
                               float valueForInf);

/// 1 / value, correctly rounded: the stored inverse of a scale (numerics: 2.2,
/// 3.1).
mlir::Value buildReciprocal(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

/// FP8 bytes of values times a scale (numerics: 4.1).
mlir::Value buildScaledFP8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Value scale, mlir::Type fp8Dtype);

/// Values of FP8 bytes times a scale, rounded to `dtype` (numerics: 6).
mlir::Value buildScaledValue(mlir::ImplicitLocOpBuilder &b, mlir::Value bytes,
                             mlir::Type fp8Dtype, mlir::Value scale,
                             mlir::Type dtype);

/// The f32 scale that a tensor's amax gives all blocks of NVFP4 (numerics: 5.1).
mlir::Value buildNVFP4EncodeScale(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value amax, int64_t e4m3Max);

/// The scale of an NVFP4 block: the i8 code that is stored and the f32 that the
/// values are multiplied with.
struct NVFP4Scale {
  mlir::Value code, factor;
};

/// The scale of a block from its amax (numerics: 5.2).
NVFP4Scale buildNVFP4Scale(mlir::ImplicitLocOpBuilder &b, mlir::Value blockAmax,
                           mlir::Value encodeScale);

/// The scales that map the amax of a block to 4 and to 6 (numerics: 5.7).
std::pair<NVFP4Scale, NVFP4Scale>
buildNVFP4Candidates(mlir::ImplicitLocOpBuilder &b, mlir::Value blockAmax,
                     mlir::Value encodeScale);

/// The error of 16 values with a candidate, added up in order (numerics: 5.7):
/// of squares or else of magnitudes.
mlir::Value buildNVFP4Error(mlir::ImplicitLocOpBuilder &b, mlir::Value values,
                            NVFP4Scale scale, mlir::Value amax, int64_t e4m3Max,
                            bool isSquared);

/// The first scale where its error is smaller, or else the second one.
NVFP4Scale buildNVFP4Choice(mlir::ImplicitLocOpBuilder &b, NVFP4Scale mapTo4,
                            mlir::Value error4, NVFP4Scale mapTo6,
                            mlir::Value error6);

/// Bytes of a vector of values times the factor, two values a byte. With
/// `randomBits`, a byte for each value, rounded stochastically (numerics: 5.9).
mlir::Value buildNVFP4Bytes(mlir::ImplicitLocOpBuilder &b, mlir::Value values,
                            mlir::Value factor, mlir::Value randomBits = {});

/// The f32 that the values of a block are multiplied with on the way back, from
/// the i8 code of its scale (numerics: 6).
mlir::Value buildNVFP4DecodeFactor(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value code, mlir::Value amax,
                                   int64_t e4m3Max);

/// Values of a vector of bytes times the factor, rounded to `dtype`.
mlir::Value buildNVFP4Values(mlir::ImplicitLocOpBuilder &b, mlir::Value bytes,
                             mlir::Value factor, mlir::Type dtype);

/// The random Hadamard transform of 16 f32 scalars that are bf16 values, rounded
/// to bf16 once, as a vector of f32 (numerics: 5.6).
mlir::Value buildHadamardTransform(mlir::ImplicitLocOpBuilder &b,
                                   llvm::ArrayRef<mlir::Value> values,
                                   bool withSigns);

} // namespace te::quant

#endif // TE_KERNELS_RULES_H
