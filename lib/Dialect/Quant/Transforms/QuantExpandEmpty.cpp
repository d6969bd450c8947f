//===- QuantExpandEmpty.cpp - expansion of empty -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

namespace {
struct ExpandEmptyOp : OpConversionPattern<EmptyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EmptyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TensorSpecType type = op.getResult().getType();
    auto dynamicSize = adaptor.getDynamicSizes().begin();
    SmallVector<OpFoldResult> dims;
    for (int64_t size : type.getShape())
      dims.push_back(ShapedType::isDynamic(size)
                         ? OpFoldResult(*dynamicSize++)
                         : OpFoldResult(rewriter.getIndexAttr(size)));
    LayoutEmitter emitter(rewriter, op.getLoc(), dims);
    LayoutAttr layout = type.getLayout();
    SmallVector<Value> inners;
    for (unsigned index = 0; index != layout.size(); ++index) {
      inners.push_back(emitter.createEmpty(layout, index));
      copyDiscardableAttrs(op, inners.back().getDefiningOp());
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(inners)});
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandEmptyPatterns(const TypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<ExpandEmptyOp>(converter, patterns.getContext());
}
