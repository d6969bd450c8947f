//===- FP8.cpp - per-tensor, block-scaled and MX FP8 ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"

namespace te::reference {

/// The scale that maps `amax` to `largest` (numerics: 2.1).
static float getScale(float amax, float largest, bool powerOfTwo, float epsilon,
                      float valueForInf) {
  if (amax < epsilon)
    amax = epsilon;
  if (amax == 0 || std::isnan(amax) || std::isinf(amax))
    return 1;
  float scale = divide(largest, amax);
  if (std::isinf(scale))
    scale = valueForInf;
  if (!powerOfTwo)
    return scale;
  // Down to a power of two. No amax makes the quotient subnormal.
  return static_cast<float>(std::ldexp(1.0, std::ilogb(scale)));
}

/// The codes of `values` times their scales, stored in C order.
template <typename ScaleOf>
static InnerTensor encodeScaled(std::string name, DType element,
                                const Values &values, ScaleOf scaleOf) {
  std::vector<size_t> shape = {values.rows, values.cols};
  InnerTensor result = makeInner(std::move(name), element, shape, shape);
  for (size_t row = 0; row < values.rows; ++row)
    for (size_t col = 0; col < values.cols; ++col)
      setCode(
          result, row, col,
          encode(element, multiply(values.at(row, col), scaleOf(row, col))));
  return result;
}

//===----------------------------------------------------------------------===//
// Per-tensor
//===----------------------------------------------------------------------===//

static InnerTensors quantizePerTensor(const Values &values,
                                      const PerTensorOptions &options,
                                      float scale) {
  InnerTensors inner;
  auto scaleOf = [&](size_t, size_t) { return scale; };
  if (options.usage.rowwise || options.nonTNGemm)
    inner.push_back(encodeScaled("data", options.element, values, scaleOf));
  if (options.usage.columnwise && !options.nonTNGemm)
    inner.push_back(encodeScaled("transpose", options.element,
                                 values.transposed(), scaleOf));
  inner.push_back(makeScalar("scale_inv", divide(1, scale)));
  return inner;
}

PerTensorResult quantizeCurrent(const Matrix &input,
                                const CurrentScalingOptions &options) {
  Values values = load(input);
  PerTensorResult result;
  result.amax = options.amax.value_or(values.amax());
  result.scale = getScale(result.amax, getLargest(options.element),
                          options.powerOfTwo, options.epsilon, maxF32);
  result.inner = quantizePerTensor(values, options, result.scale);
  return result;
}

PerTensorResult quantizeDelayed(const Matrix &input,
                                const DelayedScalingOptions &options) {
  Values values = load(input);
  PerTensorResult result;
  result.amax = values.amax();
  result.scale = options.scale;
  result.inner = quantizePerTensor(values, options, options.scale);
  return result;
}

ScaleUpdate updateScale(std::vector<float> history, float amax, float scale,
                        const ScaleUpdateOptions &options) {
  float last = amax;
  if (amax == 0 && !history.empty())
    last = history.front();
  if (options.keepOnZeroAmax && last == 0)
    return {history, scale};

  // All values that are still remembered, oldest first.
  std::vector<float> window;
  if (!history.empty())
    window.assign(history.begin() + 1, history.end());
  window.push_back(last);

  float chosen = last;
  if (options.algorithm == AmaxAlgorithm::Max) {
    chosen = 0;
    for (float value : window)
      if (value > chosen)
        chosen = value;
  }
  if (!history.empty()) {
    window.front() = 0;
    history = window;
  }

  if (chosen > 0 && chosen <= maxF32) {
    auto power = static_cast<float>(std::pow(2.0, -options.margin));
    scale = divide(multiply(getLargest(options.element), power), chosen);
  }
  if (std::isinf(scale))
    scale = maxF32;
  return {history, scale};
}

std::vector<uint8_t> dequantizePerTensor(const InnerTensors &inner, size_t rows,
                                         size_t cols, DType output) {
  const InnerTensor *data = find(inner, "data");
  bool isTransposed = !data;
  if (isTransposed)
    data = find(inner, "transpose");
  float scaleInv = decode(
      DType::F32, loadCode(DType::F32, find(inner, "scale_inv")->bytes, 0));
  Values values(rows, cols);
  for (size_t row = 0; row < rows; ++row)
    for (size_t col = 0; col < cols; ++col) {
      float code =
          isTransposed ? getValue(*data, col, row) : getValue(*data, row, col);
      values.at(row, col) = multiply(code, scaleInv);
    }
  return store(values, output);
}

//===----------------------------------------------------------------------===//
// Blocks of 128
//===----------------------------------------------------------------------===//

/// Adds the data and scales of one direction, whose blocks run along the
/// columns of `values`: 128 columns, times 128 rows in two dimensions.
static void quantizeBlocks(InnerTensors &inner, const std::string &direction,
                           const Values &values, const FP8BlockOptions &options,
                           float valueForInf) {
  size_t blockRows = options.blockDim == 2 ? 128 : 1;
  Values scales(divideUp(values.rows, blockRows), divideUp(values.cols, 128));
  for (size_t row = 0; row < scales.rows; ++row)
    for (size_t col = 0; col < scales.cols; ++col)
      scales.at(row, col) =
          getScale(values.amax(row * blockRows, blockRows, col * 128, 128),
                   getLargest(options.element), options.powerOfTwo,
                   options.epsilon, valueForInf);
  inner.push_back(encodeScaled(direction + "_data", options.element, values,
                               [&](size_t row, size_t col) {
                                 return scales.at(row / blockRows, col / 128);
                               }));

  // One-dimensional blocks put the block index first.
  Values stored = options.blockDim == 1 ? scales.transposed() : scales;
  InnerTensor scaleInv = makeInner(direction + "_scale_inv", DType::F32,
                                   {stored.rows, roundUp(stored.cols, 4)},
                                   {stored.rows, stored.cols});
  for (size_t row = 0; row < stored.rows; ++row)
    for (size_t col = 0; col < stored.cols; ++col)
      setCode(scaleInv, row, col,
              encode(DType::F32, divide(1, stored.at(row, col))));
  inner.push_back(std::move(scaleInv));
}

InnerTensors quantizeFP8Block(const Matrix &input,
                              const FP8BlockOptions &options) {
  Values values = load(input);
  float valueForInf = maxF32;
  if (input.dtype == DType::BF16)
    valueForInf = decode(DType::BF16, 0x7F7F);
  else if (input.dtype == DType::F16)
    valueForInf = decode(DType::F16, 0x7BFF);
  InnerTensors inner;
  if (options.usage.rowwise)
    quantizeBlocks(inner, "rowwise", values, options, valueForInf);
  if (options.usage.columnwise)
    quantizeBlocks(inner, "columnwise", values.transposed(), options,
                   valueForInf);
  return inner;
}

std::vector<uint8_t> dequantizeFP8Block(const InnerTensors &inner, size_t rows,
                                        size_t cols, int blockDim,
                                        DType output) {
  bool isRowwise = find(inner, "rowwise_data");
  std::string direction = isRowwise ? "rowwise" : "columnwise";
  const InnerTensor &data = *find(inner, direction + "_data");
  const InnerTensor &scaleInv = *find(inner, direction + "_scale_inv");
  Values stored(isRowwise ? rows : cols, isRowwise ? cols : rows);
  for (size_t row = 0; row < stored.rows; ++row)
    for (size_t col = 0; col < stored.cols; ++col) {
      float scale = blockDim == 2 ? getValue(scaleInv, row / 128, col / 128)
                                  : getValue(scaleInv, col / 128, row);
      stored.at(row, col) = multiply(getValue(data, row, col), scale);
    }
  return store(isRowwise ? stored : stored.transposed(), output);
}

InnerTensor convertFP8BlockScales(const InnerTensor &scaleInv,
                                  size_t storedRows, size_t storedCols,
                                  int blockDim) {
  std::vector<size_t> shape = {roundUp(storedRows, 128),
                               4 * divideUp(storedCols, 128)};
  InnerTensor codes = makeInner(scaleInv.name, DType::E8M0, shape, shape);
  for (size_t row = 0; row < shape[0]; ++row)
    for (size_t block = 0; block < shape[1]; ++block) {
      // Four blocks of 32 share the scale of a block of 128. Rows past the end
      // have one only where the tile has.
      float scale = 0;
      if (blockDim == 2)
        scale = getValue(scaleInv, row / 128, block / 4);
      else if (row < storedRows)
        scale = getValue(scaleInv, block / 4, row);
      setCode(codes, row, block, encode(DType::E8M0, scale));
    }
  return swizzleScales(codes, BlockDim::Last);
}

//===----------------------------------------------------------------------===//
// MXFP8
//===----------------------------------------------------------------------===//

InnerTensors quantizeMXFP8(const Matrix &input, const MXFP8Options &options) {
  Values values = load(input);
  // The f32 next to the reciprocal; the rule multiplies.
  float reciprocal = divide(1, getLargest(options.element));
  InnerTensors inner;
  for (bool isRowwise : {true, false}) {
    if (isRowwise ? !options.usage.rowwise : !options.usage.columnwise)
      continue;
    std::string direction = isRowwise ? "rowwise" : "columnwise";
    size_t height = isRowwise && !options.with2D ? 1 : 32;
    size_t width = isRowwise || options.with2D ? 32 : 1;
    auto getBlockScale = [&](size_t row, size_t col) {
      float amax = values.amax(row / height * height, height,
                               col / width * width, width);
      return encode(DType::E8M0, multiply(amax, reciprocal));
    };

    std::vector<size_t> valid = {values.rows, divideUp(values.cols, 32)};
    std::vector<size_t> shape = {roundUp(valid[0], 128), roundUp(valid[1], 4)};
    if (!isRowwise) {
      valid = {divideUp(values.rows, 32), values.cols};
      shape = {roundUp(valid[0], 4), roundUp(valid[1], 128)};
    }
    InnerTensor scales =
        makeInner(direction + "_scale_inv", DType::E8M0, shape, valid);
    for (size_t row = 0; row < valid[0]; ++row)
      for (size_t col = 0; col < valid[1]; ++col)
        setCode(scales, row, col,
                isRowwise ? getBlockScale(row, col * 32)
                          : getBlockScale(row * 32, col));

    inner.push_back(encodeScaled(
        direction + "_data", options.element, values,
        [&](size_t row, size_t col) {
          uint32_t code = isRowwise ? getCode(scales, row, col / 32)
                                    : getCode(scales, row / 32, col);
          return static_cast<float>(std::ldexp(1.0, 127 - int(code)));
        }));
    if (options.swizzledScales)
      scales =
          swizzleScales(scales, isRowwise ? BlockDim::Last : BlockDim::First);
    inner.push_back(std::move(scales));
  }
  return inner;
}

std::vector<uint8_t> dequantizeMXFP8(const InnerTensors &inner, size_t rows,
                                     size_t cols, bool swizzledScales,
                                     DType output) {
  bool isRowwise = find(inner, "rowwise_data");
  std::string direction = isRowwise ? "rowwise" : "columnwise";
  const InnerTensor &data = *find(inner, direction + "_data");
  InnerTensor scales = *find(inner, direction + "_scale_inv");
  if (swizzledScales)
    scales = unswizzleScales(
        scales, isRowwise ? BlockDim::Last : BlockDim::First, scales.shape);
  Values values(rows, cols);
  for (size_t row = 0; row < rows; ++row)
    for (size_t col = 0; col < cols; ++col) {
      float scale = isRowwise ? getValue(scales, row, col / 32)
                              : getValue(scales, row / 32, col);
      values.at(row, col) = multiply(getValue(data, row, col), scale);
    }
  return store(values, output);
}

} // namespace te::reference
