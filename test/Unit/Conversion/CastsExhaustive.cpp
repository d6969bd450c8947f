//===- CastsExhaustive.cpp - compiled conversions of every f32 ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the integer expansion with the numerics library on all 2^32
// patterns.
//
//===----------------------------------------------------------------------===//

#include "ElementLoop.h"

#include "gtest/gtest.h"

using namespace te::test;
using te::numerics::Format;

namespace {

class CastsExhaustive : public testing::TestWithParam<Format> {};

TEST_P(CastsExhaustive, EqualsNumerics) {
  Format to = GetParam();
  ElementFunction convert =
      getBackend("cpu").compile(ElementLoop::cast(Format::F32, to, 16));
  ASSERT_TRUE(convert);
  constexpr uint32_t chunk = 1 << 20;
  size_t bytes = te::numerics::getWidth(to) / 8;
  bool isPacked = to == Format::E2M1;
  std::vector<uint32_t> inputs(chunk);
  std::vector<uint8_t> results(chunk * 2);
  for (uint64_t first = 0; first < uint64_t(1) << 32; first += chunk) {
    for (uint32_t i = 0; i < chunk; ++i)
      inputs[i] = static_cast<uint32_t>(first + i);
    convert(inputs.data(), results.data(), chunk);
    for (uint32_t i = 0; i < chunk; ++i) {
      uint32_t result = 0;
      if (isPacked)
        result = results[i / 2] >> (i % 2 * 4) & 0xF;
      else
        std::memcpy(&result, &results[i * bytes], bytes);
      ASSERT_EQ(result,
                te::numerics::encode(to, te::numerics::fromBits(inputs[i])))
          << std::hex << inputs[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CastsExhaustive,
                         testing::Values(Format::E4M3, Format::E5M2,
                                         Format::E2M1, Format::E8M0,
                                         Format::BF16, Format::F16));

} // namespace
