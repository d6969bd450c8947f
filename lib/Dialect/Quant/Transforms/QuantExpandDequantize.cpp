//===- QuantExpandDequantize.cpp - expansion of dequantize -===//
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

/// The result as a builtin tensor.
static RankedTensorType getResultType(DequantizeOp op) {
  if (auto spec = dyn_cast<TensorSpecType>(op.getResult().getType()))
    return cast<RankedTensorType>(spec.getInnerTypes().front());
  return cast<RankedTensorType>(op.getResult().getType());
}

/// The input with what the result's type knows about its dims.
static TensorSpecType getRefinedInput(DequantizeOp op) {
  TensorSpecType type = op.getInput().getType();
  return type.withShape(
      getMergedShape(type.getShape(), getResultType(op).getShape()));
}

/// Whether the one inner tensor holds the values themselves.
static bool holdsValues(TensorSpecType type) {
  return !type.isQuantized() || type.getQuantizer().isIdentity();
}

LogicalResult te::quant::verifyExpandable(DequantizeOp op) {
  TensorSpecType type = op.getInput().getType();
  if (holdsValues(type) || canRecoverLogicalDims(getRefinedInput(op)))
    return success();
  return op.emitOpError() << "the dynamic dims of " << type
                          << " cannot be told from its inner tensors";
}

namespace {
struct ExpandDequantizeOp : OpConversionPattern<DequantizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(DequantizeOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType resultType = getResultType(op);
    Type elementType = resultType.getElementType();
    if (holdsValues(op.getInput().getType())) {
      Value value = adaptor.getInput().front();
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getElementType() != elementType) {
        value = CastOp::create(rewriter, loc, type.clone(elementType), value);
        copyDiscardableAttrs(op, value.getDefiningOp());
      }
      rewriter.replaceOp(op, castTensor(rewriter, loc, value, resultType));
      return success();
    }
    TensorSpecType input = getRefinedInput(op);
    if (!canRecoverLogicalDims(input))
      return rewriter.notifyMatchFailure(op, "dims are unknown");
    Value out = tensor::EmptyOp::create(
        rewriter, loc,
        recoverLogicalDims(rewriter, loc, input, adaptor.getInput()),
        elementType);
    auto dequantize =
        DequantizeIntoOp::create(rewriter, loc, out.getType(),
                                 input.getQuantizer(), adaptor.getInput(), out);
    copyDiscardableAttrs(op, dequantize);
    rewriter.replaceOp(
        op, castTensor(rewriter, loc, dequantize.getResult(), resultType));
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandDequantizePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandDequantizeOp>(converter, patterns.getContext());
}
