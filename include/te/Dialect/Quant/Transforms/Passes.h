//===- Passes.h - passes on the quant dialect -----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_PASSES_H
#define TE_DIALECT_QUANT_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "te/Dialect/Quant/Transforms/Recipe.h"

namespace te::quant {

/// What te-quant-print-layout and te-quant-print-memory write.
enum class LayoutFormat { Text, JSON };

/// What te-quant-raise-linear takes for a weight.
enum class WeightSource { Parameters, Any };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "te/Dialect/Quant/Transforms/Passes.h.inc"

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_PASSES_H
