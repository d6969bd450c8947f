//===- GoldenTest.cpp - the references against every golden case ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Golden.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <ostream>

using namespace te::golden;
using namespace te::reference;
using llvm::StringRef;

namespace {

//===----------------------------------------------------------------------===//
// Comparing one case
//===----------------------------------------------------------------------===//

size_t multiplySizes(const std::vector<size_t> &sizes) {
  size_t product = 1;
  for (size_t size : sizes)
    product *= size;
  return product;
}

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Whether the bytes of two tensors of a one-byte type have equal values.
bool haveEqualValues(DType dtype, const std::vector<uint8_t> &a,
                     const std::vector<uint8_t> &b) {
  if (getStoredSize(dtype) != 1 || a.size() != b.size())
    return a == b;
  auto dropSignOfZero = [&](uint8_t byte) {
    if (dtype == DType::E2M1) {
      if ((byte & 0x0F) == 0x08)
        byte &= 0xF7;
      if ((byte & 0xF0) == 0x80)
        byte &= 0x7F;
      return byte;
    }
    bool isNegativeZero = byte == 0x80 && dtype != DType::E8M0;
    return isNegativeZero ? uint8_t(0) : byte;
  };
  for (size_t i = 0; i < a.size(); ++i)
    if (dropSignOfZero(a[i]) != dropSignOfZero(b[i]))
      return false;
  return true;
}

/// What is wrong with `inner` as the answer to `entries`: the reference's files
/// or, where an entry has one, the alternative.
std::string describeDifferences(const Case &test, const InnerTensors &inner,
                                const std::vector<llvm::json::Object> &entries,
                                bool useAlternative) {
  std::string report;
  if (inner.size() != entries.size())
    report += "expected " + std::to_string(entries.size()) +
              " inner tensors, but got " + std::to_string(inner.size()) + "\n";
  for (size_t i = 0; i < std::min(inner.size(), entries.size()); ++i) {
    const llvm::json::Object &entry = entries[i];
    InnerTensor expected = inner[i];
    expected.name = entry.getString("name").value_or("");
    expected.dtype = parseDType(entry.getString("dtype").value_or(""));
    std::vector<size_t> shape = getSizes(entry, "shape");
    std::vector<size_t> valid = getSizes(entry, "valid_shape");
    if (expected.name != inner[i].name || expected.dtype != inner[i].dtype)
      report += "expected " + expected.name + ", but got " + inner[i].name +
                " or another dtype\n";
    // The references flatten; with equal ranks the shapes must be the same.
    bool sameShape =
        shape.size() == inner[i].shape.size()
            ? shape == inner[i].shape && valid == inner[i].validShape
            : multiplySizes(shape) == multiplySizes(inner[i].shape) &&
                  multiplySizes(valid) == multiplySizes(inner[i].validShape);
    if (!sameShape)
      report += expected.name + ": another shape\n";
    std::optional<StringRef> file = entry.getString("alt_file");
    if (!useAlternative || !file)
      file = entry.getString("file");
    expected.bytes = test.read(file.value_or(""));
    std::string difference = describeDifference(expected, inner[i].bytes);
    if (!difference.empty())
      report += difference + "\n";
  }
  return report;
}

/// Whether reference and kernels disagree on nothing but signs of zero.
bool differInSignOfZeroOnly(const Case &test,
                            const std::vector<llvm::json::Object> &entries) {
  for (const llvm::json::Object &entry : entries)
    if (std::optional<StringRef> alternative = entry.getString("alt_file"))
      if (!haveEqualValues(parseDType(entry.getString("dtype").value_or("")),
                           test.read(entry.getString("file").value_or("")),
                           test.read(*alternative)))
        return false;
  return true;
}

std::vector<llvm::json::Object> getEntries(const Case &test,
                                           std::optional<int64_t> step = {}) {
  std::vector<llvm::json::Object> entries;
  const llvm::json::Array *inner = test.root.getArray("inner");
  EXPECT_TRUE(inner);
  if (!inner)
    return entries;
  for (const llvm::json::Value &value : *inner)
    if (const llvm::json::Object *entry = value.getAsObject())
      if (!step || entry->getInteger("step") == step)
        entries.push_back(*entry);
  EXPECT_FALSE(entries.empty());
  return entries;
}

/// A disputed case must equal the kernels' answer throughout, or, where the two
/// differ in the sign of zero only, the reference's answer throughout.
void checkInner(const Case &test, const InnerTensors &inner,
                std::optional<int64_t> step = {}) {
  std::vector<llvm::json::Object> entries = getEntries(test, step);
  bool disputed = test.root.get("disputed");
  std::string report = describeDifferences(test, inner, entries, disputed);
  if (disputed && !report.empty() && differInSignOfZeroOnly(test, entries))
    report = describeDifferences(test, inner, entries, false);
  EXPECT_EQ(report, "");
}

/// Compares every dequantized file of a case; `dequantize` makes the bytes.
template <typename Dequantize>
void checkDequantized(const Case &test, Dequantize dequantize) {
  const llvm::json::Object *dequant = test.root.getObject("dequant");
  if (!dequant)
    return;
  const llvm::json::Object *files = dequant->getObject("files");
  ASSERT_TRUE(files && !files->empty());
  for (const auto &[dtype, file] : *files) {
    InnerTensor expected;
    expected.name = "dequantized " + StringRef(dtype).str();
    expected.dtype = parseDType(dtype);
    expected.shape = expected.validShape = test.getRowsCols();
    expected.bytes = test.read(file.getAsString().value_or(""));
    EXPECT_EQ(describeDifference(expected, dequantize(expected.dtype)), "");
  }
}

//===----------------------------------------------------------------------===//
// What a case asks for
//===----------------------------------------------------------------------===//

Usage getUsage(const Case &test) {
  const llvm::json::Object *usages = test.root.getObject("usages");
  EXPECT_TRUE(usages);
  return {usages && usages->getBoolean("rowwise").value_or(false),
          usages && usages->getBoolean("columnwise").value_or(false)};
}

Matrix readInput(const Case &test, StringRef file) {
  std::vector<size_t> sizes = test.getRowsCols();
  return {parseDType(test.root.getString("input_dtype").value_or("")), sizes[0],
          sizes[1], test.read(file)};
}

/// The tensor to quantize, after the activation if there is one.
Matrix getInput(const Case &test) {
  const llvm::json::Object *input = test.root.getObject("input");
  EXPECT_TRUE(input);
  if (!input)
    return {};
  Matrix matrix = readInput(test, input->getString("file").value_or(""));
  StringRef name = test.getString("activation");
  if (name.empty())
    return matrix;
  Activation activation = Activation::Relu;
  if (name == "silu")
    activation = Activation::Silu;
  else if (name == "gelu")
    activation = Activation::Gelu;
  else
    EXPECT_EQ(name, "relu");
  return applyActivation(activation, matrix, test.getFlag("round_activation"));
}

DType getElement(const Case &test) {
  return parseDType(test.getString("output_dtype"));
}

void checkPerTensor(const Case &test, const PerTensorResult &result) {
  checkInner(test, result.inner);
  const llvm::json::Value *amax = test.root.get("amax_bits");
  const llvm::json::Value *scale = test.root.get("scale_bits");
  ASSERT_TRUE(amax && scale);
  EXPECT_EQ(bitsOf(result.amax), bitsOf(parseBits(*amax)));
  EXPECT_EQ(bitsOf(result.scale), bitsOf(parseBits(*scale)));
  std::vector<size_t> sizes = test.getRowsCols();
  checkDequantized(test, [&](DType output) {
    return dequantizePerTensor(result.inner, sizes[0], sizes[1], output);
  });
}

void checkCurrent(const Case &test) {
  CurrentScalingOptions options;
  options.element = getElement(test);
  options.usage = getUsage(test);
  options.powerOfTwo = test.getFlag("force_pow_2_scales");
  options.epsilon = test.getBits("amax_epsilon_bits").value_or(0);
  checkPerTensor(test, quantizeCurrent(getInput(test), options));
}

void checkDelayed(const Case &test) {
  DelayedScalingOptions options;
  options.element = getElement(test);
  options.usage = getUsage(test);
  std::optional<double> scale = test.getOptions().getNumber("scale");
  ASSERT_TRUE(scale);
  options.scale = static_cast<float>(*scale);
  checkPerTensor(test, quantizeDelayed(getInput(test), options));
}

InnerTensor makeF32(std::string name, const std::vector<float> &values) {
  InnerTensor inner{std::move(name),
                    DType::F32,
                    {values.size()},
                    {values.size()},
                    std::vector<uint8_t>(4 * values.size())};
  std::memcpy(inner.bytes.data(), values.data(), inner.bytes.size());
  return inner;
}

void checkSequence(const Case &test) {
  ScaleUpdateOptions update;
  update.element = getElement(test);
  StringRef algorithm = test.getString("amax_compute_algo");
  ASSERT_TRUE(algorithm == "max" || algorithm == "most_recent");
  update.algorithm =
      algorithm == "max" ? AmaxAlgorithm::Max : AmaxAlgorithm::MostRecent;
  update.margin = static_cast<int>(test.getInteger("margin", 0));
  update.keepOnZeroAmax = test.getFlag("keep_on_zero_amax");
  DelayedScalingOptions options;
  options.element = update.element;
  options.usage = getUsage(test);

  ScaleUpdate state;
  state.scale = test.getBits("scale_bits").value_or(0);
  const llvm::json::Array *history = test.getOptions().getArray("history_bits");
  const llvm::json::Array *steps = test.root.getArray("steps");
  ASSERT_TRUE(history && steps && !steps->empty());
  for (const llvm::json::Value &bits : *history)
    state.history.push_back(parseBits(bits));
  for (size_t step = 0; step < steps->size(); ++step) {
    SCOPED_TRACE(step);
    options.scale = state.scale;
    PerTensorResult result = quantizeDelayed(
        readInput(test, (*steps)[step].getAsString().value_or("")), options);
    state = updateScale(state.history, result.amax, state.scale, update);
    result.inner.push_back(makeF32("amax", {result.amax}));
    result.inner.push_back(makeF32("history", state.history));
    result.inner.push_back(makeF32("scale", {state.scale}));
    checkInner(test, result.inner, static_cast<int64_t>(step));
  }
}

void checkFP8Block(const Case &test) {
  FP8BlockOptions options;
  options.element = getElement(test);
  options.usage = getUsage(test);
  options.blockDim = static_cast<int>(test.getInteger("block_scaling_dim", 0));
  options.powerOfTwo = test.getFlag("force_pow_2_scales");
  options.epsilon = test.getBits("amax_epsilon_bits").value_or(0);
  InnerTensors inner = quantizeFP8Block(getInput(test), options);
  checkInner(test, inner);
  std::vector<size_t> sizes = test.getRowsCols();
  checkDequantized(test, [&](DType output) {
    return dequantizeFP8Block(inner, sizes[0], sizes[1], options.blockDim,
                              output);
  });
}

void checkMXFP8(const Case &test) {
  MXFP8Options options;
  options.element = getElement(test);
  options.usage = getUsage(test);
  options.with2D = test.getFlag("with_2d_quantization");
  options.swizzledScales = test.getFlag("gemm_swizzled_scales");
  InnerTensors inner = quantizeMXFP8(getInput(test), options);
  checkInner(test, inner);
  std::vector<size_t> sizes = test.getRowsCols();
  checkDequantized(test, [&](DType output) {
    return dequantizeMXFP8(inner, sizes[0], sizes[1], options.swizzledScales,
                           output);
  });
}

uint8_t getNibble(const std::vector<uint8_t> &bytes, size_t index) {
  return index % 2 ? bytes[index / 2] >> 4 : bytes[index / 2] & 0xF;
}

/// Stochastic rounding whose stream is open: every code is one of the two
/// neighbours, the one away from zero as often as `up_file` says, judged for
/// each element and for all together.
void checkStatistical(const Case &test, const Matrix &input,
                      NVFP4Options options, int64_t repeats) {
  std::vector<llvm::json::Object> entries = getEntries(test);
  std::vector<std::vector<size_t>> hits(entries.size());
  uint64_t seed = options.seed, offset = options.offset;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    options.seed = repeat % 2 == 0 ? seed + repeat : seed;
    options.offset = repeat % 2 == 0 ? offset : offset + 4096 * repeat;
    InnerTensors inner = quantizeNVFP4(input, options);
    ASSERT_EQ(inner.size(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].get("up_file")) {
        EXPECT_EQ(describeDifferences(test, {inner[i]}, {entries[i]}, false),
                  "");
        continue;
      }
      std::vector<uint8_t> low =
          test.read(entries[i].getString("file").value_or(""));
      ASSERT_EQ(low.size(), inner[i].bytes.size());
      hits[i].resize(2 * low.size());
      for (size_t k = 0; k < hits[i].size(); ++k) {
        int away = getNibble(inner[i].bytes, k) - getNibble(low, k);
        ASSERT_TRUE(away == 0 || away == 1) << "element " << k;
        hits[i][k] += away;
      }
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (hits[i].empty())
      continue;
    std::vector<uint8_t> up =
        test.read(entries[i].getString("up_file").value_or(""));
    ASSERT_EQ(up.size(), hits[i].size());
    double excess = 0, variance = 0;
    for (size_t k = 0; k < up.size(); ++k) {
      double p = up[k] / 256.0, n = static_cast<double>(repeats);
      double hit = static_cast<double>(hits[i][k]);
      ASSERT_TRUE(p > 0 || hit == 0) << "element " << k;
      double surprise = 0;
      if (hit > 0)
        surprise += hit * std::log(hit / n / p);
      if (hit < n)
        surprise += (n - hit) * std::log((1 - hit / n) / (1 - p));
      EXPECT_LE(surprise, 25) << "element " << k;
      excess += hit - n * p;
      variance += n * p * (1 - p);
    }
    ASSERT_GT(variance, 0);
    EXPECT_LT(std::fabs(excess), 6 * std::sqrt(variance));
  }
}

void checkNVFP4(const Case &test) {
  NVFP4Options options;
  options.usage = getUsage(test);
  options.with2D = test.getFlag("with_2d_quantization");
  options.withRHT = test.getFlag("with_rht");
  options.withRandomSignMask = test.getFlag("with_random_sign_mask");
  options.rowScaled = test.getFlag("row_scaled");
  options.use4over6 = test.getFlag("use_4over6");
  if (test.getString("err_mode") == "MSE")
    options.errorMode = ErrorMode::MSE;
  options.e4m3Max = static_cast<int>(test.getInteger("e4m3_max", 448));
  options.stochasticRounding = test.getFlag("stochastic_rounding");
  options.seed = test.getInteger("seed", 0);
  options.offset = test.getInteger("offset", 0);
  options.swizzledScales = test.getFlag("gemm_swizzled_scales");
  if (test.getString("amax") == "given")
    options.amaxRowwise = test.getBits("amax_bits");
  Matrix input = getInput(test);
  if (int64_t repeats = test.getInteger("repeats", 0)) {
    checkStatistical(test, input, options, repeats);
    return;
  }
  InnerTensors inner = quantizeNVFP4(input, options);
  checkInner(test, inner);
  std::vector<size_t> sizes = test.getRowsCols();
  checkDequantized(test, [&](DType output) {
    return dequantizeNVFP4(
        inner, sizes[0], sizes[1],
        {options.rowScaled, options.e4m3Max, options.swizzledScales}, output);
  });
}

InnerTensor readInner(const Case &test, const llvm::json::Object &entry) {
  return {entry.getString("name").value_or("").str(),
          parseDType(entry.getString("dtype").value_or("")),
          getSizes(entry, "shape"), getSizes(entry, "valid_shape"),
          test.read(entry.getString("file").value_or(""))};
}

void checkSwizzle(const Case &test) {
  std::vector<llvm::json::Object> entries = getEntries(test);
  ASSERT_EQ(entries.size(), 2u);
  InnerTensor compact = readInner(test, entries[0]);
  InnerTensor swizzled = readInner(test, entries[1]);
  BlockDim blockDim = test.getString("direction") == "rowwise"
                          ? BlockDim::Last
                          : BlockDim::First;
  EXPECT_EQ(
      describeDifference(swizzled, swizzleScales(compact, blockDim).bytes), "");
  EXPECT_EQ(describeDifference(
                compact,
                unswizzleScales(swizzled, blockDim, compact.validShape).bytes),
            "");
}

void checkDequantize(const Case &test) {
  InnerTensors inner;
  for (const llvm::json::Object &entry : getEntries(test))
    inner.push_back(readInner(test, entry));
  // The references take the flattened view.
  std::vector<size_t> sizes = test.getRowsCols();
  StringRef scheme = test.getString("scheme");
  checkDequantized(test, [&](DType output) -> std::vector<uint8_t> {
    if (scheme == "per_tensor")
      return dequantizePerTensor(inner, sizes[0], sizes[1], output);
    if (scheme == "mxfp8")
      return dequantizeMXFP8(inner, sizes[0], sizes[1],
                             test.getFlag("gemm_swizzled_scales"), output);
    if (scheme == "fp8_block")
      return dequantizeFP8Block(
          inner, sizes[0], sizes[1],
          static_cast<int>(test.getInteger("block_scaling_dim", 0)), output);
    EXPECT_EQ(scheme, "nvfp4");
    return dequantizeNVFP4(inner, sizes[0], sizes[1],
                           {test.getFlag("row_scaled"),
                            static_cast<int>(test.getInteger("e4m3_max", 448)),
                            test.getFlag("gemm_swizzled_scales")},
                           output);
  });
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

struct Family {
  const char *name;
  void (*check)(const Case &test);
};

/// Names the parameter in listings of the tests.
void PrintTo(const Family &family, std::ostream *stream) {
  *stream << family.name;
}

const Family families[] = {{"fp8_current", checkCurrent},
                           {"fp8_delayed", checkDelayed},
                           {"fp8_delayed_sequence", checkSequence},
                           {"fp8_block", checkFP8Block},
                           {"mxfp8", checkMXFP8},
                           {"nvfp4", checkNVFP4},
                           {"swizzle", checkSwizzle},
                           {"dequantize", checkDequantize}};

class GoldenFamily : public testing::TestWithParam<Family> {};

TEST_P(GoldenFamily, EveryCase) {
  unsigned count = 0;
  for (const Case &test : getCases()) {
    if (test.getFamily() != GetParam().name)
      continue;
    SCOPED_TRACE(test.name);
    GetParam().check(test);
    ++count;
  }
  std::printf("%s: %u cases checked\n", GetParam().name, count);
  EXPECT_GT(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Reference, GoldenFamily, testing::ValuesIn(families),
                         [](const testing::TestParamInfo<Family> &info) {
                           return std::string(info.param.name);
                         });

TEST(Golden, EveryFamilyIsKnown) {
  EXPECT_FALSE(getCases().empty());
  for (const Case &test : getCases()) {
    bool isKnown = false;
    for (const Family &family : families)
      isKnown |= test.getFamily() == family.name;
    EXPECT_TRUE(isKnown) << test.name << ": " << test.getFamily().str();
  }
}

} // namespace
