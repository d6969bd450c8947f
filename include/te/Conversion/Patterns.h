//===- Patterns.h - patterns of the conversions ----------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of the conversion passes, for passes of an embedder. Those on
// casts are for the greedy driver, which folds the bitcasts that they leave.
//
//===----------------------------------------------------------------------===//

#ifndef TE_CONVERSION_PATTERNS_H
#define TE_CONVERSION_PATTERNS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace te::quant {

/// Conversions that a chip has in hardware, in pairs of values.
struct HardwareCasts {
  bool fp8;
  bool fp4;
  bool e8m0;
};

/// Adds patterns that make `arith.truncf` and `arith.extf` on narrow types
/// `te_quant.cast`.
void populateArithToCastPatterns(mlir::RewritePatternSet &patterns);

/// Adds patterns that expand `te_quant.cast` on scalars and vectors to integer
/// arithmetic and `vector.bitcast` of FP4 vectors to shifts.
void populateExpandCastsPatterns(mlir::RewritePatternSet &patterns);

/// Adds patterns that make `te_quant.cast` on scalars and vectors NVVM ops
/// where `hardware` has them.
void populateCastsToNVVMPatterns(mlir::RewritePatternSet &patterns,
                                 HardwareCasts hardware);

/// Adds patterns that expand transcendental math ops on f32 to arithmetic, and
/// make those on f16 and bf16 f32 ops.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace te::quant

#endif // TE_CONVERSION_PATTERNS_H
