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

#include "Families.h"
#include "Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace te::differential;
using namespace te::reference;

static constexpr const char *scalarType = "tensor<1xf32>";

/// What is quantized, and what it is decoded to.
static constexpr DType dtypes[] = {DType::F32, DType::BF16, DType::F16};

static InnerTensor makeTensor(const char *name, DType dtype,
                              std::vector<size_t> shape, Bytes bytes) {
  return {name, dtype, shape, shape, std::move(bytes)};
}

static InnerTensors makeFloats(llvm::ArrayRef<float> values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {makeTensor("data", DType::F32, {values.size()}, std::move(bytes))};
}

namespace {

/// Adds a quantization with all that comes before and after it.
class QuantizeBuilder {
public:
  QuantizeBuilder(Random &random, Fragment &fragment,
                  const Configuration &config)
      : random(random), fragment(fragment), config(config),
        shape(random, config.rowBlock, config.colBlock),
        dtype(config.needsBF16 ? DType::BF16 : dtypes[pick(random, 3)]),
        input(makeInput(random, dtype, shape)), usage(config.usage),
        isSwizzled(config.isSwizzled) {
    isMisaligned = !isEmpty() && pick(random, 4) == 0;
    isDynamic = !isMisaligned && pick(random, 3) == 0;
    source = "tensor<" + shape.getText(isDynamic) + getName(dtype) + ">";
    fragment.description += " " + shape.getText() + getName(dtype) + ", " +
                            config.getText(usage, isSwizzled) +
                            (isMisaligned ? ", misaligned" : "") +
                            (isDynamic ? ", dynamic" : "");
  }

  void run() {
    addQuantize();
    bool returnsBoth = pick(random, 2);
    std::string before = value;
    if (returnsBoth)
      addResult();
    if (pick(random, 2))
      updateUsage();
    if (pick(random, 2))
      swizzle();
    if (!returnsBoth || value != before)
      addResult();
    dequantize();
  }

private:
  bool isEmpty() const { return input.bytes.empty(); }

  std::string getType() const {
    return "!te_quant.tensor<" + shape.getText(isDynamic) + getName(dtype) +
           ", " + config.getText(usage, isSwizzled) + ">";
  }

  std::string addInput(const Matrix &matrix) {
    if (!isMisaligned)
      return fragment.addArgument(source, llvm::toStringRef(matrix.bytes),
                                  isDynamic ? shape.getSizes() : "");
    // All but the first element of a longer vector.
    size_t count = shape.rows * shape.cols;
    auto getFlat = [&](size_t size) {
      return "tensor<" + std::to_string(size) + "x" + getName(dtype) + ">";
    };
    Bytes longer = matrix.bytes;
    longer.insert(longer.begin(), getStoredSize(dtype), 0xAB);
    std::string name =
        fragment.addArgument(getFlat(count + 1), llvm::toStringRef(longer));
    name = fragment.addOp("tensor.extract_slice " + name + "[1] [" +
                          std::to_string(count) + "] [1] : " +
                          getFlat(count + 1) + " to " + getFlat(count));
    if (shape.dims.size() == 1)
      return name;
    std::vector<std::string> dims, sizes;
    for (auto [index, size] : llvm::enumerate(shape.dims)) {
      dims.push_back(std::to_string(index));
      sizes.push_back(std::to_string(size));
    }
    return fragment.addOp("tensor.expand_shape " + name + " [[" +
                          llvm::join(dims, ", ") + "]] output_shape [" +
                          llvm::join(sizes, ", ") + "] : " + getFlat(count) +
                          " into " + source);
  }

  std::string addScalar(float value) {
    return fragment.addArgument(scalarType, toBytes(value));
  }

  /// The groups after `noop`, the same for all of a fragment's quantize ops.
  void addOperands(const std::string &x) {
    if (config.scale) {
      groups += " scale(" + addScalar(*config.scale) + ")";
      groupTypes += std::string(", ") + scalarType;
    }
    std::vector<std::string> amaxes;
    for (float amax : config.amaxes)
      amaxes.push_back(addScalar(amax));
    if (amaxes.empty() && config.numAmaxes && pick(random, 4) == 0) {
      // What quantize would compute for itself.
      std::vector<std::string> types(config.numAmaxes, scalarType);
      std::string name = fragment.addOp(
          "te_quant.amax " + config.getText(usage, isSwizzled) + " " + x +
              " : " + source + " -> " + llvm::join(types, ", "),
          config.numAmaxes);
      for (unsigned i = 0; i < config.numAmaxes; ++i)
        amaxes.push_back(config.numAmaxes == 1
                             ? name
                             : name + "#" + std::to_string(i));
      fragment.description += ", amax op";
    }
    if (!amaxes.empty()) {
      groups += " amax(" + llvm::join(amaxes, ", ") + ")";
      for (size_t i = 0; i < amaxes.size(); ++i)
        groupTypes += std::string(", ") + scalarType;
    }
    if (config.randomState) {
      groups += " rng(" +
                fragment.addArgument("tensor<2xi64>",
                                     toBytes(*config.randomState)) +
                ")";
      groupTypes += ", tensor<2xi64>";
    }
  }

  /// Returns the name of the tensor; that of an amax beside it has `#1`.
  std::string addQuantizeOp(const std::string &x, const std::string &into,
                            const std::string &intoTypes) {
    bool returnsAmax = bool(config.getAmax);
    std::string name = fragment.addOp(
        "te_quant.quantize " + x + into + groups + " : " + source + intoTypes +
            groupTypes + " -> " + getType() +
            (returnsAmax ? std::string(", ") + scalarType : ""),
        returnsAmax ? 2 : 1);
    return name;
  }

  std::string getTensor(const std::string &name) const {
    return config.getAmax ? name + "#0" : name;
  }

  /// Makes the tensor that is updated in place. Returns the groups and types.
  std::pair<std::string, std::string> addInto() {
    // The same values in other places.
    Matrix before = input;
    std::rotate(before.bytes.begin(),
                before.bytes.begin() +
                    std::min(getStoredSize(dtype), before.bytes.size()),
                before.bytes.end());
    std::string old;
    bool isArgument = !isDynamic && pick(random, 2);
    if (isArgument) {
      InnerTensors inners = config.quantize(before, usage, isSwizzled);
      std::vector<llvm::StringRef> files;
      for (const InnerTensor &inner : inners)
        files.push_back(llvm::toStringRef(inner.bytes));
      old = fragment.addArgument(getType(), files);
    } else {
      old = getTensor(addQuantizeOp(addInput(before), "", ""));
    }
    fragment.description += isArgument ? ", into argument" : ", into";
    constexpr float flags[] = {0.0f, 1.0f,  1.0f, 2.0f,
                               -1.0f, 0.99999994f, NAN};
    unsigned which = pick(random, std::size(flags) + 1);
    if (which == std::size(flags))
      return {" into " + old, ", " + getType()};
    if (flags[which] == 1.0f) {
      isSkipped = true;
      input = before;
    }
    fragment.description += ", noop " + std::to_string(flags[which]);
    return {" into " + old + " noop(" + addScalar(flags[which]) + ")",
            ", " + getType() + ", " + scalarType};
  }

  void addQuantize() {
    std::string x = addInput(input);
    addOperands(x);
    std::pair<std::string, std::string> into;
    if (pick(random, 4) == 0)
      into = addInto();
    std::string name = addQuantizeOp(x, into.first, into.second);
    value = getTensor(name);
    expected = config.quantize(input, usage, isSwizzled);
    // What was skipped has seen no amax.
    if (config.getAmax)
      fragment.addResult(name + "#1", scalarType,
                         isEmpty() || isSkipped
                             ? InnerTensors()
                             : makeFloats(config.getAmax(input)));
  }

  void addResult() {
    fragment.addResult(value, getType(), isEmpty() ? InnerTensors() : expected);
  }

  void updateUsage() {
    Usage from = usage, to = pickUsage(random);
    bool drops = from.rowwise && from.columnwise;
    bool isSame =
        from.rowwise == to.rowwise && from.columnwise == to.columnwise;
    bool derives = from.rowwise && !from.columnwise && to.columnwise &&
                   !config.hasOneBuffer && !config.randomState &&
                   (to.rowwise ? config.derivesColumnwise
                               : config.derivesAndDrops);
    if (!drops && !isSame && !derives && !config.hasOneBuffer)
      return;
    std::string fromType = getType();
    usage = to;
    value = fragment.addOp("te_quant.update_usage " + value + " : " + fromType +
                           " -> " + getType());
    InnerTensors all = derives
                           ? config.quantize(input, {true, true}, isSwizzled)
                           : expected;
    expected.clear();
    for (const InnerTensor &inner : config.quantize(input, to, isSwizzled))
      if (const InnerTensor *part = find(all, inner.name))
        expected.push_back(*part);
    fragment.description += derives ? ", derive" : ", drop";
  }

  void swizzle() {
    if (!config.hasGemmOrder)
      return;
    std::string fromType = getType();
    isSwizzled = !isSwizzled;
    value = fragment.addOp("te_quant.swizzle " + value + " : " + fromType +
                           " -> " + getType());
    for (InnerTensor &inner : expected)
      if (llvm::StringRef(inner.name).ends_with("_scale_inv"))
        inner = reorder(inner);
    fragment.description += ", swizzle";
  }

  /// The scales in the order that `isSwizzled` says.
  InnerTensor reorder(const InnerTensor &scales) {
    InnerTensors inners =
        config.quantize(input, {true, true}, /*isSwizzled=*/false);
    // MXFP8 alone does not transpose columnwise data.
    BlockDim blockDim =
        config.family == "mxfp8" && scales.name == "columnwise_scale_inv"
            ? BlockDim::First
            : BlockDim::Last;
    if (isSwizzled)
      return swizzleScales(scales, blockDim);
    return unswizzleScales(scales, blockDim,
                           find(inners, scales.name)->validShape);
  }

  void dequantize() {
    bool all = pick(random, 3) == 0;
    unsigned only = pick(random, 3);
    for (auto [index, output] : llvm::enumerate(dtypes)) {
      if (!all && index != only)
        continue;
      std::optional<Bytes> decoded =
          config.dequantize(expected, input, output, isSwizzled);
      if (!decoded)
        return;
      std::string wide = "tensor<" + shape.getText(isDynamic) +
                         getName(output) + ">";
      std::string name = fragment.addOp("te_quant.dequantize " + value + " : " +
                                        getType() + " -> " + wide);
      InnerTensors result;
      if (!isEmpty())
        result = {makeTensor("data", output, {shape.rows, shape.cols},
                             std::move(*decoded))};
      fragment.addResult(name, wide, std::move(result));
    }
  }

  Random &random;
  Fragment &fragment;
  const Configuration &config;
  Shape shape;
  DType dtype;
  /// What the tensor is made from; the older input when the update is skipped.
  Matrix input;
  bool isMisaligned = false, isDynamic = false, isSkipped = false;
  std::string source, groups, groupTypes;

  /// The last value with its type's variables and its inner tensors.
  std::string value;
  Usage usage;
  bool isSwizzled;
  InnerTensors expected;
};

} // namespace

static void checkQuantize(const char *family, MakeConfiguration make) {
  check(family, [&](Random &random, Fragment &fragment) {
    Configuration config = make(random, pickUsage(random));
    QuantizeBuilder(random, fragment, config).run();
  });
}

TEST(Differential, MXFP8) { checkQuantize("mxfp8", makeMXFP8); }
TEST(Differential, FP8Block) { checkQuantize("block", makeFP8Block); }
TEST(Differential, CurrentScaling) {
  checkQuantize("current", makeCurrentScaling);
}
TEST(Differential, DelayedScaling) {
  checkQuantize("delayed", makeDelayedScaling);
}
TEST(Differential, NVFP4) { checkQuantize("nvfp4", makeNVFP4); }
TEST(Differential, Identity) { checkQuantize("identity", makeIdentity); }
TEST(Differential, Hybrid) { checkQuantize("hybrid", makeHybrid); }

TEST(Differential, UpdateScale) {
  check("update_scale", [](Random &random, Fragment &fragment) {
    auto makeAmax = [&] { return pick(random, 20) ? makeScalar(random) : NAN; };
    ScaleUpdateOptions options;
    options.element = pick(random, 2) ? DType::E4M3 : DType::E5M2;
    options.algorithm =
        pick(random, 2) ? AmaxAlgorithm::Max : AmaxAlgorithm::MostRecent;
    // Within and beyond what leaves the scale finite.
    options.margin = int(pick(random, 9)) - 4;
    if (pick(random, 8) == 0)
      options.margin *= 40;
    options.keepOnZeroAmax = pick(random, 2);
    std::vector<float> history(pick(random, 8) ? 1 + pick(random, 20) : 1024);
    for (float &amax : history)
      amax = makeAmax();
    float amax = makeAmax(), scale = makeScalar(random);
    ScaleUpdate expected = updateScale(history, amax, scale, options);

    std::string type = "tensor<" + std::to_string(history.size()) + "xf32>";
    llvm::StringRef bytes(reinterpret_cast<const char *>(history.data()),
                          history.size() * sizeof(float));
    std::string operands = fragment.addArgument(type, bytes);
    for (float value : {amax, scale})
      operands += ", " + fragment.addArgument(scalarType, toBytes(value));
    std::string text =
        std::string("te_quant.update_scale #te_quant.float8_delayed_scaling<") +
        getName(options.element) + ">" +
        (options.algorithm == AmaxAlgorithm::Max ? " max " : " most_recent ") +
        operands + " {margin = " + std::to_string(options.margin) + " : i64" +
        (options.keepOnZeroAmax ? ", keep_on_zero_amax}" : "}");
    fragment.description += " " + text;
    std::string name = fragment.addOp(
        text + " : " + type + ", " + scalarType + ", " + scalarType, 2);
    fragment.addResult(name + "#0", type, makeFloats(expected.history));
    fragment.addResult(name + "#1", scalarType, makeFloats(expected.scale));
  });
}
