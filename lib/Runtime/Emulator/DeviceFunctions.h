//===- DeviceFunctions.h - what compiled kernels call ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions behind the llvm.nvvm.* intrinsics. Each takes a constant `mode`
// that the compiler of kernels puts together from the intrinsic's name, so that
// a family of intrinsics is one function. Arguments and results are i32, i64,
// float, double and pointers only: narrower types have no portable convention.
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_DEVICEFUNCTIONS_H
#define TE_RUNTIME_EMULATOR_DEVICEFUNCTIONS_H

#include "NarrowFormats.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace te::emulator {

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

// Constants rather than an enumeration, as they are combined everywhere. The
// low bits are a Rounding.
inline constexpr uint32_t kModeRoundingMask = 7;
/// Flush subnormal inputs and results to zero of the same sign.
inline constexpr uint32_t kModeFtz = 1 << 3;
/// Clamp the result to [0, 1]; NaN gives 0.
inline constexpr uint32_t kModeSat = 1 << 4;
/// Negative results and -0 give +0.
inline constexpr uint32_t kModeRelu = 1 << 5;
/// Saturate to the largest finite value.
inline constexpr uint32_t kModeSatFinite = 1 << 6;
/// min, max: NaN in gives NaN.
inline constexpr uint32_t kModeNaN = 1 << 7;
/// min, max: of the magnitudes; the signs are combined by exclusive or.
inline constexpr uint32_t kModeXorSignAbs = 1 << 8;
/// redux: of the magnitudes.
inline constexpr uint32_t kModeAbs = 1 << 9;
/// The integer side of a conversion is signed; has 64 bits.
inline constexpr uint32_t kModeSigned = 1 << 10;
inline constexpr uint32_t kMode64 = 1 << 11;
/// The source of a conversion to integer is f64.
inline constexpr uint32_t kModeFromDouble = 1 << 12;
/// min instead of max.
inline constexpr uint32_t kModeMin = 1 << 13;
/// Where a FormatKind of 4 bits begins.
inline constexpr uint32_t kModeFormatShift = 16;
/// Where an ArithmeticOp or a WarpOp of 6 bits begins.
inline constexpr uint32_t kModeOpShift = 20;

enum class FormatKind : uint8_t {
  F32,
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M1,
  E2M3,
  E3M2,
  E8M0,
};

enum class ArithmeticOp : uint8_t {
  Add,
  Mul,
  Div,
  Fma,
  Sqrt,
  Rcp,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Floor,
  Ceil,
  Trunc,
  Round,
  Copy,
};

constexpr uint32_t modeOf(Rounding rounding) {
  return static_cast<uint32_t>(rounding);
}
constexpr uint32_t modeOf(FormatKind format) {
  return static_cast<uint32_t>(format) << kModeFormatShift;
}
constexpr uint32_t modeOf(ArithmeticOp op) {
  return static_cast<uint32_t>(op) << kModeOpShift;
}
constexpr Rounding getRounding(uint32_t mode) {
  return static_cast<Rounding>(mode & kModeRoundingMask);
}
constexpr FormatKind getFormat(uint32_t mode) {
  return static_cast<FormatKind>(mode >> kModeFormatShift & 0xF);
}
constexpr ArithmeticOp getArithmeticOp(uint32_t mode) {
  return static_cast<ArithmeticOp>(mode >> kModeOpShift & 0x3F);
}

/// Operations of te.mbarrier.
enum class MBarrierOp : uint32_t {
  Init,
  Invalidate,
  Arrive,
  ArriveDrop,
  ExpectTransactions,
  CompleteTransactions,
  ArriveExpectTransactions,
  ArriveDropExpectTransactions,
  TestWait,
  TestWaitParity,
  TryWait,
  TryWaitParity,
  PendingCount,
};

/// State spaces that te.isInSpace tells apart.
enum class AddressSpace : uint32_t { Global, Shared, Local, Constant };

/// The bits and flags of an access that a kernel reports.
inline constexpr uint32_t kAccessAlignMask = 63; // log2 of the alignment
inline constexpr uint32_t kAccessRead = 1 << 6;
inline constexpr uint32_t kAccessWrite = 1 << 7;
inline constexpr uint32_t kAccessAtomic = 1 << 8;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A function that compiled kernels may call, by the name they use.
struct DeviceFunction {
  llvm::StringRef name;
  void *address;
};

/// Pure functions (Arithmetic.cpp).
llvm::ArrayRef<DeviceFunction> getArithmeticFunctions();

/// Functions that know threads, blocks and memory (Execution.cpp).
llvm::ArrayRef<DeviceFunction> getExecutionFunctions();

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_DEVICEFUNCTIONS_H
