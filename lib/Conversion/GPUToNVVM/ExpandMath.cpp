//===- ExpandMath.cpp - transcendental functions as arithmetic ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation below is one correctly rounded IEEE operation, fused exactly
// where the code says so: all backends compute the same bits.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "te/Conversion/Common/NarrowFloats.h"
#include "te/Conversion/Patterns.h"

using namespace mlir;
using namespace te::quant;

namespace {

/// Emits f32 arithmetic on scalars or vectors of one shape.
class F32Builder {
public:
  F32Builder(PatternRewriter &rewriter, Operation *op)
      : b(op->getLoc(), rewriter), floats(op->getResult(0).getType()),
        integers(withElementType(floats, b.getI32Type())) {}

  Value constant(float value) {
    return splat(floats, b.getF32FloatAttr(value));
  }
  Value add(Value a, Value c) { return arith::AddFOp::create(b, a, c); }
  Value sub(Value a, Value c) { return arith::SubFOp::create(b, a, c); }
  Value mul(Value a, Value c) { return arith::MulFOp::create(b, a, c); }
  Value div(Value a, Value c) { return arith::DivFOp::create(b, a, c); }
  Value fma(Value a, Value c, Value d) {
    return math::FmaOp::create(b, a, c, d);
  }

  /// `a` but at least `low` and at most `high`; NaN stays NaN.
  Value clamp(Value a, float low, float high) {
    Value bound = constant(low);
    Value below = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, a, bound);
    a = arith::SelectOp::create(b, below, bound, a);
    bound = constant(high);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, a, bound);
    return arith::SelectOp::create(b, above, bound, a);
  }

  Value integer(int32_t value) {
    return splat(integers, b.getI32IntegerAttr(value));
  }
  Value asInteger(Value a) { return arith::BitcastOp::create(b, integers, a); }
  Value subInteger(Value a, Value c) {
    return arith::SubIOp::create(b, a, c);
  }

  /// 2^n for a normal result.
  Value powerOfTwo(Value n) {
    Value exponent = arith::AddIOp::create(b, n, integer(127));
    return arith::BitcastOp::create(
        b, floats, arith::ShLIOp::create(b, exponent, integer(23)));
  }

  ImplicitLocOpBuilder b;

private:
  Value splat(Type type, TypedAttr attribute) {
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, type, attribute);
  }

  Type floats;
  Type integers;
};

/// An integer as f32 and as i32.
struct Rounded {
  Value asFloat;
  Value asInteger;
};

/// Splits off the last bits of `sum`, which is a value below 2^22 plus
/// 1.5 * 2^23: they are that value, rounded to an integer.
constexpr float roundingSummand = 0x1.8p+23f;

Rounded splitRounded(F32Builder &f, Value sum) {
  Value summand = f.constant(roundingSummand);
  return {f.sub(sum, summand),
          f.subInteger(f.asInteger(sum), f.asInteger(summand))};
}

/// e^r - 1 for |r| <= ln(2)/2, as r + r^2 * p(r). The series up to r^7 is off
/// by r^8/8!, below a tenth of a unit in the last place of e^r.
Value expm1Series(F32Builder &f, Value r) {
  Value p = f.constant(1.0f / 5040);
  for (float factorial : {720.0f, 120.0f, 24.0f, 6.0f, 2.0f})
    p = f.fma(p, r, f.constant(1.0f / factorial));
  return f.fma(f.mul(r, r), p, r);
}

/// x = n * ln(2) + r with |r| <= ln(2)/2, for |x| below 2^21.
Rounded reduceByLn2(F32Builder &f, Value x, Value &r) {
  Rounded n = splitRounded(
      f, f.fma(x, f.constant(0x1.715476p+0f), f.constant(roundingSummand)));
  // ln(2) as the sum of two f32.
  r = f.fma(n.asFloat, f.constant(-0x1.62e430p-1f), x);
  r = f.fma(n.asFloat, f.constant(0x1.05c610p-29f), r);
  return n;
}

/// 2^n * (1 + m) for |n| up to 250, subnormal results rounded once.
Value scaleByPowerOfTwo(F32Builder &f, Value m, Value n) {
  Value half = arith::ShRSIOp::create(f.b, n, f.integer(1));
  Value result = f.mul(f.add(m, f.constant(1.0f)), f.powerOfTwo(half));
  return f.mul(result, f.powerOfTwo(f.subInteger(n, half)));
}

/// Matches ops on f32 and vectors of it.
template <typename OpTy>
struct ExpandF32 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
      return rewriter.notifyMatchFailure(op, "not a scalar or vector of f32");
    F32Builder f(rewriter, op);
    rewriter.replaceOp(op, expand(f, op));
    return success();
  }

  virtual Value expand(F32Builder &f, OpTy op) const = 0;
};

struct ExpandExp : ExpandF32<math::ExpOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::ExpOp op) const override {
    // Beyond these bounds the result is 0 or infinity all the same.
    Value x = f.clamp(op.getOperand(), -105.0f, 90.0f);
    Value r;
    Rounded n = reduceByLn2(f, x, r);
    return scaleByPowerOfTwo(f, expm1Series(f, r), n.asInteger);
  }
};

struct ExpandExp2 : ExpandF32<math::Exp2Op> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::Exp2Op op) const override {
    Value x = f.clamp(op.getOperand(), -152.0f, 129.0f);
    Rounded n = splitRounded(f, f.add(x, f.constant(roundingSummand)));
    Value r = f.mul(f.sub(x, n.asFloat), f.constant(0x1.62e430p-1f));
    return scaleByPowerOfTwo(f, expm1Series(f, r), n.asInteger);
  }
};

/// With m = e^(2|x|) - 1, tanh |x| is m / (m + 2): no cancellation near 0.
struct ExpandTanh : ExpandF32<math::TanhOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::TanhOp op) const override {
    Value x = op.getOperand();
    Value magnitude = math::AbsFOp::create(f.b, x);
    // From 10 on, m + 2 is m, and the result 1.
    Value twice = f.clamp(f.add(magnitude, magnitude), 0.0f, 40.0f);
    Value r;
    Rounded n = reduceByLn2(f, twice, r);
    Value power = f.powerOfTwo(n.asInteger);
    Value m = f.fma(power, expm1Series(f, r), f.sub(power, f.constant(1.0f)));
    Value result = f.div(m, f.add(m, f.constant(2.0f)));
    return math::CopySignOp::create(f.b, result, x);
  }
};

struct ExpandLog10 : ExpandF32<math::Log10Op> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::Log10Op op) const override {
    return f.mul(math::LogOp::create(f.b, op.getOperand()),
                 f.constant(0x1.bcb7b2p-2f)); // 1/ln(10)
  }
};

struct SplitSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    rewriter.replaceOp(op, {math::SinOp::create(rewriter, loc, x),
                            math::CosOp::create(rewriter, loc, x)});
    return success();
  }
};

template <typename... OpTys>
bool isOneOf(StringRef name) {
  return ((name == OpTys::getOperationName()) || ...);
}

} // namespace

void te::quant::populateExpandMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExp, ExpandExp2, ExpandTanh, ExpandLog10, SplitSincos>(
      patterns.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return isOneOf<math::AcosOp, math::AsinOp, math::AtanOp, math::Atan2Op,
                   math::CosOp, math::ErfOp, math::ErfcOp, math::ExpM1Op,
                   math::LogOp, math::Log1pOp, math::Log2Op, math::SinOp>(name);
  });
  math::populateExpansionPatterns(
      patterns, {math::AcoshOp::getOperationName(),
                 math::AsinhOp::getOperationName(),
                 math::AtanhOp::getOperationName(),
                 math::ClampFOp::getOperationName(),
                 math::CoshOp::getOperationName(),
                 math::FPowIOp::getOperationName(),
                 math::PowFOp::getOperationName(),
                 math::SinhOp::getOperationName(),
                 math::TanOp::getOperationName()});
  // What is exact, or rounded once, stays in its own type.
  populateMathF32ExpansionPatterns(patterns, [](StringRef name) {
    return !isOneOf<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
                    math::FmaOp, math::RoundEvenOp, math::RoundOp,
                    math::TruncOp>(name);
  });
}
