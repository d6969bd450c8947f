//===- HostToGPU.h - host code around launches ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H
#define TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
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

} // namespace te::quant

#endif // TE_LIB_CONVERSION_QUANTTOGPU_HOSTTOGPU_H
