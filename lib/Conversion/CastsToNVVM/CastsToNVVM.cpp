//===- CastsToNVVM.cpp - conversions as instructions of the chip ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX converts narrow values in pairs. The first operand of a pair goes to the
// upper half of the result, so that element 2i of a vector is the second one.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "te/Conversion/Common/NarrowFloats.h"
#include "te/Conversion/Passes.h"
#include "te/Conversion/Patterns.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Target/TargetInfo.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTCASTSTONVVMPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {

bool has(HardwareCasts hardware, Type narrow) {
  if (isa<Float4E2M1FNType>(narrow))
    return hardware.fp4;
  if (isa<Float8E8M0FNUType>(narrow))
    return hardware.e8m0;
  return isa<Float8E4M3FNType, Float8E5M2Type>(narrow) && hardware.fp8;
}

bool isPlain(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? !vector.isScalable() : !isa<ShapedType>(type);
}

/// Among f32, bf16 and f16 every chip converts, and rounds as we do.
struct ConvertWideCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getInput().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!isWideFloat(from) || !isWideFloat(to))
      return rewriter.notifyMatchFailure(op, "a narrow type");
    Value value = op.getInput();
    if (!isa<Float32Type>(from))
      value = arith::ExtFOp::create(
          rewriter, op.getLoc(),
          withElementType(op.getType(), rewriter.getF32Type()), value);
    if (!isa<Float32Type>(to))
      value =
          arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Between narrow types and bf16 or f16 the way is through f32, which is exact
/// on the other side of the conversion that rounds.
struct ConvertCastThroughF32 : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getInput().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (isa<Float32Type>(from) || isa<Float32Type>(to) ||
        (isWideFloat(from) && isWideFloat(to)))
      return rewriter.notifyMatchFailure(op, "one step");
    Type f32 = withElementType(op.getType(), rewriter.getF32Type());
    Value wide = CastOp::create(rewriter, op.getLoc(), f32, op.getInput());
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), wide);
    return success();
  }
};

/// Makes vectors of several dims and of none vectors of one.
struct FlattenCast : OpRewritePattern<CastOp> {
  FlattenCast(MLIRContext *context, HardwareCasts hardware)
      : OpRewritePattern(context), hardware(hardware) {}

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.isScalable() || type.getRank() == 1)
      return rewriter.notifyMatchFailure(op, "no vector of several dims");
    Type from = getElementTypeOrSelf(op.getInput().getType());
    Type to = type.getElementType();
    if (!has(hardware, from) && !has(hardware, to))
      return rewriter.notifyMatchFailure(op, "not an instruction of the chip");
    int64_t size = type.getNumElements();
    Value flat = vector::ShapeCastOp::create(
        rewriter, op.getLoc(), VectorType::get(size, from), op.getInput());
    flat =
        CastOp::create(rewriter, op.getLoc(), VectorType::get(size, to), flat);
    rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(op, type, flat);
    return success();
  }

  HardwareCasts hardware;
};

/// f32 to a narrow type, on scalars and vectors of one dim.
struct ConvertNarrowingCast : OpRewritePattern<CastOp> {
  ConvertNarrowingCast(MLIRContext *context, HardwareCasts hardware)
      : OpRewritePattern(context), hardware(hardware) {}

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!isa<Float32Type>(getElementTypeOrSelf(op.getInput().getType())) ||
        !isPlain(op.getType()) || (type && type.getRank() != 1))
      return rewriter.notifyMatchFailure(op, "no plain vector of f32");
    if (!has(hardware, to))
      return rewriter.notifyMatchFailure(op, "not an instruction of the chip");

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value input = op.getInput();
    if (isa<Float8E8M0FNUType>(to))
      input = clearSign(b, input);
    if (!type) {
      Value pair = convertPair(b, input, zero(b), to);
      Type code = b.getIntegerType(to.getIntOrFloatBitWidth());
      rewriter.replaceOpWithNewOp<arith::BitcastOp>(
          op, to, arith::TruncIOp::create(b, code, pair));
      return success();
    }
    int64_t size = type.getNumElements();
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < size; i += 2) {
      Value low = vector::ExtractOp::create(b, input, i);
      Value high =
          i + 1 < size ? vector::ExtractOp::create(b, input, i + 1) : zero(b);
      pairs.push_back(convertPair(b, low, high, to));
    }
    auto numPairs = static_cast<int64_t>(pairs.size());
    Value packed = vector::FromElementsOp::create(
        b, VectorType::get(numPairs, pairs.front().getType()), pairs);
    Value result =
        vector::BitCastOp::create(b, VectorType::get(2 * numPairs, to), packed);
    if (2 * numPairs != size)
      result = vector::ExtractStridedSliceOp::create(
          b, result, /*offsets=*/ArrayRef<int64_t>{0}, /*sizes=*/size,
          /*strides=*/ArrayRef<int64_t>{1});
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value zero(ImplicitLocOpBuilder &b) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  }

  /// The sign counts for nothing in E8M0, whatever an instruction makes of it.
  static Value clearSign(ImplicitLocOpBuilder &b, Value input) {
    Type type = input.getType();
    Type bits = withElementType(type, b.getI32Type());
    TypedAttr mask = b.getI32IntegerAttr(0x7FFFFFFF);
    if (auto vector = dyn_cast<VectorType>(bits))
      mask = SplatElementsAttr::get(vector, mask);
    Value magnitude =
        arith::AndIOp::create(b, arith::BitcastOp::create(b, bits, input),
                              arith::ConstantOp::create(b, bits, mask));
    return arith::BitcastOp::create(b, type, magnitude);
  }

  /// Two codes in an integer of twice their width.
  static Value convertPair(ImplicitLocOpBuilder &b, Value low, Value high,
                           Type to) {
    if (isa<Float4E2M1FNType>(to))
      return NVVM::ConvertF32x2ToF4x2Op::create(b, b.getI8Type(), high, low,
                                                /*relu=*/false, to);
    auto rounding = isa<Float8E8M0FNUType>(to) ? NVVM::FPRoundingMode::RP
                                               : NVVM::FPRoundingMode::RN;
    return NVVM::ConvertF32x2ToF8x2Op::create(
        b, b.getI16Type(), high, low, rounding, NVVM::SaturationMode::SATFINITE,
        /*relu=*/false, to);
  }

  HardwareCasts hardware;
};

/// A narrow type to f32, on scalars and vectors of one dim.
struct ConvertWideningCast : OpRewritePattern<CastOp> {
  ConvertWideningCast(MLIRContext *context, HardwareCasts hardware)
      : OpRewritePattern(context), hardware(hardware) {}

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    Type from = getElementTypeOrSelf(op.getInput().getType());
    if (!isa<Float32Type>(getElementTypeOrSelf(op.getType())) ||
        !isPlain(op.getType()) || (type && type.getRank() != 1))
      return rewriter.notifyMatchFailure(op, "no plain vector of f32");
    if (!has(hardware, from))
      return rewriter.notifyMatchFailure(op, "not an instruction of the chip");

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    unsigned width = from.getIntOrFloatBitWidth();
    Type pairType = b.getIntegerType(2 * width);
    if (!type) {
      Value code =
          arith::BitcastOp::create(b, b.getIntegerType(width), op.getInput());
      Value pair = arith::ExtUIOp::create(b, pairType, code);
      rewriter.replaceOp(
          op, vector::ExtractOp::create(b, convertPair(b, pair, from), 0));
      return success();
    }
    int64_t size = type.getNumElements();
    int64_t numPairs = (size + 1) / 2;
    Value codes = op.getInput();
    if (2 * numPairs != size) {
      auto padded = VectorType::get(2 * numPairs, from);
      auto zeros = arith::ConstantOp::create(
          b, padded.clone(b.getIntegerType(width)),
          b.getZeroAttr(padded.clone(b.getIntegerType(width))));
      codes = vector::InsertStridedSliceOp::create(
          b, codes, arith::BitcastOp::create(b, padded, zeros),
          /*offsets=*/ArrayRef<int64_t>{0}, /*strides=*/ArrayRef<int64_t>{1});
    }
    Value pairs = vector::BitCastOp::create(
        b, VectorType::get(numPairs, pairType), codes);
    SmallVector<Value> values;
    for (int64_t i = 0; i < numPairs; ++i) {
      Value wide = convertPair(b, vector::ExtractOp::create(b, pairs, i), from);
      for (int64_t half = 0; half < 2 && 2 * i + half < size; ++half)
        values.push_back(vector::ExtractOp::create(b, wide, half));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, values);
    return success();
  }

private:
  /// The two values of `pair` as f32, the one in the lower half first.
  static Value convertPair(ImplicitLocOpBuilder &b, Value pair, Type from) {
    Value wide;
    auto f16x2 = VectorType::get(2, b.getF16Type());
    if (isa<Float4E2M1FNType>(from)) {
      wide = NVVM::ConvertF4x2ToF16x2Op::create(b, f16x2, pair, /*relu=*/false,
                                                from);
    } else {
      Value bytes = vector::BitCastOp::create(
          b, VectorType::get(2, b.getI8Type()),
          vector::FromElementsOp::create(b, VectorType::get(1, b.getI16Type()),
                                         pair));
      if (isa<Float8E8M0FNUType>(from))
        return widenBF16(
            b, NVVM::ConvertF8x2ToBF16x2Op::create(
                   b, VectorType::get(2, b.getBF16Type()), bytes, from));
      wide = NVVM::ConvertF8x2ToF16x2Op::create(b, f16x2, bytes,
                                                /*relu=*/false, from);
    }
    return arith::ExtFOp::create(b, VectorType::get(2, b.getF32Type()), wide);
  }

  /// A pair of bf16 as f32, on the bits: of a product of two extensions that is
  /// truncated to f16, LLVM makes a product in f16, where a bf16 may be Inf.
  static Value widenBF16(ImplicitLocOpBuilder &b, Value pair) {
    auto i32x2 = VectorType::get(2, b.getI32Type());
    Value bits =
        arith::BitcastOp::create(b, VectorType::get(2, b.getI16Type()), pair);
    Value sixteen = arith::ConstantOp::create(
        b, DenseElementsAttr::get(i32x2, b.getI32IntegerAttr(16)));
    Value wide = arith::ShLIOp::create(
        b, arith::ExtUIOp::create(b, i32x2, bits), sixteen);
    return arith::BitcastOp::create(b, VectorType::get(2, b.getF32Type()),
                                    wide);
  }

  HardwareCasts hardware;
};

struct QuantCastsToNVVMPass
    : te::quant::impl::QuantCastsToNVVMPassBase<QuantCastsToNVVMPass> {
  using QuantCastsToNVVMPassBase::QuantCastsToNVVMPassBase;

  void runOnOperation() override {
    FailureOr<HardwareCasts> hardware = getHardwareCasts();
    if (failed(hardware))
      return signalPassFailure();

    // Without folding: upstream's folds of arith.truncf and extf differ.
    RewritePatternSet toCasts(&getContext());
    populateArithToCastPatterns(toCasts);
    walkAndApplyPatterns(getOperation(), std::move(toCasts));

    RewritePatternSet patterns(&getContext());
    populateCastsToNVVMPatterns(patterns, *hardware);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  /// What all chips that the module is compiled for have.
  FailureOr<HardwareCasts> getHardwareCasts() {
    gpu::GPUModuleOp module = getOperation();
    SmallVector<StringRef> chips;
    if (!chip.empty()) {
      chips.push_back(chip);
    } else if (ArrayAttr targets = module.getTargetsAttr()) {
      for (auto target : targets.getAsRange<Attribute>())
        if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
          chips.push_back(nvvm.getChip());
    }
    if (chips.empty())
      return module.emitOpError()
             << "expected the option chip or a #nvvm.target attribute";
    HardwareCasts hardware = {true, true, true};
    for (StringRef name : chips) {
      const TargetInfo *target = TargetInfo::lookup(name);
      if (!target)
        return module.emitOpError()
               << "expected a chip among " << TargetInfo::getKnownChips()
               << ", but got '" << name << "'";
      hardware.fp8 &= target->hasFP8Conversions;
      hardware.fp4 &= target->hasFP4Conversions;
      hardware.e8m0 &= target->hasE8M0Conversions;
    }
    return hardware;
  }
};

} // namespace

void te::quant::populateCastsToNVVMPatterns(RewritePatternSet &patterns,
                                            HardwareCasts hardware) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ConvertWideCast, ConvertCastThroughF32>(context);
  patterns.add<FlattenCast, ConvertNarrowingCast, ConvertWideningCast>(
      context, hardware);
  arith::BitcastOp::getCanonicalizationPatterns(patterns, context);
}
