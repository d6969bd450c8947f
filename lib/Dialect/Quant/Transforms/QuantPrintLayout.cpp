//===- QuantPrintLayout.cpp - print inner tensors -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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
struct ValueRow : TensorReport {
  std::string name;

  std::optional<double> getRatio() const {
    if (!bytes || !nominalBytes || *nominalBytes == 0)
      return std::nullopt;
    return static_cast<double>(*bytes) / *nominalBytes;
  }
};
} // namespace

/// All TensorSpec values below `module`, in its order.
static SmallVector<ValueRow> collect(ModuleOp module) {
  AsmState state(module);
  SmallVector<ValueRow> rows;
  auto add = [&](Operation *scope, Value value) {
    auto type = dyn_cast<TensorSpecType>(value.getType());
    if (!type)
      return;
    std::string name;
    llvm::raw_string_ostream os(name);
    while (scope && !isa<FunctionOpInterface>(scope))
      scope = scope->getParentOp();
    if (scope)
      os << SymbolTable::getSymbolName(scope).getValue() << ".";
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && scope && argument.getOwner()->isEntryBlock() &&
        argument.getOwner()->getParentOp() == scope) {
      os << "arg" << argument.getArgNumber();
    } else {
      std::string operand;
      llvm::raw_string_ostream operandOs(operand);
      value.printAsOperand(operandOs, state);
      os << StringRef(operand).ltrim('%');
    }
    rows.push_back({describeTensor(type), name});
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      add(op->getParentOp(), result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          add(op, argument);
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printJSON(raw_ostream &os, ArrayRef<ValueRow> rows) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto attribute = [&](StringRef key, std::optional<int64_t> value) {
    if (value)
      json.attribute(key, *value);
    else
      json.attribute(key, nullptr);
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
          for (const InnerReport &inner : row.inners)
            printJSON(json, inner);
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

static void printText(raw_ostream &os, ArrayRef<ValueRow> rows) {
  // One set of columns for all values, so that they can be compared.
  size_t nameWidth = 0, shapeWidth = 0, typeWidth = 0, bytesWidth = 0;
  for (const ValueRow &row : rows) {
    for (const InnerReport &inner : row.inners) {
      nameWidth = std::max(nameWidth, inner.name.size());
      shapeWidth = std::max(shapeWidth, toText(inner.shape).size());
      typeWidth = std::max(typeWidth, toString(inner.elementType).size());
      bytesWidth = std::max(bytesWidth, toText(inner.bytes).size());
    }
    bytesWidth = std::max(bytesWidth, toText(row.bytes).size());
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
    for (const InnerReport &inner : row.inners) {
      printRow(inner.name, toText(inner.shape), toString(inner.elementType),
               toText(inner.bytes));
      os << "\n";
    }
    printRow("total", "", "", toText(row.bytes));
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
