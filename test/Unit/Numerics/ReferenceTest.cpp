//===- ReferenceTest.cpp - the references on worked examples --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The examples of docs/numerics.md section 10, and what the golden cases do not
// hold: cut blocks, empty tensors, GEMM-ready scales of FP8 blocks.
//
//===----------------------------------------------------------------------===//

#include "Reference/Reference.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace te::reference;

namespace {

using Bytes = std::vector<uint8_t>;

Matrix makeBF16(size_t rows, size_t cols, const std::vector<uint16_t> &codes) {
  Matrix matrix{DType::BF16, rows, cols, Bytes(2 * rows * cols)};
  for (size_t i = 0; i < codes.size(); ++i) {
    matrix.bytes[2 * i] = static_cast<uint8_t>(codes[i]);
    matrix.bytes[2 * i + 1] = static_cast<uint8_t>(codes[i] >> 8);
  }
  return matrix;
}

/// Random bf16 values around 1, some of them zero.
Matrix makeRandom(size_t rows, size_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> codes(rows * cols);
  for (uint16_t &code : codes)
    code = random() % 8 == 0 ? 0
                             : static_cast<uint16_t>(0x3E80 + random() % 0x200 +
                                                     (random() % 2 << 15));
  return makeBF16(rows, cols, codes);
}

std::vector<uint32_t> getWords(const Bytes &bytes, size_t size) {
  std::vector<uint32_t> words(bytes.size() / size);
  for (size_t i = 0; i < bytes.size(); ++i)
    words[i / size] |= static_cast<uint32_t>(bytes[i]) << i % size * 8;
  return words;
}

const Bytes &getBytes(const InnerTensors &inner, const std::string &name) {
  const InnerTensor *tensor = find(inner, name);
  static const Bytes none;
  EXPECT_TRUE(tensor) << name;
  return tensor ? tensor->bytes : none;
}

using Words = std::vector<uint32_t>;

//===----------------------------------------------------------------------===//
// Section 10
//===----------------------------------------------------------------------===//

TEST(Reference, CurrentScaling) {
  Matrix input = makeBF16(
      1, 8, {0x3F80, 0xC020, 0x3E9A, 0x3BE5, 0x8000, 0x4040, 0xB8D2, 0x0000});
  CurrentScalingOptions options;
  PerTensorResult result = quantizeCurrent(input, options);
  EXPECT_EQ(result.amax, 3);
  EXPECT_EQ(getBytes(result.inner, "data"),
            (Bytes{0x71, 0xFC, 0x63, 0x38, 0x80, 0x7E, 0x88, 0x00}));
  EXPECT_EQ(getBytes(result.inner, "transpose"),
            getBytes(result.inner, "data"));
  EXPECT_EQ(getWords(getBytes(result.inner, "scale_inv"), 4),
            Words{0x3BDB6DB7});
  EXPECT_EQ(
      getWords(dequantizePerTensor(result.inner, 1, 8, DType::BF16), 2),
      (Words{0x3F77, 0xC025, 0x3E97, 0x3BDB, 0x8000, 0x4040, 0xB8DB, 0x0000}));

  options.powerOfTwo = true;
  result = quantizeCurrent(input, options);
  EXPECT_EQ(getBytes(result.inner, "data"),
            (Bytes{0x70, 0xFA, 0x62, 0x36, 0x80, 0x7C, 0x87, 0x00}));

  options.element = DType::E5M2;
  result = quantizeCurrent(input, options);
  EXPECT_EQ(getBytes(result.inner, "data"),
            (Bytes{0x74, 0xF9, 0x6D, 0x57, 0x80, 0x7A, 0xBF, 0x00}));

  options.powerOfTwo = false;
  result = quantizeCurrent(input, options);
  EXPECT_EQ(getBytes(result.inner, "data"),
            (Bytes{0x75, 0xFA, 0x6E, 0x58, 0x80, 0x7B, 0xC0, 0x00}));

  options.nonTNGemm = true;
  options.usage.rowwise = false;
  result = quantizeCurrent(input, options);
  EXPECT_TRUE(find(result.inner, "data"));
  EXPECT_FALSE(find(result.inner, "transpose"));
}

TEST(Reference, ScaleUpdate) {
  ScaleUpdateOptions options;
  ScaleUpdate update = updateScale({0, 2, 8, 1}, 4, 1, options);
  EXPECT_EQ(update.history, (std::vector<float>{0, 8, 1, 4}));
  EXPECT_EQ(update.scale, 56);
  options.margin = 1;
  EXPECT_EQ(updateScale({0, 2, 8, 1}, 4, 1, options).scale, 28);
  options.margin = 0;
  options.algorithm = AmaxAlgorithm::MostRecent;
  EXPECT_EQ(updateScale({4, 2, 8, 1}, 0, 1, options).scale, 112);
}

TEST(Reference, FP8Block) {
  std::vector<uint16_t> codes(128);
  codes[0] = 0x3F80;
  codes[1] = 0xC040;
  codes[2] = 0x3DCD;
  codes[3] = 0x40A0;
  codes[127] = 0xBCA4;
  Matrix input = makeBF16(1, 128, codes);
  FP8BlockOptions options;
  options.blockDim = 1;
  options.usage.columnwise = false;
  auto check = [&](Bytes data, uint32_t scaleInv, uint32_t q2, uint32_t q3) {
    InnerTensors inner = quantizeFP8Block(input, options);
    Bytes bytes = getBytes(inner, "rowwise_data");
    ASSERT_EQ(bytes.size(), 128u);
    EXPECT_EQ((Bytes{bytes[0], bytes[1], bytes[2], bytes[3], bytes[127]}),
              data);
    EXPECT_EQ(getWords(getBytes(inner, "rowwise_scale_inv"), 4)[0], scaleInv);
    Words values =
        getWords(dequantizeFP8Block(inner, 1, 128, 1, DType::F32), 4);
    EXPECT_EQ(values[2], q2);
    EXPECT_EQ(values[3], q3);
  };
  check({0x68, 0xF4, 0x4D, 0x7A, 0xBA}, 0x3C800000, 0x3DD00000, 0x40A00000);
  options.powerOfTwo = false;
  check({0x6B, 0xF8, 0x51, 0x7E, 0xBE}, 0x3C36DB6E, 0x3DCDB6DC, 0x40A00000);

  Matrix tiny = makeBF16(1, 1, {0x0001});
  InnerTensors inner = quantizeFP8Block(tiny, options);
  EXPECT_EQ(getBytes(inner, "rowwise_data"), Bytes{0x10});
  EXPECT_EQ(getWords(getBytes(inner, "rowwise_scale_inv"), 4)[0], 0x00202020u);
  options.powerOfTwo = true;
  inner = quantizeFP8Block(tiny, options);
  EXPECT_EQ(getBytes(inner, "rowwise_data"), Bytes{0x08});
  EXPECT_EQ(getWords(getBytes(inner, "rowwise_scale_inv"), 4)[0], 0x00400000u);
}

TEST(Reference, MXFP8) {
  const std::vector<uint16_t> block = {0x3F80, 0xC000, 0x3F00, 0x42C8, 0xC396,
                                       0x43E0, 0x3A83, 0x8000, 0x4049, 0x43FA};
  auto check = [](std::vector<uint16_t> codes, DType element, uint8_t scale,
                  const Bytes &expected) {
    MXFP8Options options;
    options.element = element;
    options.usage.columnwise = false;
    codes.resize(32);
    InnerTensors inner = quantizeMXFP8(makeBF16(1, 32, codes), options);
    EXPECT_EQ(getBytes(inner, "rowwise_scale_inv")[0], scale);
    Bytes data = getBytes(inner, "rowwise_data");
    data.resize(expected.size());
    EXPECT_EQ(data, expected);
    return getWords(dequantizeMXFP8(inner, 1, 32, false, DType::BF16), 2);
  };
  Words values =
      check(block, DType::E4M3, 0x80,
            {0x30, 0xB8, 0x28, 0x64, 0xF1, 0x76, 0x00, 0x80, 0x3D, 0x78, 0x00});
  values.resize(10);
  EXPECT_EQ(values, (Words{0x3F80, 0xC000, 0x3F00, 0x42C0, 0xC390, 0x43E0,
                           0x0000, 0x8000, 0x4050, 0x4400}));
  check(block, DType::E5M2, 0x79,
        {0x54, 0xD8, 0x50, 0x6E, 0xF5, 0x77, 0x2C, 0x80, 0x5A, 0x78});
  std::vector<uint16_t> changed = block;
  changed[9] = 0x43E0;
  check(changed, DType::E4M3, 0x7F,
        {0x38, 0xC0, 0x30, 0x6C, 0xF9, 0x7E, 0x01, 0x80, 0x45, 0x7E});
  changed = block;
  changed[3] = 0x7FC0;
  check(changed, DType::E4M3, 0x80,
        {0x30, 0xB8, 0x28, 0x7F, 0xF1, 0x76, 0x00, 0x80, 0x3D, 0x78});
  changed[3] = 0x7F80;
  check(changed, DType::E4M3, 0xFE,
        {0x00, 0x80, 0x00, 0x7E, 0x80, 0x00, 0x00, 0x80, 0x00, 0x00});
  check({}, DType::E4M3, 0x00, Bytes(32));
  check({0x0380, 0x0001}, DType::E4M3, 0x00, {0x70, 0x08, 0x00});
  EXPECT_EQ(check({0x7F7F}, DType::E4M3, 0xF7, {0x78, 0x00})[0], 0x7F80u);
}

const std::vector<uint16_t> nvfp4Block = {
    0x0000, 0x3DCD, 0xBE4D, 0x3EB3, 0x3F00, 0xBF40, 0x3F80, 0x3FA0,
    0xBFC0, 0x3FE0, 0x4000, 0xC020, 0x4040, 0xC060, 0x3D4D, 0x8000};

/// Quantizes one block rowwise; compares the scale and the packed codes.
Words checkBlock(std::vector<uint16_t> codes, NVFP4Options options,
                 uint8_t scale, const Bytes &expected) {
  options.usage.columnwise = false;
  codes.resize(16);
  InnerTensors inner = quantizeNVFP4(makeBF16(1, 16, codes), options);
  EXPECT_EQ(getBytes(inner, "rowwise_scale_inv")[0], scale);
  EXPECT_EQ(getBytes(inner, "rowwise_data"), expected);
  return getWords(dequantizeNVFP4(inner, 1, 16, {false, options.e4m3Max, false},
                                  DType::BF16),
                  2);
}

TEST(Reference, NVFP4) {
  NVFP4Options options;
  options.amaxRowwise = 10;
  EXPECT_EQ(
      checkBlock(nvfp4Block, options, 0x72,
                 {0x00, 0x19, 0xB2, 0x43, 0x5D, 0xE5, 0xF7, 0x80}),
      (Words{0x0000, 0x0000, 0xBE98, 0x3E98, 0x3F18, 0xBF65, 0x3F65, 0x3F98,
             0xBFE5, 0x3FE5, 0x3FE5, 0xC018, 0x4065, 0xC065, 0x0000, 0x8000}));
  checkBlock({0x3728, 0xB728}, options, 0x00, {0xF7, 0, 0, 0, 0, 0, 0, 0});
  checkBlock({0x7FC0, 0x3F80}, options, 0x63, {0x77, 0, 0, 0, 0, 0, 0, 0});
  options.amaxRowwise.reset();
  checkBlock({0x7F80, 0x3F80}, options, 0x7E, {0x07, 0, 0, 0, 0, 0, 0, 0});
}

TEST(Reference, FourOverSix) {
  NVFP4Options options;
  options.amaxRowwise = 10;
  options.use4over6 = true;
  for (ErrorMode mode : {ErrorMode::MAE, ErrorMode::MSE}) {
    options.errorMode = mode;
    options.e4m3Max = 448;
    checkBlock(nvfp4Block, options, 0x77,
               {0x00, 0x18, 0xA1, 0x32, 0x4B, 0xD4, 0xE5, 0x80});
    options.e4m3Max = 256;
    checkBlock(nvfp4Block, options, 0x70,
               {0x00, 0x18, 0xA1, 0x32, 0x4C, 0xD4, 0xE6, 0x80});
  }
}

TEST(Reference, HadamardTransform) {
  Matrix column = makeBF16(16, 1, nvfp4Block);
  EXPECT_EQ(
      getWords(transformColumns(column, true).bytes, 2),
      (Words{0xC04C, 0x3F88, 0x3EFA, 0x3F23, 0x3F16, 0x3F56, 0x3FFB, 0x3F1D,
             0x401E, 0xBF85, 0x3FCB, 0xBF82, 0xBEA0, 0xBF50, 0xC059, 0xBEFA}));
  EXPECT_EQ(
      getWords(transformColumns(column, false).bytes, 2),
      (Words{0x3EC6, 0x4002, 0xBF16, 0x3E26, 0xBEC6, 0xBFDE, 0x3F70, 0xC074,
             0x3F3D, 0xBFEE, 0xBF30, 0x3F50, 0xBEFA, 0x3F6A, 0x3E93, 0x4052}));
  NVFP4Options options;
  options.usage.rowwise = false;
  options.withRHT = true;
  InnerTensors inner = quantizeNVFP4(column, options);
  EXPECT_EQ(getBytes(inner, "columnwise_data"),
            (Bytes{0x4F, 0x22, 0x32, 0x25, 0xC6, 0xC5, 0xB9, 0xAF}));
  EXPECT_EQ(getBytes(inner, "columnwise_scale_inv")[0], 0x7E);
  EXPECT_EQ(getWords(getBytes(inner, "amax_columnwise"), 4), Words{0x40590000});
  // A NaN spreads over its group, is left out of the amax and gets code 7.
  std::vector<uint16_t> codes = nvfp4Block;
  codes[3] = 0x7FC0;
  inner = quantizeNVFP4(makeBF16(16, 1, codes), options);
  EXPECT_EQ(getBytes(inner, "columnwise_data"), Bytes(8, 0x77));
  EXPECT_EQ(getWords(getBytes(inner, "amax_columnwise"), 4), Words{0});
}

TEST(Reference, HadamardSumOfZerosIsPositive) {
  Matrix column = makeBF16(16, 1, std::vector<uint16_t>(16, 0x8000));
  EXPECT_EQ(transformColumns(column, false).bytes, Bytes(32));
  EXPECT_EQ(transformColumns(column, true).bytes, Bytes(32));
}

TEST(Reference, HadamardWithStochasticRounding) {
  // The columnwise direction is a rowwise quantization of the transform.
  Matrix input = makeRandom(64, 96, 12);
  NVFP4Options options;
  options.withRHT = true;
  options.stochasticRounding = true;
  options.seed = 17;
  options.offset = 5;
  InnerTensors inner = quantizeNVFP4(input, options);

  NVFP4Options rowwise;
  rowwise.usage.columnwise = false;
  rowwise.stochasticRounding = true;
  rowwise.seed = 17;
  rowwise.offset = 5;
  EXPECT_EQ(getBytes(inner, "rowwise_data"),
            getBytes(quantizeNVFP4(input, rowwise), "rowwise_data"));
  rowwise.offset = 5 + 1024;
  EXPECT_EQ(getBytes(inner, "columnwise_data"),
            getBytes(quantizeNVFP4(transformColumns(input, true), rowwise),
                     "rowwise_data"));
}

//===----------------------------------------------------------------------===//
// Shapes, cut blocks, scale order
//===----------------------------------------------------------------------===//

TEST(Reference, CutBlocksHaveTheirOwnScales) {
  // The cut part of a tensor quantizes as the same values padded with zeros.
  size_t rows = 40, cols = 48;
  Matrix small = makeRandom(rows, cols, 7);
  Matrix large = makeBF16(64, 64, {});
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(&large.bytes[row * 128], &small.bytes[row * 2 * cols],
                2 * cols);
  for (bool with2D : {false, true}) {
    MXFP8Options options;
    options.with2D = with2D;
    InnerTensors got = quantizeMXFP8(small, options);
    InnerTensors padded = quantizeMXFP8(large, options);
    EXPECT_EQ(got[1].validShape, (std::vector<size_t>{rows, 2}));
    EXPECT_EQ(got[3].validShape, (std::vector<size_t>{2, cols}));
    for (size_t i = 0; i < 4; ++i)
      for (size_t row = 0; row < got[i].validShape[0]; ++row)
        for (size_t col = 0; col < got[i].validShape[1]; ++col)
          ASSERT_EQ(got[i].bytes[row * got[i].shape[1] + col],
                    padded[i].bytes[row * padded[i].shape[1] + col])
              << got[i].name;
  }
}

TEST(Reference, ColumnwiseIsRowwiseOfTheTranspose) {
  Matrix input = makeRandom(96, 160, 8);
  Matrix transposed = makeBF16(160, 96, {});
  for (size_t row = 0; row < 96; ++row)
    for (size_t col = 0; col < 160; ++col)
      std::memcpy(&transposed.bytes[2 * (col * 96 + row)],
                  &input.bytes[2 * (row * 160 + col)], 2);
  auto check = [](const InnerTensors &one, const InnerTensors &other) {
    EXPECT_EQ(find(one, "columnwise_data")->shape,
              find(other, "rowwise_data")->shape);
    EXPECT_EQ(getBytes(one, "columnwise_data"),
              getBytes(other, "rowwise_data"));
    EXPECT_EQ(getBytes(one, "columnwise_scale_inv"),
              getBytes(other, "rowwise_scale_inv"));
  };
  for (int dim : {1, 2}) {
    FP8BlockOptions options;
    options.blockDim = dim;
    check(quantizeFP8Block(input, options),
          quantizeFP8Block(transposed, options));
  }
  for (int mode = 0; mode < 6; ++mode) {
    NVFP4Options options;
    options.with2D = mode % 2 && mode != 5;
    options.use4over6 = mode / 2 == 1;
    options.rowScaled = mode / 2 == 2;
    options.swizzledScales = mode < 2;
    check(quantizeNVFP4(input, options), quantizeNVFP4(transposed, options));
  }
}

TEST(Reference, EmptyTensors) {
  for (auto [rows, cols] :
       {std::pair<size_t, size_t>{0, 64}, {64, 0}, {0, 0}}) {
    Matrix input = makeBF16(rows, cols, {});
    EXPECT_EQ(quantizeCurrent(input, {}).scale, 1);
    EXPECT_EQ(quantizeFP8Block(input, {}).size(), 4u);
    EXPECT_EQ(quantizeNVFP4(input, {}).size(), 6u);
    InnerTensors inner = quantizeMXFP8(input, {});
    EXPECT_EQ(inner[1].shape,
              (std::vector<size_t>{rows ? 128u : 0, cols ? 4u : 0}));
    EXPECT_TRUE(dequantizeMXFP8(inner, rows, cols, false, DType::F32).empty());
  }
}

TEST(Reference, SwizzledScalesDequantizeAlike) {
  Matrix input = makeRandom(96, 160, 9);
  for (bool rowwise : {true, false}) {
    MXFP8Options compact, swizzled;
    compact.usage = swizzled.usage = {rowwise, !rowwise};
    swizzled.swizzledScales = true;
    EXPECT_EQ(dequantizeMXFP8(quantizeMXFP8(input, compact), 96, 160, false,
                              DType::F32),
              dequantizeMXFP8(quantizeMXFP8(input, swizzled), 96, 160, true,
                              DType::F32));
  }
  NVFP4Options options;
  InnerTensors compact = quantizeNVFP4(input, options);
  options.swizzledScales = true;
  EXPECT_EQ(dequantizeNVFP4(compact, 96, 160, {}, DType::F32),
            dequantizeNVFP4(quantizeNVFP4(input, options), 96, 160,
                            {false, 448, true}, DType::F32));
}

TEST(Reference, FP8BlockScalesForGemm) {
  // 200 rows by 130 columns: the last tile is cut both ways. Dequantizing the
  // same bytes as MXFP8 gives the same values.
  size_t rows = 200, cols = 130;
  Matrix input = makeRandom(rows, cols, 10);
  for (int dim : {1, 2}) {
    FP8BlockOptions options;
    options.blockDim = dim;
    InnerTensors inner = quantizeFP8Block(input, options);
    InnerTensor codes = convertFP8BlockScales(inner[1], rows, cols, dim);
    EXPECT_EQ(codes.shape, (std::vector<size_t>{256, 8}));
    EXPECT_EQ(dequantizeMXFP8({inner[0], codes}, rows, cols, true, DType::F32),
              dequantizeFP8Block(inner, rows, cols, dim, DType::F32));
    InnerTensor compact = unswizzleScales(codes, BlockDim::Last, codes.shape);
    // Blocks past the last column have the tile's code; rows past the end have
    // it in two dimensions only.
    EXPECT_EQ(compact.bytes[7], compact.bytes[4]);
    EXPECT_EQ(compact.bytes[255 * 8], dim == 2 ? compact.bytes[199 * 8] : 0);
    EXPECT_NE(compact.bytes[199 * 8], 0);

    InnerTensors columnwise = {inner[2], inner[3]};
    codes = convertFP8BlockScales(inner[3], cols, rows, dim);
    InnerTensor data = inner[2];
    data.name = "rowwise_data";
    codes.name = "rowwise_scale_inv";
    Bytes values = dequantizeMXFP8({data, codes}, cols, rows, true, DType::F32);
    Bytes expected =
        dequantizeFP8Block(columnwise, rows, cols, dim, DType::F32);
    for (size_t row = 0; row < rows; ++row)
      for (size_t col = 0; col < cols; ++col)
        ASSERT_EQ(std::memcmp(&values[4 * (col * rows + row)],
                              &expected[4 * (row * cols + col)], 4),
                  0);
  }
}

TEST(Reference, IdentityKeepsTheBytes) {
  Matrix input = makeRandom(3, 5, 11);
  InnerTensors inner = quantizeIdentity(input);
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_EQ(inner[0].name, "hp_data");
  EXPECT_EQ(inner[0].bytes, input.bytes);
}

TEST(Reference, DifferencesAreFound) {
  InnerTensor tensor{"x", DType::E4M3, {2, 4}, {2, 3}, Bytes(8, 0x7F)};
  Bytes bytes = tensor.bytes;
  bytes[0] = 0xFF; // another NaN
  bytes[3] = 0x01; // padding
  EXPECT_EQ(describeDifference(tensor, bytes), "");
  bytes[6] = 0x80;
  EXPECT_EQ(describeDifference(tensor, bytes),
            "x: 1 of 6 differ, first at [1, 2]: expected 0x7f, but got 0x80");
  bytes.pop_back();
  EXPECT_EQ(describeDifference(tensor, bytes),
            "x: expected 8 bytes, but got 7");
}

} // namespace
