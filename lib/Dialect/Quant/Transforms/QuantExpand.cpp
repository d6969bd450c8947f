//===- QuantExpand.cpp - replace TensorSpecs by their inner tensors -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A one-to-many dialect conversion. The pass asks every op first whether it can
// be expanded, so that a program is refused with one located error.
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTEXPANDPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

TensorSpecConverter::TensorSpecConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](TensorSpecType type, SmallVectorImpl<Type> &inners) {
    llvm::append_range(inners, type.getInnerTypes());
    return success();
  });
  addSourceMaterialization([](OpBuilder &builder, TensorSpecType type,
                              ValueRange inners, Location loc) -> Value {
    return AssembleOp::create(builder, loc, type, inners);
  });
  addTargetMaterialization([](OpBuilder &builder, TypeRange types,
                              ValueRange values,
                              Location loc) -> SmallVector<Value> {
    if (values.size() != 1 || !isa<TensorSpecType>(values.front().getType()))
      return {};
    return SmallVector<Value>(
        DisassembleOp::create(builder, loc, types, values.front())
            .getResults());
  });
}

void te::quant::populateQuantExpandPatterns(const TypeConverter &converter,
                                            RewritePatternSet &patterns) {
  populateQuantExpandAssemblePatterns(converter, patterns);
  populateQuantExpandCollectivesPatterns(converter, patterns);
  populateQuantExpandColumnSumPatterns(converter, patterns);
  populateQuantExpandComposedPatterns(converter, patterns);
  populateQuantExpandControlFlowPatterns(converter, patterns);
  populateQuantExpandDequantizePatterns(converter, patterns);
  populateQuantExpandEmptyPatterns(converter, patterns);
  populateQuantExpandFuncPatterns(converter, patterns);
  populateQuantExpandGemmPatterns(converter, patterns);
  populateQuantExpandQuantizePatterns(converter, patterns);
  populateQuantExpandScalesPatterns(converter, patterns);
  populateQuantExpandSwizzlePatterns(converter, patterns);
  populateQuantExpandUpdateUsagePatterns(converter, patterns);
}

/// Whether a TensorSpec is `type` or part of it, however deep.
static bool mentionsTensorSpec(Type type) {
  return type.walk([](TensorSpecType) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether `holds` for a type that `op` takes, gives or passes to its blocks.
static bool anyType(Operation *op, function_ref<bool(Type)> holds) {
  if (llvm::any_of(op->getOperandTypes(), holds) ||
      llvm::any_of(op->getResultTypes(), holds))
    return true;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (llvm::any_of(block.getArgumentTypes(), holds))
        return true;
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && (llvm::any_of(function.getArgumentTypes(), holds) ||
                      llvm::any_of(function.getResultTypes(), holds));
}

static bool usesTensorSpec(Operation *op) {
  return anyType(op, mentionsTensorSpec);
}

static LogicalResult verifyExpandable(Operation *op) {
  if (!usesTensorSpec(op) && !isa<GemmOp>(op))
    return success();
  LogicalResult result =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<AllGatherOp, DequantizeOp, GemmOp, QuantizeOp, SwizzleOp,
                UpdateUsageOp>(
              [](auto op) { return te::quant::verifyExpandable(op); })
          .Case<AllReduceOp, AmaxOp, AssembleOp, ColumnSumOp, DisassembleOp,
                EmptyOp, ReduceScatterOp, func::FuncOp, func::CallOp,
                func::ReturnOp, BranchOpInterface, scf::ForOp, scf::IfOp,
                scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp,
                scf::ConditionOp, arith::SelectOp>(
              [](auto) { return success(); })
          .Default([](Operation *op) {
            return op->emitOpError()
                   << "with TensorSpecs cannot be expanded: supported are "
                      "te_quant, func.func, call and return, cf branches, "
                      "scf.for, "
                      "if and while, and arith.select";
          });
  if (failed(result))
    return failure();
  // What a tuple or a function type holds would have to change with it.
  if (anyType(op, [](Type type) {
        return !isa<TensorSpecType>(type) && mentionsTensorSpec(type);
      }))
    return op->emitOpError()
           << "with a TensorSpec inside of another type cannot be expanded";
  return success();
}

namespace {
struct QuantExpandPass : te::quant::impl::QuantExpandPassBase<QuantExpandPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // The conversion visits reachable blocks only.
    IRRewriter eraser(&getContext());
    (void)eraseUnreachableBlocks(eraser, module->getRegions());
    WalkResult result = module.walk([](Operation *op) {
      return failed(::verifyExpandable(op)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    TensorSpecConverter converter;
    module.walk(
        [&](func::FuncOp func) { setBoundaryAttributes(func, converter); });

    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal(
        [](Operation *op) { return !usesTensorSpec(op); });
    // These have no need of TensorSpecs.
    target.addIllegalOp<AllGatherOp, AllReduceOp, AmaxOp, ColumnSumOp, GemmOp,
                        ReduceScatterOp, UpdateScaleOp>();
    RewritePatternSet patterns(&getContext());
    populateQuantExpandPatterns(converter, patterns);
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(module, target, std::move(patterns),
                                      config)))
      signalPassFailure();
  }
};
} // namespace
