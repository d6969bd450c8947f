//===- QuantExpandQuantize.cpp - expansion of quantize -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types leave some conditions to run time; each becomes a `te_quant.check`
// before the op, so that a kernel never sees extents it cannot handle.
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

static void emitCheckEqual(OpBuilder &builder, Location loc, Value left,
                           Value right, const Twine &message) {
  Value isEqual = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        left, right);
  CheckOp::create(builder, loc, isEqual, message.str());
}

/// The input has the dims that are static in the result's type only.
static void emitStaticDimChecks(OpBuilder &builder, Location loc, Value input,
                                ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(input.getType());
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (!type.isDynamicDim(index) || ShapedType::isDynamic(size))
      continue;
    emitCheckEqual(builder, loc,
                   tensor::DimOp::create(builder, loc, input, index),
                   arith::ConstantIndexOp::create(builder, loc, size),
                   "expected dim " + Twine(index) + " of the input to be " +
                       Twine(size));
  }
}

void te::quant::emitBlockChecks(OpBuilder &builder, Location loc,
                                TensorSpecType type,
                                ArrayRef<BlockConstraint> constraints,
                                LayoutEmitter &emitter) {
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  SmallVector<std::pair<Extent, int64_t>> seen;
  for (BlockConstraint constraint : constraints) {
    Extent extent = constraint.extent;
    if (!ShapedType::isDynamic(extent == Extent::Rows ? rows : cols) ||
        llvm::is_contained(seen, std::pair(extent, constraint.block)))
      continue;
    seen.emplace_back(extent, constraint.block);
    Value block =
        arith::ConstantIndexOp::create(builder, loc, constraint.block);
    Value rest = arith::RemUIOp::create(builder, loc,
                                        emitter.getExtent(extent), block);
    std::string message;
    llvm::raw_string_ostream os(message);
    printBlockConstraint(os, type, constraint);
    emitCheckEqual(builder, loc, rest,
                   arith::ConstantIndexOp::create(builder, loc, 0), message);
  }
}

/// The tensor that is updated in place has the extents of the input. A custom
/// layout that does not store them is trusted.
static void emitIntoChecks(OpBuilder &builder, Location loc,
                           TensorSpecType type, ValueRange into,
                           LayoutEmitter &emitter) {
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  bool isStatic = !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(cols);
  if (isStatic || !canRecoverExtents(type))
    return;
  auto [intoRows, intoCols] = recoverExtents(builder, loc, type, into);
  if (ShapedType::isDynamic(rows))
    emitCheckEqual(builder, loc, intoRows, emitter.getExtent(Extent::Rows),
                   "expected 'into' to have as many rows as the input");
  if (ShapedType::isDynamic(cols))
    emitCheckEqual(builder, loc, intoCols, emitter.getExtent(Extent::Cols),
                   "expected 'into' to have as many columns as the input");
}

/// Writes the values of `input` to `into`, unless the flag says no.
static Value emitCopyInto(OpBuilder &builder, Location loc, Value input,
                          Value noop, Value into) {
  auto type = cast<RankedTensorType>(into.getType());
  // Equal extents are not enough where elements are told apart by all dims.
  for (auto [index, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      emitCheckEqual(builder, loc,
                     tensor::DimOp::create(builder, loc, into, index),
                     tensor::DimOp::create(builder, loc, input, index),
                     "expected dim " + Twine(index) +
                         " of 'into' to be that of the input");
  int64_t rank = type.getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<Value> ins = {input};
  SmallVector<AffineMap> maps = {identity};
  if (noop) {
    ins.push_back(noop);
    maps.push_back(AffineMap::get(rank, /*symbolCount=*/0,
                                  builder.getAffineConstantExpr(0)));
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto copy = linalg::GenericOp::create(
      builder, loc, type, ins, into, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        Value element = elements.front();
        if (noop) {
          Value one = arith::ConstantOp::create(builder, loc,
                                                builder.getF32FloatAttr(1));
          Value isSkipped = arith::CmpFOp::create(
              builder, loc, arith::CmpFPredicate::OEQ, elements[1], one);
          element = arith::SelectOp::create(builder, loc, isSkipped,
                                            elements.back(), element);
        }
        linalg::YieldOp::create(builder, loc, element);
      });
  return copy.getResult(0);
}

namespace {
struct ExpandQuantizeOp : OpConversionPattern<QuantizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(QuantizeOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    TensorSpecType type = op.getResult().getType();
    SmallVector<Type> innerTypes = type.getInnerTypes();
    Value input = adaptor.getInput().front();
    SmallVector<int64_t> shape = getMergedShape(
        type.getShape(), cast<RankedTensorType>(input.getType()).getShape());

    emitStaticDimChecks(rewriter, loc, input, shape);
    // Nothing to compute but a cast: the values are the input's.
    if (type.getQuantizer().isIdentity()) {
      Value inner = input;
      if (auto plain = cast<RankedTensorType>(input.getType());
          plain.getElementType() != type.getNominalDtype()) {
        inner = CastOp::create(rewriter, loc,
                               plain.clone(type.getNominalDtype()), inner);
        copyDiscardableAttrs(op, inner.getDefiningOp());
      }
      inner = castTensor(rewriter, loc, inner, innerTypes.front());
      if (op.getInto()) {
        Value noop = op.getNoop() ? adaptor.getNoop().front() : Value();
        inner = emitCopyInto(rewriter, loc, inner, noop,
                             adaptor.getInto().front());
        copyDiscardableAttrs(op, inner.getDefiningOp());
      }
      rewriter.replaceOpWithMultiple(op, {ValueRange(inner)});
      return success();
    }

    LayoutEmitter emitter(rewriter, loc,
                          getLogicalDims(rewriter, loc, input, shape));
    emitBlockChecks(rewriter, loc, type.withShape(shape),
                    type.getQuantizer().getQuantizeConstraints(), emitter);

    SmallVector<Value> outs(adaptor.getInto());
    if (op.getInto()) {
      emitIntoChecks(rewriter, loc, type, outs, emitter);
    } else {
      LayoutAttr layout = type.getLayout();
      for (unsigned index = 0; index != layout.size(); ++index)
        outs.push_back(emitter.createEmpty(layout, index));
    }
    if (op.getAmaxResult())
      outs.push_back(tensor::EmptyOp::create(
          rewriter, loc, op.getAmaxResult().getType().getShape(),
          op.getAmaxResult().getType().getElementType()));

    auto first = [](ValueRange values) {
      return values.empty() ? Value() : values.front();
    };
    SmallVector<Value> amaxes = flattenValues(adaptor.getAmax());
    unsigned numAmaxes =
        type.getQuantizer().getQuantizeSignature().numAmaxes;
    if (amaxes.empty() && numAmaxes != 0)
      llvm::append_range(
          amaxes,
          emitAmaxInto(rewriter, loc, type.getQuantizer(), input).getResults());
    auto quantize = QuantizeIntoOp::create(
        rewriter, loc, TypeRange(ValueRange(outs)), type.getQuantizer(), input,
        first(adaptor.getNoop()), first(adaptor.getScale()),
        amaxes, first(adaptor.getRng()), outs, /*indexing_maps=*/ArrayAttr(),
        /*column_sum=*/UnitAttr());
    copyDiscardableAttrs(op, quantize);

    SmallVector<SmallVector<Value>> replacements(1);
    ValueRange results(quantize.getResults());
    for (auto [value, innerType] :
         llvm::zip(results.take_front(innerTypes.size()), innerTypes))
      replacements.front().push_back(
          castTensor(rewriter, loc, value, innerType));
    if (op.getAmaxResult())
      replacements.push_back({results.back()});
    rewriter.replaceOpWithMultiple(op, std::move(replacements));
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandQuantizePatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandQuantizeOp>(converter, patterns.getContext());
}
