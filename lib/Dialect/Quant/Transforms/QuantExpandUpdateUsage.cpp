//===- QuantExpandUpdateUsage.cpp - expansion of update_usage -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

/// Whether a representation is made that is not there.
static bool derives(UpdateUsageOp op) {
  UsageChange change = op.getInput().getType().getQuantizer().getUsageChange(
      op.getResult().getType().getQuantizer().getUsage());
  return change.kind == UsageChange::Derive ||
         change.kind == UsageChange::DeriveAndDrop;
}

LogicalResult te::quant::verifyExpandable(UpdateUsageOp op) {
  TensorSpecType type = op.getInput().getType();
  if (!derives(op) || canRecoverLogicalDims(type))
    return success();
  return op.emitOpError() << "the dynamic dims of " << type
                          << " cannot be told from its inner tensors";
}

/// Adds to `inners`, by name, what both usages have and the input has not.
static void emitDerive(OpBuilder &builder, UpdateUsageOp op, ValueRange given,
                       llvm::SmallDenseMap<StringAttr, Value> &inners) {
  Location loc = op.getLoc();
  TensorSpecType type = op.getInput().getType();
  QuantizerAttrInterface both = type.getQuantizer().withUsage(Usage::Both);
  LayoutAttr from = type.getLayout();
  LayoutAttr to = getLayout(both, type.getNominalDtype());
  LayoutEmitter emitter(builder, loc,
                        recoverLogicalDims(builder, loc, type, given));
  SmallVector<StringAttr> names;
  SmallVector<Value> outs;
  for (auto [index, name] : llvm::enumerate(to.getNames())) {
    if (from.lookup(name))
      continue;
    names.push_back(name);
    outs.push_back(emitter.createEmpty(to, index));
  }
  auto derive = DeriveIntoOp::create(
      builder, loc, TypeRange(ValueRange(outs)), both, given,
      emitter.getExtent(Extent::Rows), emitter.getExtent(Extent::Cols), outs);
  copyDiscardableAttrs(op, derive);
  for (auto [name, value] : llvm::zip_equal(names, derive.getResults()))
    inners[name] = value;
}

namespace {
/// What stays is there already: nothing is copied.
struct ExpandUpdateUsageOp : OpConversionPattern<UpdateUsageOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(UpdateUsageOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TensorSpecType type = op.getInput().getType();
    TensorSpecType resultType = op.getResult().getType();
    if (derives(op) && !canRecoverLogicalDims(type))
      return rewriter.notifyMatchFailure(op, "dims are unknown");
    llvm::SmallDenseMap<StringAttr, Value> inners;
    for (auto [name, value] :
         llvm::zip_equal(type.getLayout().getNames(), adaptor.getInput()))
      inners[name] = value;
    if (derives(op))
      emitDerive(rewriter, op, adaptor.getInput(), inners);
    SmallVector<Value> results;
    for (auto [name, innerType] : llvm::zip_equal(
             resultType.getLayout().getNames(), resultType.getInnerTypes())) {
      Value value = inners.lookup(name);
      if (!value)
        return rewriter.notifyMatchFailure(op, "an inner tensor is missing");
      results.push_back(
          castTensor(rewriter, op.getLoc(), value, innerType));
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(results)});
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandUpdateUsagePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandUpdateUsageOp>(converter, patterns.getContext());
}
