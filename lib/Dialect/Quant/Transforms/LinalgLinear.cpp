//===- LinalgLinear.cpp - linear layers spelled as linalg contractions -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgLinear.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace te::quant;

bool te::quant::isLinalgContraction(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() && linalg::isaContractionOpInterface(op);
}

/// Upstream looks through any unary operation; only widening is the identity.
static bool isPlainProductSum(linalg::LinalgOp op) {
  return llvm::all_of(*op.getBlock(), [](Operation &inner) {
    return isa<arith::MulFOp, arith::AddFOp, arith::ExtFOp, linalg::YieldOp>(
        inner);
  });
}

static bool isZero(Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getInputs().front();
  return matchPattern(init, m_AnyZeroFloat());
}

/// The tensor that `value` is a transposed, reshaped or cast form of.
static Value getRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
      value = transpose.getInput();
    else if (op->getNumOperands() == 1 && op->getNumResults() == 1)
      value = op->getOperand(0);
    else
      break;
  }
  return value;
}

/// Whether `value` is stored rather than computed: an argument of the function,
/// a constant or a global.
static bool isStored(Value value) {
  Value root = getRoot(value);
  if (Operation *op = root.getDefiningOp())
    return op->getNumOperands() == 0;
  auto argument = cast<BlockArgument>(root);
  return argument.getOwner()->isEntryBlock() &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

/// The dims of a map's results; empty where one is no dim.
static SmallVector<unsigned> getDims(AffineMap map) {
  SmallVector<unsigned> dims;
  if (map.isProjectedPermutation())
    for (AffineExpr expr : map.getResults())
      dims.push_back(cast<AffineDimExpr>(expr).getPosition());
  return dims;
}

/// The vector that `value` repeats along all dims but the last.
static Value getBroadcastVector(Value value) {
  auto broadcast = value.getDefiningOp<linalg::BroadcastOp>();
  if (!broadcast)
    return {};
  auto rank = cast<RankedTensorType>(value.getType()).getRank();
  Value vector = broadcast.getInput();
  bool isVector = cast<RankedTensorType>(vector.getType()).getRank() == 1 &&
                  !llvm::is_contained(broadcast.getDimensions(), rank - 1);
  return isVector ? vector : Value();
}

/// Whether the op adds its two inputs and does nothing else.
static bool isAddition(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.hasPureTensorSemantics())
    return false;
  Block *block = op.getBlock();
  auto yield = cast<linalg::YieldOp>(block->getTerminator());
  auto add = yield.getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add || &block->front() != add.getOperation())
    return false;
  Value a = block->getArgument(0), b = block->getArgument(1);
  return (add.getLhs() == a && add.getRhs() == b) ||
         (add.getLhs() == b && add.getRhs() == a);
}

/// The vector that `user` adds to `y`, its result being of the same type.
static Value matchBias(Value y, Operation *user) {
  if (user->getNumResults() != 1 || user->getResult(0).getType() != y.getType())
    return {};
  if (auto add = dyn_cast<arith::AddFOp>(user))
    return getBroadcastVector(add.getLhs() == y ? add.getRhs() : add.getLhs());
  auto add = dyn_cast<linalg::LinalgOp>(user);
  if (!add || !isAddition(add) || add.getDpsInits()[0] == y)
    return {};
  unsigned index = add.getDpsInputs()[0] == y ? 0 : 1;
  OpOperand *same = add.getDpsInputOperand(index);
  OpOperand *other = add.getDpsInputOperand(1 - index);
  if (!add.getMatchingIndexingMap(same).isIdentity() ||
      !add.getMatchingIndexingMap(add.getDpsInitOperand(0)).isIdentity())
    return {};
  AffineMap map = add.getMatchingIndexingMap(other);
  if (map.isIdentity() && add.getNumLoops() > 1)
    return getBroadcastVector(other->get());
  return getDims(map) == SmallVector<unsigned>{add.getNumLoops() - 1}
             ? other->get()
             : Value();
}

FailureOr<LinalgLinear> te::quant::matchLinalgLinear(linalg::LinalgOp op,
                                                     std::string &reason) {
  auto refuse = [&](const Twine &text) {
    reason = text.str();
    return failure();
  };
  auto isFloat = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isF32() || element.isBF16() || element.isF16();
  };
  if (!llvm::all_of(op->getOperandTypes(), isFloat))
    return refuse("expected f32, bf16 or f16 operands");
  if (!isPlainProductSum(op))
    return refuse("expected a sum of products of the operands themselves");
  if (!isZero(op.getDpsInits()[0]))
    return refuse("expected an init that is filled with zero");

  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  OpOperand *init = op.getDpsInitOperand(0);
  SmallVector<unsigned> y = getDims(op.getMatchingIndexingMap(init));
  if (reductions.size() != 1 || y.size() < 2 ||
      y.size() + 1 != op.getNumLoops())
    return refuse("expected one contracted dim and a result of rank 2 or more");
  unsigned k = reductions[0], n = y.back();

  SmallVector<unsigned> wanted = y;
  wanted.back() = k;
  LinalgLinear layer;
  for (unsigned index : {1u, 0u}) {
    OpOperand *w = op.getDpsInputOperand(index);
    OpOperand *x = op.getDpsInputOperand(1 - index);
    SmallVector<unsigned> dims = getDims(op.getMatchingIndexingMap(w));
    bool isPlain = dims == SmallVector<unsigned>{n, k};
    if ((!isPlain && dims != SmallVector<unsigned>{k, n}) ||
        getDims(op.getMatchingIndexingMap(x)) != wanted)
      continue;
    layer.x = x->get();
    layer.weight = w->get();
    layer.isWeightTransposed = !isPlain;
    break;
  }
  if (!layer.x)
    return refuse("expected an input with the result's leading dims and a "
                  "weight of rank 2 with its last dim");
  if (!isStored(layer.weight))
    return refuse("expected a weight that is an argument of the function, a "
                  "constant or a global, not computed");
  if (layer.isWeightTransposed)
    if (auto transpose = layer.weight.getDefiningOp<linalg::TransposeOp>()) {
      layer.weight = transpose.getInput();
      layer.isWeightTransposed = false;
    }

  Value result = op->getResult(0);
  layer.last = op;
  if (result.hasOneUse()) {
    Operation *user = *result.getUsers().begin();
    if (Value bias = matchBias(result, user); bias && isFloat(bias.getType())) {
      layer.bias = bias;
      layer.last = user;
    }
  }
  return layer;
}
