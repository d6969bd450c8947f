//===- QuantStackDeallocLists.cpp - lists of deallocations on the stack -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTSTACKDEALLOCLISTSPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

/// Whether `call` is one of upstream's lowered deallocations: the function is
/// private, has this name (with a suffix where it was taken) and compares three
/// lists into two.
static bool isDeallocHelper(func::CallOp call) {
  return call.getCallee().starts_with("dealloc_helper") &&
         call.getNumOperands() == 5 && call.getNumResults() == 0;
}

/// The list that `operand` is, if only this deallocation uses it.
static memref::AllocOp getList(Value operand) {
  auto castOp = operand.getDefiningOp<memref::CastOp>();
  auto alloc = castOp ? castOp.getSource().getDefiningOp<memref::AllocOp>()
                    : operand.getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().hasStaticShape())
    return {};
  bool isLocal = llvm::all_of(alloc->getUsers(), [&](Operation *user) {
    if (auto store = dyn_cast<memref::StoreOp>(user))
      return store.getMemRef() == alloc.getResult();
    return user == castOp.getOperation() ||
           isa<memref::LoadOp, memref::DeallocOp, func::CallOp>(user);
  });
  return isLocal ? alloc : memref::AllocOp();
}

namespace {
struct QuantStackDeallocListsPass
    : te::quant::impl::QuantStackDeallocListsPassBase<
          QuantStackDeallocListsPass> {
  void runOnOperation() override {
    llvm::SmallSetVector<Operation *, 8> lists;
    getOperation().walk([&](func::CallOp call) {
      if (!isDeallocHelper(call))
        return;
      for (Value operand : call.getOperands())
        if (memref::AllocOp list = getList(operand))
          lists.insert(list);
    });
    for (Operation *op : lists) {
      auto list = cast<memref::AllocOp>(op);
      auto func = list->getParentOfType<func::FuncOp>();
      OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
      auto onStack = memref::AllocaOp::create(builder, list.getLoc(),
                                              list.getType());
      for (Operation *user : llvm::make_early_inc_range(list->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      list.replaceAllUsesWith(onStack.getResult());
      list.erase();
    }
  }
};
} // namespace
