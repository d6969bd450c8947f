//===- Quantizers.cpp - what all quantizer families share -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutCache.h"
#include "mlir/IR/DialectImplementation.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

#include "te/Dialect/Quant/IR/QuantEnums.cpp.inc"
#include "te/Dialect/Quant/IR/QuantInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantQuantizers.cpp.inc"

void TEQuantDialect::registerQuantizers() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "te/Dialect/Quant/IR/QuantQuantizers.cpp.inc"
      >();
}

OptionalParseResult te::quant::parseQuantizerAttribute(AsmParser &parser,
                                                       StringRef *mnemonic,
                                                       Type type,
                                                       Attribute &attr) {
  return generatedAttributeParser(parser, mnemonic, type, attr);
}

LogicalResult te::quant::printQuantizerAttribute(Attribute attr,
                                                 AsmPrinter &printer) {
  return generatedAttributePrinter(attr, printer);
}

FailureOr<APFloat> te::quant::parseF32(AsmParser &parser) {
  // `parseFloat` takes numbers as well as the bits of the given format.
  APFloat value(0.0f);
  bool negative = succeeded(parser.parseOptionalMinus());
  if (parser.parseFloat(APFloat::IEEEsingle(), value))
    return failure();
  if (negative)
    value.changeSign();
  return value;
}

void te::quant::printF32(AsmPrinter &printer, const APFloat &value) {
  printer.printFloat(value);
}

LogicalResult te::quant::verifyFP8(function_ref<InFlightDiagnostic()> emitError,
                                Type type) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return success();
  return emitError() << "expected fp8_dtype f8E4M3FN or f8E5M2, but got "
                     << type;
}

LogicalResult
te::quant::verifyEpsilon(function_ref<InFlightDiagnostic()> emitError,
                      const APFloat &epsilon) {
  if (epsilon.isFinite() && !(epsilon.isNegative() && epsilon.isNonZero()))
    return success();
  SmallVector<char> text;
  epsilon.toString(text);
  return emitError() << "expected a finite amax_epsilon of at least 0, but got "
                     << StringRef(text.data(), text.size());
}

void te::quant::printBlockConstraint(raw_ostream &os, TensorSpecType type,
                                     BlockConstraint constraint) {
  bool isRows = constraint.extent == Extent::Rows;
  int64_t rank = type.getRank();
  os << "expected ";
  // One dim carries the extent, unless several leading ones multiply to it.
  if (!isRows && rank > 0)
    os << "dim " << rank - 1;
  else if (isRows && rank == 2)
    os << "dim 0";
  else
    os << (isRows ? "the product of the leading dims" : "the last dim");
  os << " to be a multiple of " << constraint.block << " for "
     << stringifyUsage(constraint.direction) << " '"
     << type.getQuantizer().getFamily() << "' blocks";
}

LogicalResult
te::quant::verifyQuantizable(function_ref<InFlightDiagnostic()> emitError,
                             TensorSpecType type) {
  QuantizerAttrInterface quantizer = type.getQuantizer();
  if (failed(quantizer.verifyQuantize(emitError, type.getNominalDtype())))
    return failure();
  // The type's verifier has seen these extents.
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  for (BlockConstraint constraint : quantizer.getQuantizeConstraints()) {
    bool isRows = constraint.extent == Extent::Rows;
    int64_t value = isRows ? rows : cols;
    if (ShapedType::isDynamic(value) || value % constraint.block == 0)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    printBlockConstraint(os, type, constraint);
    return emitError() << text << ", but got " << value
                       << " (the next legal size is "
                       << llvm::divideCeil(value, constraint.block) *
                              constraint.block
                       << ")";
  }
  return success();
}

std::optional<bool> te::quant::isQuantizable(QuantizerAttrInterface quantizer,
                                             ArrayRef<int64_t> logicalShape) {
  std::optional<SmallVector<BlockConstraint>> constraints =
      quantizer.getGatherConstraints();
  if (!constraints)
    return false;
  if (constraints->empty())
    return true;
  if (logicalShape.size() < 2)
    return false;
  FailureOr<std::pair<int64_t, int64_t>> extents =
      getFlattenedExtents(logicalShape);
  if (failed(extents))
    return false;
  bool isKnown = true;
  for (BlockConstraint constraint : *constraints) {
    int64_t value = constraint.extent == Extent::Rows ? extents->first
                                                      : extents->second;
    if (ShapedType::isDynamic(value))
      isKnown = false;
    else if (value % constraint.block != 0)
      return false;
  }
  return isKnown ? std::optional<bool>(true) : std::nullopt;
}

std::optional<SmallVector<BlockConstraint>>
te::quant::getQuantizedGatherConstraints(QuantizerAttrInterface quantizer) {
  std::optional<SmallVector<BlockConstraint>> constraints =
      quantizer.getGatherConstraints();
  if (!constraints)
    return std::nullopt;
  switch (quantizer.getQuantizedGather()) {
  case QuantizedGather::Never:
    return std::nullopt;
  case QuantizedGather::QuantizableShapes:
    return constraints;
  case QuantizedGather::QuantizedOrQuantizable:
    return quantizer.getQuantizeConstraints();
  }
  return std::nullopt;
}
