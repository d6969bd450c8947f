//===- QuantFuseProducers.cpp - elementwise inputs into the op's region ---===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// P-4: what is fused has the bits of what is not: each op keeps its type.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTFUSEPRODUCERSPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

/// The op that makes `value` if that is a constant, which can be moved.
static Operation *getConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && matchPattern(op, m_Constant()) && isElementOp(op) ? op : nullptr;
}

/// Whether the body of `op` could be in a region on elements.
static bool isFusable(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!op.getMatchingIndexingMap(init).isIdentity() ||
      op.payloadUsesValueFromOperand(init))
    return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (type ? !isInputElementType(type.getElementType())
             : !getConstant(input->get()))
      return false;
  }
  Block *body = op.getBlock();
  for (Operation &inner : body->without_terminator())
    if (!isElementOp(&inner))
      return false;
  return llvm::all_of(*body, [&](Operation &inner) {
    return llvm::all_of(inner.getOperands(), [&](Value operand) {
      return operand.getParentBlock() == body || getConstant(operand);
    });
  });
}

/// Whether `user` reads with `map` what `op` makes and may make it itself.
static bool canFuse(linalg::LinalgOp op, FusedInputOpInterface user,
                    OpOperand &use) {
  ValueRange inputs = user.getInputs();
  unsigned first = user.getInputs().getBeginOperandIndex();
  unsigned number = use.getOperandNumber();
  if (!user.canFuseProducer() || number < first ||
      number >= first + inputs.size())
    return false;
  SmallVector<AffineMap> maps = user.getInputMaps();
  bool hasShape = false;
  for (auto [input, map] : llvm::zip_equal(inputs, maps))
    hasShape |= map.isIdentity() && input != use.get();
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<RankedTensorType>(input->get().getType()))
      continue;
    AffineMap map =
        op.getMatchingIndexingMap(input).compose(maps[number - first]);
    if (!getInputAccess(map))
      return false;
    hasShape |= map.isIdentity();
  }
  return hasShape;
}

/// Gives `user` a region that yields the elements of its only input.
static void addRegion(FusedInputOpInterface user) {
  Type type = getElementTypeOrSelf(user.getInputs().front().getType());
  OpBuilder builder(user->getContext());
  Block *body =
      builder.createBlock(&user.getProducer(), {}, type, user.getLoc());
  YieldOp::create(builder, user.getLoc(), body->getArgument(0));
}

/// Moves the body of `op` into the region of `user`, whose input `number` it
/// is.
static void fuseInput(linalg::LinalgOp op, FusedInputOpInterface user,
                      unsigned number) {
  Block &body = user.getProducer().front();
  SmallVector<Value> inputs(user.getInputs());
  SmallVector<AffineMap> maps = user.getInputMaps();
  AffineMap userMap = maps[number];
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  IRMapping mapping;
  auto mapConstant = [&](Value value) {
    if (!mapping.contains(value))
      mapping.map(value, builder.clone(*getConstant(value))->getResult(0));
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value value = operand->get();
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    if (!isa<RankedTensorType>(value.getType())) {
      mapConstant(value);
      mapping.map(argument, mapping.lookup(value));
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(operand).compose(userMap);
    unsigned index = 0;
    while (index != inputs.size() &&
           (inputs[index] != value || maps[index] != map))
      ++index;
    if (index == inputs.size()) {
      inputs.push_back(value);
      maps.push_back(map);
      body.addArgument(argument.getType(), argument.getLoc());
    }
    mapping.map(argument, body.getArgument(index));
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != op.getBlock())
        mapConstant(operand);
    builder.clone(inner, mapping);
  }
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  if (yielded.getParentBlock() != op.getBlock())
    mapConstant(yielded);
  body.getArgument(number).replaceAllUsesWith(mapping.lookup(yielded));
  body.eraseArgument(number);
  inputs.erase(inputs.begin() + number);
  maps.erase(maps.begin() + number);

  user.getInputsMutable().assign(inputs);
  bool areIdentities =
      llvm::all_of(maps, [](AffineMap map) { return map.isIdentity(); });
  user.setIndexingMapsAttr(areIdentities ? ArrayAttr()
                                         : builder.getAffineMapArrayAttr(maps));
}

/// Fuses `op` into all ops that read its result, or into none.
static void fuse(linalg::LinalgOp op) {
  if (!isFusable(op))
    return;
  Value result = op->getResult(0);
  llvm::SmallSetVector<Operation *, 4> users;
  SmallVector<tensor::DimOp> dims;
  for (OpOperand &use : result.getUses()) {
    if (auto dim = dyn_cast<tensor::DimOp>(use.getOwner())) {
      dims.push_back(dim);
      continue;
    }
    auto user = dyn_cast<FusedInputOpInterface>(use.getOwner());
    if (!user || !canFuse(op, user, use))
      return;
    users.insert(user);
  }
  if (users.empty())
    return;
  for (tensor::DimOp dim : dims)
    dim.getSourceMutable().assign(op.getDpsInitOperand(0)->get());
  for (Operation *owner : users) {
    auto user = cast<FusedInputOpInterface>(owner);
    if (user.getProducer().empty())
      addRegion(user);
    auto find = [&] {
      return llvm::find(user.getInputs(), result) - user.getInputs().begin();
    };
    for (int64_t number = find(); number != user.getInputs().size();
         number = find())
      fuseInput(op, user, number);
  }
  op->erase();
}

namespace {
struct QuantFuseProducers
    : te::quant::impl::QuantFuseProducersPassBase<QuantFuseProducers> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    // Once an op is fused, what makes its inputs can be.
    for (linalg::LinalgOp op : llvm::reverse(ops))
      fuse(op);
  }
};
} // namespace
