//===- QuantExpandCollectives.cpp - expansion of collectives --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective concatenates along the outermost dim of memory. How an inner
// tensor is gathered follows from its layout alone: the dim that grows with the
// rows is the gathered one, and only what is not padding crosses ranks.
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// What becomes of an inner tensor
//===----------------------------------------------------------------------===//

namespace {
/// How one inner tensor is gathered.
struct GatheredInner {
  /// Position in the layout's shape of what grows with the rows; nothing where
  /// all ranks hold the same values.
  std::optional<unsigned> position;
  /// The dims of the layout without padding.
  SmallVector<AffineExpr> dims;
  /// Whether any dim is padded.
  bool isPadded = false;
};
} // namespace

/// Returns nothing where concatenation is more than moving blocks of memory.
static std::optional<GatheredInner> analyzeInner(AffineMap shape) {
  GatheredInner inner;
  for (auto [position, dim] : llvm::enumerate(shape.getResults())) {
    AffineExpr unpadded = getUnpaddedDim(dim);
    inner.isPadded |= unpadded != dim;
    inner.dims.push_back(unpadded);
    if (!isa<AffineDimExpr>(dim) && !dim.isFunctionOfSymbol(0))
      continue;
    if (inner.position)
      return std::nullopt;
    inner.position = position;
  }
  if (!inner.position || *inner.position == 0)
    return inner;
  // Blocks of memory from each rank alternate: one dim before, none after.
  if (*inner.position == 1 && inner.dims.size() == 2)
    return inner;
  return std::nullopt;
}

LogicalResult te::quant::verifyExpandable(AllGatherOp op) {
  auto type = dyn_cast<TensorSpecType>(op.getInput().getType());
  if (!type || !type.isQuantized() || op.getSize() == 1)
    return success();
  if (!canRecoverLogicalDims(type))
    return op.emitOpError() << "the dynamic dims of " << type
                            << " cannot be told from its inner tensors";
  LayoutAttr layout = type.getLayout();
  for (auto [name, shape] :
       llvm::zip_equal(layout.getNames(), layout.getShapes()))
    if (!analyzeInner(shape))
      return op.emitOpError()
             << "inner tensor '" << name.getValue()
             << "' cannot be gathered: expected one dim that grows with the "
                "rows, the first or the last of two";
  return success();
}

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

static OpFoldResult multiply(OpBuilder &builder, Location loc,
                             OpFoldResult size, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return builder.getIndexAttr(*constant * factor);
  return arith::MulIOp::create(
             builder, loc, cast<Value>(size),
             arith::ConstantIndexOp::create(builder, loc, factor))
      .getResult();
}

static SmallVector<OpFoldResult> multiplyDim0(OpBuilder &builder, Location loc,
                                              ArrayRef<OpFoldResult> sizes,
                                              int64_t factor) {
  SmallVector<OpFoldResult> result(sizes);
  result.front() = multiply(builder, loc, result.front(), factor);
  return result;
}

namespace {
/// Emits the gathers of one `all_gather`.
class GatherEmitter {
public:
  GatherEmitter(OpBuilder &builder, AllGatherOp op)
      : builder(builder), loc(op.getLoc()), op(op), numRanks(op.getSize()) {}

  /// The concatenation of `local` along dim 0 in a new tensor.
  Value gather(Value local) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, local);
    return gatherInto(local, createEmpty(local, multiplyDim0(builder, loc,
                                                             sizes, numRanks)));
  }

  /// The inner tensors of the result.
  SmallVector<Value> gatherInners(TensorSpecType type, ValueRange inners) {
    SmallVector<OpFoldResult> dims =
        recoverLogicalDims(builder, loc, type, inners);
    LayoutEmitter local(builder, loc, dims);
    emitBlockChecks(builder, loc, type,
                    *getQuantizedGatherConstraints(type.getQuantizer()), local);
    LayoutEmitter global(builder, loc,
                         multiplyDim0(builder, loc, dims, numRanks));
    LayoutAttr layout = type.getLayout();
    SmallVector<Value> results;
    for (auto [index, value] : llvm::enumerate(inners)) {
      GatheredInner inner = *analyzeInner(layout.getShapes()[index]);
      if (!inner.position)
        results.push_back(value);
      else if (*inner.position == 0)
        results.push_back(gatherRows(value, inner, layout, index, local,
                                     global));
      else
        results.push_back(gatherColumns(value, inner, layout, index, local,
                                        global));
    }
    return results;
  }

private:
  Value createEmpty(Value like, ArrayRef<OpFoldResult> sizes) {
    return tensor::EmptyOp::create(
        builder, loc, sizes,
        cast<RankedTensorType>(like.getType()).getElementType());
  }

  Value gatherInto(Value local, Value out) {
    auto gather = AllGatherIntoOp::create(builder, loc, out.getType(), local,
                                          out, op.getGroupAttr(),
                                          op.getSizeAttr());
    copyDiscardableAttrs(op, gather);
    return gather.getResult();
  }

  Value slice(Value value, ArrayRef<OpFoldResult> sizes) {
    return tensor::ExtractSliceOp::create(
        builder, loc,
        tensor::ExtractSliceOp::inferResultType(
            cast<RankedTensorType>(value.getType()), sizes),
        value, sizes);
  }

  /// The dim that grows with the rows is the outermost: ranks follow each other
  /// in memory, without the padding between them.
  Value gatherRows(Value value, const GatheredInner &inner, LayoutAttr layout,
                   unsigned index, LayoutEmitter &local,
                   LayoutEmitter &global) {
    if (!inner.isPadded)
      return gather(value);
    Value out = global.createEmpty(layout, index);
    // Padding of the other dims moves along: what is gathered is contiguous.
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, out);
    SmallVector<OpFoldResult> localSizes = sizes;
    localSizes.front() = local.getSize(inner.dims.front());
    sizes.front() = multiply(builder, loc, localSizes.front(), numRanks);
    Value gathered = gatherInto(slice(value, localSizes), slice(out, sizes));
    return tensor::InsertSliceOp::create(builder, loc, gathered, out, sizes);
  }

  /// The dim that grows with the rows is the innermost: [outer][rank's part] of
  /// each rank becomes [outer][rank][rank's part].
  Value gatherColumns(Value value, const GatheredInner &inner,
                      LayoutAttr layout, unsigned index, LayoutEmitter &local,
                      LayoutEmitter &global) {
    bool isLeading = isa<AffineDimExpr>(inner.dims.back());
    AffineExpr rows = getAffineSymbolExpr(0, builder.getContext());
    OpFoldResult outer = local.getSize(inner.dims.front());
    OpFoldResult part = local.getSize(isLeading ? rows : inner.dims.back());
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    if (rank > 2)
      value = tensor::CollapseShapeOp::create(builder, loc, value,
                                              getOuterAndRest(rank));
    if (inner.isPadded)
      value = slice(value, {outer, part});

    Value gathered = gatherInto(
        value,
        createEmpty(value, {multiply(builder, loc, outer, numRanks), part}));
    SmallVector<OpFoldResult> byRank = {builder.getIndexAttr(numRanks), outer,
                                        part};
    SmallVector<ReassociationIndices> splitOuter = {{0, 1}, {2}};
    Value split = expand(gathered, byRank, splitOuter);
    Value transposed =
        linalg::TransposeOp::create(builder, loc, split,
                                    createEmpty(value, {outer, byRank.front(),
                                                        part}),
                                    ArrayRef<int64_t>{1, 0, 2})
            ->getResult(0);
    SmallVector<ReassociationIndices> joinRanks = {{0}, {1, 2}};
    Value joined =
        tensor::CollapseShapeOp::create(builder, loc, transposed, joinRanks);
    if (inner.isPadded)
      return tensor::InsertSliceOp::create(
          builder, loc, joined, global.createEmpty(layout, index),
          ArrayRef<OpFoldResult>{outer,
                                 multiply(builder, loc, part, numRanks)});
    if (rank > 2)
      return expand(joined, global.getShape(layout, index),
                    getOuterAndRest(rank));
    return joined;
  }

  static SmallVector<ReassociationIndices> getOuterAndRest(int64_t rank) {
    ReassociationIndices rest = llvm::to_vector(llvm::seq<int64_t>(1, rank));
    return {{0}, rest};
  }

  Value expand(Value value, ArrayRef<OpFoldResult> sizes,
               ArrayRef<ReassociationIndices> groups) {
    SmallVector<int64_t> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(
          getConstantIntValue(size).value_or(ShapedType::kDynamic));
    return tensor::ExpandShapeOp::create(
        builder, loc, cast<RankedTensorType>(value.getType()).clone(shape),
        value, groups, sizes);
  }

  OpBuilder &builder;
  Location loc;
  AllGatherOp op;
  int64_t numRanks;
};
} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct ExpandAllGatherOp : OpConversionPattern<AllGatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AllGatherOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ValueRange inners = adaptor.getInput();
    if (op.getSize() == 1) {
      rewriter.replaceOpWithMultiple(op, {inners});
      return success();
    }
    SmallVector<Type> types;
    if (failed(typeConverter->convertType(op.getResult().getType(), types)))
      return failure();
    auto type = dyn_cast<TensorSpecType>(op.getInput().getType());
    GatherEmitter emitter(rewriter, op);
    SmallVector<Value> results;
    if (type && type.isQuantized())
      results = emitter.gatherInners(type, inners);
    else
      results.push_back(emitter.gather(inners.front()));
    for (auto [result, resultType] : llvm::zip_equal(results, types))
      result = castTensor(rewriter, op.getLoc(), result, resultType);
    rewriter.replaceOpWithMultiple(op, {ValueRange(results)});
    return success();
  }
};

struct ExpandReduceScatterOp : OpConversionPattern<ReduceScatterOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ReduceScatterOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = adaptor.getInput().front();
    int64_t numRanks = op.getSize();
    if (numRanks == 1) {
      rewriter.replaceOp(op, input);
      return success();
    }
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, input);
    if (std::optional<int64_t> size = getConstantIntValue(sizes.front())) {
      sizes.front() = rewriter.getIndexAttr(*size / numRanks);
    } else {
      Value dim = cast<Value>(sizes.front());
      Value divisor = arith::ConstantIndexOp::create(rewriter, loc, numRanks);
      Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      Value rest = arith::RemUIOp::create(rewriter, loc, dim, divisor);
      Value divides = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, rest, zero);
      CheckOp::create(rewriter, loc, divides,
                      ("expected dim 0 to be a multiple of " +
                       Twine(numRanks) + ", the size of group '" +
                       op.getGroup() + "'")
                          .str());
      sizes.front() =
          arith::DivUIOp::create(rewriter, loc, dim, divisor).getResult();
    }
    Value out = tensor::EmptyOp::create(
        rewriter, loc, sizes,
        cast<RankedTensorType>(input.getType()).getElementType());
    auto scatter = ReduceScatterIntoOp::create(
        rewriter, loc, out.getType(), input, out, op.getGroupAttr(),
        op.getSizeAttr());
    copyDiscardableAttrs(op, scatter);
    rewriter.replaceOp(op, scatter.getResult());
    return success();
  }
};

struct ExpandAllReduceOp : OpConversionPattern<AllReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AllReduceOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = adaptor.getInput().front();
    if (op.getSize() == 1) {
      rewriter.replaceOp(op, input);
      return success();
    }
    Value out = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, input),
        cast<RankedTensorType>(input.getType()).getElementType());
    auto reduce = AllReduceIntoOp::create(
        rewriter, loc, out.getType(), op.getReductionAttr(), input, out,
        op.getGroupAttr(), op.getSizeAttr());
    copyDiscardableAttrs(op, reduce);
    rewriter.replaceOp(op, reduce.getResult());
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandCollectivesPatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExpandAllGatherOp, ExpandAllReduceOp, ExpandReduceScatterOp>(
      converter, patterns.getContext());
}
