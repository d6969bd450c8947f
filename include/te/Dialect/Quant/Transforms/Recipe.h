//===- Recipe.h - which quantizer each role of a layer gets ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recipe is a choice of formats for the operands of linear layers. Ids such
// as R-4 are those of docs/rules.md; docs/recipes.md has the table.
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_RECIPE_H
#define TE_DIALECT_QUANT_TRANSFORMS_RECIPE_H

#include "te/Dialect/Quant/IR/LinearPlan.h"
#include <string>

namespace te::quant {

enum class RecipeKind { MXFP8, Float8Current, Float8Block, NVFP4, Delayed };

/// As in options and diagnostics: "mxfp8", "float8_current", ...
llvm::StringRef stringifyRecipeKind(RecipeKind kind);

/// FP8 formats by direction: both E4M3, or E5M2 for gradients. E5M2 for all is
/// there to be refused with a reason.
enum class FP8Format { E4M3, Hybrid, E5M2 };

/// The operands that a switch of NVFP4 selects.
enum class RecipeScope { None, Weights, Activations, All };

/// What can be chosen within a recipe. What is not set is as the recipe has it;
/// what is set and means nothing to the recipe is an error.
struct RecipeOptions {
  RecipeKind kind = RecipeKind::MXFP8;
  BackwardOverride backwardOverride = BackwardOverride::None;
  /// mxfp8, float8_current, float8_block, delayed.
  std::optional<FP8Format> fp8Format;
  /// The roles (input, weight, grad_output) with blocks in two dimensions:
  /// mxfp8 and nvfp4 of the weight, float8_block of at most one role.
  std::optional<llvm::SmallVector<LinearRole, 1>> with2DQuantization;
  /// The roles whose scales are powers of two: float8_current, float8_block.
  std::optional<llvm::SmallVector<LinearRole, 3>> forcePow2Scales;
  /// The least amax of a role: float8_current, float8_block.
  std::optional<float> amaxEpsilonInput, amaxEpsilonWeight,
      amaxEpsilonGradOutput;
  /// nvfp4.
  std::optional<bool> withRHT, stochasticRounding, rowScaledActivation;
  std::optional<RecipeScope> use4Over6, e4m3Max256;
  std::optional<ErrMode> errMode;
};

/// The quantizers of the operands that a layer quantizes itself. R-5: those of
/// the output and of the gradient of the input are no part of it; they count
/// only where a layer asks for them.
struct Recipe {
  QuantizerAttrInterface input, weight, gradOutput;
  BackwardOverride backwardOverride = BackwardOverride::None;
};

/// The recipe, or a diagnostic that names the option at fault.
llvm::FailureOr<Recipe> makeRecipe(mlir::MLIRContext *context,
                                   const RecipeOptions &options,
                                   EmitError emitError);

/// what rows are padded to where their number depends on data.
int64_t getRowAlignment(RecipeKind kind);

/// whether chips of a compute capability (10 times the major number and
/// the minor one) have the recipe's GEMMs; if not, `reason` says what they
/// need.
bool isRecipeAvailable(RecipeKind kind, unsigned computeCapability,
                       std::string &reason);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_RECIPE_H
