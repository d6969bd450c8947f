//===- QuantDialect.cpp - the quant dialect -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutCache.h"
#include "mlir/IR/DialectImplementation.h"
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
  addInterfaces<QuantAsmInterface>();
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
