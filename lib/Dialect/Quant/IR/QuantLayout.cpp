//===- QuantLayout.cpp - the layout attribute and its evaluation ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes are evaluated here and nowhere else, with overflow checks: upstream's
// folding of affine expressions wraps without a word.
//
//===----------------------------------------------------------------------===//

#include "LayoutCache.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/DialectImplementation.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace te::quant;

// The dialect tries the mnemonic itself, so the generated parser stays unused.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define GET_ATTRDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantAttrs.cpp.inc"
#pragma GCC diagnostic pop

void TEQuantDialect::registerLayoutAttribute() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "te/Dialect/Quant/IR/QuantAttrs.cpp.inc"
      >();
}

LogicalResult te::quant::printLayoutAttribute(Attribute attr,
                                              AsmPrinter &printer) {
  return generatedAttributePrinter(attr, printer);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

FailureOr<std::pair<int64_t, int64_t>>
te::quant::getFlattenedExtents(ArrayRef<int64_t> logicalShape) {
  if (logicalShape.empty())
    return std::pair<int64_t, int64_t>(1, 1);
  ArrayRef<int64_t> leading = logicalShape.drop_back();
  if (llvm::is_contained(leading, 0))
    return std::pair<int64_t, int64_t>(0, logicalShape.back());
  int64_t rows = 1;
  for (int64_t dim : leading)
    if (!ShapedType::isDynamic(dim) && llvm::MulOverflow(rows, dim, rows))
      return failure();
  if (llvm::any_of(leading, ShapedType::isDynamic))
    rows = ShapedType::kDynamic;
  return std::pair<int64_t, int64_t>(rows, logicalShape.back());
}

SmallVector<int64_t> te::quant::getMergedShape(ArrayRef<int64_t> shape,
                                               ArrayRef<int64_t> other) {
  SmallVector<int64_t> merged;
  for (auto [dim, otherDim] : llvm::zip_equal(shape, other))
    merged.push_back(ShapedType::isDynamic(dim) ? otherDim : dim);
  return merged;
}

namespace {
/// Evaluates dims for given extents. Fails on overflow and division by zero;
/// dynamic operands make a dynamic result.
class DimEvaluator {
public:
  DimEvaluator(int64_t rows, int64_t cols) : rows(rows), cols(cols) {}

  FailureOr<int64_t> evaluate(AffineExpr expr) const {
    switch (expr.getKind()) {
    case AffineExprKind::Constant:
      return cast<AffineConstantExpr>(expr).getValue();
    case AffineExprKind::SymbolId:
      return cast<AffineSymbolExpr>(expr).getPosition() == 0 ? rows : cols;
    case AffineExprKind::DimId:
      return failure();
    default:
      break;
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    FailureOr<int64_t> lhs = evaluate(binary.getLHS());
    FailureOr<int64_t> rhs = evaluate(binary.getRHS());
    if (failed(lhs) || failed(rhs))
      return failure();
    if (expr.getKind() == AffineExprKind::Mul && (*lhs == 0 || *rhs == 0))
      return 0;
    if (ShapedType::isDynamic(*lhs) || ShapedType::isDynamic(*rhs))
      return ShapedType::kDynamic;
    return evaluate(expr.getKind(), *lhs, *rhs);
  }

private:
  static FailureOr<int64_t> evaluate(AffineExprKind kind, int64_t lhs,
                                     int64_t rhs) {
    int64_t result;
    switch (kind) {
    case AffineExprKind::Add:
      if (llvm::AddOverflow(lhs, rhs, result))
        return failure();
      return result;
    case AffineExprKind::Mul:
      if (llvm::MulOverflow(lhs, rhs, result))
        return failure();
      return result;
    case AffineExprKind::Mod:
      if (rhs <= 0)
        return failure();
      return llvm::mod(lhs, rhs);
    case AffineExprKind::FloorDiv:
      if (rhs <= 0)
        return failure();
      return llvm::divideFloorSigned(lhs, rhs);
    case AffineExprKind::CeilDiv:
      if (rhs <= 0)
        return failure();
      return llvm::divideCeilSigned(lhs, rhs);
    default:
      return failure();
    }
  }

  int64_t rows, cols;
};
} // namespace

std::optional<unsigned> LayoutAttr::lookup(StringRef name) const {
  for (auto [index, entry] : llvm::enumerate(getNames()))
    if (entry.getValue() == name)
      return index;
  return std::nullopt;
}

LogicalResult LayoutAttr::getShape(unsigned index,
                                   ArrayRef<int64_t> logicalShape,
                                   SmallVectorImpl<int64_t> &shape) const {
  shape.clear();
  FailureOr<std::pair<int64_t, int64_t>> extents =
      getFlattenedExtents(logicalShape);
  if (failed(extents))
    return failure();
  AffineMap map = getShapes()[index];
  DimEvaluator evaluator(extents->first, extents->second);
  bool hasLeading = llvm::any_of(
      map.getResults(), [](AffineExpr dim) { return isa<AffineDimExpr>(dim); });
  // A shape that carries the logical dims has rank 0 where they have.
  if (hasLeading && logicalShape.empty())
    return success();
  for (AffineExpr dim : map.getResults()) {
    if (isa<AffineDimExpr>(dim)) {
      llvm::append_range(shape, logicalShape.drop_back());
      continue;
    }
    FailureOr<int64_t> value = evaluator.evaluate(dim);
    if (failed(value) || (*value < 0 && !ShapedType::isDynamic(*value)))
      return failure();
    shape.push_back(*value);
  }
  return success();
}

LogicalResult LayoutAttr::getInnerTypes(ArrayRef<int64_t> logicalShape,
                                        SmallVectorImpl<Type> &types) const {
  SmallVector<int64_t> shape;
  for (size_t index = 0, end = size(); index != end; ++index) {
    if (failed(getShape(index, logicalShape, shape)))
      return failure();
    types.push_back(RankedTensorType::get(shape, getElementTypes()[index]));
  }
  return success();
}

std::optional<int64_t> te::quant::getSizeInBytes(ArrayRef<int64_t> shape,
                                                 Type elementType) {
  if (!elementType.isIntOrFloat())
    return std::nullopt;
  // A zero-size tensor has no bytes whatever its other dims are.
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t bytes = llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
  for (int64_t dim : shape)
    if (ShapedType::isDynamic(dim) || llvm::MulOverflow(bytes, dim, bytes))
      return std::nullopt;
  return bytes;
}

// V-9, V-27: the one source of names, order and shapes.
LayoutAttr te::quant::getLayout(QuantizerAttrInterface quantizer,
                                Type nominalDtype) {
  auto *dialect = quantizer.getContext()->getLoadedDialect<TEQuantDialect>();
  return dialect->getLayoutCache().get(quantizer, nominalDtype);
}

LayoutAttr LayoutCache::get(QuantizerAttrInterface quantizer,
                            Type nominalDtype) {
  std::pair<Attribute, Type> key(quantizer, nominalDtype);
  {
    llvm::sys::SmartScopedReader<true> reader(mutex);
    if (LayoutAttr layout = layouts.lookup(key))
      return layout;
  }
  LayoutAttr layout = quantizer.computeLayout(nominalDtype);
  llvm::sys::SmartScopedWriter<true> writer(mutex);
  return layouts[key] = layout;
}

//===----------------------------------------------------------------------===//
// Verification, parsing and printing
//===----------------------------------------------------------------------===//

/// Whether `expr` mentions `leading` below an operator.
static bool mentionsLeading(AffineExpr expr) {
  bool found = false;
  expr.walk([&](AffineExpr inner) { found |= isa<AffineDimExpr>(inner); });
  return found;
}

/// Returns a divisor in `expr` that is not a positive constant, or null.
static AffineExpr findBadDivisor(AffineExpr expr) {
  AffineExpr bad;
  expr.walk([&](AffineExpr inner) {
    if (inner.getKind() != AffineExprKind::FloorDiv &&
        inner.getKind() != AffineExprKind::CeilDiv &&
        inner.getKind() != AffineExprKind::Mod)
      return;
    AffineExpr divisor = cast<AffineBinaryOpExpr>(inner).getRHS();
    auto constant = dyn_cast<AffineConstantExpr>(divisor);
    if (!constant || constant.getValue() <= 0)
      bad = divisor;
  });
  return bad;
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> names,
                                 ArrayRef<Type> elementTypes,
                                 ArrayRef<AffineMap> shapes) {
  if (names.empty())
    return emitError() << "expected at least one inner tensor";
  if (names.size() != elementTypes.size() || names.size() != shapes.size())
    return emitError() << "expected as many names as element types and shapes, "
                          "but got "
                       << names.size() << ", " << elementTypes.size() << " and "
                       << shapes.size();
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto [name, elementType, shape] :
       llvm::zip_equal(names, elementTypes, shapes)) {
    if (name.empty())
      return emitError() << "expected a name for each inner tensor";
    if (!seen.insert(name).second)
      return emitError() << "inner tensor '" << name.getValue()
                         << "' appears twice";
    if (!elementType.isIntOrFloat())
      return emitError() << "expected an integer or float element type for "
                            "inner tensor '"
                         << name.getValue() << "', but got " << elementType;
    if (shape.getNumDims() != 1 || shape.getNumSymbols() != 2)
      return emitError() << "expected the shape of inner tensor '"
                         << name.getValue()
                         << "' to be a map of one dim and two symbols";
    unsigned numLeading = 0;
    for (AffineExpr dim : shape.getResults()) {
      if (isa<AffineDimExpr>(dim)) {
        ++numLeading;
        continue;
      }
      if (mentionsLeading(dim))
        return emitError() << "'leading' in inner tensor '" << name.getValue()
                           << "' must stand alone in a dim's place";
      if (AffineExpr divisor = findBadDivisor(dim)) {
        InFlightDiagnostic diag = emitError();
        diag << "expected a positive constant divisor in inner tensor '"
             << name.getValue() << "', but got ";
        std::string text;
        llvm::raw_string_ostream os(text);
        printLayoutDim(os, divisor);
        return diag << "'" << text << "'";
      }
    }
    if (numLeading > 1)
      return emitError() << "'leading' appears twice in inner tensor '"
                         << name.getValue() << "'";
  }
  return success();
}

AffineExpr te::quant::getUnpaddedDim(AffineExpr dim) {
  auto product = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return dim;
  auto quotient = dyn_cast<AffineBinaryOpExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!quotient || !factor || quotient.getKind() != AffineExprKind::CeilDiv)
    return dim;
  auto divisor = dyn_cast<AffineConstantExpr>(quotient.getRHS());
  if (!divisor || factor.getValue() <= 0 ||
      divisor.getValue() % factor.getValue() != 0)
    return dim;
  return quotient.getLHS().ceilDiv(divisor.getValue() / factor.getValue());
}

void te::quant::printLayoutDim(raw_ostream &os, AffineExpr dim) {
  printLayoutDim(os, dim, [](unsigned symbol) -> std::string {
    return symbol == 0 ? "rows" : "cols";
  });
}

void te::quant::printLayoutDim(
    raw_ostream &os, AffineExpr dim,
    function_ref<std::string(unsigned)> getSymbolName) {
  // Precedence as in affine maps: sums bind weaker than all other operators.
  auto print = [&](auto &self, AffineExpr expr, bool nested) -> void {
    StringRef op;
    switch (expr.getKind()) {
    case AffineExprKind::Constant:
      os << cast<AffineConstantExpr>(expr).getValue();
      return;
    case AffineExprKind::DimId:
      os << "leading";
      return;
    case AffineExprKind::SymbolId:
      os << getSymbolName(cast<AffineSymbolExpr>(expr).getPosition());
      return;
    case AffineExprKind::Add:
      op = " + ";
      break;
    case AffineExprKind::Mul:
      op = " * ";
      break;
    case AffineExprKind::Mod:
      op = " mod ";
      break;
    case AffineExprKind::FloorDiv:
      op = " floordiv ";
      break;
    case AffineExprKind::CeilDiv:
      op = " ceildiv ";
      break;
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    if (nested)
      os << '(';
    self(self, binary.getLHS(), /*nested=*/true);
    os << op;
    self(self, binary.getRHS(), /*nested=*/true);
    if (nested)
      os << ')';
  };
  print(print, dim, /*nested=*/false);
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  AffineExpr leading = getAffineDimExpr(0, context);
  SmallVector<std::pair<StringRef, AffineExpr>> symbols = {
      {"rows", getAffineSymbolExpr(0, context)},
      {"cols", getAffineSymbolExpr(1, context)},
      {"leading", leading}};
  SmallVector<StringAttr> names;
  SmallVector<Type> elementTypes;
  SmallVector<AffineMap> shapes;
  auto parseInner = [&]() -> ParseResult {
    std::string name;
    Type elementType;
    SmallVector<AffineExpr> dims;
    if (parser.parseKeywordOrString(&name) || parser.parseColon() ||
        parser.parseType(elementType) ||
        parser.parseCommaSeparatedList(
            AsmParser::Delimiter::Square,
            [&] { return parser.parseAffineExpr(symbols, dims.emplace_back()); }))
      return failure();
    names.push_back(StringAttr::get(context, name));
    elementTypes.push_back(elementType);
    shapes.push_back(AffineMap::get(1, 2, dims, context));
    return success();
  };
  // The delimiter `<>` of upstream's list parser goes on after a missing '<'.
  if (parser.parseLess() || parser.parseCommaSeparatedList(parseInner) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(loc, context, names, elementTypes,
                                       shapes);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  raw_ostream &os = printer.getStream();
  printer << '<';
  for (size_t index = 0, end = size(); index != end; ++index) {
    if (index)
      printer << ", ";
    printer.printKeywordOrString(getNames()[index]);
    printer << " : ";
    printer.printType(getElementTypes()[index]);
    printer << '[';
    llvm::interleaveComma(getShapes()[index].getResults(), os,
                          [&](AffineExpr dim) { printLayoutDim(os, dim); });
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// LayoutBuilder
//===----------------------------------------------------------------------===//

LayoutBuilder::LayoutBuilder(MLIRContext *context)
    : leading(getAffineDimExpr(0, context)),
      rows(getAffineSymbolExpr(0, context)),
      cols(getAffineSymbolExpr(1, context)), context(context) {}

LayoutBuilder &
LayoutBuilder::add(StringRef name, Type elementType,
                           ArrayRef<AffineExpr> dims) {
  names.push_back(StringAttr::get(context, name));
  elementTypes.push_back(elementType);
  shapes.push_back(AffineMap::get(1, 2, dims, context));
  return *this;
}

LayoutAttr LayoutBuilder::build() {
  return LayoutAttr::get(context, names, elementTypes, shapes);
}

SmallVector<StringAttr> te::quant::getNames(MLIRContext *context,
                                         ArrayRef<StringRef> names) {
  return llvm::map_to_vector(
      names, [&](StringRef name) { return StringAttr::get(context, name); });
}
