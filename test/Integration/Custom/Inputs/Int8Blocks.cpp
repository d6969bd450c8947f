//===- Int8Blocks.cpp - a format that te-mlir does not have ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the custom quantizer in int8_blocks.py: i8 codes and an f32
// scale for each block of 32 columns. Tensors are device memory, so they are
// copied; the work is done here.
//
//===----------------------------------------------------------------------===//

#include "te/Runtime/te_runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static constexpr int64_t blockSize = 32;

namespace {
struct BF16 {
  uint16_t bits;
};

/// The host's copy of `count` elements in device memory.
template <typename T>
class HostCopy {
public:
  HostCopy(int64_t count, void *stream) : elements(count), stream(stream) {}

  void read(const void *device) {
    mgpuMemcpy(elements.data(), const_cast<void *>(device), getSize(), stream);
    mgpuStreamSynchronize(stream);
  }
  void write(void *device) {
    mgpuMemcpy(device, elements.data(), getSize(), stream);
    mgpuStreamSynchronize(stream);
  }
  T &operator[](int64_t index) { return elements[index]; }

private:
  size_t getSize() const { return elements.size() * sizeof(T); }

  std::vector<T> elements;
  void *stream;
};
} // namespace

static float widen(float value) { return value; }
static float widen(BF16 value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

template <typename T>
static void quantize(const void *input, void *codes, void *scales, int64_t rows,
                     int64_t cols, void *stream) {
  teRuntimeCheck(rows > 0 && cols > 0, "int8_blocks: called with no elements");
  int64_t blocks = (cols + blockSize - 1) / blockSize;
  HostCopy<T> x(rows * cols, stream);
  HostCopy<int8_t> code(rows * cols, stream);
  HostCopy<float> scale(rows * blocks, stream);
  x.read(input);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t first = row * cols + block * blockSize;
      int64_t end = std::min(first + blockSize, (row + 1) * cols);
      float amax = 0;
      for (int64_t i = first; i < end; ++i)
        amax = std::max(amax, std::fabs(widen(x[i])));
      float step = amax == 0 ? 1 : amax / 127;
      scale[row * blocks + block] = step;
      for (int64_t i = first; i < end; ++i)
        code[i] = static_cast<int8_t>(std::nearbyint(widen(x[i]) / step));
    }
  code.write(codes);
  scale.write(scales);
}

extern "C" {
TE_RUNTIME_EXPORT void int8_blocks_quantize(const void *input, void *codes,
                                            void *scales, int64_t rows,
                                            int64_t cols, void *stream) {
  quantize<float>(input, codes, scales, rows, cols, stream);
}

TE_RUNTIME_EXPORT void int8_blocks_quantize_bf16(const void *input, void *codes,
                                                 void *scales, int64_t rows,
                                                 int64_t cols, void *stream) {
  quantize<BF16>(input, codes, scales, rows, cols, stream);
}

TE_RUNTIME_EXPORT void int8_blocks_dequantize(const void *codes,
                                              const void *scales, void *output,
                                              int64_t rows, int64_t cols,
                                              void *stream) {
  teRuntimeCheck(rows > 0 && cols > 0, "int8_blocks: called with no elements");
  int64_t blocks = (cols + blockSize - 1) / blockSize;
  HostCopy<int8_t> code(rows * cols, stream);
  HostCopy<float> scale(rows * blocks, stream);
  HostCopy<float> y(rows * cols, stream);
  code.read(codes);
  scale.read(scales);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      y[row * cols + col] =
          code[row * cols + col] * scale[row * blocks + col / blockSize];
  y.write(output);
}
}
