//===- GroupedLinearPlan.cpp - the plan of a linear layer of experts ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"
#include "te/Dialect/Quant/IR/ModulePlan.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace te::quant;

/// 7.4: what experts change in the rules of a linear layer.
static FailureOr<LinearConfig> getExpertConfig(LinearConfig config,
                                               EmitError emitError) {
  if (config.parallelMode != ParallelMode::None || config.sequenceParallel) {
    emitError() << "a grouped linear layer with 'parallel_mode' is not "
                   "supported yet, but got "
                << stringifyParallelMode(config.parallelMode);
    return failure();
  }
  if (config.outputQuantizer || config.gradInputQuantizer) {
    emitError() << "a quantized result of a grouped linear layer is not "
                   "supported yet, but got "
                << (config.outputQuantizer ? config.outputQuantizer
                                           : config.gradInputQuantizer);
    return failure();
  }
  // The weights follow no rule of FSDP2, and a tag alone asks for the cache.
  config.fsdp2 = false;
  config.cacheWeight = config.microbatch != Microbatch::None;
  return config;
}

static LogicalResult verifyCounts(const GroupedLinearOperands &operands,
                                  EmitError emitError) {
  size_t numExperts = operands.weights.size();
  if (numExperts == 0)
    return emitError() << "expected at least 1 weight, but got 0";
  for (auto [name, count] :
       {std::pair<StringRef, size_t>("bias", operands.biases.size()),
        {"workspace", operands.workspaces.size()}})
    if (count != 0 && count != numExperts)
      return emitError() << "expected 0 or " << numExperts << " operands of '"
                         << name << "', one for each weight, but got " << count;
  for (Type weight : operands.weights)
    if (weight != operands.weights.front())
      return emitError()
             << "expected experts with weights of one type, but got "
             << operands.weights.front() << " and " << weight;
  return success();
}

/// The sum of the rows where it is known.
static FailureOr<int64_t> readSplits(const GroupedLinearOperands &operands,
                                     EmitError emitError) {
  int64_t numExperts = operands.weights.size();
  if (bool(operands.dynamicSplits) == operands.staticSplits.has_value()) {
    emitError() << "expected either 'm_splits' or 'splits', but got "
                << (operands.dynamicSplits ? "both" : "neither");
    return failure();
  }
  if (operands.dynamicSplits) {
    Type expected = RankedTensorType::get(
        {numExperts}, IntegerType::get(operands.x.getContext(), 64));
    if (operands.dynamicSplits == expected)
      return ShapedType::kDynamic;
    emitError() << "expected 'splits' of type " << expected << ", but got "
                << operands.dynamicSplits;
    return failure();
  }
  ArrayRef<int64_t> splits = *operands.staticSplits;
  if (static_cast<int64_t>(splits.size()) != numExperts) {
    emitError() << "expected 'm_splits' of " << numExperts
                << " elements, one for each weight, but got " << splits.size();
    return failure();
  }
  int64_t sum = 0;
  for (int64_t rows : splits) {
    if (rows < 0) {
      emitError() << "expected 'm_splits' of at least 0 rows, but got " << rows;
      return failure();
    }
    std::optional<int64_t> next = llvm::checkedAdd(sum, rows);
    if (!next) {
      emitError() << "the sum of 'm_splits' overflows 64 bits";
      return failure();
    }
    sum = *next;
  }
  return sum;
}

FailureOr<GroupedLinearPlan>
te::quant::planGroupedLinear(LinearConfig config,
                             const GroupedLinearOperands &operands,
                             EmitError emitError) {
  GroupedLinearPlan plan;
  auto expertConfig = getExpertConfig(config, emitError);
  if (failed(expertConfig) || failed(verifyCounts(operands, emitError)))
    return failure();
  plan.config = *expertConfig;
  auto x = dyn_cast<RankedTensorType>(operands.x);
  if (!x || x.getRank() != 2) {
    emitError() << "expected an input of rank 2, but got " << operands.x;
    return failure();
  }
  FailureOr<int64_t> sum = readSplits(operands, emitError);
  if (failed(sum))
    return failure();
  plan.checksRows = ShapedType::isDynamic(*sum) || x.isDynamicDim(0);
  if (!plan.checksRows && *sum != x.getDimSize(0)) {
    emitError() << "expected 'm_splits' to sum to the rows of the input, but "
                   "got "
                << *sum << " and " << x.getDimSize(0);
    return failure();
  }

  for (auto [index, weight] : llvm::enumerate(operands.weights)) {
    int64_t rows = operands.staticSplits ? (*operands.staticSplits)[index]
                                         : ShapedType::kDynamic;
    LinearOperands expert;
    auto input =
        RankedTensorType::get({rows, x.getDimSize(1)}, x.getElementType());
    expert.x = input;
    expert.w = weight;
    if (!operands.biases.empty())
      expert.bias = operands.biases[index];
    if (!operands.workspaces.empty())
      expert.workspace = operands.workspaces[index];
    expert.hasSkipUpdate = operands.hasSkipUpdate;
    auto emit = [&, index = index] {
      InFlightDiagnostic diag = emitError();
      diag << "expert " << index << ": ";
      return diag;
    };
    auto linear = planLinearForward(plan.config, expert, emit);
    if (failed(linear))
      return failure();
    plan.experts.push_back(std::move(*linear));
    plan.inputs.push_back(input);
  }
  auto output = cast<RankedTensorType>(plan.experts.front().output.output);
  plan.output = output.clone({x.getDimSize(0), output.getShape().back()});

  ModuleSignature &signature = plan.signature;
  signature.add("output", plan.output);
  for (auto [index, expert] : llvm::enumerate(plan.experts))
    signature.add("workspace_" + Twine(index), expert.getWorkspaceResult());
  for (LinearSlot slot : {InputSlot, WeightmatSlot})
    for (auto [index, expert] : llvm::enumerate(plan.experts))
      if (!expert.saved.empty() && expert.saved[slot].kind == SavedSlot::Value)
        signature.add("saved_" + linearSlotNames[slot] + "_" + Twine(index),
                      expert.saved[slot].value);
  for (auto [index, expert] : llvm::enumerate(plan.experts)) {
    signature.addScales("", expert.scaleRoles, "_" + Twine(index));
    signature.takesRandomState |= expert.takesRandomState;
  }
  signature.addAmaxes(x.getContext());
  return plan;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

FailureOr<GroupedLinearBackwardPlan> te::quant::planGroupedLinearBackward(
    LinearConfig config, const GroupedLinearBackwardOperands &operands,
    EmitError emitError) {
  GroupedLinearBackwardPlan plan;
  const GroupedLinearOperands &shared = operands.shared;
  auto expertConfig = getExpertConfig(config, emitError);
  if (failed(expertConfig) || failed(verifyCounts(shared, emitError)))
    return failure();
  plan.config = *expertConfig;
  auto dy = dyn_cast<RankedTensorType>(shared.x);
  if (!dy || dy.getRank() != 2) {
    emitError() << "expected a gradient of rank 2, but got " << shared.x;
    return failure();
  }
  FailureOr<int64_t> sum = readSplits(shared, emitError);
  if (failed(sum))
    return failure();
  plan.checksRows = ShapedType::isDynamic(*sum) || dy.isDynamicDim(0);
  if (!plan.checksRows && *sum != dy.getDimSize(0)) {
    emitError() << "expected 'm_splits' to sum to the rows of the gradient, "
                   "but got "
                << *sum << " and " << dy.getDimSize(0);
    return failure();
  }
  size_t numExperts = shared.weights.size();
  // 7.4: what is saved as it is, is saved once.
  RankedTensorType whole;
  if (operands.inputs.size() == 1)
    whole = dyn_cast<RankedTensorType>(operands.inputs.front());
  if (whole && (whole.getRank() != 2 ||
                failed(verifyCompatibleShape(whole.getShape().take_front(),
                                             dy.getShape().take_front())))) {
    emitError() << "expected a saved input of the gradient's rows, but got "
                << whole << " and " << dy;
    return failure();
  }
  for (auto [name, count] : {std::pair<StringRef, size_t>(
                                 "input", whole ? 0 : operands.inputs.size()),
                             {"weightmat", operands.weightmats.size()},
                             {"accumulate", operands.mainGrads.size()}}) {
    if (count == 0 || count == numExperts)
      continue;
    emitError() << "expected 0 or " << numExperts << " operands of '" << name
                << "', one for each weight, but got " << count;
    return failure();
  }

  auto get = [](ArrayRef<Type> types, size_t index) {
    return types.empty() ? Type() : types[index];
  };
  for (size_t index = 0; index < numExperts; ++index) {
    int64_t rows = shared.staticSplits ? (*shared.staticSplits)[index]
                                       : ShapedType::kDynamic;
    auto slice = [&](RankedTensorType type) {
      return RankedTensorType::get({rows, type.getDimSize(1)},
                                   type.getElementType());
    };
    LinearBackwardOperands expert;
    plan.gradients.push_back(slice(dy));
    expert.dy = plan.gradients.back();
    if (whole) {
      plan.slicedInputs.push_back(slice(whole));
      expert.input = plan.slicedInputs.back();
    } else {
      expert.input = get(operands.inputs, index);
    }
    expert.weightmat = get(operands.weightmats, index);
    expert.weight = shared.weights[index];
    expert.bias = get(shared.biases, index);
    expert.mainGrad = get(operands.mainGrads, index);
    auto emit = [&] {
      InFlightDiagnostic diag = emitError();
      diag << "expert " << index << ": ";
      return diag;
    };
    auto linear = planLinearBackward(plan.config, expert, emit);
    if (failed(linear))
      return failure();
    plan.experts.push_back(std::move(*linear));
  }

  ModuleSignature &signature = plan.signature;
  for (auto [index, expert] : llvm::enumerate(plan.experts))
    signature.add("wgrad_" + Twine(index), expert.wgrad);
  if (Type first = plan.experts.front().dgrad) {
    auto dgrad = cast<RankedTensorType>(first);
    plan.dgrad = dgrad.clone({dy.getDimSize(0), dgrad.getDimSize(1)});
    signature.add("dgrad", plan.dgrad);
  }
  for (auto [index, expert] : llvm::enumerate(plan.experts))
    signature.add("grad_bias_" + Twine(index), expert.gradBias);
  for (auto [index, expert] : llvm::enumerate(plan.experts)) {
    signature.addScales("", expert.scaleRoles, "_" + Twine(index));
    signature.takesRandomState |= expert.takesRandomState;
  }
  signature.addAmaxes(dy.getContext());
  return plan;
}
