//===- LinearOps.cpp - syntax, inference and verification of linear layers -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearOpSyntax.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"

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
  SmallVector<std::string> scaleNames =
      llvm::map_to_vector(plan.scaleRoles, [](LinearRole role) {
        return stringifyLinearRole(role).str();
      });
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  return verifySignature(op, scaleNames, plan.takesRandomState, types, names);
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
