//===- QuantExpandSwizzle.cpp - expansion of swizzle -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace te::quant;

LogicalResult te::quant::verifyExpandable(SwizzleOp op) {
  TensorSpecType type = op.getInput().getType();
  if (canRecoverExtents(type))
    return success();
  return op.emitOpError() << "the dynamic extents of " << type
                          << " cannot be told from its inner tensors";
}

namespace {
/// Only the scales move; everything else is forwarded.
struct ExpandSwizzleOp : OpConversionPattern<SwizzleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(SwizzleOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TensorSpecType type = op.getInput().getType();
    QuantizerAttrInterface target = op.getResult().getType().getQuantizer();
    SmallVector<Value> inners(adaptor.getInput());
    if (!canRecoverExtents(type))
      return rewriter.notifyMatchFailure(op, "extents are unknown");
    if (target == type.getQuantizer()) {
      rewriter.replaceOpWithMultiple(op, {ValueRange(inners)});
      return success();
    }
    Location loc = op.getLoc();
    auto [rows, cols] = recoverExtents(rewriter, loc, type, inners);
    LayoutAttr layout = type.getLayout();
    for (StringAttr name : target.getGemmOrderedInners()) {
      std::optional<unsigned> index = layout.lookup(name);
      if (!index)
        continue;
      Value &scales = inners[*index];
      Value out = tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, scales),
          layout.getElementTypes()[*index]);
      auto swizzle = SwizzleIntoOp::create(rewriter, loc, out.getType(), target,
                                           name, scales, rows, cols, out);
      copyDiscardableAttrs(op, swizzle);
      scales = swizzle.getResult();
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(inners)});
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandSwizzlePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandSwizzleOp>(converter, patterns.getContext());
}
