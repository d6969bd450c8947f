//===- InitAll.h - the only lists of what exists --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_INITALL_H
#define TE_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace te::quant {

/// Adds the quant dialect.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Adds the external models that our passes need: bufferization of our ops,
/// kernel emitters of the quantizers, and the upstream ones our pipelines use.
void registerAllExtensions(mlir::DialectRegistry &registry);

/// Registers all passes of ours by name. Idempotent.
void registerAllPasses();

/// Registers the pipelines by name. Idempotent.
void registerAllPipelines();

} // namespace te::quant

#endif // TE_INITALL_H
