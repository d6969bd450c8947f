//===- MatrixTest.cpp - mma.sync and products by the library --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices of small integers, whose products and sums are exact, in the
// registers that the PTX ISA says (mma.m16n8k32 and mma.m16n8k16).
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstdlib>

using namespace te::emulator::test;

namespace {

class MatrixTest : public EmulatorTest {};

constexpr int numRows = 16, numCols = 8, numLanes = 32;

/// An element format: its name in intrinsics, its bits, the codes of 0, 1, 2, 3
/// and the bit of the sign.
struct Format {
  const char *name;
  int bits;
  uint32_t codes[4];
};
constexpr Format e4m3 = {"e4m3", 8, {0x00, 0x38, 0x40, 0x44}};
constexpr Format e5m2 = {"e5m2", 8, {0x00, 0x3C, 0x40, 0x42}};
constexpr Format bf16 = {"bf16", 16, {0x0000, 0x3F80, 0x4000, 0x4040}};
constexpr Format f16 = {"f16", 16, {0x0000, 0x3C00, 0x4000, 0x4200}};

uint32_t encode(const Format &format, int value) {
  return format.codes[std::abs(value)] |
         (value < 0 ? 1u << (format.bits - 1) : 0);
}

int rowElement(int row, int k) { return (row * 5 + k * 3) % 7 - 3; }
int colElement(int k, int col) { return (col * 3 + k * 5 + 1) % 7 - 3; }
int oldElement(int row, int col) { return row * 10 - col; }

/// The registers of all lanes: four words of rows, two of columns, four sums.
std::vector<uint32_t> makeRegisters(const Format &rowFormat,
                                    const Format &colFormat) {
  std::vector<uint32_t> registers(numLanes * 10);
  int perWord = 32 / rowFormat.bits, half = 4 * perWord;
  for (int lane = 0; lane < numLanes; ++lane) {
    uint32_t *words = &registers[lane * 10];
    int group = lane / 4, inGroup = lane % 4;
    for (int i = 0; i < 4 * perWord; ++i) {
      int row = group + (i / perWord % 2 ? 8 : 0);
      int k = inGroup * perWord + i % perWord + (i >= 2 * perWord ? half : 0);
      words[i / perWord] |= encode(rowFormat, rowElement(row, k))
                            << (i % perWord * rowFormat.bits);
    }
    for (int i = 0; i < 2 * perWord; ++i) {
      int k = inGroup * perWord + i % perWord + (i >= perWord ? half : 0);
      words[4 + i / perWord] |= encode(colFormat, colElement(k, group))
                                << (i % perWord * colFormat.bits);
    }
    for (int i = 0; i < 4; ++i) {
      float old = oldElement(group + (i >= 2 ? 8 : 0), inGroup * 2 + i % 2);
      memcpy(&words[6 + i], &old, sizeof(old));
    }
  }
  return registers;
}

/// A kernel that multiplies once, in place.
std::string makeMultiply(const std::string &intrinsic,
                         const std::string &wordType) {
  std::string operands, types, body;
  for (int i = 0; i < 10; ++i) {
    std::string index = std::to_string(i);
    std::string type = i < 6 ? wordType : "float";
    std::string separator = i ? ", " : "";
    body += "  %p" + index + " = getelementptr i32, ptr %lane, i64 " + index +
            "\n  %w" + index + " = load " + type + ", ptr %p" + index + "\n";
    operands += separator + type + " %w" + index;
    types += separator + type;
  }
  std::string result = "{float, float, float, float}";
  std::string call = result + " @llvm.nvvm.mma." + intrinsic;
  body = "  %first = mul i64 %idx, 10\n"
         "  %lane = getelementptr i32, ptr %registers, i64 %first\n" +
         body + "  %r = call " + call + "(" + operands + ")\n";
  for (int i = 0; i < 4; ++i) {
    std::string index = std::to_string(i);
    body += "  %s" + index + " = extractvalue " + result + " %r, " + index +
            "\n  store float %s" + index + ", ptr %p" + std::to_string(6 + i) +
            "\n";
  }
  return makeKernel("ptr %registers", body + "  ret void",
                    "declare " + call + "(" + types + ")\n");
}

void checkMultiply(const Format &rowFormat, const Format &colFormat,
                   const std::string &intrinsic, const std::string &wordType) {
  Module module(makeMultiply(intrinsic, wordType));
  ASSERT_EQ(getError(), "");
  Buffer<uint32_t> registers(makeRegisters(rowFormat, colFormat));
  launch(module, "k", {}, {numLanes}, 0, registers.data);
  ASSERT_EQ(getError(), "");
  std::vector<uint32_t> words = registers.read();
  int depth = 32 * 8 / rowFormat.bits;
  for (int lane = 0; lane < numLanes; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + (i >= 2 ? 8 : 0), col = lane % 4 * 2 + i % 2;
      int expected = oldElement(row, col);
      for (int k = 0; k < depth; ++k)
        expected += rowElement(row, k) * colElement(k, col);
      float found;
      memcpy(&found, &words[lane * 10 + 6 + i], sizeof(found));
      EXPECT_EQ(found, expected) << intrinsic << " " << row << " " << col;
    }
}

} // namespace

TEST_F(MatrixTest, FP8) {
  for (const Format &row : {e4m3, e5m2})
    for (const Format &col : {e4m3, e5m2})
      checkMultiply(row, col,
                    std::string("m16n8k32.row.col.f32.") + row.name + "." +
                        col.name + ".f32",
                    "i32");
}

TEST_F(MatrixTest, Halves) {
  checkMultiply(bf16, bf16, "m16n8k16.row.col.bf16", "i32");
  checkMultiply(f16, f16, "m16n8k16.row.col.f32.f32", "<2 x half>");
}

TEST_F(MatrixTest, PartialWarp) {
  Module module(makeMultiply("m16n8k16.row.col.bf16", "i32"));
  Buffer<uint32_t> registers(makeRegisters(bf16, bf16));
  launch(module, "k", {}, {20}, 0, registers.data);
  EXPECT_NE(getError().find("mma.sync in a warp of 20 threads, but all 32 take "
                            "part"),
            std::string::npos)
      << getError();
  teRuntimeClearError();
}

TEST_F(MatrixTest, UnknownShape) {
  Module module(makeMultiply("m16n8k8.row.col.bf16", "i32"));
  EXPECT_NE(getError().find("llvm.nvvm.mma.m16n8k8.row.col.bf16"),
            std::string::npos)
      << getError();
  teRuntimeClearError();
}

namespace {
/// Two rows of B times three columns of A, of f32.
struct Product {
  Product() {
    for (TeGemmOperand *operand : {&gemm.a, &gemm.b}) {
      operand->format = TE_FORMAT_F32;
      operand->isLineMajor = 1;
      operand->linesPerScale = operand->scalePadding = operand->divisor = 1;
    }
    gemm.a.codes = a.data;
    gemm.b.codes = b.data;
    gemm.rows = 2;
    gemm.cols = 3;
    gemm.depth = 2;
    gemm.result = result.data;
    gemm.resultFormat = TE_FORMAT_F32;
  }

  Buffer<float> a{{1, 2, 3, 4, 5, 6}}, b{{1, 0, 2, 1}}, result{6};
  TeGemm gemm = {};
};
} // namespace

TEST_F(MatrixTest, Library) {
  Product product;
  teRuntimeGemm(&product.gemm, nullptr);
  EXPECT_EQ(getError(), "");
  EXPECT_EQ(product.result.read(), (std::vector<float>{1, 3, 5, 4, 10, 16}));
  product.gemm.accumulates = 1;
  teRuntimeGemm(&product.gemm, nullptr);
  EXPECT_EQ(product.result.read(), (std::vector<float>{2, 6, 10, 8, 20, 32}));
}

TEST_F(MatrixTest, LibraryChecksMemory) {
  Product product;
  product.gemm.depth = 3;
  teRuntimeGemm(&product.gemm, nullptr);
  EXPECT_NE(getError().find("teRuntimeGemm: read"), std::string::npos)
      << getError();
  // Until the error is cleared, nothing is done.
  product.gemm.depth = 2;
  teRuntimeGemm(&product.gemm, nullptr);
  teRuntimeClearError();
  EXPECT_NE(product.result.read()[0], 1);
}
