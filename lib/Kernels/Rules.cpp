//===- Rules.cpp - scale and element rules as IR --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Kernels/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Numerics/Formats.h"
#include <limits>

using namespace mlir;
using namespace te::quant;

Type te::quant::withElementType(Type like, Type elementType) {
  if (auto shaped = dyn_cast<ShapedType>(like))
    return shaped.clone(elementType);
  return elementType;
}

static Value buildConstant(ImplicitLocOpBuilder &b, Type like,
                           TypedAttr scalar) {
  if (auto shaped = dyn_cast<ShapedType>(like)) {
    auto type = cast<ShapedType>(shaped.clone(scalar.getType()));
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(DenseElementsAttr::get(type, Attribute(scalar))));
  }
  return arith::ConstantOp::create(b, scalar);
}

static Value buildCast(ImplicitLocOpBuilder &b, Value value, Type elementType) {
  if (getElementTypeOrSelf(value.getType()) == elementType)
    return value;
  return CastOp::create(b, withElementType(value.getType(), elementType),
                        value);
}

static Value buildBitcast(ImplicitLocOpBuilder &b, Value value,
                          Type elementType) {
  return arith::BitcastOp::create(
      b, withElementType(value.getType(), elementType), value);
}

Value te::quant::buildF32Bits(ImplicitLocOpBuilder &b, Type like,
                              uint32_t bits) {
  return buildConstant(b, like, b.getF32FloatAttr(llvm::bit_cast<float>(bits)));
}

Value te::quant::buildMXFP8Scale(ImplicitLocOpBuilder &b, Value amax,
                                 Type fp8Dtype) {
  uint32_t reciprocal = isa<Float8E5M2Type>(fp8Dtype)
                            ? numerics::kReciprocalOf57344Bits
                            : numerics::kReciprocalOf448Bits;
  Value scale = arith::MulFOp::create(
      b, amax, buildF32Bits(b, amax.getType(), reciprocal));
  Value e8m0 = buildCast(b, scale, Float8E8M0FNUType::get(b.getContext()));
  return buildBitcast(b, e8m0, b.getI8Type());
}

Value te::quant::buildE8M0Value(ImplicitLocOpBuilder &b, Value code) {
  Value e8m0 = buildBitcast(b, code, Float8E8M0FNUType::get(b.getContext()));
  return buildCast(b, e8m0, b.getF32Type());
}

Value te::quant::buildE8M0Reciprocal(ImplicitLocOpBuilder &b, Value code) {
  // The code of the reciprocal; 0xFF (NaN) wraps to itself.
  Value all = buildConstant(b, code.getType(),
                            b.getI8IntegerAttr(static_cast<int8_t>(0xFE)));
  return buildE8M0Value(b, arith::SubIOp::create(b, all, code));
}

Value te::quant::buildScaleFromAmax(ImplicitLocOpBuilder &b, Value amax,
                                    float fp8Max, bool isPow2, float epsilon,
                                    float valueForInf) {
  Type type = amax.getType();
  auto constant = [&](float value) {
    return buildF32Bits(b, type, numerics::bitsOf(value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  };
  Value infinity = constant(std::numeric_limits<float>::infinity());

  // An epsilon of zero could only raise an amax that has the scale of zero
  // anyway.
  if (epsilon > 0) {
    Value minimum = constant(epsilon);
    Value isBelow = compare(arith::CmpFPredicate::OLT, amax, minimum);
    amax = arith::SelectOp::create(b, isBelow, minimum, amax);
  }
  Value scale = arith::DivFOp::create(b, constant(fp8Max), amax);
  Value isInf = compare(arith::CmpFPredicate::OEQ, scale, infinity);
  scale = arith::SelectOp::create(b, isInf, constant(valueForInf), scale);
  if (isPow2) {
    Value bits = buildBitcast(b, scale, b.getI32Type());
    Value signAndExponent =
        buildConstant(b, bits.getType(), b.getI32IntegerAttr(-(1 << 23)));
    scale = buildBitcast(b, arith::AndIOp::create(b, bits, signAndExponent),
                         b.getF32Type());
  }
  Value isUsable = arith::AndIOp::create(
      b, compare(arith::CmpFPredicate::OGT, amax, constant(0.0f)),
      compare(arith::CmpFPredicate::OLT, amax, infinity));
  return arith::SelectOp::create(b, isUsable, scale, constant(1.0f));
}

Value te::quant::buildReciprocal(ImplicitLocOpBuilder &b, Value value) {
  Value one = buildConstant(b, value.getType(), b.getF32FloatAttr(1.0f));
  return arith::DivFOp::create(b, one, value);
}

Value te::quant::buildScaledFP8(ImplicitLocOpBuilder &b, Value value,
                                Value scale, Type fp8Dtype) {
  Value scaled = arith::MulFOp::create(b, value, scale);
  return buildBitcast(b, buildCast(b, scaled, fp8Dtype), b.getI8Type());
}

Value te::quant::buildScaledValue(ImplicitLocOpBuilder &b, Value bytes,
                                  Type fp8Dtype, Value scale, Type dtype) {
  Value value = buildCast(b, buildBitcast(b, bytes, fp8Dtype), b.getF32Type());
  return buildCast(b, arith::MulFOp::create(b, value, scale), dtype);
}

//===----------------------------------------------------------------------===//
// NVFP4
//===----------------------------------------------------------------------===//

/// The smaller of the two; a NaN loses against a number.
static Value buildMin(ImplicitLocOpBuilder &b, Value value, float bound) {
  return arith::MinNumFOp::create(
      b, value, buildF32Bits(b, value.getType(), te::numerics::bitsOf(bound)));
}

static Value buildFiniteMin(ImplicitLocOpBuilder &b, Value value) {
  return buildMin(b, value, std::numeric_limits<float>::max());
}

static Value buildE4M3Value(ImplicitLocOpBuilder &b, Value code) {
  Value e4m3 = buildBitcast(b, code, Float8E4M3FNType::get(b.getContext()));
  return buildCast(b, e4m3, b.getF32Type());
}

static Value buildSplat(ImplicitLocOpBuilder &b, Type like, Value scalar) {
  return vector::BroadcastOp::create(
      b, withElementType(like, scalar.getType()), scalar);
}

Value te::quant::buildNVFP4EncodeScale(ImplicitLocOpBuilder &b, Value amax,
                                       int64_t e4m3Max) {
  Type f32 = b.getF32Type();
  auto constant = [&](float value) {
    return buildF32Bits(b, f32, numerics::bitsOf(value));
  };
  auto isZero = [&](Value value) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value,
                                 constant(0.0f));
  };
  Value scale = buildFiniteMin(
      b, arith::DivFOp::create(b, constant(numerics::kMaxE2M1 * e4m3Max), amax));
  Value isUseless = arith::OrIOp::create(b, isZero(amax), isZero(scale));
  return arith::SelectOp::create(b, isUseless, constant(1.0f), scale);
}

/// From the f32 that the scale's code is rounded from.
static NVFP4Scale buildNVFP4ScaleOf(ImplicitLocOpBuilder &b, Value scale,
                                    Value encodeScale) {
  Value e4m3 = buildCast(b, scale, Float8E4M3FNType::get(b.getContext()));
  Value code = buildBitcast(b, e4m3, b.getI8Type());
  Value decodeScale = buildReciprocal(b, encodeScale);
  Value product =
      arith::MulFOp::create(b, buildE4M3Value(b, code), decodeScale);
  return {code, buildFiniteMin(b, buildReciprocal(b, product))};
}

NVFP4Scale te::quant::buildNVFP4Scale(ImplicitLocOpBuilder &b, Value blockAmax,
                                      Value encodeScale) {
  Value sixth =
      buildF32Bits(b, blockAmax.getType(), numerics::kReciprocalOf6Bits);
  Value factor = arith::MulFOp::create(b, encodeScale, sixth);
  Value scale =
      buildFiniteMin(b, arith::MulFOp::create(b, blockAmax, factor));
  return buildNVFP4ScaleOf(b, scale, encodeScale);
}

std::pair<NVFP4Scale, NVFP4Scale>
te::quant::buildNVFP4Candidates(ImplicitLocOpBuilder &b, Value blockAmax,
                                Value encodeScale) {
  auto constant = [&](float value) {
    return buildF32Bits(b, b.getF32Type(), numerics::bitsOf(value));
  };
  Value base = arith::MulFOp::create(
      b, arith::DivFOp::create(b, blockAmax, constant(numerics::kMaxE2M1)),
      encodeScale);
  Value larger = arith::MulFOp::create(b, base, constant(1.5f));
  auto build = [&](Value scale) {
    return buildNVFP4ScaleOf(b, buildMin(b, scale, numerics::kMaxE4M3),
                             encodeScale);
  };
  NVFP4Scale mapTo4 = build(larger);
  NVFP4Scale mapTo6 = build(base);
  return {mapTo4, mapTo6};
}

/// Rounds f32 to one of the two neighbours among the values of E2M1, by eight
/// random bits each. NaN and what is above 6 are left to the cast.
static Value buildStochasticE2M1Value(ImplicitLocOpBuilder &b, Value values,
                                      Value randomBits) {
  Type type = values.getType(), i32 = b.getI32Type();
  Type bitsType = withElementType(type, i32);
  auto constant = [&](float value) {
    return buildF32Bits(b, type, te::numerics::bitsOf(value));
  };
  auto mask = [&](uint32_t bits) {
    return buildConstant(b, bitsType,
                         b.getI32IntegerAttr(static_cast<int32_t>(bits)));
  };
  // Also where the value is NaN.
  auto isAtLeast = [&](Value value, float bound) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, value,
                                 constant(bound));
  };
  auto select = [&](Value condition, Value value, Value otherwise) -> Value {
    return arith::SelectOp::create(b, condition, value, otherwise);
  };

  // Adds a random part of the distance between the neighbours. The product is
  // exact; that the sum rounds is part of the definition.
  Value magnitude = math::AbsFOp::create(b, values);
  Value distance =
      select(isAtLeast(magnitude, 4), constant(2),
             select(isAtLeast(magnitude, 2), constant(1), constant(0.5f)));
  Value part = arith::MulFOp::create(
      b, arith::UIToFPOp::create(b, type, randomBits), constant(1.0f / 256));
  Value lifted = arith::AddFOp::create(
      b, magnitude, arith::MulFOp::create(b, part, distance).getResult());

  // Cuts off the bits below those of E2M1: from 1 on it has one for the
  // fraction, below the value is 0.5 or 0.
  constexpr uint32_t signBit = 0x80000000, exponent = 0x7F800000,
                     exponentAndHalf = 0x7FC00000;
  Value kept = select(isAtLeast(lifted, 1), mask(exponentAndHalf),
                      select(isAtLeast(lifted, 0.5f), mask(exponent), mask(0)));
  Value cut = arith::AndIOp::create(b, buildBitcast(b, lifted, i32), kept);
  Value sign =
      arith::AndIOp::create(b, buildBitcast(b, values, i32), mask(signBit));
  return buildBitcast(b, arith::OrIOp::create(b, cut, sign), b.getF32Type());
}

static Value buildNVFP4Codes(ImplicitLocOpBuilder &b, Value values,
                             Value factor, Value randomBits = {}) {
  Value scaled = arith::MulFOp::create(
      b, values, buildSplat(b, values.getType(), factor));
  if (randomBits)
    scaled = buildStochasticE2M1Value(b, scaled, randomBits);
  return buildCast(b, scaled, Float4E2M1FNType::get(b.getContext()));
}

Value te::quant::buildNVFP4Error(ImplicitLocOpBuilder &b, Value values,
                                 NVFP4Scale scale, Value amax, int64_t e4m3Max,
                                 bool isSquared) {
  Type type = values.getType();
  Value decoded =
      buildCast(b, buildNVFP4Codes(b, values, scale.factor), b.getF32Type());
  auto multiply = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(b, lhs, rhs);
  };
  decoded = multiply(decoded, buildSplat(b, type, buildE4M3Value(b, scale.code)));
  decoded = multiply(decoded, buildSplat(b, type, amax));
  decoded = arith::DivFOp::create(
      b, decoded,
      buildF32Bits(b, type, numerics::bitsOf(numerics::kMaxE2M1 * e4m3Max)));
  Value difference = arith::SubFOp::create(b, decoded, values);
  Value errors = isSquared ? multiply(difference, difference)
                           : math::AbsFOp::create(b, difference).getResult();
  // The first one is not negative: adding it to zero changes nothing.
  Value sum = vector::ExtractOp::create(b, errors, 0);
  for (int64_t i = 1; i < cast<VectorType>(type).getNumElements(); ++i)
    sum = arith::AddFOp::create(b, sum, vector::ExtractOp::create(b, errors, i));
  return sum;
}

NVFP4Scale te::quant::buildNVFP4Choice(ImplicitLocOpBuilder &b,
                                       NVFP4Scale mapTo4, Value error4,
                                       NVFP4Scale mapTo6, Value error6) {
  Value isBetter = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, error4,
                                         error6);
  auto select = [&](Value lhs, Value rhs) -> Value {
    return arith::SelectOp::create(b, isBetter, lhs, rhs);
  };
  return {select(mapTo4.code, mapTo6.code),
          select(mapTo4.factor, mapTo6.factor)};
}

Value te::quant::buildNVFP4Bytes(ImplicitLocOpBuilder &b, Value values,
                                 Value factor, Value randomBits) {
  int64_t size = cast<VectorType>(values.getType()).getNumElements();
  return vector::BitCastOp::create(
      b, VectorType::get(size / 2, b.getI8Type()),
      buildNVFP4Codes(b, values, factor, randomBits));
}

Value te::quant::buildNVFP4DecodeFactor(ImplicitLocOpBuilder &b, Value code,
                                        Value amax, int64_t e4m3Max) {
  Value product = arith::MulFOp::create(b, buildE4M3Value(b, code), amax);
  // The quotient of two constants, rounded once.
  float reciprocal = 1.0f / (numerics::kMaxE2M1 * e4m3Max);
  return arith::MulFOp::create(
      b, product,
      buildF32Bits(b, b.getF32Type(), numerics::bitsOf(reciprocal)));
}

Value te::quant::buildNVFP4Values(ImplicitLocOpBuilder &b, Value bytes,
                                  Value factor, Type dtype) {
  int64_t size = cast<VectorType>(bytes.getType()).getNumElements() * 2;
  auto codesType =
      VectorType::get(size, Float4E2M1FNType::get(b.getContext()));
  Value values = buildCast(b, vector::BitCastOp::create(b, codesType, bytes),
                           b.getF32Type());
  Value scaled = arith::MulFOp::create(
      b, values, buildSplat(b, values.getType(), factor));
  return buildCast(b, scaled, dtype);
}

/// Rounds f64 to f32 so that a further rounding to a narrower type is as if it
/// were the only one: what is inexact becomes the neighbour towards zero with
/// the last bit set.
static Value buildRoundToOdd(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType();
  Value rounded = arith::TruncFOp::create(
      b, withElementType(type, b.getF32Type()), value);
  Value back = arith::ExtFOp::create(b, type, rounded);
  Type bitsType = withElementType(type, b.getI32Type());
  auto toBit = [&](arith::CmpFPredicate predicate, Value lhs,
                   Value rhs) -> Value {
    return arith::ExtUIOp::create(
        b, bitsType, arith::CmpFOp::create(b, predicate, lhs, rhs));
  };
  Value isAbove = toBit(arith::CmpFPredicate::OGT,
                        math::AbsFOp::create(b, back),
                        math::AbsFOp::create(b, value));
  Value isInexact = toBit(arith::CmpFPredicate::UNE, back, value);
  Value bits = arith::SubIOp::create(
      b, arith::BitcastOp::create(b, bitsType, rounded), isAbove);
  return buildBitcast(b, arith::OrIOp::create(b, bits, isInexact),
                      b.getF32Type());
}

Value te::quant::buildHadamardTransform(ImplicitLocOpBuilder &b,
                                        ArrayRef<Value> values,
                                        bool withSigns) {
  /// Bit `i` says that the sign of value `i` changes.
  constexpr unsigned signMask = 0xD7E8;
  Type f64 = b.getF64Type();
  SmallVector<Value> sums;
  for (auto [index, value] : llvm::enumerate(values)) {
    Value wide = arith::ExtFOp::create(b, f64, value);
    if (withSigns && (signMask >> index & 1))
      wide = arith::NegFOp::create(b, wide);
    sums.push_back(wide);
  }
  // The sums are exact, whatever their order.
  for (size_t step = 1; step < values.size(); step *= 2)
    for (size_t index = 0; index < values.size(); ++index) {
      if (index & step)
        continue;
      Value lhs = sums[index], rhs = sums[index + step];
      sums[index] = arith::AddFOp::create(b, lhs, rhs);
      sums[index + step] = arith::SubFOp::create(b, lhs, rhs);
    }
  auto type = VectorType::get(values.size(), f64);
  Value result = vector::FromElementsOp::create(b, type, sums);
  result = arith::MulFOp::create(
      b, result, buildConstant(b, type, b.getF64FloatAttr(0.25)));
  // An exact zero is positive.
  result = arith::AddFOp::create(
      b, result, buildConstant(b, type, b.getF64FloatAttr(0.0)));
  return buildCast(b, buildCast(b, buildRoundToOdd(b, result), b.getBF16Type()),
                   b.getF32Type());
}
