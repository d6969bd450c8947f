//===- LayoutEmitter.cpp - layouts as index arithmetic -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are never negative, so a ceiling division is an addition and an
// unsigned division. Only a layout that subtracts (a custom one) needs the
// signed forms.
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "te/Dialect/Quant/IR/QuantOps.h"

using namespace mlir;
using namespace te::quant;

LayoutEmitter::LayoutEmitter(OpBuilder &builder, Location loc,
                             ArrayRef<OpFoldResult> logicalDims)
    : builder(builder), loc(loc), logicalDims(logicalDims) {
  for (OpFoldResult dim : logicalDims)
    logicalShape.push_back(
        getConstantIntValue(dim).value_or(ShapedType::kDynamic));
}

/// Whether `expr` cannot be negative for extents that are not.
static bool isNonNegative(AffineExpr expr) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue() >= 0;
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
  case AffineExprKind::Mod:
    return true;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return isNonNegative(cast<AffineBinaryOpExpr>(expr).getLHS());
  case AffineExprKind::Add:
  case AffineExprKind::Mul:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS());
}

Value LayoutEmitter::emit(AffineExpr expr) {
  if (Value value = emitted.lookup(expr))
    return value;
  Value value;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    value = arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    value = emitExtent(symbol.getPosition() == 0 ? Extent::Rows : Extent::Cols);
  else
    value = emitBinary(cast<AffineBinaryOpExpr>(expr));
  return emitted[expr] = value;
}

OpFoldResult LayoutEmitter::getSize(AffineExpr expr) {
  FailureOr<std::pair<int64_t, int64_t>> extents =
      getFlattenedExtents(logicalShape);
  if (succeeded(extents)) {
    auto substitute = [&](int64_t size, unsigned position) {
      return ShapedType::isDynamic(size)
                 ? getAffineSymbolExpr(position, builder.getContext())
                 : getAffineConstantExpr(size, builder.getContext());
    };
    expr = expr.replaceSymbols(
        {substitute(extents->first, 0), substitute(extents->second, 1)});
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return builder.getIndexAttr(constant.getValue());
  return emit(expr);
}

Value LayoutEmitter::emitExtent(Extent extent) {
  ArrayRef<int64_t> shape(logicalShape);
  FailureOr<std::pair<int64_t, int64_t>> extents = getFlattenedExtents(shape);
  bool isRows = extent == Extent::Rows;
  int64_t size = failed(extents) ? ShapedType::kDynamic
                 : isRows        ? extents->first
                                 : extents->second;
  if (!ShapedType::isDynamic(size))
    return arith::ConstantIndexOp::create(builder, loc, size);
  if (!isRows)
    return cast<Value>(logicalDims.back());
  int64_t factor = 1;
  Value product;
  for (auto [dim, size] :
       llvm::drop_end(llvm::zip_equal(logicalDims, logicalShape))) {
    Value value = dyn_cast<Value>(dim);
    if (!value)
      factor *= size;
    else if (!product)
      product = value;
    else
      product = arith::MulIOp::create(builder, loc, product, value);
  }
  if (factor == 1)
    return product;
  return arith::MulIOp::create(
      builder, loc, product,
      arith::ConstantIndexOp::create(builder, loc, factor));
}

Value LayoutEmitter::emitBinary(AffineBinaryOpExpr expr) {
  bool isUnsigned = isNonNegative(expr.getLHS());
  Value lhs = emit(expr.getLHS());
  if (expr.getKind() == AffineExprKind::CeilDiv && isUnsigned) {
    AffineExpr divisor = expr.getRHS();
    Value up = emit(divisor - 1);
    Value sum = arith::AddIOp::create(builder, loc, lhs, up);
    return arith::DivUIOp::create(builder, loc, sum, emit(divisor));
  }
  Value rhs = emit(expr.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::FloorDiv:
    if (isUnsigned)
      return arith::DivUIOp::create(builder, loc, lhs, rhs);
    return arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::CeilDiv:
    return arith::CeilDivSIOp::create(builder, loc, lhs, rhs);
  default:
    break;
  }
  if (isUnsigned)
    return arith::RemUIOp::create(builder, loc, lhs, rhs);
  Value quotient = arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  Value multiple = arith::MulIOp::create(builder, loc, quotient, rhs);
  return arith::SubIOp::create(builder, loc, lhs, multiple);
}

SmallVector<OpFoldResult> LayoutEmitter::getShape(LayoutAttr layout,
                                                  unsigned index) {
  SmallVector<OpFoldResult> shape;
  SmallVector<int64_t> staticShape;
  if (failed(layout.getShape(index, logicalShape, staticShape)))
    return shape;
  for (AffineExpr dim : layout.getShapes()[index].getResults()) {
    if (isa<AffineDimExpr>(dim)) {
      if (!logicalDims.empty())
        llvm::append_range(shape, ArrayRef(logicalDims).drop_back());
      continue;
    }
    // A shape with `leading` has rank 0 where the logical one has.
    if (shape.size() == staticShape.size())
      break;
    int64_t size = staticShape[shape.size()];
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(builder.getIndexAttr(size));
      continue;
    }
    Value value = emit(dim);
    if (!isNonNegative(dim)) {
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isLegal = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, value, zero);
      CheckOp::create(builder, loc, isLegal,
                      "expected inner tensor '" +
                          layout.getNames()[index].getValue().str() +
                          "' to have a size that is not negative");
      value = arith::MaxSIOp::create(builder, loc, value, zero);
    }
    shape.push_back(value);
  }
  return shape;
}

Value LayoutEmitter::createEmpty(LayoutAttr layout, unsigned index) {
  return tensor::EmptyOp::create(builder, loc, getShape(layout, index),
                                 layout.getElementTypes()[index]);
}
