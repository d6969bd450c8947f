//===- Reference.h - what every family must compute ------------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole-tensor references for tests, written from docs/numerics.md alone. They
// share no code with lib/Numerics nor with any kernel, and reach the same bytes
// another way: element conversions search tables of exact values, and every f32
// operation is done in f64 and rounded once (which is the same: f64 has more
// than twice the bits of f32 and two to spare).
//
// Inner tensors come in canonical order, those of an absent direction left out,
// flattened to two dimensions: M rows by K columns, or K by M where columnwise
// data is transposed. Compact scales are zero outside their valid shape, where
// the rules define nothing. A block cut by an edge takes missing elements as 0.
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_REFERENCE_REFERENCE_H
#define TE_TEST_REFERENCE_REFERENCE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace te::reference {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Element types. An E2M1 tensor stores two values a byte, the even one in the
/// low nibble; its shapes count bytes.
enum class DType : uint8_t { F32, BF16, F16, E4M3, E5M2, E2M1, E8M0 };

/// Bytes of one stored element; of E2M1, of the two in a byte.
size_t getStoredSize(DType dtype);

/// The code nearest to `value` by the rules of `dtype` (numerics: 1.1 to 1.3
/// and 1.6), rounded once. E2M1 gives one nibble.
uint32_t encode(DType dtype, double value);

/// The value of a code. E2M1 takes one nibble.
float decode(DType dtype, uint32_t code);

/// Whether `code` is a NaN of `dtype`.
bool isNaN(DType dtype, uint32_t code);

/// What stochastic rounding to E2M1 makes of `value` with eight random bits, as
/// a code (numerics: 5.9).
uint8_t encodeE2M1Stochastic(float value, uint8_t randomBits);

/// Word number `index` of a random stream (numerics: 5.9).
uint32_t getRandomWord(uint64_t seed, uint64_t subsequence, uint64_t offset,
                       uint64_t index, unsigned rounds = 10);

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A tensor to quantize, flattened: raw little-endian elements in C order. The
/// dtype is F32, BF16 or F16.
struct Matrix {
  DType dtype = DType::F32;
  size_t rows = 0;
  size_t cols = 0;
  std::vector<uint8_t> bytes;
};

/// One buffer of a quantized tensor.
struct InnerTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<size_t> shape;
  /// The corner that is defined; the same as `shape` without padding.
  std::vector<size_t> validShape;
  std::vector<uint8_t> bytes;
};

using InnerTensors = std::vector<InnerTensor>;

/// The inner tensor called `name`, or null.
const InnerTensor *find(const InnerTensors &inner, const std::string &name);

/// Empty if `bytes` equals `expected` on its valid corner, any NaN equal to any
/// other NaN of the type; else a sentence on the count of differences and the
/// first of them.
std::string describeDifference(const InnerTensor &expected,
                               const std::vector<uint8_t> &bytes);

struct Usage {
  bool rowwise = true;
  bool columnwise = true;
};

//===----------------------------------------------------------------------===//
// Producers in front of a quantization (numerics: 4.5)
//===----------------------------------------------------------------------===//

enum class Activation : uint8_t { Relu, Silu, Gelu };

/// The activation, computed in f64 and rounded to f32; `roundToInput` rounds
/// that once more to the dtype of `input`, else the result is F32.
Matrix applyActivation(Activation activation, const Matrix &input,
                       bool roundToInput);

//===----------------------------------------------------------------------===//
// Per-tensor FP8 (numerics: 2)
//===----------------------------------------------------------------------===//

struct PerTensorOptions {
  DType element = DType::E4M3;
  Usage usage;
  /// Whether `data` stands for both directions and `transpose` never exists.
  bool nonTNGemm = false;
};

struct CurrentScalingOptions : PerTensorOptions {
  bool powerOfTwo = false;
  float epsilon = 0;
  /// Replaces the amax of the input.
  std::optional<float> amax;
};

struct DelayedScalingOptions : PerTensorOptions {
  float scale = 1;
};

struct PerTensorResult {
  InnerTensors inner;
  /// The largest absolute value, of the input before scaling.
  float amax = 0;
  /// The scale that was used.
  float scale = 1;
};

PerTensorResult quantizeCurrent(const Matrix &input,
                                const CurrentScalingOptions &options);
PerTensorResult quantizeDelayed(const Matrix &input,
                                const DelayedScalingOptions &options);

enum class AmaxAlgorithm : uint8_t { Max, MostRecent };

struct ScaleUpdateOptions {
  DType element = DType::E4M3;
  AmaxAlgorithm algorithm = AmaxAlgorithm::Max;
  int margin = 0;
  bool keepOnZeroAmax = false;
};

struct ScaleUpdate {
  std::vector<float> history;
  float scale = 1;
};

/// The history and scale after a step whose casts saw `amax`. A zero amax means
/// that slot 0 of the history holds it.
ScaleUpdate updateScale(std::vector<float> history, float amax, float scale,
                        const ScaleUpdateOptions &options);

/// From `data`, else from `transpose`. Returns rows x cols elements of
/// `output`.
std::vector<uint8_t> dequantizePerTensor(const InnerTensors &inner, size_t rows,
                                         size_t cols, DType output);

//===----------------------------------------------------------------------===//
// FP8 block scaling (numerics: 3)
//===----------------------------------------------------------------------===//

struct FP8BlockOptions {
  DType element = DType::E4M3;
  Usage usage;
  /// 1 for blocks of 1x128 (columnwise 128x1), 2 for 128x128.
  int blockDim = 2;
  bool powerOfTwo = true;
  float epsilon = 0;
};

InnerTensors quantizeFP8Block(const Matrix &input,
                              const FP8BlockOptions &options);

/// From the rowwise direction, else from the columnwise one.
std::vector<uint8_t> dequantizeFP8Block(const InnerTensors &inner, size_t rows,
                                        size_t cols, int blockDim,
                                        DType output);

/// The scales of one direction as E8M0 codes in GEMM order, all of the buffer
/// defined (numerics: 3.4). `storedRows` by `storedCols` is the shape of that
/// direction's data.
InnerTensor convertFP8BlockScales(const InnerTensor &scaleInv,
                                  size_t storedRows, size_t storedCols,
                                  int blockDim);

//===----------------------------------------------------------------------===//
// MXFP8 (numerics: 4)
//===----------------------------------------------------------------------===//

struct MXFP8Options {
  DType element = DType::E4M3;
  Usage usage;
  bool with2D = false;
  bool swizzledScales = false;
};

InnerTensors quantizeMXFP8(const Matrix &input, const MXFP8Options &options);

/// From the rowwise direction, else from the columnwise one.
std::vector<uint8_t> dequantizeMXFP8(const InnerTensors &inner, size_t rows,
                                     size_t cols, bool swizzledScales,
                                     DType output);

//===----------------------------------------------------------------------===//
// NVFP4 (numerics: 5)
//===----------------------------------------------------------------------===//

enum class ErrorMode : uint8_t { MAE, MSE };

struct NVFP4Options {
  Usage usage;
  bool with2D = false;
  /// Random Hadamard transform of the columnwise direction; the input is BF16.
  bool withRHT = false;
  bool withRandomSignMask = true;
  bool rowScaled = false;
  bool use4over6 = false;
  ErrorMode errorMode = ErrorMode::MAE;
  /// 448 or 256.
  int e4m3Max = 448;
  bool stochasticRounding = false;
  uint64_t seed = 0;
  uint64_t offset = 0;
  bool swizzledScales = false;
  /// Replace the amaxes of the input. Without a transform the columnwise one
  /// defaults to the rowwise one.
  std::optional<float> amaxRowwise;
  std::optional<float> amaxColumnwise;
};

/// With stochastic rounding and the transform, the columnwise direction is a
/// rowwise quantization of the transformed transpose, whose stream starts 1024
/// draws later.
InnerTensors quantizeNVFP4(const Matrix &input, const NVFP4Options &options);

/// The transformed transpose, K rows by M columns of BF16 (numerics: 5.6).
Matrix transformColumns(const Matrix &input, bool withRandomSignMask);

struct NVFP4DequantizeOptions {
  bool rowScaled = false;
  int e4m3Max = 448;
  bool swizzledScales = false;
};

/// From the rowwise direction, which must be there.
std::vector<uint8_t> dequantizeNVFP4(const InnerTensors &inner, size_t rows,
                                     size_t cols,
                                     const NVFP4DequantizeOptions &options,
                                     DType output);

//===----------------------------------------------------------------------===//
// Identity, scale order
//===----------------------------------------------------------------------===//

InnerTensors quantizeIdentity(const Matrix &input);

/// Which dimension of a scale tensor counts blocks: the last one, except for
/// the columnwise scales of MXFP8, whose data is not transposed.
enum class BlockDim : uint8_t { Last, First };

/// Compact scales in GEMM order, padding zeroed; the shape stays, and all of it
/// is valid (numerics: 4.4).
InnerTensor swizzleScales(const InnerTensor &compact, BlockDim blockDim);

/// The inverse: compact scales with the given valid shape.
InnerTensor unswizzleScales(const InnerTensor &swizzled, BlockDim blockDim,
                            std::vector<size_t> validShape);

} // namespace te::reference

#endif // TE_TEST_REFERENCE_REFERENCE_H
