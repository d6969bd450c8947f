//===- Formats.cpp - conversions chosen by format at run time -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Formats.h"

namespace te::numerics {

uint32_t encode(Format format, float value) {
  switch (format) {
  case Format::F32:
    return bitsOf(value);
  case Format::BF16:
    return encodeBF16(value);
  case Format::F16:
    return encodeF16(value);
  case Format::E4M3:
    return encodeE4M3(value);
  case Format::E5M2:
    return encodeE5M2(value);
  case Format::E2M1:
    return encodeE2M1(value);
  case Format::E8M0:
    return encodeE8M0(value);
  }
  return 0;
}

float decode(Format format, uint32_t bits) {
  switch (format) {
  case Format::F32:
    return fromBits(bits);
  case Format::BF16:
    return decodeBF16(static_cast<uint16_t>(bits));
  case Format::F16:
    return decodeF16(static_cast<uint16_t>(bits));
  case Format::E4M3:
    return decodeE4M3(static_cast<uint8_t>(bits));
  case Format::E5M2:
    return decodeE5M2(static_cast<uint8_t>(bits));
  case Format::E2M1:
    return decodeE2M1(static_cast<uint8_t>(bits));
  case Format::E8M0:
    return decodeE8M0(static_cast<uint8_t>(bits));
  }
  return 0;
}

unsigned getWidth(Format format) {
  switch (format) {
  case Format::F32:
    return 32;
  case Format::BF16:
  case Format::F16:
    return 16;
  case Format::E4M3:
  case Format::E5M2:
  case Format::E8M0:
    return 8;
  case Format::E2M1:
    return 4;
  }
  return 0;
}

float getMaxFinite(Format format) {
  switch (format) {
  case Format::F32:
    return fromBits(kMaxF32Bits);
  case Format::BF16:
    return fromBits(kMaxBF16AsF32Bits);
  case Format::F16:
    return kMaxF16;
  case Format::E4M3:
    return kMaxE4M3;
  case Format::E5M2:
    return kMaxE5M2;
  case Format::E2M1:
    return kMaxE2M1;
  case Format::E8M0:
    return decodeE8M0(0xFE);
  }
  return 0;
}

} // namespace te::numerics
