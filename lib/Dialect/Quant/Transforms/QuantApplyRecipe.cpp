//===- QuantApplyRecipe.cpp - quantizers of a recipe for linear layers -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgLinear.h"
#include "QuantRecipe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTAPPLYRECIPEPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

/// Tells the user that `op` is left alone, and why.
static void emitStays(Operation *op, const Twine &reason) {
  op->emitRemark() << "stays as it is: " << reason;
}

/// What `plan` gives, or the first error that it emits, in `reason`.
template <typename Fn>
static auto capture(Operation *op, std::string &reason, Fn plan)
    -> decltype(plan(EmitError())) {
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diag) {
    if (reason.empty())
      reason = diag.str();
    return success();
  });
  return plan([&] { return emitError(op->getLoc()); });
}

static Type getTypeOrNull(Value value) {
  return value ? value.getType() : Type();
}

/// The value of a slot of `op`, null where it has none.
static Value getSlot(LinearOp op, const LinearForwardPlan &plan,
                     LinearSlot slot) {
  if (plan.saved.empty())
    return {};
  bool hasWorkspace = bool(plan.getWorkspaceResult());
  const SavedSlot &saved = plan.saved[slot];
  if (saved.kind == SavedSlot::None)
    return {};
  if (saved.kind == SavedSlot::Alias) {
    if (saved.alias == "inp")
      return op.getX();
    if (saved.alias == "weight")
      return op.getW();
    if (saved.alias == "bias")
      return op.getBias();
    return hasWorkspace ? op.getResult(1) : op.getWorkspace();
  }
  unsigned index = 1 + hasWorkspace;
  for (unsigned before = 0; before < slot; ++before)
    index += plan.saved[before].kind == SavedSlot::Value;
  return op.getResult(index);
}

/// How much of the random stream a layer takes.
template <typename PlanTy>
static int64_t getNumRandomParts(const PlanTy &plan) {
  unsigned parts = 0;
  for (const LinearQuantize &quantize : plan.quantizes)
    parts = std::max(parts, quantize.randomPart + 1);
  return parts;
}

namespace {
/// What quantizers take from the caller of a function.
class FunctionInputs {
public:
  explicit FunctionInputs(func::FuncOp function) : function(function) {}

  /// Why `op` can take nothing from the caller; empty if it can.
  static std::string getObstacle(Operation *op, ModuleOp module);

  Value addScale(LinearRole role) {
    return addArgument(RankedTensorType::get({1}, builder().getF32Type()),
                       "te_quant.scale",
                       builder().getStringAttr(stringifyLinearRole(role)));
  }
  void addAmax(LinearRole role, Value amax);

  /// The random state with `numParts` of its own.
  Value addRandomState(OpBuilder &builder, Location loc, int64_t numParts);

private:
  Builder builder() { return Builder(function.getContext()); }
  Value addArgument(Type type, StringRef name, Attribute value);

  func::FuncOp function;
  Value rng;
  int64_t numPartsTaken = 0;
};
} // namespace

std::string FunctionInputs::getObstacle(Operation *op, ModuleOp module) {
  auto function = dyn_cast<func::FuncOp>(op->getParentOp());
  if (!function || !function.getBody().hasOneBlock())
    return "expected a layer that takes scales or a random state to be in the "
           "only block of a function, whose arguments they become";
  if (!SymbolTable::symbolKnownUseEmpty(function.getSymNameAttr(),
                                        module.getOperation()))
    return "expected a function that nothing calls, as scales or a random "
           "state become arguments of '" +
           function.getSymName().str() + "'";
  return {};
}

Value FunctionInputs::addArgument(Type type, StringRef name, Attribute value) {
  unsigned index = function.getNumArguments();
  auto attributes = DictionaryAttr::get(
      function.getContext(), {builder().getNamedAttr(name, value)});
  // Never fails for a func.func.
  (void)function.insertArgument(index, type, attributes, function.getLoc());
  return function.getArgument(index);
}

void FunctionInputs::addAmax(LinearRole role, Value amax) {
  unsigned index = function.getNumResults();
  auto attributes = DictionaryAttr::get(
      function.getContext(),
      {builder().getNamedAttr(
          "te_quant.amax", builder().getStringAttr(stringifyLinearRole(role)))});
  (void)function.insertResult(index, amax.getType(), attributes);
  function.getBody().front().getTerminator()->insertOperands(index, amax);
}

Value FunctionInputs::addRandomState(OpBuilder &builder, Location loc,
                                     int64_t numParts) {
  auto type = RankedTensorType::get({2}, builder.getI64Type());
  if (!rng)
    rng = addArgument(type, "te_quant.rng", builder.getUnitAttr());
  int64_t distance = numPartsTaken * linearRandomPartSize;
  numPartsTaken += numParts;
  if (distance == 0)
    return rng;
  // Element 0 is the seed, element 1 the offset.
  Value shift = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, ArrayRef<int64_t>{0, distance}));
  return arith::AddIOp::create(builder, loc, rng, shift);
}

namespace {
/// A forward layer and its backward layers, all quantized or none.
struct Layer {
  LinearOp forward;
  SmallVector<LinearBackwardOp> backward;
};

struct QuantApplyRecipePass
    : te::quant::impl::QuantApplyRecipePassBase<QuantApplyRecipePass> {
  using QuantApplyRecipePassBase::QuantApplyRecipePassBase;

  void runOnOperation() override;

private:
  QuantApplyRecipePassOptions getOptions() const;
  void configure(LinearConfig &config, Type weight) const;
  template <typename Properties>
  void setQuantizers(Properties &properties, const LinearConfig &config);

  void applyToLinalg(linalg::LinalgOp op);
  void applyToLayer(Layer &layer);
  std::string whyNot(Layer &layer, LinearForwardPlan &plan,
                     SmallVectorImpl<LinearBackwardPlan> &backward);
  SmallVector<Value> addScales(Operation *op, ArrayRef<LinearRole> roles);
  void addAmaxes(Operation *op, ArrayRef<LinearRole> roles);
  FunctionInputs &getInputs(Operation *op) {
    auto function = cast<func::FuncOp>(op->getParentOp());
    return inputs.try_emplace(function.getOperation(), function).first->second;
  }

  QuantRecipe quantizers;
  const TargetInfo *target = nullptr;
  DenseMap<Operation *, FunctionInputs> inputs;
};
} // namespace

QuantApplyRecipePassOptions QuantApplyRecipePass::getOptions() const {
  QuantApplyRecipePassOptions options;
  options.recipe = recipe;
  options.format = format;
  options.backwardOverride = backwardOverride;
  options.weight2D = weight2D;
  options.inputPow2 = inputPow2;
  options.weightPow2 = weightPow2;
  options.gradPow2 = gradPow2;
  options.inputEpsilon = inputEpsilon;
  options.weightEpsilon = weightEpsilon;
  options.gradEpsilon = gradEpsilon;
  options.inputBlockDim = inputBlockDim;
  options.weightBlockDim = weightBlockDim;
  options.gradBlockDim = gradBlockDim;
  options.disableRHT = disableRHT;
  options.disableStochasticRounding = disableStochasticRounding;
  options.disable2D = disable2D;
  options.fourOverSix = fourOverSix;
  options.fourOverSixE4M3256 = fourOverSixE4M3256;
  options.rowScaledActivations = rowScaledActivations;
  return options;
}

void QuantApplyRecipePass::configure(LinearConfig &config, Type weight) const {
  ArrayRef<int64_t> shape;
  if (auto tensor = dyn_cast<ShapedType>(weight))
    shape = tensor.getShape();
  else
    shape = cast<TensorSpecType>(weight).getShape();
  quantizers.apply(config, shape, target, optimizeForGemm);
  config.backwardOverride = backwardOverride;
}

template <typename Properties>
void QuantApplyRecipePass::setQuantizers(Properties &properties,
                                         const LinearConfig &config) {
  properties.input_quantizer = config.inputQuantizer;
  properties.weight_quantizer = config.weightQuantizer;
  properties.grad_output_quantizer = config.gradOutputQuantizer;
  if (config.backwardOverride != BackwardOverride::None)
    properties.backward_override =
        BackwardOverrideAttr::get(&getContext(), config.backwardOverride);
}

SmallVector<Value> QuantApplyRecipePass::addScales(Operation *op,
                                                   ArrayRef<LinearRole> roles) {
  SmallVector<Value> scales;
  for (LinearRole role : roles)
    scales.push_back(getInputs(op).addScale(role));
  return scales;
}

/// The amaxes are the op's last results.
void QuantApplyRecipePass::addAmaxes(Operation *op,
                                     ArrayRef<LinearRole> roles) {
  for (auto [index, role] : llvm::enumerate(roles))
    getInputs(op).addAmax(
        role, op->getResult(op->getNumResults() - roles.size() + index));
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

void QuantApplyRecipePass::applyToLinalg(linalg::LinalgOp op) {
  std::string reason;
  FailureOr<LinalgLinear> layer = matchLinalgLinear(op, reason);
  if (failed(layer))
    return emitStays(op, reason);
  auto wType = cast<RankedTensorType>(layer->weight.getType());
  if (layer->isWeightTransposed)
    wType = RankedTensorType::get({wType.getDimSize(1), wType.getDimSize(0)},
                                  wType.getElementType());

  LinearConfig config;
  config.isGradEnabled = false;
  auto yType = cast<RankedTensorType>(layer->last->getResult(0).getType());
  config.activationDtype = yType.getElementType();
  configure(config, wType);
  LinearOperands operands;
  operands.x = layer->x.getType();
  operands.w = wType;
  operands.bias = getTypeOrNull(layer->bias);
  FailureOr<LinearForwardPlan> plan =
      capture(op, reason, [&](EmitError emitError) {
        return planLinearForward(config, operands, emitError);
      });
  if (failed(plan))
    return emitStays(op, reason);
  if (plan->takesRandomState || !plan->scaleRoles.empty())
    reason = FunctionInputs::getObstacle(op, getOperation());
  if (!reason.empty())
    return emitStays(op, reason);

  OpBuilder builder(layer->last);
  Location loc = op.getLoc();
  Value weight = layer->weight;
  if (layer->isWeightTransposed) {
    SmallVector<Value> sizes;
    for (int64_t dim : {1, 0})
      if (cast<RankedTensorType>(weight.getType()).isDynamicDim(dim))
        sizes.push_back(tensor::DimOp::create(builder, loc, weight, dim));
    Value empty = tensor::EmptyOp::create(builder, loc, wType, sizes);
    weight = linalg::TransposeOp::create(builder, loc, weight, empty,
                                         ArrayRef<int64_t>{1, 0})
                 ->getResult(0);
  }
  SmallVector<Value> values{layer->x, weight};
  if (layer->bias)
    values.push_back(layer->bias);
  SmallVector<Value> scales = addScales(op, plan->scaleRoles);
  llvm::append_range(values, scales);
  if (plan->takesRandomState)
    values.push_back(getInputs(op).addRandomState(builder, loc,
                                                  getNumRandomParts(*plan)));

  LinearOp::Properties properties;
  setQuantizers(properties, config);
  properties.is_grad_enabled = builder.getBoolAttr(false);
  if (config.activationDtype !=
      cast<RankedTensorType>(layer->x.getType()).getElementType())
    properties.activation_dtype = TypeAttr::get(config.activationDtype);
  properties.operandSegmentSizes = {
      1, 1, layer->bias ? 1 : 0, 0, 0, static_cast<int32_t>(scales.size()),
      plan->takesRandomState ? 1 : 0};
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan->getResults(types, names);
  auto made = LinearOp::create(builder, loc, types, values, properties);
  addAmaxes(made, plan->scaleRoles);
  Value y = made.getResult(0);
  if (y.getType() != yType)
    y = tensor::CastOp::create(builder, loc, yType, y);
  layer->last->getResult(0).replaceAllUsesWith(y);
  bool isBias = layer->last != op.getOperation();
  layer->last->erase();
  if (isBias)
    op->erase();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Why a layer does not qualify, or else its plans.
std::string
QuantApplyRecipePass::whyNot(Layer &layer, LinearForwardPlan &plan,
                             SmallVectorImpl<LinearBackwardPlan> &backward) {
  LinearOp op = layer.forward;
  std::string reason;
  FailureOr<LinearForwardPlan> before = op.getPlan();
  if (failed(before))
    return "expected a valid layer";
  for (LinearSlot slot : {InputSlot, WeightmatSlot}) {
    bool isValue =
        !before->saved.empty() && before->saved[slot].kind == SavedSlot::Value;
    if (!isValue)
      continue;
    for (Operation *user : getSlot(op, *before, slot).getUsers())
      if (!llvm::is_contained(layer.backward, user))
        return "expected only the backward layer to read what it saves";
  }

  LinearConfig config = op.getConfig();
  configure(config, op.getW().getType());
  LinearOperands operands;
  operands.x = op.getX().getType();
  operands.w = op.getW().getType();
  operands.bias = getTypeOrNull(op.getBias());
  operands.workspace = getTypeOrNull(op.getWorkspace());
  operands.hasSkipUpdate = bool(op.getSkipUpdate());
  FailureOr<LinearForwardPlan> planned =
      capture(op, reason, [&](EmitError emitError) {
        return planLinearForward(config, operands, emitError);
      });
  if (failed(planned))
    return reason;
  plan = *planned;
  bool takesMore = plan.takesRandomState || !plan.scaleRoles.empty();

  auto getSlotType = [&](LinearSlot slot) -> Type {
    if (plan.saved.empty() || plan.saved[slot].kind == SavedSlot::None)
      return {};
    const SavedSlot &saved = plan.saved[slot];
    if (saved.kind == SavedSlot::Value)
      return saved.value;
    if (saved.alias == "inp")
      return operands.x;
    if (saved.alias == "weight")
      return operands.w;
    return plan.weight.weightmat;
  };
  for (LinearBackwardOp gradient : layer.backward) {
    LinearConfig gradientConfig = gradient.getConfig();
    configure(gradientConfig, op.getW().getType());
    LinearBackwardOperands slots;
    slots.dy = gradient.getDy().getType();
    if (gradient.getInput())
      slots.input = getSlotType(InputSlot);
    slots.weightmat = getSlotType(WeightmatSlot);
    slots.weight = gradient.getWeight().getType();
    slots.bias = getTypeOrNull(gradient.getBias());
    slots.mainGrad = getTypeOrNull(gradient.getAccumulate());
    FailureOr<LinearBackwardPlan> gradientPlan =
        capture(gradient, reason, [&](EmitError emitError) {
          return planLinearBackward(gradientConfig, slots, emitError);
        });
    if (failed(gradientPlan))
      return reason + " (in backward)";
    takesMore |= gradientPlan->takesRandomState ||
                 !gradientPlan->scaleRoles.empty();
    backward.push_back(*gradientPlan);
  }
  return takesMore ? FunctionInputs::getObstacle(op, getOperation())
                   : std::string();
}

void QuantApplyRecipePass::applyToLayer(Layer &layer) {
  LinearOp op = layer.forward;
  LinearForwardPlan plan;
  SmallVector<LinearBackwardPlan, 0> gradientPlans;
  std::string reason = whyNot(layer, plan, gradientPlans);
  if (!reason.empty()) {
    emitStays(op, reason);
    for (LinearBackwardOp gradient : layer.backward)
      emitStays(gradient, "the layer that it belongs to does");
    return;
  }

  OpBuilder builder(op);
  SmallVector<Value> values{op.getX(), op.getW()};
  for (Value value : std::initializer_list<Value>{
           op.getBias(), op.getWorkspace(), op.getSkipUpdate()})
    if (value)
      values.push_back(value);
  SmallVector<Value> scales = addScales(op, plan.scaleRoles);
  llvm::append_range(values, scales);
  if (plan.takesRandomState)
    values.push_back(getInputs(op).addRandomState(builder, op.getLoc(),
                                                  getNumRandomParts(plan)));
  LinearConfig config = op.getConfig();
  configure(config, op.getW().getType());
  LinearOp::Properties properties = op.getProperties();
  setQuantizers(properties, config);
  properties.operandSegmentSizes[5] = scales.size();
  properties.operandSegmentSizes[6] = plan.takesRandomState;
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  auto made = LinearOp::create(
      builder, op.getLoc(), types, values, properties,
      llvm::to_vector(op->getDiscardableAttrs()));
  addAmaxes(made, plan.scaleRoles);

  for (auto [gradient, gradientPlan] :
       llvm::zip_equal(layer.backward, gradientPlans)) {
    builder.setInsertionPoint(gradient);
    SmallVector<Value> values{gradient.getDy()};
    if (gradient.getInput())
      values.push_back(getSlot(made, plan, InputSlot));
    Value weightmat = getSlot(made, plan, WeightmatSlot);
    if (weightmat)
      values.push_back(weightmat);
    values.push_back(gradient.getWeight());
    for (Value value : std::initializer_list<Value>{
             gradient.getBias(), gradient.getAccumulate()})
      if (value)
        values.push_back(value);
    SmallVector<Value> scales = addScales(gradient, gradientPlan.scaleRoles);
    llvm::append_range(values, scales);
    if (gradientPlan.takesRandomState)
      values.push_back(getInputs(gradient).addRandomState(
          builder, gradient.getLoc(), getNumRandomParts(gradientPlan)));
    LinearConfig config = gradient.getConfig();
    configure(config, gradient.getWeight().getType());
    LinearBackwardOp::Properties properties = gradient.getProperties();
    setQuantizers(properties, config);
    properties.operandSegmentSizes[2] = weightmat ? 1 : 0;
    properties.operandSegmentSizes[6] = scales.size();
    properties.operandSegmentSizes[7] = gradientPlan.takesRandomState;
    SmallVector<Type> types;
    SmallVector<std::string> names;
    gradientPlan.getResults(types, names);
    auto madeGradient = LinearBackwardOp::create(
        builder, gradient.getLoc(), types, values, properties,
        llvm::to_vector(gradient->getDiscardableAttrs()));
    addAmaxes(madeGradient, gradientPlan.scaleRoles);
    // An amax is the last result, so the gradients keep their positions.
    for (Value result : gradient.getResults())
      result.replaceAllUsesWith(
          madeGradient.getResult(cast<OpResult>(result).getResultNumber()));
    gradient.erase();
  }
  op.getResult(0).replaceAllUsesWith(made.getResult(0));
  op.erase();
}

/// Whether `gradient` is the backward of `op`: it has what `op` saves.
static bool isBackwardOf(LinearBackwardOp gradient, LinearOp op) {
  FailureOr<LinearForwardPlan> plan = op.getPlan();
  if (failed(plan) || plan->saved.empty() ||
      gradient->getBlock() != op->getBlock() ||
      !op->isBeforeInBlock(gradient))
    return false;
  return gradient.getWeight() == op.getW() &&
         gradient.getBias() == op.getBias() &&
         gradient.getWeightmat() == getSlot(op, *plan, WeightmatSlot) &&
         gradient.getInput() == getSlot(op, *plan, InputSlot);
}

void QuantApplyRecipePass::runOnOperation() {
  ModuleOp module = getOperation();
  auto emit = [&] { return emitError(module.getLoc()); };
  FailureOr<QuantRecipe> made = makeRecipe(getOptions(), &getContext(), emit);
  if (failed(made))
    return signalPassFailure();
  quantizers = *made;
  if (!chip.empty()) {
    target = TargetInfo::lookup(chip);
    if (!target) {
      emit() << "unknown chip '" << chip << "', expected one of "
             << TargetInfo::getKnownChips();
      return signalPassFailure();
    }
  }

  SmallVector<Layer> layers;
  SmallVector<LinearBackwardOp> gradients;
  SmallVector<linalg::LinalgOp> contractions;
  module.walk([&](Operation *op) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      if (!linear.getConfig().isQuantized())
        layers.push_back({linear, {}});
    } else if (auto gradient = dyn_cast<LinearBackwardOp>(op)) {
      if (!gradient.getConfig().isQuantized())
        gradients.push_back(gradient);
    } else if (auto contraction = dyn_cast<linalg::LinalgOp>(op)) {
      if (isLinalgContraction(contraction))
        contractions.push_back(contraction);
    }
  });
  if (target) {
    std::string reason = getUnavailability(recipe, *target);
    if (!reason.empty()) {
      for (Layer &layer : layers)
        emitStays(layer.forward, reason);
      for (LinearBackwardOp gradient : gradients)
        emitStays(gradient, reason);
      for (linalg::LinalgOp contraction : contractions)
        emitStays(contraction, reason);
      return;
    }
  }

  // Layers of the same operands are told apart by nothing, nor need they be.
  DenseMap<Value, SmallVector<size_t>> byWeight;
  for (auto [index, layer] : llvm::enumerate(layers))
    byWeight[layer.forward.getW()].push_back(index);
  for (LinearBackwardOp gradient : gradients) {
    ArrayRef<size_t> candidates = byWeight[gradient.getWeight()];
    auto *found = llvm::find_if(candidates, [&](size_t index) {
      return isBackwardOf(gradient, layers[index].forward);
    });
    if (found == candidates.end())
      emitStays(gradient, "expected a layer before it in the block that saves "
                       "its operands");
    else
      layers[*found].backward.push_back(gradient);
  }
  for (Layer &layer : layers)
    applyToLayer(layer);
  for (linalg::LinalgOp contraction : contractions)
    applyToLinalg(contraction);
}
