//===- Rules.cpp - scale and element rules as IR --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Kernels/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
