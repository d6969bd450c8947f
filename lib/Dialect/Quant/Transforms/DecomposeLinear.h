//===- DecomposeLinear.h - linear layers as primitive operations ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_DECOMPOSELINEAR_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_DECOMPOSELINEAR_H

#include "mlir/IR/PatternMatch.h"

namespace te::quant {

/// Replaces a `linear` or `linear_backward` by the ops that its plan lists.
llvm::LogicalResult decomposeLinear(mlir::RewriterBase &rewriter,
                                    mlir::Operation *op);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_DECOMPOSELINEAR_H
