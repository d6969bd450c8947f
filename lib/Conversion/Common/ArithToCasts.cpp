//===- ArithToCasts.cpp - arith.truncf and extf become te_quant.cast ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "te/Conversion/Common/NarrowFloats.h"
#include "te/Conversion/Patterns.h"
#include "te/Dialect/Quant/IR/QuantOps.h"

using namespace mlir;
using namespace te::quant;

namespace {

struct ConvertTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!isNarrowFloat(to))
      return rewriter.notifyMatchFailure(op, "not to a narrow type");
    if (!isWideFloat(from) && !isNarrowFloat(from))
      return rewriter.notifyMatchFailure(op, "would round twice");
    arith::RoundingMode ours = isa<Float8E8M0FNUType>(to)
                                   ? arith::RoundingMode::upward
                                   : arith::RoundingMode::to_nearest_even;
    if (op.getRoundingmode().value_or(ours) != ours)
      return rewriter.notifyMatchFailure(op, "rounds differently");
    Value input = op.getIn();
    // Widening is exact, so that only the second cast rounds.
    if (isNarrowFloat(from))
      input = CastOp::create(
          rewriter, op.getLoc(),
          withElementType(input.getType(), rewriter.getF32Type()), input);
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), input);
    return success();
  }
};

struct ConvertExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrowFloat(getElementTypeOrSelf(op.getIn().getType())))
      return rewriter.notifyMatchFailure(op, "not from a narrow type");
    Type to = getElementTypeOrSelf(op.getType());
    if (isWideFloat(to)) {
      rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), op.getIn());
      return success();
    }
    if (!isNarrowFloat(to) && !isa<Float64Type>(to))
      return rewriter.notifyMatchFailure(op, "to a type that we do not know");
    Value wide = CastOp::create(
        rewriter, op.getLoc(),
        withElementType(op.getType(), rewriter.getF32Type()), op.getIn());
    if (isNarrowFloat(to))
      rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), wide);
    else
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), wide);
    return success();
  }
};

} // namespace

void te::quant::populateArithToCastPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertTruncF, ConvertExtF>(patterns.getContext());
}
