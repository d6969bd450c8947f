//===- MathTest.cpp - accuracy of the expanded math functions -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementLoop.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace te::test;
using te::numerics::bitsOf;
using te::numerics::Format;
using te::numerics::fromBits;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  friend void PrintTo(const Function &function, std::ostream *stream) {
    *stream << function.op;
  }

  const char *op;
  double (*exact)(double);
  /// The largest distance that is allowed, in units in the last place.
  double bound;
  /// Larger arguments are left out.
  float largest = infinity;
};

double reciprocalSqrt(double x) { return 1 / std::sqrt(x); }

// What kernels need is ours and at most 2.5 units off; the rest comes from
// upstream's expansions, and its bounds keep watch over them.
const Function functions[] = {
    {"exp", std::exp, 1.5},         {"exp2", std::exp2, 1.5},
    {"tanh", std::tanh, 2.5},       {"log", std::log, 2},
    {"log2", std::log2, 2},         {"log10", std::log10, 2},
    {"sqrt", std::sqrt, 0.5},       {"rsqrt", reciprocalSqrt, 1.5},
    {"sin", std::sin, 2, 0x1p+50f}, {"cos", std::cos, 2, 0x1p+50f},
    {"tan", std::tan, 4, 0x1p+50f}, {"atan", std::atan, 2.5},
    {"erf", std::erf, 5},           {"erfc", std::erfc, 4},
    {"expm1", std::expm1, 4},       {"log1p", std::log1p, 4},
    {"asin", std::asin, 8},         {"acos", std::acos, 8},
    {"sinh", std::sinh, 5},         {"cosh", std::cosh, 5},
};

ElementLoop loopOf(const std::string &op, int lanes,
                   Format format = Format::F32) {
  ElementLoop loop{format, format, lanes, ""};
  loop.ops = "%y = math." + op + " %x : " + loop.inputType();
  return loop;
}

std::vector<uint32_t> getSample(uint64_t stride) {
  std::vector<uint32_t> inputs;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += stride)
    inputs.push_back(static_cast<uint32_t>(bits));
  return inputs;
}

/// The distance of `value` from `exact` in units in the last place of f32 at
/// `exact`, those of subnormals being 2^-149.
double getDistance(float value, double exact) {
  if (std::isnan(value) || std::isnan(exact))
    return std::isnan(value) && std::isnan(exact) ? 0 : infinity;
  float rounded = static_cast<float>(exact);
  if (value == rounded)
    return 0;
  // The next value above the largest one counts as 2^128.
  double finite = std::isinf(value) ? std::copysign(0x1p128, value) : value;
  double target = std::clamp(exact, -0x1p128, 0x1p128);
  int exponent = std::max(std::ilogb(target), -126);
  return std::fabs(finite - target) /
         std::ldexp(1.0, std::min(exponent, 127) - 23);
}

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, IsAccurate) {
  const Function &function = GetParam();
  std::vector<uint32_t> inputs = getSample(/*stride=*/1009);
  std::vector<uint32_t> results =
      getBackend("cpu").run(loopOf(function.op, /*lanes=*/8), inputs);
  ASSERT_EQ(results.size(), inputs.size());
  double worst = 0;
  float worstInput = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    float x = fromBits(inputs[i]);
    if (std::isfinite(x) && std::fabs(x) > function.largest)
      continue;
    double distance = getDistance(fromBits(results[i]), function.exact(x));
    if (distance > worst) {
      worst = distance;
      worstInput = x;
    }
  }
  EXPECT_LE(worst, function.bound) << std::hexfloat << worstInput;
}

/// Nothing is contracted, flushed or approximated on the way to a chip.
TEST_P(MathTest, IsTheSameInKernels) {
  std::vector<uint32_t> inputs = getSample(/*stride=*/65521);
  std::vector<uint32_t> onCPU =
      getBackend("cpu").run(loopOf(GetParam().op, /*lanes=*/1), inputs);
  std::vector<uint32_t> onGPU =
      getBackend("sm_90a").run(loopOf(GetParam().op, /*lanes=*/1), inputs);
  ASSERT_EQ(onCPU.size(), inputs.size());
  ASSERT_EQ(onGPU.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!std::isnan(fromBits(onCPU[i])) || !std::isnan(fromBits(onGPU[i])))
      ASSERT_EQ(onCPU[i], onGPU[i]) << std::hex << inputs[i];
}

/// In bf16 and f16, functions are those of f32, rounded. Not on the CPU, some
/// of which flush what arith.truncf makes a subnormal bf16.
TEST_P(MathTest, IsComputedInF32) {
  for (Format format : {Format::BF16, Format::F16}) {
    std::vector<uint32_t> codes(65536), wide;
    for (uint32_t code = 0; code < codes.size(); ++code) {
      codes[code] = code;
      wide.push_back(bitsOf(te::numerics::decode(format, code)));
    }
    std::vector<uint32_t> results =
        getBackend("sm_90a").run(loopOf(GetParam().op, 1, format), codes);
    std::vector<uint32_t> expected =
        getBackend("sm_90a").run(loopOf(GetParam().op, 1), wide);
    ASSERT_EQ(results.size(), codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      float value = fromBits(expected[i]);
      if (!std::isnan(value) ||
          !std::isnan(te::numerics::decode(format, results[i])))
        ASSERT_EQ(results[i], te::numerics::encode(format, value))
            << std::hex << codes[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MathTest, testing::ValuesIn(functions),
                         [](const testing::TestParamInfo<Function> &info) {
                           return std::string(info.param.op);
                         });

TEST(MathSpecialTest, HasExactLimits) {
  struct Case {
    const char *op;
    float input;
    float result;
  };
  const Case cases[] = {
      {"exp", -infinity, 0.0f},
      {"exp", infinity, infinity},
      {"exp", nan, nan},
      {"exp", 0.0f, 1.0f},
      {"exp", -0.0f, 1.0f},
      {"exp", 89.0f, infinity},
      {"exp", -104.0f, 0.0f},
      {"exp", -103.0f, 0x1p-149f},
      {"exp2", -149.0f, 0x1p-149f},
      {"exp2", -151.0f, 0.0f},
      {"exp2", 127.0f, 0x1p127f},
      {"exp2", 128.0f, infinity},
      {"exp2", nan, nan},
      {"tanh", infinity, 1.0f},
      {"tanh", -infinity, -1.0f},
      {"tanh", 9.1f, 1.0f},
      {"tanh", -9.1f, -1.0f},
      {"tanh", 1e30f, 1.0f},
      {"tanh", 0.0f, 0.0f},
      {"tanh", -0.0f, -0.0f},
      {"tanh", 0x1p-149f, 0x1p-149f},
      {"tanh", -nan, nan},
      {"log", 0.0f, -infinity},
      {"log", -0.0f, -infinity},
      {"log", 1.0f, 0.0f},
      {"log", -1.0f, nan},
      {"log", infinity, infinity},
      {"log", -infinity, nan},
      {"log", nan, nan},
      {"log2", 0x1p-149f, -149.0f},
      {"sin", infinity, nan},
      {"sin", -0.0f, -0.0f},
      {"cos", -infinity, nan},
      {"cos", 0.0f, 1.0f},
      {"atan", nan, nan},
      {"atan", infinity, 0x1.921fb6p+0f},
      {"atan", -0.0f, -0.0f},
  };
  for (const char *backend : {"cpu", "sm_90a"}) {
    for (const Case &test : cases) {
      std::vector<uint32_t> results = getBackend(backend).run(
          loopOf(test.op, /*lanes=*/1), {bitsOf(test.input)});
      ASSERT_EQ(results.size(), 1u);
      float result = fromBits(results.front());
      if (std::isnan(test.result))
        EXPECT_TRUE(std::isnan(result)) << test.op << test.input;
      else
        EXPECT_EQ(results.front(), bitsOf(test.result))
            << test.op << " of " << test.input << " gives " << result;
    }
  }
}

} // namespace
