//===- QuantProducers.h - verification of regions on elements -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_IR_QUANTPRODUCERS_H
#define TE_LIB_DIALECT_QUANT_IR_QUANTPRODUCERS_H

#include "te/Dialect/Quant/IR/QuantOps.h"

namespace te::quant {

/// Inputs, maps and region of `op`. Once they are verified, what the op says of
/// its logical input can be asked.
llvm::LogicalResult verifyProducer(FusedInputOpInterface op);

/// Folds `tensor.cast` into ops with such a region.
void populateFoldTensorCastPatterns(mlir::RewritePatternSet &patterns);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_IR_QUANTPRODUCERS_H
