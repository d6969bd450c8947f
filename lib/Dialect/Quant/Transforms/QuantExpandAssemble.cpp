//===- QuantExpandAssemble.cpp - expansion of assemble and disassemble -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"

using namespace mlir;
using namespace te::quant;

namespace {
struct ExpandAssembleOp : OpConversionPattern<AssembleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AssembleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> inners;
    for (auto [value, type] : llvm::zip_equal(
             adaptor.getInners(), op.getResult().getType().getInnerTypes()))
      inners.push_back(castTensor(rewriter, op.getLoc(), value, type));
    rewriter.replaceOpWithMultiple(op, {ValueRange(inners)});
    return success();
  }
};

struct ExpandDisassembleOp : OpConversionPattern<DisassembleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(DisassembleOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> inners;
    for (auto [value, type] :
         llvm::zip_equal(adaptor.getInput(), op.getInners().getTypes()))
      inners.push_back(castTensor(rewriter, op.getLoc(), value, type));
    rewriter.replaceOp(op, inners);
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandAssemblePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandAssembleOp, ExpandDisassembleOp>(converter,
                                                      patterns.getContext());
}
