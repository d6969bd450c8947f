//===- Arithmetic.cpp - PTX arithmetic and conversions in software --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled with -frounding-math: directed rounding uses the host's
// rounding mode, which is exact for every operation and operand. The results of
// .approx instructions are those of correct rounding, as PTX leaves them open
// within a bound.
//
//===----------------------------------------------------------------------===//

#include "DeviceFunctions.h"
#include "te/Numerics/Formats.h"
#include "te/Numerics/Philox.h"

#include <cfenv>
#include <cmath>
#include <limits>

using namespace te::emulator;
using namespace te::numerics;

namespace {

/// Sets the host's rounding mode for a scope.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : saved(fegetround()) {
    switch (rounding) {
    case Rounding::NearestEven:
    case Rounding::NearestAway:
      fesetround(FE_TONEAREST);
      break;
    case Rounding::Zero:
      fesetround(FE_TOWARDZERO);
      break;
    case Rounding::Down:
      fesetround(FE_DOWNWARD);
      break;
    case Rounding::Up:
      fesetround(FE_UPWARD);
      break;
    }
  }
  ~RoundingScope() { fesetround(saved); }

private:
  int saved;
};

} // namespace

static const NarrowFormat &getNarrowFormat(FormatKind kind) {
  switch (kind) {
  case FormatKind::F16:
    return formatF16;
  case FormatKind::TF32:
    return formatTF32;
  case FormatKind::E2M3:
    return formatE2M3;
  case FormatKind::E3M2:
    return formatE3M2;
  default:
    return formatBF16;
  }
}

static float canonicalNaN() { return fromBits(kNaNBits); }

/// Flushes a subnormal of the given format to zero.
static float flush(float value, FormatKind format) {
  float minNormal = format == FormatKind::F16 ? 0x1p-14f : 0x1p-126f;
  return std::fabs(value) < minNormal ? std::copysign(0.0f, value) : value;
}

template <typename T>
static T saturate(T value) {
  if (!(value > 0)) // -0 and NaN too
    return 0;
  return value > 1 ? T(1) : value;
}

template <typename T>
static T relu(T value) {
  return value > 0 || std::isnan(value) ? value : T(0);
}

template <typename T>
static T compute(ArithmeticOp op, T a, T b, T c, Rounding rounding) {
  RoundingScope scope(rounding);
  // The optimiser must not move the operation out of the scope.
  volatile T x = a, y = b, z = c;
  volatile T result = x;
  switch (op) {
  case ArithmeticOp::Add:
    result = x + y;
    break;
  case ArithmeticOp::Mul:
    result = x * y;
    break;
  case ArithmeticOp::Div:
    result = x / y;
    break;
  case ArithmeticOp::Fma:
    result = std::fma(x, y, z);
    break;
  case ArithmeticOp::Sqrt:
    result = std::sqrt(x);
    break;
  case ArithmeticOp::Rcp:
    result = T(1) / x;
    break;
  case ArithmeticOp::Rsqrt:
    result = static_cast<T>(1.0L / std::sqrt(static_cast<long double>(x)));
    break;
  case ArithmeticOp::Ex2:
    result = static_cast<T>(std::exp2(static_cast<double>(x)));
    break;
  case ArithmeticOp::Lg2:
    result = static_cast<T>(std::log2(static_cast<double>(x)));
    break;
  case ArithmeticOp::Sin:
    result = static_cast<T>(std::sin(static_cast<double>(x)));
    break;
  case ArithmeticOp::Cos:
    result = static_cast<T>(std::cos(static_cast<double>(x)));
    break;
  case ArithmeticOp::Tanh:
    result = static_cast<T>(std::tanh(static_cast<double>(x)));
    break;
  case ArithmeticOp::Floor:
    result = std::floor(x);
    break;
  case ArithmeticOp::Ceil:
    result = std::ceil(x);
    break;
  case ArithmeticOp::Trunc:
    result = std::trunc(x);
    break;
  case ArithmeticOp::Round: // PTX's cvt.rni
    result = std::nearbyint(x);
    break;
  case ArithmeticOp::Copy:
    break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Functions called by kernels
//===----------------------------------------------------------------------===//

static float arithmeticF32(float a, float b, float c, uint32_t mode) {
  if (mode & kModeFtz) {
    a = flush(a, FormatKind::F32);
    b = flush(b, FormatKind::F32);
    c = flush(c, FormatKind::F32);
  }
  float result = compute(getArithmeticOp(mode), a, b, c, getRounding(mode));
  if (mode & kModeFtz)
    result = flush(result, FormatKind::F32);
  if (mode & kModeSat)
    result = saturate(result);
  return std::isnan(result) ? canonicalNaN() : result;
}

static double arithmeticF64(double a, double b, double c, uint32_t mode) {
  double result = compute(getArithmeticOp(mode), a, b, c, getRounding(mode));
  if (mode & kModeFtz && std::fabs(result) < 0x1p-1022)
    result = std::copysign(0.0, result);
  return mode & kModeSat ? saturate(result) : result;
}

/// a * b + c of f16 or bf16 operands, rounded once to their format.
static uint32_t fmaNarrow(float a, float b, float c, uint32_t mode) {
  FormatKind kind = getFormat(mode);
  const NarrowFormat &format = getNarrowFormat(kind);
  if (mode & kModeFtz) {
    a = flush(a, kind);
    b = flush(b, kind);
    c = flush(c, kind);
  }
  // Rounding to odd in f64 keeps what the second rounding has to know.
  double exact;
  {
    RoundingScope scope(Rounding::Zero);
    feclearexcept(FE_INEXACT);
    volatile double x = a, y = b, z = c;
    volatile double sum = std::fma(x, y, z);
    exact = sum;
    if (fetestexcept(FE_INEXACT) && std::isfinite(exact)) {
      uint64_t bits = bitsOfDouble(exact) | 1;
      memcpy(&exact, &bits, sizeof(exact));
    }
  }
  // An exact zero sum of opposite signs is +0 in this direction too.
  float result = decodeNarrow(
      encodeNarrow(exact, format, Rounding::NearestEven, /*saturate=*/false),
      format);
  if (mode & kModeFtz)
    result = flush(result, kind);
  if (mode & kModeSat)
    result = saturate(result);
  if (mode & kModeRelu)
    result = relu(result);
  return encodeNarrow(result, format, Rounding::NearestEven,
                      /*saturate=*/false);
}

template <typename T>
static T minMax(T a, T b, uint32_t mode) {
  bool sign = std::signbit(a) != std::signbit(b);
  if (mode & (kModeXorSignAbs | kModeAbs)) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result;
  if (std::isnan(a) || std::isnan(b)) {
    bool one = std::isnan(a) != std::isnan(b);
    if (mode & kModeNaN || !one)
      return static_cast<T>(canonicalNaN());
    result = std::isnan(a) ? b : a;
  } else if (a == b) {
    // PTX orders +0 above -0.
    result = std::signbit(a) == bool(mode & kModeMin) ? a : b;
  } else {
    result = (a < b) == bool(mode & kModeMin) ? a : b;
  }
  if (mode & kModeXorSignAbs)
    result = sign ? -result : result;
  return result;
}

static float minMaxF32(float a, float b, uint32_t mode) {
  if (mode & kModeFtz) {
    a = flush(a, getFormat(mode));
    b = flush(b, getFormat(mode));
  }
  return minMax(a, b, mode);
}

static double minMaxF64(double a, double b, uint32_t mode) {
  return minMax(a, b, mode);
}

/// The scale code of |value|, rounded up or toward zero to a power of two.
static uint32_t convertToScale(float value, uint32_t mode) {
  if (getRounding(mode) == Rounding::Zero)
    value = std::isfinite(value) ? fromBits(bitsOf(value) & 0x7F800000)
                                 : value;
  uint32_t code = encodeE8M0(value);
  // Without saturation what exceeds 2^127 has no code but NaN's.
  bool isOver = std::fabs(value) > 0x1p127f;
  return isOver && !(mode & kModeSatFinite) ? 0xFF : code;
}

static uint32_t convertF32(float value, uint32_t mode) {
  if (mode & kModeFtz)
    value = flush(value, FormatKind::F32);
  if (mode & kModeRelu)
    value = relu(value);
  FormatKind kind = getFormat(mode);
  switch (kind) {
  case FormatKind::E4M3:
    return encodeE4M3(value);
  case FormatKind::E5M2:
    return encodeE5M2(value);
  case FormatKind::E2M1:
    return encodeE2M1(value);
  case FormatKind::E8M0:
    return convertToScale(value, mode);
  case FormatKind::F16:
  case FormatKind::BF16:
    if (getRounding(mode) == Rounding::NearestEven && !(mode & kModeSatFinite))
      return kind == FormatKind::F16 ? encodeF16(value) : encodeBF16(value);
    break;
  default:
    break;
  }
  uint32_t code = encodeNarrow(value, getNarrowFormat(kind), getRounding(mode),
                               mode & kModeSatFinite);
  return kind == FormatKind::TF32 ? code << 13 : code;
}

static uint32_t convertF64(double value, uint32_t mode) {
  return encodeNarrow(value, getNarrowFormat(getFormat(mode)),
                      getRounding(mode), /*saturate=*/false);
}

/// Bits from one value of a packed pair to the next.
static int getPackedBits(FormatKind kind) {
  switch (kind) {
  case FormatKind::E2M1:
    return 4;
  case FormatKind::F16:
  case FormatKind::BF16:
    return 16;
  default:
    return 8;
  }
}

/// Two values packed, the first in the upper half.
static uint32_t convertPair(float upper, float lower, uint32_t mode) {
  return convertF32(upper, mode) << getPackedBits(getFormat(mode)) |
         convertF32(lower, mode);
}

/// Four values to e2m1 with stochastic rounding, the first in the upper four
/// bits; byte i of the random word belongs to the value in nibble i.
static uint32_t convertFourStochastic(float a, float b, float c, float d,
                                      uint32_t random, uint32_t mode) {
  float values[4] = {d, c, b, a};
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    float value = mode & kModeRelu ? relu(values[i]) : values[i];
    result |= encodeE2M1Stochastic(value, random >> (8 * i) & 0xFF) << (4 * i);
  }
  return result;
}

/// A packed pair of a narrow format to a packed pair of f16, or of bf16 for
/// scales.
static uint32_t widenPair(uint32_t packed, uint32_t mode) {
  FormatKind kind = getFormat(mode);
  int bits = getPackedBits(kind);
  uint32_t mask = (1u << bits) - 1;
  auto widen = [&](uint32_t code) -> uint32_t {
    float value = 0;
    switch (kind) {
    case FormatKind::E4M3:
      value = decodeE4M3(code);
      break;
    case FormatKind::E5M2:
      value = decodeE5M2(code);
      break;
    case FormatKind::E2M1:
      value = decodeE2M1(code);
      break;
    case FormatKind::E8M0:
      return encodeBF16(decodeE8M0(code));
    default:
      value = decodeNarrow(code, getNarrowFormat(kind));
      break;
    }
    return encodeF16(mode & kModeRelu ? relu(value) : value);
  };
  return widen(packed >> bits & mask) << 16 | widen(packed & mask);
}

static double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::NearestAway:
    return std::round(value);
  case Rounding::NearestEven:
    break;
  }
  return std::nearbyint(value);
}

/// Floating point to integer, saturating.
static uint64_t toInteger(double value, uint32_t mode) {
  int bits = mode & kMode64 ? 64 : 32;
  if (std::isnan(value)) {
    bool isNarrow = !(mode & kModeFromDouble) && bits == 32;
    return isNarrow ? 0 : uint64_t(1) << (bits - 1);
  }
  if (mode & kModeFtz)
    value = flush(static_cast<float>(value), FormatKind::F32);
  double integral = roundToIntegral(value, getRounding(mode));
  if (mode & kModeSigned) {
    double limit = std::ldexp(1.0, bits - 1);
    int64_t max = bits == 64 ? INT64_MAX : INT32_MAX;
    if (integral >= limit)
      return static_cast<uint64_t>(max);
    if (integral < -limit)
      return static_cast<uint64_t>(-max - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(integral));
  }
  if (integral <= 0)
    return 0;
  if (integral >= std::ldexp(1.0, bits))
    return bits == 64 ? UINT64_MAX : UINT32_MAX;
  return static_cast<uint64_t>(integral);
}

template <typename T>
static T fromInteger(uint64_t value, uint32_t mode) {
  RoundingScope scope(getRounding(mode));
  if (mode & kModeSigned) {
    volatile int64_t source = static_cast<int64_t>(value);
    volatile T result = static_cast<T>(source);
    return result;
  }
  volatile uint64_t source = value;
  volatile T result = static_cast<T>(source);
  return result;
}

static float integerToF32(uint64_t value, uint32_t mode) {
  return fromInteger<float>(value, mode);
}

static double integerToF64(uint64_t value, uint32_t mode) {
  return fromInteger<double>(value, mode);
}

static float f64ToF32(double value, uint32_t mode) {
  float result;
  {
    RoundingScope scope(getRounding(mode));
    volatile double source = value;
    volatile float rounded = static_cast<float>(source);
    result = rounded;
  }
  if (mode & kModeFtz)
    result = flush(result, FormatKind::F32);
  return std::isnan(result) ? canonicalNaN() : result;
}

/// prmt.b32 in its default mode.
static uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t select = selector >> (4 * i) & 0xF;
    uint32_t byte = bytes >> (8 * (select & 7)) & 0xFF;
    if (select & 8) // replicate the sign
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

/// The other modes of prmt.b32 as selectors of the default mode, by name.
static uint32_t permuteSelector(uint32_t mode, uint32_t selector) {
  static const uint32_t table[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return table[mode][selector & 3];
}

static uint32_t dotProduct4(uint32_t a, uint32_t b, uint32_t c,
                            uint32_t isSigned) {
  for (int i = 0; i < 4; ++i) {
    uint32_t x = a >> (8 * i) & 0xFF, y = b >> (8 * i) & 0xFF;
    int32_t u = isSigned & 1 ? static_cast<int8_t>(x) : static_cast<int32_t>(x);
    int32_t v = isSigned & 2 ? static_cast<int8_t>(y) : static_cast<int32_t>(y);
    c += static_cast<uint32_t>(u * v);
  }
  return c;
}

//===----------------------------------------------------------------------===//
// Functions that code generation may call
//===----------------------------------------------------------------------===//

// bf16 has no conversion that all hosts share, so generated code calls these.
// bf16 and f16 are passed in the same registers.
#if defined(__FLT16_MAX__)
static _Float16 asHalf(uint32_t bits) {
  uint16_t narrow = static_cast<uint16_t>(bits);
  _Float16 value;
  memcpy(&value, &narrow, sizeof(value));
  return value;
}

static _Float16 truncateF32ToBF16(float value) {
  return asHalf(encodeBF16(value));
}

static _Float16 truncateF64ToBF16(double value) {
  return asHalf(encodeNarrow(value, formatBF16, Rounding::NearestEven, false));
}

static _Float16 truncateF32ToF16(float value) {
  return asHalf(encodeF16(value));
}

static _Float16 truncateF64ToF16(double value) {
  return asHalf(encodeNarrow(value, formatF16, Rounding::NearestEven, false));
}

static float extendF16ToF32(_Float16 value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return decodeF16(bits);
}
#endif

llvm::ArrayRef<DeviceFunction> te::emulator::getArithmeticFunctions() {
#define TE_FUNCTION(name)                                                      \
  { "te." #name, reinterpret_cast<void *>(&name) }
  static const DeviceFunction functions[] = {
      TE_FUNCTION(arithmeticF32),
      TE_FUNCTION(arithmeticF64),
      TE_FUNCTION(fmaNarrow),
      TE_FUNCTION(minMaxF32),
      TE_FUNCTION(minMaxF64),
      TE_FUNCTION(convertF32),
      TE_FUNCTION(convertF64),
      TE_FUNCTION(convertPair),
      TE_FUNCTION(convertFourStochastic),
      TE_FUNCTION(widenPair),
      TE_FUNCTION(toInteger),
      TE_FUNCTION(integerToF32),
      TE_FUNCTION(integerToF64),
      TE_FUNCTION(f64ToF32),
      TE_FUNCTION(permuteBytes),
      TE_FUNCTION(permuteSelector),
      TE_FUNCTION(dotProduct4),
#if defined(__FLT16_MAX__)
      {"__truncsfbf2", reinterpret_cast<void *>(&truncateF32ToBF16)},
      {"__truncdfbf2", reinterpret_cast<void *>(&truncateF64ToBF16)},
      {"__truncsfhf2", reinterpret_cast<void *>(&truncateF32ToF16)},
      {"__truncdfhf2", reinterpret_cast<void *>(&truncateF64ToF16)},
      {"__extendhfsf2", reinterpret_cast<void *>(&extendF16ToF32)},
#endif
  };
#undef TE_FUNCTION
  return functions;
}
