//===- QuantDialect.cpp - the quant dialect -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutCache.h"
#include "QuantProducers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantModuleOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace te::quant;

#include "te/Dialect/Quant/IR/QuantDialect.cpp.inc"

namespace {
/// Quantizers get short names where they appear as attributes of ops. Types
/// print theirs in full, so that a line of IR stands alone.
struct QuantAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    auto quantizer = dyn_cast<QuantizerAttrInterface>(attr);
    if (!quantizer)
      return AliasResult::NoAlias;
    os << quantizer.getFamily();
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TEQuantDialect::initialize() {
  layoutCache = std::make_shared<LayoutCache>();
  registerLayoutAttribute();
  registerQuantizers();
  registerTypes();
  registerOps();
  registerCollectiveOps();
  registerGemmOps();
  registerLinearOps();
  registerModuleOps();
  addInterfaces<QuantAsmInterface>();
}

void TEQuantDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  populateFoldTensorCastPatterns(patterns);
}

Operation *TEQuantDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// An entry of `te_quant.args` or `te_quant.results`.
static bool isBoundaryEntry(Attribute attr) {
  auto entry = dyn_cast<DictionaryAttr>(attr);
  if (!entry)
    return false;
  auto position = entry.getAs<IntegerAttr>("position");
  return position && position.getType().isSignlessInteger(64) &&
         entry.getAs<StringAttr>("name") && entry.getAs<TypeAttr>("type");
}

/// An entry of `te_quant.tied`.
static bool isTiedEntry(Attribute attr) {
  auto pair = dyn_cast<DenseI64ArrayAttr>(attr);
  return pair && pair.size() == 2 && pair[0] >= 0 && pair[1] >= 0;
}

/// An entry of `te_quant.shapes`.
static bool isShapeEntry(Attribute attr) {
  auto dims = dyn_cast<ArrayAttr>(attr);
  return dims && llvm::all_of(dims, [](Attribute dim) {
           auto size = dyn_cast<IntegerAttr>(dim);
           return size && size.getType().isSignlessInteger(64) &&
                  size.getInt() >= -1;
         });
}

LogicalResult TEQuantDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute attr) {
  auto verify = [&](bool (*isEntry)(Attribute),
                    StringRef what) -> LogicalResult {
    auto entries = dyn_cast<ArrayAttr>(attr.getValue());
    if (entries && llvm::all_of(entries, isEntry))
      return success();
    return op->emitOpError() << "expected '" << attr.getName().getValue()
                             << "' to list " << what << ", but got "
                             << attr.getValue();
  };
  StringRef name = attr.getName();
  if (name == argsAttrName || name == resultsAttrName)
    return verify(isBoundaryEntry,
                  "dictionaries of 'position', 'name' and 'type'");
  if (name == shapesAttrName)
    return verify(isShapeEntry, "a list of sizes, -1 for an open one, for each "
                                "argument that is a tensor");
  if (name == tiedAttrName)
    return verify(isTiedEntry, "pairs of a result and an argument");
  return success();
}

Attribute TEQuantDialect::parseAttribute(DialectAsmParser &parser,
                                       Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(LayoutAttr::getMnemonic())))
    return LayoutAttr::parse(parser, type);
  StringRef mnemonic;
  Attribute attr;
  OptionalParseResult result =
      parseQuantizerAttribute(parser, &mnemonic, type, attr);
  if (result.has_value())
    return attr;
  parser.emitError(loc) << "unknown attribute '" << mnemonic
                        << "' in dialect '" << getNamespace() << "'";
  return {};
}

void TEQuantDialect::printAttribute(Attribute attr,
                                  DialectAsmPrinter &printer) const {
  if (failed(printLayoutAttribute(attr, printer)))
    (void)printQuantizerAttribute(attr, printer);
}
