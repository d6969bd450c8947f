//===- Arithmetic.h - f32 operations and views of the references -*- C++
//-*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_REFERENCE_ARITHMETIC_H
#define TE_TEST_REFERENCE_ARITHMETIC_H

#include "Reference.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace te::reference {

// One f32 operation each: f64 arithmetic on f32 operands, rounded once more, is
// the correctly rounded f32 result.
inline float add(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + b);
}
inline float subtract(float a, float b) {
  return static_cast<float>(static_cast<double>(a) - b);
}
inline float multiply(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * b);
}
inline float divide(float a, float b) {
  return static_cast<float>(static_cast<double>(a) / b);
}

/// The smaller one; of a NaN and a number, the number.
inline float smaller(float a, float b) {
  if (std::isnan(a))
    return b;
  return b < a ? b : a;
}

inline constexpr float maxF32 = std::numeric_limits<float>::max();

inline size_t divideUp(size_t value, size_t by) {
  return value / by + (value % by != 0);
}
inline size_t roundUp(size_t value, size_t to) {
  return divideUp(value, to) * to;
}

/// A matrix of f32 values.
struct Values {
  size_t rows = 0;
  size_t cols = 0;
  std::vector<float> data;

  Values(size_t rows, size_t cols)
      : rows(rows), cols(cols), data(rows * cols) {}

  float &at(size_t row, size_t col) { return data[row * cols + col]; }
  float at(size_t row, size_t col) const { return data[row * cols + col]; }

  Values transposed() const {
    Values result(cols, rows);
    for (size_t row = 0; row < rows; ++row)
      for (size_t col = 0; col < cols; ++col)
        result.at(col, row) = at(row, col);
    return result;
  }

  /// The largest absolute value of a rectangle cut to the matrix, from 0; NaN
  /// does not count.
  float amax(size_t row, size_t numRows, size_t col, size_t numCols) const {
    float result = 0;
    for (size_t r = row; r < row + numRows && r < rows; ++r)
      for (size_t c = col; c < col + numCols && c < cols; ++c)
        if (std::fabs(at(r, c)) > result)
          result = std::fabs(at(r, c));
    return result;
  }
  float amax() const { return amax(0, rows, 0, cols); }
};

/// Element `index` of a buffer; not for E2M1.
inline uint32_t loadCode(DType dtype, const std::vector<uint8_t> &bytes,
                         size_t index) {
  size_t size = getStoredSize(dtype);
  uint32_t code = 0;
  for (size_t byte = 0; byte < size; ++byte)
    code |= static_cast<uint32_t>(bytes[index * size + byte]) << (8 * byte);
  return code;
}

inline void storeCode(DType dtype, std::vector<uint8_t> &bytes, size_t index,
                      uint32_t code) {
  size_t size = getStoredSize(dtype);
  for (size_t byte = 0; byte < size; ++byte)
    bytes[index * size + byte] = static_cast<uint8_t>(code >> (8 * byte));
}

/// The values of a matrix.
inline Values load(const Matrix &matrix) {
  Values values(matrix.rows, matrix.cols);
  for (size_t i = 0; i < values.data.size(); ++i)
    values.data[i] =
        decode(matrix.dtype, loadCode(matrix.dtype, matrix.bytes, i));
  return values;
}

/// The values in `output`, each rounded once.
inline std::vector<uint8_t> store(const Values &values, DType output) {
  std::vector<uint8_t> bytes(values.data.size() * getStoredSize(output));
  for (size_t i = 0; i < values.data.size(); ++i)
    storeCode(output, bytes, i, encode(output, values.data[i]));
  return bytes;
}

/// A zeroed inner tensor.
inline InnerTensor makeInner(std::string name, DType dtype,
                             std::vector<size_t> shape,
                             std::vector<size_t> validShape) {
  InnerTensor inner{
      std::move(name), dtype, std::move(shape), std::move(validShape), {}};
  size_t size = getStoredSize(dtype);
  for (size_t dim : inner.shape)
    size *= dim;
  inner.bytes.resize(size);
  return inner;
}

/// A one-element F32 inner tensor.
inline InnerTensor makeScalar(std::string name, float value) {
  InnerTensor inner = makeInner(std::move(name), DType::F32, {1}, {1});
  storeCode(DType::F32, inner.bytes, 0, encode(DType::F32, value));
  return inner;
}

/// Access to a two-dimensional inner tensor by row and column, one code each.
inline void setCode(InnerTensor &inner, size_t row, size_t col, uint32_t code) {
  storeCode(inner.dtype, inner.bytes, row * inner.shape[1] + col, code);
}
inline uint32_t getCode(const InnerTensor &inner, size_t row, size_t col) {
  return loadCode(inner.dtype, inner.bytes, row * inner.shape[1] + col);
}
inline float getValue(const InnerTensor &inner, size_t row, size_t col) {
  return decode(inner.dtype, getCode(inner, row, col));
}

/// The largest finite value of E4M3 or E5M2.
inline float getLargest(DType element) {
  return decode(element, element == DType::E4M3 ? 0x7E : 0x7B);
}

} // namespace te::reference

#endif // TE_TEST_REFERENCE_ARITHMETIC_H
