//===- QuantRecipe.h - which quantizer a recipe gives to each role --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_QUANTRECIPE_H
#define TE_DIALECT_QUANT_TRANSFORMS_QUANTRECIPE_H

#include "te/Dialect/Quant/IR/LinearPlan.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "te/Target/TargetInfo.h"

namespace te::quant {

/// A recipe for the layers of one program (docs/semantics.md, 8). Output and
/// gradient of the input stay in high precision.
struct QuantRecipe {
  QuantizerAttrInterface input, weight, gradOutput;

  /// The quantizers in `config`, with the flags that a layer sets (5.2).
  void apply(LinearConfig &config, llvm::ArrayRef<int64_t> weightShape,
             const TargetInfo *target, bool optimizeForGemm) const;
};

/// The recipe that the options spell, or a diagnostic.
llvm::FailureOr<QuantRecipe>
makeRecipe(const QuantApplyRecipePassOptions &options,
           mlir::MLIRContext *context, EmitError emitError);

/// why a chip has no GEMMs for the recipe; empty if it has.
std::string getUnavailability(RecipeKind kind, const TargetInfo &target);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_QUANTRECIPE_H
