//===- LinearPlan.cpp - the plan of a linear layer, forward -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// What a plan says in sum
//===----------------------------------------------------------------------===//

Type LinearForwardPlan::getWorkspaceResult() const {
  bool isResult = weight.isNewWorkspace || weight.refreshesWorkspace;
  return isResult ? weight.weightmat : Type();
}

bool LinearForwardPlan::ownsInput() const {
  return saved.empty() || saved[InputSlot].kind != SavedSlot::Alias;
}

/// Appends an amax for each role that gives one.
static void addAmaxes(ArrayRef<LinearRole> roles, Type f32,
                      SmallVectorImpl<Type> &types,
                      SmallVectorImpl<std::string> &names) {
  for (LinearRole role : roles) {
    types.push_back(RankedTensorType::get({1}, f32));
    names.push_back(("amax_" + stringifyLinearRole(role)).str());
  }
}

void LinearForwardPlan::getResults(SmallVectorImpl<Type> &types,
                                   SmallVectorImpl<std::string> &names) const {
  types.push_back(output.output);
  names.push_back("output");
  if (Type workspace = getWorkspaceResult()) {
    types.push_back(workspace);
    names.push_back("workspace");
  }
  for (auto [index, slot] : llvm::enumerate(saved)) {
    if (slot.kind != SavedSlot::Value)
      continue;
    types.push_back(slot.value);
    names.push_back(("saved_" + linearSlotNames[index]).str());
  }
  addAmaxes(scaleRoles, Float32Type::get(output.output.getContext()), types,
            names);
}

void LinearBackwardPlan::getResults(SmallVectorImpl<Type> &types,
                                    SmallVectorImpl<std::string> &names) const {
  for (auto [type, name] : {std::pair<Type, StringRef>(wgrad, "wgrad"),
                            {dgrad, "dgrad"},
                            {gradBias, "grad_bias"}}) {
    if (!type)
      continue;
    types.push_back(type);
    names.push_back(name.str());
  }
  addAmaxes(scaleRoles, Float32Type::get(gradOutput.getContext()), types,
            names);
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

namespace {
/// The operands and the plan under way.
class ForwardPlanner {
public:
  ForwardPlanner(const LinearConfig &config, EmitError emitError)
      : config(config), emitError(emitError),
        builder(plan.quantizes, plan.assertions, emitError) {}

  FailureOr<LinearForwardPlan> run(const LinearOperands &operands);

private:
  LogicalResult readOperands(const LinearOperands &operands);
  LogicalResult verifyShapes();
  LogicalResult planInput();
  LogicalResult planPlainInput();
  LogicalResult planWeight(bool hasSkipUpdate);
  LogicalResult planOutput();
  LogicalResult planSaved();
  FailureOr<Type> planSavedInput();
  bool isValidWorkspace(Usage usage) const;

  LinearConfig config;
  EmitError emitError;
  LinearForwardPlan plan;
  LinearPlanBuilder builder;
  OperandView x, w, bias, workspace;
  Type dtype;
};
} // namespace

LogicalResult ForwardPlanner::readOperands(const LinearOperands &operands) {
  for (auto [view, type, what] :
       {std::tuple<OperandView &, Type, StringRef>(x, operands.x, "input"),
        {w, operands.w, "weight"},
        {bias, operands.bias, "bias"},
        {workspace, operands.workspace, "workspace"}}) {
    FailureOr<OperandView> read = OperandView::get(type, what, emitError);
    if (failed(read))
      return failure();
    view = *read;
  }
  if (!x || !w)
    return emitError() << "expected an input and a weight";
  dtype = config.activationDtype ? config.activationDtype : x.dtype;
  if (!dtype.isF32() && !dtype.isBF16() && !dtype.isF16())
    return emitError()
           << "expected an activation dtype of f32, bf16 or f16, but got "
           << dtype;
  return success();
}

LogicalResult ForwardPlanner::verifyShapes() {
  // B-10
  if (x.rank() < 2)
    return emitError() << "expected an input of rank 2 or more, but got "
                       << x.type;
  if (w.rank() != 2)
    return emitError() << "expected a weight of rank 2, but got " << w.type;
  int64_t depth = x.shape.back();
  // 5.7
  if (ShapedType::isDynamic(depth) || ShapedType::isDynamic(w.shape[1]))
    plan.assertions.push_back({LinearRole::Input, LinearAssertion::Last, 0});
  else if (depth != w.shape[1])
    return emitError() << "expected the last dim of the input to equal that of "
                          "the weight, but got "
                       << depth << " and " << w.shape[1];
  if (bias && (bias.rank() != 1 || bias.shape[0] != w.shape[0]))
    return emitError() << "expected a bias of one dim of the weight's first, "
                          "but got "
                       << bias.type << " and " << w.type;
  // B-15
  if (bias && config.parallelMode == ParallelMode::Row)
    return emitError() << "expected no bias with row parallelism: each rank "
                          "would add it, but got "
                       << bias.type;
  // 5.7, B-13
  FailureOr<std::pair<int64_t, int64_t>> extents = getFlattenedExtents(x.shape);
  if (failed(extents))
    return emitError() << "the number of rows of the input overflows 64 bits";
  if (config.isQuantized() &&
      (failed(builder.addMultiple(LinearRole::Input, "rows of the input",
                                  LinearAssertion::Rows, extents->first, 8)) ||
       failed(builder.addMultiple(LinearRole::Input, "last dim of the input",
                                  LinearAssertion::Last, extents->second,
                                  16)) ||
       failed(builder.addMultiple(LinearRole::Weight, "first dim of the weight",
                                  LinearAssertion::First, w.shape[0], 8))))
    return failure();
  // H-21
  if (config.gathersGradOutput())
    return builder.addMultiple(
        LinearRole::Input, "first dim of the input, to be scattered,",
        LinearAssertion::First, x.shape[0], config.tpSize);
  return success();
}

LogicalResult ForwardPlanner::planPlainInput() {
  bool gathers = config.gathersInput();
  QuantizerAttrInterface quantizer = config.inputQuantizer;
  // H-18, 5.3: whoever brings a format may gather it in another way.
  if (gathers && quantizer.isQuantizedAtGemm())
    return success();
  bool columnwise = config.needsInput() && !plan.savesOriginalInput &&
                    config.backwardOverride == BackwardOverride::None;
  // H-28, H-30: the capability, not the family; as its gather moves it.
  if (gathers && quantizer.isRowOnlyAllGather())
    columnwise = false;
  // B-3: each quantize has a usage of its own.
  quantizer = makeUsage(quantizer, makeUsage(/*rowwise=*/true, columnwise),
                        LinearRole::Input, emitError);
  if (!quantizer)
    return failure();
  TensorSpecType local =
      makeQuantized(x.shape, dtype, quantizer, x.type, emitError);
  if (!local)
    return failure();
  plan.input.local = local;
  plan.input.isOperand = false;
  // B-4
  bool reducesAmax = gathers && scalesByTensorAmax(config.inputQuantizer);
  return builder.addQuantize(
      {LinearRole::Input, local, LinearQuantize::Local, reducesAmax}, x.dtype);
}

LogicalResult ForwardPlanner::planInput() {
  LinearInputPlan &input = plan.input;
  input.local = x.type;
  if (!config.isQuantized()) {
    // 5.3: a same-dtype cast would be taken for the identity.
    if (x.quantizer)
      return emitError() << "expected a plain input where no quantizer is "
                            "given, but got "
                         << x.type;
    if (x.dtype != dtype) {
      input.local = makePlain(x.shape, dtype, x.type);
      input.isOperand = false;
    }
  } else {
    if (!config.inputQuantizer && (!x.quantizer || config.gathersInput()))
      return emitError() << "expected 'input_quantizer' for an input that is "
                            "plain or gathered";
    if (!x.quantizer) {
      if (failed(planPlainInput()))
        return failure();
    } else if (!config.gathersInput() &&
               !hasUsage(x.quantizer, Usage::Rowwise)) {
      // U-1
      return emitError() << "expected an input with the rowwise "
                            "representation, which cannot be derived, but got "
                         << x.type;
    }
  }
  input.gemmOperand = input.local;
  if (!config.gathersInput())
    return success();
  std::optional<Usage> usage;
  if (config.isQuantized())
    usage = Usage::Rowwise;
  OperandView local = *OperandView::get(input.local, "input", emitError);
  FailureOr<LinearGather> gather =
      builder.planGather(LinearRole::Input, local, dtype, config.inputQuantizer,
                         usage, config.tpSize);
  if (failed(gather))
    return failure();
  // H-33, also where it would be decoded first: nothing is decoded unasked.
  if (local.quantizer && !hasUsage(local.quantizer, Usage::Rowwise))
    return emitError() << "expected an input with the rowwise representation "
                          "to gather, but got "
                       << input.local;
  input.gather = *gather;
  input.gemmOperand = gather->type;
  return success();
}

/// B-7: what is cached serves only as the very format that would be made.
bool ForwardPlanner::isValidWorkspace(Usage usage) const {
  if (!workspace || !workspace.quantizer || workspace.shape != w.shape ||
      workspace.dtype != dtype)
    return false;
  auto normalize = [](QuantizerAttrInterface quantizer) {
    // The scale order and the kind of storage do not matter here.
    return quantizer.withInternal(false).withOptimizeForGemm(false);
  };
  QuantizerAttrInterface made =
      config.weightQuantizer.withUsage(workspace.quantizer.getUsage());
  return made && normalize(made) == normalize(workspace.quantizer) &&
         hasUsage(workspace.quantizer, usage);
}

LogicalResult ForwardPlanner::planWeight(bool hasSkipUpdate) {
  LinearWeightPlan &weight = plan.weight;
  weight.weightmat = w.type;
  if (!config.isQuantized()) {
    if (w.quantizer)
      return emitError() << "expected a plain weight where no quantizer is "
                            "given, but got "
                         << w.type;
    if (w.dtype != dtype) {
      weight.source = LinearWeightPlan::Cast;
      weight.weightmat = makePlain(w.shape, dtype, w.type);
    }
    return success();
  }
  if (w.quantizer) {
    // U-1
    if (!hasUsage(w.quantizer, Usage::Rowwise))
      return emitError() << "expected a weight with the rowwise "
                            "representation, but got "
                         << w.type;
    return success();
  }
  if (!config.weightQuantizer)
    return emitError() << "expected 'weight_quantizer' for a weight that is "
                          "not quantized";
  Usage usage = getLinearWeightUsage(config);
  if (isValidWorkspace(usage)) {
    weight.source = LinearWeightPlan::Workspace;
    weight.weightmat = workspace.type;
    // 5.1, B-16: with a device flag the update happens, or not, at run time.
    weight.refreshesWorkspace =
        config.microbatch != Microbatch::Later || hasSkipUpdate;
    if (!weight.refreshesWorkspace)
      return success();
    return builder.addQuantize({LinearRole::Weight,
                                cast<TensorSpecType>(workspace.type),
                                LinearQuantize::IntoWorkspace},
                               w.dtype);
  }
  weight.source = LinearWeightPlan::Fresh;
  weight.isNewWorkspace = config.cacheWeight;
  QuantizerAttrInterface quantizer =
      makeUsage(config.weightQuantizer, usage, LinearRole::Weight, emitError);
  if (!quantizer)
    return failure();
  // V-19c: what the caller keeps is a wrapper.
  if (weight.isNewWorkspace)
    quantizer = quantizer.withInternal(false);
  TensorSpecType fresh =
      makeQuantized(w.shape, dtype, quantizer, w.type, emitError);
  if (!fresh)
    return failure();
  weight.weightmat = fresh;
  return builder.addQuantize({LinearRole::Weight, fresh}, w.dtype);
}

LogicalResult ForwardPlanner::planOutput() {
  LinearOutputPlan &output = plan.output;
  OperandView operand =
      *OperandView::get(plan.input.gemmOperand, "input", emitError);
  // B-11, V-33: by the formula, with zero dims and ranks too.
  SmallVector<int64_t> shape(operand.shape);
  shape.back() = w.shape[0];
  if (failed(getFlattenedExtents(shape)))
    return emitError() << "the number of rows of the output overflows 64 bits";
  output.gemm = makePlain(shape, dtype, x.type);
  if (config.parallelMode == ParallelMode::Row && config.tpSize > 1) {
    output.reduction = config.sequenceParallel ? LinearReduction::ReduceScatter
                                               : LinearReduction::AllReduce;
    // A multiple, as was checked.
    if (config.sequenceParallel && !ShapedType::isDynamic(shape[0]))
      shape[0] /= config.tpSize;
  }
  output.reduced = makePlain(shape, dtype, x.type);
  // P-1: what is quantized is the result of a GEMM.
  output.output = output.reduced;
  // V-21: all three terms.
  output.requiresGrad =
      config.isGradEnabled &&
      (config.inputRequiresGrad || config.weightRequiresGrad ||
       (bias && config.biasRequiresGrad));
  if (!config.outputQuantizer) {
    if (auto spec = dyn_cast<TensorSpecType>(output.output))
      output.output =
          TensorSpecType::get(dtype.getContext(), shape, dtype, {},
                              output.requiresGrad, spec.getDevice());
    return success();
  }
  // B-12
  if (output.reduction != LinearReduction::None)
    return emitError() << "expected no 'output_quantizer' with a row-parallel "
                          "reduction, but got "
                       << config.outputQuantizer;
  // 5.7
  if (!isNative(config.outputQuantizer))
    return emitError() << "expected 'output_quantizer' of a native family, but "
                          "got '"
                       << config.outputQuantizer.getFamily() << "'";
  if (operand.quantizer && operand.quantizer.isRowScaled())
    return emitError() << "expected no 'output_quantizer' with a row-scaled "
                          "input, but got "
                       << config.outputQuantizer;
  QuantizerAttrInterface quantizer = makeUsage(
      config.outputQuantizer, Usage::Rowwise, LinearRole::Output, emitError);
  if (!quantizer)
    return failure();
  TensorSpecType type =
      makeQuantized(shape, dtype, quantizer.withInternal(false), x.type,
                    emitError, output.requiresGrad);
  if (!type)
    return failure();
  output.output = type;
  return builder.addQuantize(
      {LinearRole::Output, type, LinearQuantize::OfResult}, dtype);
}

/// B-6, for an input that is not saved by its name.
FailureOr<Type> ForwardPlanner::planSavedInput() {
  auto local = dyn_cast<TensorSpecType>(plan.input.local);
  if (!local || !local.isQuantized())
    return plan.input.local;
  bool columnwise = config.backwardOverride == BackwardOverride::None;
  if (columnwise && config.gathersInputBackward()) {
    bool rowOnly = config.inputQuantizer.isRowOnlyAllGather();
    auto weightmat = cast<TensorSpecType>(plan.weight.weightmat);
    bool weightRowOnly = weightmat.getQuantizer().isRowOnlyAllGather();
    // H-13
    if (rowOnly != weightRowOnly) {
      emitError() << "expected the quantizers of input and weight to agree on "
                     "gathering rowwise only, but got "
                  << config.inputQuantizer << " and "
                  << weightmat.getQuantizer();
      return failure();
    }
    columnwise = !rowOnly;
  }
  QuantizerAttrInterface quantizer = makeUsage(
      local.getQuantizer(), columnwise ? Usage::Columnwise : Usage::Rowwise,
      LinearRole::Input, emitError);
  if (!quantizer)
    return failure();
  return Type(local.withQuantizer(quantizer));
}

/// 5.6. B-8: a name is given by what the value is.
LogicalResult ForwardPlanner::planSaved() {
  if (!config.isGradEnabled)
    return success();
  plan.saved.assign(4, SavedSlot());
  if (config.needsInput()) {
    if (plan.savesOriginalInput || plan.input.isOperand) {
      plan.saved[InputSlot] = SavedSlot::ofAlias("inp");
    } else {
      FailureOr<Type> type = planSavedInput();
      if (failed(type))
        return failure();
      plan.saved[InputSlot] = SavedSlot::ofValue(*type);
    }
  }
  SavedSlot &weightmat = plan.saved[WeightmatSlot];
  if (plan.weight.source == LinearWeightPlan::Parameter)
    weightmat = SavedSlot::ofAlias("weight");
  else if (plan.weight.source == LinearWeightPlan::Workspace)
    weightmat = SavedSlot::ofAlias("weight_workspace");
  else if (plan.weight.isNewWorkspace)
    weightmat = SavedSlot::ofAlias("new_weight_workspace");
  else if (!config.fsdp2) // B-9
    weightmat = SavedSlot::ofValue(plan.weight.weightmat);
  plan.saved[WeightSlot] = SavedSlot::ofAlias("weight");
  if (bias)
    plan.saved[BiasSlot] = SavedSlot::ofAlias("bias");
  return success();
}

FailureOr<LinearForwardPlan>
ForwardPlanner::run(const LinearOperands &operands) {
  if (failed(verifyConfig(config, emitError)) ||
      failed(readOperands(operands)) || failed(verifyShapes()))
    return failure();
  FailureOr<bool> savesOriginal = resolveSaveOriginalInput(
      config, plan.ignoresSaveOriginalInput, emitError);
  if (failed(savesOriginal))
    return failure();
  plan.savesOriginalInput = *savesOriginal;
  if (failed(planInput()) || failed(planWeight(operands.hasSkipUpdate)))
    return failure();
  if (config.isQuantized()) {
    auto input = dyn_cast<TensorSpecType>(plan.input.gemmOperand);
    auto weight = cast<TensorSpecType>(plan.weight.weightmat);
    // A plain operand is quantized right before the GEMM.
    QuantizerAttrInterface quantizer = input && input.isQuantized()
                                           ? input.getQuantizer()
                                           : config.inputQuantizer;
    if (failed(verifyForwardPair(quantizer, weight.getQuantizer(), emitError)))
      return failure();
  }
  if (failed(planOutput()) || failed(planSaved()))
    return failure();
  SmallVector<LinearGather *, 1> gathers;
  if (plan.input.gather)
    gathers.push_back(&*plan.input.gather);
  finishSignature(plan.quantizes, gathers, plan.scaleRoles,
                  plan.takesRandomState);
  return plan;
}

FailureOr<LinearForwardPlan>
te::quant::planLinearForward(LinearConfig config, LinearOperands operands,
                             EmitError emitError) {
  return ForwardPlanner(config, emitError).run(operands);
}
