//===- QuantPrintMemory.cpp - print what layers keep for backward ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a layer saves is what its plan says, and what it would save without
// quantizers is what the plan of such a layer says.
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"
#include "mlir/IR/IRMapping.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantModuleOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTPRINTMEMORYPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
/// Why something stays in memory until backward.
enum class Purpose {
  /// A value of the layer's own, of an activation or a statistic.
  Saved,
  /// Of a weight.
  SavedWeight,
  /// An operand or another result that backward reads again.
  Kept,
  /// A cached quantized weight.
  Workspace
};

struct Item {
  Purpose purpose;
  std::string slot;
  Type type;
  /// What is kept, so that it counts once for all layers that keep it.
  Value value;
};

/// Bytes by purpose; nothing where a size is dynamic.
struct Sums {
  std::optional<int64_t> saved = 0, savedWeights = 0, kept = 0, workspaces = 0;

  std::optional<int64_t> &get(Purpose purpose) {
    switch (purpose) {
    case Purpose::Saved:
      return saved;
    case Purpose::SavedWeight:
      return savedWeights;
    case Purpose::Kept:
      return kept;
    case Purpose::Workspace:
      break;
    }
    return workspaces;
  }
  /// What stays of activations.
  std::optional<int64_t> getActivations() const {
    return addBytes(saved, kept);
  }
};

/// Sums over layers; what several keep is in memory once.
class Total {
public:
  void add(ArrayRef<Item> items) {
    for (const Item &item : items) {
      if (item.value && !seen.insert(item.value).second)
        continue;
      std::optional<int64_t> &sum = sums.get(item.purpose);
      sum = addBytes(sum, getTotalBytes(item.type));
    }
  }
  const Sums &get() const { return sums; }

private:
  Sums sums;
  llvm::DenseSet<Value> seen;
};

struct LayerRow {
  Operation *op;
  std::string name;
  /// As the layer is, and as it would be without quantizers.
  SmallVector<Item> items, plainItems;
};
} // namespace

static StringRef stringify(Purpose purpose) {
  switch (purpose) {
  case Purpose::Saved:
    return "saved";
  case Purpose::SavedWeight:
    return "saved_weight";
  case Purpose::Kept:
    return "kept";
  case Purpose::Workspace:
    break;
  }
  return "workspace";
}

//===----------------------------------------------------------------------===//
// What a layer keeps
//===----------------------------------------------------------------------===//

static bool isInputKept(const LinearForwardPlan &plan) {
  return !plan.saved.empty() && plan.saved[InputSlot].kind == SavedSlot::Alias;
}

/// The result `name` of a layer, where backward reads that again.
template <typename OpTy, typename PlanTy>
static Value getResult(OpTy op, const PlanTy &plan, StringRef name) {
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  for (auto [result, resultName] : llvm::zip(op->getResults(), names))
    if (resultName == name)
      return result;
  return {};
}

/// Calls `keep` for each activation that is saved by name.
template <typename KeepFn>
static void forEachKept(LinearOp op, const LinearForwardPlan &plan,
                        KeepFn keep) {
  if (isInputKept(plan))
    keep("input", op.getX());
}
template <typename KeepFn>
static void forEachKept(LayerNormLinearOp op, const LayerNormLinearPlan &plan,
                        KeepFn keep) {
  if (plan.saved.empty())
    return;
  keep("input", op.getX());
  if (plan.returnsNorm && plan.saved[LNNormOutputSlot].kind == SavedSlot::Alias)
    keep("norm_output", getResult(op, plan, "norm_output"));
}
template <typename KeepFn>
static void forEachKept(LayerNormMLPOp op, const LayerNormMLPPlan &plan,
                        KeepFn keep) {
  if (!plan.saves)
    return;
  keep("input", op.getX());
  if (Value norm = getResult(op, plan, "norm_output");
      norm && isInputKept(plan.fc1))
    keep("norm_output", norm);
}
template <typename KeepFn>
static void forEachKept(GroupedLinearOp op, const GroupedLinearPlan &plan,
                        KeepFn keep) {
  // 7.4: the input is saved once.
  if (llvm::any_of(plan.experts, isInputKept))
    keep("input", op.getX());
}

static SmallVector<Value> getWorkspaces(LayerNormMLPOp op) {
  return {op.getWorkspace1(), op.getWorkspace2()};
}
static SmallVector<Value> getWorkspaces(GroupedLinearOp op) {
  return llvm::to_vector(op.getWorkspace());
}
template <typename OpTy>
static SmallVector<Value> getWorkspaces(OpTy op) {
  return {op.getWorkspace()};
}

/// The weight that a workspace result belongs to: of `fc2_workspace` the
/// second, of `workspace_3` the fourth.
static unsigned getWorkspaceIndex(StringRef name) {
  if (name.consume_front("fc"))
    return name.front() - '1';
  unsigned index = 0;
  if (name.consume_front("workspace_"))
    (void)name.getAsInteger(10, index);
  return index;
}

/// `op`: what the plan is of, for all but types.
template <typename OpTy, typename PlanTy>
static SmallVector<Item> collectItems(OpTy op, const PlanTy &plan) {
  SmallVector<Item> items;
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  // A workspace that is given is in the same buffers as its result.
  SmallVector<Type> workspaces;
  for (Value workspace : getWorkspaces(op))
    workspaces.push_back(workspace ? workspace.getType() : Type());
  for (auto [type, fullName] : llvm::zip_equal(types, names)) {
    StringRef name = fullName;
    if (name.consume_front("saved_")) {
      bool isWeight = name.contains("weight");
      items.push_back({isWeight ? Purpose::SavedWeight : Purpose::Saved,
                       name.str(),
                       type,
                       {}});
    } else if (name.contains("workspace")) {
      unsigned index = getWorkspaceIndex(name);
      if (index >= workspaces.size())
        workspaces.resize(index + 1);
      workspaces[index] = type;
    }
  }
  forEachKept(op, plan, [&](StringRef slot, Value value) {
    items.push_back({Purpose::Kept, slot.str(), value.getType(), value});
  });
  for (auto [index, type] : llvm::enumerate(workspaces))
    if (type)
      items.push_back({Purpose::Workspace,
                       workspaces.size() == 1
                           ? "workspace"
                           : "workspace_" + std::to_string(index),
                       type,
                       {}});
  return items;
}

//===----------------------------------------------------------------------===//
// The same layer without quantizers
//===----------------------------------------------------------------------===//

static Type toPlain(Type type) {
  auto spec = dyn_cast<TensorSpecType>(type);
  return spec ? RankedTensorType::get(spec.getShape(), spec.getNominalDtype())
              : type;
}

static void clearWorkspaces(LayerNormMLPOp op) {
  op.getWorkspace1Mutable().clear();
  op.getWorkspace2Mutable().clear();
}
template <typename OpTy>
static void clearWorkspaces(OpTy op) {
  op.getWorkspaceMutable().clear();
}

/// What `op` would keep if it computed in high precision throughout.
template <typename OpTy>
static SmallVector<Item> collectPlainItems(OpTy op) {
  Block block;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block.addArgument(toPlain(operand.getType()),
                                             operand.getLoc()));
  // The block is in no op that could tell the context.
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  auto plain = cast<OpTy>(builder.clone(*op, mapping));
  clearWorkspaces(plain);
  plain.getSkipUpdateMutable().clear();
  plain.getScaleMutable().clear();
  plain.getRngMutable().clear();
  for (NamedAttribute attribute : llvm::to_vector(plain->getAttrs()))
    if (isa<QuantizerAttrInterface>(attribute.getValue()))
      plain->removeAttr(attribute.getName());
  plain->removeAttr("cache_weight");
  plain->removeAttr("backward_override");
  auto plan = plain.getPlan();
  if (failed(plan))
    return {};
  SmallVector<Item> items = collectItems(plain, *plan);
  // What is kept is an operand of `op` in high precision, or its result.
  for (Item &item : items) {
    if (!item.value)
      continue;
    if (auto result = dyn_cast<OpResult>(item.value)) {
      item.value = op->getResult(0);
      continue;
    }
    for (Value operand : op->getOperands())
      if (mapping.lookup(operand) == item.value) {
        item.value = operand;
        break;
      }
  }
  return items;
}

template <typename OpTy>
static void addLayer(OpTy op, AsmState &state,
                     SmallVectorImpl<LayerRow> &rows) {
  auto plan = op.getPlan();
  if (failed(plan))
    return;
  rows.push_back({op, getReportName(op->getResult(0), state),
                  collectItems(op, *plan), collectPlainItems(op)});
}

static SmallVector<LayerRow> collect(ModuleOp module) {
  AsmState state(module);
  SmallVector<LayerRow> rows;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<LinearOp, LayerNormLinearOp, LayerNormMLPOp, GroupedLinearOp>(
            [&](auto layer) { addLayer(layer, state, rows); });
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::optional<double> getRatio(const Sums &sums, const Sums &plain) {
  std::optional<int64_t> bytes = sums.getActivations(),
                         plainBytes = plain.getActivations();
  if (!bytes || !plainBytes || *plainBytes == 0)
    return std::nullopt;
  return static_cast<double>(*bytes) / *plainBytes;
}

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static void printSums(llvm::json::OStream &json, const Sums &sums) {
  auto attribute = [&](StringRef key, std::optional<int64_t> value) {
    if (value)
      json.attribute(key, *value);
    else
      json.attribute(key, nullptr);
  };
  attribute("saved", sums.saved);
  attribute("saved_weights", sums.savedWeights);
  attribute("kept", sums.kept);
  attribute("workspaces", sums.workspaces);
}

/// The sums of a layer or of all, and what they are compared with.
static void printComparison(llvm::json::OStream &json, const Sums &sums,
                            const Sums &plain) {
  printSums(json, sums);
  json.attributeObject("high_precision", [&] { printSums(json, plain); });
  if (std::optional<double> ratio = getRatio(sums, plain))
    json.attribute("ratio", *ratio);
  else
    json.attribute("ratio", nullptr);
}

static Sums sum(ArrayRef<Item> items) {
  Total total;
  total.add(items);
  return total.get();
}

static void printJSON(raw_ostream &os, ArrayRef<LayerRow> rows,
                      const Sums &total, const Sums &plainTotal) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("layers", [&] {
      for (const LayerRow &row : rows)
        json.object([&] {
          json.attribute("name", row.name);
          json.attribute("op", row.op->getName().getStringRef());
          json.attributeArray("items", [&] {
            for (const Item &item : row.items)
              json.object([&] {
                json.attribute("slot", item.slot);
                json.attribute("purpose", stringify(item.purpose));
                json.attribute("type", toString(item.type));
                if (std::optional<int64_t> bytes = getTotalBytes(item.type))
                  json.attribute("bytes", *bytes);
                else
                  json.attribute("bytes", nullptr);
              });
          });
          printComparison(json, sum(row.items), sum(row.plainItems));
        });
    });
    json.attributeObject("total",
                         [&] { printComparison(json, total, plainTotal); });
  });
  os << "\n";
}

static void printComparison(raw_ostream &os, const Sums &sums,
                            const Sums &plain) {
  os << "activations " << formatBytes(sums.getActivations()) << " (saved "
     << formatBytes(sums.saved) << ", kept " << formatBytes(sums.kept)
     << "), weights " << formatBytes(sums.savedWeights) << ", workspaces "
     << formatBytes(sums.workspaces) << "\n";
  os << "  in high precision: activations "
     << formatBytes(plain.getActivations()) << " (saved "
     << formatBytes(plain.saved) << ", kept " << formatBytes(plain.kept)
     << "), weights " << formatBytes(plain.savedWeights);
  if (std::optional<double> ratio = getRatio(sums, plain))
    os << llvm::format("; activations are %.1f%%", *ratio * 100);
  os << "\n";
}

static void printText(raw_ostream &os, ArrayRef<LayerRow> rows,
                      const Sums &total, const Sums &plainTotal) {
  for (const LayerRow &row : rows) {
    os << row.name << ": " << row.op->getName() << "\n";
    size_t slotWidth = 0, typeWidth = 0;
    for (const Item &item : row.items) {
      slotWidth = std::max(slotWidth, item.slot.size());
      typeWidth = std::max(typeWidth, toString(item.type).size());
    }
    for (const Item &item : row.items)
      os << "  " << llvm::left_justify(stringify(item.purpose), 12) << "  "
         << llvm::left_justify(item.slot, slotWidth) << "  "
         << llvm::left_justify(toString(item.type), typeWidth) << "  "
         << formatBytes(getTotalBytes(item.type)) << "\n";
    os << "  ";
    printComparison(os, sum(row.items), sum(row.plainItems));
  }
  os << "total: ";
  printComparison(os, total, plainTotal);
}

namespace {
struct QuantPrintMemoryPass
    : te::quant::impl::QuantPrintMemoryPassBase<QuantPrintMemoryPass> {
  using QuantPrintMemoryPassBase::QuantPrintMemoryPassBase;

  void runOnOperation() override {
    SmallVector<LayerRow> rows = collect(getOperation());
    Total total, plainTotal;
    for (const LayerRow &row : rows) {
      total.add(row.items);
      plainTotal.add(row.plainItems);
    }
    if (format == LayoutFormat::JSON)
      printJSON(llvm::outs(), rows, total.get(), plainTotal.get());
    else
      printText(llvm::outs(), rows, total.get(), plainTotal.get());
    markAllAnalysesPreserved();
  }
};
} // namespace
