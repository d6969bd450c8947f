//===- LogicalDims.cpp - logical dims of a flattened tensor -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes come from types and from the inner tensors, never from the ops that
// made them: the values may be block arguments.
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

SmallVector<OpFoldResult> te::quant::getLogicalDims(OpBuilder &builder,
                                                    Location loc, Value tensor,
                                                    ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> dims;
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(size))
      dims.push_back(tensor::getMixedSize(builder, loc, tensor, index));
    else
      dims.push_back(builder.getIndexAttr(size));
  }
  return dims;
}

namespace {
/// A dim of an inner tensor: `size` times `multiple` is a logical size.
struct StoredSize {
  unsigned inner;
  int64_t dim;
  int64_t multiple;
};
} // namespace

/// Calls `callback` with each dim of each inner tensor and its position.
static void forEachDim(
    TensorSpecType type,
    function_ref<void(unsigned inner, int64_t dim, AffineExpr expr)> callback) {
  int64_t numLeading = std::max<int64_t>(type.getRank() - 1, 0);
  for (auto [inner, map] : llvm::enumerate(type.getLayout().getShapes())) {
    int64_t dim = 0;
    for (AffineExpr expr : map.getResults()) {
      callback(inner, dim, expr);
      dim += isa<AffineDimExpr>(expr) ? numLeading : 1;
    }
  }
}

/// Where the leading dims are stored one by one.
static std::optional<StoredSize> findLeading(TensorSpecType type) {
  std::optional<StoredSize> found;
  forEachDim(type, [&](unsigned inner, int64_t dim, AffineExpr expr) {
    if (isa<AffineDimExpr>(expr) && !found)
      found = {inner, dim, 1};
  });
  return found;
}

/// Where a flattened extent is stored: itself if possible, else divided by the
/// smallest number.
static std::optional<StoredSize> findExtent(TensorSpecType type,
                                            Extent extent) {
  AffineExpr symbol = getAffineSymbolExpr(extent == Extent::Rows ? 0 : 1,
                                          type.getContext());
  std::optional<StoredSize> found;
  forEachDim(type, [&](unsigned inner, int64_t dim, AffineExpr expr) {
    int64_t multiple = 1;
    if (expr.getKind() == AffineExprKind::CeilDiv ||
        expr.getKind() == AffineExprKind::FloorDiv) {
      auto division = cast<AffineBinaryOpExpr>(expr);
      expr = division.getLHS();
      multiple = cast<AffineConstantExpr>(division.getRHS()).getValue();
    }
    if (expr == symbol && (!found || multiple < found->multiple))
      found = {inner, dim, multiple};
  });
  return found;
}

static OpFoldResult emitSize(OpBuilder &builder, Location loc,
                             ValueRange inners, StoredSize size) {
  OpFoldResult stored =
      tensor::getMixedSize(builder, loc, inners[size.inner], size.dim);
  if (size.multiple == 1)
    return stored;
  Value multiple = arith::ConstantIndexOp::create(builder, loc, size.multiple);
  Value value = getValueOrCreateConstantIndexOp(builder, loc, stored);
  return arith::MulIOp::create(builder, loc, value, multiple).getResult();
}

bool te::quant::canRecoverLogicalDims(TensorSpecType type) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.empty())
    return true;
  if (ShapedType::isDynamic(shape.back()) && !findExtent(type, Extent::Cols))
    return false;
  auto numDynamic = llvm::count_if(shape.drop_back(), ShapedType::isDynamic);
  return numDynamic == 0 || findLeading(type) ||
         (numDynamic == 1 && findExtent(type, Extent::Rows));
}

SmallVector<OpFoldResult>
te::quant::recoverLogicalDims(OpBuilder &builder, Location loc,
                              TensorSpecType type, ValueRange inners) {
  SmallVector<OpFoldResult> dims;
  ArrayRef<int64_t> shape = type.getShape();
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size)) {
      dims.push_back(builder.getIndexAttr(size));
      continue;
    }
    if (index + 1 == shape.size()) {
      dims.push_back(
          emitSize(builder, loc, inners, *findExtent(type, Extent::Cols)));
      continue;
    }
    if (std::optional<StoredSize> leading = findLeading(type)) {
      leading->dim += index;
      dims.push_back(emitSize(builder, loc, inners, *leading));
      continue;
    }
    // The one dynamic dim among the leading ones: rows over the static ones. A
    // tensor without rows has any size there.
    OpFoldResult rows =
        emitSize(builder, loc, inners, *findExtent(type, Extent::Rows));
    int64_t others = 1;
    for (int64_t other : shape.drop_back())
      others *= ShapedType::isDynamic(other) ? 1 : other;
    if (others == 0) {
      rows = builder.getIndexAttr(0);
    } else if (others != 1) {
      Value divisor = arith::ConstantIndexOp::create(builder, loc, others);
      rows = arith::DivUIOp::create(
                 builder, loc,
                 getValueOrCreateConstantIndexOp(builder, loc, rows), divisor)
                 .getResult();
    }
    dims.push_back(rows);
  }
  return dims;
}

bool te::quant::canRecoverExtents(TensorSpecType type) {
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  bool hasCols =
      !ShapedType::isDynamic(cols) || findExtent(type, Extent::Cols);
  bool hasRows = !ShapedType::isDynamic(rows) || findLeading(type) ||
                 findExtent(type, Extent::Rows);
  return hasRows && hasCols;
}

std::pair<Value, Value> te::quant::recoverExtents(OpBuilder &builder,
                                                  Location loc,
                                                  TensorSpecType type,
                                                  ValueRange inners) {
  if (canRecoverLogicalDims(type)) {
    LayoutEmitter emitter(builder, loc,
                          recoverLogicalDims(builder, loc, type, inners));
    return {emitter.getExtent(Extent::Rows), emitter.getExtent(Extent::Cols)};
  }
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  auto get = [&](Extent extent, int64_t size) {
    OpFoldResult value =
        ShapedType::isDynamic(size)
            ? emitSize(builder, loc, inners, *findExtent(type, extent))
            : OpFoldResult(builder.getIndexAttr(size));
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  return {get(Extent::Rows, rows), get(Extent::Cols, cols)};
}

Value te::quant::castTensor(OpBuilder &builder, Location loc, Value value,
                            Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(builder, loc, type, value);
}
