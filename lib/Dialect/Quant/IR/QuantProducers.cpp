//===- QuantProducers.cpp - inputs that a region makes --------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantProducers.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace te::quant;

std::optional<InputAccess> te::quant::getInputAccess(AffineMap map) {
  if (map.getNumSymbols() != 0)
    return std::nullopt;
  if (map.isIdentity())
    return InputAccess::Elements;
  unsigned rank = map.getNumDims();
  if (map.getNumResults() == 0)
    return InputAccess::Single;
  MLIRContext *context = map.getContext();
  if (map == AffineMap::get(rank, 0, getAffineDimExpr(rank - 1, context)))
    return InputAccess::Cols;
  if (map == AffineMap::getMultiDimIdentityMap(rank, context).dropResult(rank - 1))
    return InputAccess::Rows;
  return std::nullopt;
}

bool te::quant::isInputElementType(Type type) {
  if (!isa<FloatType>(type) && !type.isSignlessInteger())
    return false;
  unsigned width = type.getIntOrFloatBitWidth();
  return width == 8 || width == 16 || width == 32 || width == 64;
}

bool te::quant::isElementOp(Operation *op) {
  auto isScalar = [](Type type) {
    return isa<FloatType>(type) || type.isSignlessInteger();
  };
  StringRef dialect = op->getName().getDialectNamespace();
  return (dialect == "arith" || dialect == "math" || isa<CastOp>(op)) &&
         (matchPattern(op, m_Constant()) ||
          OpTrait::hasElementwiseMappableTraits(op)) &&
         isPure(op) && llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

/// The value that the region yields, or null if it is not well formed.
static Value getYielded(FusedInputOpInterface op) {
  Region &region = op.getProducer();
  if (!region.hasOneBlock() || region.front().empty())
    return {};
  auto yield = dyn_cast<YieldOp>(region.front().back());
  return yield ? yield.getValue() : Value();
}

SmallVector<AffineMap> te::quant::detail::getInputMaps(Operation *op) {
  auto fused = cast<FusedInputOpInterface>(op);
  if (ArrayAttr maps = fused.getIndexingMapsAttr())
    return llvm::to_vector(maps.getAsValueRange<AffineMapAttr>());
  return llvm::map_to_vector(fused.getInputs(), [&](Value input) {
    return AffineMap::getMultiDimIdentityMap(
        cast<ShapedType>(input.getType()).getRank(), op->getContext());
  });
}

Value te::quant::detail::getShapedInput(Operation *op) {
  auto fused = cast<FusedInputOpInterface>(op);
  for (auto [input, map] : llvm::zip(fused.getInputs(), getInputMaps(op)))
    if (map.isIdentity())
      return input;
  return {};
}

ShapedType te::quant::detail::getInputType(Operation *op) {
  Value shaped = getShapedInput(op);
  if (!shaped)
    return {};
  auto fused = cast<FusedInputOpInterface>(op);
  auto type = cast<ShapedType>(shaped.getType());
  if (fused.getProducer().empty())
    return type;
  Value yielded = getYielded(fused);
  return yielded ? type.clone(yielded.getType()) : ShapedType();
}

/// Checks the maps against the inputs and the inputs against each other.
static LogicalResult verifyInputMaps(FusedInputOpInterface op) {
  SmallVector<AffineMap> maps = op.getInputMaps();
  if (maps.size() != op.getInputs().size())
    return op->emitOpError() << "expected a map for each of "
                             << op.getInputs().size() << " inputs, but got "
                             << maps.size();
  Value shaped = op.getShapedInput();
  if (!shaped)
    return op->emitOpError("expected an input with all dims");
  ArrayRef<int64_t> shape = cast<ShapedType>(shaped.getType()).getShape();
  for (auto [index, input, map] : llvm::enumerate(op.getInputs(), maps)) {
    auto type = cast<ShapedType>(input.getType());
    if (map.getNumDims() != shape.size() || !getInputAccess(map))
      return op->emitOpError()
             << "expected the map of input " << index << " to take "
             << shape.size()
             << " dims to all of them, the last one, all but the last one or "
                "none, but got "
             << AffineMapAttr::get(map);
    if (map.getNumResults() != type.getRank())
      return op->emitOpError()
             << "expected input " << index << " to have rank "
             << map.getNumResults() << " as its map says, but got " << type;
    SmallVector<int64_t> expected;
    for (AffineExpr expr : map.getResults())
      expected.push_back(shape[cast<AffineDimExpr>(expr).getPosition()]);
    if (failed(verifyCompatibleShape(type.getShape(), expected)))
      return op->emitOpError()
             << "expected the dims of input " << index << ", " << type
             << ", to be those of the logical input, " << shaped.getType();
  }
  return success();
}

LogicalResult te::quant::verifyProducer(FusedInputOpInterface op) {
  if (op.getProducer().empty()) {
    if (op.getIndexingMapsAttr())
      return op->emitOpError("expected maps only where there is a region");
    if (op.getInputs().size() != 1)
      return op->emitOpError() << "expected one input without a region, but "
                                  "got "
                               << op.getInputs().size();
    return success();
  }
  if (!op.canFuseProducer())
    return op->emitOpError("expected no region: the quantizer cannot make its "
                           "input");
  if (failed(verifyInputMaps(op)))
    return failure();
  if (!getYielded(op))
    return op->emitOpError("expected the region to end with 'te_quant.yield'");
  Block &body = op.getProducer().front();
  SmallVector<Type> elementTypes =
      llvm::map_to_vector(op.getInputs(), [](Value input) {
        return cast<ShapedType>(input.getType()).getElementType();
      });
  if (body.getArgumentTypes() != TypeRange(elementTypes)) {
    InFlightDiagnostic diag = op->emitOpError(
        "expected the region's arguments to be elements of the inputs (");
    llvm::interleaveComma(elementTypes, diag);
    diag << "), but got (";
    llvm::interleaveComma(body.getArgumentTypes(), diag);
    return diag << ")";
  }
  for (Type type : elementTypes)
    if (!isInputElementType(type))
      return op->emitOpError()
             << "expected inputs of floating-point or integer elements of 8 to "
                "64 bits, but got "
             << type;
  for (Operation &inner : body.without_terminator())
    if (!isElementOp(&inner))
      return inner.emitOpError()
             << "cannot be in the region of '" << op->getName()
             << "': expected arithmetic on scalars that can be done for any "
                "element";
  return success();
}

namespace {
/// Takes the operands of casts to less static types as they were before. The
/// upstream pattern for destination style clones regions that have a block,
/// and crashes on those that are empty; this one comes first.
struct FoldTensorCasts : OpInterfaceRewritePattern<FusedInputOpInterface> {
  explicit FoldTensorCasts(MLIRContext *context)
      : OpInterfaceRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(FusedInputOpInterface fused,
                                PatternRewriter &rewriter) const override {
    Operation *op = fused;
    auto destination = dyn_cast<DestinationStyleOpInterface>(op);
    if (!destination || op->getNumResults() == 0)
      return failure();
    SmallVector<Value> operands(op->getOperands());
    SmallVector<Type> resultTypes(op->getResultTypes());
    bool isChanged = false;
    for (OpOperand &operand : op->getOpOperands()) {
      auto cast = operand.get().getDefiningOp<tensor::CastOp>();
      if (!tensor::canFoldIntoConsumerOp(cast))
        continue;
      isChanged = true;
      operands[operand.getOperandNumber()] = cast.getSource();
      if (destination.isDpsInit(&operand))
        resultTypes[destination.getTiedOpResult(&operand).getResultNumber()] =
            cast.getSource().getType();
    }
    if (!isChanged)
      return failure();
    OperationState state(op->getLoc(), op->getName(), operands, resultTypes,
                         op->getAttrs());
    state.addRegion();
    Operation *folded = rewriter.create(state);
    rewriter.inlineRegionBefore(fused.getProducer(), folded->getRegion(0),
                                folded->getRegion(0).end());
    SmallVector<Value> results;
    for (auto [old, result] :
         llvm::zip_equal(op->getResults(), folded->getResults())) {
      Value value = result;
      if (old.getType() != result.getType())
        value = tensor::CastOp::create(rewriter, op->getLoc(), old.getType(),
                                       result);
      results.push_back(value);
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void te::quant::populateFoldTensorCastPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldTensorCasts>(patterns.getContext());
}
