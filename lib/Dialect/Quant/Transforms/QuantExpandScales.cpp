//===- QuantExpandScales.cpp - expansion of amax and update_scale -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace te::quant;

AmaxIntoOp te::quant::emitAmaxInto(OpBuilder &builder, Location loc,
                                   QuantizerAttrInterface quantizer,
                                   Value input) {
  SmallVector<Value> outs;
  for (unsigned n = quantizer.getQuantizeSignature().numAmaxes; n != 0; --n)
    outs.push_back(tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{1},
                                           builder.getF32Type()));
  return AmaxIntoOp::create(builder, loc, TypeRange(ValueRange(outs)),
                            quantizer, input, outs,
                            /*indexing_maps=*/ArrayAttr());
}

namespace {
struct ExpandAmaxOp : OpConversionPattern<AmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AmaxOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AmaxIntoOp amax =
        emitAmaxInto(rewriter, op.getLoc(), op.getQuantizer(),
                     adaptor.getInput().front());
    copyDiscardableAttrs(op, amax);
    rewriter.replaceOp(op, amax.getResults());
    return success();
  }
};

struct ExpandUpdateScaleOp : OpConversionPattern<UpdateScaleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(UpdateScaleOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value history = adaptor.getHistory().front();
    Value scale = adaptor.getScale().front();
    SmallVector<Value> outs;
    for (Value like : {history, scale})
      outs.push_back(tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, like),
          rewriter.getF32Type()));
    auto update = UpdateScaleIntoOp::create(
        rewriter, loc, TypeRange(ValueRange(outs)), op.getQuantizer(),
        op.getAlgo(), history, adaptor.getAmax().front(), scale, outs,
        op.getMargin(), op.getKeepOnZeroAmax());
    copyDiscardableAttrs(op, update);
    rewriter.replaceOp(op, update.getResults());
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandScalesPatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandAmaxOp, ExpandUpdateScaleOp>(converter,
                                                  patterns.getContext());
}
