//===- LinalgLinear.h - linear layers spelled as linalg contractions ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H
#define TE_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace te::quant {

/// A contraction that is a linear layer.
struct LinalgLinear {
  mlir::Value x, weight, bias;
  /// Whether the weight is (in, out), not (out, in).
  bool isWeightTransposed = false;
  /// The op whose result the layer gives: the contraction, or the addition of
  /// the bias after it.
  mlir::Operation *last = nullptr;
};

/// Whether `op` multiplies and sums, so that it is expected to be a layer.
bool isLinalgContraction(mlir::linalg::LinalgOp op);

/// The layer that `op`, a contraction, is; or why it is none, in `reason`.
llvm::FailureOr<LinalgLinear> matchLinalgLinear(mlir::linalg::LinalgOp op,
                                                std::string &reason);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_LINALGLINEAR_H
