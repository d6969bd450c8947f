//===- Recipe.cpp - which quantizer each role of a layer gets -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/Transforms/Recipe.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// The table of recipes
//===----------------------------------------------------------------------===//

namespace {
/// What an option is called and whether it is set.
struct GivenOption {
  StringLiteral name;
  bool isSet;
};

struct RecipeInfo {
  RecipeKind kind;
  StringLiteral name;
  FP8Format fp8Format;
  /// Roles with 2-D blocks.
  std::optional<LinearRole> role2D;
  /// The options of this recipe alone or of some.
  ArrayRef<StringLiteral> options;
  ///
  int64_t rowAlignment;
  unsigned minCapability, capabilityLimit;
};
} // namespace

static constexpr StringLiteral mxfp8Options[] = {"fp8-format",
                                                 "with-2d-quantization"};
static constexpr StringLiteral currentOptions[] = {
    "fp8-format", "force-pow-2-scales", "amax-epsilon-input",
    "amax-epsilon-weight", "amax-epsilon-grad-output"};
static constexpr StringLiteral blockOptions[] = {
    "fp8-format",         "with-2d-quantization", "force-pow-2-scales",
    "amax-epsilon-input", "amax-epsilon-weight",  "amax-epsilon-grad-output"};
static constexpr StringLiteral nvfp4Options[] = {"with-2d-quantization",
                                                 "with-rht",
                                                 "stochastic-rounding",
                                                 "row-scaled-activation",
                                                 "use-4over6",
                                                 "e4m3-max-256",
                                                 "err-mode"};
static constexpr StringLiteral delayedOptions[] = {"fp8-format"};

static constexpr unsigned noLimit = ~0u;

static const RecipeInfo recipes[] = {
    {RecipeKind::MXFP8, "mxfp8", FP8Format::E4M3, std::nullopt, mxfp8Options,
     32, 100, 120},
    {RecipeKind::Float8Current, "float8_current", FP8Format::Hybrid,
     std::nullopt, currentOptions, 16, 89, noLimit},
    {RecipeKind::Float8Block, "float8_block", FP8Format::E4M3,
     LinearRole::Weight, blockOptions, 16, 90, noLimit},
    {RecipeKind::NVFP4, "nvfp4", FP8Format::E4M3, LinearRole::Weight,
     nvfp4Options, 128, 100, noLimit},
    {RecipeKind::Delayed, "delayed", FP8Format::Hybrid, std::nullopt,
     delayedOptions, 16, 89, noLimit},
};

static const RecipeInfo &getInfo(RecipeKind kind) {
  return *llvm::find_if(
      recipes, [&](const RecipeInfo &info) { return info.kind == kind; });
}

StringRef te::quant::stringifyRecipeKind(RecipeKind kind) {
  return getInfo(kind).name;
}

int64_t te::quant::getRowAlignment(RecipeKind kind) {
  return getInfo(kind).rowAlignment;
}

/// 89 as 8.9.
static std::string toVersion(unsigned capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

// availability
bool te::quant::isRecipeAvailable(RecipeKind kind, unsigned computeCapability,
                                  std::string &reason) {
  const RecipeInfo &info = getInfo(kind);
  if (computeCapability >= info.minCapability &&
      computeCapability < info.capabilityLimit)
    return true;
  reason = "recipe '" + info.name.str() + "' needs compute capability " +
           toVersion(info.minCapability);
  if (info.capabilityLimit == noLimit)
    reason += " or more";
  else
    reason += " or more and less than " + toVersion(info.capabilityLimit);
  reason += ", but got " + toVersion(computeCapability);
  return false;
}

//===----------------------------------------------------------------------===//
// Quantizers
//===----------------------------------------------------------------------===//

/// The roles of a recipe, in the order of `Recipe`.
static constexpr LinearRole roles[] = {LinearRole::Input, LinearRole::Weight,
                                       LinearRole::GradOutput};

static bool isIn(RecipeScope scope, LinearRole role) {
  switch (scope) {
  case RecipeScope::None:
    return false;
  case RecipeScope::Weights:
    return role == LinearRole::Weight;
  case RecipeScope::Activations:
    return role == LinearRole::Input;
  case RecipeScope::All:
    return role == LinearRole::Weight || role == LinearRole::Input;
  }
  return false;
}

/// Errors that do not depend on a role.
static LogicalResult verifyOptions(const RecipeOptions &options,
                                   const RecipeInfo &info,
                                   EmitError emitError) {
  const GivenOption given[] = {
      {"fp8-format", options.fp8Format.has_value()},
      {"with-2d-quantization", options.with2DQuantization.has_value()},
      {"force-pow-2-scales", options.forcePow2Scales.has_value()},
      {"amax-epsilon-input", options.amaxEpsilonInput.has_value()},
      {"amax-epsilon-weight", options.amaxEpsilonWeight.has_value()},
      {"amax-epsilon-grad-output", options.amaxEpsilonGradOutput.has_value()},
      {"with-rht", options.withRHT.has_value()},
      {"stochastic-rounding", options.stochasticRounding.has_value()},
      {"row-scaled-activation", options.rowScaledActivation.has_value()},
      {"use-4over6", options.use4Over6.has_value()},
      {"e4m3-max-256", options.e4m3Max256.has_value()},
      {"err-mode", options.errMode.has_value()},
  };
  for (const GivenOption &option : given)
    if (option.isSet && !llvm::is_contained(info.options, option.name))
      return emitError() << "recipe '" << info.name << "' has no option '"
                         << option.name << "'";
  if (options.fp8Format == FP8Format::E5M2)
    return emitError() << "expected fp8-format 'e4m3' or 'hybrid', but got "
                          "'e5m2': no recipe has E5M2 for inputs and weights";
  // the scale of a later step would decode with the wrong factor.
  if (info.kind == RecipeKind::Delayed &&
      options.backwardOverride != BackwardOverride::None)
    return emitError() << "recipe 'delayed' has no backward override, but got '"
                       << stringifyBackwardOverride(options.backwardOverride)
                       << "'";
  for (std::optional<float> epsilon :
       {options.amaxEpsilonInput, options.amaxEpsilonWeight,
        options.amaxEpsilonGradOutput})
    if (epsilon &&
        !(*epsilon >= 0.0f && *epsilon <= std::numeric_limits<float>::max()))
      return emitError() << "expected an amax epsilon that is finite and not "
                            "negative, but got "
                         << std::to_string(*epsilon);
  if (!options.with2DQuantization)
    return success();
  ArrayRef<LinearRole> with2D = *options.with2DQuantization;
  if (info.kind != RecipeKind::Float8Block) {
    for (LinearRole role : with2D)
      if (role != LinearRole::Weight)
        return emitError() << "recipe '" << info.name
                           << "' has 2-D blocks for the weight only, but got '"
                           << stringifyLinearRole(role) << "'";
    return success();
  }
  // a GEMM takes one operand in tiles at most, and each pair of the three
  // meets in one.
  if (with2D.size() > 1)
    return emitError() << "expected at most one role with 128x128 blocks, but "
                          "got '"
                       << stringifyLinearRole(with2D[0]) << "' and '"
                       << stringifyLinearRole(with2D[1]) << "'";
  return success();
}

///
static FailureOr<QuantizerAttrInterface> makeNVFP4(MLIRContext *context,
                                                   const RecipeOptions &options,
                                                   LinearRole role, bool is2D,
                                                   EmitError emitError) {
  bool isWeight = role == LinearRole::Weight;
  bool isInput = role == LinearRole::Input;
  bool withRHT = !isWeight && options.withRHT.value_or(true);
  bool isStochastic = role == LinearRole::GradOutput &&
                      options.stochasticRounding.value_or(true);
  bool isRowScaled = isInput && options.rowScaledActivation.value_or(false);
  bool is4Over6 = isIn(options.use4Over6.value_or(RecipeScope::None), role);
  StringRef name = stringifyLinearRole(role);
  if (isRowScaled && withRHT) {
    emitError() << "expected 'with-rht' to be off with "
                   "'row-scaled-activation', which has no transform for '"
                << name << "'";
    return failure();
  }
  if (is4Over6 && withRHT) {
    emitError() << "expected 'with-rht' to be off with 'use-4over6' for '"
                << name << "'";
    return failure();
  }
  bool has256 =
      is4Over6 && isIn(options.e4m3Max256.value_or(RecipeScope::All), role);
  // Row-scaled four-over-six has no columnwise form: layers that need one do
  // not qualify.
  Usage usage = isRowScaled && is4Over6 ? Usage::Rowwise : Usage::Both;
  // The amax is that of the transformed tensor exactly where there is one.
  auto quantizer = NVFP4Attr::getChecked(
      emitError, context, usage, withRHT, /*with_post_rht_amax=*/withRHT, is2D,
      isStochastic, /*with_amax_reduction=*/false, isRowScaled, is4Over6,
      /*e4m3_max=*/int64_t(has256 ? 256 : 448),
      options.errMode.value_or(ErrMode::MAE),
      /*with_random_sign_mask=*/true, /*internal=*/true,
      /*optimize_for_gemm=*/false);
  if (!quantizer)
    return failure();
  return QuantizerAttrInterface(quantizer);
}

static FailureOr<QuantizerAttrInterface>
makeQuantizer(MLIRContext *context, const RecipeOptions &options,
              const RecipeInfo &info, LinearRole role, EmitError emitError) {
  bool isGradient = role == LinearRole::GradOutput;
  bool is2D = options.with2DQuantization
                  ? llvm::is_contained(*options.with2DQuantization, role)
                  : info.role2D == role;
  if (info.kind == RecipeKind::NVFP4)
    return makeNVFP4(context, options, role, is2D, emitError);

  bool isE5M2 = isGradient &&
                options.fp8Format.value_or(info.fp8Format) == FP8Format::Hybrid;
  Type fp8 = isE5M2 ? Type(Float8E5M2Type::get(context))
                    : Type(Float8E4M3FNType::get(context));
  // R-2, H-27: one flag and one epsilon for each role, said here alone.
  bool isPow2 = options.forcePow2Scales
                    ? llvm::is_contained(*options.forcePow2Scales, role)
                    : info.kind == RecipeKind::Float8Block;
  llvm::APFloat epsilon((role == LinearRole::Input ? options.amaxEpsilonInput
                         : isGradient ? options.amaxEpsilonGradOutput
                                      : options.amaxEpsilonWeight)
                            .value_or(0.0f));
  switch (info.kind) {
  case RecipeKind::MXFP8:
    return QuantizerAttrInterface(MXFP8Attr::get(context, fp8, Usage::Both,
                                                 is2D, /*internal=*/true,
                                                 /*optimize_for_gemm=*/false));
  case RecipeKind::Float8Current:
    return QuantizerAttrInterface(Float8CurrentScalingAttr::get(
        context, fp8, Usage::Both, isPow2, epsilon,
        /*with_amax_reduction=*/false, /*non_tn_gemm=*/false,
        /*internal=*/true, /*optimize_for_gemm=*/false));
  case RecipeKind::Float8Block:
    return QuantizerAttrInterface(Float8BlockScalingAttr::get(
        context, fp8, Usage::Both, is2D ? 2 : 1, isPow2, epsilon,
        /*internal=*/true, /*optimize_for_gemm=*/false));
  case RecipeKind::Delayed:
    return QuantizerAttrInterface(Float8DelayedScalingAttr::get(
        context, fp8, Usage::Both, /*non_tn_gemm=*/false, /*internal=*/true,
        /*optimize_for_gemm=*/false));
  case RecipeKind::NVFP4:
    break;
  }
  return failure();
}

FailureOr<Recipe> te::quant::makeRecipe(MLIRContext *context,
                                        const RecipeOptions &options,
                                        EmitError emitError) {
  const RecipeInfo &info = getInfo(options.kind);
  if (failed(verifyOptions(options, info, emitError)))
    return failure();
  Recipe recipe;
  recipe.backwardOverride = options.backwardOverride;
  for (LinearRole role : roles) {
    FailureOr<QuantizerAttrInterface> quantizer =
        makeQuantizer(context, options, info, role, emitError);
    if (failed(quantizer))
      return failure();
    (role == LinearRole::Input    ? recipe.input
     : role == LinearRole::Weight ? recipe.weight
                                  : recipe.gradOutput) = *quantizer;
  }
  return recipe;
}
