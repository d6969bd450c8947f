//===- QuantExpandColumnSum.cpp - expansion of column_sum -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

namespace {
struct ExpandColumnSumOp : OpConversionPattern<ColumnSumOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ColumnSumOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getResult().getType();
    Value input = adaptor.getInput().front();
    ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
    SmallVector<OpFoldResult> dims =
        getLogicalDims(rewriter, loc, input, shape);
    LayoutEmitter emitter(rewriter, loc, dims);
    if (ShapedType::isDynamic(shape.back()) && !type.isDynamicDim(0)) {
      Value expected =
          arith::ConstantIndexOp::create(rewriter, loc, type.getDimSize(0));
      Value isEqual = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq,
          emitter.getExtent(Extent::Cols), expected);
      CheckOp::create(rewriter, loc, isEqual,
                      ("expected " + Twine(type.getDimSize(0)) +
                       " columns to sum over")
                          .str());
    }

    OpFoldResult chunks;
    int64_t rows = getFlattenedExtents(shape)->first;
    if (ShapedType::isDynamic(rows)) {
      Value size =
          arith::ConstantIndexOp::create(rewriter, loc, columnSumChunk);
      chunks = arith::CeilDivUIOp::create(rewriter, loc,
                                          emitter.getExtent(Extent::Rows), size)
                   .getResult();
    } else {
      chunks = rewriter.getIndexAttr(
          llvm::divideCeilSigned(rows, columnSumChunk));
    }
    SmallVector<OpFoldResult> sumDims = {dims.back()};
    SmallVector<OpFoldResult> chunkDims = {chunks, dims.back()};
    SmallVector<Value> outs = {
        tensor::EmptyOp::create(rewriter, loc, sumDims, type.getElementType()),
        tensor::EmptyOp::create(rewriter, loc, chunkDims,
                                rewriter.getF32Type())};
    auto sum = ColumnSumIntoOp::create(rewriter, loc,
                                       TypeRange(ValueRange(outs)), input, outs,
                                       /*indexing_maps=*/ArrayAttr());
    copyDiscardableAttrs(op, sum);
    rewriter.replaceOp(op,
                       castTensor(rewriter, loc, sum.getResult(0), type));
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandColumnSumPatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandColumnSumOp>(converter, patterns.getContext());
}
