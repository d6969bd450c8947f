//===- InstrumentAccesses.cpp - reporting a kernel's accesses -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before each access of memory the kernel calls the emulator, which checks and
// counts it. Accesses to local and shared variables through pointers with a
// known origin must stay inside of the variable; where that is evident, no call
// is needed for local ones.
//
//===----------------------------------------------------------------------===//

#include "DeviceFunctions.h"
#include "KernelTransforms.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace te::emulator;

namespace {

/// The variable that a pointer points into.
struct Object {
  Value *address = nullptr;
  uint64_t size = 0;
  bool isLocal = false;
};

class Instrumenter {
public:
  explicit Instrumenter(KernelUnit &unit)
      : unit(unit), module(*unit.module), layout(module.getDataLayout()) {}

  void run();

private:
  void visit(Instruction &instruction);
  void report(Instruction &before, Value *address, Value *size, Align alignment,
              uint32_t flags);
  void report(Instruction &before, Value *address, Type *type, Align alignment,
              uint32_t flags);
  Object findObject(Value *address) const;

  KernelUnit &unit;
  Module &module;
  const DataLayout &layout;
};

} // namespace

Object Instrumenter::findObject(Value *address) const {
  while (true) {
    if (auto *alloca = dyn_cast<AllocaInst>(address)) {
      std::optional<TypeSize> size = alloca->getAllocationSize(layout);
      if (!size)
        return {};
      return {alloca, size->getFixedValue(), /*isLocal=*/true};
    }
    if (auto *instruction = dyn_cast<Instruction>(address))
      if (MDNode *size = instruction->getMetadata(objectSizeMetadata))
        return {instruction, mdconst::extract<ConstantInt>(size->getOperand(0))
                                 ->getZExtValue()};
    auto *gep = dyn_cast<GEPOperator>(address);
    if (!gep)
      return {};
    address = gep->getPointerOperand();
  }
}

void Instrumenter::report(Instruction &before, Value *address, Value *size,
                          Align alignment, uint32_t flags) {
  IRBuilder<> builder(&before);
  Object object = findObject(address);
  auto *constantSize = dyn_cast<ConstantInt>(size);
  if (object.isLocal && constantSize) {
    APInt offset(64, 0);
    Value *base = address->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    uint64_t bytes = constantSize->getZExtValue();
    if (base == object.address && bytes <= object.size &&
        offset.ule(object.size - bytes) &&
        commonAlignment(cast<AllocaInst>(base)->getAlign(),
                        offset.getZExtValue()) >= alignment)
      return;
  }
  SmallVector<Value *, 6> arguments = {
      builder.CreatePtrToInt(address, builder.getInt64Ty()),
      builder.CreateZExtOrTrunc(size, builder.getInt64Ty()),
      builder.getInt32(flags | Log2(alignment)),
      builder.getInt32(unit.siteCount++)};
  if (object.address) {
    arguments.push_back(
        builder.CreatePtrToInt(object.address, builder.getInt64Ty()));
    arguments.push_back(builder.getInt64(object.size));
  }
  SmallVector<Type *, 6> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  builder.CreateCall(
      getDeviceFunction(module, object.address ? "te.accessObject"
                                               : "te.accessMemory",
                        builder.getVoidTy(), types, /*isPure=*/false),
      arguments);
}

void Instrumenter::report(Instruction &before, Value *address, Type *type,
                          Align alignment, uint32_t flags) {
  uint64_t size = layout.getTypeStoreSize(type).getFixedValue();
  report(before, address,
         ConstantInt::get(Type::getInt64Ty(module.getContext()), size),
         alignment, flags);
}

void Instrumenter::visit(Instruction &instruction) {
  if (instruction.hasMetadata(internalAccessMetadata))
    return;
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    report(*load, load->getPointerOperand(), load->getType(), load->getAlign(),
           kAccessRead | (load->isAtomic() ? kAccessAtomic : 0));
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    report(*store, store->getPointerOperand(),
           store->getValueOperand()->getType(), store->getAlign(),
           kAccessWrite | (store->isAtomic() ? kAccessAtomic : 0));
  } else if (auto *atomic = dyn_cast<AtomicRMWInst>(&instruction)) {
    report(*atomic, atomic->getPointerOperand(), atomic->getType(),
           atomic->getAlign(), kAccessRead | kAccessWrite | kAccessAtomic);
  } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    report(*exchange, exchange->getPointerOperand(),
           exchange->getCompareOperand()->getType(), exchange->getAlign(),
           kAccessRead | kAccessWrite | kAccessAtomic);
  } else if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
    if (auto *transfer = dyn_cast<MemTransferInst>(memory))
      report(*memory, transfer->getRawSource(), transfer->getLength(),
             transfer->getSourceAlign().valueOrOne(), kAccessRead);
    report(*memory, memory->getRawDest(), memory->getLength(),
           memory->getDestAlign().valueOrOne(), kAccessWrite);
  }
}

void Instrumenter::run() {
  for (Function &function : module)
    for (Instruction &instruction :
         make_early_inc_range(instructions(function)))
      visit(instruction);
}

void te::emulator::instrumentAccesses(KernelUnit &unit) {
  Instrumenter(unit).run();
}
