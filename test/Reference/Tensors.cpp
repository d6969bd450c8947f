//===- Tensors.cpp - comparison, producers, scale order -------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"

#include <cstdio>

namespace te::reference {

const InnerTensor *find(const InnerTensors &inner, const std::string &name) {
  for (const InnerTensor &tensor : inner)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

std::string describeDifference(const InnerTensor &expected,
                               const std::vector<uint8_t> &bytes) {
  if (bytes.size() != expected.bytes.size())
    return expected.name + ": expected " +
           std::to_string(expected.bytes.size()) + " bytes, but got " +
           std::to_string(bytes.size());
  size_t rows = 1;
  for (size_t dim = 0; dim + 1 < expected.shape.size(); ++dim)
    rows *= expected.shape[dim];
  size_t cols = expected.shape.empty() ? 1 : expected.shape.back();
  size_t validRows = expected.shape.size() == 2 ? expected.validShape[0] : rows;
  size_t validCols = expected.shape.empty() ? 1 : expected.validShape.back();

  size_t count = 0;
  std::string first;
  for (size_t row = 0; row < validRows; ++row) {
    for (size_t col = 0; col < validCols; ++col) {
      DType dtype = expected.dtype;
      uint32_t want = loadCode(dtype, expected.bytes, row * cols + col);
      uint32_t got = loadCode(dtype, bytes, row * cols + col);
      if (want == got || (isNaN(dtype, want) && isNaN(dtype, got)))
        continue;
      if (count++ == 0) {
        char text[96];
        std::snprintf(text, sizeof(text),
                      "first at [%zu, %zu]: expected 0x%x, but got 0x%x", row,
                      col, want, got);
        first = text;
      }
    }
  }
  if (count == 0)
    return "";
  return expected.name + ": " + std::to_string(count) + " of " +
         std::to_string(validRows * validCols) + " differ, " + first;
}

Matrix applyActivation(Activation activation, const Matrix &input,
                       bool roundToInput) {
  Values values = load(input);
  // The constants of gelu are f32 (numerics: 4.5).
  constexpr double linear = 0.79788456f;
  constexpr double cubic = 0.03567741f;
  for (float &value : values.data) {
    double x = value;
    switch (activation) {
    case Activation::Relu:
      value = x > 0 ? value : 0.0f;
      break;
    case Activation::Silu:
      value = static_cast<float>(x * (1 / (1 + std::exp(-x))));
      break;
    case Activation::Gelu:
      value = static_cast<float>(
          x * (0.5 + 0.5 * std::tanh(x * (linear + cubic * x * x))));
      break;
    }
  }
  Matrix result = input;
  result.dtype = roundToInput ? input.dtype : DType::F32;
  result.bytes = store(values, result.dtype);
  return result;
}

InnerTensors quantizeIdentity(const Matrix &input) {
  std::vector<size_t> shape = {input.rows, input.cols};
  return {{"hp_data", input.dtype, shape, shape, input.bytes}};
}

/// Calls `visit(i, j)` for the scale of row i and block j, in GEMM order: tiles
/// of 128 rows by 4 blocks; in a tile 32 groups, one for each row mod 32; in a
/// group the rows 32 apart, each with its 4 blocks.
template <typename Visitor>
static void walkGemmOrder(size_t rows, size_t blocks, Visitor visit) {
  for (size_t tileRow = 0; tileRow < rows; tileRow += 128)
    for (size_t tileBlock = 0; tileBlock < blocks; tileBlock += 4)
      for (size_t group = 0; group < 32; ++group)
        for (size_t row = group; row < 128; row += 32)
          for (size_t block = 0; block < 4; ++block)
            visit(tileRow + row, tileBlock + block);
}

InnerTensor swizzleScales(const InnerTensor &compact, BlockDim blockDim) {
  InnerTensor result =
      makeInner(compact.name, compact.dtype, compact.shape, compact.shape);
  bool blocksLast = blockDim == BlockDim::Last;
  size_t next = 0;
  walkGemmOrder(compact.shape[blocksLast ? 0 : 1],
                compact.shape[blocksLast ? 1 : 0], [&](size_t i, size_t j) {
                  size_t row = blocksLast ? i : j;
                  size_t col = blocksLast ? j : i;
                  bool isValid = row < compact.validShape[0] &&
                                 col < compact.validShape[1];
                  result.bytes[next++] = static_cast<uint8_t>(
                      isValid ? getCode(compact, row, col) : 0);
                });
  return result;
}

InnerTensor unswizzleScales(const InnerTensor &swizzled, BlockDim blockDim,
                            std::vector<size_t> validShape) {
  InnerTensor result = makeInner(swizzled.name, swizzled.dtype, swizzled.shape,
                                 std::move(validShape));
  bool blocksLast = blockDim == BlockDim::Last;
  size_t next = 0;
  walkGemmOrder(swizzled.shape[blocksLast ? 0 : 1],
                swizzled.shape[blocksLast ? 1 : 0], [&](size_t i, size_t j) {
                  size_t row = blocksLast ? i : j;
                  size_t col = blocksLast ? j : i;
                  uint8_t code = swizzled.bytes[next++];
                  if (row < result.validShape[0] && col < result.validShape[1])
                    setCode(result, row, col, code);
                });
  return result;
}

} // namespace te::reference
