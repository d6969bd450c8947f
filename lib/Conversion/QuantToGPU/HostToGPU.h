//===- HostToGPU.h - host code around launches ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H
#define TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace te::quant {

/// Each function with a body and the stream (`!gpu.async.token`) its device
/// work goes to.
using StreamMap = llvm::MapVector<mlir::func::FuncOp, mlir::Value>;

/// Gives each function with a body a stream: private ones take it from their
/// callers, public ones from a trailing `!llvm.ptr` argument or make one that
/// they wait for at their end. A public function that is called in the module
/// is split into a private body and a public wrapper.
StreamMap addStreams(mlir::ModuleOp module);

/// Turns allocations, copies, constants, loads, checks and launches of
/// `function` into asynchronous operations on `stream`.
llvm::LogicalResult lowerHostCode(mlir::func::FuncOp function,
                                  mlir::Value stream);

/// Replaces each collective of `function` by a call of the runtime on `stream`.
llvm::LogicalResult lowerCollectives(mlir::func::FuncOp function,
                                     mlir::Value stream);

/// Gives the buffers of `op` contiguous memory, see `packStridedOperands`.
void packOperands(mlir::Operation *op);

/// The address of a buffer's first element.
mlir::Value getBufferPointer(mlir::ImplicitLocOpBuilder &b, mlir::Value memref);

/// The stream as the runtime takes it.
mlir::Value getStreamHandle(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value stream);

/// The runtime function `name`, declared when it is not yet.
mlir::LLVM::LLVMFuncOp getRuntimeFunction(mlir::ModuleOp module,
                                          llvm::StringRef name,
                                          llvm::ArrayRef<mlir::Type> operands);

/// A pointer to a null-terminated constant string, one for each text.
mlir::Value getStringPointer(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::ModuleOp module, llvm::StringRef text);

} // namespace te::quant

#endif // TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H
