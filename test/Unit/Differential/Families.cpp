//===- Families.cpp - random configurations of all families ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace te::differential;
using namespace te::reference;

static constexpr float epsilon = 0.25f;

static std::string spell(Usage usage) {
  if (usage.rowwise && usage.columnwise)
    return "both";
  return usage.rowwise ? "rowwise" : "columnwise";
}

std::string Configuration::getText(std::optional<Usage> usage,
                                   bool isSwizzled) const {
  std::vector<std::string> all = parameters;
  if (usage)
    all.push_back("usage = " + spell(*usage));
  if (isSwizzled)
    all.push_back("optimize_for_gemm = true");
  return "#te_quant." + family + "<" + llvm::join(all, ", ") + ">";
}

Usage te::differential::pickUsage(Random &random) {
  unsigned bits = 1 + pick(random, 3);
  return {(bits & 1) != 0, (bits & 2) != 0};
}

static DType pickFP8(Random &random) {
  return pick(random, 2) ? DType::E4M3 : DType::E5M2;
}

/// Sets a flag in `parameters`.
static void addFlag(Configuration &config, const char *name, bool value) {
  if (value)
    config.parameters.push_back(std::string(name) + " = true");
}

Configuration te::differential::makeMXFP8(Random &random, Usage usage) {
  MXFP8Options options;
  options.element = pickFP8(random);
  options.with2D = pick(random, 3) == 0;
  Configuration config;
  config.family = "mxfp8";
  config.parameters = {getName(options.element)};
  addFlag(config, "with_2d_quantization", options.with2D);
  config.usage = usage;
  config.isSwizzled = pick(random, 3) == 0;
  config.hasGemmOrder = true;
  config.rowBlock = usage.columnwise || options.with2D ? 32 : 1;
  config.colBlock = usage.rowwise || options.with2D ? 32 : 1;
  config.quantize = [=](const Matrix &input, Usage usage, bool isSwizzled) {
    MXFP8Options all = options;
    all.usage = usage;
    all.swizzledScales = isSwizzled;
    return quantizeMXFP8(input, all);
  };
  config.dequantize = [](const InnerTensors &inner, const Matrix &input,
                         DType output, bool isSwizzled) {
    return dequantizeMXFP8(inner, input.rows, input.cols, isSwizzled, output);
  };
  return config;
}

Configuration te::differential::makeFP8Block(Random &random, Usage usage) {
  FP8BlockOptions options;
  options.element = pickFP8(random);
  options.blockDim = 1 + pick(random, 2);
  options.powerOfTwo = pick(random, 2);
  options.epsilon = pick(random, 3) ? 0 : epsilon;
  Configuration config;
  config.family = "float8_block_scaling";
  config.parameters = {
      getName(options.element),
      "block_scaling_dim = " + std::to_string(options.blockDim),
      std::string("force_pow_2_scales = ") +
          (options.powerOfTwo ? "true" : "false")};
  if (options.epsilon)
    config.parameters.push_back("amax_epsilon = 0.25");
  config.usage = usage;
  config.derivesColumnwise = options.blockDim == 2;
  config.quantize = [=](const Matrix &input, Usage usage, bool) {
    FP8BlockOptions all = options;
    all.usage = usage;
    return quantizeFP8Block(input, all);
  };
  config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                          DType output, bool) {
    return dequantizeFP8Block(inner, input.rows, input.cols, options.blockDim,
                              output);
  };
  return config;
}

/// What current and delayed scaling share.
static Configuration makePerTensor(const char *family,
                                   const PerTensorOptions &options,
                                   Usage usage) {
  Configuration config;
  config.family = family;
  config.parameters = {getName(options.element)};
  addFlag(config, "non_tn_gemm", options.nonTNGemm);
  config.usage = usage;
  config.derivesColumnwise = config.derivesAndDrops = !options.nonTNGemm;
  config.hasOneBuffer = options.nonTNGemm;
  config.dequantize = [](const InnerTensors &inner, const Matrix &input,
                         DType output, bool) {
    return dequantizePerTensor(inner, input.rows, input.cols, output);
  };
  return config;
}

Configuration te::differential::makeCurrentScaling(Random &random,
                                                   Usage usage) {
  CurrentScalingOptions options;
  options.element = pickFP8(random);
  options.powerOfTwo = pick(random, 2);
  options.nonTNGemm = pick(random, 4) == 0;
  options.epsilon = pick(random, 3) ? 0 : epsilon;
  if (pick(random, 4) == 0)
    options.amax = makeScalar(random);
  Configuration config =
      makePerTensor("float8_current_scaling", options, usage);
  addFlag(config, "force_pow_2_scales", options.powerOfTwo);
  if (options.epsilon)
    config.parameters.push_back("amax_epsilon = 0.25");
  config.numAmaxes = 1;
  if (options.amax)
    config.amaxes = {*options.amax};
  config.quantize = [=](const Matrix &input, Usage usage, bool) {
    CurrentScalingOptions all = options;
    all.usage = usage;
    return quantizeCurrent(input, all).inner;
  };
  return config;
}

static Configuration makeDelayed(Random &random, Usage usage, float scale) {
  DelayedScalingOptions options;
  options.element = pickFP8(random);
  options.nonTNGemm = pick(random, 4) == 0;
  options.scale = scale;
  Configuration config =
      makePerTensor("float8_delayed_scaling", options, usage);
  config.scale = scale;
  config.quantize = [=](const Matrix &input, Usage usage, bool) {
    DelayedScalingOptions all = options;
    all.usage = usage;
    return quantizeDelayed(input, all).inner;
  };
  config.getAmax = [=](const Matrix &input) {
    return quantizeDelayed(input, options).amax;
  };
  return config;
}

Configuration te::differential::makeDelayedScaling(Random &random,
                                                   Usage usage) {
  return makeDelayed(random, usage, makeScalar(random));
}

Configuration te::differential::makeNVFP4(Random &random, Usage usage) {
  NVFP4Options options;
  unsigned mode = pick(random, 8);
  // Two-dimensional blocks do not go with transformed columnwise data.
  bool isRotated2D = mode == 5 && !usage.columnwise;
  options.with2D = mode == 1 || mode == 6 || isRotated2D;
  // Row-scaled, they have no columnwise form.
  bool is4over6Scaled = mode == 7 && usage.rowwise && !usage.columnwise;
  options.use4over6 = mode == 2 || mode == 6 || is4over6Scaled;
  options.withRHT = mode == 3 || isRotated2D;
  options.rowScaled = (mode == 4 && usage.rowwise) || is4over6Scaled;
  options.stochasticRounding =
      !options.use4over6 && !options.rowScaled && pick(random, 3) == 0;
  Configuration config;
  config.family = "nvfp4";
  if (options.use4over6) {
    options.e4m3Max = pick(random, 2) ? 448 : 256;
    options.errorMode = pick(random, 2) ? ErrorMode::MAE : ErrorMode::MSE;
    config.parameters = {"use_4over6 = true",
                         "e4m3_max = " + std::to_string(options.e4m3Max),
                         options.errorMode == ErrorMode::MAE
                             ? "err_mode = MAE"
                             : "err_mode = MSE"};
  }
  if (options.withRHT) {
    options.withRandomSignMask = pick(random, 3);
    config.parameters.push_back("with_rht = true, with_post_rht_amax = true");
    if (!options.withRandomSignMask)
      config.parameters.push_back("with_random_sign_mask = false");
    config.needsBF16 = true;
  }
  addFlag(config, "row_scaled", options.rowScaled);
  addFlag(config, "stochastic_rounding", options.stochasticRounding);
  if (options.stochasticRounding) {
    // In the lower word, or in both.
    options.seed = random() >> (pick(random, 2) ? 32 : 0);
    options.offset = random() >> (pick(random, 2) ? 32 : 0);
    config.randomState = {options.seed, options.offset};
  }
  addFlag(config, "with_2d_quantization", options.with2D);
  config.numAmaxes = options.rowScaled ? 0 : options.withRHT ? 2 : 1;
  if (config.numAmaxes && pick(random, 4) == 0) {
    options.amaxRowwise = makeScalar(random);
    config.amaxes = {*options.amaxRowwise};
    if (options.withRHT) {
      options.amaxColumnwise = makeScalar(random);
      config.amaxes.push_back(*options.amaxColumnwise);
    }
  }
  config.usage = usage;
  config.hasGemmOrder = !options.rowScaled && !options.use4over6;
  config.isSwizzled = config.hasGemmOrder && pick(random, 3) == 0;
  config.derivesColumnwise =
      options.with2D && !options.withRHT && !config.isSwizzled;
  // Where both are multiples of 32, random words come in another order.
  unsigned block = options.stochasticRounding && pick(random, 2) ? 32 : 16;
  bool both = options.with2D || options.withRHT || block == 32;
  config.rowBlock = usage.columnwise || both ? block : 1;
  config.colBlock = usage.rowwise || both ? block : 1;
  // Row-scaled tensors with both usages come in tiles of 32x32.
  if (options.rowScaled && usage.columnwise) {
    config.rowBlock = config.colBlock = 32;
    config.needsBF16 = true;
  }
  config.quantize = [=](const Matrix &input, Usage usage, bool isSwizzled) {
    NVFP4Options all = options;
    all.usage = usage;
    all.swizzledScales = isSwizzled;
    return quantizeNVFP4(input, all);
  };
  config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                          DType output,
                          bool isSwizzled) -> std::optional<Bytes> {
    if (!find(inner, "rowwise_data"))
      return std::nullopt;
    NVFP4DequantizeOptions how;
    how.rowScaled = options.rowScaled;
    how.e4m3Max = options.e4m3Max;
    how.swizzledScales = isSwizzled;
    return dequantizeNVFP4(inner, input.rows, input.cols, how, output);
  };
  return config;
}

Configuration te::differential::makeIdentity(Random &random, Usage usage) {
  Configuration config;
  config.family = "identity";
  config.usage = usage;
  config.hasOneBuffer = true;
  config.quantize = [](const Matrix &input, Usage, bool) {
    return quantizeIdentity(input);
  };
  config.dequantize = [](const InnerTensors &, const Matrix &input,
                         DType output, bool) {
    size_t from = getStoredSize(input.dtype), to = getStoredSize(output);
    Bytes bytes;
    for (size_t i = 0; i < input.bytes.size(); i += from) {
      uint32_t code = 0;
      for (size_t byte = 0; byte < from; ++byte)
        code |= uint32_t(input.bytes[i + byte]) << (8 * byte);
      if (input.dtype != output)
        code = encode(output, decode(input.dtype, code));
      for (size_t byte = 0; byte < to; ++byte)
        bytes.push_back(code >> (8 * byte));
    }
    return bytes;
  };
  return config;
}

/// Renames a child's inner tensors to the hybrid's.
static void addPrefixed(InnerTensors &all, const std::string &prefix,
                        InnerTensors child) {
  for (InnerTensor &inner : child) {
    if (inner.name.compare(0, prefix.size(), prefix) != 0)
      inner.name = prefix + inner.name;
    all.push_back(std::move(inner));
  }
}

Configuration te::differential::makeHybrid(Random &random, Usage usage) {
  constexpr MakeConfiguration families[] = {
      makeMXFP8,          makeFP8Block, makeCurrentScaling,
      makeDelayedScaling, makeNVFP4,    makeIdentity};
  auto makeChild = [&](Usage usage) {
    return families[pick(random, std::size(families))](random, usage);
  };
  Configuration row, col;
  // A hybrid takes no amaxes.
  do {
    row = makeChild({true, false});
  } while (!row.amaxes.empty());
  do {
    col = makeChild({false, true});
  } while (!col.amaxes.empty() || (row.randomState && col.randomState));
  // One scale serves both.
  if (row.scale && col.scale)
    col = makeDelayed(random, {false, true}, *row.scale);
  bool isDecoded = pick(random, 2);
  bool readsRow = usage.rowwise || isDecoded;

  Configuration config;
  config.family = "hybrid";
  config.parameters = {"rowwise = " + row.getText(std::nullopt, row.isSwizzled),
                       "columnwise = " +
                           col.getText(std::nullopt, col.isSwizzled)};
  if (isDecoded)
    config.parameters.push_back("columnwise_source = rowwise_dequantized");
  config.usage = usage;
  if (readsRow) {
    config.rowBlock = row.rowBlock;
    config.colBlock = row.colBlock;
  }
  if (usage.columnwise) {
    config.rowBlock = std::max(config.rowBlock, col.rowBlock);
    config.colBlock = std::max(config.colBlock, col.colBlock);
  }
  config.needsBF16 = row.needsBF16 || col.needsBF16;
  auto decode = [row](const Matrix &input) {
    Matrix decoded = input;
    decoded.bytes =
        *row.dequantize(row.quantize(input, {true, false}, row.isSwizzled),
                        input, input.dtype, row.isSwizzled);
    return decoded;
  };

  // The amax is of what the first child reads.
  if (col.scale && usage.columnwise) {
    config.scale = col.scale;
    config.getAmax = [=](const Matrix &input) {
      return col.getAmax(isDecoded ? decode(input) : input);
    };
  }
  if (row.scale && readsRow) {
    config.scale = row.scale;
    config.getAmax = row.getAmax;
  }
  if (row.randomState && readsRow)
    config.randomState = row.randomState;
  if (col.randomState && usage.columnwise)
    config.randomState = col.randomState;
  config.quantize = [=](const Matrix &input, Usage usage, bool) {
    InnerTensors all;
    if (usage.rowwise)
      addPrefixed(all, "rowwise_",
                  row.quantize(input, {true, false}, row.isSwizzled));
    if (usage.columnwise)
      addPrefixed(all, "columnwise_",
                  col.quantize(isDecoded ? decode(input) : input,
                               {false, true}, col.isSwizzled));
    return all;
  };
  config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                          DType output, bool) -> std::optional<Bytes> {
    bool isRowwise = inner.front().name.rfind("rowwise_", 0) == 0;
    const Configuration &child = isRowwise ? row : col;
    Matrix source = isRowwise || !isDecoded ? input : decode(input);
    return child.dequantize(
        child.quantize(source, {isRowwise, !isRowwise}, child.isSwizzled),
        source, output, child.isSwizzled);
  };
  return config;
}
