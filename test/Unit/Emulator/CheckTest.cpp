//===- CheckTest.cpp - faults that the access checks find -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstdio>

using namespace te::emulator::test;

namespace {

class CheckTest : public EmulatorTest {
protected:
  /// Returns the error, which is cleared.
  std::string takeError() {
    std::string error = getError();
    teRuntimeClearError();
    return error;
  }
};

std::string hex(const void *base, int64_t offset = 0) {
  char text[32];
  snprintf(text, sizeof(text), "0x%llx",
           static_cast<unsigned long long>(reinterpret_cast<uint64_t>(base) +
                                           offset));
  return text;
}

/// Each thread stores 16 bytes at its place.
const char *storeVectors = R"(
  %p = getelementptr <4 x float>, ptr %out, i64 %idx
  store <4 x float> zeroinitializer, ptr %p, align 16
  ret void)";

} // namespace

TEST_F(CheckTest, OutOfBoundsWrite) {
  TeEmulatorOptions options = teEmulatorGetOptions();
  options.workers = 1;
  teEmulatorSetOptions(options);
  Module module(makeKernel("ptr %out", storeVectors));
  Buffer<char> out(1024);
  launch(module, "k", {1}, {64}, 0, out.data);
  EXPECT_EQ(takeError(), "");
  launch(module, "k", {2}, {64}, 0, out.data);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (1,0,0) thread (0,0,0): out-of-bounds write of "
            "16 bytes at " +
                hex(out.data, 1024) +
                ", 0 bytes past the end of an allocation of 1024 bytes");
  launch(module, "k", {1}, {64}, 0, out.data + 1040);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds write of "
            "16 bytes at " +
                hex(out.data, 1040) +
                ", 16 bytes past the end of an allocation of 1024 bytes");
  launch(module, "k", {1}, {1}, 0, out.data - 32);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds write of "
            "16 bytes at " +
                hex(out.data, -32) +
                ", 32 bytes before the start of an allocation of 1024 bytes");
  EXPECT_EQ(teEmulatorGetFaultCount(), 3u);
  // A fault does not outlive its error.
  launch(module, "k", {1}, {64}, 0, out.data);
  EXPECT_EQ(takeError(), "");
}

TEST_F(CheckTest, AcrossTheEnd) {
  Module module(makeKernel("ptr %out", R"(
  %v = load i64, ptr %out, align 4
  store i64 %v, ptr %out, align 4
  ret void)"));
  Buffer<char> out(1020);
  launch(module, "k", {1}, {1}, 0, out.data + 1016);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds read of 8 "
            "bytes at " +
                hex(out.data, 1016) +
                ", across the end of an allocation of 1020 bytes from offset "
                "1016");
}

TEST_F(CheckTest, Misaligned) {
  Module module(makeKernel("ptr %out", storeVectors));
  Buffer<char> out(4096);
  launch(module, "k", {1}, {1}, 0, out.data + 8);
  EXPECT_EQ(takeError(), "kernel 'k' block (0,0,0) thread (0,0,0): misaligned "
                         "write of 16 bytes at " +
                             hex(out.data, 8) + ", expected a multiple of 16");
}

TEST_F(CheckTest, UseAfterFree) {
  Module module(makeKernel("ptr %out", storeVectors));
  char *stale;
  {
    Buffer<char> out(4096);
    stale = out.data;
  }
  // Freed addresses are not handed out again soon.
  Buffer<char> other(4096);
  EXPECT_NE(other.data, stale);
  launch(module, "k", {1}, {1}, 0, stale + 64);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): use after free: write of "
            "16 bytes at " +
                hex(stale, 64) +
                ", offset 64 in a freed allocation of 4096 bytes");
}

TEST_F(CheckTest, NullAndHostPointers) {
  Module module(makeKernel("ptr %out", storeVectors));
  launch(module, "k", {1}, {1}, 0, static_cast<char *>(nullptr));
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds write of "
            "16 bytes at 0x0, and there is no device allocation");
  alignas(16) char local[16];
  launch(module, "k", {1}, {1}, 0, static_cast<char *>(local));
  EXPECT_NE(takeError().find("out-of-bounds write of 16 bytes at " +
                             hex(local)),
            std::string::npos);
  // Registered host memory is accessible, until it is not.
  mgpuMemHostRegister(local, sizeof(local));
  launch(module, "k", {1}, {1}, 0, static_cast<char *>(local));
  EXPECT_EQ(takeError(), "");
  mgpuMemHostUnregister(local);
  launch(module, "k", {1}, {1}, 0, static_cast<char *>(local));
  EXPECT_NE(takeError(), "");
}

TEST_F(CheckTest, BulkOperations) {
  Module module(makeKernel("ptr %out, ptr %in, i64 %n", R"(
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %out, ptr align 4 %in, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr align 4 %in, i8 7, i64 %n, i1 false)
  ret void)",
                           R"(
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
)"));
  Buffer<char> out(64);
  Buffer<char> in(std::vector<char>(128, 3));
  launch(module, "k", {1}, {1}, 0, out.data, in.data, uint64_t(64));
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(out.read(), std::vector<char>(64, 3));
  EXPECT_EQ(in.read()[63], 7);
  EXPECT_EQ(in.read()[64], 3);
  launch(module, "k", {1}, {1}, 0, out.data, in.data, uint64_t(65));
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds write of "
            "65 bytes at " +
                hex(out.data) +
                ", across the end of an allocation of 64 bytes from offset 0");
}

TEST_F(CheckTest, Atomics) {
  Module module(makeKernel("ptr %out", R"(
  %old = atomicrmw add ptr %out, i32 1 monotonic
  ret void)"));
  Buffer<char> out(8);
  launch(module, "k", {1}, {1}, 0, out.data + 8);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): out-of-bounds atomic "
            "access of 4 bytes at " +
                hex(out.data, 8) +
                ", 0 bytes past the end of an allocation of 8 bytes");
}

TEST_F(CheckTest, SharedVariables) {
  Module module(makeKernel("i32 %i", R"(
  %p = getelementptr [8 x i32], ptr addrspace(3) @first, i32 0, i32 %i
  store i32 0, ptr addrspace(3) %p
  store i32 0, ptr addrspace(3) @second
  ret void)",
                           R"(
@first = internal addrspace(3) global [8 x i32] poison
@second = internal addrspace(3) global [8 x i32] poison
)"));
  launch(module, "k", {1}, {1}, 0, 7);
  EXPECT_EQ(takeError(), "");
  // Inside of the block's shared memory, and outside of the variable.
  launch(module, "k", {1}, {1}, 0, 8);
  std::string error = takeError();
  EXPECT_NE(error.find("out-of-bounds write of 4 bytes"), std::string::npos)
      << error;
  EXPECT_NE(error.find("0 bytes past the end of a shared variable of 32 bytes"),
            std::string::npos)
      << error;
}

TEST_F(CheckTest, DynamicSharedMemory) {
  Module module(makeKernel("ptr %out", R"(
  %p = getelementptr i32, ptr addrspace(3) @dynamic, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier0()
  %j = xor i32 %tid, 1
  %q = getelementptr i32, ptr addrspace(3) @dynamic, i32 %j
  %v = load i32, ptr addrspace(3) %q
  %o = getelementptr i32, ptr %out, i64 %idx
  store i32 %v, ptr %o
  ret void)",
                           R"(
@dynamic = external addrspace(3) global [0 x i32], align 16
)"));
  Buffer<uint32_t> out(64);
  launch(module, "k", {1}, {64}, 256, out.data);
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(out.read()[6], 7u);
  launch(module, "k", {1}, {64}, 252, out.data);
  std::string error = takeError();
  EXPECT_NE(error.find("thread (63,0,0): out-of-bounds write of 4 bytes"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("0 bytes past the end of shared memory of 252 bytes"),
            std::string::npos)
      << error;
}

TEST_F(CheckTest, LocalVariables) {
  Module module(makeKernel("ptr %out, i32 %i", R"(
  %local = alloca [4 x i32], addrspace(5)
  %generic = addrspacecast ptr addrspace(5) %local to ptr
  %p = getelementptr i32, ptr %generic, i32 %i
  store i32 5, ptr %p
  %v = load i32, ptr %p
  store i32 %v, ptr %out
  ret void)"));
  Buffer<int> out(1);
  launch(module, "k", {1}, {1}, 0, out.data, 3);
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(out.read()[0], 5);
  launch(module, "k", {1}, {1}, 0, out.data, 4);
  std::string error = takeError();
  EXPECT_NE(error.find("0 bytes past the end of a local variable of 16 bytes"),
            std::string::npos)
      << error;
}

TEST_F(CheckTest, ConstantVariables) {
  Module module(makeKernel("ptr %out, i1 %write", R"(
  %p = getelementptr i32, ptr addrspace(4) @table, i32 %tid
  %generic = addrspacecast ptr addrspace(4) %p to ptr
  br i1 %write, label %store, label %load
store:
  store i32 0, ptr %generic
  br label %load
load:
  %v = load i32, ptr %generic
  %o = getelementptr i32, ptr %out, i64 %idx
  store i32 %v, ptr %o
  ret void)",
                           R"(
@table = internal addrspace(4) constant [3 x i32] [i32 5, i32 6, i32 7]
)"));
  Buffer<int> out(4);
  launch(module, "k", {1}, {3}, 0, out.data, false);
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(out.read()[2], 7);
  launch(module, "k", {1}, {4}, 0, out.data, false);
  std::string error = takeError();
  EXPECT_NE(error.find("0 bytes past the end of variable 'table' of 12 bytes"),
            std::string::npos)
      << error;
  launch(module, "k", {1}, {1}, 0, out.data, true);
  error = takeError();
  EXPECT_NE(error.find("to constant memory, offset 0 in variable 'table' of 12 "
                       "bytes"),
            std::string::npos)
      << error;
}

TEST_F(CheckTest, AsynchronousCopy) {
  Module module(makeKernel("ptr addrspace(1) %in, ptr %out, i32 %n", R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3) @s, ptr addrspace(1) %in, i32 %n)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %v = load <4 x i32>, ptr addrspace(3) @s
  store <4 x i32> %v, ptr %out
  ret void)",
                           R"(
@s = internal addrspace(3) global [4 x i32] poison, align 16
declare void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
)"));
  Buffer<int> in(std::vector<int>{1, 2, 3, 4}), out(4);
  launch(module, "k", {1}, {1}, 0, in.data, out.data, 8);
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(out.read(), (std::vector<int>{1, 2, 0, 0}));
  launch(module, "k", {1}, {1}, 0, in.data + 4, out.data, 16);
  EXPECT_NE(takeError().find("out-of-bounds read of 16 bytes"),
            std::string::npos);
}

TEST_F(CheckTest, SharedMemoryRace) {
  std::string globals = "@s = internal addrspace(3) global [64 x i32] poison\n";
  auto body = [](const std::string &barrier) {
    return R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
)" + barrier +
           R"(
  %j = sub i32 63, %tid
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %j
  %v = load i32, ptr addrspace(3) %q
  %o = getelementptr i32, ptr %out, i64 %idx
  store i32 %v, ptr %o
  ret void)";
  };
  TeEmulatorOptions options = teEmulatorGetOptions();
  options.raceChecks = true;
  teEmulatorSetOptions(options);
  Buffer<int> out(64);
  Module synchronized(
      makeKernel("ptr %out", body("  call void @llvm.nvvm.barrier0()\n"),
                 globals));
  launch(synchronized, "k", {1}, {64}, 0, out.data);
  EXPECT_EQ(takeError(), "");
  Module racy(makeKernel("ptr %out", body(""), globals));
  launch(racy, "k", {1}, {64}, 0, out.data);
  std::string error = takeError();
  EXPECT_NE(error.find("race on shared memory: "),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("without a barrier between"), std::string::npos)
      << error;
}

/// Without checks an access goes where it goes; the process survives.
TEST_F(CheckTest, InvalidMemoryWithoutChecks) {
  TeEmulatorOptions options = teEmulatorGetOptions();
  options.checks = false;
  teEmulatorSetOptions(options);
  Module module(makeKernel("ptr %out", storeVectors));
  launch(module, "k", {1}, {1}, 0, reinterpret_cast<char *>(0x1000));
  EXPECT_EQ(takeError(), "kernel 'k' block (0,0,0) thread (0,0,0): access to "
                         "invalid memory at 0x1000");
  Buffer<char> out(1024);
  launch(module, "k", {1}, {64}, 0, out.data);
  EXPECT_EQ(takeError(), "");
}

TEST_F(CheckTest, DivisionByZero) {
  Module module(makeKernel("ptr %out, i32 %i", R"(
  %v = sdiv i32 5, %i
  store i32 %v, ptr %out
  ret void)"));
  Buffer<int> out(1);
  launch(module, "k", {1}, {1}, 0, out.data, 0);
  EXPECT_EQ(takeError(), "kernel 'k' block (0,0,0) thread (0,0,0): integer "
                         "division by zero or overflow");
}

TEST_F(CheckTest, LocalMemoryOverflow) {
  Module module(makeKernel("ptr %out, i64 %n", R"(
  call void @callee(i64 %n)
  ret void)",
                           R"(
define internal void @callee(i64 %n) noinline {
  %local = alloca i8, i64 %n, align 16, addrspace(5)
  store volatile i8 1, ptr addrspace(5) %local
  ret void
}
)"));
  Buffer<int> out(1);
  launch(module, "k", {1}, {1}, 0, out.data, uint64_t(1000));
  EXPECT_EQ(takeError(), "");
  // Far beyond the guard page of the stack.
  launch(module, "k", {1}, {1}, 0, out.data, uint64_t(1000000));
  EXPECT_EQ(takeError(), "kernel 'k' block (0,0,0) thread (0,0,0): local "
                         "memory of a thread exceeds 262144 bytes");
}

TEST_F(CheckTest, TrapAndAssert) {
  Module module(makeKernel("ptr %out", R"(
  call void @llvm.trap()
  unreachable)",
                           "declare void @llvm.trap()\n"));
  Buffer<int> out(1);
  launch(module, "k", {1}, {1}, 0, out.data);
  EXPECT_EQ(takeError(),
            "kernel 'k' block (0,0,0) thread (0,0,0): the kernel trapped");
  Module asserting(makeKernel("ptr %out", R"(
  call void @__assertfail(ptr @message, ptr @file, i32 12, ptr @file, i64 1)
  ret void)",
                              R"(
@message = private constant [8 x i8] c"x below\00"
@file = private constant [2 x i8] c"f\00"
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
)"));
  launch(asserting, "k", {1}, {1}, 0, out.data);
  EXPECT_EQ(takeError(), "kernel 'k' block (0,0,0) thread (0,0,0): assertion "
                         "failed: x below (f:12, f)");
}

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

TEST_F(CheckTest, HostReadsDeviceMemory) {
  struct State {
    Buffer<int> buffer{std::vector<int>{1, 2, 3, 4}};
    int before = 0, after = 0;
  } state;
  int status = teEmulatorCallGuarded(
      [](void *arg) {
        auto &state = *static_cast<State *>(arg);
        state.before = 1;
        volatile int *data = state.buffer.data;
        state.after = data[3];
      },
      &state);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(state.before, 1);
  EXPECT_EQ(state.after, 0);
  EXPECT_EQ(takeError(), "host code accessed device memory at " +
                             hex(state.buffer.data, 12) +
                             " (allocation of 16 bytes, offset 12)");
  EXPECT_EQ(teEmulatorGetFaultCount(), 1u);
  // Outside of the guarded call memory is open again.
  EXPECT_EQ(state.buffer.data[3], 4);
}

TEST_F(CheckTest, GuardedProgram) {
  Module module(makeKernel("ptr %out", R"(
  %p = getelementptr i32, ptr %out, i64 %idx
  %v = load i32, ptr %p
  %w = add i32 %v, 1
  store i32 %w, ptr %p
  ret void)"));
  struct State {
    const Module &module;
    std::vector<int> result;
  } state{module, {}};
  int status = teEmulatorCallGuarded(
      [](void *arg) {
        auto &state = *static_cast<State *>(arg);
        Buffer<int> first(std::vector<int>(256, 1));
        Buffer<int> second(256);
        mgpuMemcpy(second.data, first.data, 1024, nullptr);
        launch(state.module, "k", {2}, {128}, 0, second.data);
        state.result = second.read();
      },
      &state);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(state.result, std::vector<int>(256, 2));
}

TEST_F(CheckTest, HostFaults) {
  int status = teEmulatorCallGuarded(
      [](void *) {
        uintptr_t address = 8;
        asm volatile("" : "+r"(address)); // hidden from the compiler
        *reinterpret_cast<volatile int *>(address) = 1;
      },
      nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(takeError(),
            "fault in host code: access to invalid memory at 0x8");
  // A copy from a host pointer that is none, while memory is open.
  Buffer<int> buffer(4);
  status = teEmulatorCallGuarded(
      [](void *arg) {
        mgpuMemcpy(arg, reinterpret_cast<void *>(8), 16, nullptr);
      },
      buffer.data);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(takeError(),
            "fault in host code: access to invalid memory at 0x8");
  // It is closed to the next guarded call, and calls nest.
  status = teEmulatorCallGuarded(
      [](void *arg) {
        int inner = teEmulatorCallGuarded(
            [](void *arg) { *static_cast<volatile int *>(arg) = 1; }, arg);
        teRuntimeCheck(inner == 1, "the inner call saw nothing");
      },
      buffer.data);
  EXPECT_EQ(status, 1);
  EXPECT_NE(takeError().find("host code accessed device memory"),
            std::string::npos);
}
