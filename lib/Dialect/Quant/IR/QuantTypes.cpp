//===- QuantTypes.cpp - the TensorSpec type -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

#define GET_TYPEDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantTypes.cpp.inc"

void TEQuantDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "te/Dialect/Quant/IR/QuantTypes.cpp.inc"
      >();
}

LayoutAttr TensorSpecType::getLayout() const {
  if (isQuantized())
    return te::quant::getLayout(getQuantizer(), getNominalDtype());
  LayoutBuilder builder(getContext());
  return builder.add("data", getNominalDtype(), {builder.leading, builder.cols})
      .build();
}

// V-8: of the logical shape, which every type has.
SmallVector<Type> TensorSpecType::getInnerTypes() const {
  SmallVector<Type> types;
  // The type's verifier has evaluated the layout already.
  (void)getLayout().getInnerTypes(getShape(), types);
  return types;
}

TensorSpecType TensorSpecType::withShape(ArrayRef<int64_t> shape) const {
  return get(getContext(), shape, getNominalDtype(), getQuantizer(),
             getRequiresGrad(), getDevice());
}

TensorSpecType
TensorSpecType::withQuantizer(QuantizerAttrInterface quantizer) const {
  return get(getContext(), getShape(), getNominalDtype(), quantizer,
             getRequiresGrad(), getDevice());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static void printNames(Diagnostic &diag, ArrayRef<StringAttr> names) {
  diag << "[";
  llvm::interleaveComma(names, diag,
                        [&](StringAttr name) { diag << name.getValue(); });
  diag << "]";
}

/// V-30, S-5: the order of a layout is a contract that is verified, never
/// repaired.
static LogicalResult
verifyStorageOrder(function_ref<InFlightDiagnostic()> emitError,
                   QuantizerAttrInterface quantizer, LayoutAttr layout) {
  SmallVector<StringAttr> order = quantizer.getCanonicalOrder();
  auto next = order.begin();
  for (StringAttr name : layout.getNames()) {
    next = std::find(next, order.end(), name);
    if (next != order.end()) {
      ++next;
      continue;
    }
    InFlightDiagnostic diag = emitError();
    diag << "expected the inner tensors of '" << quantizer.getFamily()
         << "' in storage order ";
    printNames(*diag.getUnderlyingDiagnostic(), order);
    diag << ", but got ";
    printNames(*diag.getUnderlyingDiagnostic(), layout.getNames());
    return diag;
  }
  return success();
}

LogicalResult
TensorSpecType::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayRef<int64_t> shape, Type nominalDtype,
                       QuantizerAttrInterface quantizer, bool requiresGrad,
                       StringAttr device) {
  for (auto [index, dim] : llvm::enumerate(shape))
    if (dim < 0 && !ShapedType::isDynamic(dim))
      return emitError() << "expected a non-negative dim " << index
                         << ", but got " << dim;
  if (!nominalDtype.isF32() && !nominalDtype.isBF16() && !nominalDtype.isF16())
    return emitError() << "expected nominal dtype f32, bf16 or f16, but got "
                       << nominalDtype;
  if (failed(getFlattenedExtents(shape)))
    return emitError() << "the number of rows overflows 64 bits";
  LayoutAttr layout;
  if (quantizer) {
    layout = te::quant::getLayout(quantizer, nominalDtype);
    if (failed(verifyStorageOrder(emitError, quantizer, layout)))
      return failure();
  } else {
    LayoutBuilder builder(nominalDtype.getContext());
    layout = builder.add("data", nominalDtype, {builder.leading, builder.cols})
                 .build();
  }
  SmallVector<int64_t> innerShape;
  for (auto [index, name] : llvm::enumerate(layout.getNames())) {
    if (failed(layout.getShape(index, shape, innerShape)))
      return emitError() << "the shape of inner tensor '" << name.getValue()
                         << "' is negative or overflows 64 bits";
    bool isStatic = llvm::none_of(innerShape, ShapedType::isDynamic);
    if (isStatic &&
        !getSizeInBytes(innerShape, layout.getElementTypes()[index]))
      return emitError() << "the size of inner tensor '" << name.getValue()
                         << "' overflows 64 bits";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Parsing and printing
//===----------------------------------------------------------------------===//

Type TensorSpecType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type nominalDtype;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true) ||
      parser.parseType(nominalDtype))
    return {};
  QuantizerAttrInterface quantizer;
  FailureOr<bool> requiresGrad = false;
  StringAttr device;
  bool seenRequiresGrad = false;
  bool first = true;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc paramLoc = parser.getCurrentLocation();
    StringRef keyword;
    if (succeeded(parser.parseOptionalKeyword(&keyword,
                                              {"requires_grad", "device"}))) {
      bool &seen = seenRequiresGrad;
      if (keyword == "requires_grad" ? seen : bool(device))
        return parser.emitError(paramLoc)
                   << "parameter '" << keyword << "' appears twice",
               Type();
      if (parser.parseEqual())
        return {};
      if (keyword == "requires_grad") {
        seen = true;
        requiresGrad = FieldParser<bool>::parse(parser);
        if (failed(requiresGrad))
          return {};
      } else {
        std::string text;
        if (parser.parseString(&text))
          return {};
        device = parser.getBuilder().getStringAttr(text);
      }
    } else {
      Attribute attr;
      if (!first)
        return parser.emitError(paramLoc)
                   << "expected 'requires_grad' or 'device'",
               Type();
      if (parser.parseAttribute(attr))
        return {};
      quantizer = dyn_cast<QuantizerAttrInterface>(attr);
      if (!quantizer)
        return parser.emitError(paramLoc)
                   << "expected a quantizer attribute, but got " << attr,
               Type();
    }
    first = false;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TensorSpecType>(loc, parser.getContext(), shape,
                                           nominalDtype, quantizer,
                                           *requiresGrad, device);
}

void TensorSpecType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t dim : getShape()) {
    if (ShapedType::isDynamic(dim))
      printer << '?';
    else
      printer << dim;
    printer << 'x';
  }
  printer << getNominalDtype();
  if (QuantizerAttrInterface quantizer = getQuantizer()) {
    // In full, not by alias: a type stands alone in a line of IR.
    std::string text;
    llvm::raw_string_ostream os(text);
    Attribute(quantizer).print(os);
    printer << ", " << text;
  }
  if (getRequiresGrad())
    printer << ", requires_grad = true";
  if (StringAttr device = getDevice()) {
    printer << ", device = ";
    printer.printString(device.getValue());
  }
  printer << '>';
}
