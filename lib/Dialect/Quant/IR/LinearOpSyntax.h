//===- LinearOpSyntax.h - syntax, inference and checks of layers ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ops have in common whose operands come in groups and whose results a
// plan tells.
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_IR_LINEAROPSYNTAX_H
#define TE_LIB_DIALECT_QUANT_IR_LINEAROPSYNTAX_H

#include "mlir/IR/OpImplementation.h"
#include "te/Dialect/Quant/IR/LinearPlan.h"
#include "llvm/ADT/StringExtras.h"

namespace te::quant {

/// The configuration of an op or of its adaptor.
template <typename OpTy>
LinearConfig readConfig(OpTy op) {
  LinearConfig config;
  auto get = [](std::optional<QuantizerAttrInterface> quantizer) {
    return quantizer.value_or(QuantizerAttrInterface());
  };
  config.inputQuantizer = get(op.getInputQuantizer());
  config.weightQuantizer = get(op.getWeightQuantizer());
  config.outputQuantizer = get(op.getOutputQuantizer());
  config.gradInputQuantizer = get(op.getGradInputQuantizer());
  config.gradOutputQuantizer = get(op.getGradOutputQuantizer());
  config.activationDtype = op.getActivationDtype().value_or(mlir::Type());
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

inline mlir::Type getTypeOrNull(mlir::Value value) {
  return value ? value.getType() : mlir::Type();
}

/// For callers that only want to know.
inline mlir::InFlightDiagnostic emitNothing() {
  return mlir::InFlightDiagnostic();
}

/// Checks that the operands are those of the groups: their number is not known
/// to be right before an op exists, nor later that none is missing.
inline mlir::LogicalResult verifySegments(llvm::ArrayRef<int32_t> segments,
                                          size_t numOperands,
                                          llvm::ArrayRef<unsigned> required,
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
  return mlir::success();
}

template <typename OpTy, typename PlanFn>
mlir::LogicalResult
inferLinear(PlanFn planFn, llvm::ArrayRef<unsigned> required,
            std::optional<mlir::Location> loc, mlir::ValueRange operands,
            mlir::DictionaryAttr attributes, mlir::OpaqueProperties properties,
            mlir::RegionRange regions,
            llvm::SmallVectorImpl<mlir::Type> &inferredReturnTypes) {
  auto emit = [&]() -> mlir::InFlightDiagnostic {
    if (!loc)
      return mlir::InFlightDiagnostic();
    mlir::InFlightDiagnostic diag = mlir::emitError(*loc);
    diag << "'" << OpTy::getOperationName() << "' op ";
    return diag;
  };
  if (!properties)
    return emit() << "expected properties";
  llvm::ArrayRef<int32_t> segments =
      properties.as<typename OpTy::Properties *>()->operandSegmentSizes;
  if (mlir::failed(verifySegments(segments, operands.size(), required, emit)))
    return mlir::failure();
  // Accessors of defaults take the context from there.
  if (!attributes)
    attributes = mlir::DictionaryAttr::get(operands.front().getContext());
  typename OpTy::Adaptor adaptor(operands, attributes, properties, regions);
  auto plan = planFn(adaptor, EmitError(emit));
  if (mlir::failed(plan))
    return mlir::failure();
  llvm::SmallVector<std::string> names;
  plan->getResults(inferredReturnTypes, names);
  return mlir::success();
}

template <typename OpTy>
void nameResults(OpTy op, mlir::OpAsmSetValueNameFn setNameFn) {
  auto plan = op.getPlan();
  if (mlir::failed(plan))
    return;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string> names;
  plan->getResults(types, names);
  for (auto [result, name] : llvm::zip(op.getResults(), names))
    setNameFn(result, name);
}

/// What an op checks against its plan. `scaleNames`: what each scale is for.
template <typename OpTy>
mlir::LogicalResult
verifySignature(OpTy op, llvm::ArrayRef<std::string> scaleNames,
                bool takesRandomState, llvm::ArrayRef<mlir::Type> types,
                llvm::ArrayRef<std::string> names) {
  mlir::MLIRContext *context = op.getContext();
  auto verifyType = [&](llvm::StringRef group, mlir::Type type, int64_t size,
                        mlir::Type elementType) -> mlir::LogicalResult {
    mlir::Type expected = mlir::RankedTensorType::get({size}, elementType);
    if (type == expected)
      return mlir::success();
    return op.emitOpError() << "expected '" << group << "' of type " << expected
                            << ", but got " << type;
  };
  mlir::Type f32 = mlir::Float32Type::get(context);
  if (op.getScale().size() != scaleNames.size()) {
    mlir::InFlightDiagnostic diag = op.emitOpError();
    diag << "expected " << scaleNames.size() << " operands of 'scale'";
    if (!scaleNames.empty())
      diag << " (" << llvm::join(scaleNames, ", ") << ")";
    return diag << ", but got " << op.getScale().size();
  }
  for (mlir::Value scale : op.getScale())
    if (mlir::failed(verifyType("scale", scale.getType(), 1, f32)))
      return mlir::failure();
  if (bool(op.getRng()) != takesRandomState)
    return op.emitOpError()
           << "'rng' is there exactly when an operand is rounded "
              "stochastically, but it "
           << (op.getRng() ? "is given" : "is missing");
  if (op.getRng() &&
      mlir::failed(verifyType("rng", op.getRng().getType(), 2,
                              mlir::IntegerType::get(context, 64))))
    return mlir::failure();
  if (op.getResults().size() != types.size())
    return op.emitOpError() << "expected " << types.size() << " results ("
                            << llvm::join(names, ", ") << "), but got "
                            << op.getResults().size();
  for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
    if (type != types[index])
      return op.emitOpError()
             << "expected result " << index << " '" << names[index]
             << "' of type " << types[index] << ", but got " << type;
  return mlir::success();
}

/// Operands that a keyword introduces.
struct OperandGroup {
  llvm::StringRef keyword;
  enum Count { One, Optional, Any } count = Optional;
};

using Unresolved = mlir::OpAsmParser::UnresolvedOperand;

inline mlir::ParseResult
parseOperands(mlir::OpAsmParser &parser, unsigned numLeading,
              llvm::ArrayRef<OperandGroup> groups,
              llvm::SmallVectorImpl<Unresolved> &operands,
              llvm::SmallVectorImpl<int32_t> &segments) {
  for (unsigned index = 0; index < numLeading; ++index) {
    if ((index > 0 && parser.parseComma()) ||
        parser.parseOperand(operands.emplace_back()))
      return mlir::failure();
    segments.push_back(1);
  }
  for (const OperandGroup &group : groups) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::SmallVector<Unresolved> members;
    if (mlir::succeeded(parser.parseOptionalKeyword(group.keyword))) {
      if (parser.parseOperandList(members, mlir::OpAsmParser::Delimiter::Paren))
        return mlir::failure();
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
  return mlir::success();
}

template <typename OpTy>
mlir::ParseResult parseLinear(mlir::OpAsmParser &parser,
                              mlir::OperationState &result, unsigned numLeading,
                              llvm::ArrayRef<OperandGroup> groups) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::SmallVector<Unresolved> operands;
  llvm::SmallVector<int32_t> segments;
  if (parseOperands(parser, numLeading, groups, operands, segments))
    return mlir::failure();

  llvm::SMLoc attributesLoc = parser.getCurrentLocation();
  auto emit = [&] { return parser.emitError(attributesLoc); };
  auto &properties = result.getOrAddProperties<typename OpTy::Properties>();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      mlir::failed(
          OpTy::verifyInherentAttrs(result.name, result.attributes, emit)) ||
      mlir::failed(OpTy::setPropertiesFromAttr(
          properties, result.attributes.getDictionary(parser.getContext()),
          emit)))
    return mlir::failure();
  for (llvm::StringRef name : OpTy::getAttributeNames())
    result.attributes.erase(name);
  llvm::copy(segments, properties.operandSegmentSizes.begin());

  llvm::SmallVector<mlir::Type> types;
  if (parser.parseColonTypeList(types) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return mlir::failure();
  if (mlir::succeeded(parser.parseOptionalArrow()))
    return parser.parseTypeList(result.types);
  return OpTy::inferReturnTypes(
      parser.getContext(), result.location, result.operands,
      result.attributes.getDictionary(parser.getContext()),
      result.getRawProperties(), result.regions, result.types);
}

template <typename OpTy>
void printLinear(OpTy op, mlir::OpAsmPrinter &printer, unsigned numLeading,
                 llvm::ArrayRef<OperandGroup> groups) {
  printer << ' ';
  printer.printOperands(op->getOperands().take_front(numLeading));
  for (auto [index, group] : llvm::enumerate(groups)) {
    mlir::OperandRange members = op.getODSOperands(numLeading + index);
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

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_IR_LINEAROPSYNTAX_H
