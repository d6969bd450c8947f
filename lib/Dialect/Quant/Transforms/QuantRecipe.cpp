//===- QuantRecipe.cpp - which quantizer a recipe gives to each role -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids such as R-4 and 5.2 are those of docs/semantics.md.
//
//===----------------------------------------------------------------------===//

#include "QuantRecipe.h"

using namespace mlir;
using namespace te::quant;

namespace {
/// The three roles that a recipe decides.
enum Role { Input, Weight, Grad };

class RecipeMaker {
public:
  RecipeMaker(const QuantApplyRecipePassOptions &options, MLIRContext *context,
              EmitError emitError)
      : options(options), context(context), emitError(emitError) {}

  FailureOr<QuantRecipe> run();

private:
  LogicalResult verify();
  QuantizerAttrInterface make(Role role);
  QuantizerAttrInterface makeNVFP4(Role role);

  Type getFP8(Role role) const {
    // E4M3 forward; backward E5M2 for hybrid formats.
    bool isHybrid = options.format == RecipeFormat::Hybrid;
    if (options.format == RecipeFormat::Default)
      isHybrid = options.recipe == RecipeKind::Float8Current ||
                 options.recipe == RecipeKind::Delayed;
    if (role == Grad && isHybrid)
      return Float8E5M2Type::get(context);
    return Float8E4M3FNType::get(context);
  }
  APFloat getEpsilon(Role role) const {
    double values[] = {options.inputEpsilon, options.weightEpsilon,
                       options.gradEpsilon};
    return APFloat(static_cast<float>(values[role]));
  }
  bool hasPow2Scales(Role role) const {
    PowerOfTwo values[] = {options.inputPow2, options.weightPow2,
                           options.gradPow2};
    if (values[role] == PowerOfTwo::Default)
      return options.recipe == RecipeKind::Float8Block;
    return values[role] == PowerOfTwo::On;
  }
  int64_t getBlockDim(Role role) const {
    int64_t values[] = {options.inputBlockDim, options.weightBlockDim,
                        options.gradBlockDim};
    return values[role];
  }

  const QuantApplyRecipePassOptions &options;
  MLIRContext *context;
  EmitError emitError;
};
} // namespace

/// whether a scope selects a forward role.
static bool selects(FourOverSixScope scope, Role role) {
  if (role == Grad)
    return false;
  return scope == FourOverSixScope::All ||
         scope == (role == Weight ? FourOverSixScope::Weights
                                  : FourOverSixScope::Activations);
}

LogicalResult RecipeMaker::verify() {
  //
  if (options.recipe == RecipeKind::Delayed &&
      options.backwardOverride != BackwardOverride::None)
    return emitError() << "expected no 'backward-override' with delayed "
                          "scaling, but got '"
                       << stringifyBackwardOverride(options.backwardOverride)
                       << "'";
  if (options.recipe == RecipeKind::NVFP4 &&
      options.format != RecipeFormat::Default)
    return emitError() << "expected no 'format' with nvfp4, whose formats are "
                          "fixed, but got one";
  //
  int64_t num2D = 0;
  for (Role role : {Input, Weight, Grad}) {
    int64_t dim = getBlockDim(role);
    if (dim != 1 && dim != 2)
      return emitError() << "expected blocks of 1 or 2 dims, but got " << dim;
    num2D += dim == 2;
    if (!(getEpsilon(role).isFinite()) || getEpsilon(role).isNegative())
      return emitError() << "expected epsilons that are at least 0 and finite";
  }
  if (num2D > 1)
    return emitError() << "expected at most one role with 2-dimensional "
                          "blocks, but got "
                       << num2D;
  //
  if (options.recipe == RecipeKind::NVFP4 && !options.disableRHT) {
    if (selects(options.fourOverSix, Input))
      return emitError() << "expected 'disable-rht' with 'four-over-six' of "
                            "activations, but got the transform";
    if (options.rowScaledActivations)
      return emitError() << "expected 'disable-rht' with "
                            "'row-scaled-activations', but got the transform";
  }
  return success();
}

QuantizerAttrInterface RecipeMaker::makeNVFP4(Role role) {
  bool hasRHT = role != Weight && !options.disableRHT;
  bool uses4over6 = selects(options.fourOverSix, role);
  bool isRowScaled = role == Input && options.rowScaledActivations;
  bool narrows = uses4over6 && selects(options.fourOverSixE4M3256, role);
  // a row-scaled tensor makes no columnwise data by four-over-six, which
  // only inference can do without.
  Usage usage = isRowScaled && uses4over6 ? Usage::Rowwise : Usage::Both;
  return NVFP4Attr::getChecked(
      emitError, context, usage, /*with_rht=*/hasRHT,
      /*with_post_rht_amax=*/hasRHT,
      /*with_2d_quantization=*/role == Weight && !options.disable2D,
      /*stochastic_rounding=*/role == Grad &&
          !options.disableStochasticRounding,
      /*with_amax_reduction=*/false, /*row_scaled=*/isRowScaled,
      /*use_4over6=*/uses4over6, /*e4m3_max=*/narrows ? 256 : 448,
      ErrMode::MAE, /*with_random_sign_mask=*/true, /*internal=*/true,
      /*optimize_for_gemm=*/false);
}

QuantizerAttrInterface RecipeMaker::make(Role role) {
  Type fp8 = getFP8(role);
  switch (options.recipe) {
  case RecipeKind::MXFP8:
    return MXFP8Attr::getChecked(
        emitError, context, fp8, Usage::Both,
        /*with_2d_quantization=*/role == Weight && options.weight2D,
        /*internal=*/true, /*optimize_for_gemm=*/false);
  case RecipeKind::Float8Current:
    return Float8CurrentScalingAttr::getChecked(
        emitError, context, fp8, Usage::Both, hasPow2Scales(role),
        getEpsilon(role), /*with_amax_reduction=*/false, /*non_tn_gemm=*/false,
        /*internal=*/true, /*optimize_for_gemm=*/false);
  case RecipeKind::Float8Block:
    return Float8BlockScalingAttr::getChecked(
        emitError, context, fp8, Usage::Both, getBlockDim(role),
        hasPow2Scales(role), getEpsilon(role), /*internal=*/true,
        /*optimize_for_gemm=*/false);
  case RecipeKind::NVFP4:
    return makeNVFP4(role);
  case RecipeKind::Delayed:
    return Float8DelayedScalingAttr::getChecked(
        emitError, context, fp8, Usage::Both, /*non_tn_gemm=*/false,
        /*internal=*/true, /*optimize_for_gemm=*/false);
  }
  return {};
}

FailureOr<QuantRecipe> RecipeMaker::run() {
  if (failed(verify()))
    return failure();
  QuantRecipe recipe{make(Input), make(Weight), make(Grad)};
  if (!recipe.input || !recipe.weight || !recipe.gradOutput)
    return failure();
  return recipe;
}

FailureOr<QuantRecipe>
te::quant::makeRecipe(const QuantApplyRecipePassOptions &options,
                      MLIRContext *context, EmitError emitError) {
  return RecipeMaker(options, context, emitError).run();
}

void QuantRecipe::apply(LinearConfig &config, ArrayRef<int64_t> weightShape,
                        const TargetInfo *target, bool optimizeForGemm) const {
  auto finish = [&](QuantizerAttrInterface quantizer, bool isOptimized) {
    if (target)
      quantizer = quantizer.withNonTNGemm(target->hasNonTNFP8Gemm);
    return quantizer.withOptimizeForGemm(optimizeForGemm && isOptimized &&
                                         quantizer.hasGemmScaleOrder());
  };
  // 5.2
  bool isWeightOptimized = isa<MXFP8Attr>(weight);
  if (auto nvfp4 = dyn_cast<NVFP4Attr>(weight))
    isWeightOptimized = nvfp4.getWith_2dQuantization() && target &&
                        target->getComputeCapability() >= 100 &&
                        llvm::all_of(weightShape, [](int64_t size) {
                          return !ShapedType::isDynamic(size) && size % 128 == 0;
                        });
  config.inputQuantizer = finish(input, !config.gathersInput());
  config.weightQuantizer = finish(weight, isWeightOptimized);
  config.gradOutputQuantizer = {};
  if (config.isGradEnabled)
    config.gradOutputQuantizer =
        finish(gradOutput, !config.gathersGradOutput());
}

//
std::string te::quant::getUnavailability(RecipeKind kind,
                                         const TargetInfo &target) {
  unsigned least = 89, below = 0;
  if (kind == RecipeKind::Float8Block)
    least = 90;
  else if (kind == RecipeKind::NVFP4)
    least = 100;
  else if (kind == RecipeKind::MXFP8)
    least = 100, below = 120;
  unsigned capability = target.getComputeCapability();
  if (capability >= least && (below == 0 || capability < below))
    return {};
  auto spell = [](unsigned value) {
    return std::to_string(value / 10) + "." + std::to_string(value % 10);
  };
  std::string text =
      "expected a chip of compute capability " + spell(least) + " or more";
  if (below)
    text += " and less than " + spell(below);
  return text + ", but got '" + target.chip.str() + "'";
}
