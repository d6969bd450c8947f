//===- Emulator.cpp - running kernels written as LLVM IR in tests ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace te::emulator::test;

std::string te::emulator::test::assemble(const std::string &ir,
                                         const std::string &triple) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "target triple = \"" + triple + "\"\n" + ir, diagnostic, context);
  if (!module) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    diagnostic.print("kernel", stream, /*ShowColors=*/false);
    ADD_FAILURE() << message << "\n" << ir;
    return {};
  }
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

std::string te::emulator::test::getError() {
  const char *error = teRuntimeGetError();
  return error ? error : "";
}

Module::Module(const std::string &ir) {
  std::string bitcode = assemble(ir);
  handle = mgpuModuleLoad(bitcode.data(), bitcode.size());
}

void EmulatorTest::SetUp() {
  teRuntimeClearError();
  teEmulatorSetOptions({/*workers=*/0, /*checks=*/true, /*statistics=*/false,
                        /*raceChecks=*/false});
  teEmulatorResetStats();
}

void EmulatorTest::TearDown() {
  EXPECT_EQ(getError(), "");
  teRuntimeClearError();
}

std::string te::emulator::test::makeKernel(const std::string &params,
                                           const std::string &body,
                                           const std::string &globals) {
  return globals + R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier0()
define ptx_kernel void @k()" +
         params + R"() {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %ntid, %ctaid
  %idx32 = add i32 %base, %tid
  %idx = zext i32 %idx32 to i64
)" + body + R"(
}
)";
}

std::vector<uint64_t> te::emulator::test::evaluate(
    const std::string &globals, const std::string &body,
    const std::vector<std::array<uint64_t, 3>> &rows) {
  Module module(makeKernel("ptr %in, ptr %out, i64 %n", R"(
  %inside = icmp ult i64 %idx, %n
  br i1 %inside, label %run, label %exit
run:
  %row = getelementptr [3 x i64], ptr %in, i64 %idx
  %row1 = getelementptr i64, ptr %row, i64 1
  %row2 = getelementptr i64, ptr %row, i64 2
  %a = load i64, ptr %row
  %b = load i64, ptr %row1
  %c = load i64, ptr %row2
)" + body + R"(
  %result = getelementptr i64, ptr %out, i64 %idx
  store i64 %r, ptr %result
  br label %exit
exit:
  ret void)",
                           globals));
  Buffer<std::array<uint64_t, 3>> in(rows);
  Buffer<uint64_t> out(rows.size());
  launch(module, "k", {static_cast<intptr_t>((rows.size() + 63) / 64)}, {64},
         0, in.data, out.data, rows.size());
  EXPECT_EQ(getError(), "") << globals << body;
  return out.read();
}

std::vector<uint32_t> te::emulator::test::evaluateF32(
    const std::string &globals, const std::string &body,
    const std::vector<std::array<uint32_t, 3>> &rows) {
  std::vector<std::array<uint64_t, 3>> wide;
  for (const auto &row : rows)
    wide.push_back({row[0], row[1], row[2]});
  std::vector<uint64_t> results = evaluate(globals, R"(
  %a32 = trunc i64 %a to i32
  %b32 = trunc i64 %b to i32
  %c32 = trunc i64 %c to i32
  %x = bitcast i32 %a32 to float
  %y = bitcast i32 %b32 to float
  %z = bitcast i32 %c32 to float
)" + body + R"(
  %w32 = bitcast float %w to i32
  %r = zext i32 %w32 to i64
)",
                                           wide);
  return {results.begin(), results.end()};
}
