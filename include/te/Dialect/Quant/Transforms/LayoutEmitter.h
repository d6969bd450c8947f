//===- LayoutEmitter.h - layouts as index arithmetic ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_LAYOUTEMITTER_H
#define TE_DIALECT_QUANT_TRANSFORMS_LAYOUTEMITTER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/DenseMap.h"

namespace te::quant {

/// Emits sizes of inner tensors for logical dims of which some are values. What
/// is static comes from the layout's own evaluation; the rest becomes unsigned
/// index arithmetic, each expression once.
class LayoutEmitter {
public:
  /// `logicalDims`: an index attribute or a value of type index for each dim.
  /// A TensorSpec of these dims must be legal.
  LayoutEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::ArrayRef<mlir::OpFoldResult> logicalDims);

  /// The flattened rows or columns.
  mlir::Value getExtent(Extent extent) {
    return emit(mlir::getAffineSymbolExpr(extent == Extent::Rows ? 0 : 1,
                                          builder.getContext()));
  }

  /// A size over rows and columns that cannot be negative, as an attribute
  /// where it is static.
  mlir::OpFoldResult getSize(mlir::AffineExpr expr);

  /// Shape of inner tensor `index` of `layout`. A size that a layout makes
  /// negative is checked at run time and taken as zero.
  llvm::SmallVector<mlir::OpFoldResult> getShape(LayoutAttr layout,
                                                 unsigned index);

  /// A `tensor.empty` for inner tensor `index` of `layout`.
  mlir::Value createEmpty(LayoutAttr layout, unsigned index);

private:
  mlir::Value emit(mlir::AffineExpr expr);
  mlir::Value emitExtent(Extent extent);
  mlir::Value emitBinary(mlir::AffineBinaryOpExpr expr);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::OpFoldResult> logicalDims;
  llvm::SmallVector<int64_t> logicalShape;
  llvm::SmallDenseMap<mlir::AffineExpr, mlir::Value> emitted;
};

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_LAYOUTEMITTER_H
