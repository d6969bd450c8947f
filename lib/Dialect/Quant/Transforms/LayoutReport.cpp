//===- LayoutReport.cpp - inner tensors and their bytes, to be printed -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"

using namespace mlir;
using namespace te::quant;

/// `rows` and `cols` of a layout in terms of the logical dims, which become the
/// symbols of the result; what is static is folded.
static AffineExpr substituteExtents(AffineExpr dim, ArrayRef<int64_t> shape) {
  MLIRContext *context = dim.getContext();
  auto get = [&](size_t index) {
    int64_t size = shape[index];
    return ShapedType::isDynamic(size) ? getAffineSymbolExpr(index, context)
                                       : getAffineConstantExpr(size, context);
  };
  AffineExpr rows = getAffineConstantExpr(1, context), cols = rows;
  for (size_t index = 0; index + 1 < shape.size(); ++index)
    rows = rows * get(index);
  if (!shape.empty())
    cols = get(shape.size() - 1);
  return dim.replaceSymbols({rows, cols});
}

static std::string printDim(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printLayoutDim(os, expr, [](unsigned index) {
    return "d" + std::to_string(index);
  });
  return text;
}

/// The shape of inner tensor `index`, as the layout evaluates it where static.
static SmallVector<LayoutSize> describeShape(TensorSpecType type, unsigned index) {
  LayoutAttr layout = type.getLayout();
  ArrayRef<int64_t> logical = type.getShape();
  SmallVector<int64_t> shape;
  // The type's verifier has evaluated it already.
  (void)layout.getShape(index, logical, shape);
  SmallVector<LayoutSize> sizes;
  auto add = [&](AffineExpr expr) {
    int64_t size = shape[sizes.size()];
    if (ShapedType::isDynamic(size))
      sizes.push_back(printDim(expr));
    else
      sizes.push_back(size);
  };
  for (AffineExpr dim : layout.getShapes()[index].getResults()) {
    if (isa<AffineDimExpr>(dim)) {
      for (size_t leading = 0; leading + 1 < logical.size(); ++leading)
        add(getAffineSymbolExpr(leading, type.getContext()));
      continue;
    }
    // A shape with `leading` has rank 0 where the logical one has.
    if (sizes.size() < shape.size())
      add(substituteExtents(dim, logical));
  }
  return sizes;
}

TensorReport te::quant::describeTensor(TensorSpecType type) {
  TensorReport report{type, {}, 0, {}};
  report.nominalBytes = getSizeInBytes(type.getShape(), type.getNominalDtype());
  for (auto [index, innerType] : llvm::enumerate(type.getInnerTypes())) {
    auto tensor = cast<RankedTensorType>(innerType);
    InnerReport inner{
        type.getLayout().getNames()[index].getValue(),
        describeShape(type, index), tensor.getElementType(),
        getSizeInBytes(tensor.getShape(), tensor.getElementType())};
    report.bytes = addBytes(report.bytes, inner.bytes);
    report.inners.push_back(std::move(inner));
  }
  return report;
}

std::optional<int64_t> te::quant::addBytes(std::optional<int64_t> a,
                                           std::optional<int64_t> b) {
  int64_t total;
  if (!a || !b || llvm::AddOverflow(*a, *b, total))
    return std::nullopt;
  return total;
}

std::string te::quant::toString(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

std::string te::quant::toText(ArrayRef<LayoutSize> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '(';
  llvm::interleaveComma(shape, os, [&](const LayoutSize &size) {
    std::visit([&](const auto &value) { os << value; }, size);
  });
  os << ')';
  return text;
}

std::string te::quant::toText(std::optional<int64_t> bytes) {
  return bytes ? std::to_string(*bytes) : "dynamic";
}

void te::quant::printJSON(llvm::json::OStream &json, const InnerReport &inner) {
  json.object([&] {
    json.attribute("name", inner.name);
    json.attributeArray("shape", [&] {
      for (const LayoutSize &size : inner.shape)
        std::visit([&](const auto &value) { json.value(value); }, size);
    });
    json.attribute("dtype", toString(inner.elementType));
    json.attribute("bytes", inner.bytes ? llvm::json::Value(*inner.bytes)
                                        : llvm::json::Value(nullptr));
  });
}
