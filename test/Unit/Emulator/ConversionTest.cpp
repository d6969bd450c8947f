//===- ConversionTest.cpp - conversions against the golden tables ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every conversion to and from a narrow format that kernels can name, over all
// inputs of the golden tables, which have independent origins.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

using namespace te::emulator::test;

namespace {

class ConversionTest : public EmulatorTest {};

template <typename T>
std::vector<T> readTable(const std::string &name) {
  std::string path = std::string(TE_GOLDEN_DIR) + "/conversions/" + name;
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)),
                    std::istreambuf_iterator<char>());
  EXPECT_FALSE(bytes.empty()) << path;
  std::vector<T> values(bytes.size() / sizeof(T));
  memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// All codes of 16 bits.
std::vector<uint32_t> allCodes() {
  std::vector<uint32_t> codes(65536);
  for (uint32_t i = 0; i < codes.size(); ++i)
    codes[i] = i;
  return codes;
}

/// Compares a packed conversion of pairs (input[i], input[n-1-i]) with a table;
/// the first is expected in the upper `bits`.
template <typename T>
void checkPacked(const std::vector<uint32_t> &inputs,
                 const std::vector<T> &table, unsigned bits,
                 const std::string &globals, const std::string &body) {
  size_t n = inputs.size();
  ASSERT_EQ(table.size(), n);
  std::vector<std::array<uint64_t, 3>> rows;
  for (size_t i = 0; i < n; ++i)
    rows.push_back({inputs[i], inputs[n - 1 - i], 0});
  std::vector<uint64_t> results = evaluate(globals, body, rows);
  for (size_t i = 0; i < n; ++i) {
    uint64_t expected =
        static_cast<uint64_t>(table[i]) << bits | table[n - 1 - i];
    ASSERT_EQ(results[i], expected)
        << std::hex << "inputs " << inputs[i] << " " << inputs[n - 1 - i]
        << body;
  }
}

const char *floatOperands = R"(
  %a32 = trunc i64 %a to i32
  %b32 = trunc i64 %b to i32
  %x = bitcast i32 %a32 to float
  %y = bitcast i32 %b32 to float
)";

std::string halfOperands(const std::string &type) {
  return R"(
  %a16 = trunc i64 %a to i16
  %b16 = trunc i64 %b to i16
  %xh = bitcast i16 %a16 to )" +
         type + R"(
  %yh = bitcast i16 %b16 to )" +
         type + R"(
  %low = insertelement <2 x )" +
         type + R"(> poison, )" + type + R"( %yh, i32 0
  %pair = insertelement <2 x )" +
         type + R"(> %low, )" + type + R"( %xh, i32 1
  %x = fpext )" +
         type + R"( %xh to float
  %y = fpext )" +
         type + R"( %yh to float
)";
}

struct PackedCase {
  const char *intrinsic;
  const char *table;
  unsigned bits;
};

const PackedCase packedCases[] = {
    {"ff.to.e4m3x2.rn", "to_e4m3.bin", 8},
    {"ff.to.e5m2x2.rn", "to_e5m2.bin", 8},
    {"ff.to.e2m1x2.rn.satfinite", "to_e2m1.bin", 4},
};

} // namespace

static std::string pairDeclaration(const std::string &name) {
  return "declare i16 @llvm.nvvm." + name + "(float, float)";
}

static std::string pairCall(const std::string &name) {
  return "  %r16 = call i16 @llvm.nvvm." + name +
         "(float %x, float %y)\n  %r = zext i16 %r16 to i64\n";
}

TEST_F(ConversionTest, F32ToNarrow) {
  std::vector<uint32_t> inputs = readTable<uint32_t>("f32_inputs.bin");
  for (const PackedCase &test : packedCases)
    checkPacked(inputs, readTable<uint8_t>(std::string("f32_") + test.table),
                test.bits, pairDeclaration(test.intrinsic),
                floatOperands + pairCall(test.intrinsic));
}

TEST_F(ConversionTest, HalfTypesToNarrow) {
  for (auto [type, prefix] :
       {std::pair("bfloat", "bf16_"), std::pair("half", "f16_")})
    for (const PackedCase &test : packedCases)
      checkPacked(allCodes(), readTable<uint8_t>(prefix + std::string(test.table)),
                  test.bits, pairDeclaration(test.intrinsic),
                  halfOperands(type) + pairCall(test.intrinsic));
}

TEST_F(ConversionTest, PackedF16ToFP8) {
  for (auto [name, table] : {std::pair("e4m3x2", "f16_to_e4m3.bin"),
                             std::pair("e5m2x2", "f16_to_e5m2.bin")})
    checkPacked(allCodes(), readTable<uint8_t>(table), 8,
                std::string("declare i16 @llvm.nvvm.f16x2.to.") + name +
                    ".rn(<2 x half>)",
                halfOperands("half") +
                    "  %r16 = call i16 @llvm.nvvm.f16x2.to." + name +
                    ".rn(<2 x half> %pair)\n  %r = zext i16 %r16 to i64\n");
}

TEST_F(ConversionTest, F32ToScale) {
  std::vector<uint32_t> inputs = readTable<uint32_t>("f32_inputs.bin");
  std::vector<uint8_t> table = readTable<uint8_t>("f32_to_e8m0.bin");
  checkPacked(inputs, table, 8, pairDeclaration("ff.to.ue8m0x2.rp.satfinite"),
              floatOperands + pairCall("ff.to.ue8m0x2.rp.satfinite"));
  // Without saturation what exceeds 2^127 is NaN.
  std::vector<uint8_t> unsaturated = table;
  for (size_t i = 0; i < inputs.size(); ++i)
    if ((inputs[i] & 0x7FFFFFFF) > 0x7F000000)
      unsaturated[i] = 0xFF;
  checkPacked(inputs, unsaturated, 8, pairDeclaration("ff.to.ue8m0x2.rp"),
              floatOperands + pairCall("ff.to.ue8m0x2.rp"));
  // Toward zero the code is the exponent, with 2^-127 for what is below.
  std::vector<uint8_t> truncated = table;
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t magnitude = inputs[i] & 0x7FFFFFFF;
    truncated[i] = magnitude > 0x7F800000    ? 0xFF
                   : magnitude == 0x7F800000 ? 0xFE
                                             : magnitude >> 23;
  }
  checkPacked(inputs, truncated, 8,
              pairDeclaration("ff.to.ue8m0x2.rz.satfinite"),
              floatOperands + pairCall("ff.to.ue8m0x2.rz.satfinite"));
}

TEST_F(ConversionTest, F32ToHalfTypes) {
  std::vector<uint32_t> inputs = readTable<uint32_t>("f32_inputs.bin");
  for (auto [type, intrinsic, file] :
       {std::tuple("bfloat", "ff2bf16x2.rn", "f32_to_bf16.bin"),
        std::tuple("half", "ff2f16x2.rn", "f32_to_f16.bin")}) {
    std::vector<uint16_t> table = readTable<uint16_t>(file);
    std::string vector = std::string("<2 x ") + type + ">";
    std::string toResult = "  %r32 = bitcast " + vector +
                           " %v to i32\n  %r = zext i32 %r32 to i64\n";
    checkPacked(inputs, table, 16,
                "declare " + vector + " @llvm.nvvm." + intrinsic +
                    "(float, float)",
                floatOperands + ("  %v = call " + vector + " @llvm.nvvm." +
                                 intrinsic + "(float %x, float %y)\n") +
                    toResult);
    checkPacked(inputs, table, 16, "",
                floatOperands +
                    ("  %v0 = insertelement <2 x float> poison, float %y, "
                     "i32 0\n  %v1 = insertelement <2 x float> %v0, float %x, "
                     "i32 1\n  %v = fptrunc <2 x float> %v1 to " +
                     vector + "\n") +
                    toResult);
  }
}

TEST_F(ConversionTest, HalfTypesSaturateAndTruncate) {
  // 65520 rounds to infinity, 65519 to 65504; beyond bf16 likewise.
  std::vector<std::array<uint64_t, 3>> rows = {
      {0x477FF000}, {0x477FEFFF}, {0xFF800000}, {0x7FC00001},
      {0x3F801001}, {0x7F7FFFFF}, {0x80000000}, {0xBF801001}};
  auto run = [&](const std::string &name, const std::string &type) {
    return evaluate("declare " + type + " @llvm.nvvm." + name + "(float)",
                    floatOperands + ("  %v = call " + type + " @llvm.nvvm." +
                                     name + "(float %x)\n  %v16 = bitcast " +
                                     type + " %v to i16\n") +
                        "  %r = zext i16 %v16 to i64\n",
                    rows);
  };
  using Codes = std::vector<uint64_t>;
  EXPECT_EQ(run("f2f16.rn", "half"),
            (Codes{0x7C00, 0x7BFF, 0xFC00, 0x7FFF, 0x3C01, 0x7C00, 0x8000,
                   0xBC01}));
  EXPECT_EQ(run("f2f16.rn.satfinite", "half"),
            (Codes{0x7BFF, 0x7BFF, 0xFBFF, 0x7FFF, 0x3C01, 0x7BFF, 0x8000,
                   0xBC01}));
  EXPECT_EQ(run("f2f16.rz", "half"),
            (Codes{0x7BFF, 0x7BFF, 0xFC00, 0x7FFF, 0x3C00, 0x7BFF, 0x8000,
                   0xBC00}));
  EXPECT_EQ(run("f2f16.rn.relu", "half"),
            (Codes{0x7C00, 0x7BFF, 0, 0x7FFF, 0x3C01, 0x7C00, 0, 0}));
  EXPECT_EQ(run("f2bf16.rn", "bfloat"),
            (Codes{0x4780, 0x4780, 0xFF80, 0x7FFF, 0x3F80, 0x7F80, 0x8000,
                   0xBF80}));
  EXPECT_EQ(run("f2bf16.rz", "bfloat"),
            (Codes{0x477F, 0x477F, 0xFF80, 0x7FFF, 0x3F80, 0x7F7F, 0x8000,
                   0xBF80}));
  EXPECT_EQ(run("f2bf16.rn.satfinite", "bfloat"),
            (Codes{0x4780, 0x4780, 0xFF7F, 0x7FFF, 0x3F80, 0x7F7F, 0x8000,
                   0xBF80}));
}

TEST_F(ConversionTest, TF32) {
  std::vector<std::array<uint64_t, 3>> rows = {
      {0x3F801000}, {0x3F803000}, {0x3F800FFF}, {0x7FC00000}, {0xFF7FFFFF}};
  auto run = [&](const std::string &name) {
    return evaluate("declare i32 @llvm.nvvm." + name + "(float)",
                    floatOperands + ("  %v = call i32 @llvm.nvvm." + name +
                                     "(float %x)\n") +
                        "  %r = zext i32 %v to i64\n",
                    rows);
  };
  using Codes = std::vector<uint64_t>;
  EXPECT_EQ(run("f2tf32.rna"),
            (Codes{0x3F802000, 0x3F804000, 0x3F800000, 0x7FFFE000,
                   0xFF800000}));
  EXPECT_EQ(run("f2tf32.rn"),
            (Codes{0x3F800000, 0x3F804000, 0x3F800000, 0x7FFFE000,
                   0xFF800000}));
  EXPECT_EQ(run("f2tf32.rn.satfinite"),
            (Codes{0x3F800000, 0x3F804000, 0x3F800000, 0x7FFFE000,
                   0xFF7FE000}));
  EXPECT_EQ(run("f2tf32.rz"),
            (Codes{0x3F800000, 0x3F802000, 0x3F800000, 0x7FFFE000,
                   0xFF7FE000}));
}

/// Widens all codes with `name` and compares with f32 values; NaN as NaN.
static void checkWidening(const std::string &name, const std::string &vector,
                          unsigned bits, const std::vector<float> &table) {
  std::vector<std::array<uint64_t, 3>> rows;
  size_t n = table.size();
  for (size_t i = 0; i < n; ++i)
    rows.push_back({i << bits | (n - 1 - i)});
  std::string scalar = vector == "<2 x half>" ? "half" : "bfloat";
  std::vector<uint64_t> results = evaluate(
      "declare " + vector + " @llvm.nvvm." + name + "(i16)", R"(
  %a16 = trunc i64 %a to i16
  %v = call )" + vector + " @llvm.nvvm." + name + R"((i16 %a16)
  %f = fpext )" + vector + R"( %v to <2 x float>
  %r = bitcast <2 x float> %f to i64
)",
      rows);
  for (size_t i = 0; i < n; ++i) {
    float values[2];
    memcpy(values, &results[i], sizeof(values));
    for (auto [value, expected] : {std::pair(values[1], table[i]),
                                   std::pair(values[0], table[n - 1 - i])}) {
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(value)) << name << " code " << i;
      else
        ASSERT_EQ(memcmp(&value, &expected, 4), 0) << name << " code " << i;
    }
  }
}

TEST_F(ConversionTest, NarrowToHalfTypes) {
  checkWidening("e4m3x2.to.f16x2.rn", "<2 x half>", 8,
                readTable<float>("e4m3_to_f32.bin"));
  checkWidening("e5m2x2.to.f16x2.rn", "<2 x half>", 8,
                readTable<float>("e5m2_to_f32.bin"));
  checkWidening("e2m1x2.to.f16x2.rn", "<2 x half>", 4,
                readTable<float>("e2m1_to_f32.bin"));
  checkWidening("ue8m0x2.to.bf16x2", "<2 x bfloat>", 8,
                readTable<float>("e8m0_to_f32.bin"));
}

TEST_F(ConversionTest, Relu) {
  // -2, 3; NaN, -0
  std::vector<std::array<uint64_t, 3>> rows = {{0xC0000000, 0x40400000},
                                               {0x7FC00000, 0x80000000}};
  EXPECT_EQ(evaluate(pairDeclaration("ff.to.e4m3x2.rn.relu"),
                     floatOperands + pairCall("ff.to.e4m3x2.rn.relu"), rows),
            (std::vector<uint64_t>{0x0044, 0x7F00}));
}

/// FP6 has no golden table: all codes return, and ties go to even.
TEST_F(ConversionTest, FP6) {
  struct Case {
    const char *name;
    int mantissaBits, bias;
  };
  for (const Case &test : {Case{"e2m3x2", 3, 1}, Case{"e3m2x2", 2, 3}}) {
    std::vector<float> values(64);
    for (int code = 0; code < 64; ++code) {
      int exponent = (code & 31) >> test.mantissaBits;
      int mantissa = code & ((1 << test.mantissaBits) - 1);
      float magnitude =
          exponent ? std::ldexp(1 + std::ldexp(float(mantissa),
                                               -test.mantissaBits),
                                exponent - test.bias)
                   : std::ldexp(float(mantissa),
                                1 - test.bias - test.mantissaBits);
      values[code] = code & 32 ? -magnitude : magnitude;
    }
    std::string name = test.name;
    std::vector<std::array<uint64_t, 3>> rows;
    std::vector<uint64_t> expected;
    auto add = [&](float value, uint64_t code) {
      uint32_t bits;
      memcpy(&bits, &value, 4);
      rows.push_back({bits, bits});
      expected.push_back(code << 8 | code);
    };
    for (int code = 0; code < 64; ++code)
      add(values[code], code);
    for (int code = 0; code < 31; ++code) {
      float tie = (values[code] + values[code + 1]) / 2;
      add(tie, code + (code & 1));
      add(std::nextafter(tie, 100.0f), code + 1);
      add(std::nextafter(tie, 0.0f), code);
    }
    add(INFINITY, 31);
    add(-1e9f, 63);
    add(NAN, 31);
    EXPECT_EQ(evaluate(pairDeclaration("ff.to." + name + ".rn.satfinite"),
                       floatOperands +
                           pairCall("ff.to." + name + ".rn.satfinite"),
                       rows),
              expected);

    std::vector<std::array<uint64_t, 3>> codes;
    for (uint64_t code = 0; code < 64; ++code)
      codes.push_back({code << 8 | (63 - code)});
    std::vector<uint64_t> widened = evaluate(
        "declare <2 x half> @llvm.nvvm." + name + ".to.f16x2.rn(i16)", R"(
  %a16 = trunc i64 %a to i16
  %v = call <2 x half> @llvm.nvvm.)" + name + R"(.to.f16x2.rn(i16 %a16)
  %f = fpext <2 x half> %v to <2 x float>
  %r = bitcast <2 x float> %f to i64
)",
        codes);
    for (int code = 0; code < 64; ++code) {
      float pair[2];
      memcpy(pair, &widened[code], sizeof(pair));
      EXPECT_EQ(pair[1], values[code]);
      EXPECT_EQ(pair[0], values[63 - code]);
    }
  }
}

/// A code moves away from zero when 256 times its fraction of the step and the
/// random byte reach 256 together (numerics: 5.9).
TEST_F(ConversionTest, StochasticE2M1) {
  std::string globals =
      "declare i16 @llvm.nvvm.f32x4.to.e2m1x4.rs.satfinite(<4 x float>, i32)";
  // Element 0 of the vector goes to the upper nibble, whose byte is the upper.
  std::string body = floatOperands + std::string(R"(
  %c32 = trunc i64 %c to i32
  %v0 = insertelement <4 x float> zeroinitializer, float %x, i32 0
  %v1 = insertelement <4 x float> %v0, float %y, i32 3
  %r16 = call i16 @llvm.nvvm.f32x4.to.e2m1x4.rs.satfinite(<4 x float> %v1, i32 %c32)
  %r = zext i16 %r16 to i64
)");
  std::vector<std::array<uint64_t, 3>> rows;
  std::vector<uint64_t> expected;
  auto bitsOf = [](float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
  };
  for (uint64_t random = 0; random < 256; ++random) {
    // 2.25 is a quarter of the way from 2 to 3; -1.25 half from -1 to -1.5.
    rows.push_back({bitsOf(2.25f), bitsOf(-1.25f), random << 24 | random});
    uint64_t upper = random >= 192 ? 5 : 4;
    uint64_t lower = random >= 128 ? 0xB : 0xA;
    expected.push_back(upper << 12 | lower);
  }
  rows.push_back({bitsOf(NAN), bitsOf(-100.0f), 0});
  expected.push_back(0x700F);
  // The f32 sum lifts this one onto the boundary.
  rows.push_back({0x3E5FFFFF, 0, 0x90000000});
  expected.push_back(0x1000);
  EXPECT_EQ(evaluate(globals, body, rows), expected);
}

TEST_F(ConversionTest, FloatToInteger) {
  std::vector<std::array<uint64_t, 3>> rows = {
      {0x40200000}, {0xC0200000}, {0x7FC00000}, {0x4F800000}, {0xFF800000}};
  auto run = [&](const std::string &name, const std::string &type) {
    return evaluate("declare " + type + " @llvm.nvvm." + name + "(float)",
                    floatOperands + ("  %v = call " + type + " @llvm.nvvm." +
                                     name + "(float %x)\n") +
                        (type == "i32" ? "  %r = zext i32 %v to i64\n"
                                       : "  %r = add i64 %v, 0\n"),
                    rows);
  };
  using Values = std::vector<uint64_t>;
  EXPECT_EQ(run("f2i.rn", "i32"),
            (Values{2, uint32_t(-2), 0, INT32_MAX, 0x80000000}));
  EXPECT_EQ(run("f2i.rp", "i32"),
            (Values{3, uint32_t(-2), 0, INT32_MAX, 0x80000000}));
  EXPECT_EQ(run("f2i.rm", "i32"),
            (Values{2, uint32_t(-3), 0, INT32_MAX, 0x80000000}));
  EXPECT_EQ(run("f2ui.rz", "i32"), (Values{2, 0, 0, UINT32_MAX, 0}));
  EXPECT_EQ(run("f2ll.rn", "i64"),
            (Values{2, uint64_t(-2), uint64_t(1) << 63, uint64_t(1) << 32,
                    uint64_t(1) << 63}));
  // The plain instruction saturates on the device too.
  EXPECT_EQ(evaluate("",
                     floatOperands +
                         std::string("  %v = fptosi float %x to i32\n"
                                     "  %r = zext i32 %v to i64\n"),
                     rows),
            (Values{2, uint32_t(-2), 0, INT32_MAX, 0x80000000}));
}

TEST_F(ConversionTest, IntegerAndDoubleToFloat) {
  auto run = [&](const std::string &name, const std::string &type,
                 const std::string &operand, uint64_t value) {
    return evaluate("declare float @llvm.nvvm." + name + "(" + type + ")",
                    "  %a32 = trunc i64 %a to i32\n"
                    "  %ad = bitcast i64 %a to double\n"
                    "  %v = call float @llvm.nvvm." + name + "(" + type + " " +
                        operand + ")\n  %v32 = bitcast float %v to i32\n"
                                  "  %r = zext i32 %v32 to i64\n",
                    {{value}})[0];
  };
  // 2^24 + 1 lies between two f32.
  EXPECT_EQ(run("i2f.rn", "i32", "%a32", 0x1000001), 0x4B800000u);
  EXPECT_EQ(run("i2f.rp", "i32", "%a32", 0x1000001), 0x4B800001u);
  EXPECT_EQ(run("i2f.rm", "i32", "%a32", uint32_t(-0x1000001)), 0xCB800001u);
  EXPECT_EQ(run("ui2f.rz", "i32", "%a32", 0xFFFFFFFF), 0x4F7FFFFFu);
  EXPECT_EQ(run("ll2f.rn", "i64", "%a", uint64_t(-1)), 0xBF800000u);
  // 1 + 2^-30
  EXPECT_EQ(run("d2f.rn", "double", "%ad", 0x3FF0000000400000), 0x3F800000u);
  EXPECT_EQ(run("d2f.rp", "double", "%ad", 0x3FF0000000400000), 0x3F800001u);
  EXPECT_EQ(run("d2f.rn.ftz", "double", "%ad", 0x37F0000000000000), 0u);
  EXPECT_EQ(run("d2f.rn", "double", "%ad", 0x37F0000000000000), 0x00200000u);
}
