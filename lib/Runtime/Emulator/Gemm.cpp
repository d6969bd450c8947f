//===- Gemm.cpp - matrix products as a library would make them ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain loops in the arithmetic of the generated kernels without tensor cores:
// products are added one after the other, and each block of scales alone.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "ErrorState.h"
#include "Faults.h"
#include "te/Numerics/Formats.h"
#include "te/Runtime/te_runtime.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>
#include <vector>

using namespace te;
using namespace te::emulator;

// Compiled programs write it as an array of words.
static_assert(sizeof(TeGemm) == 34 * 8);

static numerics::Format getFormat(int64_t format) {
  switch (format) {
  case TE_FORMAT_BF16:
    return numerics::Format::BF16;
  case TE_FORMAT_F16:
    return numerics::Format::F16;
  case TE_FORMAT_E4M3:
    return numerics::Format::E4M3;
  case TE_FORMAT_E5M2:
    return numerics::Format::E5M2;
  case TE_FORMAT_E2M1:
    return numerics::Format::E2M1;
  case TE_FORMAT_E8M0:
    return numerics::Format::E8M0;
  default:
    return numerics::Format::F32;
  }
}

/// Bytes of an element that is not stored in pairs.
static uint64_t getBytes(int64_t format) {
  return (numerics::getWidth(getFormat(format)) + 7) / 8;
}

static float loadElement(const void *data, int64_t format, uint64_t index) {
  uint64_t bytes = getBytes(format);
  uint32_t bits = 0;
  memcpy(&bits, static_cast<const char *>(data) + index * bytes, bytes);
  return numerics::decode(getFormat(format), bits);
}

static void storeElement(void *data, int64_t format, uint64_t index,
                         float value) {
  uint64_t bytes = getBytes(format);
  uint32_t bits = numerics::encode(getFormat(format), value);
  memcpy(static_cast<char *>(data) + index * bytes, &bits, bytes);
}

namespace {
/// An operand as f32 values.
class Lines {
public:
  Lines(const TeGemmOperand &operand, int64_t lines, int64_t depth)
      : operand(operand), lines(lines), depth(depth),
        blocks(operand.scales ? llvm::divideCeil(depth, operand.block) : 0),
        groups(operand.scales ? llvm::divideCeil(lines, operand.linesPerScale)
                              : 0) {}

  /// Checks that device memory has all of it.
  bool check() const {
    bool isPair = operand.format == TE_FORMAT_E2M1;
    uint64_t codeBytes = isPair ? lines * llvm::divideCeil(depth, 2)
                                : lines * depth * getBytes(operand.format);
    return checkRange(operand.codes, codeBytes, "teRuntimeGemm: read") &&
           (!operand.scales || checkRange(operand.scales, getScaleBytes(),
                                          "teRuntimeGemm: read")) &&
           (!operand.factor ||
            checkRange(operand.factor, (operand.hasLineFactors ? lines : 1) * 4,
                       "teRuntimeGemm: read"));
  }

  void decode() {
    values.reserve(lines * depth);
    scales.reserve(lines * blocks);
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t k = 0; k < depth; ++k)
        values.push_back(loadCode(line, k));
      for (int64_t block = 0; block < blocks; ++block)
        scales.push_back(loadElement(operand.scales, operand.scaleFormat,
                                     getScaleOffset(line, block)));
    }
  }

  const float *getValues(int64_t line) const { return &values[line * depth]; }
  float getScale(int64_t line, int64_t block) const {
    return scales[line * blocks + block];
  }
  float getFactor(int64_t line) const {
    return loadElement(operand.factor, TE_FORMAT_F32,
                       operand.hasLineFactors ? line : 0);
  }

private:
  float loadCode(int64_t line, int64_t k) const {
    if (operand.format == TE_FORMAT_E2M1) {
      const auto *bytes = static_cast<const uint8_t *>(operand.codes);
      uint8_t pair = bytes[line * llvm::divideCeil(depth, 2) + k / 2];
      return numerics::decode(numerics::Format::E2M1,
                              k % 2 ? pair >> 4 : pair & 15);
    }
    return loadElement(operand.codes, operand.format,
                       operand.isLineMajor ? line * depth + k
                                           : k * lines + line);
  }

  int64_t pad(int64_t extent) const {
    return llvm::alignTo(extent, operand.scalePadding);
  }
  uint64_t getScaleBytes() const {
    uint64_t bytes = getBytes(operand.scaleFormat);
    switch (operand.scaleOrder) {
    case TE_SCALES_LINES_FIRST:
      return groups * pad(blocks) * bytes;
    case TE_SCALES_BLOCKS_FIRST:
      return blocks * pad(groups) * bytes;
    default:
      return llvm::divideCeil(groups, 128) * llvm::divideCeil(blocks, 4) * 512 *
             bytes;
    }
  }
  uint64_t getScaleOffset(int64_t line, int64_t block) const {
    int64_t group = line / operand.linesPerScale;
    switch (operand.scaleOrder) {
    case TE_SCALES_LINES_FIRST:
      return group * pad(blocks) + block;
    case TE_SCALES_BLOCKS_FIRST:
      return block * pad(groups) + group;
    default: {
      int64_t tile = group / 128 * llvm::divideCeil(blocks, 4) + block / 4;
      return tile * 512 + group % 32 * 16 + group % 128 / 32 * 4 + block % 4;
    }
    }
  }

  const TeGemmOperand &operand;
  int64_t lines, depth, blocks, groups;
  std::vector<float> values, scales;
};

class Product {
public:
  explicit Product(const TeGemm &gemm)
      : gemm(gemm), a(gemm.a, gemm.cols, gemm.depth),
        b(gemm.b, gemm.rows, gemm.depth) {}

  bool check() const {
    uint64_t count = gemm.rows * gemm.cols;
    auto checkOut = [&](const void *data, int64_t format) {
      return !data ||
             checkRange(data, count * getBytes(format), "teRuntimeGemm: write");
    };
    return a.check() && b.check() && checkOut(gemm.result, gemm.resultFormat) &&
           checkOut(gemm.preActivation, gemm.preActivationFormat) &&
           (!gemm.bias ||
            checkRange(gemm.bias, gemm.cols * getBytes(gemm.biasFormat),
                       "teRuntimeGemm: read"));
  }

  void run() {
    a.decode();
    b.decode();
    for (int64_t row = 0; row < gemm.rows; ++row)
      for (int64_t col = 0; col < gemm.cols; ++col)
        finish(row, col, getSum(row, col));
  }

private:
  float getSum(int64_t row, int64_t col) const {
    const float *rowValues = b.getValues(row), *colValues = a.getValues(col);
    auto addProducts = [&](int64_t first, int64_t end, float sum) {
      for (int64_t k = first; k < end; ++k)
        sum = std::fma(rowValues[k], colValues[k], sum);
      return sum;
    };
    if (!gemm.a.scales)
      return addProducts(0, gemm.depth, 0);
    float result = 0;
    for (int64_t first = 0; first < gemm.depth; first += gemm.a.block) {
      int64_t block = first / gemm.a.block;
      float sum =
          addProducts(first, std::min(first + gemm.a.block, gemm.depth), 0);
      result = std::fma(sum * b.getScale(row, block), a.getScale(col, block),
                        result);
    }
    return result;
  }

  bool hasLineFactors() const {
    return gemm.a.hasLineFactors || gemm.b.hasLineFactors;
  }

  float scale(float sum, int64_t row, int64_t col) const {
    if (!gemm.a.factor || !gemm.b.factor)
      return sum;
    float factorA = a.getFactor(col), factorB = b.getFactor(row);
    float reciprocal =
        1.0f / static_cast<float>(gemm.a.divisor * gemm.b.divisor);
    if (hasLineFactors()) {
      sum *= reciprocal;
      if (gemm.a.hasLineFactors && gemm.b.hasLineFactors)
        return sum * factorB * factorA;
      return sum * (factorB * factorA);
    }
    if (reciprocal == 1.0f)
      return sum * factorA * factorB;
    return sum * (factorA * factorB * reciprocal);
  }

  void finish(int64_t row, int64_t col, float sum) {
    uint64_t index = row * gemm.cols + col;
    bool isEmpty = gemm.depth == 0;
    float value = 0;
    if (!isEmpty) {
      value = scale(sum, row, col);
      if (gemm.accumulates && !hasLineFactors())
        value += loadElement(gemm.result, gemm.resultFormat, index);
      if (gemm.bias)
        value += loadElement(gemm.bias, gemm.biasFormat, col);
    }
    if (gemm.preActivation) {
      storeElement(gemm.preActivation, gemm.preActivationFormat, index, value);
      float inner = value * (0.79788456f + 0.03567741f * value * value);
      value = value * (0.5f + 0.5f * std::tanh(inner));
    }
    if (gemm.accumulates && isEmpty)
      return;
    if (gemm.accumulates && hasLineFactors()) {
      numerics::Format format = getFormat(gemm.resultFormat);
      value = numerics::decode(format, numerics::encode(format, value));
      value += loadElement(gemm.result, gemm.resultFormat, index);
    }
    storeElement(gemm.result, gemm.resultFormat, index, value);
  }

  const TeGemm &gemm;
  Lines a, b;
};
} // namespace

void teRuntimeGemm(const TeGemm *gemm, void *stream) {
  if (hasError() || gemm->rows == 0 || gemm->cols == 0)
    return;
  Product product(*gemm);
  if (!product.check())
    return;
  OpenScope open;
  product.run();
}
