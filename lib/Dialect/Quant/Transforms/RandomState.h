//===- RandomState.h - parts of a random stream ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_RANDOMSTATE_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_RANDOMSTATE_H

#include "mlir/IR/Builders.h"

namespace te::quant {

/// The random state of a part of the stream (5.9): the offset grows.
mlir::Value shiftRandomState(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value rng, unsigned part);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_RANDOMSTATE_H
