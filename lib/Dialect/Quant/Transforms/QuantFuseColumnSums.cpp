//===- QuantFuseColumnSums.cpp - column sums into the op that quantizes ---===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTFUSECOLUMNSUMSPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

static bool canFuse(ColumnSumIntoOp sum, QuantizeIntoOp quantize) {
  return quantize->getNumResults() != 0 && !quantize.getNoop() &&
         !quantize.getColumnSum() && quantize.getQuantizer().fusesColumnSum() &&
         llvm::equal(sum.getInputs(), quantize.getInputs()) &&
         sum.getIndexingMapsAttr() == quantize.getIndexingMapsAttr() &&
         OperationEquivalence::isRegionEquivalentTo(
             &sum.getProducer(), &quantize.getProducer(),
             OperationEquivalence::IgnoreLocations);
}

/// Makes one op of the two if what it needs can be there where the first of
/// them is.
static LogicalResult fuse(RewriterBase &rewriter, ColumnSumIntoOp sum,
                          QuantizeIntoOp quantize) {
  Operation *first = sum, *second = quantize;
  if (second->isBeforeInBlock(first))
    std::swap(first, second);
  if (failed(moveOperationDependencies(rewriter, second, first)))
    return failure();
  rewriter.setInsertionPoint(first);
  SmallVector<Value> outs(quantize.getOuts());
  llvm::append_range(outs, sum.getOuts());
  auto fused = QuantizeIntoOp::create(
      rewriter, quantize.getLoc(), TypeRange(ValueRange(outs)),
      quantize.getQuantizer(), quantize.getInputs(), quantize.getNoop(),
      quantize.getScale(), quantize.getAmax(), quantize.getRng(), outs,
      quantize.getIndexingMapsAttr(), rewriter.getUnitAttr());
  fused->setDiscardableAttrs(quantize->getDiscardableAttrDictionary());
  fused.getProducer().takeBody(quantize.getProducer());
  ValueRange results(fused.getResults());
  rewriter.replaceOp(quantize, results.drop_back(2));
  rewriter.replaceOp(sum, results.take_back(2));
  return success();
}

namespace {
struct QuantFuseColumnSums
    : te::quant::impl::QuantFuseColumnSumsPassBase<QuantFuseColumnSums> {
  void runOnOperation() override {
    SmallVector<ColumnSumIntoOp> sums;
    getOperation().walk([&](ColumnSumIntoOp op) { sums.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (ColumnSumIntoOp sum : sums)
      for (auto quantize : sum->getBlock()->getOps<QuantizeIntoOp>())
        if (canFuse(sum, quantize) &&
            succeeded(fuse(rewriter, sum, quantize)))
          break;
  }
};
} // namespace
