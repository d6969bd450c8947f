//===- ExpandCasts.cpp - conversions as integer arithmetic ----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each conversion is emitted on 32-bit lanes without branches, bit for bit as
// te/Numerics/Formats.h has it. The only floating-point operations are sums of
// normal numbers whose result does not depend on how subnormals are treated.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "te/Conversion/Common/NarrowFloats.h"
#include "te/Conversion/Passes.h"
#include "te/Conversion/Patterns.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Numerics/Formats.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTEXPANDCASTSPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;
using te::numerics::detail::FormatTraits;

namespace {

constexpr uint32_t magnitudeMask = 0x7FFFFFFF;
constexpr uint32_t infinity = 0x7F800000;
constexpr unsigned f32MantissaBits = 23;

/// Emits arithmetic on scalars or vectors of one shape.
class LaneBuilder {
public:
  LaneBuilder(PatternRewriter &rewriter, CastOp op)
      : b(op.getLoc(), rewriter), shape(op.getType()) {}

  Type floats() { return withElementType(shape, b.getF32Type()); }
  Type integers(unsigned width) {
    return withElementType(shape, b.getIntegerType(width));
  }

  Value constant(uint32_t value) {
    Type type = integers(32);
    TypedAttr attribute = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, type, attribute);
  }

  Value bitcast(Value value, Type type) {
    return arith::BitcastOp::create(b, type, value);
  }
  Value asBits(Value f32) { return bitcast(f32, integers(32)); }
  Value asFloat(Value bits) { return bitcast(bits, floats()); }

  Value add(Value a, Value c) { return arith::AddIOp::create(b, a, c); }
  Value add(Value a, uint32_t c) { return add(a, constant(c)); }
  Value sub(Value a, Value c) { return arith::SubIOp::create(b, a, c); }
  Value bitAnd(Value a, uint32_t c) {
    return arith::AndIOp::create(b, a, constant(c));
  }
  Value bitOr(Value a, Value c) { return arith::OrIOp::create(b, a, c); }
  Value min(Value a, uint32_t c) {
    return arith::MinUIOp::create(b, a, constant(c));
  }
  Value max(Value a, uint32_t c) {
    return arith::MaxUIOp::create(b, a, constant(c));
  }
  Value shiftLeft(Value a, unsigned by) {
    return arith::ShLIOp::create(b, a, constant(by));
  }
  Value shiftRight(Value a, unsigned by) {
    return arith::ShRUIOp::create(b, a, constant(by));
  }
  /// `a` compared with the constant `c`.
  Value compare(arith::CmpIPredicate predicate, Value a, uint32_t c) {
    return arith::CmpIOp::create(b, predicate, a, constant(c));
  }
  Value select(Value condition, Value a, Value c) {
    return arith::SelectOp::create(b, condition, a, c);
  }
  Value select(Value condition, uint32_t a, Value c) {
    return select(condition, constant(a), c);
  }

  /// A code in the low bits of a lane as a value of the float `type`, and back.
  Value fromCode(Value code, Type elementType) {
    Type narrow = integers(elementType.getIntOrFloatBitWidth());
    return bitcast(arith::TruncIOp::create(b, narrow, code),
                   withElementType(shape, elementType));
  }
  Value toCode(Value value) {
    unsigned width =
        getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    return arith::ExtUIOp::create(b, integers(32),
                                  bitcast(value, integers(width)));
  }

  ImplicitLocOpBuilder b;

private:
  Type shape;
};

/// Rounds the f32 pattern `bits` to nearest even with the sum of two floats:
/// the other summand is the power of two for which one unit of the format, at
/// the exponent of the value, is the last place of the sum.
Value encodeRounded(LaneBuilder &lane, Value bits, const FormatTraits &format) {
  const unsigned dropped = f32MantissaBits - format.mantissaBits;
  const uint32_t minExponent = (127 - format.bias() + 1) << f32MantissaBits;
  // Everything from the largest code on gives that code.
  const uint32_t limit = (format.maxMagnitude << dropped) +
                         ((127 - format.bias()) << f32MantissaBits);
  Value magnitude = lane.bitAnd(bits, magnitudeMask);
  Value clamped = lane.min(magnitude, limit);
  // Subnormals of the format have the unit of its smallest normals.
  Value exponent = lane.max(lane.bitAnd(clamped, infinity), minExponent);
  Value power = lane.add(exponent, dropped << f32MantissaBits);
  Value sum = lane.asBits(arith::AddFOp::create(lane.b, lane.asFloat(clamped),
                                                lane.asFloat(power)));
  Value units = lane.sub(sum, power);
  // A normal value has 2^mantissaBits units or more: the leading one adds to
  // the exponent field, as does a carry.
  Value exponentField =
      lane.shiftRight(lane.sub(exponent, lane.constant(minExponent)), dropped);
  Value code = lane.add(units, exponentField);
  Value sign = lane.bitAnd(lane.shiftRight(bits, 31 - format.signShift()),
                           1u << format.signShift());
  Value isNaN = lane.compare(arith::CmpIPredicate::ugt, magnitude, infinity);
  return lane.select(isNaN, format.nan, lane.bitOr(sign, code));
}

/// bf16 has the exponents of f32, subnormals included: rounding is a carry.
Value encodeBF16(LaneBuilder &lane, Value bits) {
  Value odd = lane.bitAnd(lane.shiftRight(bits, 16), 1);
  Value code = lane.shiftRight(lane.add(lane.add(bits, 0x7FFF), odd), 16);
  Value isNaN = lane.compare(arith::CmpIPredicate::ugt,
                             lane.bitAnd(bits, magnitudeMask), infinity);
  return lane.select(isNaN, te::numerics::detail::kBF16.nan, code);
}

/// Any mantissa bit carries into the exponent, which is the code.
Value encodeE8M0(LaneBuilder &lane, Value bits) {
  Value magnitude = lane.bitAnd(bits, magnitudeMask);
  Value rounded =
      lane.shiftRight(lane.add(magnitude, 0x7FFFFF), f32MantissaBits);
  Value code = lane.min(rounded, 0xFE);
  // 2^-127 is a subnormal of f32, with half of its smallest normal's mantissa.
  Value isSmallest =
      lane.compare(arith::CmpIPredicate::ule, magnitude, 0x00400000);
  code = lane.select(isSmallest, 0, code);
  Value isNaN = lane.compare(arith::CmpIPredicate::ugt, magnitude, infinity);
  return lane.select(isNaN, 0xFF, code);
}

/// The exact f32 pattern of a code; infinities and NaNs follow the first NaN
/// code `firstNaN` (0: none) and, if the format has it, `infinityCode`.
Value decodeExact(LaneBuilder &lane, Value code, const FormatTraits &format,
                  uint32_t infinityCode, uint32_t firstNaN) {
  const unsigned dropped = f32MantissaBits - format.mantissaBits;
  const uint32_t minNormal = (127 - format.bias() + 1) << f32MantissaBits;
  Value magnitude = lane.bitAnd(code, (1u << format.signShift()) - 1);
  Value mantissa = lane.shiftLeft(magnitude, dropped);
  Value bits = lane.add(mantissa, minNormal - (1u << f32MantissaBits));
  // A subnormal is what it would be with a leading one, minus that one.
  Value withOne = lane.asFloat(lane.add(mantissa, minNormal));
  Value subnormal = lane.asBits(arith::SubFOp::create(
      lane.b, withOne, lane.asFloat(lane.constant(minNormal))));
  Value isSubnormal = lane.compare(arith::CmpIPredicate::ult, magnitude,
                                   1u << format.mantissaBits);
  bits = lane.select(isSubnormal, subnormal, bits);
  if (infinityCode != 0) {
    Value isInfinity =
        lane.compare(arith::CmpIPredicate::eq, magnitude, infinityCode);
    bits = lane.select(isInfinity, infinity, bits);
  }
  Value sign = lane.shiftLeft(lane.bitAnd(code, 1u << format.signShift()),
                              31 - format.signShift());
  bits = lane.bitOr(bits, sign);
  if (firstNaN == 0)
    return bits;
  Value isNaN = lane.compare(arith::CmpIPredicate::uge, magnitude, firstNaN);
  return lane.select(isNaN, te::numerics::kNaNBits, bits);
}

Value decodeE8M0(LaneBuilder &lane, Value code) {
  // Code 0 is 2^-127, a subnormal, where the shift gives zero.
  Value bits = lane.max(lane.shiftLeft(code, f32MantissaBits), 0x00400000);
  Value isNaN = lane.compare(arith::CmpIPredicate::eq, code, 0xFF);
  return lane.select(isNaN, te::numerics::kNaNBits, bits);
}

/// The f32 pattern of a value of any of our types.
Value widen(LaneBuilder &lane, Value input) {
  using namespace te::numerics::detail;
  Type type = getElementTypeOrSelf(input.getType());
  if (isa<Float32Type>(type))
    return lane.asBits(input);
  if (isa<Float16Type>(type)) // exact, and f16 subnormals are normal in f32
    return lane.asBits(arith::ExtFOp::create(lane.b, lane.floats(), input));
  Value code = lane.toCode(input);
  if (isa<BFloat16Type>(type))
    return lane.shiftLeft(code, 16);
  if (isa<Float8E4M3FNType>(type))
    return decodeExact(lane, code, kE4M3, /*infinityCode=*/0, kE4M3.nan);
  if (isa<Float8E5M2Type>(type))
    return decodeExact(lane, code, kE5M2, /*infinityCode=*/0x7C,
                       /*firstNaN=*/0x7D);
  if (isa<Float4E2M1FNType>(type))
    return decodeExact(lane, code, kE2M1, /*infinityCode=*/0, /*firstNaN=*/0);
  return decodeE8M0(lane, code);
}

struct ExpandCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    using namespace te::numerics::detail;
    if (isa<TensorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "a tensor");
    Type from = getElementTypeOrSelf(op.getInput().getType());
    Type to = getElementTypeOrSelf(op.getType());
    LaneBuilder lane(rewriter, op);
    Value bits = widen(lane, op.getInput());
    if (isa<Float32Type>(to)) {
      rewriter.replaceOp(op, lane.asFloat(bits));
      return success();
    }
    Value code;
    if (isa<Float8E4M3FNType>(to))
      code = encodeRounded(lane, bits, kE4M3);
    else if (isa<Float8E5M2Type>(to))
      code = encodeRounded(lane, bits, kE5M2);
    else if (isa<Float4E2M1FNType>(to))
      code = encodeRounded(lane, bits, kE2M1);
    else if (isa<Float16Type>(to))
      code = encodeRounded(lane, bits, kF16);
    else if (isa<Float8E8M0FNUType>(to))
      code = encodeE8M0(lane, bits);
    else if (isNarrowFloat(from)) // exact: the low half of the pattern is zero
      code = lane.shiftRight(bits, 16);
    else
      code = encodeBF16(lane, bits);
    rewriter.replaceOp(op, lane.fromCode(code, to));
    return success();
  }
};

/// A bitcast of vectors to or from a narrow type becomes one of integers, FP4
/// to and from bytes aside.
struct BitcastNarrowAsInteger : OpRewritePattern<vector::BitCastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::BitCastOp op,
                                PatternRewriter &rewriter) const override {
    auto toInteger = [&](VectorType type) {
      Type elementType = type.getElementType();
      if (!isNarrowFloat(elementType))
        return type;
      return type.clone(
          rewriter.getIntegerType(elementType.getIntOrFloatBitWidth()));
    };
    VectorType from = toInteger(op.getSourceVectorType());
    VectorType to = toInteger(op.getResultVectorType());
    if (from == op.getSourceVectorType() && to == op.getResultVectorType())
      return rewriter.notifyMatchFailure(op, "no narrow type");
    Value value = op.getSource();
    if (from != value.getType())
      value = arith::BitcastOp::create(rewriter, op.getLoc(), from, value);
    if (from != to)
      value = vector::BitCastOp::create(rewriter, op.getLoc(), to, value);
    if (to != op.getType())
      value =
          arith::BitcastOp::create(rewriter, op.getLoc(), op.getType(), value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// A bitcast of half bytes becomes shifts of whole bytes, which every backend
/// does in registers; the even element is in the low half. Wider integers are
/// bitcast from bytes.
struct ExpandHalfByteBitCast : OpRewritePattern<vector::BitCastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::BitCastOp op,
                                PatternRewriter &rewriter) const override {
    VectorType from = op.getSourceVectorType();
    VectorType to = op.getResultVectorType();
    bool packs = from.getElementType().isInteger(4);
    if (packs == to.getElementType().isInteger(4))
      return rewriter.notifyMatchFailure(op, "not to or from half bytes");
    VectorType halves = packs ? from : to;
    if (halves.getRank() != 1 || halves.isScalable() ||
        halves.getNumElements() % 2 != 0)
      return rewriter.notifyMatchFailure(op, "not a plain vector of bytes");

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t numBytes = halves.getNumElements() / 2;
    auto bytes = VectorType::get(numBytes, b.getI8Type());
    auto wide = VectorType::get(2 * numBytes, b.getI8Type());
    auto constant = [&](int8_t value) {
      return arith::ConstantOp::create(
          b, SplatElementsAttr::get(bytes, b.getI8IntegerAttr(value)));
    };
    SmallVector<int64_t> even, odd, interleaved;
    for (int64_t i = 0; i < numBytes; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
      interleaved.append({i, numBytes + i});
    }
    if (packs) {
      Value codes = arith::ExtUIOp::create(b, wide, op.getSource());
      Value low = vector::ShuffleOp::create(b, codes, codes, even);
      Value high = vector::ShuffleOp::create(b, codes, codes, odd);
      high = arith::ShLIOp::create(b, high, constant(4));
      Value packed = arith::OrIOp::create(b, low, high);
      if (to != bytes)
        packed = vector::BitCastOp::create(b, to, packed);
      rewriter.replaceOp(op, packed);
      return success();
    }
    Value packed = op.getSource();
    if (from != bytes)
      packed = vector::BitCastOp::create(b, bytes, packed);
    // The truncation below drops the high half of the low codes.
    Value high = arith::ShRUIOp::create(b, packed, constant(4));
    Value codes = vector::ShuffleOp::create(b, packed, high, interleaved);
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, halves, codes);
    return success();
  }
};

struct QuantExpandCastsPass
    : te::quant::impl::QuantExpandCastsPassBase<QuantExpandCastsPass> {
  void runOnOperation() override {
    // Without folding: upstream's folds of arith.truncf and extf differ.
    RewritePatternSet toCasts(&getContext());
    populateArithToCastPatterns(toCasts);
    walkAndApplyPatterns(getOperation(), std::move(toCasts));

    RewritePatternSet patterns(&getContext());
    populateExpandCastsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    WalkResult result = getOperation()->walk([](Operation *op) {
      if (auto cast = dyn_cast<CastOp>(op)) {
        cast.emitOpError() << "expected a scalar or a vector, but got "
                           << cast.getType();
        return WalkResult::interrupt();
      }
      if (isa<arith::TruncFOp>(op) &&
          isNarrowFloat(getElementTypeOrSelf(op->getResult(0).getType()))) {
        op->emitOpError() << "expected the rounding of te_quant.cast and a "
                             "source of f32, bf16 or f16, but got "
                          << op->getOperand(0).getType();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

void te::quant::populateExpandCastsPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpandCast, BitcastNarrowAsInteger, ExpandHalfByteBitCast>(
      context);
  arith::BitcastOp::getCanonicalizationPatterns(patterns, context);
  // Unrolls bitcasts of more than one dim, which the half bytes need.
  vector::populateVectorBitCastLoweringPatterns(patterns);
}
