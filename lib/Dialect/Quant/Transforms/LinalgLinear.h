//===- LinalgLinear.h - matrix products that are linear layers ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include <string>

namespace te::quant {

/// A contraction with what is done to its result, as a linear layer.
struct LinalgLinear {
  mlir::linalg::LinalgOp product;
  /// From the product on: each has the result of the one before as its only
  /// use. The last one's result is the layer's.
  llvm::SmallVector<mlir::Operation *, 3> chain;
  /// `(..., in)`, `(out, in)` or transposed, `(out)` or null.
  mlir::Value x, w, bias;
  bool isWeightTransposed = false;

  mlir::Value getResult() const { return chain.back()->getResult(0); }
};

/// Whether `op` contracts two operands that each have a dim of their own.
bool isProduct(mlir::linalg::LinalgOp op);

/// A product as a linear layer, or the reason why it is none.
llvm::FailureOr<LinalgLinear> matchLinalgLinear(mlir::linalg::LinalgOp product,
                                                WeightSource weightSource,
                                                std::string &reason);

/// Creates the layer, without quantizers, before the last op of the chain.
/// Appends it and what it needs to `created`; null where operands make no
/// layer.
LinearOp createLinear(mlir::RewriterBase &rewriter, const LinalgLinear &match,
                      bool isGradEnabled,
                      llvm::SmallVectorImpl<mlir::Operation *> &created);

/// Replaces the chain by a layer that `createLinear` made.
void replaceByLinear(mlir::RewriterBase &rewriter, const LinalgLinear &match,
                     LinearOp linear);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H
