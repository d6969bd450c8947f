//===- QuantExpand.h - what the expansion of each op needs to know -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_QUANTEXPAND_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_QUANTEXPAND_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"
#include "te/Dialect/Quant/Transforms/Patterns.h"

namespace te::quant {

/// What the pass asks before it changes anything: each emits an error and fails
/// where the op's pattern would not apply.
llvm::LogicalResult verifyExpandable(AllGatherOp op);
llvm::LogicalResult verifyExpandable(DequantizeOp op);
llvm::LogicalResult verifyExpandable(GemmOp op);
llvm::LogicalResult verifyExpandable(QuantizeOp op);
llvm::LogicalResult verifyExpandable(SwizzleOp op);
llvm::LogicalResult verifyExpandable(UpdateUsageOp op);

/// Sets `te_quant.args` and `te_quant.results` on a function that has none yet
/// or has TensorSpecs left.
void setBoundaryAttributes(mlir::func::FuncOp func,
                           const mlir::TypeConverter &converter);

/// The amaxes that `quantizer` scales by, in new tensors.
AmaxIntoOp emitAmaxInto(mlir::OpBuilder &builder, mlir::Location loc,
                        QuantizerAttrInterface quantizer, mlir::Value input);

/// Checks at run time that the dynamic extents of `type` are multiples of the
/// blocks of `constraints`.
void emitBlockChecks(mlir::OpBuilder &builder, mlir::Location loc,
                     TensorSpecType type,
                     llvm::ArrayRef<BlockConstraint> constraints,
                     LayoutEmitter &emitter);

/// The operands of a 1:N adaptor in one list.
llvm::SmallVector<mlir::Value>
flattenValues(llvm::ArrayRef<mlir::ValueRange> values);

/// Converts `types`, with the number of types each has become.
llvm::LogicalResult convertTypes(const mlir::TypeConverter &converter,
                                 mlir::TypeRange types,
                                 llvm::SmallVectorImpl<mlir::Type> &converted,
                                 llvm::SmallVectorImpl<size_t> &counts);

/// `values` in groups of the given sizes.
llvm::SmallVector<llvm::SmallVector<mlir::Value>>
splitValues(mlir::ValueRange values, llvm::ArrayRef<size_t> counts);

/// Copies the attributes that are no properties.
void copyDiscardableAttrs(mlir::Operation *from, mlir::Operation *to);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_QUANTEXPAND_H
