//===- LayerNormLinearPlan.cpp - the plan of a norm and a linear layer ----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"
#include "te/Dialect/Quant/IR/ModulePlan.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// What modules share
//===----------------------------------------------------------------------===//

void ModuleSignature::add(const Twine &name, Type type) {
  if (!type)
    return;
  types.push_back(type);
  names.push_back(name.str());
}

void ModuleSignature::addScales(const Twine &prefix, ArrayRef<LinearRole> roles,
                                const Twine &suffix) {
  for (LinearRole role : roles)
    scaleNames.push_back((prefix + stringifyLinearRole(role) + suffix).str());
}

void ModuleSignature::addAmaxes(MLIRContext *context) {
  for (const std::string &name : scaleNames)
    add("amax_" + name, RankedTensorType::get({1}, Float32Type::get(context)));
}

static LogicalResult verifyRowOperand(Type type, StringRef what, int64_t width,
                                      EmitError emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getRank() == 1 && tensor.getDimSize(0) == width)
    return success();
  return emitError() << "expected " << what << " of " << width
                     << " elements as a row of the input, but got " << type;
}

FailureOr<NormPlan> te::quant::planNorm(const NormConfig &config,
                                        const NormOperands &operands,
                                        Type dtype, EmitError emitError) {
  auto x = dyn_cast<RankedTensorType>(operands.x);
  if (!x || x.getRank() < 2) {
    emitError() << "expected an input of rank 2 or more, but got "
                << operands.x;
    return failure();
  }
  int64_t width = x.getShape().back();
  if (ShapedType::isDynamic(width)) {
    emitError() << "a norm of rows whose length is not known is not supported "
                   "yet, but got "
                << x;
    return failure();
  }
  if (!(config.epsilon >= 0)) {
    emitError() << "expected 'eps' of at least 0, but got " << config.epsilon;
    return failure();
  }
  bool hasMean = config.normalization == Normalization::LayerNorm;
  if (failed(verifyRowOperand(operands.gamma, "'gamma'", width, emitError)))
    return failure();
  if (bool(operands.beta) != hasMean) {
    emitError() << "expected " << (hasMean ? "a" : "no") << " 'beta' with "
                << stringifyNormalization(config.normalization) << ", but "
                << (hasMean ? "it is missing" : "it is given");
    return failure();
  }
  if (hasMean &&
      failed(verifyRowOperand(operands.beta, "'beta'", width, emitError)))
    return failure();
  auto extents = getFlattenedExtents(x.getShape());
  if (failed(extents)) {
    emitError() << "the number of rows of the input overflows 64 bits";
    return failure();
  }
  NormPlan plan;
  plan.output = x.clone(dtype);
  plan.rsigma = RankedTensorType::get({extents->first},
                                      Float32Type::get(dtype.getContext()));
  if (hasMean)
    plan.mu = plan.rsigma;
  return plan;
}

//===----------------------------------------------------------------------===//
// LayerNormLinear, forward
//===----------------------------------------------------------------------===//

/// 7.2: what the norm changes in the rules of a linear layer.
static FailureOr<LinearConfig> getLinearConfig(LinearConfig config,
                                               EmitError emitError) {
  if (config.saveOriginalInput) {
    emitError() << "expected no 'save_original_input': the input of the "
                   "product is no operand";
    return failure();
  }
  if (config.gradInputQuantizer) {
    emitError() << "expected no 'grad_input_quantizer': the norm reads the "
                   "gradient, but got "
                << config.gradInputQuantizer;
    return failure();
  }
  // The norm always needs the gradient of its output, and the weight follows no
  // rule of recomputation.
  config.inputRequiresGrad = true;
  config.activationRecompute = ActivationRecompute::Off;
  return config;
}

FailureOr<LayerNormLinearPlan> te::quant::planLayerNormLinear(
    const LinearConfig &config, const NormConfig &norm,
    const LinearOperands &operands, const NormOperands &normOperands,
    EmitError emitError) {
  LayerNormLinearPlan plan;
  auto linearConfig = getLinearConfig(config, emitError);
  if (failed(linearConfig))
    return failure();
  plan.config = *linearConfig;
  auto x = dyn_cast<RankedTensorType>(normOperands.x);
  Type dtype = config.activationDtype ? config.activationDtype
                                      : (x ? x.getElementType() : Type());
  auto normPlan = planNorm(norm, normOperands, dtype, emitError);
  if (failed(normPlan))
    return failure();
  plan.norm = *normPlan;
  plan.returnsNorm = norm.returnsOutput;
  if (config.gathersInput() && norm.returnsOutput) {
    emitError() << "returning the gathered output of the norm is not supported "
                   "yet";
    return failure();
  }
  LinearOperands linearOperands = operands;
  linearOperands.x = plan.norm.output;
  auto linear = planLinearForward(plan.config, linearOperands, emitError);
  if (failed(linear))
    return failure();
  plan.linear = std::move(*linear);
  // 7.2: of a format whose blocks share an amax of the tensor, what is gathered
  // again is saved as it is, which 5.6 narrows.
  if (plan.config.gathersInputBackward() && plan.config.isGradEnabled &&
      plan.config.inputQuantizer &&
      plan.config.backwardOverride == BackwardOverride::None &&
      !plan.config.inputQuantizer.isRowOnlyAllGather() &&
      scalesByTensorAmax(plan.config.inputQuantizer)) {
    emitError() << "saving both representations of a gathered norm output is "
                   "not supported yet, but got "
                << plan.config.inputQuantizer;
    return failure();
  }

  ModuleSignature &signature = plan.signature;
  signature.add("output", plan.linear.output.output);
  signature.add("workspace", plan.linear.getWorkspaceResult());
  if (plan.returnsNorm)
    signature.add("norm_output", plan.norm.output);
  if (!plan.linear.saved.empty()) {
    plan.saved.assign(8, SavedSlot());
    plan.saved[LNInputSlot] = SavedSlot::ofAlias("inp");
    plan.saved[LNWeightmatSlot] = plan.linear.saved[WeightmatSlot];
    plan.saved[LNWeightSlot] = plan.linear.saved[WeightSlot];
    plan.saved[LNBiasSlot] = plan.linear.saved[BiasSlot];
    plan.saved[LNGammaSlot] = SavedSlot::ofAlias("gamma");
    SavedSlot output = plan.linear.saved[InputSlot];
    // The input of the product is the output of the norm (V-3).
    if (output.kind == SavedSlot::Alias)
      output = plan.returnsNorm ? SavedSlot::ofAlias("norm_output")
                                : SavedSlot::ofValue(plan.norm.output);
    plan.saved[LNNormOutputSlot] = output;
    if (plan.norm.mu)
      plan.saved[LNMuSlot] = SavedSlot::ofValue(plan.norm.mu);
    plan.saved[LNRsigmaSlot] = SavedSlot::ofValue(plan.norm.rsigma);
    for (auto [slot, name] : llvm::zip(plan.saved, layerNormLinearSlotNames))
      if (slot.kind == SavedSlot::Value)
        signature.add("saved_" + name, slot.value);
  }
  signature.addScales("", plan.linear.scaleRoles);
  signature.addAmaxes(dtype.getContext());
  signature.takesRandomState = plan.linear.takesRandomState;
  return plan;
}

//===----------------------------------------------------------------------===//
// LayerNormLinear, backward
//===----------------------------------------------------------------------===//

FailureOr<LayerNormLinearBackwardPlan> te::quant::planLayerNormLinearBackward(
    const LinearConfig &config, const NormConfig &norm,
    const LayerNormLinearBackwardOperands &operands, EmitError emitError) {
  LayerNormLinearBackwardPlan plan;
  auto linearConfig = getLinearConfig(config, emitError);
  if (failed(linearConfig))
    return failure();
  plan.config = *linearConfig;
  auto linear = planLinearBackward(plan.config, operands.linear, emitError);
  if (failed(linear))
    return failure();
  plan.linear = std::move(*linear);
  auto dgrad = dyn_cast<RankedTensorType>(plan.linear.dgrad);
  if (!dgrad) {
    emitError() << "expected a gradient that is a ranked tensor, but got "
                << operands.linear.dy;
    return failure();
  }
  auto normPlan =
      planNorm(norm, operands.norm, dgrad.getElementType(), emitError);
  if (failed(normPlan))
    return failure();
  plan.norm = *normPlan;
  if (failed(verifyCompatibleShape(plan.norm.output.getShape(),
                                   dgrad.getShape()))) {
    emitError() << "expected a saved input of the shape of " << dgrad
                << ", but got " << operands.norm.x;
    return failure();
  }
  auto verifyOperand = [&](StringRef what, Type type,
                           Type expected) -> LogicalResult {
    if (type == expected)
      return success();
    InFlightDiagnostic diag = emitError();
    diag << "expected ";
    if (expected)
      diag << "'" << what << "' of type " << expected;
    else
      diag << "no '" << what << "'";
    diag << ", but got ";
    return type ? diag << type : diag << "none";
  };
  if (failed(verifyOperand("mu", operands.mu, plan.norm.mu)) ||
      failed(verifyOperand("rsigma", operands.rsigma, plan.norm.rsigma)) ||
      failed(verifyOperand("grad_norm_output", operands.gradNormOutput,
                           norm.returnsOutput ? plan.norm.output
                                              : RankedTensorType())))
    return failure();
  plan.dgrad = plan.norm.output;
  plan.gradGamma = cast<RankedTensorType>(operands.norm.gamma);
  if (operands.norm.beta)
    plan.gradBeta = cast<RankedTensorType>(operands.norm.beta);
  ModuleSignature &signature = plan.signature;
  signature.add("wgrad", plan.linear.wgrad);
  signature.add("dgrad", plan.dgrad);
  signature.add("grad_bias", plan.linear.gradBias);
  signature.add("grad_gamma", plan.gradGamma);
  signature.add("grad_beta", plan.gradBeta);
  signature.addScales("", plan.linear.scaleRoles);
  signature.addAmaxes(dgrad.getContext());
  signature.takesRandomState = plan.linear.takesRandomState;
  return plan;
}
