//===- OpSupport.h - checks that several ops share ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_IR_OPSUPPORT_H
#define TE_LIB_DIALECT_QUANT_IR_OPSUPPORT_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace te::quant {

/// Logical shape of a builtin tensor, memref or TensorSpec.
llvm::ArrayRef<int64_t> getLogicalShape(mlir::Type type);

/// Element type of a builtin tensor or memref, nominal dtype of a TensorSpec.
mlir::Type getLogicalElementType(mlir::Type type);

/// Checks that the two have the same rank and no contradicting static dims.
llvm::LogicalResult verifySameShape(mlir::Operation *op, llvm::StringRef what,
                                    llvm::ArrayRef<int64_t> shape,
                                    llvm::StringRef other,
                                    llvm::ArrayRef<int64_t> otherShape);

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Destination style on buffers: the outs are written, everything else that is
/// a buffer is read. `readsOuts`: the outs may keep their contents.
void getIntoEffects(mlir::Operation *op, mlir::OperandRange outs,
                    bool readsOuts, Effects &effects);

/// Tensors or memrefs throughout; with tensors one result for each out.
llvm::LogicalResult verifyInto(mlir::Operation *op, mlir::ValueRange shaped,
                               mlir::TypeRange outs);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_IR_OPSUPPORT_H
