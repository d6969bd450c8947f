//===- ScalesTest.cpp - scale rules ---------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Scales.h"

#include "Reference/Reference.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace te::numerics;
namespace reference = te::reference;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Worked examples (numerics: section 10)
//===----------------------------------------------------------------------===//

TEST(Scales, PerTensor) {
  EXPECT_EQ(bitsOf(scaleFromAmax(3, kMaxE4M3, false, 0)), 0x43155555u);
  EXPECT_EQ(bitsOf(scaleFromAmax(3, kMaxE4M3, true, 0)), 0x43000000u);
  EXPECT_EQ(bitsOf(scaleFromAmax(3, kMaxE5M2, false, 0)), 0x46955555u);
  EXPECT_EQ(bitsOf(scaleFromAmax(3, kMaxE5M2, true, 0)), 0x46800000u);
  EXPECT_EQ(bitsOf(scaleInverse(fromBits(0x43155555))), 0x3BDB6DB7u);
  EXPECT_EQ(bitsOf(scaleInverse(fromBits(0x46955555))), 0x385B6DB7u);
  EXPECT_EQ(bitsOf(scaleFromAmax(1e-3f, kMaxE4M3, false, 0.01f)), 0x472F0000u);
  // The quotient overflows: first the clamp, then the power of two.
  float tiny = fromBits(1);
  EXPECT_EQ(bitsOf(scaleFromAmax(tiny, kMaxE4M3, false, 0)), 0x7F7FFFFFu);
  EXPECT_EQ(bitsOf(scaleFromAmax(tiny, kMaxE4M3, true, 0)), 0x7F000000u);
  EXPECT_EQ(bitsOf(scaleInverse(fromBits(0x7F7FFFFF))), 0x00200000u);
  EXPECT_EQ(bitsOf(scaleInverse(fromBits(0x7F000000))), 0x00400000u);
  for (float amax : {0.0f, infinity, nan})
    EXPECT_EQ(scaleFromAmax(amax, kMaxE4M3, true, 0), 1.0f);
  EXPECT_EQ(scaleFromAmax(0, kMaxE4M3, false, 1), 448.0f);
}

TEST(Scales, FP8Block) {
  EXPECT_EQ(bitsOf(scaleFromAmax(5, kMaxE4M3, true, 0)), 0x42800000u);
  EXPECT_EQ(bitsOf(scaleFromAmax(5, kMaxE4M3, false, 0)), 0x42B33333u);
  EXPECT_EQ(bitsOf(scaleInverse(fromBits(0x42B33333))), 0x3C36DB6Eu);
  EXPECT_EQ(e8m0OfPowerOfTwo(fromBits(0x3C800000)), 0x79);
  float amax = fromBits(0x00010000), forInf = getBlockScaleForInf(Format::BF16);
  float scale = scaleFromAmax(amax, kMaxE4M3, false, 0, forInf);
  EXPECT_EQ(bitsOf(scale), 0x7F7F0000u);
  EXPECT_EQ(bitsOf(scaleInverse(scale)), 0x00202020u);
  scale = scaleFromAmax(amax, kMaxE4M3, true, 0, forInf);
  EXPECT_EQ(bitsOf(scale), 0x7F000000u);
  EXPECT_EQ(getBlockScaleForInf(Format::F16), 65504.0f);
  EXPECT_EQ(bitsOf(getBlockScaleForInf(Format::F32)), 0x7F7FFFFFu);
}

TEST(Scales, MXFP8) {
  EXPECT_EQ(mxfp8BlockScale(500, Format::E4M3), 0x80);
  EXPECT_EQ(mxfp8BlockScale(500, Format::E5M2), 0x79);
  EXPECT_EQ(mxfp8BlockScale(448, Format::E4M3), 0x7F);
  EXPECT_EQ(mxfp8BlockScale(infinity, Format::E4M3), 0xFE);
  EXPECT_EQ(mxfp8BlockScale(0, Format::E4M3), 0x00);
  EXPECT_EQ(mxfp8BlockScale(std::ldexp(1.0f, -120), Format::E4M3), 0x00);
  EXPECT_EQ(mxfp8BlockScale(fromBits(0x7F7F0000), Format::E4M3), 0xF7);
}

TEST(Scales, NVFP4) {
  float encode = nvfp4EncodeScale(10), decode = nvfp4DecodeScale(encode);
  EXPECT_EQ(bitsOf(encode), 0x43866666u);
  EXPECT_EQ(bitsOf(decode), 0x3B73CF3Eu);
  uint8_t scale = nvfp4BlockScale(3.5f, encode);
  EXPECT_EQ(scale, 0x72);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(scale, decode)), 0x3FD70A3Cu);
  EXPECT_EQ(bitsOf(nvfp4DequantScale(scale, 10)), 0x3F186186u);
  // A scale that rounds to zero.
  EXPECT_EQ(nvfp4BlockScale(fromBits(0x37280000), encode), 0x00);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(0, decode)), 0x7F7FFFFFu);
  EXPECT_EQ(nvfp4BlockScale(1, encode), 0x63);
  // Of the tensor.
  EXPECT_EQ(nvfp4EncodeScale(0), 1.0f);
  EXPECT_EQ(nvfp4EncodeScale(infinity), 1.0f);
  EXPECT_EQ(bitsOf(nvfp4EncodeScale(1e-38f)), 0x7F7FFFFFu);
  EXPECT_EQ(bitsOf(nvfp4EncodeScale(1e-36f)), 0x7F7FFFFFu);
  EXPECT_EQ(nvfp4BlockScale(infinity, 1), 0x7E);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(0x7E, 1)), 0x3B124925u);
  EXPECT_EQ(bitsOf(nvfp4EncodeScale(3.390625f)), 0x4446318Cu);
  EXPECT_EQ(nvfp4BlockScale(3.390625f, fromBits(0x4446318C)), 0x7E);
}

TEST(Scales, FourOverSix) {
  float encode = nvfp4EncodeScale(10);
  FourOverSixScales scales = fourOverSixBlockScales(3.5f, encode);
  EXPECT_EQ(scales.mapTo4, 0x77);
  EXPECT_EQ(scales.mapTo6, 0x72);
  float decode = nvfp4DecodeScale(encode);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(scales.mapTo4, decode)), 0x3F8F5C28u);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(scales.mapTo6, decode)), 0x3FD70A3Cu);

  encode = nvfp4EncodeScale(10, E4M3Bound::Max256);
  EXPECT_EQ(bitsOf(encode), 0x4319999Au);
  scales = fourOverSixBlockScales(3.5f, encode);
  EXPECT_EQ(scales.mapTo4, 0x70);
  EXPECT_EQ(scales.mapTo6, 0x6B);
  decode = nvfp4DecodeScale(encode);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(scales.mapTo4, decode)), 0x3F99999Au);
  EXPECT_EQ(bitsOf(nvfp4ElementScale(scales.mapTo6, decode)), 0x3FDF6B0Fu);
}

/// The errors of the worked block under one candidate, in the order of the
/// rule.
std::pair<float, float> getErrors(uint8_t scale, E4M3Bound bound) {
  const uint16_t block[16] = {0x0000, 0x3DCD, 0xBE4D, 0x3EB3, 0x3F00, 0xBF40,
                              0x3F80, 0x3FA0, 0xBFC0, 0x3FE0, 0x4000, 0xC020,
                              0x4040, 0xC060, 0x3D4D, 0x8000};
  float factor =
      nvfp4ElementScale(scale, nvfp4DecodeScale(nvfp4EncodeScale(10, bound)));
  float mae = 0, mse = 0;
  for (uint16_t bits : block) {
    float x = decodeBF16(bits);
    float d = fourOverSixValue(encodeE2M1(x * factor), scale, 10, bound) - x;
    mae += std::fabs(d);
    mse += d * d;
  }
  return {mae, mse};
}

TEST(Scales, FourOverSixErrors) {
  auto expectErrors = [](uint8_t scale, E4M3Bound bound, uint32_t mae,
                         uint32_t mse) {
    auto [gotMAE, gotMSE] = getErrors(scale, bound);
    EXPECT_EQ(bitsOf(gotMAE), mae);
    EXPECT_EQ(bitsOf(gotMSE), mse);
  };
  expectErrors(0x77, E4M3Bound::Max448, 0x3FE93C92, 0x3EA2D583);
  expectErrors(0x72, E4M3Bound::Max448, 0x40001FCF, 0x3F0B39D9);
  expectErrors(0x70, E4M3Bound::Max256, 0x3FEAC2AB, 0x3EC4588E);
  expectErrors(0x6B, E4M3Bound::Max256, 0x3FFBAD54, 0x3EE083AA);
}

TEST(Scales, NVFP4GemmAlpha) {
  EXPECT_EQ(
      bitsOf(nvfp4GemmAlpha(1, 10, E4M3Bound::Max448, 5, E4M3Bound::Max448)),
      0x36E83316u);
  // The mixed factor does not depend on which operand has which bound.
  EXPECT_EQ(
      bitsOf(nvfp4GemmAlpha(1, 1, E4M3Bound::Max256, 1, E4M3Bound::Max448)),
      kReciprocalOf36x448x256Bits);
  EXPECT_EQ(
      bitsOf(nvfp4GemmAlpha(1, 1, E4M3Bound::Max448, 1, E4M3Bound::Max256)),
      kReciprocalOf36x448x256Bits);
  EXPECT_EQ(
      bitsOf(nvfp4GemmAlpha(1, 1, E4M3Bound::Max256, 1, E4M3Bound::Max256)),
      kReciprocalOf36x256x256Bits);
}

//===----------------------------------------------------------------------===//
// Delayed scaling (numerics: 2.3, 10.2)
//===----------------------------------------------------------------------===//

TEST(DelayedScale, WorkedExample) {
  // The oldest value, 2, is cleared but still takes part; with a window whose
  // largest value is the oldest that shows.
  std::vector<float> history = {4, 2, 8, 1};
  float scale = updateDelayedScale(history.data(), 4, 0, 1, kMaxE4M3,
                                   AmaxAlgorithm::Max, 0, true);
  EXPECT_EQ(history, (std::vector<float>{0, 8, 1, 4}));
  EXPECT_EQ(bitsOf(scale), 0x42600000u);
  EXPECT_EQ(bitsOf(scaleInverse(scale)), 0x3C924925u);

  history = {0, 2, 8, 1};
  EXPECT_EQ(updateDelayedScale(history.data(), 4, 4, 1, kMaxE4M3,
                               AmaxAlgorithm::MostRecent, 0, true),
            112.0f);
  EXPECT_EQ(history, (std::vector<float>{0, 8, 1, 4}));

  history = {0, 2, 8, 1};
  EXPECT_EQ(updateDelayedScale(history.data(), 4, 4, 1, kMaxE4M3,
                               AmaxAlgorithm::Max, 1, true),
            28.0f);

  history = {0, 16, 1, 1};
  EXPECT_EQ(updateDelayedScale(history.data(), 4, 4, 1, kMaxE4M3,
                               AmaxAlgorithm::Max, 0, true),
            28.0f);
}

TEST(DelayedScale, ZeroAmax) {
  std::vector<float> history = {0, 2, 8};
  EXPECT_EQ(updateDelayedScale(history.data(), 3, 0, 7, kMaxE4M3,
                               AmaxAlgorithm::Max, 0, true),
            7.0f);
  EXPECT_EQ(history, (std::vector<float>{0, 2, 8}));
  EXPECT_EQ(updateDelayedScale(history.data(), 3, 0, 7, kMaxE4M3,
                               AmaxAlgorithm::Max, 0, false),
            56.0f);
  EXPECT_EQ(history, (std::vector<float>{0, 8, 0}));
  EXPECT_EQ(updateDelayedScale(history.data(), 3, 0, 7, kMaxE4M3,
                               AmaxAlgorithm::MostRecent, 0, false),
            7.0f);
}

TEST(DelayedScale, NotFinite) {
  std::vector<float> history = {0, 2};
  EXPECT_EQ(updateDelayedScale(history.data(), 2, infinity, 7, kMaxE4M3,
                               AmaxAlgorithm::Max, 0, true),
            7.0f);
  history = {0, nan};
  EXPECT_EQ(updateDelayedScale(history.data(), 2, 4, 7, kMaxE4M3,
                               AmaxAlgorithm::Max, 0, true),
            112.0f);
  history = {0};
  EXPECT_EQ(bitsOf(updateDelayedScale(history.data(), 1, fromBits(1), 7,
                                      kMaxE4M3, AmaxAlgorithm::Max, 0, true)),
            0x7F7FFFFFu);
  EXPECT_EQ(history, (std::vector<float>{0}));
  EXPECT_EQ(updateDelayedScale(nullptr, 0, 4, 7, kMaxE4M3, AmaxAlgorithm::Max,
                               0, true),
            112.0f);
}

TEST(DelayedScale, EqualsTheReference) {
  std::mt19937 random(3);
  const float specials[] = {0, infinity, nan, fromBits(0x7F800001),
                            fromBits(kMaxF32Bits)};
  auto draw = [&] {
    if (random() % 4 == 0)
      return specials[random() % 5];
    return fromBits(static_cast<uint32_t>(random()) & 0x7F7FFFFF);
  };
  for (int i = 0; i < 20000; ++i) {
    std::vector<float> history(random() % 5);
    for (float &value : history)
      value = draw();
    reference::ScaleUpdateOptions options;
    bool isE4M3 = random() % 2, isMax = random() % 2;
    options.element = isE4M3 ? reference::DType::E4M3 : reference::DType::E5M2;
    options.algorithm = isMax ? reference::AmaxAlgorithm::Max
                              : reference::AmaxAlgorithm::MostRecent;
    options.margin = static_cast<int>(random() % 7) - 3;
    options.keepOnZeroAmax = random() % 2;
    float amax = draw(), scale = draw();
    reference::ScaleUpdate expected =
        reference::updateScale(history, amax, scale, options);
    float got = updateDelayedScale(history.data(), history.size(), amax, scale,
                                   isE4M3 ? kMaxE4M3 : kMaxE5M2,
                                   isMax ? AmaxAlgorithm::Max
                                         : AmaxAlgorithm::MostRecent,
                                   options.margin, options.keepOnZeroAmax);
    ASSERT_EQ(bitsOf(got), bitsOf(expected.scale)) << i;
    ASSERT_EQ(history.size(), expected.history.size());
    for (size_t k = 0; k < history.size(); ++k)
      ASSERT_EQ(bitsOf(history[k]), bitsOf(expected.history[k])) << i;
  }
}

//===----------------------------------------------------------------------===//
// Against the references on single blocks
//===----------------------------------------------------------------------===//

/// A row of random f32 patterns, of one exponent or of any; some are special.
std::vector<float> drawRow(std::mt19937 &random, size_t size) {
  std::vector<float> row(size);
  uint32_t top = random() & 0x7F800000;
  bool anyExponent = random() % 4 == 0;
  for (float &value : row) {
    uint32_t bits = random();
    if (!anyExponent)
      bits = (bits & 0x80FFFFFF) | (top & 0x7F000000);
    if (random() % 64 == 0)
      bits = bits % 2 ? 0x80000000 : 0x7FA00000 + bits % 0x400000;
    value = fromBits(bits);
  }
  return row;
}

reference::Matrix makeMatrix(const std::vector<float> &row) {
  reference::Matrix matrix{reference::DType::F32, 1, row.size(), {}};
  matrix.bytes.resize(4 * row.size());
  std::memcpy(matrix.bytes.data(), row.data(), matrix.bytes.size());
  return matrix;
}

float getAmax(const std::vector<float> &row) {
  float amax = 0;
  for (float value : row)
    if (std::fabs(value) > amax) // not of a NaN, be it signaling
      amax = std::fabs(value);
  return amax;
}

float loadF32(const reference::InnerTensor &inner) {
  float value;
  std::memcpy(&value, inner.bytes.data(), sizeof(value));
  return value;
}

TEST(Scales, PerTensorAndBlockEqualTheReference) {
  std::mt19937 random(4);
  for (int i = 0; i < 5000; ++i) {
    std::vector<float> row = drawRow(random, 16);
    bool isE4M3 = random() % 2, powerOfTwo = random() % 2;
    auto element = isE4M3 ? reference::DType::E4M3 : reference::DType::E5M2;
    Format format = isE4M3 ? Format::E4M3 : Format::E5M2;
    float epsilon = random() % 2 ? fromBits(random() & 0x7FFFFFFF) : 0;
    if (std::isnan(epsilon))
      epsilon = 0;
    float scale =
        scaleFromAmax(getAmax(row), getMaxFinite(format), powerOfTwo, epsilon);

    reference::CurrentScalingOptions current;
    current.element = element;
    current.powerOfTwo = powerOfTwo;
    current.epsilon = epsilon;
    reference::PerTensorResult result =
        reference::quantizeCurrent(makeMatrix(row), current);
    reference::FP8BlockOptions block;
    block.element = element;
    block.powerOfTwo = powerOfTwo;
    block.epsilon = epsilon;
    reference::InnerTensors inner =
        reference::quantizeFP8Block(makeMatrix(row), block);

    ASSERT_EQ(bitsOf(result.scale), bitsOf(scale));
    ASSERT_EQ(bitsOf(loadF32(*reference::find(result.inner, "scale_inv"))),
              bitsOf(scaleInverse(scale)));
    ASSERT_EQ(bitsOf(loadF32(*reference::find(inner, "rowwise_scale_inv"))),
              bitsOf(scaleInverse(scale)));
    for (size_t k = 0; k < row.size(); ++k) {
      uint32_t code = encode(format, row[k] * scale);
      ASSERT_EQ(result.inner[0].bytes[k], code);
      ASSERT_EQ(inner[0].bytes[k], code);
    }
  }
}

TEST(Scales, MXFP8EqualsTheReference) {
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    std::vector<float> row = drawRow(random, 32);
    bool isE4M3 = random() % 2;
    Format format = isE4M3 ? Format::E4M3 : Format::E5M2;
    uint8_t scale = mxfp8BlockScale(getAmax(row), format);
    reference::MXFP8Options options;
    options.element = isE4M3 ? reference::DType::E4M3 : reference::DType::E5M2;
    options.usage.columnwise = false;
    reference::InnerTensors inner =
        reference::quantizeMXFP8(makeMatrix(row), options);
    ASSERT_EQ(inner[1].bytes[0], scale);
    for (size_t k = 0; k < row.size(); ++k)
      ASSERT_EQ(inner[0].bytes[k],
                encode(format, row[k] * reciprocalE8M0(scale)));
  }
}

TEST(Scales, NVFP4EqualsTheReference) {
  std::mt19937 random(6);
  for (int i = 0; i < 5000; ++i) {
    std::vector<float> row = drawRow(random, 16);
    reference::NVFP4Options options;
    options.usage.columnwise = false;
    options.use4over6 = random() % 2;
    options.e4m3Max = options.use4over6 && random() % 2 ? 256 : 448;
    options.amaxRowwise = getAmax(row) * static_cast<float>(1 + random() % 64);
    E4M3Bound bound =
        options.e4m3Max == 256 ? E4M3Bound::Max256 : E4M3Bound::Max448;
    reference::InnerTensors inner =
        reference::quantizeNVFP4(makeMatrix(row), options);

    float amax = *options.amaxRowwise;
    float encodeScale = nvfp4EncodeScale(amax, bound);
    float decodeScale = nvfp4DecodeScale(encodeScale);
    uint8_t scale = nvfp4BlockScale(getAmax(row), encodeScale);
    if (options.use4over6) {
      FourOverSixScales scales =
          fourOverSixBlockScales(getAmax(row), encodeScale);
      auto getError = [&](uint8_t candidate) {
        float factor = nvfp4ElementScale(candidate, decodeScale), error = 0;
        for (float x : row)
          error += std::fabs(
              fourOverSixValue(encodeE2M1(x * factor), candidate, amax, bound) -
              x);
        return error;
      };
      scale = getError(scales.mapTo4) < getError(scales.mapTo6) ? scales.mapTo4
                                                                : scales.mapTo6;
    }
    ASSERT_EQ(inner[1].bytes[0], scale) << i;
    float factor = nvfp4ElementScale(scale, decodeScale);
    for (size_t k = 0; k < row.size(); ++k)
      ASSERT_EQ(inner[0].bytes[k / 2] >> (k % 2 * 4) & 0xF,
                encodeE2M1(row[k] * factor))
          << i;

    std::vector<uint8_t> values = reference::dequantizeNVFP4(
        inner, 1, row.size(), {false, options.e4m3Max, false},
        reference::DType::F32);
    for (size_t k = 0; k < row.size(); ++k) {
      float value;
      std::memcpy(&value, &values[4 * k], sizeof(value));
      float expected = decodeE2M1(encodeE2M1(row[k] * factor)) *
                       nvfp4DequantScale(scale, amax, bound);
      ASSERT_TRUE(bitsOf(value) == bitsOf(expected) ||
                  (std::isnan(value) && std::isnan(expected)))
          << i;
    }
  }
}

TEST(Scales, NVFP4BlockScaleNextToTies) {
  // Next to a tie of E4M3 the roundings before it show: the order of the
  // products, and the division by 6 of four-over-six.
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    float amax = fromBits(0x3F800000 + random() % 0x03000000);
    float encodeScale = nvfp4EncodeScale(amax);
    auto below = static_cast<uint8_t>(0x08 + random() % 0x76);
    float tie = (decodeE4M3(below) + decodeE4M3(below + 1)) / 2;
    bool use4over6 = random() % 2;
    float factor = use4over6 && random() % 2 ? 4.0f : 6.0f;
    float blockAmax = tie / encodeScale * factor;
    blockAmax = fromBits(bitsOf(blockAmax) + random() % 5 - 2);

    reference::NVFP4Options options;
    options.usage.columnwise = false;
    options.use4over6 = use4over6;
    options.amaxRowwise = amax;
    reference::InnerTensors inner =
        reference::quantizeNVFP4(makeMatrix({blockAmax}), options);
    uint8_t got = inner[1].bytes[0];
    if (use4over6) {
      FourOverSixScales scales = fourOverSixBlockScales(blockAmax, encodeScale);
      ASSERT_TRUE(got == scales.mapTo4 || got == scales.mapTo6) << i;
    } else {
      ASSERT_EQ(got, nvfp4BlockScale(blockAmax, encodeScale)) << i;
    }
  }
}

} // namespace
