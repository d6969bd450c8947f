//===- LogicalDims.h - logical dims of a flattened tensor -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_LOGICALDIMS_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_LOGICALDIMS_H

#include "mlir/IR/Builders.h"
#include "te/Dialect/Quant/IR/Quant.h"

namespace te::quant {

/// The dims of `tensor`; those that are static in `shape` as attributes.
llvm::SmallVector<mlir::OpFoldResult> getLogicalDims(mlir::OpBuilder &builder,
                                                     mlir::Location loc,
                                                     mlir::Value tensor,
                                                     llvm::ArrayRef<int64_t> shape);

/// Whether the inner tensors of `type` tell all its dynamic dims.
bool canRecoverLogicalDims(TensorSpecType type);

/// The logical dims of a tensor that is there as its inner tensors. Where only
/// `cols ceildiv k` is stored, the size is taken to be a multiple of k, as it
/// is for every tensor that was quantized. Needs `canRecoverLogicalDims`.
llvm::SmallVector<mlir::OpFoldResult>
recoverLogicalDims(mlir::OpBuilder &builder, mlir::Location loc,
                   TensorSpecType type, mlir::ValueRange inners);

/// Whether the inner tensors of `type` tell its flattened extents.
bool canRecoverExtents(TensorSpecType type);

/// The flattened extents, as `recoverLogicalDims` does. Needs
/// `canRecoverExtents`.
std::pair<mlir::Value, mlir::Value> recoverExtents(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   TensorSpecType type,
                                                   mlir::ValueRange inners);

/// `value` as a tensor of `type`, which differs in static dims at most.
mlir::Value castTensor(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::Type type);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_LOGICALDIMS_H
