//===- ArithmeticTest.cpp - arithmetic as PTX defines it ------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cmath>

using namespace te::emulator::test;

namespace {

class ArithmeticTest : public EmulatorTest {};

using Row = std::array<uint32_t, 3>;
using Rows = std::vector<Row>;
using Bits = std::vector<uint32_t>;

constexpr uint32_t one = 0x3F800000;
constexpr uint32_t qnan = 0x7FFFFFFF;
constexpr uint32_t infinity = 0x7F800000;
constexpr uint32_t subnormal = 0x00000001;

/// Evaluates llvm.nvvm.NAME of one to three f32.
Bits callF32(const std::string &name, int operands, const Rows &rows) {
  std::string types, values;
  for (int i = 0; i < operands; ++i) {
    types += i ? ", float" : "float";
    values += std::string(i ? ", " : "") + "float %" + "xyz"[i];
  }
  return evaluateF32("declare float @llvm.nvvm." + name + "(" + types + ")",
                     "  %w = call float @llvm.nvvm." + name + "(" + values +
                         ")\n",
                     rows);
}

uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Evaluates an intrinsic of packed 16-bit types on i32 operands.
Bits callPacked(const std::string &name, const std::string &type, int operands,
                const Rows &rows) {
  std::string types, values, casts;
  for (int i = 0; i < operands; ++i) {
    std::string letter(1, "abc"[i]);
    casts += "  %" + letter + "32 = trunc i64 %" + letter + " to i32\n  %p" +
             letter + " = bitcast i32 %" + letter + "32 to " + type + "\n";
    types += (i ? ", " : "") + type;
    values += (i ? ", " : "") + type + " %p" + letter;
  }
  std::vector<std::array<uint64_t, 3>> wide;
  for (const Row &row : rows)
    wide.push_back({row[0], row[1], row[2]});
  std::vector<uint64_t> results = evaluate(
      "declare " + type + " @llvm.nvvm." + name + "(" + types + ")",
      casts + "  %v = call " + type + " @llvm.nvvm." + name + "(" + values +
          ")\n  %v32 = bitcast " + type +
          " %v to i32\n  %r = zext i32 %v32 to i64\n",
      wide);
  return {results.begin(), results.end()};
}

/// Evaluates an intrinsic of i32 operands.
uint32_t callI32(const std::string &name, const std::vector<uint32_t> &operands) {
  std::string types, values;
  std::array<uint64_t, 3> row{};
  for (size_t i = 0; i < operands.size(); ++i) {
    types += i ? ", i32" : "i32";
    values += std::string(i ? ", " : "") + "i32 %" + "abc"[i] + "32";
    row[i] = operands[i];
  }
  return evaluate("declare i32 @llvm." + name + "(" + types + ")", R"(
  %a32 = trunc i64 %a to i32
  %b32 = trunc i64 %b to i32
  %c32 = trunc i64 %c to i32
  %v = call i32 @llvm.)" + name + "(" + values + R"()
  %r = zext i32 %v to i64
)",
                  {row})[0];
}

} // namespace

TEST_F(ArithmeticTest, Rounding) {
  // 1 + 2^-30, and its negative
  Rows rows = {{one, 0x30800000}, {one | 0x80000000, 0xB0800000}};
  EXPECT_EQ(callF32("add.rn.f", 2, rows), (Bits{0x3F800000, 0xBF800000}));
  EXPECT_EQ(callF32("add.rz.f", 2, rows), (Bits{0x3F800000, 0xBF800000}));
  EXPECT_EQ(callF32("add.rp.f", 2, rows), (Bits{0x3F800001, 0xBF800000}));
  EXPECT_EQ(callF32("add.rm.f", 2, rows), (Bits{0x3F800000, 0xBF800001}));
  Rows thirds = {{one, 0x40400000}, {one, 0xC0400000}};
  EXPECT_EQ(callF32("div.rn.f", 2, thirds), (Bits{0x3EAAAAAB, 0xBEAAAAAB}));
  EXPECT_EQ(callF32("div.rz.f", 2, thirds), (Bits{0x3EAAAAAA, 0xBEAAAAAA}));
  EXPECT_EQ(callF32("div.rp.f", 2, thirds), (Bits{0x3EAAAAAB, 0xBEAAAAAA}));
  EXPECT_EQ(callF32("rcp.rn.f", 1, {{0x40400000}}), (Bits{0x3EAAAAAB}));
  EXPECT_EQ(callF32("rcp.rm.f", 1, {{0x40400000}}), (Bits{0x3EAAAAAA}));
  EXPECT_EQ(callF32("sqrt.rn.f", 1, {{0x40000000}}), (Bits{0x3FB504F3}));
  EXPECT_EQ(callF32("sqrt.rp.f", 1, {{0x40000000}}), (Bits{0x3FB504F4}));
  // (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46 when fused.
  Rows fused = {{0x3F800001, 0x3F800001, 0xBF800002}};
  EXPECT_EQ(callF32("fma.rn.f", 3, fused), (Bits{0x28800000}));
  // 1 * 1 + 2^-30
  EXPECT_EQ(callF32("fma.rp.f", 3, {{one, one, 0x30800000}}),
            (Bits{0x3F800001}));
  EXPECT_EQ(callF32("mul.rz.f", 2, {{0x3F7FFFFF, 0x3F7FFFFF}}),
            (Bits{0x3F7FFFFE}));
}

TEST_F(ArithmeticTest, FlushAndSaturate) {
  EXPECT_EQ(callF32("add.rn.ftz.f", 2, {{subnormal, 0}, {0x80000001, 0}}),
            (Bits{0, 0}));
  EXPECT_EQ(callF32("mul.rn.ftz.f", 2, {{0x80000001, one}}),
            (Bits{0x80000000}));
  EXPECT_EQ(callF32("add.rn.sat.f", 2,
                    {{one, one}, {0xBF800000, 0}, {qnan, 0}, {0x3F000000, 0}}),
            (Bits{one, 0, 0, 0x3F000000}));
  EXPECT_EQ(callF32("saturate.f", 1, {{0x40000000}, {0x80000000}}),
            (Bits{one, 0}));
}

/// What kernels compute on subnormals and NaN without any intrinsic.
TEST_F(ArithmeticTest, PlainInstructions) {
  auto run = [](const std::string &op, const Row &row) {
    return evaluateF32("", "  %w = " + op + " float %x, %y\n", {row})[0];
  };
  EXPECT_EQ(run("fadd", {subnormal, subnormal}), 2u);
  EXPECT_EQ(run("fmul", {0x00800000, 0x3F000000}), 0x00400000u);
  // Canonical NaN, whatever the operands carry.
  EXPECT_EQ(run("fmul", {infinity, 0}), qnan);
  EXPECT_EQ(run("fsub", {infinity, infinity}), qnan);
  EXPECT_EQ(run("fadd", {0xFFC12345, one}), qnan);
  EXPECT_EQ(run("fdiv", {0, 0}), qnan);
  // Moving a NaN keeps it.
  EXPECT_EQ(evaluateF32("", "  %w = select i1 true, float %x, float %y\n",
                        {{0xFFC12345}})[0],
            0xFFC12345u);
}

/// Flags that permit contraction and reassociation do nothing; fma fuses.
TEST_F(ArithmeticTest, NoFastMath) {
  // (1 + 2^-30) - 1
  EXPECT_EQ(evaluateF32("", "  %s = fadd fast float %x, %y\n"
                            "  %w = fsub fast float %s, %x\n",
                        {{one, 0x30800000}}),
            (Bits{0}));
  Rows rows = {{0x3F800001, 0x3F800001, 0xBF800002}};
  EXPECT_EQ(evaluateF32("", "  %p = fmul fast float %x, %y\n"
                            "  %w = fadd fast float %p, %z\n",
                        rows),
            (Bits{0}));
  EXPECT_EQ(evaluateF32("declare float @llvm.fma.f32(float, float, float)",
                        "  %w = call float @llvm.fma.f32(float %x, float %y, "
                        "float %z)\n",
                        rows),
            (Bits{0x28800000}));
}

TEST_F(ArithmeticTest, MinMax) {
  const uint32_t two = 0x40000000, minusTwo = 0xC0000000,
                 minusZero = 0x80000000;
  Rows rows = {{one, minusTwo}, {qnan, one},    {one, qnan},
               {qnan, qnan},      {minusZero, 0}, {0, minusZero}};
  EXPECT_EQ(callF32("fmax.f", 2, rows), (Bits{one, one, one, qnan, 0, 0}));
  EXPECT_EQ(callF32("fmin.f", 2, rows),
            (Bits{minusTwo, one, one, qnan, minusZero, minusZero}));
  EXPECT_EQ(callF32("fmax.nan.f", 2, rows), (Bits{one, qnan, qnan, qnan, 0, 0}));
  EXPECT_EQ(callF32("fmax.ftz.f", 2, {{subnormal, minusTwo}}), (Bits{0}));
  // The greater magnitude with both signs combined.
  EXPECT_EQ(callF32("fmax.xorsign.abs.f", 2,
                    {{one, minusTwo}, {minusTwo, 0xBF800000}, {qnan, minusTwo}}),
            (Bits{minusTwo, two, minusTwo}));
  EXPECT_EQ(callF32("fmin.xorsign.abs.f", 2, {{one, minusTwo}}),
            (Bits{0xBF800000}));
  // What upstream lowers arith.maxnumf and arith.maximumf to.
  for (auto [name, expected] :
       {std::pair("maxnum", Bits{one, one, one, qnan, 0, 0}),
        std::pair("maximum", Bits{one, qnan, qnan, qnan, 0, 0})})
    EXPECT_EQ(evaluateF32(std::string("declare float @llvm.") + name +
                              ".f32(float, float)",
                          std::string("  %w = call float @llvm.") + name +
                              ".f32(float %x, float %y)\n",
                          rows),
              expected);
  // Two halves of bf16: (-2, 1) and (1, NaN)
  EXPECT_EQ(callPacked("fmax.bf16x2", "<2 x bfloat>", 2,
                       {{0xC0003F80, 0x3F807FC0}}),
            (Bits{0x3F803F80}));
  EXPECT_EQ(callPacked("fmax.nan.f16x2", "<2 x half>", 2,
                       {{0xC0003C00, 0x3C007E00}}),
            (Bits{0x3C007FFF}));
  EXPECT_EQ(callPacked("fmin.xorsign.abs.f16x2", "<2 x half>", 2,
                       {{0xC0003C00, 0x3C004000}}),
            (Bits{0xBC003C00}));
}

TEST_F(ArithmeticTest, NarrowFma) {
  // f16: (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20, a subnormal; 1 * 1 + 1
  EXPECT_EQ(callPacked("fma.rn.f16x2", "<2 x half>", 3,
                       {{0x3C013C00, 0x3C013C00, 0xBC023C00}}),
            (Bits{0x00104000}));
  EXPECT_EQ(callPacked("fma.rn.ftz.f16x2", "<2 x half>", 3,
                       {{0x3C013C00, 0x3C013C00, 0xBC023C00}}),
            (Bits{0x00004000}));
  EXPECT_EQ(callPacked("fma.rn.relu.f16x2", "<2 x half>", 3,
                       {{0xBC003C00, 0x3C003C00, 0x00000000}}),
            (Bits{0x00003C00}));
  EXPECT_EQ(callPacked("fma.rn.sat.f16x2", "<2 x half>", 3,
                       {{0xBC004000, 0x3C003C00, 0x00000000}}),
            (Bits{0x00003C00}));
  // bf16: 1.5 * (1 + 2^-7) is a tie that goes up to even; less 2^-60, which f32
  // and f64 cannot tell apart, it goes down. 1.5 * (1 + 3 * 2^-7) is the reverse.
  EXPECT_EQ(callPacked("fma.rn.bf16x2", "<2 x bfloat>", 3,
                       {{0x3FC03FC0, 0x3F813F81, 0xA1800000},
                        {0x3FC03FC0, 0x3F833F83, 0x21800000}}),
            (Bits{0x3FC13FC2, 0x3FC53FC4}));
  std::vector<uint64_t> results = evaluate(
      "declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)", R"(
  %a16 = trunc i64 %a to i16
  %b16 = trunc i64 %b to i16
  %c16 = trunc i64 %c to i16
  %ab = bitcast i16 %a16 to bfloat
  %bb = bitcast i16 %b16 to bfloat
  %cb = bitcast i16 %c16 to bfloat
  %v = call bfloat @llvm.fma.bf16(bfloat %ab, bfloat %bb, bfloat %cb)
  %v16 = bitcast bfloat %v to i16
  %r = zext i16 %v16 to i64
)",
      {{0x3FC0, 0x3F81, 0xA180}, {0x3FC0, 0x3F81, 0}});
  EXPECT_EQ(results, (std::vector<uint64_t>{0x3FC1, 0x3FC2}));
}

/// bf16 arithmetic keeps subnormals, on hosts with bf16 instructions too.
TEST_F(ArithmeticTest, NarrowPlain) {
  EXPECT_EQ(evaluate("", R"(
  %a16 = trunc i64 %a to i16
  %b16 = trunc i64 %b to i16
  %ab = bitcast i16 %a16 to bfloat
  %bb = bitcast i16 %b16 to bfloat
  %v = fadd bfloat %ab, %bb
  %v16 = bitcast bfloat %v to i16
  %r = zext i16 %v16 to i64
)",
                     {{1, 2}, {0x3F80, 0x3B80}, {0x3F81, 0x3B80}}),
            (std::vector<uint64_t>{3, 0x3F80, 0x3F82}));
}

TEST_F(ArithmeticTest, Approximate) {
  EXPECT_EQ(callF32("rcp.approx.ftz.f", 1, {{0x40800000}, {subnormal}}),
            (Bits{0x3E800000, infinity}));
  EXPECT_EQ(callF32("rsqrt.approx.f", 1, {{0x40800000}}), (Bits{0x3F000000}));
  EXPECT_EQ(callF32("div.approx.f", 2, {{one, 0x40000000}}),
            (Bits{0x3F000000}));
  EXPECT_EQ(callF32("div.full", 2, {{one, 0x40000000}}), (Bits{0x3F000000}));
  EXPECT_EQ(callF32("lg2.approx.f", 1, {{0x41000000}}), (Bits{0x40400000}));
  EXPECT_EQ(callF32("sin.approx.f", 1, {{0}}), (Bits{0}));
  EXPECT_EQ(callF32("cos.approx.f", 1, {{0}}), (Bits{one}));
  EXPECT_EQ(callF32("sqrt.approx.f", 1, {{0x40800000}}), (Bits{0x40000000}));
  EXPECT_EQ(evaluateF32("declare float @llvm.nvvm.ex2.approx.f32(float)",
                        "  %w = call float @llvm.nvvm.ex2.approx.f32(float "
                        "%x)\n",
                        {{0xC0000000}, {0x43800000}}),
            (Bits{0x3E800000, infinity}));
  EXPECT_EQ(evaluateF32("", "  %w = call float asm \"tanh.approx.f32 $0, $1;\","
                            " \"=f,f\"(float %x)\n",
                        {{infinity}, {0x3F000000}}),
            (Bits{one, bitsOf(std::tanh(0.5f))}));
}

TEST_F(ArithmeticTest, RoundingToIntegers) {
  Rows rows = {{bitsOf(2.5f)}, {bitsOf(-1.5f)}, {bitsOf(-0.25f)}};
  EXPECT_EQ(callF32("floor.f", 1, rows),
            (Bits{bitsOf(2), bitsOf(-2), bitsOf(-1)}));
  EXPECT_EQ(callF32("ceil.f", 1, rows),
            (Bits{bitsOf(3), bitsOf(-1), 0x80000000}));
  EXPECT_EQ(callF32("trunc.f", 1, rows),
            (Bits{bitsOf(2), bitsOf(-1), 0x80000000}));
  EXPECT_EQ(callF32("round.f", 1, rows),
            (Bits{bitsOf(2), bitsOf(-2), 0x80000000}));
}

TEST_F(ArithmeticTest, AbsoluteValue) {
  auto run = [](const std::string &name) {
    return evaluateF32("declare float @llvm.nvvm." + name + ".f32(float)",
                       "  %w = call float @llvm.nvvm." + name +
                           ".f32(float %x)\n",
                       {{0xBF800000}, {0x80000001}});
  };
  EXPECT_EQ(run("fabs"), (Bits{one, subnormal}));
  EXPECT_EQ(run("fabs.ftz"), (Bits{one, 0}));
}

TEST_F(ArithmeticTest, Integers) {
  EXPECT_EQ(callI32("nvvm.mulhi.i", {uint32_t(-2), 0x40000000}), uint32_t(-1));
  EXPECT_EQ(callI32("nvvm.mulhi.ui", {0xFFFFFFFF, 0xFFFFFFFF}), 0xFFFFFFFEu);
  EXPECT_EQ(callI32("nvvm.mul24.ui", {0xFF000002, 3}), 6u);
  EXPECT_EQ(callI32("nvvm.mul24.i", {0x00FFFFFF, 3}), uint32_t(-3));
  EXPECT_EQ(callI32("nvvm.sad.i", {uint32_t(-3), 4, 10}), 17u);
  EXPECT_EQ(callI32("nvvm.sad.ui", {uint32_t(-3), 4, 0}), uint32_t(-7));
  EXPECT_EQ(callI32("nvvm.idp4a.s.s", {0x01FF0203, 0x02020202, 100}), 110u);
  EXPECT_EQ(callI32("nvvm.idp4a.u.u", {0x000000FF, 0x000000FF, 0}), 65025u);
  EXPECT_EQ(callI32("bitreverse.i32", {1}), 0x80000000u);
}

TEST_F(ArithmeticTest, PermuteBytes) {
  EXPECT_EQ(callI32("nvvm.prmt", {0x33221100, 0x77665544, 0x7410}),
            0x77441100u);
  // Bit 3 of a selector replicates the sign of the byte.
  EXPECT_EQ(callI32("nvvm.prmt", {0x00008011, 0, 0x3098}), 0x0011FF00u);
  EXPECT_EQ(callI32("nvvm.prmt.f4e", {0x33221100, 0x77665544, 1}), 0x44332211u);
  EXPECT_EQ(callI32("nvvm.prmt.b4e", {0x33221100, 0x77665544, 1}), 0x66770011u);
  EXPECT_EQ(callI32("nvvm.prmt.rc8", {0x33221100, 2}), 0x22222222u);
  EXPECT_EQ(callI32("nvvm.prmt.rc16", {0x33221100, 1}), 0x33223322u);
  EXPECT_EQ(callI32("nvvm.prmt.ecl", {0x33221100, 1}), 0x33221111u);
  EXPECT_EQ(callI32("nvvm.prmt.ecr", {0x33221100, 1}), 0x11111100u);
}

TEST_F(ArithmeticTest, FunnelShift) {
  auto run = [](const std::string &name, std::array<uint64_t, 3> row) {
    return evaluate("declare i32 @llvm.nvvm." + name + ".i32(i32, i32, i32)",
                    R"(
  %a32 = trunc i64 %a to i32
  %b32 = trunc i64 %b to i32
  %c32 = trunc i64 %c to i32
  %v = call i32 @llvm.nvvm.)" + name + R"(.i32(i32 %a32, i32 %b32, i32 %c32)
  %r = zext i32 %v to i64
)",
                    {row})[0];
  };
  EXPECT_EQ(run("fshl.clamp", {0x12345678, 0x9ABCDEF0, 8}), 0x3456789Au);
  EXPECT_EQ(run("fshl.clamp", {0x12345678, 0x9ABCDEF0, 40}), 0x9ABCDEF0u);
  EXPECT_EQ(run("fshr.clamp", {0x12345678, 0x9ABCDEF0, 8}), 0x789ABCDEu);
  EXPECT_EQ(run("fshr.clamp", {0x12345678, 0x9ABCDEF0, 32}), 0x12345678u);
}

TEST_F(ArithmeticTest, DoubleHalves) {
  EXPECT_EQ(evaluate("declare double @llvm.nvvm.lohi.i2d(i32, i32)\n"
                     "declare i32 @llvm.nvvm.d2i.hi(double)\n"
                     "declare i32 @llvm.nvvm.d2i.lo(double)",
                     R"(
  %low = trunc i64 %a to i32
  %d = call double @llvm.nvvm.lohi.i2d(i32 %low, i32 1)
  %l = call i32 @llvm.nvvm.d2i.lo(double %d)
  %h = call i32 @llvm.nvvm.d2i.hi(double %d)
  %s = add i32 %l, %h
  %r = zext i32 %s to i64
)",
                     {{41}})[0],
            42u);
}

TEST_F(ArithmeticTest, InlineAssembly) {
  auto run = [](const std::string &text) {
    return evaluateF32("", "  %w = call float asm \"" + text +
                               "\", \"=f,f,f\"(float %x, float %y)\n",
                       {{bitsOf(3), bitsOf(0.5f)}})[0];
  };
  EXPECT_EQ(run("mul.rn.f32 $0, $1, $2;"), bitsOf(1.5f));
  EXPECT_EQ(run("add.rn.f32 \\09$0, $1,$2 ;"), bitsOf(3.5f));
  EXPECT_EQ(run("{ sub.rn.f32 $0, $1, $2; }"), bitsOf(2.5f));
  auto convert = [](const std::string &text) {
    return evaluate("", R"(
  %a32 = trunc i64 %a to i32
  %b32 = trunc i64 %b to i32
  %x = bitcast i32 %a32 to float
  %y = bitcast i32 %b32 to float
  %r16 = call i16 asm ")" + text + R"(", "=h,f,f"(float %x, float %y)
  %r = zext i16 %r16 to i64
)",
                    {{bitsOf(3), bitsOf(0.5f)}})[0];
  };
  EXPECT_EQ(convert("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"), 0x4430u);
  EXPECT_EQ(convert("cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;"), 0x4238u);
  EXPECT_EQ(convert("cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;"), 0x817Eu);
  EXPECT_EQ(convert("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; "
                    "cvt.u16.u8 $0, t; }"),
            0x51u);
  EXPECT_EQ(convert("{\\0A.reg .b8 b;\\0Acvt.rn.satfinite.e2m1x2.f32 b, $1, $2;"
                    "\\0Amov.b16 $0, {b, 0};\\0A}"),
            0x51u);
}
