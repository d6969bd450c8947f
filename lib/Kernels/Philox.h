//===- Philox.h - random words as IR --------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_KERNELS_PHILOX_H
#define TE_LIB_KERNELS_PHILOX_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace te::quant {

/// The four i32 words of one draw of Philox4x32-10 (numerics: 5.9). The
/// operands are i64: the seed is the key, the other two are the counter.
std::array<mlir::Value, 4> buildPhilox4x32(mlir::ImplicitLocOpBuilder &b,
                                           mlir::Value seed,
                                           mlir::Value subsequence,
                                           mlir::Value offset);

} // namespace te::quant

#endif // TE_LIB_KERNELS_PHILOX_H
