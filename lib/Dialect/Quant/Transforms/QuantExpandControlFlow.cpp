//===- QuantExpandControlFlow.cpp - expansion of control flow -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As upstream's structural conversions, which drop attributes of branches,
// scf.while and scf.index_switch.
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace te::quant;

namespace {
/// One select for each inner tensor.
struct ExpandSelectOp : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value condition = adaptor.getCondition().front();
    SmallVector<Value> selects;
    for (auto [ifTrue, ifFalse] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue())) {
      selects.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                                condition, ifTrue, ifFalse));
      copyDiscardableAttrs(op, selects.back().getDefiningOp());
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(selects)});
    return success();
  }
};

struct ExpandBranchOp : OpInterfaceConversionPattern<BranchOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult
  matchAndRewrite(BranchOpInterface op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    // Assigning to one successor moves the operands of the next.
    SmallVector<SmallVector<Value>> forwarded;
    for (unsigned index = 0; index != op->getNumSuccessors(); ++index) {
      OperandRange range = op.getSuccessorOperands(index).getForwardedOperands();
      forwarded.push_back(flattenValues(
          range.empty()
              ? ArrayRef<ValueRange>()
              : operands.slice(range.getBeginOperandIndex(), range.size())));
    }
    rewriter.modifyOpInPlace(op, [&] {
      for (auto [index, values] : llvm::enumerate(forwarded))
        op.getSuccessorOperands(index).getMutableForwardedOperands().assign(
            values);
    });
    return success();
  }
};

/// An op whose regions hand values on, without operand segments.
template <typename OpTy>
struct ExpandRegionOp : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using typename OpConversionPattern<OpTy>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(OpTy op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const TypeConverter &converter = *this->getTypeConverter();
    SmallVector<Type> types;
    SmallVector<size_t> counts;
    if (failed(convertTypes(converter, op->getResultTypes(), types, counts)))
      return failure();
    OperationState state(op.getLoc(), op->getName(),
                         flattenValues(adaptor.getOperands()), types,
                         op->getAttrs());
    for (unsigned index = 0; index != op->getNumRegions(); ++index)
      state.addRegion();
    Operation *expanded = rewriter.create(state);
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), expanded->getRegions())) {
      if (failed(rewriter.convertRegionTypes(&from, converter)))
        return failure();
      rewriter.inlineRegionBefore(from, to, to.end());
    }
    rewriter.replaceOpWithMultiple(op,
                                   splitValues(expanded->getResults(), counts));
    return success();
  }
};

/// A terminator that hands on all its operands in order.
template <typename OpTy>
struct ExpandTerminatorOp : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using typename OpConversionPattern<OpTy>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(OpTy op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(
        op, [&] { op->setOperands(flattenValues(adaptor.getOperands())); });
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandControlFlowPatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandBranchOp, ExpandSelectOp, ExpandRegionOp<scf::ForOp>,
               ExpandRegionOp<scf::IfOp>, ExpandRegionOp<scf::IndexSwitchOp>,
               ExpandRegionOp<scf::WhileOp>,
               ExpandTerminatorOp<scf::ConditionOp>,
               ExpandTerminatorOp<scf::YieldOp>,
               ExpandTerminatorOp<func::ReturnOp>>(converter,
                                                   patterns.getContext());
}
