//===- LayerNormMLPPlan.cpp - the plan of a norm and a perceptron ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"
#include "te/Dialect/Quant/IR/ModulePlan.h"

using namespace mlir;
using namespace te::quant;

bool te::quant::isGated(Activation activation) {
  switch (activation) {
  case Activation::GELU:
  case Activation::QGELU:
  case Activation::ReLU:
  case Activation::SReLU:
  case Activation::SiLU:
    return false;
  case Activation::GLU:
  case Activation::GeGLU:
  case Activation::QGeGLU:
  case Activation::ReGLU:
  case Activation::SReGLU:
  case Activation::SwiGLU:
    return true;
  }
  return false;
}

/// The shape of what the activation makes of `hidden`.
static FailureOr<RankedTensorType> inferActivated(RankedTensorType hidden,
                                                  Activation activation,
                                                  EmitError emitError) {
  if (!isGated(activation))
    return hidden;
  SmallVector<int64_t> shape(hidden.getShape());
  if (ShapedType::isDynamic(shape.back())) {
    emitError() << "a gated activation of rows whose length is not known is "
                   "not supported yet, but got "
                << hidden;
    return failure();
  }
  if (shape.back() % 2 != 0) {
    emitError() << "expected an even number of features for '"
                << stringifyActivation(activation) << "', but got "
                << shape.back();
    return failure();
  }
  shape.back() /= 2;
  return hidden.clone(shape);
}

static LogicalResult verifyMLPConfig(const LinearConfig &config,
                                     EmitError emitError) {
  // 7.3, R-7
  if (config.backwardOverride != BackwardOverride::None)
    return emitError() << "expected no 'backward_override', but got "
                       << stringifyBackwardOverride(config.backwardOverride);
  return success();
}

FailureOr<LayerNormMLPPlan> te::quant::planLayerNormMLP(
    const LayerNormMLPConfig &config, const NormConfig &norm,
    const LinearOperands &fc1, const LinearOperands &fc2,
    const NormOperands &normOperands, EmitError emitError) {
  LayerNormMLPPlan plan;
  plan.config1 = config.fc1;
  plan.config2 = config.fc2;
  if (failed(verifyMLPConfig(plan.config1, emitError)))
    return failure();
  // Both products need the gradient of what they read.
  plan.config1.inputRequiresGrad = plan.config2.inputRequiresGrad = true;
  if (plan.config1.gathersInput() && norm.returnsOutput) {
    emitError() << "returning the gathered output of the norm is not supported "
                   "yet";
    return failure();
  }
  auto x = dyn_cast<RankedTensorType>(normOperands.x);
  Type dtype = config.fc1.activationDtype ? config.fc1.activationDtype
                                          : (x ? x.getElementType() : Type());
  auto normPlan = planNorm(norm, normOperands, dtype, emitError);
  if (failed(normPlan))
    return failure();
  plan.norm = *normPlan;

  auto planOne = [&](StringRef name, const LinearConfig &config,
                     LinearOperands operands, RankedTensorType input) {
    auto emit = [&] {
      InFlightDiagnostic diag = emitError();
      diag << "in '" << name << "': ";
      return diag;
    };
    operands.x = input;
    return planLinearForward(config, operands, emit);
  };
  auto first = planOne("fc1", plan.config1, fc1, plan.norm.output);
  if (failed(first))
    return failure();
  plan.fc1 = std::move(*first);
  plan.hidden = cast<RankedTensorType>(plan.fc1.output.output);
  auto activated = inferActivated(plan.hidden, config.activation, emitError);
  if (failed(activated))
    return failure();
  plan.activated = *activated;
  auto second = planOne("fc2", plan.config2, fc2, plan.activated);
  if (failed(second))
    return failure();
  plan.fc2 = std::move(*second);

  ModuleSignature &signature = plan.signature;
  signature.add("output", plan.fc2.output.output);
  signature.add("fc1_workspace", plan.fc1.getWorkspaceResult());
  signature.add("fc2_workspace", plan.fc2.getWorkspaceResult());
  if (norm.returnsOutput)
    signature.add("norm_output", plan.norm.output);
  plan.saves = !plan.fc1.saved.empty();
  if (plan.saves) {
    auto addSlot = [&](const Twine &name, const SavedSlot &slot) {
      if (slot.kind == SavedSlot::Value)
        signature.add("saved_" + name, slot.value);
    };
    /// The slot of a product's input, which is no operand.
    auto addInput = [&](const Twine &name, const SavedSlot &slot,
                        RankedTensorType input, bool isResult) {
      if (slot.kind != SavedSlot::Alias)
        return addSlot(name, slot);
      if (!isResult)
        signature.add("saved_" + name, input);
    };
    addInput("norm_output", plan.fc1.saved[InputSlot], plan.norm.output,
             norm.returnsOutput);
    addSlot("fc1_weightmat", plan.fc1.saved[WeightmatSlot]);
    signature.add("saved_hidden", plan.hidden);
    addInput("activated", plan.fc2.saved[InputSlot], plan.activated,
             /*isResult=*/false);
    addSlot("fc2_weightmat", plan.fc2.saved[WeightmatSlot]);
    signature.add("saved_mu", plan.norm.mu);
    signature.add("saved_rsigma", plan.norm.rsigma);
  }
  signature.addScales("fc1_", plan.fc1.scaleRoles);
  signature.addScales("fc2_", plan.fc2.scaleRoles);
  signature.addAmaxes(dtype.getContext());
  signature.takesRandomState =
      plan.fc1.takesRandomState || plan.fc2.takesRandomState;
  return plan;
}

FailureOr<LayerNormMLPBackwardPlan> te::quant::planLayerNormMLPBackward(
    const LayerNormMLPConfig &config, const NormConfig &norm,
    const LayerNormMLPBackwardOperands &operands, EmitError emitError) {
  LayerNormMLPBackwardPlan plan;
  plan.config2 = config.fc2;
  plan.config2.inputRequiresGrad = true;
  if (failed(verifyMLPConfig(config.fc1, emitError)))
    return failure();
  auto hidden = dyn_cast<RankedTensorType>(operands.hidden);
  if (!hidden || hidden.getRank() < 2) {
    emitError() << "expected 'hidden' of rank 2 or more, but got "
                << operands.hidden;
    return failure();
  }
  auto activated = inferActivated(hidden, config.activation, emitError);
  if (failed(activated))
    return failure();
  auto emitSecond = [&] {
    InFlightDiagnostic diag = emitError();
    diag << "in 'fc2': ";
    return diag;
  };
  auto second = planLinearBackward(plan.config2, operands.fc2, emitSecond);
  if (failed(second))
    return failure();
  plan.fc2 = std::move(*second);
  if (plan.fc2.dgrad != Type(*activated)) {
    emitError() << "expected 'hidden' whose activation is of the type of its "
                   "gradient, but got "
                << *activated << " and " << plan.fc2.dgrad;
    return failure();
  }
  plan.hidden = hidden;
  auto emitFirst = [&] {
    InFlightDiagnostic diag = emitError();
    diag << "in 'fc1': ";
    return diag;
  };
  LayerNormLinearBackwardOperands firstOperands = operands.fc1;
  firstOperands.linear.dy = hidden;
  auto first =
      planLayerNormLinearBackward(config.fc1, norm, firstOperands, emitFirst);
  if (failed(first))
    return failure();
  plan.fc1 = std::move(*first);

  ModuleSignature &signature = plan.signature;
  signature.add("fc1_wgrad", plan.fc1.linear.wgrad);
  signature.add("fc2_wgrad", plan.fc2.wgrad);
  signature.add("dgrad", plan.fc1.dgrad);
  signature.add("fc1_grad_bias", plan.fc1.linear.gradBias);
  signature.add("fc2_grad_bias", plan.fc2.gradBias);
  signature.add("grad_gamma", plan.fc1.gradGamma);
  signature.add("grad_beta", plan.fc1.gradBeta);
  signature.addScales("fc1_", plan.fc1.linear.scaleRoles);
  signature.addScales("fc2_", plan.fc2.scaleRoles);
  signature.addAmaxes(hidden.getContext());
  signature.takesRandomState =
      plan.fc1.linear.takesRandomState || plan.fc2.takesRandomState;
  return plan;
}
