//===- LinearOps.cpp - syntax, inference and verification of linear layers -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace te::quant;

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantLinearOps.cpp.inc"

void TEQuantDialect::registerLinearOps() {
  addOperations<
#define GET_OP_LIST
#include "te/Dialect/Quant/IR/QuantLinearOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// From ops to plans
//===----------------------------------------------------------------------===//

/// The configuration of an op or of its adaptor.
template <typename OpTy>
static LinearConfig readConfig(OpTy op) {
  LinearConfig config;
  auto get = [](std::optional<QuantizerAttrInterface> quantizer) {
    return quantizer.value_or(QuantizerAttrInterface());
  };
  config.inputQuantizer = get(op.getInputQuantizer());
  config.weightQuantizer = get(op.getWeightQuantizer());
  config.outputQuantizer = get(op.getOutputQuantizer());
  config.gradInputQuantizer = get(op.getGradInputQuantizer());
  config.gradOutputQuantizer = get(op.getGradOutputQuantizer());
  config.activationDtype = op.getActivationDtype().value_or(Type());
  config.isGradEnabled = op.getIsGradEnabled();
  config.inputRequiresGrad = op.getInputRequiresGrad();
  config.weightRequiresGrad = op.getWeightRequiresGrad();
  config.biasRequiresGrad = op.getBiasRequiresGrad();
  config.saveOriginalInput = op.getSaveOriginalInput();
  config.backwardOverride = op.getBackwardOverride();
  config.microbatch = op.getMicrobatch();
  config.cacheWeight = op.getCacheWeight();
  config.parallelMode = op.getParallelMode();
  config.sequenceParallel = op.getSequenceParallel();
  config.tpSize = op.getTpSize();
  config.fsdp2 = op.getFsdp2();
  config.activationRecompute = op.getActivationRecompute();
  config.recipeIsCustom = op.getRecipeIsCustom();
  return config;
}

static Type getTypeOrNull(Value value) {
  return value ? value.getType() : Type();
}

template <typename OpTy>
static FailureOr<LinearForwardPlan> planForward(OpTy op, EmitError emitError) {
  LinearOperands operands;
  operands.x = op.getX().getType();
  operands.w = op.getW().getType();
  operands.bias = getTypeOrNull(op.getBias());
  operands.workspace = getTypeOrNull(op.getWorkspace());
  operands.hasSkipUpdate = bool(op.getSkipUpdate());
  return planLinearForward(readConfig(op), operands, emitError);
}

template <typename OpTy>
static LinearConfig readBackwardConfig(OpTy op) {
  LinearConfig config = readConfig(op);
  config.fuseWgradAccumulation = op.getFuseWgradAccumulation();
  return config;
}

template <typename OpTy>
static FailureOr<LinearBackwardPlan> planBackward(OpTy op,
                                                  EmitError emitError) {
  LinearBackwardOperands operands;
  operands.dy = op.getDy().getType();
  operands.input = getTypeOrNull(op.getInput());
  operands.weightmat = getTypeOrNull(op.getWeightmat());
  operands.weight = op.getWeight().getType();
  operands.bias = getTypeOrNull(op.getBias());
  operands.mainGrad = getTypeOrNull(op.getAccumulate());
  return planLinearBackward(readBackwardConfig(op), operands, emitError);
}

/// For callers that only want to know.
static InFlightDiagnostic emitNothing() { return InFlightDiagnostic(); }

LinearConfig LinearOp::getConfig() { return readConfig(*this); }

FailureOr<LinearForwardPlan> LinearOp::getPlan() {
  return planForward(*this, emitNothing);
}

LinearConfig LinearBackwardOp::getConfig() { return readBackwardConfig(*this); }

FailureOr<LinearBackwardPlan> LinearBackwardOp::getPlan() {
  return planBackward(*this, emitNothing);
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// The groups that have one operand: input and weight, gradient and weight.
static constexpr unsigned requiredForward[] = {0, 1};
static constexpr unsigned requiredBackward[] = {0, 3};

/// Checks that the operands are those of the groups: their number is not known
/// to be right before an op exists, nor later that none is missing.
static LogicalResult verifySegments(ArrayRef<int32_t> segments,
                                    size_t numOperands,
                                    ArrayRef<unsigned> required,
                                    EmitError emitError) {
  int64_t sum = 0;
  for (int32_t segment : segments) {
    if (segment < 0)
      return emitError() << "expected segments of at least 0 operands, but got "
                         << segment;
    sum += segment;
  }
  if (static_cast<size_t>(sum) != numOperands)
    return emitError() << "expected " << sum
                       << " operands as 'operandSegmentSizes' says, but got "
                       << numOperands;
  for (unsigned index : required)
    if (segments[index] != 1)
      return emitError() << "expected one operand in group " << index
                         << ", but got " << segments[index];
  return success();
}

template <typename OpTy, typename PlanFn>
static LogicalResult
inferLinear(PlanFn planFn, ArrayRef<unsigned> required,
            std::optional<Location> loc, ValueRange operands,
            DictionaryAttr attributes, OpaqueProperties properties,
            RegionRange regions, SmallVectorImpl<Type> &inferredReturnTypes) {
  auto emit = [&]() -> InFlightDiagnostic {
    if (!loc)
      return InFlightDiagnostic();
    InFlightDiagnostic diag = emitError(*loc);
    diag << "'" << OpTy::getOperationName() << "' op ";
    return diag;
  };
  if (!properties)
    return emit() << "expected properties";
  ArrayRef<int32_t> segments =
      properties.as<typename OpTy::Properties *>()->operandSegmentSizes;
  if (failed(verifySegments(segments, operands.size(), required, emit)))
    return failure();
  typename OpTy::Adaptor adaptor(operands, attributes, properties, regions);
  auto plan = planFn(adaptor, EmitError(emit));
  if (failed(plan))
    return failure();
  SmallVector<std::string> names;
  plan->getResults(inferredReturnTypes, names);
  return success();
}

LogicalResult LinearOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferredReturnTypes) {
  return inferLinear<LinearOp>(
      [](auto adaptor, EmitError emit) { return planForward(adaptor, emit); },
      requiredForward, loc, operands, attributes, properties, regions,
      inferredReturnTypes);
}

LogicalResult LinearBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferredReturnTypes) {
  return inferLinear<LinearBackwardOp>(
      [](auto adaptor, EmitError emit) { return planBackward(adaptor, emit); },
      requiredBackward, loc, operands, attributes, properties, regions,
      inferredReturnTypes);
}

template <typename OpTy>
static void nameResults(OpTy op, OpAsmSetValueNameFn setNameFn) {
  auto plan = op.getPlan();
  if (failed(plan))
    return;
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan->getResults(types, names);
  for (auto [result, name] : llvm::zip(op.getResults(), names))
    setNameFn(result, name);
}

void LinearOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameResults(*this, setNameFn);
}

void LinearBackwardOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameResults(*this, setNameFn);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// What both directions check against their plan.
template <typename OpTy, typename PlanTy>
static LogicalResult verifyAgainst(OpTy op, const PlanTy &plan) {
  MLIRContext *context = op.getContext();
  auto verifyType = [&](StringRef group, Type type, int64_t size,
                        Type elementType) -> LogicalResult {
    Type expected = RankedTensorType::get({size}, elementType);
    if (type == expected)
      return success();
    return op.emitOpError() << "expected '" << group << "' of type " << expected
                            << ", but got " << type;
  };
  Type f32 = Float32Type::get(context);
  size_t numScales = plan.scaleRoles.size();
  if (op.getScale().size() != numScales) {
    InFlightDiagnostic diag = op.emitOpError();
    diag << "expected " << numScales << " operands of 'scale'";
    if (numScales > 0) {
      diag << " (";
      llvm::interleaveComma(plan.scaleRoles, diag, [&](LinearRole role) {
        diag << stringifyLinearRole(role);
      });
      diag << ")";
    }
    return diag << ", but got " << op.getScale().size();
  }
  for (Value scale : op.getScale())
    if (failed(verifyType("scale", scale.getType(), 1, f32)))
      return failure();
  if (bool(op.getRng()) != plan.takesRandomState)
    return op.emitOpError()
           << "'rng' is there exactly when an operand is rounded "
              "stochastically, but it "
           << (op.getRng() ? "is given" : "is missing");
  if (op.getRng() && failed(verifyType("rng", op.getRng().getType(), 2,
                                       IntegerType::get(context, 64))))
    return failure();
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  if (op.getResults().size() != types.size())
    return op.emitOpError() << "expected " << types.size() << " results ("
                            << llvm::join(names, ", ") << "), but got "
                            << op.getResults().size();
  for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
    if (type != types[index])
      return op.emitOpError() << "expected result " << index << " '"
                              << names[index] << "' of type " << types[index]
                              << ", but got " << type;
  return success();
}

LogicalResult LinearOp::verify() {
  auto emit = [&] { return emitOpError(); };
  if (failed(verifySegments(getProperties().operandSegmentSizes,
                            getNumOperands(), requiredForward, emit)))
    return failure();
  FailureOr<LinearForwardPlan> plan = planForward(*this, emit);
  if (failed(plan))
    return failure();
  Type f32 = RankedTensorType::get({1}, Float32Type::get(getContext()));
  if (getSkipUpdate() && getSkipUpdate().getType() != f32)
    return emitOpError() << "expected 'skip_update' of type " << f32
                         << ", but got " << getSkipUpdate().getType();
  return verifyAgainst(*this, *plan);
}

LogicalResult LinearBackwardOp::verify() {
  auto emit = [&] { return emitOpError(); };
  if (failed(verifySegments(getProperties().operandSegmentSizes,
                            getNumOperands(), requiredBackward, emit)))
    return failure();
  FailureOr<LinearBackwardPlan> plan = planBackward(*this, emit);
  if (failed(plan))
    return failure();
  return verifyAgainst(*this, *plan);
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//
//
// The result types may be left out, which a declarative format cannot say.

namespace {
struct OperandGroup {
  StringRef keyword;
  enum Count { One, Optional, Any } count = Optional;
};
} // namespace

static constexpr unsigned numForwardLeading = 2;
static const OperandGroup forwardGroups[] = {
    {"bias"},
    {"workspace"},
    {"skip_update"},
    {"scale", OperandGroup::Any},
    {"rng"}};

static constexpr unsigned numBackwardLeading = 1;
static const OperandGroup backwardGroups[] = {
    {"input"},
    {"weightmat"},
    {"weight", OperandGroup::One},
    {"bias"},
    {"accumulate"},
    {"scale", OperandGroup::Any},
    {"rng"}};

using Unresolved = OpAsmParser::UnresolvedOperand;

static ParseResult parseOperands(OpAsmParser &parser, unsigned numLeading,
                                 ArrayRef<OperandGroup> groups,
                                 SmallVectorImpl<Unresolved> &operands,
                                 SmallVectorImpl<int32_t> &segments) {
  for (unsigned index = 0; index < numLeading; ++index) {
    if ((index > 0 && parser.parseComma()) ||
        parser.parseOperand(operands.emplace_back()))
      return failure();
    segments.push_back(1);
  }
  for (const OperandGroup &group : groups) {
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<Unresolved> members;
    if (succeeded(parser.parseOptionalKeyword(group.keyword))) {
      if (parser.parseOperandList(members, OpAsmParser::Delimiter::Paren))
        return failure();
      if (group.count != OperandGroup::Any && members.size() != 1)
        return parser.emitError(loc)
               << "expected one operand of '" << group.keyword << "', but got "
               << members.size();
    } else if (group.count == OperandGroup::One) {
      return parser.emitError(loc) << "expected '" << group.keyword << "'";
    }
    segments.push_back(members.size());
    llvm::append_range(operands, members);
  }
  return success();
}

template <typename OpTy>
static ParseResult parseLinear(OpAsmParser &parser, OperationState &result,
                               unsigned numLeading,
                               ArrayRef<OperandGroup> groups) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Unresolved> operands;
  SmallVector<int32_t> segments;
  if (parseOperands(parser, numLeading, groups, operands, segments))
    return failure();

  SMLoc attributesLoc = parser.getCurrentLocation();
  auto emit = [&] { return parser.emitError(attributesLoc); };
  auto &properties = result.getOrAddProperties<typename OpTy::Properties>();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      failed(OpTy::verifyInherentAttrs(result.name, result.attributes, emit)) ||
      failed(OpTy::setPropertiesFromAttr(
          properties, result.attributes.getDictionary(parser.getContext()),
          emit)))
    return failure();
  for (StringRef name : OpTy::getAttributeNames())
    result.attributes.erase(name);
  llvm::copy(segments, properties.operandSegmentSizes.begin());

  SmallVector<Type> types;
  if (parser.parseColonTypeList(types) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseTypeList(result.types);
  return OpTy::inferReturnTypes(
      parser.getContext(), result.location, result.operands,
      result.attributes.getDictionary(parser.getContext()),
      result.getRawProperties(), result.regions, result.types);
}

template <typename OpTy>
static void printLinear(OpTy op, OpAsmPrinter &printer, unsigned numLeading,
                        ArrayRef<OperandGroup> groups) {
  printer << ' ';
  printer.printOperands(op->getOperands().take_front(numLeading));
  for (auto [index, group] : llvm::enumerate(groups)) {
    OperandRange members = op.getODSOperands(numLeading + index);
    if (members.empty())
      continue;
    printer << ' ' << group.keyword << '(';
    printer.printOperands(members);
    printer << ')';
  }
  printer.printOptionalAttrDict(op->getAttrs(),
                                {OpTy::getOperandSegmentSizeAttr()});
  printer << " : ";
  llvm::interleaveComma(op->getOperandTypes(), printer);
  if (op->getNumResults() > 0) {
    printer << " -> ";
    llvm::interleaveComma(op->getResultTypes(), printer);
  }
}

ParseResult LinearOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseLinear<LinearOp>(parser, result, numForwardLeading,
                               forwardGroups);
}

void LinearOp::print(OpAsmPrinter &printer) {
  printLinear(*this, printer, numForwardLeading, forwardGroups);
}

ParseResult LinearBackwardOp::parse(OpAsmParser &parser,
                                    OperationState &result) {
  return parseLinear<LinearBackwardOp>(parser, result, numBackwardLeading,
                                       backwardGroups);
}

void LinearBackwardOp::print(OpAsmPrinter &printer) {
  printLinear(*this, printer, numBackwardLeading, backwardGroups);
}
