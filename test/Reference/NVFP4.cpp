//===- NVFP4.cpp - four-bit blocks in all their modes ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both directions are one procedure on lines: the rows of the input, or the
// rows of its transpose. Blocks are 16 consecutive values of a line, in two
// dimensions 16 such lines.
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"

#include <algorithm>
#include <array>

namespace te::reference {

//===----------------------------------------------------------------------===//
// The order of random words (numerics: 5.9)
//===----------------------------------------------------------------------===//

namespace {

enum class KernelKind : uint8_t { Tuned1D, TwoDim, Fallback };

/// The words of one direction: for each line, one for four consecutive values.
struct LineWords {
  size_t lines = 0;
  size_t wordsPerLine = 0;
  std::vector<uint32_t> data;

  LineWords() = default;
  LineWords(size_t lines, size_t length)
      : lines(lines), wordsPerLine(divideUp(length, 4)),
        data(lines * wordsPerLine) {}

  void set(size_t line, size_t position, uint32_t word) {
    if (line < lines && position / 4 < wordsPerLine)
      data[line * wordsPerLine + position / 4] = word;
  }

  uint8_t getByte(size_t line, size_t position) const {
    uint32_t word = data[line * wordsPerLine + position / 4];
    return static_cast<uint8_t>(word >> (position % 4 * 8));
  }
};

struct Words {
  LineWords rowwise;
  LineWords columnwise;
};

/// Walks the chunks of 128x128 values and the threads of a kernel, each of
/// which draws its own stream, and gives every four values their word.
class WordWalk {
public:
  WordWalk(size_t rows, size_t cols, Usage usage, uint64_t seed,
           uint64_t offset)
      : rows(rows), cols(cols), usage(usage), seed(seed), offset(offset) {
    if (usage.rowwise)
      words.rowwise = LineWords(rows, cols);
    if (usage.columnwise)
      words.columnwise = LineWords(cols, rows);
  }

  Words run(KernelKind kind) {
    unsigned threads = kind == KernelKind::Fallback ? 256 : 128;
    size_t chunksPerRow = divideUp(cols, 128);
    for (chunkRow = 0; chunkRow * 128 < rows; ++chunkRow)
      for (chunkCol = 0; chunkCol < chunksPerRow; ++chunkCol)
        for (thread = 0; thread < threads; ++thread) {
          subsequence = thread + threads * (chunkCol + chunkRow * chunksPerRow);
          if (kind == KernelKind::Tuned1D)
            walkTuned1D();
          else if (kind == KernelKind::TwoDim)
            walkTwoDim();
          else
            walkFallback();
        }
    return std::move(words);
  }

private:
  /// Word `n` of this thread serves four values of the row from a column on;
  /// both count from the start of the chunk.
  void setRowwise(unsigned n, unsigned row, unsigned col) {
    if (usage.rowwise)
      words.rowwise.set(chunkRow * 128 + row, chunkCol * 128 + col,
                        getRandomWord(seed, subsequence, offset, n));
  }
  /// The same for four values of a column from a row on.
  void setColumnwise(unsigned n, unsigned col, unsigned row) {
    if (usage.columnwise)
      words.columnwise.set(chunkCol * 128 + col, chunkRow * 128 + row,
                           getRandomWord(seed, subsequence, offset, n));
  }

  unsigned getWordsPerStage() const {
    return usage.rowwise && usage.columnwise ? 16 : 8;
  }

  /// Half `w` of a row's block comes first or last by the half of the warp.
  unsigned getHalf(unsigned w) const { return (w + thread % 32 / 16) * 8 % 16; }

  void walkTuned1D() {
    for (unsigned stage = 0; stage < 4; ++stage) {
      unsigned top = stage / 2 * 64, left = stage % 2 * 64;
      unsigned n = getWordsPerStage() * stage;
      for (unsigned it = 0; it < 2; ++it)
        for (unsigned w = 0; w < 2; ++w)
          for (unsigned h = 0; h < 2; ++h)
            setRowwise(n++, top + thread / 4 + 32 * it,
                       left + thread % 4 * 16 + getHalf(w) + 4 * h);
      // These come after the rowwise words of the stage, drawn or not.
      n = 16 * stage + 8;
      unsigned block = (thread % 32 / 2 + thread / 32) % 4;
      for (unsigned w = 0; w < 2; ++w)
        for (unsigned e = 0; e < 2; ++e)
          for (unsigned h = 0; h < 2; ++h)
            setColumnwise(n++, left + thread % 32 * 2 + w,
                          top + 16 * block + 8 * e + 4 * h);
    }
  }

  void walkTwoDim() {
    for (unsigned stage = 0; stage < 4; ++stage) {
      unsigned top = stage * 32;
      unsigned n = getWordsPerStage() * stage;
      if (usage.columnwise)
        for (unsigned it = 0; it < 2; ++it)
          for (unsigned e = 0; e < 4; ++e)
            setColumnwise(n++, thread, top + 16 * it + 4 * e);
      for (unsigned it = 0; it < 2; ++it)
        for (unsigned w = 0; w < 2; ++w)
          for (unsigned h = 0; h < 2; ++h)
            setRowwise(n++, top + thread / 8 + 16 * it,
                       thread % 8 * 16 + getHalf(w) + 4 * h);
    }
  }

  void walkFallback() {
    unsigned n = 0;
    if (usage.rowwise)
      for (unsigned it = 0; it < 4; ++it)
        for (unsigned h = 0; h < 4; ++h)
          setRowwise(n++, thread / 8 + 32 * it, thread % 8 * 16 + 4 * h);
    for (unsigned it = 0; it < 2; ++it)
      for (unsigned k = 0; k < 2; ++k)
        for (unsigned h = 0; h < 4; ++h)
          setColumnwise(n++, 2 * (thread / 8 + 32 * it) + k,
                        thread % 8 * 16 + 4 * h);
  }

  size_t rows, cols;
  Usage usage;
  uint64_t seed, offset;
  Words words;
  size_t chunkRow = 0, chunkCol = 0;
  unsigned thread = 0;
  uint64_t subsequence = 0;
};

} // namespace

/// Which kernel quantizes a tensor (numerics: 5.4).
static KernelKind getKernelKind(DType input, size_t rows, size_t cols,
                                Usage usage, bool with2D) {
  bool isTuned = input == DType::BF16 && rows % 32 == 0 && cols % 32 == 0 &&
                 (usage.rowwise || with2D);
  if (!isTuned)
    return KernelKind::Fallback;
  return with2D ? KernelKind::TwoDim : KernelKind::Tuned1D;
}

static Words getWords(DType input, size_t rows, size_t cols, Usage usage,
                      bool with2D, uint64_t seed, uint64_t offset) {
  return WordWalk(rows, cols, usage, seed, offset)
      .run(getKernelKind(input, rows, cols, usage, with2D));
}

//===----------------------------------------------------------------------===//
// Random Hadamard transform (numerics: 5.6)
//===----------------------------------------------------------------------===//

Matrix transformColumns(const Matrix &input, bool withRandomSignMask) {
  static constexpr std::array<int, 16> signs = {1,  1,  1,  -1, 1,  -1, -1, -1,
                                                -1, -1, -1, 1,  -1, 1,  -1, -1};
  // The matrix of order 2n is that of order n four times, the last one negated.
  int hadamard[16][16] = {{1}};
  for (int order = 1; order < 16; order *= 2)
    for (int row = 0; row < order; ++row)
      for (int col = 0; col < order; ++col) {
        hadamard[row + order][col] = hadamard[row][col];
        hadamard[row][col + order] = hadamard[row][col];
        hadamard[row + order][col + order] = -hadamard[row][col];
      }

  Values lines = load(input).transposed();
  Matrix result;
  result.dtype = DType::BF16;
  result.rows = lines.rows;
  result.cols = lines.cols;
  result.bytes.resize(lines.data.size() * 2);
  for (size_t line = 0; line < lines.rows; ++line)
    for (size_t col = 0; col < lines.cols; ++col) {
      size_t group = col / 16 * 16;
      // Starting from +0 makes an exact zero sum +0.
      double sum = 0;
      for (size_t i = 0; i < 16 && group + i < lines.cols; ++i) {
        int sign = hadamard[i][col % 16] * (withRandomSignMask ? signs[i] : 1);
        sum += sign * static_cast<double>(lines.at(line, group + i));
      }
      storeCode(DType::BF16, result.bytes, line * lines.cols + col,
                encode(DType::BF16, sum / 4));
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

/// A block's stored scale and what its values are multiplied with.
struct BlockScale {
  uint8_t code;
  float factor;
};

/// One direction of a tensor on its way to codes.
class LineQuantizer {
public:
  LineQuantizer(const NVFP4Options &options, const Values &lines,
                std::vector<float> amaxes, const LineWords *words)
      : options(options), lines(lines), amaxes(std::move(amaxes)),
        words(words) {}

  /// Adds the data and the scales.
  void run(InnerTensors &inner, const std::string &direction) {
    size_t blocks = divideUp(lines.cols, 16);
    std::vector<size_t> dataShape = {lines.rows, divideUp(lines.cols, 2)};
    InnerTensor data =
        makeInner(direction + "_data", DType::E2M1, dataShape, dataShape);
    InnerTensor scales = makeInner(
        direction + "_scale_inv", DType::E4M3,
        {roundUp(lines.rows, 128), roundUp(blocks, 4)}, {lines.rows, blocks});
    size_t blockLines = options.with2D ? 16 : 1;
    for (size_t line = 0; line < lines.rows; line += blockLines)
      for (size_t block = 0; block < blocks; ++block) {
        BlockScale scale = chooseScale(line, blockLines, block * 16);
        size_t end = std::min(line + blockLines, lines.rows);
        for (size_t l = line; l < end; ++l) {
          setCode(scales, l, block, scale.code);
          for (size_t c = block * 16; c < block * 16 + 16 && c < lines.cols;
               ++c)
            data.bytes[l * dataShape[1] + c / 2] |=
                getElement(l, c, scale.factor) << (c % 2 * 4);
        }
      }
    inner.push_back(std::move(data));
    inner.push_back(options.swizzledScales
                        ? swizzleScales(scales, BlockDim::Last)
                        : std::move(scales));
  }

private:
  float getAmax(size_t line) const {
    return amaxes.size() == 1 ? amaxes[0] : amaxes[line];
  }

  float getEncodeScale(float amax) const {
    float scale = smaller(divide(6.0f * options.e4m3Max, amax), maxF32);
    return amax == 0 || scale == 0 ? 1 : scale;
  }

  /// A block's scale from its code (numerics: 5.2).
  static BlockScale makeScale(uint32_t code, float encodeScale) {
    float decodeScale = divide(1, encodeScale);
    float product = multiply(decode(DType::E4M3, code), decodeScale);
    return {static_cast<uint8_t>(code), smaller(divide(1, product), maxF32)};
  }

  BlockScale chooseScale(size_t line, size_t numLines, size_t col) const {
    float blockAmax = lines.amax(line, numLines, col, 16);
    float amax = getAmax(line);
    float encodeScale = getEncodeScale(amax);
    if (!options.use4over6) {
      float sixth = divide(1, 6);
      float scaled = multiply(blockAmax, multiply(encodeScale, sixth));
      return makeScale(encode(DType::E4M3, smaller(scaled, maxF32)),
                       encodeScale);
    }
    float base = multiply(divide(blockAmax, 6), encodeScale);
    BlockScale mapTo4 = makeScale(
        encode(DType::E4M3, smaller(multiply(base, 1.5f), 448)), encodeScale);
    BlockScale mapTo6 =
        makeScale(encode(DType::E4M3, smaller(base, 448)), encodeScale);
    float error4 = getError(line, numLines, col, mapTo4, amax);
    float error6 = getError(line, numLines, col, mapTo6, amax);
    return error4 < error6 ? mapTo4 : mapTo6;
  }

  /// The error of a candidate over a block (numerics: 5.7).
  float getError(size_t line, size_t numLines, size_t col, BlockScale scale,
                 float amax) const {
    std::array<float, 16> errors = {};
    for (size_t l = 0; l < numLines && line + l < lines.rows; ++l)
      for (size_t c = col; c < col + 16 && c < lines.cols; ++c) {
        float x = lines.at(line + l, c);
        uint32_t code = encode(DType::E2M1, multiply(x, scale.factor));
        float value = multiply(decode(DType::E2M1, code),
                               decode(DType::E4M3, scale.code));
        value = divide(multiply(value, amax), 6.0f * options.e4m3Max);
        float difference = subtract(value, x);
        errors[l] = add(errors[l], options.errorMode == ErrorMode::MAE
                                       ? std::fabs(difference)
                                       : multiply(difference, difference));
      }
    if (numLines == 1)
      return errors[0];
    for (size_t half = 8; half > 0; half /= 2)
      for (size_t l = 0; l < half; ++l)
        errors[l] = add(errors[l], errors[l + half]);
    return errors[0];
  }

  uint32_t getElement(size_t line, size_t col, float factor) const {
    float scaled = multiply(lines.at(line, col), factor);
    if (words)
      return encodeE2M1Stochastic(scaled, words->getByte(line, col));
    return encode(DType::E2M1, scaled);
  }

  const NVFP4Options &options;
  const Values &lines;
  /// One for all lines or one a line.
  std::vector<float> amaxes;
  const LineWords *words;
};

} // namespace

static InnerTensor makeAmax(std::string name,
                            const std::vector<float> &amaxes) {
  InnerTensor inner =
      makeInner(std::move(name), DType::F32, {amaxes.size()}, {amaxes.size()});
  for (size_t i = 0; i < amaxes.size(); ++i)
    storeCode(DType::F32, inner.bytes, i, encode(DType::F32, amaxes[i]));
  return inner;
}

InnerTensors quantizeNVFP4(const Matrix &input, const NVFP4Options &options) {
  Values rowLines = load(input);
  Values columnLines =
      options.withRHT
          ? load(transformColumns(input, options.withRandomSignMask))
          : rowLines.transposed();

  auto getAmaxes = [&](const Values &lines, std::optional<float> given) {
    std::vector<float> amaxes;
    if (options.rowScaled)
      for (size_t line = 0; line < lines.rows; ++line)
        amaxes.push_back(lines.amax(line, 1, 0, lines.cols));
    else
      amaxes.push_back(given ? *given : lines.amax());
    return amaxes;
  };
  std::optional<float> columnwiseGiven = options.amaxColumnwise;
  if (!columnwiseGiven && !options.withRHT)
    columnwiseGiven = options.amaxRowwise;
  std::vector<float> amaxRowwise = getAmaxes(rowLines, options.amaxRowwise);
  std::vector<float> amaxColumnwise = getAmaxes(columnLines, columnwiseGiven);

  Words words;
  if (options.stochasticRounding) {
    if (!options.withRHT) {
      words = getWords(input.dtype, input.rows, input.cols, options.usage,
                       options.with2D, options.seed, options.offset);
    } else {
      Usage rowwiseOnly = {true, false};
      words = getWords(input.dtype, input.rows, input.cols, rowwiseOnly,
                       options.with2D, options.seed, options.offset);
      words.columnwise =
          getWords(DType::BF16, input.cols, input.rows, rowwiseOnly,
                   /*with2D=*/false, options.seed, options.offset + 1024)
              .rowwise;
    }
  }

  InnerTensors inner;
  if (options.usage.rowwise)
    LineQuantizer(options, rowLines, amaxRowwise,
                  options.stochasticRounding ? &words.rowwise : nullptr)
        .run(inner, "rowwise");
  if (options.usage.columnwise)
    LineQuantizer(options, columnLines, amaxColumnwise,
                  options.stochasticRounding ? &words.columnwise : nullptr)
        .run(inner, "columnwise");
  if (options.usage.rowwise)
    inner.push_back(makeAmax("amax_rowwise", amaxRowwise));
  if (options.usage.columnwise)
    inner.push_back(makeAmax("amax_columnwise", amaxColumnwise));
  return inner;
}

std::vector<uint8_t> dequantizeNVFP4(const InnerTensors &inner, size_t rows,
                                     size_t cols,
                                     const NVFP4DequantizeOptions &options,
                                     DType output) {
  const InnerTensor &data = *find(inner, "rowwise_data");
  const InnerTensor &amax = *find(inner, "amax_rowwise");
  InnerTensor scales = *find(inner, "rowwise_scale_inv");
  if (options.swizzledScales)
    scales = unswizzleScales(scales, BlockDim::Last, scales.shape);
  float reciprocal = divide(1, 6.0f * options.e4m3Max);
  Values values(rows, cols);
  for (size_t row = 0; row < rows; ++row) {
    float rowAmax = decode(DType::F32, loadCode(DType::F32, amax.bytes,
                                                options.rowScaled ? row : 0));
    for (size_t col = 0; col < cols; ++col) {
      uint32_t pair = getCode(data, row, col / 2);
      float value = decode(DType::E2M1, col % 2 ? pair >> 4 : pair & 0xF);
      float scale = getValue(scales, row, col / 16);
      values.at(row, col) =
          multiply(value, multiply(multiply(scale, rowAmax), reciprocal));
    }
  }
  return store(values, output);
}

} // namespace te::reference
