//===- LinearPlanBackward.cpp - the plan of a linear layer, backward -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"

using namespace mlir;
using namespace te::quant;

namespace {
/// The operands and the plan under way.
class BackwardPlanner {
public:
  BackwardPlanner(const LinearConfig &config, EmitError emitError)
      : config(config), emitError(emitError),
        builder(plan.quantizes, plan.assertions, emitError) {}

  FailureOr<LinearBackwardPlan> run(const LinearBackwardOperands &operands);

private:
  LogicalResult readOperands(const LinearBackwardOperands &operands);
  LogicalResult rebuildInputShape();
  LogicalResult verifySlots();
  LogicalResult verifyInputSlot();
  LogicalResult verifyWeightmatSlot();
  LogicalResult planGradOutput();
  LogicalResult planQuantizedGradOutput();
  LogicalResult planBiasGrad();
  LogicalResult planInput();
  LogicalResult planQuantizedInput();
  LogicalResult planDgradWeight();
  LogicalResult planDgrad();
  LogicalResult planWgrad();

  bool needsDgrad() const { return config.inputRequiresGrad; }
  bool needsWgrad() const { return config.weightRequiresGrad; }

  /// The quantizer of a GEMM operand of which `direction` is demanded and there
  /// or derivable, or null with a diagnostic (7.1).
  QuantizerAttrInterface need(Type operand, Usage direction, StringRef what,
                              StringRef gemm);

  LinearConfig config;
  EmitError emitError;
  LinearBackwardPlan plan;
  LinearPlanBuilder builder;
  OperandView dy, input, weightmat, weight, bias, mainGrad;
  Type dtype;
  /// 5.6: the local input's shape as the gradient tells it.
  SmallVector<int64_t> inputShape;
  bool savesOriginalInput = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult
BackwardPlanner::readOperands(const LinearBackwardOperands &operands) {
  for (auto [view, type, what] :
       {std::tuple<OperandView &, Type, StringRef>(
            dy, operands.dy, "gradient of the output"),
        {input, operands.input, "saved input"},
        {weightmat, operands.weightmat, "saved quantized weight"},
        {weight, operands.weight, "weight"},
        {bias, operands.bias, "bias"},
        {mainGrad, operands.mainGrad, "main gradient"}}) {
    FailureOr<OperandView> read = OperandView::get(type, what, emitError);
    if (failed(read))
      return failure();
    view = *read;
  }
  // V-15: slot 2 is never absent.
  if (!dy || !weight)
    return emitError() << "expected a gradient of the output and a weight";
  dtype = config.activationDtype ? config.activationDtype : dy.dtype;
  if (!dtype.isF32() && !dtype.isBF16() && !dtype.isF16())
    return emitError()
           << "expected an activation dtype of f32, bf16 or f16, but got "
           << dtype;
  if (weight.rank() != 2)
    return emitError() << "expected a weight of rank 2, but got "
                       << weight.type;
  if (dy.rank() < 2)
    return emitError() << "expected a gradient of rank 2 or more, but got "
                       << dy.type;
  int64_t width = dy.shape.back();
  if (!ShapedType::isDynamic(width) && !ShapedType::isDynamic(weight.shape[0]) &&
      width != weight.shape[0])
    return emitError() << "expected the last dim of the gradient to equal the "
                          "first of the weight, but got "
                       << width << " and " << weight.shape[0];
  if (bias && (bias.rank() != 1 || bias.shape[0] != weight.shape[0]))
    return emitError() << "expected a bias of one dim of the weight's first, "
                          "but got "
                       << bias.type << " and " << weight.type;
  // B-15
  if (bias && config.parallelMode == ParallelMode::Row)
    return emitError() << "expected no bias with row parallelism, but got "
                       << bias.type;
  if (!config.isGradEnabled)
    return emitError() << "expected 'is_grad_enabled' in backward";
  return success();
}

LogicalResult BackwardPlanner::rebuildInputShape() {
  inputShape.assign(dy.shape.begin(), dy.shape.end());
  inputShape.back() = weight.shape[1];
  if (config.gathersInput()) {
    // H-21
    if (failed(builder.addMultiple(
            LinearRole::GradOutput, "first dim of the gradient, to be scattered,",
            LinearAssertion::First, inputShape[0], config.tpSize)))
      return failure();
    if (!ShapedType::isDynamic(inputShape[0]))
      inputShape[0] /= config.tpSize;
  } else if (config.gathersGradOutput()) {
    FailureOr<SmallVector<int64_t>> shape =
        multiplyFirstDim(inputShape, config.tpSize, emitError);
    if (failed(shape))
      return failure();
    inputShape = *shape;
  }
  if (failed(getFlattenedExtents(inputShape)))
    return emitError() << "the number of rows of the input overflows 64 bits";
  return success();
}

LogicalResult BackwardPlanner::verifyInputSlot() {
  if (bool(input) != needsWgrad())
    return emitError() << "expected " << (needsWgrad() ? "a" : "no")
                       << " saved input where the weight is "
                       << (needsWgrad() ? "" : "not ") << "differentiated";
  if (!input)
    return success();
  if (failed(verifyCompatibleShape(input.shape, inputShape)))
    return emitError() << "expected a saved input of the shape of "
                       << makePlain(inputShape, dtype, dy.type) << ", but got "
                       << input.type;
  if (input.quantizer && !config.isQuantized())
    return emitError() << "expected a plain saved input where no quantizer is "
                          "given, but got "
                       << input.type;
  // 5.3, 5.6: what forward saves plain.
  bool isPlainSaved =
      !config.isQuantized() || savesOriginalInput ||
      (config.gathersInput() && config.inputQuantizer &&
       config.inputQuantizer.isQuantizedAtGemm());
  if (!input.quantizer && !isPlainSaved)
    return emitError() << "expected a quantized saved input, but got "
                       << input.type;
  return success();
}

LogicalResult BackwardPlanner::verifyWeightmatSlot() {
  // B-8, B-9: the parameter itself is named, and with FSDP2 nothing else is
  // kept but a workspace.
  bool isParameter =
      config.isQuantized() ? bool(weight.quantizer) : weight.dtype == dtype;
  if (!weightmat) {
    if (config.fsdp2 && !isParameter)
      return success();
    return emitError() << "expected a saved quantized weight ('weightmat')";
  }
  if (isParameter) {
    if (weightmat.type == weight.type)
      return success();
    return emitError() << "expected 'weightmat' to be the weight of type "
                       << weight.type << ", but got " << weightmat.type;
  }
  if (failed(verifyCompatibleShape(weightmat.shape, weight.shape)) ||
      weightmat.dtype != dtype ||
      bool(weightmat.quantizer) != config.isQuantized())
    return emitError() << "expected 'weightmat' to be a "
                       << (config.isQuantized() ? "quantized" : "plain")
                       << " tensor of the weight's shape and " << dtype
                       << ", but got " << weightmat.type;
  return success();
}

LogicalResult BackwardPlanner::verifySlots() {
  if (failed(verifyInputSlot()) || failed(verifyWeightmatSlot()))
    return failure();
  if (config.fuseWgradAccumulation && needsWgrad() && !mainGrad)
    return emitError() << "expected a main gradient ('accumulate') with "
                          "'fuse_wgrad_accumulation'";
  if (!mainGrad)
    return success();
  if (!config.fuseWgradAccumulation || !needsWgrad())
    return emitError() << "expected no main gradient ('accumulate') without "
                          "'fuse_wgrad_accumulation' of a weight that is "
                          "differentiated";
  if (failed(verifyCompatibleShape(mainGrad.shape, weight.shape)))
    return emitError() << "expected a main gradient of the shape of "
                       << weight.type << ", but got " << mainGrad.type;
  return success();
}

QuantizerAttrInterface BackwardPlanner::need(Type operand, Usage direction,
                                             StringRef what, StringRef gemm) {
  QuantizerAttrInterface quantizer =
      cast<TensorSpecType>(operand).getQuantizer();
  if (canHaveUsage(quantizer, direction))
    return quantizer;
  emitError() << "expected " << what << " with the " << stringifyUsage(direction)
              << " representation for the " << gemm
              << " GEMM, which cannot be derived, but got " << operand;
  return {};
}

//===----------------------------------------------------------------------===//
// 6.2, step 1: the gradient of the output
//===----------------------------------------------------------------------===//

LogicalResult BackwardPlanner::planQuantizedGradOutput() {
  QuantizerAttrInterface quantizer = config.gradOutputQuantizer;
  if (!quantizer && (!dy.quantizer || config.gathersGradOutput()))
    return emitError() << "expected 'grad_output_quantizer' for a gradient "
                          "that is plain or gathered";
  // The rowwise representation is never off, the columnwise one where nothing
  // reads it and no kernel needs it.
  Usage usage = makeUsage(/*rowwise=*/true, bias || needsWgrad());
  auto makeType = [&](ArrayRef<int64_t> shape, Usage usage) {
    QuantizerAttrInterface made =
        makeUsage(quantizer, usage, LinearRole::GradOutput, emitError);
    return made ? makeQuantized(shape, dtype, made, dy.type, emitError)
                : TensorSpecType();
  };
  if (!config.gathersGradOutput()) {
    if (dy.quantizer)
      return success();
    TensorSpecType type = makeType(dy.shape, usage);
    plan.gradOutput = type;
    return type ? builder.addQuantize({LinearRole::GradOutput, type}, dy.dtype)
                : failure();
  }
  FailureOr<LinearGather> gather =
      builder.planGather(LinearRole::GradOutput, dy, dtype, quantizer, usage,
                         config.tpSize);
  if (failed(gather))
    return failure();
  plan.gradOutputGather = *gather;
  plan.gradOutput = gather->type;
  // B-4
  bool reducesAmax = scalesByTensorAmax(quantizer);
  if (gather->how == LinearGather::HighPrecisionThenQuantize)
    return builder.addQuantize({LinearRole::GradOutput,
                                cast<TensorSpecType>(gather->type),
                                LinearQuantize::AfterGather, reducesAmax},
                               dy.dtype);
  // B-5: a family that gathers rowwise data only derives the rest after.
  QuantizerAttrInterface mover = dy.quantizer ? dy.quantizer : quantizer;
  Usage moved = mover.isRowOnlyAllGather() ? Usage::Rowwise : usage;
  if (dy.quantizer) {
    // H-33
    if (!hasUsage(dy.quantizer, moved))
      return emitError() << "expected a gradient with usage "
                         << stringifyUsage(moved) << " to gather, but got "
                         << dy.type;
    return success();
  }
  TensorSpecType local = makeType(dy.shape, moved);
  return local ? builder.addQuantize({LinearRole::GradOutput, local,
                                      LinearQuantize::BeforeGather,
                                      reducesAmax},
                                     dy.dtype)
               : failure();
}

LogicalResult BackwardPlanner::planBiasGrad() {
  // H-22: present whenever it is differentiated.
  if (!bias || !config.biasRequiresGrad)
    return success();
  plan.gradBias = makePlain(weight.shape.take_front(1), dtype, bias.type);
  if (!plan.isQuantized)
    plan.biasGradSource =
        needsWgrad() ? BiasGradSource::WgradGemm : BiasGradSource::RowSum;
  else if (!dy.quantizer && config.gradOutputQuantizer.sumsRowsWhenQuantizing())
    plan.biasGradSource = BiasGradSource::WithQuantize;
  else
    // H-35: custom formats too.
    plan.biasGradSource = BiasGradSource::RowSum;
  return success();
}

LogicalResult BackwardPlanner::planGradOutput() {
  plan.gradOutput = dy.type;
  if (plan.isQuantized)
    return planQuantizedGradOutput();
  if (dy.quantizer)
    return emitError() << "expected a plain gradient where backward is not "
                          "quantized, but got "
                       << dy.type;
  plan.gradOutput = makePlain(dy.shape, dtype, dy.type);
  if (!config.gathersGradOutput())
    return success();
  OperandView local =
      *OperandView::get(plan.gradOutput, "gradient", emitError);
  FailureOr<LinearGather> gather =
      builder.planGather(LinearRole::GradOutput, local, dtype,
                         /*quantizer=*/{}, /*usage=*/std::nullopt,
                         config.tpSize);
  if (failed(gather))
    return failure();
  plan.gradOutputGather = *gather;
  plan.gradOutput = gather->type;
  return success();
}

//===----------------------------------------------------------------------===//
// 6.2, step 2: the saved input
//===----------------------------------------------------------------------===//

LogicalResult BackwardPlanner::planQuantizedInput() {
  QuantizerAttrInterface quantizer = config.inputQuantizer;
  bool gathers = config.gathersInputBackward();
  if (!quantizer && (!input.quantizer || gathers))
    return emitError() << "expected 'input_quantizer' for a saved input that "
                          "is plain or gathered";
  if (!input.quantizer && !(gathers && quantizer.isQuantizedAtGemm())) {
    bool atGemm = quantizer.isQuantizedAtGemm();
    bool rowOnly = quantizer.isRowOnlyAllGather();
    // No kernel makes columnwise data alone for these.
    bool needsRowwise = rowOnly || quantizer.isRowScaled();
    Usage usage = makeUsage(needsRowwise && !atGemm, !(rowOnly && gathers));
    QuantizerAttrInterface made =
        makeUsage(quantizer, usage, LinearRole::Input, emitError);
    if (!made)
      return failure();
    TensorSpecType local =
        makeQuantized(input.shape, dtype, made, input.type, emitError);
    if (!local)
      return failure();
    LinearQuantize quantize{LinearRole::Input, local};
    quantize.where = atGemm ? LinearQuantize::AtGemm : LinearQuantize::Local;
    quantize.reducesAmax = gathers && scalesByTensorAmax(quantizer);
    quantize.dropsRowwise = quantizer.isRowScaled(); // H-32
    if (failed(builder.addQuantize(quantize, input.dtype)))
      return failure();
    plan.localInput = local;
  }
  plan.wgradInput = plan.localInput;
  if (!gathers)
    return success();
  // A composed tensor is gathered for the one direction that is read.
  QuantizerAttrInterface held = input.quantizer ? input.quantizer : quantizer;
  bool isComposed = !held.getComponents().empty();
  Usage usage = !isComposed && held.isRowOnlyAllGather() ? Usage::Rowwise
                                                         : Usage::Columnwise;
  OperandView local = *OperandView::get(plan.localInput, "input", emitError);
  FailureOr<LinearGather> gather =
      builder.planGather(LinearRole::Input, local, dtype, quantizer, usage,
                         config.tpSize);
  if (failed(gather))
    return failure();
  // H-26, H-33. A composed tensor is decoded from what it has.
  if (local.quantizer && !isComposed && !hasUsage(local.quantizer, usage))
    return emitError() << "expected a saved input with the "
                       << stringifyUsage(usage)
                       << " representation to gather, but got " << local.type;
  plan.inputGather = *gather;
  plan.wgradInput = gather->type;
  return success();
}

LogicalResult BackwardPlanner::planInput() {
  plan.localInput = input.type;
  if (plan.isQuantized)
    return planQuantizedInput();
  // Decoded or cast.
  plan.localInput = makePlain(input.shape, dtype, dy.type);
  plan.wgradInput = plan.localInput;
  if (!config.gathersInputBackward())
    return success();
  OperandView local = *OperandView::get(plan.localInput, "input", emitError);
  FailureOr<LinearGather> gather =
      builder.planGather(LinearRole::Input, local, dtype, /*quantizer=*/{},
                         /*usage=*/std::nullopt, config.tpSize);
  if (failed(gather))
    return failure();
  plan.inputGather = *gather;
  plan.wgradInput = gather->type;
  return success();
}

//===----------------------------------------------------------------------===//
// 6.2, steps 3 and 4: the GEMMs
//===----------------------------------------------------------------------===//

LogicalResult BackwardPlanner::planDgradWeight() {
  bool readsParameter =
      config.backwardOverride == BackwardOverride::HighPrecision;
  plan.readsWeightmat = bool(weightmat) && !readsParameter;
  plan.dgradWeight = plan.readsWeightmat ? weightmat.type : weight.type;
  // H-31: a plain weight is cast again where it is not kept.
  if (plan.readsWeightmat || readsParameter || !config.isQuantized())
    return success();
  // B-9: FSDP2 kept nothing, so the gathered weight is quantized again.
  if (!config.weightQuantizer)
    return emitError() << "expected 'weight_quantizer' for a weight that is "
                          "not quantized";
  QuantizerAttrInterface quantizer =
      makeUsage(config.weightQuantizer,
                plan.isQuantized ? Usage::Both : Usage::Rowwise,
                LinearRole::Weight, emitError);
  if (!quantizer)
    return failure();
  TensorSpecType type =
      makeQuantized(weight.shape, dtype, quantizer, weight.type, emitError);
  if (!type)
    return failure();
  plan.dgradWeight = type;
  return builder.addQuantize(
      {LinearRole::Weight, type, LinearQuantize::ForFSDP2}, weight.dtype);
}

LogicalResult BackwardPlanner::planDgrad() {
  if (failed(planDgradWeight()))
    return failure();
  OperandView gradient =
      *OperandView::get(plan.gradOutput, "gradient", emitError);
  SmallVector<int64_t> shape(gradient.shape);
  shape.back() = weight.shape[1];
  plan.dgradGemm = makePlain(shape, dtype, dy.type);
  plan.dgradReduced = makePlain(inputShape, dtype, dy.type);
  plan.dgrad = plan.dgradReduced;
  if (config.parallelMode == ParallelMode::Column && config.tpSize > 1)
    plan.dgradReduction = config.sequenceParallel
                              ? LinearReduction::ReduceScatter
                              : LinearReduction::AllReduce;
  // 5.6: an override removes the gradients' quantizers.
  if (!plan.isQuantized)
    return success();
  // What the two must have in common the GEMM itself verifies.
  QuantizerAttrInterface w =
      need(plan.dgradWeight, Usage::Columnwise, "a weight", "dgrad");
  QuantizerAttrInterface g =
      need(plan.gradOutput, Usage::Rowwise, "a gradient", "dgrad");
  if (!w || !g)
    return failure();
  QuantizerAttrInterface quantizer = config.gradInputQuantizer;
  if (!quantizer)
    return success();
  // H-25
  if (plan.dgradReduction != LinearReduction::None)
    return emitError() << "expected no 'grad_input_quantizer' with a "
                          "column-parallel reduction, but got "
                       << quantizer;
  // 5.7
  if (!isNative(quantizer))
    return emitError() << "expected 'grad_input_quantizer' of a native family, "
                          "but got '"
                       << quantizer.getFamily() << "'";
  if (g.isRowScaled() || w.isRowScaled())
    return emitError() << "expected no 'grad_input_quantizer' with a "
                          "row-scaled operand, but got "
                       << quantizer;
  quantizer = makeUsage(quantizer, Usage::Rowwise, LinearRole::GradInput,
                        emitError);
  if (!quantizer)
    return failure();
  TensorSpecType type = makeQuantized(
      inputShape, dtype, quantizer.withInternal(false), dy.type, emitError);
  if (!type)
    return failure();
  plan.dgrad = type;
  return builder.addQuantize(
      {LinearRole::GradInput, type, LinearQuantize::OfResult}, dtype);
}

LogicalResult BackwardPlanner::planWgrad() {
  if (plan.isQuantized &&
      (!need(plan.wgradInput, Usage::Columnwise, "an input", "wgrad") ||
       !need(plan.gradOutput, Usage::Columnwise, "a gradient", "wgrad")))
    return failure();
  // H-24: an operand and a result, the same buffer.
  if (config.fuseWgradAccumulation) {
    plan.tiesMainGrad = true;
    plan.accumulates = config.microbatch != Microbatch::First;
    plan.wgrad = mainGrad.type;
    return success();
  }
  plan.wgrad = makePlain(weight.shape, dtype, weight.type);
  return success();
}

FailureOr<LinearBackwardPlan>
BackwardPlanner::run(const LinearBackwardOperands &operands) {
  if (failed(verifyConfig(config, emitError)) ||
      failed(readOperands(operands)) || failed(rebuildInputShape()))
    return failure();
  plan.isQuantized = config.isBackwardQuantized();
  bool isIgnored;
  FailureOr<bool> savesOriginal =
      resolveSaveOriginalInput(config, isIgnored, emitError);
  if (failed(savesOriginal))
    return failure();
  savesOriginalInput = *savesOriginal;
  if (failed(verifySlots()) || failed(planGradOutput()) ||
      failed(planBiasGrad()) || (needsWgrad() && failed(planInput())) ||
      (needsDgrad() && failed(planDgrad())) ||
      (needsWgrad() && failed(planWgrad())))
    return failure();
  SmallVector<LinearGather *, 2> gathers;
  for (std::optional<LinearGather> *gather :
       {&plan.inputGather, &plan.gradOutputGather})
    if (*gather)
      gathers.push_back(&**gather);
  finishSignature(plan.quantizes, gathers, plan.scaleRoles,
                  plan.takesRandomState);
  return plan;
}

FailureOr<LinearBackwardPlan>
te::quant::planLinearBackward(LinearConfig config,
                              LinearBackwardOperands operands,
                              EmitError emitError) {
  return BackwardPlanner(config, emitError).run(operands);
}
