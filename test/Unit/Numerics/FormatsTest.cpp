//===- FormatsTest.cpp - element conversions ------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Formats.h"
#include "te/Numerics/Swizzle.h"

#include "Golden.h"
#include "Reference/Reference.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace te::numerics;
namespace reference = te::reference;

namespace {

/// A format and what the references call it.
struct Pair {
  const char *name;
  Format format;
  reference::DType dtype;
};

const Pair pairs[] = {{"e4m3", Format::E4M3, reference::DType::E4M3},
                      {"e5m2", Format::E5M2, reference::DType::E5M2},
                      {"e2m1", Format::E2M1, reference::DType::E2M1},
                      {"e8m0", Format::E8M0, reference::DType::E8M0},
                      {"bf16", Format::BF16, reference::DType::BF16},
                      {"f16", Format::F16, reference::DType::F16},
                      {"f32", Format::F32, reference::DType::F32}};

const Pair *findPair(llvm::StringRef name) {
  for (const Pair &pair : pairs)
    if (name == pair.name)
      return &pair;
  ADD_FAILURE() << "unknown format " << name.str();
  return nullptr;
}

/// Compares as patterns, any NaN equal to any other.
bool areSame(float a, float b) {
  return bitsOf(a) == bitsOf(b) || (std::isnan(a) && std::isnan(b));
}

uint32_t loadLittleEndian(const std::vector<uint8_t> &bytes, size_t index,
                          size_t size) {
  uint32_t value = 0;
  for (size_t byte = 0; byte < size; ++byte)
    value |= static_cast<uint32_t>(bytes.at(index * size + byte)) << 8 * byte;
  return value;
}

//===----------------------------------------------------------------------===//
// Golden tables
//===----------------------------------------------------------------------===//

/// The inputs of a golden table: f32 patterns, or all codes of a format.
std::vector<float> getEncodeInputs(llvm::StringRef source) {
  std::vector<float> inputs;
  if (source == "f32_inputs.bin") {
    std::vector<uint8_t> bytes =
        te::golden::readFile("conversions/f32_inputs.bin");
    for (size_t i = 0; i < bytes.size() / 4; ++i)
      inputs.push_back(fromBits(loadLittleEndian(bytes, i, 4)));
    return inputs;
  }
  EXPECT_TRUE(source.contains("65536 bf16") || source.contains("65536 f16"))
      << source.str();
  Format format = source.contains("bf16") ? Format::BF16 : Format::F16;
  for (uint32_t code = 0; code < 65536; ++code)
    inputs.push_back(decode(format, code));
  return inputs;
}

TEST(Formats, GoldenConversions) {
  llvm::json::Object root =
      te::golden::readJSON("conversions/conversions.json");
  const llvm::json::Array *tables = root.getArray("tables");
  ASSERT_TRUE(tables);
  size_t values = 0;
  for (const llvm::json::Value &value : *tables) {
    const llvm::json::Object &table = *value.getAsObject();
    llvm::StringRef file = table.getString("file").value_or("");
    SCOPED_TRACE(file.str());
    std::vector<uint8_t> bytes =
        te::golden::readFile(("conversions/" + file).str());
    size_t count = table.getInteger("count").value_or(0);
    ASSERT_GT(count, 0u);
    if (table.getString("kind") == llvm::StringRef("encode")) {
      const Pair *target = findPair(table.getString("target").value_or(""));
      ASSERT_TRUE(target);
      size_t size = reference::getStoredSize(target->dtype);
      ASSERT_EQ(bytes.size(), count * size);
      std::vector<float> inputs =
          getEncodeInputs(table.getString("source").value_or(""));
      ASSERT_EQ(inputs.size(), count);
      for (size_t i = 0; i < count; ++i) {
        uint32_t expected = loadLittleEndian(bytes, i, size);
        ASSERT_EQ(encode(target->format, inputs[i]), expected)
            << std::hex << bitsOf(inputs[i]);
        ASSERT_EQ(reference::encode(target->dtype, inputs[i]), expected)
            << std::hex << bitsOf(inputs[i]);
      }
    } else {
      ASSERT_EQ(bytes.size(), count * 4);
      bool isReciprocal = file == "e8m0_to_rcp_f32.bin";
      const Pair *source = findPair(file.take_front(4));
      ASSERT_TRUE(source);
      for (uint32_t code = 0; code < count; ++code) {
        float expected = fromBits(loadLittleEndian(bytes, code, 4));
        float got = isReciprocal ? reciprocalE8M0(static_cast<uint8_t>(code))
                                 : decode(source->format, code);
        ASSERT_TRUE(areSame(got, expected)) << code;
        if (!isReciprocal) {
          ASSERT_TRUE(areSame(reference::decode(source->dtype, code), expected))
              << code;
        }
      }
    }
    values += count;
  }
  EXPECT_EQ(tables->size(), 17u);
  std::printf("%zu tables, %zu conversions checked\n", tables->size(), values);
}

//===----------------------------------------------------------------------===//
// Exhaustive over narrow codes, sampled over f32
//===----------------------------------------------------------------------===//

TEST(Formats, EveryCodeDecodesAsTheReference) {
  for (const Pair &pair : pairs) {
    if (pair.format == Format::F32)
      continue;
    SCOPED_TRACE(pair.name);
    for (uint32_t code = 0; code < 1u << getWidth(pair.format); ++code) {
      float value = decode(pair.format, code);
      ASSERT_TRUE(areSame(value, reference::decode(pair.dtype, code))) << code;
      // Encoding is the inverse, except that it never yields an infinity where
      // it saturates, and yields one NaN.
      if (std::isnan(value) ||
          (pair.format == Format::E5M2 && std::isinf(value)))
        continue;
      ASSERT_EQ(encode(pair.format, value), code);
    }
  }
}

TEST(Formats, Every16BitInputEncodesAsTheReference) {
  for (Format source : {Format::BF16, Format::F16})
    for (const Pair &pair : pairs)
      for (uint32_t code = 0; code < 65536; ++code) {
        float value = decode(source, code);
        if (pair.format == Format::F32 && std::isnan(value))
          continue;
        ASSERT_EQ(encode(pair.format, value),
                  reference::encode(pair.dtype, value))
            << pair.name << " of " << std::hex << bitsOf(value);
      }
}

TEST(Formats, StrideThroughF32EncodesAsTheReference) {
  // An odd stride visits every value of the low bits; sign and exponent are
  // covered because the walk spans the whole range.
  constexpr uint64_t stride = 2053;
  for (const Pair &pair : pairs) {
    if (pair.format == Format::F32)
      continue;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
      float value = fromBits(static_cast<uint32_t>(bits));
      ASSERT_EQ(encode(pair.format, value),
                reference::encode(pair.dtype, value))
          << pair.name << " of " << std::hex << bits;
    }
  }
}

//===----------------------------------------------------------------------===//
// Rules spelled out (numerics: 1.1 to 1.5)
//===----------------------------------------------------------------------===//

TEST(Formats, SpecialValuesOfFP8) {
  float infinity = fromBits(0x7F800000);
  for (uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    EXPECT_EQ(encodeE4M3(fromBits(nan)), 0x7F);
    EXPECT_EQ(encodeE5M2(fromBits(nan)), 0x7F);
  }
  EXPECT_EQ(encodeE4M3(infinity), 0x7E);
  EXPECT_EQ(encodeE4M3(-infinity), 0xFE);
  EXPECT_EQ(encodeE5M2(infinity), 0x7B);
  EXPECT_EQ(encodeE5M2(-infinity), 0xFB);
  for (float value : {448.0f, 449.0f, 464.0f, 480.0f, 1e30f})
    EXPECT_EQ(encodeE4M3(value), 0x7E);
  EXPECT_EQ(encodeE4M3(-0.0f), 0x80);
  EXPECT_EQ(encodeE5M2(-0.0f), 0x80);
  // Half of the smallest subnormal goes to zero and keeps its sign.
  EXPECT_EQ(encodeE4M3(std::ldexp(1.0f, -10)), 0x00);
  EXPECT_EQ(encodeE4M3(-std::ldexp(1.0f, -10)), 0x80);
  EXPECT_EQ(encodeE4M3(fromBits(bitsOf(std::ldexp(1.0f, -10)) + 1)), 0x01);
  EXPECT_EQ(encodeE5M2(std::ldexp(1.0f, -17)), 0x00);
  EXPECT_EQ(encodeE5M2(fromBits(bitsOf(std::ldexp(1.0f, -17)) + 1)), 0x01);
  EXPECT_EQ(encodeE4M3(fromBits(1)), 0x00);
}

TEST(Formats, ThresholdsOfE2M1) {
  const std::pair<float, uint8_t> ties[] = {{0.25f, 0}, {0.75f, 2}, {1.25f, 2},
                                            {1.75f, 4}, {2.5f, 4},  {3.5f, 6},
                                            {5.0f, 6}};
  for (auto [value, code] : ties) {
    EXPECT_EQ(encodeE2M1(value), code) << value;
    EXPECT_EQ(encodeE2M1(-value), code | 8) << value;
  }
  EXPECT_EQ(encodeE2M1(-0.0f), 0x8);
  EXPECT_EQ(encodeE2M1(fromBits(0x7F800000)), 0x7);
  EXPECT_EQ(encodeE2M1(fromBits(0xFF800000)), 0xF);
  EXPECT_EQ(encodeE2M1(fromBits(0xFFC00000)), 0x7);
}

TEST(Formats, E8M0RoundsUp) {
  EXPECT_EQ(encodeE8M0(0.0f), 0x00);
  EXPECT_EQ(encodeE8M0(fromBits(0x00400000)), 0x00); // 2^-127
  EXPECT_EQ(encodeE8M0(fromBits(0x00400001)), 0x01);
  EXPECT_EQ(encodeE8M0(fromBits(0x00800000)), 0x01); // 2^-126
  EXPECT_EQ(encodeE8M0(fromBits(0x00800001)), 0x02);
  EXPECT_EQ(encodeE8M0(1.0f), 0x7F);
  EXPECT_EQ(encodeE8M0(-1.0f), 0x7F);
  EXPECT_EQ(encodeE8M0(fromBits(0x7F000000)), 0xFE); // 2^127
  EXPECT_EQ(encodeE8M0(fromBits(kMaxF32Bits)), 0xFE);
  EXPECT_EQ(encodeE8M0(fromBits(0x7F800000)), 0xFE);
  EXPECT_EQ(encodeE8M0(fromBits(0xFFC00000)), 0xFF);
  EXPECT_EQ(bitsOf(decodeE8M0(0)), 0x00400000u);
  EXPECT_EQ(bitsOf(reciprocalE8M0(0)), 0x7F000000u);
  EXPECT_EQ(bitsOf(reciprocalE8M0(0xFE)), 0x00400000u);
}

TEST(Formats, Constants) {
  EXPECT_EQ(kReciprocalOf448Bits, bitsOf(1.0f / 448));
  EXPECT_EQ(kReciprocalOf57344Bits, bitsOf(1.0f / 57344));
  EXPECT_EQ(kReciprocalOf6Bits, bitsOf(1.0f / 6));
  EXPECT_EQ(kReciprocalOf2688Bits, bitsOf(1.0f / 2688));
  EXPECT_EQ(kReciprocalOf1536Bits, bitsOf(1.0f / 1536));
  EXPECT_EQ(kReciprocalOf36x448x448Bits, bitsOf(1.0f / (36 * 448 * 448)));
  EXPECT_EQ(kReciprocalOf36x448x256Bits, bitsOf(1.0f / (36 * 448 * 256)));
  EXPECT_EQ(kReciprocalOf36x256x256Bits, bitsOf(1.0f / (36 * 256 * 256)));
  for (const Pair &pair : pairs) {
    float largest = getMaxFinite(pair.format);
    EXPECT_TRUE(std::isfinite(largest)) << pair.name;
    EXPECT_EQ(bitsOf(decode(pair.format, encode(pair.format, largest))),
              bitsOf(largest))
        << pair.name;
  }
}

//===----------------------------------------------------------------------===//
// Swizzle (numerics: 4.4, 10.5)
//===----------------------------------------------------------------------===//

TEST(Swizzle, WorkedExamples) {
  const uint64_t examples[][3] = {{0, 0, 0},    {1, 0, 16},     {32, 0, 4},
                                  {31, 3, 499}, {127, 3, 511},  {0, 4, 512},
                                  {37, 5, 597}, {128, 0, 1024}, {200, 6, 1674}};
  for (auto [i, j, offset] : examples)
    EXPECT_EQ(swizzledScaleOffset(i, j, 2), offset) << i << ", " << j;
}

TEST(Swizzle, OffsetsHave64Bits) {
  EXPECT_EQ(swizzledScaleOffset(uint64_t{1} << 33, 0, 4), uint64_t{1} << 37);
}

TEST(Swizzle, EqualsTheReferenceForAnyTileCount) {
  for (size_t tiles = 1; tiles < 6; ++tiles) {
    size_t rows = 384, blocks = 4 * tiles;
    reference::InnerTensor compact{"scale",
                                   reference::DType::E8M0,
                                   {rows, blocks},
                                   {rows - 5, blocks - 1},
                                   {}};
    std::mt19937 random(static_cast<unsigned>(tiles));
    for (size_t i = 0; i < rows * blocks; ++i)
      compact.bytes.push_back(static_cast<uint8_t>(random()));
    reference::InnerTensor swizzled =
        reference::swizzleScales(compact, reference::BlockDim::Last);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < blocks; ++j) {
        bool isValid = i < rows - 5 && j < blocks - 1;
        ASSERT_EQ(swizzled.bytes[swizzledScaleOffset(i, j, tiles)],
                  isValid ? compact.bytes[i * blocks + j] : 0);
      }
    // The columnwise scales of MXFP8 are the transpose.
    reference::InnerTensor transposed = compact;
    transposed.shape = {blocks, rows};
    transposed.validShape = {blocks - 1, rows - 5};
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < blocks; ++j)
        transposed.bytes[j * rows + i] = compact.bytes[i * blocks + j];
    EXPECT_EQ(
        reference::swizzleScales(transposed, reference::BlockDim::First).bytes,
        swizzled.bytes);
    EXPECT_EQ(reference::describeDifference(
                  compact, reference::unswizzleScales(swizzled,
                                                      reference::BlockDim::Last,
                                                      compact.validShape)
                               .bytes),
              "");
  }
}

} // namespace
