//===- QuantTieResults.cpp - results that are an argument's buffer -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Left in place, such a result would be cloned by buffer deallocation: the copy
// that an in-place update must not make.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTTIERESULTSPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
/// Finds for each buffer the one argument of its function that it is on every
/// path. Starts from "any argument" and only gives up what a path contradicts,
/// so that loops and recursive calls do not stand in their own way.
class BufferOrigins {
public:
  explicit BufferOrigins(ModuleOp module);

  /// The argument that result `index` of `func` is, or nothing.
  std::optional<unsigned> getTiedArgument(func::FuncOp func, unsigned index);

  /// The function that `call` calls, if it is one with a body.
  func::FuncOp getCallee(func::CallOp call);

private:
  /// An argument, `other`, or unknown as long as no path has reached it.
  using Origin = std::optional<int64_t>;
  static constexpr int64_t other = -1;

  void visit(func::FuncOp func);
  void visit(func::FuncOp func, Operation *op);
  void visitReturn(func::FuncOp func, func::ReturnOp op);
  void visitCall(func::CallOp call);
  void visitRegions(RegionBranchOpInterface op);
  void visitSuccessors(BranchOpInterface op);

  Origin get(Value value) { return origins.lookup(value); }
  void join(Origin &origin, Origin incoming);
  void join(Value value, Origin incoming) {
    if (isa<BaseMemRefType>(value.getType()))
      join(origins[value], incoming);
  }

  SymbolTableCollection symbolTables;
  DenseMap<Value, Origin> origins;
  DenseMap<Operation *, SmallVector<Origin>> resultOrigins;
  bool changed = false;
};
} // namespace

BufferOrigins::BufferOrigins(ModuleOp module) {
  SmallVector<func::FuncOp> funcs;
  module.walk([&](func::FuncOp func) {
    if (func.isExternal())
      return;
    funcs.push_back(func);
    resultOrigins[func].resize(func.getNumResults());
    for (BlockArgument argument : func.getArguments())
      join(argument, argument.getArgNumber());
  });
  // Who else uses the symbol expects the signature as it is.
  module.walk([&](Operation *table) {
    if (!table->hasTrait<OpTrait::SymbolTable>())
      return;
    for (Region &region : table->getRegions()) {
      std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(&region);
      if (!uses)
        continue;
      for (SymbolTable::SymbolUse use : *uses) {
        if (isa<func::CallOp>(use.getUser()))
          continue;
        auto func = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
            use.getUser(), use.getSymbolRef());
        if (auto entry = resultOrigins.find(func); entry != resultOrigins.end())
          llvm::fill(entry->second, other);
      }
    }
  });
  do {
    changed = false;
    for (func::FuncOp func : funcs)
      visit(func);
  } while (changed);
}

std::optional<unsigned> BufferOrigins::getTiedArgument(func::FuncOp func,
                                                       unsigned index) {
  auto entry = resultOrigins.find(func);
  if (entry == resultOrigins.end())
    return std::nullopt;
  Origin origin = entry->second[index];
  if (!origin || *origin == other)
    return std::nullopt;
  return *origin;
}

func::FuncOp BufferOrigins::getCallee(func::CallOp call) {
  auto func = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return resultOrigins.contains(func) ? func : func::FuncOp();
}

void BufferOrigins::join(Origin &origin, Origin incoming) {
  if (!incoming || origin == incoming || origin == other)
    return;
  origin = origin ? Origin(other) : incoming;
  changed = true;
}

void BufferOrigins::visit(func::FuncOp func) {
  func.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { visit(func, op); });
}

void BufferOrigins::visit(func::FuncOp func, Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](memref::CastOp cast) {
        join(cast.getResult(), get(cast.getSource()));
      })
      .Case([&](arith::SelectOp select) {
        join(select.getResult(), get(select.getTrueValue()));
        join(select.getResult(), get(select.getFalseValue()));
      })
      .Case([&](func::CallOp call) { visitCall(call); })
      .Case([&](func::ReturnOp op) { visitReturn(func, op); })
      .Case([&](RegionBranchOpInterface op) { visitRegions(op); })
      .Case([&](BranchOpInterface op) { visitSuccessors(op); })
      .Default([&](Operation *op) {
        for (Value result : op->getResults())
          join(result, other);
        for (Region &region : op->getRegions())
          for (Value argument : region.getArguments())
            join(argument, other);
      });
}

void BufferOrigins::visitReturn(func::FuncOp func, func::ReturnOp op) {
  for (auto [origin, operand] :
       llvm::zip_equal(resultOrigins[func], op.getOperands())) {
    Origin incoming = get(operand);
    if (!isa<BaseMemRefType>(operand.getType()))
      incoming = other;
    // A caller gets the argument cast to the result's type.
    else if (incoming && incoming != other &&
             !memref::CastOp::areCastCompatible(
                 func.getArgument(*incoming).getType(), operand.getType()) &&
             func.getArgument(*incoming).getType() != operand.getType())
      incoming = other;
    join(origin, incoming);
  }
}

void BufferOrigins::visitCall(func::CallOp call) {
  func::FuncOp callee = getCallee(call);
  for (auto [index, result] : llvm::enumerate(call.getResults())) {
    Origin origin = callee ? resultOrigins[callee][index] : Origin(other);
    if (origin && *origin != other)
      origin = get(call.getOperand(*origin));
    join(result, origin);
  }
}

void BufferOrigins::visitRegions(RegionBranchOpInterface op) {
  RegionBranchInverseSuccessorMapping mapping;
  op.getSuccessorInputOperandMapping(mapping);
  auto visitInput = [&](Value input) {
    auto entry = mapping.find(input);
    if (entry == mapping.end())
      return join(input, other);
    for (OpOperand *operand : entry->second)
      join(input, get(operand->get()));
  };
  for (Value result : op->getResults())
    visitInput(result);
  for (Region &region : op->getRegions())
    for (Value argument : region.getArguments())
      visitInput(argument);
}

void BufferOrigins::visitSuccessors(BranchOpInterface op) {
  for (auto [index, successor] : llvm::enumerate(op->getSuccessors())) {
    SuccessorOperands operands = op.getSuccessorOperands(index);
    for (BlockArgument argument : successor->getArguments()) {
      Value operand = operands[argument.getArgNumber()];
      join(argument, operand ? get(operand) : Origin(other));
    }
  }
}

/// Adds (result, argument) pairs to `te_quant.tied`. `tied` counts the results
/// that the function has now, the attribute those it had.
static void recordTied(func::FuncOp func,
                       ArrayRef<std::optional<unsigned>> tied) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  if (auto before = func->getAttrOfType<ArrayAttr>(TEQuantDialect::tiedAttrName))
    for (auto pair : before.getAsRange<DenseI64ArrayAttr>())
      pairs.emplace_back(pair[0], pair[1]);
  size_t numResults = tied.size() + pairs.size();
  SmallVector<int64_t> remaining;
  for (int64_t index = 0; remaining.size() < tied.size() &&
                          index < static_cast<int64_t>(numResults);
       ++index)
    if (llvm::none_of(pairs, [&](auto pair) { return pair.first == index; }))
      remaining.push_back(index);
  for (auto [index, argument] : llvm::zip(remaining, tied))
    if (argument)
      pairs.emplace_back(index, *argument);
  llvm::sort(pairs);
  Builder b(func.getContext());
  SmallVector<Attribute> attrs;
  for (auto [result, argument] : pairs)
    attrs.push_back(b.getDenseI64ArrayAttr({result, argument}));
  func->setAttr(TEQuantDialect::tiedAttrName, b.getArrayAttr(attrs));
}

/// `call` without the results in `tied`, which its operands stand for.
static void rewriteCall(func::CallOp call,
                        ArrayRef<std::optional<unsigned>> tied) {
  OpBuilder builder(call);
  SmallVector<Type> types;
  SmallVector<Attribute> attrs;
  ArrayAttr resultAttrs = call.getResAttrsAttr();
  for (auto [index, argument] : llvm::enumerate(tied)) {
    if (argument)
      continue;
    types.push_back(call.getResult(index).getType());
    if (resultAttrs)
      attrs.push_back(resultAttrs[index]);
  }
  OperationState state(call.getLoc(), call->getName(), call.getOperands(),
                       types, call->getAttrs());
  auto narrow = cast<func::CallOp>(builder.create(state));
  if (resultAttrs)
    narrow.setResAttrsAttr(builder.getArrayAttr(attrs));
  auto next = narrow.result_begin();
  for (auto [result, argument] : llvm::zip_equal(call.getResults(), tied)) {
    if (!argument) {
      result.replaceAllUsesWith(*next++);
      continue;
    }
    if (result.use_empty())
      continue;
    Value buffer = call.getOperand(*argument);
    if (buffer.getType() != result.getType())
      buffer = memref::CastOp::create(builder, call.getLoc(), result.getType(),
                                      buffer);
    result.replaceAllUsesWith(buffer);
  }
  call.erase();
}

namespace {
struct QuantTieResultsPass
    : te::quant::impl::QuantTieResultsPassBase<QuantTieResultsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    BufferOrigins origins(module);
    SmallVector<std::pair<func::FuncOp, SmallVector<std::optional<unsigned>>>>
        funcs;
    SmallVector<std::pair<func::CallOp, func::FuncOp>> calls;
    module.walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (func::FuncOp callee = origins.getCallee(call))
          calls.emplace_back(call, callee);
        return;
      }
      auto func = dyn_cast<func::FuncOp>(op);
      if (!func)
        return;
      SmallVector<std::optional<unsigned>> tied;
      for (unsigned index = 0; index != func.getNumResults(); ++index)
        tied.push_back(origins.getTiedArgument(func, index));
      if (llvm::any_of(tied, [](auto argument) { return bool(argument); }))
        funcs.emplace_back(func, tied);
    });

    DenseMap<Operation *, ArrayRef<std::optional<unsigned>>> tiedOf;
    for (auto &[func, tied] : funcs)
      tiedOf[func] = tied;
    for (auto [call, callee] : calls)
      if (auto entry = tiedOf.find(callee); entry != tiedOf.end())
        rewriteCall(call, entry->second);
    for (auto &[func, tied] : funcs) {
      BitVector erased(tied.size());
      for (auto [index, argument] : llvm::enumerate(tied))
        erased[index] = bool(argument);
      func.getBody().walk(
          [&](func::ReturnOp op) { op->eraseOperands(erased); });
      // From the back, so that chains of casts go as a whole.
      func.getBody().walk<WalkOrder::PostOrder, ReverseIterator>(
          [](memref::CastOp op) {
            if (op->use_empty())
              op.erase();
          });
      if (failed(func.eraseResults(erased)))
        return signalPassFailure();
      recordTied(func, tied);
    }
  }
};
} // namespace
