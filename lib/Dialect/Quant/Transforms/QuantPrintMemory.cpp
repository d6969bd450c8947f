//===- QuantPrintMemory.cpp - what linear layers keep for backward -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Format.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTPRINTMEMORYPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
using Bytes = std::optional<int64_t>;

struct SlotReport {
  StringRef name;
  /// The name of what exists anyway; empty for a value.
  StringRef alias;
  TensorReport tensor;
};

struct Sums {
  Bytes saved = 0, aliased = 0, workspace = 0, bf16 = 0;

  std::optional<double> getRatio() const {
    if (!saved || !bf16 || *bf16 == 0)
      return std::nullopt;
    return static_cast<double>(*saved) / *bf16;
  }
};

struct LayerReport {
  std::string name;
  SmallVector<SlotReport, 0> slots;
  std::optional<TensorReport> workspace;
  Sums sums;
};

struct Report {
  std::vector<LayerReport> layers;
  Sums total;
};
} // namespace

static TensorReport describe(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return describeTensor(spec);
  auto tensor = cast<RankedTensorType>(type);
  return describeTensor(TensorSpecType::get(
      type.getContext(), tensor.getShape(), tensor.getElementType(),
      QuantizerAttrInterface(), /*requiresGrad=*/false, StringAttr()));
}

/// The value that an alias names.
static Value resolve(LinearOp op, const LinearForwardPlan &plan,
                     StringRef alias) {
  if (alias == "inp")
    return op.getX();
  if (alias == "weight")
    return op.getW();
  if (alias == "bias")
    return op.getBias();
  return plan.getWorkspaceResult() ? op.getResult(1) : op.getWorkspace();
}

namespace {
class Collector {
public:
  void add(LinearOp op, const LinearForwardPlan &plan);
  Report report;

private:
  /// Bytes of `value` the first time that it is asked for, then none.
  Bytes countOnce(Value value, Bytes bytes) {
    return counted.insert(value).second ? bytes : 0;
  }

  DenseSet<Value> counted;
};
} // namespace

void Collector::add(LinearOp op, const LinearForwardPlan &plan) {
  LayerReport layer;
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    layer.name = function.getName().str();
  Sums &sums = layer.sums, &total = report.total;
  DenseSet<Value> named;
  Value workspace =
      plan.getWorkspaceResult() ? op.getResult(1) : op.getWorkspace();
  if (workspace) {
    layer.workspace = describe(workspace.getType());
    sums.workspace = layer.workspace->bytes;
    // A refreshed one is the given one, in the same buffers.
    Value buffer = op.getWorkspace() && plan.weight.refreshesWorkspace
                       ? op.getWorkspace()
                       : workspace;
    total.workspace =
        addBytes(total.workspace, countOnce(buffer, sums.workspace));
    named.insert(workspace);
    counted.insert(workspace);
  }
  for (auto [name, slot] : llvm::zip(linearSlotNames, plan.saved)) {
    if (slot.kind == SavedSlot::None)
      continue;
    if (slot.kind == SavedSlot::Value) {
      SlotReport entry{name, {}, describe(slot.value)};
      Bytes bf16 = getSizeInBytes(entry.tensor.type.getShape(),
                                  BFloat16Type::get(op.getContext()));
      sums.saved = addBytes(sums.saved, entry.tensor.bytes);
      sums.bf16 = addBytes(sums.bf16, bf16);
      layer.slots.push_back(std::move(entry));
      continue;
    }
    Value value = resolve(op, plan, slot.alias);
    SlotReport entry{name, slot.alias, describe(value.getType())};
    if (named.insert(value).second)
      sums.aliased = addBytes(sums.aliased, entry.tensor.bytes);
    total.aliased =
        addBytes(total.aliased, countOnce(value, entry.tensor.bytes));
    layer.slots.push_back(std::move(entry));
  }
  total.saved = addBytes(total.saved, sums.saved);
  total.bf16 = addBytes(total.bf16, sums.bf16);
  report.layers.push_back(std::move(layer));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printText(raw_ostream &os, const Sums &sums) {
  os << "saved " << toText(sums.saved) << " bytes, bf16 " << toText(sums.bf16);
  if (std::optional<double> ratio = sums.getRatio())
    os << llvm::format(" (%.1f%%)", *ratio * 100);
  os << ", aliased " << toText(sums.aliased) << ", workspace "
     << toText(sums.workspace) << "\n";
}

static void printText(raw_ostream &os, const Report &report) {
  for (const LayerReport &layer : report.layers) {
    os << layer.name << ": te_quant.linear\n";
    for (const SlotReport &slot : layer.slots) {
      if (!slot.alias.empty()) {
        os << "  aliased " << slot.name << " as '" << slot.alias
           << "': " << toText(slot.tensor.bytes) << "\n";
        continue;
      }
      os << "  saved " << slot.name << ": " << slot.tensor.type << "\n";
      for (const InnerReport &inner : slot.tensor.inners)
        os << "    " << inner.name << "  " << toText(inner.shape) << "  "
           << inner.elementType << "  " << toText(inner.bytes) << "\n";
    }
    os << "  ";
    printText(os, layer.sums);
  }
  os << "total: ";
  printText(os, report.total);
}

static void printJSON(raw_ostream &os, const Report &report) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto attribute = [&](StringRef key, Bytes bytes) {
    json.attribute(key, bytes ? llvm::json::Value(*bytes)
                              : llvm::json::Value(nullptr));
  };
  auto printSums = [&](const Sums &sums) {
    attribute("saved_bytes", sums.saved);
    attribute("bf16_bytes", sums.bf16);
    std::optional<double> ratio = sums.getRatio();
    json.attribute("ratio", ratio ? llvm::json::Value(*ratio)
                                  : llvm::json::Value(nullptr));
    attribute("aliased_bytes", sums.aliased);
    attribute("workspace_bytes", sums.workspace);
  };
  auto printSlot = [&](const SlotReport &slot) {
    json.attribute("slot", slot.name);
    json.attribute("alias", slot.alias.empty() ? llvm::json::Value(nullptr)
                                               : llvm::json::Value(slot.alias));
    json.attribute("type", toString(slot.tensor.type));
    json.attributeArray("inner", [&] {
      for (const InnerReport &inner : slot.tensor.inners)
        printJSON(json, inner);
    });
    attribute("bytes", slot.tensor.bytes);
  };
  json.object([&] {
    json.attributeArray("layers", [&] {
      for (const LayerReport &layer : report.layers)
        json.object([&] {
          json.attribute("name", layer.name);
          json.attributeArray("slots", [&] {
            for (const SlotReport &slot : layer.slots)
              json.object([&] { printSlot(slot); });
          });
          printSums(layer.sums);
        });
    });
    json.attributeObject("total", [&] { printSums(report.total); });
  });
  os << "\n";
}

namespace {
struct QuantPrintMemoryPass
    : te::quant::impl::QuantPrintMemoryPassBase<QuantPrintMemoryPass> {
  using QuantPrintMemoryPassBase::QuantPrintMemoryPassBase;

  void runOnOperation() override {
    Collector collector;
    getOperation().walk([&](LinearOp op) {
      if (FailureOr<LinearForwardPlan> plan = op.getPlan(); succeeded(plan))
        collector.add(op, *plan);
    });
    if (format == LayoutFormat::JSON)
      printJSON(llvm::outs(), collector.report);
    else
      printText(llvm::outs(), collector.report);
    markAllAnalysesPreserved();
  }
};
} // namespace
