//===- QuantPrintLayout.cpp - print inner tensors -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTPRINTLAYOUTPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
/// A size: a number, or an expression over the logical dims.
using Size = std::variant<int64_t, std::string>;

struct InnerRow {
  StringRef name;
  SmallVector<Size> shape;
  Type elementType;
  std::optional<int64_t> bytes;
};

struct ValueRow {
  std::string name;
  TensorSpecType type;
  SmallVector<InnerRow> inners;
  std::optional<int64_t> bytes, nominalBytes;

  std::optional<double> getRatio() const {
    if (!bytes || !nominalBytes || *nominalBytes == 0)
      return std::nullopt;
    return static_cast<double>(*bytes) / *nominalBytes;
  }
};
} // namespace

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
  printLayoutDim(os, expr,
                 [](unsigned index) { return "d" + std::to_string(index); });
  return text;
}

/// The shape of inner tensor `index`, as the layout evaluates it where static.
static SmallVector<Size> describeShape(TensorSpecType type, unsigned index) {
  LayoutAttr layout = type.getLayout();
  ArrayRef<int64_t> logical = type.getShape();
  SmallVector<int64_t> shape;
  // The type's verifier has evaluated it already.
  (void)layout.getShape(index, logical, shape);
  SmallVector<Size> sizes;
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

static ValueRow describe(std::string name, TensorSpecType type) {
  ValueRow row{std::move(name), type, {}, getTotalBytes(type), {}};
  row.nominalBytes = getSizeInBytes(type.getShape(), type.getNominalDtype());
  for (auto [index, innerType] : llvm::enumerate(type.getInnerTypes())) {
    auto tensor = cast<RankedTensorType>(innerType);
    InnerRow inner{type.getLayout().getNames()[index].getValue(),
                   describeShape(type, index), tensor.getElementType(),
                   getSizeInBytes(tensor.getShape(), tensor.getElementType())};
    row.inners.push_back(std::move(inner));
  }
  return row;
}

/// All TensorSpec values below `module`, in its order.
static SmallVector<ValueRow> collect(ModuleOp module) {
  AsmState state(module);
  SmallVector<ValueRow> rows;
  auto add = [&](Value value) {
    auto type = dyn_cast<TensorSpecType>(value.getType());
    if (!type)
      return;
    rows.push_back(describe(getReportName(value, state), type));
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      add(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          add(argument);
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static void printJSON(raw_ostream &os, ArrayRef<ValueRow> rows) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto attribute = [&](StringRef key, std::optional<int64_t> value) {
    if (value)
      json.attribute(key, *value);
    else
      json.attribute(key, nullptr);
  };
  auto printInner = [&](const InnerRow &inner) {
    json.object([&] {
      json.attribute("name", inner.name);
      json.attributeArray("shape", [&] {
        for (const Size &size : inner.shape)
          std::visit([&](const auto &value) { json.value(value); }, size);
      });
      json.attribute("dtype", toString(inner.elementType));
      attribute("bytes", inner.bytes);
    });
  };
  json.array([&] {
    for (const ValueRow &row : rows)
      json.object([&] {
        json.attribute("name", row.name);
        json.attribute("type", toString(row.type));
        std::string quantizer;
        llvm::raw_string_ostream quantizerOs(quantizer);
        if (row.type.isQuantized())
          Attribute(row.type.getQuantizer()).print(quantizerOs);
        json.attribute("quantizer", row.type.isQuantized()
                                        ? llvm::json::Value(quantizer)
                                        : llvm::json::Value(nullptr));
        json.attributeArray("inner", [&] {
          for (const InnerRow &inner : row.inners)
            printInner(inner);
        });
        attribute("bytes", row.bytes);
        attribute("nominal_bytes", row.nominalBytes);
        if (std::optional<double> ratio = row.getRatio())
          json.attribute("ratio", *ratio);
        else
          json.attribute("ratio", nullptr);
      });
  });
  os << "\n";
}

static std::string toText(const InnerRow &inner) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '(';
  llvm::interleaveComma(inner.shape, os, [&](const Size &size) {
    std::visit([&](const auto &value) { os << value; }, size);
  });
  os << ')';
  return text;
}

static void printText(raw_ostream &os, ArrayRef<ValueRow> rows) {
  // One set of columns for all values, so that they can be compared.
  size_t nameWidth = 0, shapeWidth = 0, typeWidth = 0, bytesWidth = 0;
  for (const ValueRow &row : rows) {
    for (const InnerRow &inner : row.inners) {
      nameWidth = std::max(nameWidth, inner.name.size());
      shapeWidth = std::max(shapeWidth, toText(inner).size());
      typeWidth = std::max(typeWidth, toString(inner.elementType).size());
      bytesWidth = std::max(bytesWidth, formatBytes(inner.bytes).size());
    }
    bytesWidth = std::max(bytesWidth, formatBytes(row.bytes).size());
  }
  auto printRow = [&](StringRef name, StringRef shape, StringRef type,
                      StringRef bytes) {
    os << "  " << llvm::left_justify(name, nameWidth) << "  "
       << llvm::left_justify(shape, shapeWidth) << "  "
       << llvm::left_justify(type, typeWidth) << "  "
       << llvm::right_justify(bytes, bytesWidth);
  };
  for (const ValueRow &row : rows) {
    os << row.name << ": " << row.type << "\n";
    for (const InnerRow &inner : row.inners) {
      printRow(inner.name, toText(inner), toString(inner.elementType),
               formatBytes(inner.bytes));
      os << "\n";
    }
    printRow("total", "", "", formatBytes(row.bytes));
    if (row.bytes && row.nominalBytes)
      os << " bytes, " << *row.nominalBytes << " as "
         << row.type.getNominalDtype();
    if (std::optional<double> ratio = row.getRatio())
      os << llvm::format(" (%.1f%%)", *ratio * 100);
    os << "\n";
  }
}

namespace {
struct QuantPrintLayoutPass
    : te::quant::impl::QuantPrintLayoutPassBase<QuantPrintLayoutPass> {
  using QuantPrintLayoutPassBase::QuantPrintLayoutPassBase;

  void runOnOperation() override {
    SmallVector<ValueRow> rows = collect(getOperation());
    if (format == LayoutFormat::JSON)
      printJSON(llvm::outs(), rows);
    else
      printText(llvm::outs(), rows);
    markAllAnalysesPreserved();
  }
};
} // namespace
