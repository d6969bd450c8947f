//===- DifferentialTest.cpp - kernels against the references --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random configurations go through te-run in the emulator; every inner tensor
// and every decoded value must be what the references in test/Reference make,
// which share nothing with the compiler.
//
// TE_DIFFERENTIAL_COUNT: configurations of each family (default 25).
// TE_DIFFERENTIAL_SEED: the seed of the first one; a failure prints its own.
//
//===----------------------------------------------------------------------===//

#include "Reference/Reference.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>

using namespace te::reference;

namespace {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

unsigned pick(Random &random, unsigned count) { return random() % count; }

unsigned getEnv(const char *name, unsigned fallback) {
  const char *text = std::getenv(name);
  return text ? std::strtoul(text, nullptr, 10) : fallback;
}

const char *getName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::E5M2:
    return "f8E5M2";
  default:
    return "f8E4M3FN";
  }
}

/// A random logical shape whose flattened extents are multiples of the blocks.
struct Shape {
  Shape(Random &random, unsigned rowBlock, unsigned colBlock) {
    unsigned rank = 1 + pick(random, 4);
    if (rank == 1 && rowBlock > 1)
      rank = 2;
    auto extent = [&](unsigned block) {
      return pick(random, 12) == 0 ? 0 : block * (1 + pick(random, 300 / block));
    };
    rows = 1;
    for (unsigned dim = 0; dim + 1 < rank; ++dim) {
      // The first leading dim carries the block; the others stay small.
      dims.push_back(dim == 0 ? extent(rowBlock) : 1 + pick(random, 3));
      rows *= dims.back();
    }
    cols = extent(colBlock);
    dims.push_back(cols);
  }

  std::string getText() const {
    std::string text;
    for (size_t dim : dims)
      text += std::to_string(dim) + "x";
    return text;
  }

  std::vector<size_t> dims;
  size_t rows, cols;
};

/// Values over many magnitudes with whole blocks of zeros and planted NaN, Inf,
/// -0.0 and subnormals.
Matrix makeInput(Random &random, DType dtype, const Shape &shape) {
  Matrix input{dtype, shape.rows, shape.cols, {}};
  size_t size = getStoredSize(dtype);
  input.bytes.resize(shape.rows * shape.cols * size);
  bool isWild = pick(random, 3) == 0;
  std::normal_distribution<double> normal;
  int range = pick(random, 20);
  for (size_t i = 0; i < shape.rows * shape.cols; ++i) {
    double value = std::ldexp(normal(random), int(pick(random, range + 1)) - range / 2);
    if ((i / 64) % 7 == 3)
      value = 0;
    uint32_t code = encode(dtype, value);
    if (isWild)
      switch (pick(random, 97)) {
      case 0:
        code = encode(dtype, std::nan(""));
        break;
      case 1:
        code = encode(dtype, i % 5 ? -0.0 : HUGE_VAL);
        break;
      case 2:
        code = 1 + pick(random, 15); // subnormal
        break;
      }
    for (size_t byte = 0; byte < size; ++byte)
      input.bytes[i * size + byte] = code >> (8 * byte);
  }
  return input;
}

/// A temporary folder, removed at the end.
struct Folder {
  Folder() { llvm::sys::fs::createUniqueDirectory("differential", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  std::string get(llvm::StringRef name) const {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    return std::string(file);
  }

  void write(llvm::StringRef name, llvm::StringRef data) const {
    std::error_code error;
    llvm::raw_fd_ostream os(get(name), error);
    os << data;
  }

  Bytes read(llvm::StringRef name) const {
    auto buffer = llvm::MemoryBuffer::getFile(get(name), /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return {};
    return Bytes((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  }

  llvm::SmallString<128> path;
};

/// Seed and offset of stochastic rounding.
using RandomState = std::array<uint64_t, 2>;

/// How a configuration is run.
struct Program {
  std::string quantizer, chip;
  llvm::ArrayRef<DType> outputs;
  std::optional<RandomState> randomState;
  /// Whether the input starts in the middle of a vector.
  bool isMisaligned = false;
  bool isDynamic = false;
  /// The flag, and what the destination was made from before.
  std::optional<float> noop;
  const Matrix *before = nullptr;
};

/// The arguments of a program and the files with their values.
class Arguments {
public:
  explicit Arguments(const Folder &folder) : folder(folder) {}

  /// Adds `%name`; a type with dynamic dimensions needs a shape, `2x3`.
  void add(const std::string &name, const std::string &type,
           llvm::StringRef bytes, const std::string &shape = "") {
    folder.write(name, bytes);
    text += (text.empty() ? "%" : ", %") + name + ": " + type;
    inputs.push_back(folder.get(name) + (shape.empty() ? "" : ":" + shape));
  }

  std::string text;
  std::vector<std::string> inputs;

private:
  const Folder &folder;
};

template <typename T>
llvm::StringRef toBytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

/// What te-run writes for the program that quantizes and dequantizes `input`,
/// by result and name; nothing and an error text when it fails.
std::map<std::pair<unsigned, std::string>, Bytes> run(const Matrix &input,
                                                      const Shape &shape,
                                                      const Program &program,
                                                      std::string &error) {
  Folder folder;
  Arguments arguments(folder);
  std::string dims, sizes, dtype = getName(input.dtype), body;
  for (size_t dim : shape.dims) {
    dims += (program.isDynamic ? "?" : std::to_string(dim)) + "x";
    sizes += (sizes.empty() ? "" : "x") + std::to_string(dim);
  }
  std::string source = "tensor<" + dims + dtype + ">";
  std::string type =
      "!te_quant.tensor<" + dims + dtype + ", " + program.quantizer + ">";
  std::string inputSizes = program.isDynamic ? sizes : "";
  if (!program.isMisaligned) {
    arguments.add("x", source, llvm::toStringRef(input.bytes), inputSizes);
  } else {
    size_t count = shape.rows * shape.cols;
    auto getFlat = [&](size_t size) {
      return "tensor<" + std::to_string(size) + "x" + dtype + ">";
    };
    std::string group, outputShape;
    for (auto [index, dim] : llvm::enumerate(shape.dims)) {
      group += (index ? ", " : "") + std::to_string(index);
      outputShape += (index ? ", " : "") + std::to_string(dim);
    }
    Bytes longer = input.bytes;
    longer.insert(longer.begin(), getStoredSize(input.dtype), 0xAB);
    arguments.add("longer", getFlat(count + 1), llvm::toStringRef(longer));
    body = "  %flat = tensor.extract_slice %longer[1] [" +
           std::to_string(count) + "] [1] : " + getFlat(count + 1) + " to " +
           getFlat(count) + "\n  %x = tensor.expand_shape %flat [[" + group +
           "]] output_shape [" + outputShape + "] : " + getFlat(count) +
           " into " + source + "\n";
  }
  std::string rng, rngType;
  if (program.randomState) {
    arguments.add("state", "tensor<2xi64>", toBytes(*program.randomState));
    rng = " rng(%state)";
    rngType = ", tensor<2xi64>";
  }
  std::string into, intoType;
  if (program.noop) {
    arguments.add("before", source, llvm::toStringRef(program.before->bytes),
                  inputSizes);
    arguments.add("flag", "tensor<1xf32>", toBytes(*program.noop));
    body += "  %old = te_quant.quantize %before" + rng + " : " + source +
            rngType + " -> " + type + "\n";
    into = " into %old noop(%flag)";
    intoType = ", " + type + ", tensor<1xf32>";
  }
  body += "  %q = te_quant.quantize %x" + into + rng + " : " + source +
          intoType + rngType + " -> " + type + "\n";
  std::string results = "%q", types = type;
  for (auto [index, dtype] : llvm::enumerate(program.outputs)) {
    std::string name = "%y" + std::to_string(index);
    std::string wide = "tensor<" + dims + getName(dtype) + ">";
    body += "  " + name + " = te_quant.dequantize %q : " + type + " -> " + wide +
            "\n";
    results += ", " + name;
    types += ", " + wide;
  }
  folder.write("module.mlir", "func.func @main(" + arguments.text + ") -> (" +
                                  types + ") {\n" + body + "  return " +
                                  results + " : " + types + "\n}\n");
  std::string module = folder.get("module.mlir"), out = folder.get("out"),
              log = folder.get("log"), chipFlag = "--chip=" + program.chip;
  llvm::SmallVector<llvm::StringRef> command = {
      TE_RUN,         module, "--entry=main", "--target=emulate", chipFlag,
      "--output-dir", out};
  for (const std::string &file : arguments.inputs)
    command.append({"--input", file});
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                llvm::StringRef(log),
                                                llvm::StringRef(log)};
  if (llvm::sys::ExecuteAndWait(TE_RUN, command, std::nullopt, redirects)) {
    Bytes text = folder.read("log");
    error.assign(text.begin(), text.end());
    return {};
  }
  Bytes text = folder.read("out/manifest.json");
  llvm::Expected<llvm::json::Value> manifest =
      llvm::json::parse(llvm::toStringRef(text));
  if (!manifest) {
    error = llvm::toString(manifest.takeError());
    return {};
  }
  std::map<std::pair<unsigned, std::string>, Bytes> files;
  for (const llvm::json::Value &row : *manifest->getAsArray()) {
    const llvm::json::Object &entry = *row.getAsObject();
    files[{unsigned(*entry.getInteger("result")),
           entry.getString("name")->str()}] =
        folder.read("out/" + entry.getString("file")->str());
  }
  return files;
}

/// A configuration: its text and what the references make of an input.
struct Configuration {
  std::string quantizer;
  unsigned rowBlock = 1, colBlock = 1;
  std::vector<DType> dtypes = {DType::F32, DType::BF16, DType::F16};
  std::optional<RandomState> randomState;
  std::function<InnerTensors(const Matrix &)> quantize;
  /// Null where the family does not decode this usage.
  std::function<Bytes(const InnerTensors &, const Matrix &, DType)> dequantize;
};

Usage pickUsage(Random &random, std::string &text) {
  switch (pick(random, 3)) {
  case 0:
    text = "rowwise";
    return {true, false};
  case 1:
    text = "columnwise";
    return {false, true};
  default:
    text = "both";
    return {true, true};
  }
}

void check(const char *family,
           const std::function<Configuration(Random &)> &configure) {
  unsigned count = getEnv("TE_DIFFERENTIAL_COUNT", 25);
  unsigned first = getEnv("TE_DIFFERENTIAL_SEED", 1);
  for (unsigned seed = first; seed < first + count; ++seed) {
    Random random(seed * 7919 + llvm::StringRef(family).size());
    Configuration config = configure(random);
    Shape shape(random, config.rowBlock, config.colBlock);
    DType dtype = config.dtypes[pick(random, config.dtypes.size())];
    Matrix input = makeInput(random, dtype, shape);
    const char *chips[] = {"sm_80", "sm_90a", "sm_100a"};
    std::string chip = chips[pick(random, 3)], error;
    std::vector<DType> outputs;
    if (config.dequantize)
      outputs = {DType::F32, DType::BF16, DType::F16};
    Program program = {config.quantizer, chip, outputs, config.randomState};
    program.isMisaligned = !input.bytes.empty() && pick(random, 4) == 0;
    program.isDynamic = !program.isMisaligned && pick(random, 3) == 0;
    Matrix before = input;
    if (!input.bytes.empty() && pick(random, 4) == 0) {
      // Another input: the same values in other places.
      std::rotate(before.bytes.begin(),
                  before.bytes.begin() + getStoredSize(dtype),
                  before.bytes.end());
      program.before = &before;
      program.noop = pick(random, 2) ? 1.0f : 0.0f;
    }
    SCOPED_TRACE(
        "TE_DIFFERENTIAL_SEED=" + std::to_string(seed) + " " + chip + " " +
        shape.getText() + getName(dtype) + ", " + config.quantizer +
        (program.isMisaligned ? ", misaligned" : "") +
        (program.isDynamic ? ", dynamic" : "") +
        (program.noop ? ", noop " + std::to_string(*program.noop) : ""));
    auto files = run(input, shape, program, error);
    ASSERT_EQ(error, "");
    // What an empty tensor's buffers hold is undefined.
    if (input.bytes.empty())
      continue;
    InnerTensors expected =
        config.quantize(program.noop == 1.0f ? before : input);
    for (const InnerTensor &inner : expected) {
      ASSERT_TRUE(files.count({0, inner.name})) << inner.name;
      EXPECT_EQ(describeDifference(inner, files[{0, inner.name}]), "")
          << inner.name;
    }
    for (auto [index, output] : llvm::enumerate(outputs)) {
      std::vector<size_t> whole = {shape.rows, shape.cols};
      InnerTensor decoded{"decoded", output, whole, whole,
                          config.dequantize(expected, input, output)};
      EXPECT_EQ(describeDifference(decoded, files[{index + 1, "data"}]), "")
          << getName(output);
    }
  }
}

std::string flag(const char *name, bool value) {
  return value ? std::string(", ") + name + " = true" : "";
}

TEST(Differential, MXFP8) {
  check("mxfp8", [](Random &random) {
    MXFP8Options options;
    std::string usage;
    options.usage = pickUsage(random, usage);
    options.element = pick(random, 2) ? DType::E4M3 : DType::E5M2;
    options.with2D = pick(random, 3) == 0;
    options.swizzledScales = pick(random, 3) == 0;
    Configuration config;
    config.quantizer = "#te_quant.mxfp8<" + std::string(getName(options.element)) +
                       ", usage = " + usage +
                       flag("with_2d_quantization", options.with2D) +
                       flag("optimize_for_gemm", options.swizzledScales) + ">";
    config.rowBlock = options.usage.columnwise || options.with2D ? 32 : 1;
    config.colBlock = options.usage.rowwise || options.with2D ? 32 : 1;
    config.quantize = [=](const Matrix &input) {
      return quantizeMXFP8(input, options);
    };
    config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                            DType output) {
      return dequantizeMXFP8(inner, input.rows, input.cols,
                             options.swizzledScales, output);
    };
    return config;
  });
}

TEST(Differential, FP8Block) {
  check("block", [](Random &random) {
    FP8BlockOptions options;
    std::string usage;
    options.usage = pickUsage(random, usage);
    options.element = pick(random, 2) ? DType::E4M3 : DType::E5M2;
    options.blockDim = 1 + pick(random, 2);
    options.powerOfTwo = pick(random, 2);
    options.epsilon = pick(random, 3) ? 0 : 0.25f;
    Configuration config;
    config.quantizer =
        "#te_quant.float8_block_scaling<" +
        std::string(getName(options.element)) + ", usage = " + usage +
        ", block_scaling_dim = " + std::to_string(options.blockDim) +
        ", force_pow_2_scales = " + (options.powerOfTwo ? "true" : "false") +
        (options.epsilon ? ", amax_epsilon = 0.25" : "") + ">";
    config.quantize = [=](const Matrix &input) {
      return quantizeFP8Block(input, options);
    };
    config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                            DType output) {
      return dequantizeFP8Block(inner, input.rows, input.cols, options.blockDim,
                                output);
    };
    return config;
  });
}

TEST(Differential, CurrentScaling) {
  check("current", [](Random &random) {
    CurrentScalingOptions options;
    std::string usage;
    options.usage = pickUsage(random, usage);
    options.element = pick(random, 2) ? DType::E4M3 : DType::E5M2;
    options.powerOfTwo = pick(random, 2);
    options.nonTNGemm = pick(random, 4) == 0;
    options.epsilon = pick(random, 3) ? 0 : 0.25f;
    Configuration config;
    config.quantizer = "#te_quant.float8_current_scaling<" +
                       std::string(getName(options.element)) +
                       ", usage = " + usage +
                       flag("force_pow_2_scales", options.powerOfTwo) +
                       (options.epsilon ? ", amax_epsilon = 0.25" : "") +
                       flag("non_tn_gemm", options.nonTNGemm) + ">";
    config.quantize = [=](const Matrix &input) {
      return quantizeCurrent(input, options).inner;
    };
    config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                            DType output) {
      return dequantizePerTensor(inner, input.rows, input.cols, output);
    };
    return config;
  });
}

TEST(Differential, NVFP4) {
  check("nvfp4", [](Random &random) {
    NVFP4Options options;
    std::string usage, extra;
    options.usage = pickUsage(random, usage);
    unsigned mode = pick(random, 6);
    options.with2D = mode == 1 || mode == 5;
    options.use4over6 = mode == 2;
    options.withRHT = mode == 3 || mode == 5;
    options.rowScaled = mode == 4;
    options.stochasticRounding =
        !options.use4over6 && !options.rowScaled && pick(random, 3) > 0;
    if (options.use4over6) {
      options.e4m3Max = pick(random, 2) ? 448 : 256;
      options.errorMode = pick(random, 2) ? ErrorMode::MAE : ErrorMode::MSE;
      extra = ", use_4over6 = true, e4m3_max = " +
              std::to_string(options.e4m3Max) + ", err_mode = " +
              (options.errorMode == ErrorMode::MAE ? "MAE" : "MSE");
    }
    if (mode == 5 || (options.rowScaled && !options.usage.rowwise)) {
      options.usage = {true, false};
      usage = "rowwise";
    }
    if (options.rowScaled)
      extra = ", row_scaled = true";
    options.swizzledScales = !options.rowScaled && !options.use4over6 &&
                             pick(random, 3) == 0;
    if (options.withRHT)
      extra = ", with_rht = true, with_post_rht_amax = true";
    Configuration config;
    if (options.stochasticRounding) {
      // In the lower word, or in both.
      options.seed = random() >> (pick(random, 2) ? 32 : 0);
      options.offset = random() >> (pick(random, 2) ? 32 : 0);
      config.randomState = {options.seed, options.offset};
      extra += ", stochastic_rounding = true";
    }
    config.quantizer = "#te_quant.nvfp4<usage = " + usage + extra +
                       flag("with_2d_quantization", options.with2D) +
                       flag("optimize_for_gemm", options.swizzledScales) + ">";
    // Where both are multiples of 32, random words come in another order.
    unsigned block = options.stochasticRounding && pick(random, 2) ? 32 : 16;
    bool isColumnScaled = options.rowScaled && options.usage.columnwise;
    if (isColumnScaled)
      block = 32;
    bool both = options.with2D || options.withRHT || block == 32;
    config.rowBlock = options.usage.columnwise || both ? block : 1;
    config.colBlock = options.usage.rowwise || both ? block : 1;
    if (options.withRHT || isColumnScaled)
      config.dtypes = {DType::BF16};
    config.quantize = [=](const Matrix &input) {
      return quantizeNVFP4(input, options);
    };
    if (options.usage.rowwise)
      config.dequantize = [=](const InnerTensors &inner, const Matrix &input,
                              DType output) {
        NVFP4DequantizeOptions how;
        how.rowScaled = options.rowScaled;
        how.e4m3Max = options.e4m3Max;
        how.swizzledScales = options.swizzledScales;
        return dequantizeNVFP4(inner, input.rows, input.cols, how, output);
      };
    return config;
  });
}

} // namespace
