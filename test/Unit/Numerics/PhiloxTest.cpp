//===- PhiloxTest.cpp - random words and stochastic rounding --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Philox.h"

#include "te/Numerics/Formats.h"

#include "Reference/Reference.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace te::numerics;
namespace reference = te::reference;

namespace {

TEST(Philox, WorkedExamples) {
  EXPECT_EQ(philox4x32(0, 0, 0),
            (PhiloxWords{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox4x32(0, 0, 0, 7),
            (PhiloxWords{0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48}));
  EXPECT_EQ(philox4x32(0x123456789ABCDEF0, 5, 3),
            (PhiloxWords{0x7E0C43B7, 0x3039E0A6, 0xAA531E5A, 0x3676C17E}));
}

TEST(Philox, EqualsTheReference) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    uint64_t seed = random(), subsequence = random(), offset = random() >> 8;
    uint64_t draw = random() % 1000;
    unsigned rounds = i % 2 ? 10 : 7;
    PhiloxWords words = philox4x32(seed, subsequence, offset + draw, rounds);
    for (unsigned word = 0; word < 4; ++word)
      ASSERT_EQ(words[word], reference::getRandomWord(seed, subsequence, offset,
                                                      4 * draw + word, rounds));
  }
}

TEST(StochasticRounding, WorkedExamples) {
  PhiloxWords words = philox4x32(0, 0, 0);
  const std::pair<float, uint8_t> examples[] = {
      {0.1f, 0x1},
      {0.3f, 0x1},
      {-0.9f, 0x9},
      {1.3f, 0x2},
      {1.9f, 0x4},
      {-2.5f, 0xD},
      {3.5f, 0x5},
      {4.5f, 0x7},
      {5.5f, 0x7},
      {-7.0f, 0xF},
      {0.0f, 0x0},
      {-0.0f, 0x8},
      {std::numeric_limits<float>::quiet_NaN(), 0x7},
      {6.0f, 0x7},
      {0.49f, 0x0},
      {-0.01f, 0x8}};
  for (unsigned i = 0; i < 16; ++i) {
    uint8_t byte = getRandomByte(words[i / 4], i % 4);
    EXPECT_EQ(encodeE2M1Stochastic(examples[i].first, byte), examples[i].second)
        << examples[i].first;
    EXPECT_EQ(reference::encodeE2M1Stochastic(examples[i].first, byte),
              examples[i].second)
        << examples[i].first;
  }
  // The f32 sum reaches the step that the exact one misses.
  EXPECT_EQ(encodeE2M1Stochastic(fromBits(0x3E5FFFFF), 0x90), 0x1);
}

TEST(StochasticRounding, EqualsTheReference) {
  for (uint32_t bits = 0; bits < 0x41000000; bits += 0x10003)
    for (unsigned byte = 0; byte < 256; ++byte)
      for (uint32_t sign : {0u, 0x80000000u}) {
        float value = fromBits(sign | bits);
        ASSERT_EQ(
            encodeE2M1Stochastic(value, static_cast<uint8_t>(byte)),
            reference::encodeE2M1Stochastic(value, static_cast<uint8_t>(byte)))
            << value << " with " << byte;
      }
}

TEST(StochasticRounding, IsUnbiasedOnEveryStep) {
  // On multiples of 1/256 of a step the mean over all random bytes is exact.
  for (auto [low, step] : {std::pair{0.0f, 0.5f},
                           {1.5f, 0.5f},
                           {2.0f, 1.0f},
                           {3.0f, 1.0f},
                           {4.0f, 2.0f}})
    for (int part = 0; part < 256; ++part) {
      float value = low + step * static_cast<float>(part) / 256;
      double sum = 0;
      for (unsigned byte = 0; byte < 256; ++byte)
        sum += sr(value, static_cast<uint8_t>(byte));
      ASSERT_EQ(sum / 256, value);
    }
}

TEST(StochasticRounding, SpecialValues) {
  float infinity = std::numeric_limits<float>::infinity();
  for (unsigned byte : {0u, 255u}) {
    auto bits = static_cast<uint8_t>(byte);
    EXPECT_EQ(encodeE2M1Stochastic(infinity, bits), 0x7);
    EXPECT_EQ(encodeE2M1Stochastic(-infinity, bits), 0xF);
    EXPECT_EQ(encodeE2M1Stochastic(fromBits(0xFFC00000), bits), 0x7);
  }
}

} // namespace
