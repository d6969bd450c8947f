//===- LowerArithmetic.cpp - PTX results from host arithmetic -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host and device arithmetic follow IEEE 754 and differ where that leaves a
// choice, or where code generators make one:
//
//  * the device's NaN results are the canonical NaN, the host's are not;
//  * some hosts flush subnormals when they narrow to bf16;
//  * conversions to integers saturate on the device;
//  * the device orders +0 above -0 in min and max;
//  * nothing is contracted or reassociated that the IR does not spell out.
//
//===----------------------------------------------------------------------===//

#include "DeviceFunctions.h"
#include "KernelTransforms.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace te::emulator;

namespace {

class ArithmeticLowering {
public:
  explicit ArithmeticLowering(Module &module) : module(module) {}

  void run();

private:
  /// Returns what replaces the instruction, or null.
  Value *replace(Instruction &instruction);
  Value *narrow(IRBuilder<> &builder, Value *value, Type *type);
  Value *fuse(IRBuilder<> &builder, CallInst &call);
  Value *perElement(IRBuilder<> &builder, Type *type,
                    ArrayRef<Value *> operands,
                    function_ref<Value *(Type *, ArrayRef<Value *>)> compute);
  Value *callDevice(IRBuilder<> &builder, StringRef name,
                    ArrayRef<Value *> arguments);
  void canonicalizeNaN(Instruction &instruction);

  Module &module;
};

} // namespace

static FormatKind getNarrowKind(Type *scalar) {
  return scalar->isHalfTy() ? FormatKind::F16 : FormatKind::BF16;
}

static bool isNarrow(Type *type) {
  return type->getScalarType()->isHalfTy() ||
         type->getScalarType()->isBFloatTy();
}

Value *ArithmeticLowering::perElement(
    IRBuilder<> &builder, Type *type, ArrayRef<Value *> operands,
    function_ref<Value *(Type *, ArrayRef<Value *>)> compute) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return compute(type, operands);
  Value *result = PoisonValue::get(type);
  for (uint64_t i = 0; i < vector->getNumElements(); ++i) {
    SmallVector<Value *, 3> elements;
    for (Value *operand : operands)
      elements.push_back(builder.CreateExtractElement(operand, i));
    result = builder.CreateInsertElement(
        result, compute(vector->getElementType(), elements), i);
  }
  return result;
}

/// Calls a function that returns the bits of f16 or bf16.
Value *ArithmeticLowering::callDevice(IRBuilder<> &builder, StringRef name,
                                      ArrayRef<Value *> arguments) {
  SmallVector<Type *, 4> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  return builder.CreateTrunc(
      builder.CreateCall(getDeviceFunction(module, name, builder.getInt32Ty(),
                                           types, /*isPure=*/true),
                         arguments),
      builder.getInt16Ty());
}

Value *ArithmeticLowering::narrow(IRBuilder<> &builder, Value *value,
                                  Type *type) {
  return perElement(
      builder, type, {value}, [&](Type *scalar, ArrayRef<Value *> operands) {
        Value *mode = builder.getInt32(modeOf(getNarrowKind(scalar)));
        bool isDouble = operands[0]->getType()->isDoubleTy();
        return builder.CreateBitCast(
            callDevice(builder, isDouble ? "te.convertF64" : "te.convertF32",
                       {operands[0], mode}),
            scalar);
      });
}

/// Fused multiply-add of narrow types, which hosts without it round twice.
Value *ArithmeticLowering::fuse(IRBuilder<> &builder, CallInst &call) {
  SmallVector<Value *, 3> all(call.args());
  return perElement(
      builder, call.getType(), all,
      [&](Type *scalar, ArrayRef<Value *> operands) {
        SmallVector<Value *, 4> arguments;
        for (Value *operand : operands)
          arguments.push_back(
              builder.CreateFPExt(operand, builder.getFloatTy()));
        arguments.push_back(builder.getInt32(modeOf(getNarrowKind(scalar))));
        return builder.CreateBitCast(
            callDevice(builder, "te.fmaNarrow", arguments), scalar);
      });
}

Value *ArithmeticLowering::replace(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  Type *type = instruction.getType();
  switch (instruction.getOpcode()) {
  case Instruction::FPTrunc:
    return isNarrow(type) ? narrow(builder, instruction.getOperand(0), type)
                          : nullptr;
  case Instruction::SIToFP:
  case Instruction::UIToFP: {
    // f64 holds every i32 exactly; one rounding remains.
    Type *source = instruction.getOperand(0)->getType();
    if (!isNarrow(type) || source->getScalarSizeInBits() > 32)
      return nullptr;
    Type *wide = source->getWithNewType(builder.getDoubleTy());
    Value *exact =
        instruction.getOpcode() == Instruction::SIToFP
            ? builder.CreateSIToFP(instruction.getOperand(0), wide)
            : builder.CreateUIToFP(instruction.getOperand(0), wide);
    return narrow(builder, exact, type);
  }
  case Instruction::FPToSI:
    return builder.CreateIntrinsic(
        Intrinsic::fptosi_sat, {type, instruction.getOperand(0)->getType()},
        {instruction.getOperand(0)});
  case Instruction::FPToUI:
    return builder.CreateIntrinsic(
        Intrinsic::fptoui_sat, {type, instruction.getOperand(0)->getType()},
        {instruction.getOperand(0)});
  default:
    break;
  }
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  if (!intrinsic)
    return nullptr;
  switch (intrinsic->getIntrinsicID()) {
  case Intrinsic::maxnum:
    return builder.CreateBinaryIntrinsic(Intrinsic::maximumnum,
                                         intrinsic->getArgOperand(0),
                                         intrinsic->getArgOperand(1));
  case Intrinsic::minnum:
    return builder.CreateBinaryIntrinsic(Intrinsic::minimumnum,
                                         intrinsic->getArgOperand(0),
                                         intrinsic->getArgOperand(1));
  case Intrinsic::fma:
    return isNarrow(type) ? fuse(builder, *intrinsic) : nullptr;
  case Intrinsic::fmuladd: // the device always fuses
    if (isNarrow(type))
      return fuse(builder, *intrinsic);
    return builder.CreateIntrinsic(
        Intrinsic::fma, {type},
        {intrinsic->getArgOperand(0), intrinsic->getArgOperand(1),
         intrinsic->getArgOperand(2)});
  default:
    return nullptr;
  }
}

/// Returns whether the device computes the value by an arithmetic instruction,
/// rather than by moving or changing bits.
static bool isArithmetic(const Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FRem:
  case Instruction::FPTrunc:
  case Instruction::FPExt:
    return true;
  default:
    break;
  }
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction)) {
    switch (intrinsic->getIntrinsicID()) {
    case Intrinsic::ceil:
    case Intrinsic::cos:
    case Intrinsic::exp2:
    case Intrinsic::floor:
    case Intrinsic::fma:
    case Intrinsic::log2:
    case Intrinsic::maximum:
    case Intrinsic::maximumnum:
    case Intrinsic::minimum:
    case Intrinsic::minimumnum:
    case Intrinsic::nearbyint:
    case Intrinsic::rint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::sin:
    case Intrinsic::sqrt:
    case Intrinsic::trunc:
      return true;
    default:
      break;
    }
  }
  return false;
}

/// Integer operations, as floating-point rules let an optimiser ignore which
/// NaN it is.
void ArithmeticLowering::canonicalizeNaN(Instruction &instruction) {
  Type *type = instruction.getType();
  Type *scalar = type->getScalarType();
  uint32_t infinity, nan;
  if (scalar->isFloatTy()) {
    infinity = 0x7F800000;
    nan = 0x7FFFFFFF;
  } else if (scalar->isHalfTy()) {
    infinity = 0x7C00;
    nan = 0x7FFF;
  } else if (scalar->isBFloatTy()) {
    infinity = 0x7F80;
    nan = 0x7FFF;
  } else {
    return; // f64 keeps payloads
  }
  IRBuilder<> builder(instruction.getNextNode());
  Type *integer =
      type->getWithNewType(builder.getIntNTy(scalar->getPrimitiveSizeInBits()));
  Value *bits = builder.CreateBitCast(&instruction, integer);
  Value *magnitude = builder.CreateAnd(bits, ConstantInt::get(integer, nan));
  Value *isNaN =
      builder.CreateICmpUGT(magnitude, ConstantInt::get(integer, infinity));
  Value *result = builder.CreateBitCast(
      builder.CreateSelect(isNaN, ConstantInt::get(integer, nan), bits), type);
  instruction.replaceUsesWithIf(
      result, [&](Use &use) { return use.getUser() != bits; });
}

void ArithmeticLowering::run() {
  SmallVector<Instruction *> worklist;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (isa<FPMathOperator>(instruction))
        instruction.copyFastMathFlags(FastMathFlags());
      worklist.push_back(&instruction);
    }
  for (Instruction *instruction : worklist) {
    if (Value *replacement = replace(*instruction)) {
      instruction->replaceAllUsesWith(replacement);
      instruction->eraseFromParent();
      instruction = dyn_cast<Instruction>(replacement);
    }
    if (instruction && isArithmetic(*instruction))
      canonicalizeNaN(*instruction);
  }
}

void te::emulator::lowerArithmetic(Module &module) {
  ArithmeticLowering(module).run();
}
