//===- CastsTest.cpp - bits of compiled conversions -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every pair of formats, as scalars and as vectors, on each backend: against
// the golden tables, the numerics library and the independent reference.
//
//===----------------------------------------------------------------------===//

#include "ElementLoop.h"
#include "Reference/Reference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

using namespace te::test;
using te::numerics::Format;

namespace {

constexpr Format wideFormats[] = {Format::F32, Format::BF16, Format::F16};
constexpr Format narrowFormats[] = {Format::E4M3, Format::E5M2, Format::E2M1,
                                    Format::E8M0};
/// Scalars; a vector of an even and of an odd number of lanes.
constexpr int laneCounts[] = {1, 8, 3};

bool isNarrow(Format format) {
  return llvm::is_contained(narrowFormats, format);
}

bool isNaN(Format format, uint32_t code) {
  return std::isnan(te::numerics::decode(format, code));
}

/// The name of `format` in the golden tables.
std::string goldenName(Format format) {
  switch (format) {
  case Format::F32:
    return "f32";
  case Format::BF16:
    return "bf16";
  case Format::F16:
    return "f16";
  case Format::E4M3:
    return "e4m3";
  case Format::E5M2:
    return "e5m2";
  case Format::E2M1:
    return "e2m1";
  case Format::E8M0:
    return "e8m0";
  }
  return "";
}

std::vector<uint32_t> readGolden(const std::string &name, Format format) {
  auto buffer = llvm::MemoryBuffer::getFile(
      std::string(TE_GOLDEN_DIR "/conversions/") + name + ".bin");
  if (!buffer) {
    ADD_FAILURE() << "cannot read " << name;
    return {};
  }
  llvm::StringRef bytes = (*buffer)->getBuffer();
  size_t width = (te::numerics::getWidth(format) + 7) / 8;
  std::vector<uint32_t> values(bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], bytes.data() + i * width, width);
  return values;
}

/// All codes of `format`; of f32 the golden inputs and a sample of the rest.
std::vector<uint32_t> getInputs(Format format) {
  if (format == Format::F32) {
    std::vector<uint32_t> inputs = readGolden("f32_inputs", Format::F32);
    // A prime, so that low and high bits both take all values.
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 65521)
      inputs.push_back(static_cast<uint32_t>(bits));
    return inputs;
  }
  std::vector<uint32_t> inputs(size_t(1) << te::numerics::getWidth(format));
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<uint32_t>(i);
  return inputs;
}

te::reference::DType getDType(Format format) {
  return static_cast<te::reference::DType>(format);
}

struct Pair {
  std::string backend;
  Format from;
  Format to;
};

/// With an instruction for every format, for FP8 only, for none.
const char *const backendNames[] = {"cpu", "sm_80", "sm_89", "sm_100a"};

bool hasGoldenTable(const Pair &pair) {
  if (isNarrow(pair.from))
    return pair.to == Format::F32;
  if (isNarrow(pair.to) && pair.to != Format::E8M0)
    return true;
  return pair.from == Format::F32;
}

std::vector<Pair> getPairs(bool onlyGolden) {
  std::vector<Pair> pairs;
  auto add = [&](const Pair &pair) {
    if (!onlyGolden || hasGoldenTable(pair))
      pairs.push_back(pair);
  };
  for (const char *backend : backendNames) {
    for (Format wide : wideFormats) {
      for (Format other : wideFormats)
        if (wide != other)
          add({backend, wide, other});
      for (Format narrow : narrowFormats) {
        add({backend, wide, narrow});
        add({backend, narrow, wide});
      }
    }
  }
  return pairs;
}

std::string getName(const testing::TestParamInfo<Pair> &info) {
  return info.param.backend + "_" + goldenName(info.param.from) + "_" +
         goldenName(info.param.to);
}

class CastsTest : public testing::TestWithParam<Pair> {
protected:
  Format from = GetParam().from;
  Format to = GetParam().to;

  void expectSame(int lanes, const std::vector<uint32_t> &inputs,
                  llvm::function_ref<uint32_t(uint32_t)> expected) {
    std::vector<uint32_t> results =
        getBackend(GetParam().backend)
            .run(ElementLoop::cast(from, to, lanes), inputs);
    ASSERT_EQ(results.size(), inputs.size());
    size_t mismatches = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      uint32_t want = expected(inputs[i]);
      // The payload of a NaN is not specified in wide formats.
      if (results[i] == want ||
          (!isNarrow(to) && isNaN(to, results[i]) && isNaN(to, want)))
        continue;
      if (++mismatches <= 10)
        ADD_FAILURE() << llvm::formatv("{0} lanes: {1:x} gives {2:x}, expected "
                                       "{3:x}",
                                       lanes, inputs[i], results[i], want)
                             .str();
    }
    EXPECT_EQ(mismatches, 0u);
  }

  uint32_t convert(uint32_t input) const {
    return te::numerics::encode(to, te::numerics::decode(from, input));
  }
};

TEST_P(CastsTest, EqualsNumerics) {
  std::vector<uint32_t> inputs = getInputs(from);
  for (int lanes : laneCounts) {
    // Two codes of E2M1 share a byte.
    if (lanes % 2 && lanes > 1 && (from == Format::E2M1 || to == Format::E2M1))
      continue;
    expectSame(lanes, inputs, [&](uint32_t input) { return convert(input); });
  }
}

TEST_P(CastsTest, EqualsReference) {
  expectSame(8, getInputs(from), [&](uint32_t input) {
    return te::reference::encode(getDType(to),
                                 te::reference::decode(getDType(from), input));
  });
}

#ifdef __SSE2__
TEST_P(CastsTest, IgnoresFlushingOfSubnormals) {
  if (GetParam().backend != "cpu")
    GTEST_SKIP() << "kernels do not inherit the mode of the host";
  constexpr unsigned flushBoth = 0x8040;
  std::vector<uint32_t> inputs = getInputs(from);
  std::vector<uint32_t> expected;
  for (uint32_t input : inputs)
    expected.push_back(convert(input));
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | flushBoth);
  std::vector<uint32_t> results =
      getBackend("cpu").run(ElementLoop::cast(from, to, 8), inputs);
  _mm_setcsr(mode);
  ASSERT_EQ(results.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isNarrow(to) || !isNaN(to, expected[i]))
      ASSERT_EQ(results[i], expected[i]) << std::hex << inputs[i];
}
#endif

INSTANTIATE_TEST_SUITE_P(All, CastsTest, testing::ValuesIn(getPairs(false)),
                         getName);

class GoldenCastsTest : public CastsTest {};

TEST_P(GoldenCastsTest, EqualsTable) {
  std::vector<uint32_t> inputs = from == Format::F32
                                     ? readGolden("f32_inputs", Format::F32)
                                     : getInputs(from);
  std::vector<uint32_t> table =
      readGolden(goldenName(from) + "_to_" + goldenName(to), to);
  ASSERT_EQ(inputs.size(), table.size());
  for (int lanes : {1, 8}) {
    size_t next = 0;
    expectSame(lanes, inputs, [&](uint32_t) { return table[next++]; });
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenCastsTest,
                         testing::ValuesIn(getPairs(/*onlyGolden=*/true)),
                         getName);

} // namespace
