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
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "te/Conversion/Common/NarrowFloats.h"
#include "te/Conversion/Patterns.h"
#include <limits>

using namespace mlir;
using namespace te::quant;

namespace {

/// Emits f32 arithmetic on scalars or vectors of one shape.
class F32Builder {
public:
  F32Builder(PatternRewriter &rewriter, Operation *op)
      : b(op->getLoc(), rewriter), floats(op->getResult(0).getType()),
        integers(withElementType(floats, b.getI32Type())),
        doubles(withElementType(floats, b.getF64Type())),
        longs(withElementType(floats, b.getI64Type())) {}

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
    a = select(below, bound, a);
    bound = constant(high);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, a, bound);
    return select(above, bound, a);
  }

  Value select(Value condition, Value a, Value c) {
    return arith::SelectOp::create(b, condition, a, c);
  }

  Value integer(int32_t value) {
    return splat(integers, b.getI32IntegerAttr(value));
  }
  Value asInteger(Value a) { return arith::BitcastOp::create(b, integers, a); }
  Value asFloat(Value a) { return arith::BitcastOp::create(b, floats, a); }
  Value subInteger(Value a, Value c) { return arith::SubIOp::create(b, a, c); }

  /// 2^n for a normal result.
  Value powerOfTwo(Value n) {
    Value exponent = arith::AddIOp::create(b, n, integer(127));
    return asFloat(arith::ShLIOp::create(b, exponent, integer(23)));
  }

  Value constantDouble(double value) {
    return splat(doubles, b.getF64FloatAttr(value));
  }

  ImplicitLocOpBuilder b;
  const Type floats;
  const Type integers;
  const Type doubles;
  const Type longs;

private:
  Value splat(Type type, TypedAttr attribute) {
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, type, attribute);
  }
};

/// An integer as f32 and as i32.
struct Rounded {
  Value asFloat;
  Value asInteger;
};

/// Splits off the last bits of `sum`, which is a value below 2^22 plus
/// 1.5 * 2^23: they are that value, rounded to an integer.
constexpr float roundingSummand = 0x1.8p+23f;

/// ln(2) as the sum of two f32.
constexpr float ln2High = 0x1.62e430p-1f;
constexpr float minusLn2Low = 0x1.05c610p-29f;

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
  r = f.fma(n.asFloat, f.constant(-ln2High), x);
  r = f.fma(n.asFloat, f.constant(minusLn2Low), r);
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
    Value r = f.mul(f.sub(x, n.asFloat), f.constant(ln2High));
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

/// e^|x| / 2 and e^-|x| / 2; the first overflows no earlier than it must.
std::pair<Value, Value> halfExponentials(F32Builder &f, Value magnitude) {
  Value half = f.constant(0.5f);
  Value root = math::ExpOp::create(f.b, f.mul(magnitude, half));
  return {f.mul(f.mul(half, root), root), f.div(half, f.mul(root, root))};
}

struct ExpandSinh : ExpandF32<math::SinhOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::SinhOp op) const override {
    Value x = op.getOperand();
    Value magnitude = math::AbsFOp::create(f.b, x);
    auto [large, small] = halfExponentials(f, magnitude);
    Value one = f.constant(1.0f);
    // Near 0 the difference cancels: with m = e^|x| - 1 it is m + m / (m + 1).
    Value m = math::ExpM1Op::create(f.b, magnitude);
    Value near = f.mul(f.constant(0.5f), f.add(m, f.div(m, f.add(m, one))));
    Value isNear =
        arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, magnitude, one);
    Value result = f.select(isNear, near, f.sub(large, small));
    return math::CopySignOp::create(f.b, result, x);
  }
};

struct ExpandCosh : ExpandF32<math::CoshOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::CoshOp op) const override {
    auto [large, small] =
        halfExponentials(f, math::AbsFOp::create(f.b, op.getOperand()));
    return f.add(large, small);
  }
};

/// log(x) = n * ln(2) + log(1 + f), for a positive and finite x.
struct LogParts {
  Value n;
  Value f;
  /// log(1 + f) is f - correction.
  Value correction;
};

LogParts splitLog(F32Builder &f, Value x) {
  // Subnormals are scaled to normal numbers first.
  Value isSubnormal = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, x,
                                            f.constant(0x1p-126f));
  x = f.select(isSubnormal, f.mul(x, f.constant(0x1p+23f)), x);
  // The exponent for which x / 2^n is from sqrt(1/2) to sqrt(2).
  Value bits = f.asInteger(x);
  Value n = arith::ShRSIOp::create(
      f.b, f.subInteger(bits, f.asInteger(f.constant(0x1.6a09e6p-1f))),
      f.integer(23));
  Value mantissa =
      f.subInteger(bits, arith::ShLIOp::create(f.b, n, f.integer(23)));
  n = f.subInteger(n, f.select(isSubnormal, f.integer(23), f.integer(0)));
  Value m = f.sub(f.asFloat(mantissa), f.constant(1.0f));
  // With s = f / (2 + f) the logarithm of 1 + f is 2 * artanh(s), an odd series
  // of s, and 2 * s is f - s * f.
  Value s = f.div(m, f.add(m, f.constant(2.0f)));
  Value z = f.mul(s, s);
  Value series = f.constant(2.0f / 11);
  for (float power : {9.0f, 7.0f, 5.0f, 3.0f})
    series = f.fma(series, z, f.constant(2.0f / power));
  Value correction = f.mul(s, f.fma(f.sub(f.constant(0.0f), series), z, m));
  return {arith::SIToFPOp::create(f.b, m.getType(), n), m, correction};
}

/// `result` for positive and finite x; -infinity at 0, NaN below, x above.
Value selectLog(F32Builder &f, Value x, Value result) {
  auto compare = [&](arith::CmpFPredicate predicate, float value) -> Value {
    return arith::CmpFOp::create(f.b, predicate, x, f.constant(value));
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  result = f.select(compare(arith::CmpFPredicate::OLT, infinity), result, x);
  result = f.select(compare(arith::CmpFPredicate::OEQ, 0.0f),
                    f.constant(-infinity), result);
  return f.select(compare(arith::CmpFPredicate::OLT, 0.0f), f.constant(nan),
                  result);
}

struct ExpandLog : ExpandF32<math::LogOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::LogOp op) const override {
    LogParts parts = splitLog(f, op.getOperand());
    Value low = f.fma(parts.n, f.constant(minusLn2Low), parts.correction);
    Value result = f.fma(parts.n, f.constant(ln2High), f.sub(parts.f, low));
    return selectLog(f, op.getOperand(), result);
  }
};

struct ExpandLog2 : ExpandF32<math::Log2Op> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::Log2Op op) const override {
    LogParts parts = splitLog(f, op.getOperand());
    Value result = f.fma(f.sub(parts.f, parts.correction),
                         f.constant(0x1.715476p+0f), // 1/ln(2)
                         parts.n);
    return selectLog(f, op.getOperand(), result);
  }
};

struct ExpandLog10 : ExpandF32<math::Log10Op> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::Log10Op op) const override {
    LogParts parts = splitLog(f, op.getOperand());
    Value fraction = f.mul(f.sub(parts.f, parts.correction),
                           f.constant(0x1.bcb7b2p-2f)); // 1/ln(10)
    Value result =
        f.fma(parts.n, f.constant(0x1.344136p-2f), fraction); // log10(2)
    return selectLog(f, op.getOperand(), result);
  }
};

/// x = quadrant * pi/2 + r with |r| <= pi/4, in f64: exact enough up to 2^50,
/// and what is above counts as 2^50. Infinity gives NaN.
struct Quadrant {
  Value number; // modulo 2^32
  Value r;
};

Quadrant reduceByHalfPi(F32Builder &f, Value x) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value bounded = f.clamp(x, -0x1p+50f, 0x1p+50f);
  Value wide = arith::ExtFOp::create(f.b, f.doubles, bounded);
  // As in splitRounded, for values below 2^51.
  Value summand = f.constantDouble(0x1.8p+52);
  Value sum = math::FmaOp::create(
      f.b, wide, f.constantDouble(0x1.45f306dc9c883p-1), summand); // 2/pi
  Value number = arith::TruncIOp::create(
      f.b, f.integers, arith::BitcastOp::create(f.b, f.longs, sum));
  Value n = arith::SubFOp::create(f.b, sum, summand);
  // pi/2 as the sum of two f64.
  Value r = math::FmaOp::create(f.b, n, f.constantDouble(-0x1.921fb54442d18p+0),
                                wide);
  r = math::FmaOp::create(f.b, n, f.constantDouble(-0x1.1a62633145c07p-54), r);
  r = arith::TruncFOp::create(f.b, f.floats, r);
  Value isInfinite =
      arith::CmpFOp::create(f.b, arith::CmpFPredicate::OEQ,
                            math::AbsFOp::create(f.b, x), f.constant(infinity));
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return {number, f.select(isInfinite, f.constant(nan), r)};
}

/// sin(x + quarters * pi/2).
Value expandSin(F32Builder &f, Value x, int32_t quarters) {
  Quadrant quadrant = reduceByHalfPi(f, x);
  Value number =
      arith::AddIOp::create(f.b, quadrant.number, f.integer(quarters));
  Value r = math::AbsFOp::create(f.b, quadrant.r);
  Value z = f.mul(r, r);
  // The series up to r^9 and r^10.
  Value sin = f.constant(1.0f / 362880);
  for (float factorial : {-5040.0f, 120.0f, -6.0f})
    sin = f.fma(sin, z, f.constant(1.0f / factorial));
  sin = f.fma(f.mul(r, z), sin, r);
  // The sum would lose the sign of zero.
  sin = math::CopySignOp::create(f.b, sin, quadrant.r);
  Value cos = f.constant(-1.0f / 3628800);
  for (float factorial : {40320.0f, -720.0f, 24.0f, -2.0f, 1.0f})
    cos = f.fma(cos, z, f.constant(1.0f / factorial));
  auto isSet = [&](int32_t bit) -> Value {
    Value masked = arith::AndIOp::create(f.b, number, f.integer(bit));
    return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, masked,
                                 f.integer(0));
  };
  Value result = f.select(isSet(1), cos, sin);
  return f.select(isSet(2), arith::NegFOp::create(f.b, result), result);
}

struct ExpandSin : ExpandF32<math::SinOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::SinOp op) const override {
    return expandSin(f, op.getOperand(), /*quarters=*/0);
  }
};

struct ExpandCos : ExpandF32<math::CosOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::CosOp op) const override {
    return expandSin(f, op.getOperand(), /*quarters=*/1);
  }
};

struct ExpandAtan : ExpandF32<math::AtanOp> {
  using ExpandF32::ExpandF32;

  Value expand(F32Builder &f, math::AtanOp op) const override {
    Value x = op.getOperand();
    Value magnitude = math::AbsFOp::create(f.b, x);
    Value one = f.constant(1.0f);
    auto isAbove = [&](Value a, float bound) -> Value {
      return arith::CmpFOp::create(f.b, arith::CmpFPredicate::OGT, a,
                                   f.constant(bound));
    };
    // atan(t) is pi/2 - atan(1/t), and pi/4 + atan((t-1) / (t+1)).
    Value isInverted = isAbove(magnitude, 1.0f);
    Value t = f.select(isInverted, f.div(one, magnitude), magnitude);
    Value isShifted = isAbove(t, 0x1.a8279ap-2f); // tan(pi/8)
    Value u = f.select(isShifted, f.div(f.sub(t, one), f.add(t, one)), t);
    // The series up to u^19.
    Value z = f.mul(u, u);
    Value series = f.constant(-1.0f / 19);
    for (float power : {17.0f, -15.0f, 13.0f, -11.0f, 9.0f, -7.0f, 5.0f, -3.0f})
      series = f.fma(series, z, f.constant(1.0f / power));
    Value small = f.fma(f.mul(u, z), series, u);
    // pi/4 and pi/2 as sums of two f32.
    constexpr float quarterHigh = 0x1.921fb6p-1f, quarterLow = -0x1.777a5cp-26f;
    Value shifted =
        f.add(f.constant(quarterHigh), f.add(small, f.constant(quarterLow)));
    Value result = f.select(isShifted, shifted, small);
    Value inverted = f.sub(f.constant(2 * quarterHigh),
                           f.sub(result, f.constant(2 * quarterLow)));
    result = f.select(isInverted, inverted, result);
    return math::CopySignOp::create(f.b, result, x);
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

/// Functions of f16 and bf16 are those of f32, rounded once. What is exact, or
/// rounded once as it is, stays in its own type.
struct ComputeInF32 : RewritePattern {
  explicit ComputeInF32(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) ||
        isa<math::AbsFOp, math::CeilOp, math::ClampFOp, math::CopySignOp,
            math::FloorOp, math::FmaOp, math::RoundEvenOp, math::RoundOp,
            math::TruncOp>(op))
      return failure();
    auto isShort = [](Type type) {
      return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(type));
    };
    if (!llvm::all_of(op->getResultTypes(), isShort))
      return rewriter.notifyMatchFailure(op, "not of f16 or bf16");
    auto widen = [&](Type type) {
      return withElementType(type, rewriter.getF32Type());
    };
    IRMapping operands;
    for (Value operand : op->getOperands())
      if (isShort(operand.getType()) && !operands.contains(operand))
        operands.map(operand,
                     arith::ExtFOp::create(rewriter, op->getLoc(),
                                           widen(operand.getType()), operand));
    Operation *wide = rewriter.clone(*op, operands);
    SmallVector<Value> results;
    for (OpResult result : wide->getResults()) {
      Type type = result.getType();
      result.setType(widen(type));
      results.push_back(
          arith::TruncFOp::create(rewriter, op->getLoc(), type, result));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

template <typename... OpTys>
bool isOneOf(StringRef name) {
  return ((name == OpTys::getOperationName()) || ...);
}

} // namespace

void te::quant::populateExpandMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ComputeInF32, ExpandAtan, ExpandCos, ExpandCosh, ExpandExp,
               ExpandExp2, ExpandLog, ExpandLog2, ExpandLog10, ExpandSin,
               ExpandSinh, ExpandTanh, SplitSincos>(patterns.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return isOneOf<math::AcosOp, math::AsinOp, math::Atan2Op, math::ErfOp,
                   math::ErfcOp, math::ExpM1Op, math::Log1pOp>(name);
  });
  math::populateExpansionPatterns(
      patterns, {"acosh", "asinh", "atanh", "clampf", "fpowi", "powf", "tan"});
}
