//===- QuantApplyRecipe.cpp - quantizers for linear layers ----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer qualifies where what it would become can be taken apart into ops that
// verify. That is tried on a copy, so that no rule is stated here again. Ids
// such as R-5 are those of docs/rules.md.
//
//===----------------------------------------------------------------------===//

#include "DecomposeLinear.h"
#include "LinalgLinear.h"
#include "RandomState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "te/Dialect/Quant/IR/ModulePlan.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantModuleOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "te/Target/TargetInfo.h"
#include "llvm/ADT/MapVector.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTAPPLYRECIPEPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// State that functions gain
//===----------------------------------------------------------------------===//

namespace {
/// The arguments and results that the layers of a function add to it: scales
/// and amaxes of delayed scaling in the order of the layers, and one random
/// state.
class FunctionState {
public:
  explicit FunctionState(func::FuncOp func) : func(func) {
    firstScale = func.getNumArguments();
    // The stream stays the last argument.
    if (firstScale > 0 &&
        isa<LLVM::LLVMPointerType>(func.getArgumentTypes().back()))
      --firstScale;
  }

  bool isEmpty() const { return numScales == 0 && !rng; }
  unsigned getNumScales() const { return numScales; }
  unsigned getFirstScale() const { return firstScale; }
  /// The parts of the random stream that one call draws from.
  unsigned getNumParts() const { return numParts; }

  Value addScale(Location loc) {
    Builder builder(func.getContext());
    return addArgument(firstScale + numScales++,
                       RankedTensorType::get({1}, builder.getF32Type()), loc);
  }

  /// `numTaken`: parts of the stream that are drawn from.
  Value addRandomState(OpBuilder &builder, Location loc, unsigned numTaken) {
    if (!rng)
      rng = addArgument(firstScale + numScales,
                        RankedTensorType::get({2}, builder.getI64Type()), loc);
    Value state = shiftRandomState(builder, loc, rng, numParts);
    numParts += numTaken;
    return state;
  }

  void addAmaxes(ValueRange values) { llvm::append_range(amaxes, values); }

  /// Returns the amaxes after what the function returned before.
  void finish() {
    if (amaxes.empty())
      return;
    Operation *terminator = func.getBody().front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), amaxes);
    for (Value amax : amaxes)
      (void)func.insertResult(func.getNumResults(), amax.getType(), {});
  }

private:
  Value addArgument(unsigned index, Type type, Location loc) {
    (void)func.insertArgument(index, type, {}, loc);
    return func.getArgument(index);
  }

  func::FuncOp func;
  unsigned firstScale, numScales = 0, numParts = 0;
  Value rng;
  SmallVector<Value> amaxes;
};

/// Which functions can gain arguments and results.
class Callers {
public:
  explicit Callers(ModuleOp module) {
    // By name, whatever the op: of an op that is not registered nothing is
    // known but its attributes.
    module.walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](SymbolRefAttr reference) {
        users[reference.getLeafReference()].push_back(op);
      });
    });
  }

  /// Whether all calls can pass state on: they are straight-line code of
  /// functions that can, too.
  bool canPassState(func::FuncOp func) {
    auto [entry, isNew] = known.try_emplace(func, false);
    // Of a recursive function the entry is still false.
    if (!isNew)
      return entry->second;
    auto found = users.find(func.getSymNameAttr());
    ArrayRef<Operation *> callers;
    if (found != users.end())
      callers = found->second;
    bool result =
        func.getBody().hasOneBlock() &&
        llvm::all_of(callers, [&](Operation *user) {
          auto caller = dyn_cast<func::FuncOp>(user->getParentOp());
          return isa<func::CallOp>(user) && caller && canPassState(caller);
        });
    return known[func] = result;
  }

private:
  llvm::DenseMap<StringAttr, SmallVector<Operation *>> users;
  llvm::DenseMap<Operation *, bool> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
/// A layer as far as a function has it: either direction may be missing.
struct Layer {
  LinearOp forward;
  SmallVector<LinearBackwardOp, 1> backward;

  Operation *getFirst() { return forward ? forward : backward.front(); }
  SmallVector<Operation *> getOps() {
    SmallVector<Operation *> ops(backward.begin(), backward.end());
    if (forward)
      ops.push_back(forward);
    return ops;
  }
};

/// What the slots hold, null where there is nothing.
using Slots = std::array<Value, std::size(linearSlotNames)>;
} // namespace

/// The slots as what backward takes them from.
static Slots getSavedValues(LinearOp op, const LinearForwardPlan &plan) {
  Slots slots = {};
  unsigned next = 1;
  Value workspace = op.getWorkspace();
  if (plan.getWorkspaceResult())
    workspace = op.getResult(next++);
  for (auto [index, slot] : llvm::enumerate(plan.saved)) {
    if (slot.kind == SavedSlot::Value)
      slots[index] = op.getResult(next++);
    else if (slot.kind == SavedSlot::Alias)
      slots[index] = llvm::StringSwitch<Value>(slot.alias)
                         .Case("inp", op.getX())
                         .Case("weight", op.getW())
                         .Case("bias", op.getBias())
                         .Default(workspace);
  }
  return slots;
}

static Slots getSlots(LinearBackwardOp op) {
  return {op.getInput(), op.getWeightmat(), op.getWeight(), op.getBias()};
}

/// The op's attributes with the quantizers of the recipe; also in `config`.
template <typename OpTy>
static typename OpTy::Properties applyRecipe(OpTy op, const Recipe &recipe,
                                             LinearConfig &config) {
  typename OpTy::Properties properties = op.getProperties();
  config = op.getConfig();
  properties.input_quantizer = config.inputQuantizer = recipe.input;
  properties.weight_quantizer = config.weightQuantizer = recipe.weight;
  // R-5, 5.2: gradients have quantizers where there are gradients, outputs have
  // none.
  if (config.isGradEnabled)
    properties.grad_output_quantizer = config.gradOutputQuantizer =
        recipe.gradOutput;
  // an override that the layer has itself counts.
  if (recipe.backwardOverride != BackwardOverride::None &&
      config.backwardOverride == BackwardOverride::None) {
    config.backwardOverride = recipe.backwardOverride;
    properties.backward_override =
        BackwardOverrideAttr::get(op.getContext(), recipe.backwardOverride);
  }
  return properties;
}

/// Creates an op of `plan` from its groups of operands.
template <typename OpTy, typename PlanTy>
static OpTy createLayer(OpBuilder &builder, OpTy op,
                        typename OpTy::Properties properties,
                        const PlanTy &plan, ArrayRef<Value> groups,
                        FunctionState &function) {
  OperationState state(op.getLoc(), OpTy::getOperationName());
  SmallVector<int32_t> segments;
  for (Value operand : groups) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      state.addOperands(operand);
  }
  // scales come in and amaxes go out; what becomes of them in between is
  // not the layer's.
  segments.push_back(plan.scaleRoles.size());
  for ([[maybe_unused]] LinearRole role : plan.scaleRoles)
    state.addOperands(function.addScale(op.getLoc()));
  segments.push_back(plan.takesRandomState ? 1 : 0);
  if (plan.takesRandomState)
    state.addOperands(
        function.addRandomState(builder, op.getLoc(), randomPartsPerLinear));
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  state.getOrAddProperties<typename OpTy::Properties>() = properties;
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  state.addTypes(types);
  auto created = cast<OpTy>(builder.create(state));
  function.addAmaxes(created.getResults().take_back(plan.scaleRoles.size()));
  return created;
}

/// The quantized form of `op`, with operands of `mapping`, and its slots.
static FailureOr<LinearOp> buildForward(OpBuilder &builder, LinearOp op,
                                        const Recipe &recipe,
                                        const IRMapping &mapping,
                                        FunctionState &function, Slots &slots) {
  LinearConfig config;
  LinearOp::Properties properties = applyRecipe(op, recipe, config);
  SmallVector<Value> groups;
  for (Value operand :
       std::initializer_list<Value>{op.getX(), op.getW(), op.getBias(),
                                    op.getWorkspace(), op.getSkipUpdate()})
    groups.push_back(operand ? mapping.lookupOrDefault(operand) : Value());
  auto getType = [](Value value) { return value ? value.getType() : Type(); };
  LinearOperands operands;
  operands.x = getType(groups[0]);
  operands.w = getType(groups[1]);
  operands.bias = getType(groups[2]);
  operands.workspace = getType(groups[3]);
  operands.hasSkipUpdate = bool(groups[4]);
  FailureOr<LinearForwardPlan> plan =
      planLinearForward(config, operands, [&] { return op.emitOpError(); });
  if (failed(plan))
    return failure();
  LinearOp created =
      createLayer(builder, op, properties, *plan, groups, function);
  slots = getSavedValues(created, *plan);
  return created;
}

static FailureOr<LinearBackwardOp>
buildBackward(OpBuilder &builder, LinearBackwardOp op, const Recipe &recipe,
              const IRMapping &mapping, FunctionState &function,
              const Slots &slots) {
  LinearConfig config;
  LinearBackwardOp::Properties properties = applyRecipe(op, recipe, config);
  SmallVector<Value> groups = {mapping.lookupOrDefault(op.getDy())};
  llvm::append_range(groups, slots);
  groups.push_back(op.getAccumulate()
                       ? mapping.lookupOrDefault(op.getAccumulate())
                       : Value());
  auto getType = [](Value value) { return value ? value.getType() : Type(); };
  LinearBackwardOperands operands;
  operands.dy = getType(groups[0]);
  operands.input = getType(groups[1]);
  operands.weightmat = getType(groups[2]);
  operands.weight = getType(groups[3]);
  operands.bias = getType(groups[4]);
  operands.mainGrad = getType(groups[5]);
  FailureOr<LinearBackwardPlan> plan =
      planLinearBackward(config, operands, [&] { return op.emitOpError(); });
  if (failed(plan))
    return failure();
  return createLayer(builder, op, properties, *plan, groups, function);
}

//===----------------------------------------------------------------------===//
// Which layers qualify
//===----------------------------------------------------------------------===//

namespace {
/// Whether a layer can be quantized.
struct Verdict {
  /// Empty where it can.
  std::string reason;
  /// Whether it adds arguments or results to its function.
  bool needsState = false;
};

/// Quantizes copies of layers and takes them apart, to see whether that works.
class Trials {
public:
  Trials(MLIRContext *context, const Recipe &recipe)
      : context(context), recipe(recipe) {}

  /// Layers with equal operand types and attributes share a verdict.
  const Verdict &run(Layer layer) {
    auto [entry, isNew] = verdicts.try_emplace(getKey(layer));
    if (isNew)
      entry->second = tryLayer(layer);
    return entry->second;
  }

private:
  static Attribute getKey(Layer layer);
  Verdict tryLayer(Layer layer);
  LogicalResult build(OpBuilder &builder, Layer layer, FunctionState &state,
                      SmallVectorImpl<Operation *> &created);

  MLIRContext *context;
  const Recipe &recipe;
  llvm::DenseMap<Attribute, Verdict> verdicts;
};
} // namespace

Attribute Trials::getKey(Layer layer) {
  Builder builder(layer.getFirst()->getContext());
  SmallVector<Attribute> key;
  for (Operation *op : layer.getOps()) {
    key.push_back(builder.getStringAttr(op->getName().getStringRef()));
    key.push_back(op->getAttrDictionary());
    key.push_back(
        builder.getTypeArrayAttr(llvm::to_vector(op->getOperandTypes())));
  }
  return builder.getArrayAttr(key);
}

LogicalResult Trials::build(OpBuilder &builder, Layer layer,
                            FunctionState &state,
                            SmallVectorImpl<Operation *> &created) {
  // Arguments of the function stand for what the layer is given.
  Block *block = builder.getInsertionBlock();
  IRMapping mapping;
  for (Operation *op : layer.getOps())
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand,
                    block->addArgument(operand.getType(), operand.getLoc()));
  std::optional<Slots> slots;
  if (layer.forward) {
    FailureOr<LinearOp> forward = buildForward(builder, layer.forward, recipe,
                                               mapping, state, slots.emplace());
    if (failed(forward))
      return failure();
    created.push_back(*forward);
  }
  for (LinearBackwardOp op : layer.backward) {
    Slots own = getSlots(op);
    for (Value &value : own)
      value = value ? mapping.lookup(value) : value;
    FailureOr<LinearBackwardOp> backward =
        buildBackward(builder, op, recipe, mapping, state, slots.value_or(own));
    if (failed(backward))
      return failure();
    created.push_back(*backward);
  }
  return success();
}

Verdict Trials::tryLayer(Layer layer) {
  Verdict verdict;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (verdict.reason.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      std::string text = diagnostic.str();
      // The remark names the op itself.
      StringRef reason = text;
      for (StringRef name : {LinearOp::getOperationName(),
                             LinearBackwardOp::getOperationName()})
        if (reason.consume_front(("'" + name + "' op ").str()))
          break;
      verdict.reason = reason.str();
    }
    return success();
  });
  Location loc = layer.getFirst()->getLoc();
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  OpBuilder builder(module->getBodyRegion());
  auto func = func::FuncOp::create(builder, loc, "layer",
                                   builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(func.addEntryBlock());
  auto terminator = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(terminator);

  FunctionState state(func);
  SmallVector<Operation *> created;
  bool isBuilt = succeeded(build(builder, layer, state, created));
  verdict.needsState = !state.isEmpty();
  func.setType(builder.getFunctionType(func.getBody().getArgumentTypes(), {}));
  bool isLegal = isBuilt && succeeded(verify(*module));
  if (isLegal) {
    IRRewriter rewriter(context);
    // What is replaced first has its uses in what comes after.
    for (Operation *op : created)
      isLegal = isLegal && succeeded(decomposeLinear(rewriter, op));
    isLegal = isLegal && succeeded(verify(*module));
  }
  if (!isLegal && verdict.reason.empty())
    verdict.reason = "its parts do not verify";
  return verdict;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct QuantApplyRecipePass
    : te::quant::impl::QuantApplyRecipePassBase<QuantApplyRecipePass> {
  using QuantApplyRecipePassBase::QuantApplyRecipePassBase;

  void runOnOperation() override;

private:
  FailureOr<RecipeOptions> readOptions();
  /// Makes plain linear layers of those products that qualify.
  void raise(Trials &trials, Callers &callers);
  SmallVector<Layer> collect();
  /// Empty where the layer can be quantized.
  std::string whyNot(Layer layer, Trials &trials, Callers &callers);
  /// Quantizes the chosen ops of a function, and first of those that it calls.
  void rewrite(func::FuncOp func, const Recipe &recipe);
  void rewriteCall(RewriterBase &rewriter, func::CallOp call,
                   const Recipe &recipe, FunctionState &state);

  /// why no layer can be quantized for the chip.
  std::string unavailable;
  /// The ops to be quantized; for backward the forward op or null.
  llvm::DenseMap<Operation *, LinearOp> chosen;
  /// What functions gained that are done.
  llvm::DenseMap<Operation *, FunctionState> states;
};
} // namespace

/// `name` as a role that a recipe has a quantizer for.
static std::optional<LinearRole> parseRole(StringRef name) {
  for (LinearRole role :
       {LinearRole::Input, LinearRole::Weight, LinearRole::GradOutput})
    if (name == stringifyLinearRole(role))
      return role;
  return std::nullopt;
}

FailureOr<RecipeOptions> QuantApplyRecipePass::readOptions() {
  RecipeOptions options;
  auto emit = [&] { return emitError(getOperation().getLoc()); };
  if (!recipe.hasValue()) {
    emit() << "'" << getArgument() << "' needs the option 'recipe'";
    return failure();
  }
  options.kind = recipe;
  options.backwardOverride = backwardOverride;
  auto read = [](auto &option, auto &into) {
    if (option.hasValue())
      into = option.getValue();
  };
  read(fp8Format, options.fp8Format);
  read(amaxEpsilonInput, options.amaxEpsilonInput);
  read(amaxEpsilonWeight, options.amaxEpsilonWeight);
  read(amaxEpsilonGradOutput, options.amaxEpsilonGradOutput);
  read(withRHT, options.withRHT);
  read(stochasticRounding, options.stochasticRounding);
  read(rowScaledActivation, options.rowScaledActivation);
  read(use4Over6, options.use4Over6);
  read(e4m3Max256, options.e4m3Max256);
  read(errMode, options.errMode);
  auto readRoles = [&](auto &names, StringRef option,
                       auto &into) -> LogicalResult {
    if (!names.hasValue())
      return success();
    into.emplace();
    if (names.size() == 1 && names[0] == "none")
      return success();
    for (StringRef name : names) {
      std::optional<LinearRole> role = parseRole(name);
      if (!role)
        return emit() << "expected roles of 'input', 'weight' and "
                         "'grad_output', or 'none', for '"
                      << option << "', but got '" << name << "'";
      if (!llvm::is_contained(*into, *role))
        into->push_back(*role);
    }
    return success();
  };
  if (failed(readRoles(with2DQuantization, "with-2d-quantization",
                       options.with2DQuantization)) ||
      failed(readRoles(forcePow2Scales, "force-pow-2-scales",
                       options.forcePow2Scales)))
    return failure();
  return options;
}

static void emitReason(Operation *op, StringRef reason) {
  op->emitRemark() << "'" << op->getName()
                   << "' op is not quantized: " << reason;
}

/// The plain layers of the module, each backward op with the forward op that
/// saved what it is given.
SmallVector<Layer> QuantApplyRecipePass::collect() {
  llvm::MapVector<Operation *, Layer> layers;
  DominanceInfo dominance(getOperation());
  getOperation().walk([&](Operation *op) {
    if (auto forward = dyn_cast<LinearOp>(op)) {
      if (!forward.getConfig().isQuantized())
        layers[op].forward = forward;
      return;
    }
    auto backward = dyn_cast<LinearBackwardOp>(op);
    if (!backward || backward.getConfig().isQuantized())
      return;
    for (Operation *user : backward.getWeight().getUsers()) {
      auto *found = layers.find(user);
      if (found == layers.end() || !found->second.forward ||
          !dominance.properlyDominates(user, op))
        continue;
      auto forward = cast<LinearOp>(user);
      FailureOr<LinearForwardPlan> plan = forward.getPlan();
      if (failed(plan) || getSavedValues(forward, *plan) != getSlots(backward))
        continue;
      found->second.backward.push_back(backward);
      return;
    }
    layers[op].backward.push_back(backward);
  });
  return llvm::map_to_vector(layers, [](auto &entry) { return entry.second; });
}

std::string QuantApplyRecipePass::whyNot(Layer layer, Trials &trials,
                                         Callers &callers) {
  if (!unavailable.empty())
    return unavailable;
  if (!layer.getFirst()->getParentOfType<func::FuncOp>())
    return "it is in no 'func.func'";
  // What the plain layer saved in values of its own has another type then.
  if (layer.forward)
    for (Value result : layer.forward->getResults().drop_front())
      for (Operation *user : result.getUsers())
        if (!llvm::is_contained(layer.backward, user))
          return "what it saves for backward is used by '" +
                 user->getName().getStringRef().str() + "'";
  const Verdict &verdict = trials.run(layer);
  if (!verdict.reason.empty() || !verdict.needsState)
    return verdict.reason;
  for (Operation *op : layer.getOps()) {
    auto func = dyn_cast<func::FuncOp>(op->getParentOp());
    if (!func)
      return "its scales or its random state would be those of '" +
             op->getParentOp()->getName().getStringRef().str() +
             "', not of a function";
    if (!callers.canPassState(func))
      return "calls of '" + func.getSymName().str() +
             "' cannot pass scales or a random state on";
  }
  return {};
}

void QuantApplyRecipePass::rewriteCall(RewriterBase &rewriter,
                                       func::CallOp call, const Recipe &recipe,
                                       FunctionState &state) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee)
    return;
  rewrite(callee, recipe);
  const FunctionState &gained = states.find(callee)->second;
  if (gained.isEmpty())
    return;
  SmallVector<Value> operands;
  for (unsigned index = 0; index < gained.getNumScales(); ++index)
    operands.push_back(state.addScale(
        callee.getArgument(gained.getFirstScale() + index).getLoc()));
  if (gained.getNumParts() > 0)
    operands.push_back(
        state.addRandomState(rewriter, call.getLoc(), gained.getNumParts()));
  call->insertOperands(gained.getFirstScale(), operands);
  auto created =
      func::CallOp::create(rewriter, call.getLoc(), callee, call.getOperands());
  created->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  unsigned numResults = call.getNumResults();
  state.addAmaxes(created.getResults().drop_front(numResults));
  rewriter.replaceOp(call, created.getResults().take_front(numResults));
}

void QuantApplyRecipePass::rewrite(func::FuncOp func, const Recipe &recipe) {
  if (!states.try_emplace(func, func).second)
    return;
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (chosen.contains(op) || isa<func::CallOp>(op))
      ops.push_back(op);
  });
  FunctionState state(func);
  llvm::DenseMap<Operation *, Slots> slots;
  SmallVector<Operation *> replaced;
  IRRewriter rewriter(&getContext());
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto call = dyn_cast<func::CallOp>(op)) {
      rewriteCall(rewriter, call, recipe, state);
      continue;
    }
    Operation *created = nullptr;
    if (auto forward = dyn_cast<LinearOp>(op)) {
      Slots saved;
      FailureOr<LinearOp> built =
          buildForward(rewriter, forward, recipe, {}, state, saved);
      if (succeeded(built))
        created = *built;
      slots[op] = saved;
    } else {
      auto backward = cast<LinearBackwardOp>(op);
      LinearOp partner = chosen[op];
      FailureOr<LinearBackwardOp> built =
          buildBackward(rewriter, backward, recipe, {}, state,
                        partner ? slots[partner] : getSlots(backward));
      if (succeeded(built))
        created = *built;
    }
    if (!created) {
      // A trial has shown that it can be built.
      signalPassFailure();
      return;
    }
    // The other results of forward are slots, which backward is given anew.
    unsigned numKept = isa<LinearOp>(op) ? 1 : op->getNumResults();
    rewriter.replaceAllUsesWith(op->getResults().take_front(numKept),
                                created->getResults().take_front(numKept));
    replaced.push_back(op);
  }
  // Backward before forward.
  for (Operation *op : llvm::reverse(replaced))
    rewriter.eraseOp(op);
  state.finish();
  states.find(func)->second = state;
}

void QuantApplyRecipePass::raise(Trials &trials, Callers &callers) {
  SmallVector<linalg::LinalgOp> products;
  getOperation().walk([&](linalg::LinalgOp op) {
    if (isProduct(op))
      products.push_back(op);
  });
  IRRewriter rewriter(&getContext());
  for (linalg::LinalgOp product : products) {
    std::string reason;
    FailureOr<LinalgLinear> match =
        matchLinalgLinear(product, weightSource, reason);
    if (failed(match)) {
      emitReason(product, reason);
      continue;
    }
    SmallVector<Operation *> created;
    LinearOp linear = createLinear(rewriter, *match, isGradEnabled, created);
    Layer layer;
    layer.forward = linear;
    reason = linear ? whyNot(layer, trials, callers)
                    : "its operands make no linear layer";
    if (reason.empty()) {
      replaceByLinear(rewriter, *match, linear);
      continue;
    }
    emitReason(product, reason);
    for (Operation *op : llvm::reverse(created))
      rewriter.eraseOp(op);
  }
}

void QuantApplyRecipePass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<RecipeOptions> options = readOptions();
  if (failed(options))
    return signalPassFailure();
  FailureOr<Recipe> made = makeRecipe(
      &getContext(), *options, [&] { return emitError(module.getLoc()); });
  if (failed(made))
    return signalPassFailure();
  unavailable.clear();
  chosen.clear();
  states.clear();
  if (!chip.empty()) {
    const TargetInfo *target = TargetInfo::lookup(chip);
    if (!target) {
      emitError(module.getLoc())
          << "unknown chip '" << chip << "', expected one of "
          << TargetInfo::getKnownChips();
      return signalPassFailure();
    }
    isRecipeAvailable(options->kind, target->getComputeCapability(),
                      unavailable);
  }

  Trials trials(&getContext(), *made);
  Callers callers(module);
  raise(trials, callers);
  for (Layer layer : collect()) {
    std::string reason = whyNot(layer, trials, callers);
    if (!reason.empty()) {
      emitReason(layer.getFirst(), reason);
      continue;
    }
    if (layer.forward)
      chosen[layer.forward] = {};
    for (LinearBackwardOp backward : layer.backward)
      chosen[backward] = layer.forward;
  }
  module.walk([&](Operation *op) {
    bool isModule =
        isa<LayerNormLinearOp, LayerNormLinearBackwardOp, LayerNormMLPOp,
            LayerNormMLPBackwardOp, GroupedLinearOp, GroupedLinearBackwardOp>(
            op);
    bool isQuantized =
        llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
          return isa<QuantizerAttrInterface>(attribute.getValue());
        });
    if (isModule && !isQuantized)
      emitReason(op, "recipes are applied to the linear layers that "
                     "'te-quant-decompose-modules' takes it apart into");
  });
  // Those of nested modules, too.
  SmallVector<func::FuncOp> functions;
  module.walk([&](func::FuncOp func) { functions.push_back(func); });
  for (func::FuncOp func : functions)
    rewrite(func, *made);
}
