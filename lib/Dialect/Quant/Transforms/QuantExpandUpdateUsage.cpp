//===- QuantExpandUpdateUsage.cpp - expansion of update_usage -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"

using namespace mlir;
using namespace te::quant;

static UsageChange getChange(UpdateUsageOp op) {
  return op.getInput().getType().getQuantizer().getUsageChange(
      op.getResult().getType().getQuantizer().getUsage());
}

LogicalResult te::quant::verifyExpandable(UpdateUsageOp op) {
  UsageChange change = getChange(op);
  if (change.kind == UsageChange::None || change.kind == UsageChange::Drop)
    return success();
  QuantizerAttrInterface from = op.getInput().getType().getQuantizer();
  return op.emitOpError()
         << "changing usage of '" << from.getFamily() << "' from "
         << stringifyUsage(from.getUsage()) << " to "
         << stringifyUsage(op.getResult().getType().getQuantizer().getUsage())
         << ", which derives a representation, is not supported yet";
}

namespace {
/// What stays is there already: nothing is copied.
struct ExpandUpdateUsageOp : OpConversionPattern<UpdateUsageOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(UpdateUsageOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    UsageChange change = getChange(op);
    if (change.kind != UsageChange::None && change.kind != UsageChange::Drop)
      return rewriter.notifyMatchFailure(op, "derives a representation");
    LayoutAttr from = op.getInput().getType().getLayout();
    SmallVector<Value> kept;
    for (StringAttr name : op.getResult().getType().getLayout().getNames()) {
      std::optional<unsigned> index = from.lookup(name);
      if (!index)
        return rewriter.notifyMatchFailure(op, "an inner tensor is missing");
      kept.push_back(adaptor.getInput()[*index]);
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(kept)});
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandUpdateUsagePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandUpdateUsageOp>(converter, patterns.getContext());
}
