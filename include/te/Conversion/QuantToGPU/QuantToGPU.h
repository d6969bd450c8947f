//===- QuantToGPU.h - quantized ops as launches ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_CONVERSION_QUANTTOGPU_QUANTTOGPU_H
#define TE_CONVERSION_QUANTTOGPU_QUANTTOGPU_H

#include "te/Kernels/KernelEmitter.h"

namespace te::quant {

/// Gives each op of ours with a destination on memrefs contiguous operands: a strided one is copied into a buffer before the op, or
/// out of it afterwards. To be run while copies can still become loops.
void packStridedOperands(mlir::func::FuncOp function);

/// Replaces each such op in `function` by a call of its launch function with
/// the operands' pointers, the flattened extents and `stream`, an
/// `!gpu.async.token` that is in scope at the function's start. Packs what is
/// strided. Fails with an error at an op without a kernel.
llvm::LogicalResult lowerQuantOpsToLaunches(mlir::func::FuncOp function,
                                            mlir::Value stream,
                                            KernelContext &context);

} // namespace te::quant

#endif // TE_CONVERSION_QUANTTOGPU_QUANTTOGPU_H
