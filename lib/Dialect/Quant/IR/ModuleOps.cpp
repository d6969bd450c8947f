//===- ModuleOps.cpp - syntax, inference and checks of module layers ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearOpSyntax.h"
#include "te/Dialect/Quant/IR/QuantModuleOps.h"

using namespace mlir;
using namespace te::quant;

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantModuleOps.cpp.inc"

void TEQuantDialect::registerModuleOps() {
  addOperations<
#define GET_OP_LIST
#include "te/Dialect/Quant/IR/QuantModuleOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// From ops and adaptors to plans
//===----------------------------------------------------------------------===//

template <typename OpTy>
static NormConfig readNormConfig(OpTy op) {
  NormConfig config;
  config.normalization = op.getNormalization();
  config.epsilon = op.getEps().convertToDouble();
  config.zeroCenteredGamma = op.getZeroCenteredGamma();
  config.returnsOutput = op.getReturnLayernormOutput();
  return config;
}

template <typename OpTy>
static FailureOr<LayerNormLinearPlan> planModule(OpTy op, LayerNormLinearPlan *,
                                                 EmitError emitError) {
  LinearOperands operands;
  operands.w = op.getW().getType();
  operands.bias = getTypeOrNull(op.getBias());
  operands.workspace = getTypeOrNull(op.getWorkspace());
  operands.hasSkipUpdate = bool(op.getSkipUpdate());
  NormOperands norm{op.getX().getType(), op.getGamma().getType(),
                    getTypeOrNull(op.getBeta())};
  return planLayerNormLinear(readConfig(op), readNormConfig(op), operands, norm,
                             emitError);
}

template <typename OpTy>
static FailureOr<LayerNormLinearBackwardPlan>
planModule(OpTy op, LayerNormLinearBackwardPlan *, EmitError emitError) {
  LinearConfig config = readConfig(op);
  config.fuseWgradAccumulation = op.getFuseWgradAccumulation();
  LayerNormLinearBackwardOperands operands;
  operands.linear.dy = op.getDy().getType();
  operands.linear.input = getTypeOrNull(op.getNormOutput());
  operands.linear.weightmat = getTypeOrNull(op.getWeightmat());
  operands.linear.weight = op.getWeight().getType();
  operands.linear.bias = getTypeOrNull(op.getBias());
  operands.linear.mainGrad = getTypeOrNull(op.getAccumulate());
  operands.norm = {op.getInput().getType(), op.getGamma().getType(),
                   getTypeOrNull(op.getBeta())};
  operands.mu = getTypeOrNull(op.getMu());
  operands.rsigma = op.getRsigma().getType();
  operands.gradNormOutput = getTypeOrNull(op.getGradNormOutput());
  return planLayerNormLinearBackward(config, readNormConfig(op), operands,
                                     emitError);
}

template <typename OpTy>
static LayerNormMLPConfig readMLPConfig(OpTy op) {
  auto get = [](std::optional<QuantizerAttrInterface> quantizer) {
    return quantizer.value_or(QuantizerAttrInterface());
  };
  LinearConfig shared;
  shared.activationDtype = op.getActivationDtype().value_or(Type());
  shared.isGradEnabled = op.getIsGradEnabled();
  shared.backwardOverride = op.getBackwardOverride();
  shared.microbatch = op.getMicrobatch();
  shared.cacheWeight = op.getCacheWeight();
  shared.sequenceParallel = op.getSequenceParallel();
  shared.tpSize = op.getTpSize();
  shared.fsdp2 = op.getFsdp2();
  shared.recipeIsCustom = op.getRecipeIsCustom();
  LayerNormMLPConfig config{shared, shared, op.getActivation()};
  config.fc1.inputQuantizer = get(op.getFc1InputQuantizer());
  config.fc1.weightQuantizer = get(op.getFc1WeightQuantizer());
  config.fc1.gradOutputQuantizer = get(op.getFc1GradOutputQuantizer());
  config.fc1.weightRequiresGrad = op.getFc1WeightRequiresGrad();
  config.fc1.biasRequiresGrad = op.getFc1BiasRequiresGrad();
  config.fc2.inputQuantizer = get(op.getFc2InputQuantizer());
  config.fc2.weightQuantizer = get(op.getFc2WeightQuantizer());
  config.fc2.outputQuantizer = get(op.getFc2OutputQuantizer());
  config.fc2.gradOutputQuantizer = get(op.getFc2GradOutputQuantizer());
  config.fc2.weightRequiresGrad = op.getFc2WeightRequiresGrad();
  config.fc2.biasRequiresGrad = op.getFc2BiasRequiresGrad();
  if (op.getSetParallelMode()) {
    config.fc1.parallelMode = ParallelMode::Column;
    config.fc2.parallelMode = ParallelMode::Row;
  }
  return config;
}

template <typename OpTy>
static FailureOr<LayerNormMLPPlan> planModule(OpTy op, LayerNormMLPPlan *,
                                              EmitError emitError) {
  LinearOperands fc1, fc2;
  fc1.w = op.getW1().getType();
  fc1.bias = getTypeOrNull(op.getBias1());
  fc1.workspace = getTypeOrNull(op.getWorkspace1());
  fc2.w = op.getW2().getType();
  fc2.bias = getTypeOrNull(op.getBias2());
  fc2.workspace = getTypeOrNull(op.getWorkspace2());
  fc1.hasSkipUpdate = fc2.hasSkipUpdate = bool(op.getSkipUpdate());
  NormOperands norm{op.getX().getType(), op.getGamma().getType(),
                    getTypeOrNull(op.getBeta())};
  return planLayerNormMLP(readMLPConfig(op), readNormConfig(op), fc1, fc2, norm,
                          emitError);
}

template <typename OpTy>
static FailureOr<LayerNormMLPBackwardPlan>
planModule(OpTy op, LayerNormMLPBackwardPlan *, EmitError emitError) {
  LayerNormMLPConfig config = readMLPConfig(op);
  config.fc1.fuseWgradAccumulation = config.fc2.fuseWgradAccumulation =
      op.getFuseWgradAccumulation();
  LayerNormMLPBackwardOperands operands;
  operands.fc2 = {op.getDy().getType(),
                  getTypeOrNull(op.getActivated()),
                  getTypeOrNull(op.getWeightmat2()),
                  op.getWeight2().getType(),
                  getTypeOrNull(op.getBias2()),
                  getTypeOrNull(op.getAccumulate2())};
  operands.fc1.linear = {Type(),
                         getTypeOrNull(op.getNormOutput()),
                         getTypeOrNull(op.getWeightmat1()),
                         op.getWeight1().getType(),
                         getTypeOrNull(op.getBias1()),
                         getTypeOrNull(op.getAccumulate1())};
  operands.fc1.norm = {op.getInput().getType(), op.getGamma().getType(),
                       getTypeOrNull(op.getBeta())};
  operands.fc1.mu = getTypeOrNull(op.getMu());
  operands.fc1.rsigma = op.getRsigma().getType();
  operands.fc1.gradNormOutput = getTypeOrNull(op.getGradNormOutput());
  operands.hidden = op.getHidden().getType();
  return planLayerNormMLPBackward(config, readNormConfig(op), operands,
                                  emitError);
}

template <typename OpTy>
static FailureOr<GroupedLinearPlan> planModule(OpTy op, GroupedLinearPlan *,
                                               EmitError emitError) {
  GroupedLinearOperands operands;
  operands.x = op.getX().getType();
  operands.weights = llvm::to_vector(op.getWeights().getTypes());
  operands.biases = llvm::to_vector(op.getBias().getTypes());
  operands.workspaces = llvm::to_vector(op.getWorkspace().getTypes());
  operands.hasSkipUpdate = bool(op.getSkipUpdate());
  operands.staticSplits = op.getMSplits();
  operands.dynamicSplits = getTypeOrNull(op.getSplits());
  return planGroupedLinear(readConfig(op), operands, emitError);
}

template <typename OpTy>
static FailureOr<GroupedLinearBackwardPlan>
planModule(OpTy op, GroupedLinearBackwardPlan *, EmitError emitError) {
  LinearConfig config = readConfig(op);
  config.fuseWgradAccumulation = op.getFuseWgradAccumulation();
  GroupedLinearBackwardOperands operands;
  operands.shared.x = op.getDy().getType();
  operands.shared.weights = llvm::to_vector(op.getWeights().getTypes());
  operands.shared.biases = llvm::to_vector(op.getBias().getTypes());
  operands.shared.staticSplits = op.getMSplits();
  operands.shared.dynamicSplits = getTypeOrNull(op.getSplits());
  operands.inputs = llvm::to_vector(op.getInput().getTypes());
  operands.weightmats = llvm::to_vector(op.getWeightmat().getTypes());
  operands.mainGrads = llvm::to_vector(op.getAccumulate().getTypes());
  return planGroupedLinearBackward(config, operands, emitError);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

namespace {
/// How an op is written, and which of its groups have exactly one operand.
struct ModuleSyntax {
  unsigned numLeading;
  SmallVector<OperandGroup> groups;
  SmallVector<unsigned> required;
};
} // namespace

static const OperandGroup &getScaleGroup() {
  static const OperandGroup group{"scale", OperandGroup::Any};
  return group;
}

static ModuleSyntax getSyntax(LayerNormLinearPlan *) {
  return {3,
          {{"beta"},
           {"bias"},
           {"workspace"},
           {"skip_update"},
           getScaleGroup(),
           {"rng"}},
          {0, 1, 2}};
}

static ModuleSyntax getSyntax(LayerNormLinearBackwardPlan *) {
  return {1,
          {{"input", OperandGroup::One},
           {"gamma", OperandGroup::One},
           {"beta"},
           {"norm_output"},
           {"weightmat"},
           {"weight", OperandGroup::One},
           {"bias"},
           {"mu"},
           {"rsigma", OperandGroup::One},
           {"grad_norm_output"},
           {"accumulate"},
           getScaleGroup(),
           {"rng"}},
          {0, 1, 2, 6, 9}};
}

static ModuleSyntax getSyntax(LayerNormMLPPlan *) {
  return {4,
          {{"beta"},
           {"bias1"},
           {"bias2"},
           {"workspace1"},
           {"workspace2"},
           {"skip_update"},
           getScaleGroup(),
           {"rng"}},
          {0, 1, 2, 3}};
}

static ModuleSyntax getSyntax(LayerNormMLPBackwardPlan *) {
  return {1,
          {{"input", OperandGroup::One},
           {"gamma", OperandGroup::One},
           {"beta"},
           {"norm_output"},
           {"weightmat1"},
           {"weight1", OperandGroup::One},
           {"bias1"},
           {"hidden", OperandGroup::One},
           {"activated"},
           {"weightmat2"},
           {"weight2", OperandGroup::One},
           {"bias2"},
           {"mu"},
           {"rsigma", OperandGroup::One},
           {"grad_norm_output"},
           {"accumulate1"},
           {"accumulate2"},
           getScaleGroup(),
           {"rng"}},
          {0, 1, 2, 6, 8, 11, 14}};
}

static ModuleSyntax getSyntax(GroupedLinearPlan *) {
  return {1,
          {{"weights", OperandGroup::Any},
           {"bias", OperandGroup::Any},
           {"splits"},
           {"workspace", OperandGroup::Any},
           {"skip_update"},
           getScaleGroup(),
           {"rng"}},
          {0}};
}

static ModuleSyntax getSyntax(GroupedLinearBackwardPlan *) {
  return {1,
          {{"input", OperandGroup::Any},
           {"weightmat", OperandGroup::Any},
           {"weights", OperandGroup::Any},
           {"bias", OperandGroup::Any},
           {"splits"},
           {"accumulate", OperandGroup::Any},
           getScaleGroup(),
           {"rng"}},
          {0}};
}

template <typename OpTy, typename PlanTy>
static LogicalResult verifyModule(OpTy op, const ModuleSyntax &syntax) {
  auto emit = [&] { return op.emitOpError(); };
  if (failed(verifySegments(op.getProperties().operandSegmentSizes,
                            op->getNumOperands(), syntax.required, emit)))
    return failure();
  FailureOr<PlanTy> plan = planModule(op, static_cast<PlanTy *>(nullptr), emit);
  if (failed(plan))
    return failure();
  const ModuleSignature &signature = plan->signature;
  return verifySignature(op, signature.scaleNames, signature.takesRandomState,
                         signature.types, signature.names);
}

template <typename OpTy>
static LogicalResult verifySkipUpdate(OpTy op) {
  Type f32 = RankedTensorType::get({1}, Float32Type::get(op.getContext()));
  if (!op.getSkipUpdate() || op.getSkipUpdate().getType() == f32)
    return success();
  return op.emitOpError() << "expected 'skip_update' of type " << f32
                          << ", but got " << op.getSkipUpdate().getType();
}

/// The methods of an op whose plan is a `PlanTy`.
#define TE_QUANT_MODULE_OP(OpTy, PlanTy)                                       \
  FailureOr<PlanTy> OpTy::getPlan() {                                          \
    return planModule(*this, static_cast<PlanTy *>(nullptr), emitNothing);     \
  }                                                                            \
  LogicalResult OpTy::inferReturnTypes(                                        \
      MLIRContext *, std::optional<Location> loc, ValueRange operands,         \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &inferredReturnTypes) {       \
    auto plan = [](auto adaptor, EmitError emit) {                             \
      return planModule(adaptor, static_cast<PlanTy *>(nullptr), emit);        \
    };                                                                         \
    return inferLinear<OpTy>(                                                  \
        plan, getSyntax(static_cast<PlanTy *>(nullptr)).required, loc,         \
        operands, attributes, properties, regions, inferredReturnTypes);       \
  }                                                                            \
  void OpTy::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {                \
    nameResults(*this, setNameFn);                                             \
  }                                                                            \
  ParseResult OpTy::parse(OpAsmParser &parser, OperationState &result) {       \
    ModuleSyntax syntax = getSyntax(static_cast<PlanTy *>(nullptr));           \
    return parseLinear<OpTy>(parser, result, syntax.numLeading,                \
                             syntax.groups);                                   \
  }                                                                            \
  void OpTy::print(OpAsmPrinter &printer) {                                    \
    ModuleSyntax syntax = getSyntax(static_cast<PlanTy *>(nullptr));           \
    printLinear(*this, printer, syntax.numLeading, syntax.groups);             \
  }

TE_QUANT_MODULE_OP(LayerNormLinearOp, LayerNormLinearPlan)
TE_QUANT_MODULE_OP(LayerNormLinearBackwardOp, LayerNormLinearBackwardPlan)
TE_QUANT_MODULE_OP(LayerNormMLPOp, LayerNormMLPPlan)
TE_QUANT_MODULE_OP(LayerNormMLPBackwardOp, LayerNormMLPBackwardPlan)
TE_QUANT_MODULE_OP(GroupedLinearOp, GroupedLinearPlan)
TE_QUANT_MODULE_OP(GroupedLinearBackwardOp, GroupedLinearBackwardPlan)

#undef TE_QUANT_MODULE_OP

LogicalResult LayerNormLinearOp::verify() {
  if (failed(verifySkipUpdate(*this)))
    return failure();
  return verifyModule<LayerNormLinearOp, LayerNormLinearPlan>(
      *this, getSyntax(static_cast<LayerNormLinearPlan *>(nullptr)));
}

LogicalResult LayerNormLinearBackwardOp::verify() {
  return verifyModule<LayerNormLinearBackwardOp, LayerNormLinearBackwardPlan>(
      *this, getSyntax(static_cast<LayerNormLinearBackwardPlan *>(nullptr)));
}

LogicalResult LayerNormMLPOp::verify() {
  if (failed(verifySkipUpdate(*this)))
    return failure();
  return verifyModule<LayerNormMLPOp, LayerNormMLPPlan>(
      *this, getSyntax(static_cast<LayerNormMLPPlan *>(nullptr)));
}

LogicalResult GroupedLinearOp::verify() {
  if (failed(verifySkipUpdate(*this)))
    return failure();
  return verifyModule<GroupedLinearOp, GroupedLinearPlan>(
      *this, getSyntax(static_cast<GroupedLinearPlan *>(nullptr)));
}

LogicalResult GroupedLinearBackwardOp::verify() {
  return verifyModule<GroupedLinearBackwardOp, GroupedLinearBackwardPlan>(
      *this, getSyntax(static_cast<GroupedLinearBackwardPlan *>(nullptr)));
}

LogicalResult LayerNormMLPBackwardOp::verify() {
  return verifyModule<LayerNormMLPBackwardOp, LayerNormMLPBackwardPlan>(
      *this, getSyntax(static_cast<LayerNormMLPBackwardPlan *>(nullptr)));
}
