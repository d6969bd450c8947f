//===- Elements.cpp - element conversions by search in exact tables -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace te::reference {

namespace {

/// The magnitudes of a format in increasing order; the index is the code.
struct Table {
  std::vector<double> values;
  uint32_t signBit;
  uint32_t nan;
  /// The code of infinity, or 0 if the format has none.
  uint32_t infinity;

  /// With exponents of `exponentBits` bits and mantissas of `mantissaBits`,
  /// `count` codes from zero up. If there is an infinity it is one more entry
  /// that stands for the first power of two out of range, so that rounding to
  /// it follows from the same rule.
  Table(int exponentBits, int mantissaBits, uint32_t count, bool saturates,
        uint32_t nan)
      : signBit(1u << (exponentBits + mantissaBits)), nan(nan),
        infinity(saturates ? 0 : count) {
    int bias = (1 << (exponentBits - 1)) - 1;
    int steps = 1 << mantissaBits;
    for (uint32_t code = 0; code < count + (saturates ? 0 : 1); ++code) {
      int exponent = static_cast<int>(code) / steps;
      int mantissa = static_cast<int>(code) % steps;
      if (exponent > 0)
        mantissa += steps;
      else
        exponent = 1;
      values.push_back(std::ldexp(mantissa, exponent - bias - mantissaBits));
    }
  }

  uint32_t encode(double value) const {
    if (std::isnan(value))
      return nan;
    uint32_t sign = std::signbit(value) ? signBit : 0;
    double magnitude = std::fabs(value);
    auto above = std::lower_bound(values.begin(), values.end(), magnitude);
    if (above == values.end())
      return sign | static_cast<uint32_t>(values.size() - 1);
    uint32_t code = static_cast<uint32_t>(above - values.begin());
    if (code > 0) {
      // The mean of two neighbours is exact in f64.
      double middle = (values[code - 1] + values[code]) / 2;
      if (magnitude < middle || (magnitude == middle && code % 2 != 0))
        --code;
    }
    return sign | code;
  }
};

} // namespace

static const Table &getTable(DType dtype) {
  static const Table e4m3(4, 3, 0x7F, /*saturates=*/true, 0x7F);
  static const Table e5m2(5, 2, 0x7C, /*saturates=*/true, 0x7F);
  static const Table e2m1(2, 1, 0x8, /*saturates=*/true, 0x7);
  static const Table bf16(8, 7, 0x7F80, /*saturates=*/false, 0x7FFF);
  static const Table f16(5, 10, 0x7C00, /*saturates=*/false, 0x7FFF);
  switch (dtype) {
  case DType::E5M2:
    return e5m2;
  case DType::E2M1:
    return e2m1;
  case DType::BF16:
    return bf16;
  case DType::F16:
    return f16;
  default:
    return e4m3;
  }
}

/// The powers of two that E8M0 codes stand for, by code.
static const std::vector<double> &getPowersOfTwo() {
  static const std::vector<double> powers = [] {
    std::vector<double> result;
    for (int exponent = -127; exponent <= 127; ++exponent)
      result.push_back(std::ldexp(1.0, exponent));
    return result;
  }();
  return powers;
}

size_t getStoredSize(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  default:
    return 1;
  }
}

uint32_t encode(DType dtype, double value) {
  if (dtype == DType::F32) {
    float rounded = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    return bits;
  }
  if (dtype == DType::E8M0) {
    if (std::isnan(value))
      return 0xFF;
    const std::vector<double> &powers = getPowersOfTwo();
    auto above =
        std::lower_bound(powers.begin(), powers.end() - 1, std::fabs(value));
    return static_cast<uint32_t>(above - powers.begin());
  }
  return getTable(dtype).encode(value);
}

float decode(DType dtype, uint32_t code) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (dtype == DType::F32) {
    float value;
    std::memcpy(&value, &code, sizeof(value));
    return value;
  }
  if (isNaN(dtype, code))
    return nan;
  if (dtype == DType::E8M0)
    return static_cast<float>(getPowersOfTwo()[code]);
  const Table &table = getTable(dtype);
  bool negative = code & table.signBit;
  uint32_t magnitude = code & (table.signBit - 1);
  bool isInfinite = dtype == DType::E5M2
                        ? magnitude == 0x7C
                        : table.infinity && magnitude == table.infinity;
  double value = isInfinite ? std::numeric_limits<double>::infinity()
                            : table.values[magnitude];
  return static_cast<float>(negative ? -value : value);
}

bool isNaN(DType dtype, uint32_t code) {
  switch (dtype) {
  case DType::F32:
    return (code & 0x7FFFFFFF) > 0x7F800000;
  case DType::BF16:
    return (code & 0x7FFF) > 0x7F80;
  case DType::F16:
    return (code & 0x7FFF) > 0x7C00;
  case DType::E4M3:
    return (code & 0x7F) == 0x7F;
  case DType::E5M2:
    return (code & 0x7F) > 0x7C;
  case DType::E2M1:
    return false;
  case DType::E8M0:
    return code == 0xFF;
  }
  return false;
}

uint8_t encodeE2M1Stochastic(float value, uint8_t randomBits) {
  const std::vector<double> &values = getTable(DType::E2M1).values;
  if (std::isnan(value))
    return 7;
  double magnitude = std::fabs(value);
  double step = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0.5;
  double lifted = static_cast<float>(magnitude + step * randomBits / 256);
  // The last table value that is not above.
  auto above = std::upper_bound(values.begin(), values.end(), lifted);
  auto code = static_cast<uint8_t>(above - values.begin() - 1);
  return std::signbit(value) ? code | 8 : code;
}

uint32_t getRandomWord(uint64_t seed, uint64_t subsequence, uint64_t offset,
                       uint64_t index, unsigned rounds) {
  constexpr uint64_t multipliers[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t increments[2] = {0x9E3779B9, 0xBB67AE85};
  offset += index / 4;
  uint64_t even[2] = {offset & 0xFFFFFFFF, subsequence & 0xFFFFFFFF};
  uint64_t odd[2] = {offset >> 32, subsequence >> 32};
  uint32_t key[2] = {static_cast<uint32_t>(seed),
                     static_cast<uint32_t>(seed >> 32)};
  for (unsigned round = 0; round < rounds; ++round) {
    uint64_t products[2] = {multipliers[0] * even[0], multipliers[1] * even[1]};
    for (int half = 0; half < 2; ++half) {
      uint64_t other = products[1 - half];
      even[half] = (other >> 32) ^ odd[half] ^ key[half];
      odd[half] = other & 0xFFFFFFFF;
      key[half] += increments[half];
    }
  }
  uint64_t words[4] = {even[0], odd[0], even[1], odd[1]};
  return static_cast<uint32_t>(words[index % 4]);
}

} // namespace te::reference
