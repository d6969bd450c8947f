//===- LowerIntrinsics.cpp - llvm.nvvm.* on the host ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table from the name of an intrinsic, without "llvm.nvvm." and the suffixes
// of overloads, to what takes its place. Families of intrinsics are spelled out
// by loops over their modifiers, in the order of IntrinsicsNVVM.td. An intrinsic
// that is not in the table is an error when the module is loaded.
//
//===----------------------------------------------------------------------===//

#include "DeviceFunctions.h"
#include "Execution.h"
#include "KernelTransforms.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

#include <cstddef>
#include <functional>

using namespace llvm;
using namespace te::emulator;

namespace {

/// Builds the replacement of calls.
class Lowering {
public:
  explicit Lowering(KernelUnit &unit)
      : unit(unit), module(*unit.module), reader(module) {}

  /// Calls a function of the emulator.
  Value *call(IRBuilder<> &builder, StringRef name, Type *result,
              ArrayRef<Value *> arguments, bool isPure) {
    SmallVector<Type *> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    return builder.CreateCall(
        getDeviceFunction(module, name, result, types, isPure), arguments);
  }

  Value *readState(IRBuilder<> &builder, size_t offset) {
    return reader.read(builder, builder.getInt32Ty(), offset);
  }

  /// Takes `count` numbers for memory accesses.
  Value *takeSites(IRBuilder<> &builder, uint32_t count) {
    Value *first = builder.getInt32(unit.siteCount);
    unit.siteCount += count;
    return first;
  }
  /// Takes a number that tells one synchronisation instruction from another.
  Value *takeSyncSite(IRBuilder<> &builder) {
    return builder.getInt32(syncSites++);
  }
  void needFibers() { unit.usesFibers = true; }

private:
  KernelUnit &unit;
  Module &module;
  ThreadStateReader reader;
  uint32_t syncSites = 0;
};

/// Returns the value that replaces the call, or null where there is none.
using LowerFn = std::function<Value *(Lowering &, IRBuilder<> &, CallInst &)>;
using LowerTable = StringMap<LowerFn>;

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Value *toI32(IRBuilder<> &builder, Value *value) {
  unsigned bits = value->getType()->getPrimitiveSizeInBits();
  value = builder.CreateBitCast(value, builder.getIntNTy(bits));
  return builder.CreateZExtOrTrunc(value, builder.getInt32Ty());
}

/// The low bits of an integer as a value of another type.
static Value *fromInteger(IRBuilder<> &builder, Value *value, Type *type) {
  unsigned bits = type->getPrimitiveSizeInBits();
  value = builder.CreateZExtOrTrunc(value, builder.getIntNTy(bits));
  return builder.CreateBitCast(value, type);
}

static FormatKind getFormatKind(Type *scalar) {
  return scalar->isHalfTy()     ? FormatKind::F16
         : scalar->isBFloatTy() ? FormatKind::BF16
                                : FormatKind::F32;
}

/// An f32 that is rounded to a value of f16 or bf16.
static Value *narrow(Lowering &lowering, IRBuilder<> &builder, Value *value,
                     Type *type) {
  if (type->isFloatTy())
    return value;
  uint32_t mode = modeOf(getFormatKind(type));
  return fromInteger(builder,
                     lowering.call(builder, "te.convertF32",
                                   builder.getInt32Ty(),
                                   {value, builder.getInt32(mode)}, true),
                     type);
}

static Value *widen(IRBuilder<> &builder, Value *value) {
  return value->getType()->isFloatTy()
             ? value
             : builder.CreateFPExt(value, builder.getFloatTy());
}

/// Applies a function of scalars to scalars or to each element of vectors.
static Value *
mapElements(IRBuilder<> &builder, Type *type, ArrayRef<Value *> operands,
            function_ref<Value *(Type *, ArrayRef<Value *>)> compute) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return compute(type, operands);
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    SmallVector<Value *, 4> elements;
    for (Value *operand : operands)
      elements.push_back(builder.CreateExtractElement(operand, i));
    result = builder.CreateInsertElement(
        result, compute(vector->getElementType(), elements), i);
  }
  return result;
}

static Value *makePair(IRBuilder<> &builder, Type *type, Value *first,
                       Value *second) {
  Value *pair = builder.CreateInsertValue(PoisonValue::get(type), first, 0);
  return builder.CreateInsertValue(pair, second, 1);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
struct NamedRounding {
  StringLiteral name;
  Rounding rounding;
};
} // namespace

static constexpr NamedRounding roundings[] = {{"rn", Rounding::NearestEven},
                                              {"rz", Rounding::Zero},
                                              {"rm", Rounding::Down},
                                              {"rp", Rounding::Up}};

static std::string join(std::initializer_list<StringRef> parts) {
  std::string name;
  for (StringRef part : parts) {
    if (part.empty())
      continue;
    if (!name.empty())
      name += '.';
    name += part;
  }
  return name;
}

/// Calls te.arithmeticF32 or te.arithmeticF64 with the operands that there are.
static Value *callArithmetic(Lowering &lowering, IRBuilder<> &builder,
                             ArrayRef<Value *> operands, uint32_t mode) {
  Type *type = operands[0]->getType();
  SmallVector<Value *, 4> arguments(operands);
  while (arguments.size() < 3)
    arguments.push_back(Constant::getNullValue(type));
  arguments.push_back(builder.getInt32(mode));
  return lowering.call(
      builder, type->isDoubleTy() ? "te.arithmeticF64" : "te.arithmeticF32",
      type, arguments, true);
}

static LowerFn makeArithmetic(ArithmeticOp op, uint32_t modifiers) {
  uint32_t mode = modeOf(op) | modifiers;
  return [mode](Lowering &lowering, IRBuilder<> &builder,
                CallInst &call) -> Value * {
    SmallVector<Value *, 3> operands(call.args());
    // Correct rounding to nearest is what the host does.
    bool isPlain = (mode & ~modeOf(getArithmeticOp(mode))) == 0;
    if (isPlain) {
      switch (getArithmeticOp(mode)) {
      case ArithmeticOp::Add:
        return builder.CreateFAdd(operands[0], operands[1]);
      case ArithmeticOp::Mul:
        return builder.CreateFMul(operands[0], operands[1]);
      case ArithmeticOp::Div:
        return builder.CreateFDiv(operands[0], operands[1]);
      case ArithmeticOp::Rcp:
        return builder.CreateFDiv(ConstantFP::get(call.getType(), 1.0),
                                  operands[0]);
      case ArithmeticOp::Fma:
        return builder.CreateIntrinsic(Intrinsic::fma, {call.getType()},
                                       operands);
      case ArithmeticOp::Sqrt:
        return builder.CreateUnaryIntrinsic(Intrinsic::sqrt, operands[0]);
      default:
        break;
      }
    }
    return callArithmetic(lowering, builder, operands, mode);
  };
}

static void addArithmetic(LowerTable &table) {
  struct Family {
    StringLiteral name;
    ArithmeticOp op;
    bool canSaturate;
  };
  const Family rounded[] = {{"add", ArithmeticOp::Add, true},
                            {"mul", ArithmeticOp::Mul, false},
                            {"div", ArithmeticOp::Div, false},
                            {"fma", ArithmeticOp::Fma, true},
                            {"rcp", ArithmeticOp::Rcp, false},
                            {"sqrt", ArithmeticOp::Sqrt, false}};
  for (const Family &family : rounded) {
    for (const NamedRounding &rounding : roundings) {
      uint32_t mode = modeOf(rounding.rounding);
      for (StringRef ftz : {"", "ftz"})
        for (StringRef sat : {"", "sat"}) {
          if (!sat.empty() && !family.canSaturate)
            continue;
          table[join({family.name, rounding.name, ftz, sat, "f"})] =
              makeArithmetic(family.op, mode | (ftz.empty() ? 0 : kModeFtz) |
                                            (sat.empty() ? 0 : kModeSat));
        }
      table[join({family.name, rounding.name, "d"})] =
          makeArithmetic(family.op, mode);
    }
  }

  const Family approximate[] = {{"div.approx", ArithmeticOp::Div, false},
                                {"div.full", ArithmeticOp::Div, false},
                                {"sqrt.approx", ArithmeticOp::Sqrt, false},
                                {"rsqrt.approx", ArithmeticOp::Rsqrt, false},
                                {"rcp.approx", ArithmeticOp::Rcp, false},
                                {"lg2.approx", ArithmeticOp::Lg2, false},
                                {"sin.approx", ArithmeticOp::Sin, false},
                                {"cos.approx", ArithmeticOp::Cos, false},
                                {"floor", ArithmeticOp::Floor, false},
                                {"ceil", ArithmeticOp::Ceil, false},
                                {"trunc", ArithmeticOp::Trunc, false},
                                {"round", ArithmeticOp::Round, false}};
  for (const Family &family : approximate)
    for (StringRef ftz : {"", "ftz"})
      for (StringRef type : {"f", "d", ""}) {
        // Only div.full has no type in its name.
        if (type.empty() != (family.name == "div.full"))
          continue;
        table[join({family.name, ftz, type})] =
            makeArithmetic(family.op, ftz.empty() ? 0 : kModeFtz);
      }
  table["sqrt.f"] = makeArithmetic(ArithmeticOp::Sqrt, 0);
  table["saturate.f"] = makeArithmetic(ArithmeticOp::Copy, kModeSat);
  table["saturate.ftz.f"] =
      makeArithmetic(ArithmeticOp::Copy, kModeSat | kModeFtz);
  table["saturate.d"] = makeArithmetic(ArithmeticOp::Copy, kModeSat);

  for (StringRef ftz : {"", "ftz"}) {
    uint32_t flush = ftz.empty() ? 0 : kModeFtz;
    table[join({"ex2.approx", ftz})] = [flush](Lowering &lowering,
                                               IRBuilder<> &builder,
                                               CallInst &call) {
      return mapElements(
          builder, call.getType(), {call.getArgOperand(0)},
          [&](Type *type, ArrayRef<Value *> operands) {
            Value *result =
                callArithmetic(lowering, builder, {widen(builder, operands[0])},
                               modeOf(ArithmeticOp::Ex2) | flush);
            return narrow(lowering, builder, result, type);
          });
    };
    table[join({"fabs", ftz})] = [flush](Lowering &lowering,
                                         IRBuilder<> &builder,
                                         CallInst &call) -> Value * {
      Value *absolute = builder.CreateUnaryIntrinsic(Intrinsic::fabs,
                                                     call.getArgOperand(0));
      if (!flush || !call.getType()->isFloatTy())
        return absolute;
      return callArithmetic(lowering, builder, {absolute},
                            modeOf(ArithmeticOp::Copy) | kModeFtz);
    };

    for (StringRef variant : {"", "sat", "relu"})
      for (StringRef type : {"f16", "f16x2", "bf16", "bf16x2"}) {
        uint32_t mode = flush | (variant == "sat"    ? kModeSat
                                 : variant == "relu" ? kModeRelu
                                                     : 0);
        table[join({"fma.rn", ftz, variant, type})] =
            [mode](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
              SmallVector<Value *, 3> all(call.args());
              return mapElements(
                  builder, call.getType(), all,
                  [&](Type *type, ArrayRef<Value *> operands) {
                    Value *result = lowering.call(
                        builder, "te.fmaNarrow", builder.getInt32Ty(),
                        {widen(builder, operands[0]),
                         widen(builder, operands[1]),
                         widen(builder, operands[2]),
                         builder.getInt32(mode | modeOf(getFormatKind(type)))},
                        true);
                    return fromInteger(builder, result, type);
                  });
            };
      }
  }
  for (StringRef type : {"bf16", "bf16x2"})
    table[join({"neg", type})] = [](Lowering &, IRBuilder<> &builder,
                                    CallInst &call) {
      return builder.CreateFNeg(call.getArgOperand(0));
    };

  for (StringRef op : {"fmin", "fmax"})
    for (StringRef ftz : {"", "ftz"})
      for (StringRef nan : {"", "nan"})
        for (StringRef xorsign : {"", "xorsign.abs"})
          for (StringRef type : {"f", "f16", "f16x2", "bf16", "bf16x2", "d"}) {
            if (type == "d" &&
                !(ftz.empty() && nan.empty() && xorsign.empty()))
              continue;
            uint32_t mode = (op == "fmin" ? kModeMin : 0) |
                            (ftz.empty() ? 0 : kModeFtz) |
                            (nan.empty() ? 0 : kModeNaN) |
                            (xorsign.empty() ? 0 : kModeXorSignAbs);
            table[join({op, ftz, nan, xorsign, type})] =
                [mode](Lowering &lowering, IRBuilder<> &builder,
                       CallInst &call) {
                  SmallVector<Value *, 2> all(call.args());
                  return mapElements(
                      builder, call.getType(), all,
                      [&](Type *type, ArrayRef<Value *> operands) -> Value * {
                        Value *flags = builder.getInt32(
                            mode | modeOf(getFormatKind(type)));
                        if (type->isDoubleTy())
                          return lowering.call(
                              builder, "te.minMaxF64", type,
                              {operands[0], operands[1], flags}, true);
                        Value *result = lowering.call(
                            builder, "te.minMaxF32", builder.getFloatTy(),
                            {widen(builder, operands[0]),
                             widen(builder, operands[1]), flags},
                            true);
                        return narrow(lowering, builder, result, type);
                      });
                };
          }
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Converts one f32 to the call's type.
static LowerFn makeConvertOne(FormatKind format, uint32_t modifiers) {
  return [=](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    Value *result = lowering.call(
        builder, "te.convertF32", builder.getInt32Ty(),
        {widen(builder, call.getArgOperand(0)),
         builder.getInt32(modeOf(format) | modifiers)},
        true);
    return fromInteger(builder, result, call.getType());
  };
}

static Value *convertPair(Lowering &lowering, IRBuilder<> &builder,
                          Value *upper, Value *lower, uint32_t mode,
                          Type *type) {
  Value *result =
      lowering.call(builder, "te.convertPair", builder.getInt32Ty(),
                    {upper, lower, builder.getInt32(mode)}, true);
  return fromInteger(builder, result, type);
}

/// Converts two f32, or a vector of two narrower values, to a packed pair.
static LowerFn makeConvertPair(FormatKind format, uint32_t modifiers) {
  return [=](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    Value *upper = call.getArgOperand(0), *lower = nullptr;
    if (upper->getType()->isVectorTy()) {
      lower = widen(builder, builder.CreateExtractElement(upper, uint64_t(0)));
      upper = widen(builder, builder.CreateExtractElement(upper, uint64_t(1)));
    } else {
      lower = call.getArgOperand(1);
    }
    return convertPair(lowering, builder, upper, lower,
                       modeOf(format) | modifiers, call.getType());
  };
}

static LowerFn makeWidenPair(FormatKind format, uint32_t modifiers) {
  return [=](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    Value *result = lowering.call(
        builder, "te.widenPair", builder.getInt32Ty(),
        {toI32(builder, call.getArgOperand(0)),
         builder.getInt32(modeOf(format) | modifiers)},
        true);
    return fromInteger(builder, result, call.getType());
  };
}

static LowerFn makeToInteger(uint32_t mode) {
  return [mode](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    Value *source = call.getArgOperand(0);
    if (source->getType()->isFloatTy())
      source = builder.CreateFPExt(source, builder.getDoubleTy());
    Value *result =
        lowering.call(builder, "te.toInteger", builder.getInt64Ty(),
                      {source, builder.getInt32(mode)}, true);
    return builder.CreateTrunc(result, call.getType());
  };
}

static LowerFn makeFromInteger(uint32_t mode) {
  return [mode](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    Value *source = call.getArgOperand(0);
    source = mode & kModeSigned
                 ? builder.CreateSExt(source, builder.getInt64Ty())
                 : builder.CreateZExt(source, builder.getInt64Ty());
    return lowering.call(
        builder,
        call.getType()->isFloatTy() ? "te.integerToF32" : "te.integerToF64",
        call.getType(), {source, builder.getInt32(mode)}, true);
  };
}

static void addConversions(LowerTable &table) {
  for (const NamedRounding &rounding : roundings) {
    uint32_t mode = modeOf(rounding.rounding);
    for (StringRef ftz : {"", "ftz"}) {
      uint32_t flush = ftz.empty() ? 0 : kModeFtz;
      table[join({"d2f", rounding.name, ftz})] =
          [=](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
            return lowering.call(
                builder, "te.f64ToF32", builder.getFloatTy(),
                {call.getArgOperand(0), builder.getInt32(mode | flush)}, true);
          };
    }
    for (StringRef sign : {"", "u"}) {
      uint32_t base = mode | (sign.empty() ? kModeSigned : 0);
      for (StringRef width : {"i", "ll"}) {
        uint32_t wide = width == "ll" ? kMode64 : 0;
        auto name = [&](const Twine &text) { return text.str(); };
        table[join({name("d2" + sign + width), rounding.name})] =
            makeToInteger(base | wide | kModeFromDouble);
        for (StringRef ftz : {"", "ftz"})
          table[join({name("f2" + sign + width), rounding.name, ftz})] =
              makeToInteger(base | wide | (ftz.empty() ? 0 : kModeFtz));
        for (StringRef result : {"f", "d"})
          table[join({name(sign + width + "2" + result), rounding.name})] =
              makeFromInteger(base | wide);
      }
    }
  }

  for (StringRef ftz : {"", "ftz"}) {
    uint32_t flush = ftz.empty() ? 0 : kModeFtz;
    table[join({"f2h.rn", ftz})] = makeConvertOne(FormatKind::F16, flush);
    table[join({"bf2h.rn", ftz})] = makeConvertOne(FormatKind::F16, flush);
  }

  for (StringRef relu : {"", "relu"})
    for (StringRef satfinite : {"", "satfinite"}) {
      uint32_t modifiers = (relu.empty() ? 0 : kModeRelu) |
                           (satfinite.empty() ? 0 : kModeSatFinite);
      for (const NamedRounding &rounding : ArrayRef(roundings).take_front(2)) {
        uint32_t mode = modifiers | modeOf(rounding.rounding);
        auto name = [&](StringRef op) {
          return join({op, rounding.name, relu, satfinite});
        };
        table[name("ff2bf16x2")] = makeConvertPair(FormatKind::BF16, mode);
        table[name("ff2f16x2")] = makeConvertPair(FormatKind::F16, mode);
        table[name("f2bf16")] = makeConvertOne(FormatKind::BF16, mode);
        table[name("f2f16")] = makeConvertOne(FormatKind::F16, mode);
        table[name("f2tf32")] = makeConvertOne(FormatKind::TF32, mode);
      }
      if (relu.empty())
        table[join({"f2tf32.rna", satfinite})] = makeConvertOne(
            FormatKind::TF32, modifiers | modeOf(Rounding::NearestAway));
    }

  struct Narrow {
    StringLiteral name;
    FormatKind format;
    StringLiteral suffix;
  };
  // The FP8 conversions saturate without a word in the name.
  for (const Narrow &type : {Narrow{"e4m3x2", FormatKind::E4M3, ""},
                             Narrow{"e5m2x2", FormatKind::E5M2, ""},
                             Narrow{"e2m1x2", FormatKind::E2M1, "satfinite"},
                             Narrow{"e2m3x2", FormatKind::E2M3, "satfinite"},
                             Narrow{"e3m2x2", FormatKind::E3M2, "satfinite"}})
    for (StringRef relu : {"", "relu"}) {
      uint32_t modifiers = relu.empty() ? 0 : kModeRelu;
      LowerFn convert = makeConvertPair(type.format, modifiers | kModeSatFinite);
      table[join({"ff.to", type.name, "rn", relu, type.suffix})] = convert;
      if (type.suffix.empty())
        table[join({"f16x2.to", type.name, "rn", relu})] = convert;
      table[join({type.name, "to.f16x2.rn", relu})] =
          makeWidenPair(type.format, modifiers);
    }
  for (StringRef relu : {"", "relu"})
    table[join({"f32x4.to.e2m1x4.rs", relu, "satfinite"})] =
        [relu](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
          SmallVector<Value *, 6> arguments;
          for (uint64_t i = 0; i < 4; ++i)
            arguments.push_back(
                builder.CreateExtractElement(call.getArgOperand(0), i));
          arguments.push_back(call.getArgOperand(1));
          arguments.push_back(builder.getInt32(relu.empty() ? 0 : kModeRelu));
          return fromInteger(builder,
                             lowering.call(builder, "te.convertFourStochastic",
                                           builder.getInt32Ty(), arguments,
                                           true),
                             call.getType());
        };
  for (StringRef satfinite : {"", "satfinite"})
    for (StringRef rounding : {"rz", "rp"}) {
      LowerFn convert = makeConvertPair(
          FormatKind::E8M0,
          modeOf(rounding == "rz" ? Rounding::Zero : Rounding::Up) |
              (satfinite.empty() ? 0 : kModeSatFinite));
      table[join({"ff.to.ue8m0x2", rounding, satfinite})] = convert;
      table[join({"bf16x2.to.ue8m0x2", rounding, satfinite})] = convert;
    }
  table["ue8m0x2.to.bf16x2"] = makeWidenPair(FormatKind::E8M0, 0);

  table["lohi.i2d"] = [](Lowering &, IRBuilder<> &builder, CallInst &call) {
    Type *i64 = builder.getInt64Ty();
    Value *low = builder.CreateZExt(call.getArgOperand(0), i64);
    Value *high = builder.CreateZExt(call.getArgOperand(1), i64);
    return builder.CreateBitCast(
        builder.CreateOr(low, builder.CreateShl(high, 32)),
        builder.getDoubleTy());
  };
  for (unsigned shift : {0, 32})
    table[shift ? "d2i.hi" : "d2i.lo"] =
        [shift](Lowering &, IRBuilder<> &builder, CallInst &call) {
          Value *bits = builder.CreateBitCast(call.getArgOperand(0),
                                              builder.getInt64Ty());
          return builder.CreateTrunc(builder.CreateLShr(bits, shift),
                                     builder.getInt32Ty());
        };
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// |a - b| + c
static Value *sumOfDifference(IRBuilder<> &builder, CallInst &call,
                              bool isSigned) {
  Value *a = call.getArgOperand(0), *b = call.getArgOperand(1);
  Value *greater = isSigned ? builder.CreateICmpSGT(a, b)
                            : builder.CreateICmpUGT(a, b);
  Value *difference = builder.CreateSelect(greater, builder.CreateSub(a, b),
                                           builder.CreateSub(b, a));
  return builder.CreateAdd(difference, call.getArgOperand(2));
}

static void addIntegers(LowerTable &table) {
  for (bool isSigned : {false, true}) {
    StringRef sign = isSigned ? "" : "u";
    for (StringRef width : {"s", "i", "ll"}) {
      table[("mulhi." + sign + width).str()] =
          [isSigned](Lowering &, IRBuilder<> &builder, CallInst &call) {
            unsigned bits = call.getType()->getIntegerBitWidth();
            Type *wide = builder.getIntNTy(2 * bits);
            auto extend = [&](Value *value) {
              return isSigned ? builder.CreateSExt(value, wide)
                              : builder.CreateZExt(value, wide);
            };
            Value *product = builder.CreateMul(extend(call.getArgOperand(0)),
                                               extend(call.getArgOperand(1)));
            return builder.CreateTrunc(builder.CreateLShr(product, bits),
                                       call.getType());
          };
      table[("sad." + sign + width).str()] =
          [isSigned](Lowering &, IRBuilder<> &builder, CallInst &call) {
            return sumOfDifference(builder, call, isSigned);
          };
    }
    table[("mul24." + sign + "i").str()] =
        [isSigned](Lowering &, IRBuilder<> &builder, CallInst &call) {
          auto low24 = [&](Value *value) {
            value = builder.CreateShl(value, 8);
            return isSigned ? builder.CreateAShr(value, 8)
                            : builder.CreateLShr(value, 8);
          };
          return builder.CreateMul(low24(call.getArgOperand(0)),
                                   low24(call.getArgOperand(1)));
        };
  }

  table["prmt"] = [](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
    return lowering.call(builder, "te.permuteBytes", call.getType(),
                         {call.getArgOperand(0), call.getArgOperand(1),
                          call.getArgOperand(2)},
                         true);
  };
  StringRef modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (const auto &[index, mode] : enumerate(modes)) {
    uint32_t number = index;
    table[("prmt." + mode).str()] = [number](Lowering &lowering,
                                             IRBuilder<> &builder,
                                             CallInst &call) {
      // Only the first two modes have a second source.
      bool hasTwo = call.arg_size() == 3;
      Value *selector = lowering.call(
          builder, "te.permuteSelector", call.getType(),
          {builder.getInt32(number), call.getArgOperand(hasTwo ? 2 : 1)}, true);
      return lowering.call(builder, "te.permuteBytes", call.getType(),
                           {call.getArgOperand(0),
                            hasTwo ? call.getArgOperand(1)
                                   : static_cast<Value *>(builder.getInt32(0)),
                            selector},
                           true);
    };
  }

  for (bool a : {false, true})
    for (bool b : {false, true})
      table[join({"idp4a", a ? "s" : "u", b ? "s" : "u"})] =
          [a, b](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
            return lowering.call(
                builder, "te.dotProduct4", call.getType(),
                {call.getArgOperand(0), call.getArgOperand(1),
                 call.getArgOperand(2), builder.getInt32(a | b << 1)},
                true);
          };

  for (bool isLeft : {false, true})
    table[isLeft ? "fshl.clamp" : "fshr.clamp"] =
        [isLeft](Lowering &, IRBuilder<> &builder, CallInst &call) -> Value * {
      Type *type = call.getType();
      unsigned bits = type->getIntegerBitWidth();
      Value *high = call.getArgOperand(0), *low = call.getArgOperand(1);
      Value *shift = call.getArgOperand(2);
      Value *funnel = builder.CreateIntrinsic(
          isLeft ? Intrinsic::fshl : Intrinsic::fshr, {type},
          {high, low, shift});
      Value *isBig =
          builder.CreateICmpUGE(shift, ConstantInt::get(type, bits));
      return builder.CreateSelect(isBig, isLeft ? low : high, funnel);
    };
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

static LowerFn makeStateRead(size_t offset) {
  return [offset](Lowering &lowering, IRBuilder<> &builder, CallInst &) {
    return lowering.readState(builder, offset);
  };
}

static LowerFn makeConstant(uint32_t value) {
  return [value](Lowering &, IRBuilder<> &, CallInst &call) {
    return ConstantInt::get(call.getType(), value);
  };
}

static void addSpecialRegisters(LowerTable &table) {
  auto add = [&](const Twine &name, LowerFn fn) {
    table[("read.ptx.sreg." + name).str()] = std::move(fn);
  };
  StringRef dimensions[] = {"x", "y", "z"};
  for (const auto &[index, name] : enumerate(dimensions)) {
    size_t offset = index * sizeof(uint32_t);
    add("tid." + name, makeStateRead(offsetof(ThreadState, tid) + offset));
    add("ntid." + name, makeStateRead(offsetof(ThreadState, ntid) + offset));
    add("ctaid." + name, makeStateRead(offsetof(ThreadState, ctaid) + offset));
    add("nctaid." + name,
        makeStateRead(offsetof(ThreadState, nctaid) + offset));
    // Without clusters every block is a cluster of its own.
    add("clusterid." + name,
        makeStateRead(offsetof(ThreadState, ctaid) + offset));
    add("nclusterid." + name,
        makeStateRead(offsetof(ThreadState, nctaid) + offset));
    add("cluster.ctaid." + name, makeConstant(0));
    add("cluster.nctaid." + name, makeConstant(1));
  }
  add("cluster.ctarank", makeConstant(0));
  add("cluster.nctarank", makeConstant(1));
  table["is_explicit_cluster"] = makeConstant(0);

  add("laneid", makeStateRead(offsetof(ThreadState, lane)));
  add("warpid", makeStateRead(offsetof(ThreadState, warp)));
  add("nwarpid", makeStateRead(offsetof(ThreadState, warpCount)));
  add("warpsize", makeConstant(warpSize));
  add("total_smem_size", makeStateRead(offsetof(ThreadState, sharedSize)));
  add("aggr_smem_size", makeStateRead(offsetof(ThreadState, sharedSize)));
  add("dynamic_smem_size",
      makeStateRead(offsetof(ThreadState, dynamicSharedSize)));
  add("smid", makeConstant(0));
  add("nsmid", makeConstant(1));

  for (StringRef kind : {"eq", "lt", "le", "gt", "ge"})
    add("lanemask." + kind, [kind](Lowering &lowering, IRBuilder<> &builder,
                                   CallInst &) -> Value * {
      Value *lane = lowering.readState(builder, offsetof(ThreadState, lane));
      Value *own = builder.CreateShl(builder.getInt32(1), lane);
      Value *below = builder.CreateSub(own, builder.getInt32(1));
      if (kind == "eq")
        return own;
      if (kind == "lt")
        return below;
      if (kind == "le")
        return builder.CreateOr(own, below);
      if (kind == "ge")
        return builder.CreateNot(below);
      return builder.CreateNot(builder.CreateOr(own, below));
    });

  for (StringRef name : {"clock", "clock64", "globaltimer", "globaltimer.lo"})
    add(name, [](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
      Value *ticks = lowering.call(builder, "te.clockTicks",
                                   builder.getInt64Ty(), {}, false);
      return builder.CreateTrunc(ticks, call.getType());
    });
}

//===----------------------------------------------------------------------===//
// Synchronisation
//===----------------------------------------------------------------------===//

/// Runs a warp operation and returns its 64-bit result.
static Value *callWarpOp(Lowering &lowering, IRBuilder<> &builder, WarpOp op,
                         Value *value, Value *mask, Value *b = nullptr,
                         Value *c = nullptr, uint32_t modifiers = 0) {
  lowering.needFibers();
  Value *zero = builder.getInt32(0);
  uint32_t mode = static_cast<uint32_t>(op) << kModeOpShift | modifiers;
  if (!value)
    value = builder.getInt64(0);
  else if (value->getType()->isFloatTy())
    value = builder.CreateBitCast(value, builder.getInt32Ty());
  value = builder.CreateZExt(value, builder.getInt64Ty());
  return lowering.call(builder, "te.warpOperation", builder.getInt64Ty(),
                       {value, mask, b ? b : zero, c ? c : zero,
                        builder.getInt32(mode), lowering.takeSyncSite(builder)},
                       false);
}

/// The result of a warp operation as the call's type, with its predicate if
/// the call yields a pair.
static Value *makeWarpResult(Lowering &lowering, IRBuilder<> &builder,
                             CallInst &call, Value *result) {
  auto *pair = dyn_cast<StructType>(call.getType());
  if (!pair)
    return fromInteger(builder, result, call.getType());
  Value *predicate = lowering.call(builder, "te.warpPredicate",
                                   builder.getInt32Ty(), {}, false);
  return makePair(builder, pair,
                  fromInteger(builder, result, pair->getElementType(0)),
                  builder.CreateTrunc(predicate, builder.getInt1Ty()));
}

static void addWarpOperations(LowerTable &table) {
  auto add = [&](const Twine &name, LowerFn fn) {
    table[name.str()] = std::move(fn);
  };
  add("bar.warp.sync",
      [](Lowering &lowering, IRBuilder<> &builder, CallInst &call) -> Value * {
        callWarpOp(lowering, builder, WarpOp::Sync, nullptr,
                   call.getArgOperand(0));
        return nullptr;
      });
  add("activemask",
      [](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
        return makeWarpResult(lowering, builder, call,
                              callWarpOp(lowering, builder, WarpOp::ActiveMask,
                                         nullptr, builder.getInt32(0)));
      });
  add("elect.sync",
      [](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
        return makeWarpResult(lowering, builder, call,
                              callWarpOp(lowering, builder, WarpOp::Elect,
                                         nullptr, call.getArgOperand(0)));
      });

  const std::pair<StringRef, WarpOp> shuffles[] = {
      {"up", WarpOp::ShuffleUp},
      {"down", WarpOp::ShuffleDown},
      {"bfly", WarpOp::ShuffleXor},
      {"idx", WarpOp::ShuffleIndex}};
  for (const auto &[name, op] : shuffles)
    for (StringRef type : {"i32", "f32", "i32p", "f32p"})
      add("shfl.sync." + name + "." + type,
          [op = op](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
            Value *result = callWarpOp(
                lowering, builder, op, call.getArgOperand(1),
                call.getArgOperand(0), call.getArgOperand(2),
                call.getArgOperand(3));
            return makeWarpResult(lowering, builder, call, result);
          });

  const std::pair<StringRef, WarpOp> masked[] = {
      {"vote.all.sync", WarpOp::VoteAll},
      {"vote.any.sync", WarpOp::VoteAny},
      {"vote.uni.sync", WarpOp::VoteUniform},
      {"vote.ballot.sync", WarpOp::VoteBallot},
      {"match.any.sync.i32", WarpOp::MatchAny},
      {"match.any.sync.i64", WarpOp::MatchAny},
      {"match.all.sync.i32p", WarpOp::MatchAll},
      {"match.all.sync.i64p", WarpOp::MatchAll}};
  for (const auto &[name, op] : masked)
    add(name, [op = op](Lowering &lowering, IRBuilder<> &builder,
                        CallInst &call) {
      return makeWarpResult(lowering, builder, call,
                            callWarpOp(lowering, builder, op,
                                       call.getArgOperand(1),
                                       call.getArgOperand(0)));
    });

  auto addReduction = [&](const Twine &name, WarpOp op, uint32_t modifiers) {
    add("redux.sync." + name, [=](Lowering &lowering, IRBuilder<> &builder,
                                  CallInst &call) {
      return makeWarpResult(lowering, builder, call,
                            callWarpOp(lowering, builder, op,
                                       call.getArgOperand(0),
                                       call.getArgOperand(1), nullptr, nullptr,
                                       modifiers));
    });
  };
  addReduction("add", WarpOp::ReduceAdd, 0);
  addReduction("min", WarpOp::ReduceMin, 0);
  addReduction("max", WarpOp::ReduceMax, 0);
  addReduction("umin", WarpOp::ReduceUMin, 0);
  addReduction("umax", WarpOp::ReduceUMax, 0);
  addReduction("and", WarpOp::ReduceAnd, 0);
  addReduction("or", WarpOp::ReduceOr, 0);
  addReduction("xor", WarpOp::ReduceXor, 0);
  for (StringRef op : {"fmin", "fmax"})
    for (StringRef abs : {"", ".abs"})
      for (StringRef nan : {"", ".NaN"})
        addReduction(op + abs + nan, WarpOp::ReduceF32,
                     (op == "fmin" ? kModeMin : 0) | (abs.empty() ? 0 : kModeAbs) |
                         (nan.empty() ? 0 : kModeNaN));
}

/// mma.sync: a lane hands over its registers in memory and finds the result
/// there.
static LowerFn makeMultiplyMatrices(FormatKind rowFormat,
                                    FormatKind colFormat) {
  return [=](Lowering &lowering, IRBuilder<> &builder,
             CallInst &call) -> Value * {
    MDNode *none = MDNode::get(builder.getContext(), {});
    IRBuilder<> entry(&*call.getFunction()->getEntryBlock().begin());
    Type *word = builder.getInt32Ty();
    unsigned numWords = call.arg_size(), numSums = 4;
    Value *registers =
        entry.CreateAlloca(ArrayType::get(word, numWords), nullptr);
    auto getAddress = [&](unsigned index) {
      return builder.CreateConstInBoundsGEP1_32(word, registers, index);
    };
    for (unsigned i = 0; i < numWords; ++i)
      builder
          .CreateStore(toI32(builder, call.getArgOperand(i)), getAddress(i))
          ->setMetadata(internalAccessMetadata, none);
    callWarpOp(lowering, builder, WarpOp::MultiplyMatrices,
               builder.CreatePtrToInt(registers, builder.getInt64Ty()),
               builder.getInt32(~0u),
               builder.getInt32(static_cast<uint32_t>(colFormat)), nullptr,
               modeOf(rowFormat));
    Value *result = PoisonValue::get(call.getType());
    for (unsigned i = 0; i < numSums; ++i) {
      LoadInst *sum = builder.CreateLoad(builder.getFloatTy(),
                                         getAddress(numWords - numSums + i));
      sum->setMetadata(internalAccessMetadata, none);
      result = builder.CreateInsertValue(result, sum, i);
    }
    return result;
  };
}

static void addMatrixOperations(LowerTable &table) {
  const std::pair<StringRef, FormatKind> formats[] = {
      {"e4m3", FormatKind::E4M3}, {"e5m2", FormatKind::E5M2}};
  for (const auto &[rowName, rowFormat] : formats)
    for (const auto &[colName, colFormat] : formats)
      table[join({"mma.m16n8k32.row.col.f32", rowName, colName, "f32"})] =
          makeMultiplyMatrices(rowFormat, colFormat);
  table["mma.m16n8k16.row.col.bf16"] =
      makeMultiplyMatrices(FormatKind::BF16, FormatKind::BF16);
  table["mma.m16n8k16.row.col.f32.f32"] =
      makeMultiplyMatrices(FormatKind::F16, FormatKind::F16);
}

static void addBarriers(LowerTable &table) {
  auto add = [&](StringRef op, BarrierOp kind, bool hasPredicate) {
    for (StringRef aligned : {"", "aligned"})
      for (bool hasCount : {false, true}) {
        if (kind == BarrierOp::Arrive && !hasCount)
          continue;
        table[join({"barrier.cta", op, aligned, hasCount ? "count" : "all"})] =
            [=](Lowering &lowering, IRBuilder<> &builder,
                CallInst &call) -> Value * {
          lowering.needFibers();
          unsigned next = 1;
          Value *count = hasCount ? call.getArgOperand(next++)
                                  : static_cast<Value *>(builder.getInt32(0));
          Value *predicate =
              hasPredicate ? builder.CreateZExt(call.getArgOperand(next),
                                                builder.getInt32Ty())
                           : static_cast<Value *>(builder.getInt32(0));
          // Only the .aligned form has a warp meet at one instruction.
          Value *site = aligned.empty()
                            ? static_cast<Value *>(builder.getInt32(UINT32_MAX))
                            : lowering.takeSyncSite(builder);
          Value *result = lowering.call(
              builder, "te.barrier", builder.getInt32Ty(),
              {builder.getInt32(static_cast<uint32_t>(kind)),
               call.getArgOperand(0), count, predicate, site},
              false);
          return hasPredicate ? builder.CreateTrunc(result, call.getType())
                              : nullptr;
        };
      }
  };
  add("sync", BarrierOp::Sync, false);
  add("arrive", BarrierOp::Arrive, false);
  add("red.popc", BarrierOp::ReducePopc, true);
  add("red.and", BarrierOp::ReduceAnd, true);
  add("red.or", BarrierOp::ReduceOr, true);
}

static Value *callMBarrier(Lowering &lowering, IRBuilder<> &builder,
                           MBarrierOp code, Value *object, Value *operand,
                           Value *transactions = nullptr) {
  lowering.needFibers();
  return lowering.call(
      builder, "te.mbarrier", builder.getInt64Ty(),
      {builder.getInt32(static_cast<uint32_t>(code)), object,
       builder.CreateZExt(operand, builder.getInt64Ty()),
       transactions ? transactions : builder.getInt32(0)},
      false);
}

static void addMBarriers(LowerTable &table) {
  // Operations of the first PTX versions: the operand, if any, is a count or a
  // state.
  auto addSimple = [&](StringRef name, MBarrierOp code) {
    for (StringRef space : {"", "shared"})
      table[join({"mbarrier", name, space})] =
          [code](Lowering &lowering, IRBuilder<> &builder,
                 CallInst &call) -> Value * {
        Value *operand = call.arg_size() > 1
                             ? call.getArgOperand(1)
                             : static_cast<Value *>(builder.getInt32(1));
        Value *result = callMBarrier(lowering, builder, code,
                                     call.getArgOperand(0), operand);
        return call.getType()->isVoidTy()
                   ? nullptr
                   : builder.CreateTrunc(result, call.getType());
      };
  };
  addSimple("init", MBarrierOp::Init);
  addSimple("inval", MBarrierOp::Invalidate);
  addSimple("arrive", MBarrierOp::Arrive);
  addSimple("arrive.noComplete", MBarrierOp::Arrive);
  addSimple("arrive.drop", MBarrierOp::ArriveDrop);
  addSimple("arrive.drop.noComplete", MBarrierOp::ArriveDrop);
  addSimple("test.wait", MBarrierOp::TestWait);
  table["mbarrier.pending.count"] = [](Lowering &lowering, IRBuilder<> &builder,
                                       CallInst &call) {
    Value *null = ConstantPointerNull::get(builder.getPtrTy());
    return builder.CreateTrunc(callMBarrier(lowering, builder,
                                            MBarrierOp::PendingCount, null,
                                            call.getArgOperand(0)),
                               call.getType());
  };

  for (StringRef scope : {"scope.cta", "scope.cluster"}) {
    // Other blocks of a cluster are out of reach, so only this block's
    // barriers.
    std::string suffix = join({scope, "space.cta"});
    for (bool isExpect : {false, true})
      table[join({isExpect ? "mbarrier.expect.tx" : "mbarrier.complete.tx",
                  suffix})] = [isExpect](Lowering &lowering,
                                         IRBuilder<> &builder,
                                         CallInst &call) -> Value * {
        callMBarrier(lowering, builder,
                     isExpect ? MBarrierOp::ExpectTransactions
                              : MBarrierOp::CompleteTransactions,
                     call.getArgOperand(0), builder.getInt32(0),
                     call.getArgOperand(1));
        return nullptr;
      };
    for (StringRef relaxed : {"", "relaxed"}) {
      for (bool drop : {false, true}) {
        StringRef base = drop ? "mbarrier.arrive.drop" : "mbarrier.arrive";
        table[join({base, relaxed, suffix})] =
            [drop](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
              return callMBarrier(lowering, builder,
                                  drop ? MBarrierOp::ArriveDrop
                                       : MBarrierOp::Arrive,
                                  call.getArgOperand(0), call.getArgOperand(1));
            };
        table[join({base, "expect.tx", relaxed, suffix})] =
            [drop](Lowering &lowering, IRBuilder<> &builder, CallInst &call) {
              return callMBarrier(
                  lowering, builder,
                  drop ? MBarrierOp::ArriveDropExpectTransactions
                       : MBarrierOp::ArriveExpectTransactions,
                  call.getArgOperand(0), builder.getInt32(1),
                  call.getArgOperand(1));
            };
      }
      for (bool isTry : {false, true})
        for (bool isParity : {false, true})
          for (StringRef limit : {"", "tl"}) {
            if (!isTry && !limit.empty())
              continue;
            MBarrierOp code =
                isTry ? (isParity ? MBarrierOp::TryWaitParity
                                  : MBarrierOp::TryWait)
                      : (isParity ? MBarrierOp::TestWaitParity
                                  : MBarrierOp::TestWait);
            table[join({isTry ? "mbarrier.try.wait" : "mbarrier.test.wait",
                        isParity ? "parity" : "", limit, relaxed, suffix})] =
                [code](Lowering &lowering, IRBuilder<> &builder,
                       CallInst &call) {
                  Value *result =
                      callMBarrier(lowering, builder, code,
                                   call.getArgOperand(0),
                                   call.getArgOperand(1));
                  return builder.CreateTrunc(result, call.getType());
                };
          }
    }
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void addMemory(LowerTable &table) {
  const std::tuple<StringRef, AtomicRMWInst::BinOp, AtomicRMWInst::BinOp>
      atomics[] = {
          {"add", AtomicRMWInst::Add, AtomicRMWInst::FAdd},
          {"inc", AtomicRMWInst::UIncWrap, AtomicRMWInst::BAD_BINOP},
          {"dec", AtomicRMWInst::UDecWrap, AtomicRMWInst::BAD_BINOP},
          {"exch", AtomicRMWInst::Xchg, AtomicRMWInst::BAD_BINOP},
          {"xor", AtomicRMWInst::Xor, AtomicRMWInst::BAD_BINOP},
          {"max", AtomicRMWInst::Max, AtomicRMWInst::BAD_BINOP},
          {"min", AtomicRMWInst::Min, AtomicRMWInst::BAD_BINOP},
          {"or", AtomicRMWInst::Or, AtomicRMWInst::BAD_BINOP},
          {"and", AtomicRMWInst::And, AtomicRMWInst::BAD_BINOP}};
  for (StringRef scope : {"cta", "sys"}) {
    for (const auto &[name, integerOp, floatOp] : atomics) {
      auto make = [](AtomicRMWInst::BinOp op) -> LowerFn {
        return [op](Lowering &, IRBuilder<> &builder, CallInst &call) {
          return builder.CreateAtomicRMW(op, call.getArgOperand(0),
                                         call.getArgOperand(1), MaybeAlign(),
                                         AtomicOrdering::Monotonic);
        };
      };
      table[join({"atomic", name, "gen.i", scope})] = make(integerOp);
      if (floatOp != AtomicRMWInst::BAD_BINOP)
        table[join({"atomic", name, "gen.f", scope})] = make(floatOp);
    }
    table[join({"atomic.cas.gen.i", scope})] =
        [](Lowering &, IRBuilder<> &builder, CallInst &call) {
          Value *pair = builder.CreateAtomicCmpXchg(
              call.getArgOperand(0), call.getArgOperand(1),
              call.getArgOperand(2), MaybeAlign(), AtomicOrdering::Monotonic,
              AtomicOrdering::Monotonic);
          return builder.CreateExtractValue(pair, 0);
        };
  }

  for (StringRef type : {"i", "f", "p"})
    table[join({"ldu.global", type})] = [](Lowering &, IRBuilder<> &builder,
                                           CallInst &call) {
      auto *alignment = cast<ConstantInt>(call.getArgOperand(1));
      return builder.CreateAlignedLoad(
          call.getType(), call.getArgOperand(0),
          MaybeAlign(alignment->getZExtValue()));
    };

  // Asynchronous copies are complete at once.
  for (auto [policy, size] : {std::pair("ca", 4), std::pair("ca", 8),
                              std::pair("ca", 16), std::pair("cg", 16)})
    for (StringRef suffix : {"", "s"})
      table[join({"cp.async", policy, "shared.global", std::to_string(size),
                  suffix})] = [size = size](Lowering &lowering,
                                            IRBuilder<> &builder,
                                            CallInst &call) -> Value * {
        Value *bytes = builder.getInt32(size);
        lowering.call(builder, "te.copyAsync", builder.getVoidTy(),
                      {call.getArgOperand(0), call.getArgOperand(1), bytes,
                       call.arg_size() > 2 ? call.getArgOperand(2) : bytes,
                       lowering.takeSites(builder, 2)},
                      false);
        return nullptr;
      };

  const std::pair<StringRef, AddressSpace> spaces[] = {
      {"global", AddressSpace::Global},
      {"shared", AddressSpace::Shared},
      {"shared.cluster", AddressSpace::Shared},
      {"local", AddressSpace::Local},
      {"const", AddressSpace::Constant}};
  for (const auto &[name, space] : spaces)
    table[join({"isspacep", name})] = [space = space](Lowering &lowering,
                                                      IRBuilder<> &builder,
                                                      CallInst &call) {
      Value *address = builder.CreatePtrToInt(call.getArgOperand(0),
                                              builder.getInt64Ty());
      Value *result =
          lowering.call(builder, "te.isInSpace", builder.getInt32Ty(),
                        {address, builder.getInt32(static_cast<uint32_t>(space))},
                        false);
      return builder.CreateTrunc(result, call.getType());
    };

  for (StringRef name :
       {"membar.cta", "membar.gl", "membar.sys", "fence.sc.cluster",
        "fence.mbarrier_init.release.cluster",
        "fence.acquire.sync_restrict.space.cluster.scope.cluster",
        "fence.release.sync_restrict.space.cta.scope.cluster",
        "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global",
        "fence.proxy.async.shared_cta", "fence.proxy.async.shared_cluster"})
    table[name] = [](Lowering &, IRBuilder<> &builder,
                     CallInst &) -> Value * {
      builder.CreateFence(AtomicOrdering::SequentiallyConsistent);
      return nullptr;
    };
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

static void addOthers(LowerTable &table) {
  // What only hints, or orders copies that are complete already.
  for (StringRef name :
       {"cp.async.commit.group", "cp.async.wait.group", "cp.async.wait.all",
        "prefetch.L1", "prefetch.L2", "prefetch.global.L1",
        "prefetch.global.L2", "prefetch.global.L2.evict.last",
        "prefetch.global.L2.evict.normal", "prefetch.local.L1",
        "prefetch.local.L2", "prefetchu.L1", "applypriority.L2.evict.normal",
        "applypriority.global.L2.evict.normal",
        "griddepcontrol.launch.dependents", "griddepcontrol.wait",
        "setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32",
        "pm.event.mask"})
    table[name] = [](Lowering &, IRBuilder<> &, CallInst &) -> Value * {
      return nullptr;
    };
  for (StringRef name : {"move.i16", "move.i32", "move.i64", "move.float",
                         "move.double", "move.ptr", "internal.addrspace.wrap"})
    table[name] = [](Lowering &, IRBuilder<> &, CallInst &call) {
      return call.getArgOperand(0);
    };
  table["nanosleep"] = [](Lowering &lowering, IRBuilder<> &builder,
                          CallInst &) -> Value * {
    lowering.needFibers();
    lowering.call(builder, "te.yield", builder.getVoidTy(), {}, false);
    return nullptr;
  };
  table["exit"] = [](Lowering &lowering, IRBuilder<> &builder,
                     CallInst &) -> Value * {
    lowering.needFibers();
    lowering.call(builder, "te.exitThread", builder.getVoidTy(), {}, false);
    return nullptr;
  };
  // Nothing that NVVM may ask about, such as flushing subnormals, is on.
  table["reflect"] = makeConstant(0);
}

static const LowerTable &getLowerings() {
  static const LowerTable *table = [] {
    auto *table = new LowerTable;
    addArithmetic(*table);
    addConversions(*table);
    addIntegers(*table);
    addSpecialRegisters(*table);
    addWarpOperations(*table);
    addMatrixOperations(*table);
    addBarriers(*table);
    addMBarriers(*table);
    addMemory(*table);
    addOthers(*table);
    return table;
  }();
  return *table;
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

/// Returns the one instruction that assembly text holds, whose operands are
/// $0, $1, .. in order; or "". A result of 8 bits has no register constraint, so
/// that one may pass through a temporary.
static std::string getAsmInstruction(StringRef text) {
  std::string flat;
  for (char c : text)
    if (!isSpace(c))
      flat += c;
    else if (!flat.empty() && flat.back() != ' ')
      flat += ' ';
  StringRef rest = StringRef(flat).trim();
  if (rest.consume_front("{")) {
    if (!rest.consume_back("}"))
      return {};
    rest = rest.trim();
  }
  SmallVector<StringRef> statements;
  rest.split(statements, ';', -1, /*KeepEmpty=*/false);
  for (StringRef &statement : statements)
    statement = statement.trim();
  erase_if(statements, [](StringRef s) { return s.empty(); });

  auto parse = [](StringRef statement, StringRef destination) -> std::string {
    auto [op, operands] = statement.split(' ');
    SmallVector<StringRef> list;
    operands.split(list, ',');
    for (const auto &[index, operand] : enumerate(list)) {
      std::string expected = index == 0 ? destination.str()
                                        : ("$" + Twine(index)).str();
      if (operand.trim() != expected)
        return {};
    }
    return op.str();
  };
  if (statements.size() == 1)
    return parse(statements[0], "$0");
  // .reg .b8 t; OP t, $1, ..; cvt.u16.u8 $0, t;  (or mov.b16 $0, {t, 0})
  if (statements.size() != 3 || !statements[0].consume_front(".reg .b8 "))
    return {};
  StringRef temporary = statements[0].trim();
  auto [move, operands] = statements[2].split(' ');
  auto [destination, source] = operands.split(',');
  source = source.trim();
  bool isWidening =
      (move == "cvt.u16.u8" || move == "cvt.u32.u8") && source == temporary;
  bool isPairing = move == "mov.b16" && source.consume_front("{") &&
                   source.consume_back("}") &&
                   source.split(',').first.trim() == temporary &&
                   source.split(',').second.trim() == "0";
  if (destination.trim() != "$0" || !(isWidening || isPairing))
    return {};
  return parse(statements[1], temporary);
}

/// What takes the place of an assembly instruction, as an intrinsic's name.
static StringRef getAsmIntrinsic(StringRef instruction) {
  return StringSwitch<StringRef>(instruction)
      .Case("cvt.rn.satfinite.e4m3x2.f32", "ff.to.e4m3x2.rn")
      .Case("cvt.rn.satfinite.e5m2x2.f32", "ff.to.e5m2x2.rn")
      .Case("cvt.rn.satfinite.e2m1x2.f32", "ff.to.e2m1x2.rn.satfinite")
      .Case("cvt.rp.satfinite.ue8m0x2.f32", "ff.to.ue8m0x2.rp.satfinite")
      .Case("mul.rn.f32", "mul.rn.f")
      .Case("add.rn.f32", "add.rn.f")
      .Case("fma.rn.f32", "fma.rn.f")
      .Case("sub.rn.f32", "sub.rn.f")
      .Case("tanh.approx.f32", "tanh.approx.f")
      .Default("");
}

/// Operations that are instructions of PTX but no intrinsics.
static const LowerTable &getAsmLowerings() {
  static const LowerTable *table = [] {
    auto *table = new LowerTable;
    (*table)["sub.rn.f"] = [](Lowering &, IRBuilder<> &builder,
                              CallInst &call) {
      return builder.CreateFSub(call.getArgOperand(0), call.getArgOperand(1));
    };
    (*table)["tanh.approx.f"] = makeArithmetic(ArithmeticOp::Tanh, 0);
    return table;
  }();
  return *table;
}

static const LowerFn *findAsmLowering(const InlineAsm &assembly) {
  StringRef name = getAsmIntrinsic(getAsmInstruction(assembly.getAsmString()));
  if (name.empty())
    return nullptr;
  auto it = getAsmLowerings().find(name);
  if (it != getAsmLowerings().end())
    return &it->second;
  return &getLowerings().find(name)->second;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Target-independent intrinsics that mean the same on the host.
static bool isHostIntrinsic(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::abs:
  case Intrinsic::assume:
  case Intrinsic::bitreverse:
  case Intrinsic::bswap:
  case Intrinsic::canonicalize:
  case Intrinsic::ceil:
  case Intrinsic::copysign:
  case Intrinsic::cos:
  case Intrinsic::ctlz:
  case Intrinsic::ctpop:
  case Intrinsic::cttz:
  case Intrinsic::debugtrap:
  case Intrinsic::exp2:
  case Intrinsic::expect:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::is_fpclass:
  case Intrinsic::lifetime_end:
  case Intrinsic::lifetime_start:
  case Intrinsic::log2:
  case Intrinsic::maximum:
  case Intrinsic::maximumnum:
  case Intrinsic::maxnum:
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memset:
  case Intrinsic::minimum:
  case Intrinsic::minimumnum:
  case Intrinsic::minnum:
  case Intrinsic::nearbyint:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::sadd_sat:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::sin:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::sqrt:
  case Intrinsic::ssub_sat:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::stackrestore:
  case Intrinsic::stacksave:
  case Intrinsic::trap:
  case Intrinsic::trunc:
  case Intrinsic::uadd_sat:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::usub_sat:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmaximum:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fminimum:
  case Intrinsic::vector_reduce_fmul:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_xor:
    return true;
  default:
    return false;
  }
}

static constexpr StringLiteral assertFailName = "__assertfail";

static Error checkDeclaration(const Function &function) {
  StringRef nvvmName = getNVVMBaseName(function);
  if (!nvvmName.empty() ? getLowerings().contains(nvvmName)
                        : isHostIntrinsic(function.getIntrinsicID()) ||
                              function.getName() == assertFailName)
    return Error::success();
  bool isIntrinsic =
      function.isIntrinsic() || function.getName().starts_with("llvm.");
  return createStringError(
      Twine("unknown ") + (isIntrinsic ? "intrinsic" : "external function") +
      " '" + function.getName() +
      "' in kernel module; the emulator runs only what it knows exactly");
}

Error te::emulator::checkKernelModule(const Module &module) {
  for (const Function &function : module) {
    if (function.isDeclaration() && !function.use_empty())
      if (Error error = checkDeclaration(function))
        return error;
    for (StringRef attribute : {"denormal-fp-math-f32", "denormal-fp-math",
                                "nvptx-f32ftz"}) {
      StringRef value = function.getFnAttribute(attribute).getValueAsString();
      if (!value.empty() && value != "ieee,ieee" && value != "ieee" &&
          value != "false")
        return createStringError("function '" + function.getName() +
                                 "' flushes subnormals (" + attribute + "=" +
                                 value + "), which the emulator does not");
    }
    for (const Instruction &instruction : instructions(function)) {
      if (isa<InvokeInst, CallBrInst>(instruction))
        return createStringError("function '" + function.getName() +
                                 "' contains '" + instruction.getOpcodeName() +
                                 "', which no kernel can");
      const auto *call = dyn_cast<CallInst>(&instruction);
      if (!call || !call->isInlineAsm())
        continue;
      const auto *assembly = cast<InlineAsm>(call->getCalledOperand());
      if (!findAsmLowering(*assembly))
        return createStringError("unknown inline assembly '" +
                                 assembly->getAsmString() +
                                 "' in kernel module; the emulator runs only "
                                 "what it knows exactly");
    }
  }
  if (!module.alias_empty() || !module.ifunc_empty())
    return createStringError("kernel module has aliases, which the emulator "
                             "does not support");
  for (const GlobalVariable &variable : module.globals())
    if (variable.isDeclaration() && variable.getAddressSpace() != 3 &&
        !variable.use_empty())
      return createStringError("undefined variable '" + variable.getName() +
                               "' in kernel module");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// Lowers calls that are no NVVM intrinsics. Returns false if the call stays.
static bool lowerOther(Lowering &lowering, IRBuilder<> &builder,
                       CallInst &call) {
  if (call.getIntrinsicID() == Intrinsic::trap) {
    lowering.call(builder, "te.trap", builder.getVoidTy(), {}, false);
    return true;
  }
  if (call.getIntrinsicID() == Intrinsic::debugtrap)
    return true;
  Function *callee = call.getCalledFunction();
  if (callee && callee->isDeclaration() &&
      callee->getName() == assertFailName && call.arg_size() >= 4) {
    lowering.call(builder, "te.assertFail", builder.getVoidTy(),
                  {call.getArgOperand(0), call.getArgOperand(1),
                   builder.CreateZExtOrTrunc(call.getArgOperand(2),
                                             builder.getInt32Ty()),
                   call.getArgOperand(3)},
                  false);
    return true;
  }
  return false;
}

void te::emulator::lowerIntrinsics(KernelUnit &unit) {
  Lowering lowering(unit);
  SmallVector<CallInst *> calls;
  SmallVector<Instruction *> polls;
  for (Function &function : *unit.module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        calls.push_back(call);
      else if (isa<AtomicCmpXchgInst>(instruction) ||
               (isa<LoadInst>(instruction) &&
                (instruction.isAtomic() || instruction.isVolatile())))
        polls.push_back(&instruction);
  // Threads may wait for each other by polling memory, so others get a turn.
  for (Instruction *poll : polls) {
    IRBuilder<> builder(poll->getNextNode());
    lowering.needFibers();
    lowering.call(builder, "te.yield", builder.getVoidTy(), {}, false);
  }

  for (CallInst *call : calls) {
    IRBuilder<> builder(call);
    const LowerFn *lower = nullptr;
    if (call->isInlineAsm()) {
      lower = findAsmLowering(*cast<InlineAsm>(call->getCalledOperand()));
    } else if (Function *callee = call->getCalledFunction()) {
      Attribute name = callee->getFnAttribute(intrinsicAttribute);
      if (name.isValid())
        lower = &getLowerings().find(name.getValueAsString())->second;
    }
    if (lower) {
      if (Value *result = (*lower)(lowering, builder, *call)) {
        if (result->getType() != call->getType())
          result = fromInteger(builder, result, call->getType());
        call->replaceAllUsesWith(result);
      }
      call->eraseFromParent();
    } else if (lowerOther(lowering, builder, *call)) {
      call->eraseFromParent();
    }
  }
  for (Function &function : make_early_inc_range(*unit.module))
    if (function.hasFnAttribute(intrinsicAttribute) && function.use_empty())
      function.eraseFromParent();
}
