//===- LinalgLinear.cpp - matrix products that are linear layers ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgLinear.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTRAISELINEARPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// What values are
//===----------------------------------------------------------------------===//

/// The only input of an elementwise op that moves or casts elements, or null.
static Value getOnlySource(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
          linalg::TransposeOp, arith::ExtFOp, arith::TruncFOp>(op))
    return op->getOperand(0);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isPermutation(); }))
    return {};
  Value yielded = generic.getBody()->getTerminator()->getOperand(0);
  while (Operation *definition = yielded.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(definition))
      return {};
    yielded = definition->getOperand(0);
  }
  return yielded == generic.getBody()->getArgument(0)
             ? generic.getDpsInputs().front()
             : Value();
}

/// Whether `value` is there before the program computes anything.
static bool isParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>() ||
        isa<ml_program::GlobalLoadOp, ml_program::GlobalLoadConstOp>(op))
      return true;
    if (auto toTensor = dyn_cast<bufferization::ToTensorOp>(op))
      return bool(toTensor.getBuffer().getDefiningOp<memref::GetGlobalOp>());
    value = getOnlySource(op);
    if (!value)
      return false;
  }
  return value.getParentBlock()->isEntryBlock() &&
         isa<FunctionOpInterface>(value.getParentBlock()->getParentOp());
}

/// Whether all elements are zero.
static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs().front(), m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

/// The vector that `value` repeats along all dims but the last, or null.
static Value getBroadcastSource(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto isVector = [](Value source) {
    auto sourceType = dyn_cast<RankedTensorType>(source.getType());
    return sourceType && sourceType.getRank() == 1;
  };
  if (auto broadcast = value.getDefiningOp<linalg::BroadcastOp>()) {
    auto leading = llvm::seq<int64_t>(0, type.getRank() - 1);
    return isVector(broadcast.getInput()) &&
                   llvm::equal(broadcast.getDimensions(), leading)
               ? broadcast.getInput()
               : Value();
  }
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() != 0)
    return {};
  Value source = generic.getDpsInputs().front();
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Value yielded = generic.getBody()->getTerminator()->getOperand(0);
  while (auto cast = yielded.getDefiningOp<arith::ExtFOp>())
    yielded = cast.getIn();
  if (yielded != generic.getBody()->getArgument(0) || !isVector(source) ||
      !maps[1].isIdentity() ||
      maps[0] !=
          AffineMap::getMinorIdentityMap(type.getRank(), 1, value.getContext()))
    return {};
  return source;
}

//===----------------------------------------------------------------------===//
// What is done to a product
//===----------------------------------------------------------------------===//

/// The value that `value` is in a wider type, or itself.
static Value skipExtensions(Value value) {
  while (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  return value;
}

/// What `value` is before it is rounded, or itself.
static Value skipRounding(Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  return rounding ? rounding.getIn() : value;
}

static bool isLayerDtype(Type type) {
  Type dtype = getElementTypeOrSelf(type);
  return dtype.isF32() || dtype.isBF16() || dtype.isF16();
}

/// The bias, where `user` adds one to `value`.
static Value matchBiasAdd(Operation *user, Value value) {
  if (user->getNumResults() != 1 || !isLayerDtype(user->getResult(0).getType()))
    return {};
  if (isa<linalg::AddOp, arith::AddFOp>(user)) {
    // What an op writes over is no term.
    Value a = user->getOperand(0), b = user->getOperand(1);
    if (a != value && b != value)
      return {};
    return getBroadcastSource(a == value ? b : a);
  }
  auto generic = dyn_cast<linalg::GenericOp>(user);
  if (!generic || generic.getNumDpsInits() != 1 ||
      generic.getNumReductionLoops() != 0)
    return {};
  Block *body = generic.getBody();
  auto add = skipRounding(body->getTerminator()->getOperand(0))
                 .getDefiningOp<arith::AddFOp>();
  if (!add)
    return {};
  // Of the two terms one is the product, read as it is written.
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Value bias;
  AffineMap biasMap;
  bool hasProduct = false;
  for (Value term : {add.getLhs(), add.getRhs()}) {
    auto argument = dyn_cast<BlockArgument>(skipExtensions(term));
    if (!argument || argument.getOwner() != body)
      return {};
    Value operand = generic->getOperand(argument.getArgNumber());
    AffineMap map = maps[argument.getArgNumber()];
    if (operand == value && map.isIdentity() && !hasProduct) {
      hasProduct = true;
      continue;
    }
    if (argument.getArgNumber() >= generic.getNumDpsInputs())
      return {};
    bias = operand;
    biasMap = map;
  }
  if (!hasProduct || !bias || !maps.back().isIdentity())
    return {};
  if (biasMap.isIdentity())
    return getBroadcastSource(bias);
  auto last = AffineMap::getMinorIdentityMap(biasMap.getNumDims(), 1,
                                             user->getContext());
  return biasMap == last ? bias : Value();
}

/// Whether `user` rounds `value` to `dtype` and does nothing else.
static bool isRounding(Operation *user, Value value, Type dtype) {
  if (user->getNumResults() != 1 ||
      getElementTypeOrSelf(user->getResult(0).getType()) != dtype)
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(user);
  if (!generic)
    return isa<arith::TruncFOp>(user);
  if (getOnlySource(user) != value ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  auto rounding = generic.getBody()
                      ->getTerminator()
                      ->getOperand(0)
                      .getDefiningOp<arith::TruncFOp>();
  return rounding && rounding.getIn() == generic.getBody()->getArgument(0);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool te::quant::isProduct(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  return succeeded(dims) && !dims->k.empty() && !dims->m.empty() &&
         !dims->n.empty();
}

/// Whether the body adds products of the operands as they are, and not of
/// something made of them.
static bool multipliesOperands(linalg::LinalgOp product) {
  Block *body = product.getBlock();
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value sum = body->getArgument(2);
  if (add.getLhs() != sum && add.getRhs() != sum)
    return false;
  Value term = add.getLhs() == sum ? add.getRhs() : add.getLhs();
  auto multiply = skipExtensions(term).getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return false;
  Value a = skipExtensions(multiply.getLhs()),
        b = skipExtensions(multiply.getRhs());
  Value first = body->getArgument(0), second = body->getArgument(1);
  return (a == first && b == second) || (a == second && b == first);
}

namespace {
/// An operand of a product, and the loops that its dims are.
struct ProductOperand {
  Value value;
  SmallVector<unsigned> loops;
};
} // namespace

static SmallVector<unsigned> getLoops(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr expr) {
    return cast<AffineDimExpr>(expr).getPosition();
  });
}

/// Operand `index`; where it repeats a matrix, the matrix.
static ProductOperand getProductOperand(linalg::LinalgOp product,
                                        unsigned index) {
  ProductOperand operand = {product->getOperand(index),
                            getLoops(product.getIndexingMapsArray()[index])};
  auto broadcast = operand.value.getDefiningOp<linalg::BroadcastOp>();
  if (!broadcast ||
      cast<RankedTensorType>(broadcast.getInput().getType()).getRank() != 2)
    return operand;
  SmallVector<unsigned> loops;
  for (auto [dim, loop] : llvm::enumerate(operand.loops))
    if (!llvm::is_contained(broadcast.getDimensions(),
                            static_cast<int64_t>(dim)))
      loops.push_back(loop);
  return {broadcast.getInput(), loops};
}

/// Whether operand `index` can be the weight as far as dims tell.
static bool matchDims(linalg::LinalgOp product, unsigned index, unsigned depth,
                      LinalgLinear &match) {
  ProductOperand w = getProductOperand(product, index);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  SmallVector<unsigned> x = getLoops(maps[1 - index]), y = getLoops(maps[2]);
  if (w.loops.size() != 2 || !llvm::is_contained(w.loops, depth))
    return false;
  match.isWeightTransposed = w.loops[0] == depth;
  unsigned features = w.loops[match.isWeightTransposed ? 1 : 0];
  if (x.back() != depth || y.back() != features)
    return false;
  x.pop_back();
  y.pop_back();
  if (x != y)
    return false;
  match.x = product->getOperand(1 - index);
  match.w = w.value;
  return true;
}

FailureOr<LinalgLinear> te::quant::matchLinalgLinear(linalg::LinalgOp product,
                                                     WeightSource weightSource,
                                                     std::string &reason) {
  auto fail = [&](const Twine &text) -> FailureOr<LinalgLinear> {
    reason = text.str();
    return failure();
  };
  if (!product.hasPureTensorSemantics())
    return fail("its operands are buffers");
  if (!llvm::all_of(product->getOperandTypes(), isLayerDtype))
    return fail("its elements are neither f32 nor bf16 nor f16");
  if (!multipliesOperands(product))
    return fail("it multiplies something made of its operands");
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(product);
  if (failed(dims) || dims->k.size() != 1)
    return fail("it contracts more than one dim");

  LinalgLinear match;
  match.product = product;
  bool hasDims = false;
  bool isFound = false;
  for (unsigned index : {1, 0}) {
    if (!matchDims(product, index, dims->k.front(), match))
      continue;
    hasDims = true;
    isFound = weightSource == WeightSource::Any || isParameter(match.w);
    if (isFound)
      break;
  }
  if (!hasDims && !dims->batch.empty())
    return fail("both operands are batched");
  if (!hasDims)
    return fail("no operand is a weight of two dims whose output features are "
                "the last dim of the result and whose input features are the "
                "last dim of the other operand");
  if (!isFound)
    return fail("no operand is a parameter");

  Value init = product.getDpsInits().front();
  if (!isZero(init)) {
    match.bias = getBroadcastSource(init);
    if (!match.bias)
      return fail("it starts from neither zero nor a bias");
  }
  match.chain.push_back(product);
  while (match.getResult().hasOneUse()) {
    Value value = match.getResult();
    Operation *user = *value.user_begin();
    if (user->getBlock() != product->getBlock())
      break;
    if (!match.bias && (match.bias = matchBiasAdd(user, value)))
      match.chain.push_back(user);
    else if (isRounding(user, value, getElementTypeOrSelf(match.x)))
      match.chain.push_back(user);
    else
      break;
  }
  return match;
}

//===----------------------------------------------------------------------===//
// From products to layers
//===----------------------------------------------------------------------===//

LinearOp te::quant::createLinear(RewriterBase &rewriter,
                                 const LinalgLinear &match, bool isGradEnabled,
                                 SmallVectorImpl<Operation *> &created) {
  Operation *last = match.chain.back();
  Location loc = last->getLoc();
  rewriter.setInsertionPoint(last);
  Value w = match.w;
  if (match.isWeightTransposed) {
    auto transpose = w.getDefiningOp<linalg::TransposeOp>();
    if (transpose && transpose.getPermutation()[0] == 1) {
      w = transpose.getInput();
    } else {
      auto type = cast<RankedTensorType>(w.getType());
      SmallVector<OpFoldResult> sizes;
      for (int64_t dim : {1, 0}) {
        if (!type.isDynamicDim(dim)) {
          sizes.push_back(rewriter.getIndexAttr(type.getDimSize(dim)));
          continue;
        }
        auto index = arith::ConstantIndexOp::create(rewriter, loc, dim);
        auto size = tensor::DimOp::create(rewriter, loc, w, index);
        created.append({index, size});
        sizes.push_back(size.getResult());
      }
      auto empty =
          tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
      auto made = linalg::TransposeOp::create(rewriter, loc, w, empty,
                                              ArrayRef<int64_t>{1, 0});
      created.append({empty, made});
      w = made->getResult(0);
    }
  }

  OperationState state(loc, LinearOp::getOperationName());
  auto &properties = state.getOrAddProperties<LinearOp::Properties>();
  state.addOperands({match.x, w});
  if (match.bias)
    state.addOperands(match.bias);
  properties.operandSegmentSizes = {1, 1, match.bias ? 1 : 0, 0, 0, 0, 0};
  Type dtype = getElementTypeOrSelf(match.getResult());
  if (dtype != getElementTypeOrSelf(match.x))
    properties.activation_dtype = TypeAttr::get(dtype);
  if (!isGradEnabled)
    properties.is_grad_enabled = rewriter.getBoolAttr(false);
  else if (match.bias)
    properties.bias_requires_grad = rewriter.getBoolAttr(true);
  SmallVector<Type> types;
  if (failed(LinearOp::inferReturnTypes(rewriter.getContext(), std::nullopt,
                                        state.operands, DictionaryAttr(),
                                        &properties, {}, types)))
    return {};
  state.addTypes(types);
  auto linear = cast<LinearOp>(rewriter.create(state));
  created.push_back(linear);
  return linear;
}

/// Erases `op` and what only it used, where nothing uses it.
static void eraseDead(RewriterBase &rewriter, Operation *op) {
  llvm::SetVector<Operation *> candidates;
  candidates.insert(op);
  while (!candidates.empty()) {
    Operation *candidate = candidates.pop_back_val();
    if (!isOpTriviallyDead(candidate))
      continue;
    for (Value operand : candidate->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        candidates.insert(definition);
    rewriter.eraseOp(candidate);
  }
}

void te::quant::replaceByLinear(RewriterBase &rewriter,
                                const LinalgLinear &match, LinearOp linear) {
  Operation *last = match.chain.back();
  Value output = linear.getResult(0);
  Type type = last->getResult(0).getType();
  // Layers may know more of the sizes.
  if (output.getType() != type) {
    rewriter.setInsertionPointAfter(linear);
    output = tensor::CastOp::create(rewriter, linear.getLoc(), type, output);
  }
  rewriter.replaceAllUsesWith(last->getResult(0), output);
  eraseDead(rewriter, last);
}

namespace {
struct QuantRaiseLinearPass
    : te::quant::impl::QuantRaiseLinearPassBase<QuantRaiseLinearPass> {
  using QuantRaiseLinearPassBase::QuantRaiseLinearPassBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isProduct(op))
        products.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp product : products) {
      std::string reason = "its operands make no linear layer";
      FailureOr<LinalgLinear> match =
          matchLinalgLinear(product, weightSource, reason);
      SmallVector<Operation *> created;
      LinearOp linear = succeeded(match) ? createLinear(rewriter, *match,
                                                        isGradEnabled, created)
                                         : LinearOp();
      if (linear) {
        replaceByLinear(rewriter, *match, linear);
        continue;
      }
      for (Operation *op : llvm::reverse(created))
        rewriter.eraseOp(op);
      product->emitRemark()
          << "'" << product->getName() << "' op is no linear layer: " << reason;
    }
  }
};
} // namespace
