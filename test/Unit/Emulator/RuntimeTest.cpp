//===- RuntimeTest.cpp - the mgpu* ABI and the error state ----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <cstdio>
#include <thread>

using namespace te::emulator::test;

namespace {

class RuntimeTest : public EmulatorTest {
protected:
  /// Returns the error, which is cleared.
  std::string takeError() {
    std::string error = getError();
    teRuntimeClearError();
    return error;
  }
};

/// Adds one to each element, with a loop over the grid.
std::string addOne() {
  return makeKernel("ptr %data, i64 %n", R"(
  %inside = icmp ult i64 %idx, %n
  br i1 %inside, label %run, label %exit
run:
  %p = getelementptr i32, ptr %data, i64 %idx
  %v = load i32, ptr %p
  %w = add i32 %v, 1
  store i32 %w, ptr %p
  br label %exit
exit:
  ret void)");
}

} // namespace

TEST_F(RuntimeTest, StickyError) {
  EXPECT_EQ(teRuntimeGetError(), nullptr);
  Module module(addOne());
  Buffer<int> buffer(std::vector<int>{1, 2});
  void *kernel = module.getFunction("k");
  teRuntimeCheck(true, "not this");
  EXPECT_EQ(teRuntimeGetError(), nullptr);
  teRuntimeCheck(false, "the first");
  teRuntimeSetError("the second");
  EXPECT_EQ(getError(), "the first");
  // Nothing happens any more ..
  uint64_t n = 2;
  void *params[] = {&buffer.data, &n};
  mgpuLaunchKernel(kernel, 1, 1, 1, 2, 1, 1, 0, nullptr, params, nullptr, 2);
  mgpuMemset32(buffer.data, 9, 2, nullptr);
  int host = 7;
  mgpuMemcpy(&host, buffer.data, 4, nullptr);
  EXPECT_EQ(host, 7);
  EXPECT_EQ(mgpuMemAlloc(16, nullptr, false), nullptr);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  EXPECT_EQ(module.getFunction("k"), nullptr);
  EXPECT_EQ(getError(), "the first");
  // .. in this thread.
  std::thread([&] {
    EXPECT_EQ(teRuntimeGetError(), nullptr);
    mgpuMemcpy(&host, buffer.data, 4, nullptr);
  }).join();
  EXPECT_EQ(host, 1);
  teRuntimeClearError();
  EXPECT_EQ(buffer.read(), (std::vector<int>{1, 2}));
}

TEST_F(RuntimeTest, Memory) {
  void *empty = mgpuMemAlloc(0, nullptr, false);
  void *other = mgpuMemAlloc(0, nullptr, false);
  EXPECT_NE(empty, nullptr);
  EXPECT_NE(empty, other);
  EXPECT_EQ(reinterpret_cast<uint64_t>(empty) % 256, 0u);
  mgpuMemFree(empty, nullptr);
  mgpuMemFree(other, nullptr);
  mgpuMemFree(nullptr, nullptr);

  // Fresh memory is not zero.
  Buffer<unsigned> fresh(4);
  EXPECT_EQ(fresh.read(), std::vector<unsigned>(4, 0xFFFFFFFF));
  mgpuMemset16(fresh.data, 0x1234, 4, nullptr);
  mgpuMemset32(fresh.data + 2, 5, 1, nullptr);
  EXPECT_EQ(fresh.read(), (std::vector<unsigned>{0x12341234, 0x12341234, 5,
                                                 0xFFFFFFFF}));

  EXPECT_EQ(mgpuMemAlloc(uint64_t(65) << 30, nullptr, false), nullptr);
  EXPECT_EQ(takeError(),
            "out of device memory: 69793218560 bytes requested");
  int local = 0;
  mgpuMemFree(&local, nullptr);
  EXPECT_NE(takeError().find("which is no allocation"), std::string::npos);
  mgpuMemcpy(&local, fresh.data + 4, 4, nullptr);
  EXPECT_NE(takeError().find("0 bytes past the end of an allocation of 16"),
            std::string::npos);
  mgpuMemset32(fresh.data, 0, 5, nullptr);
  EXPECT_NE(takeError().find("mgpuMemset32: write of 20 bytes"),
            std::string::npos);
}

TEST_F(RuntimeTest, HostSharedMemory) {
  Module module(addOne());
  struct State {
    const Module &module;
    int result = 0;
  } state{module};
  EXPECT_EQ(teEmulatorCallGuarded(
                [](void *arg) {
                  auto &state = *static_cast<State *>(arg);
                  auto *memory =
                      static_cast<int *>(mgpuMemAlloc(4, nullptr, true));
                  *memory = 41;
                  launch(state.module, "k", {1}, {1}, 0, memory, uint64_t(1));
                  state.result = *memory;
                  mgpuMemFree(memory, nullptr);
                },
                &state),
            0);
  EXPECT_EQ(state.result, 42);
}

TEST_F(RuntimeTest, HostRegisteredMemRef) {
  Module module(addOne());
  int data[6] = {};
  // allocated, aligned, offset, 2x2 with strides 3 and 1
  int64_t descriptor[] = {reinterpret_cast<int64_t>(data),
                          reinterpret_cast<int64_t>(data),
                          1,
                          2,
                          2,
                          3,
                          1};
  mgpuMemHostRegisterMemRef(2, descriptor, 4);
  launch(module, "k", {1}, {8}, 0, data + 1, uint64_t(5));
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(data[0], 0);
  EXPECT_EQ(data[5], 1);
  mgpuMemHostUnregisterMemRef(2, descriptor, 4);
  launch(module, "k", {1}, {8}, 0, data + 1, uint64_t(5));
  EXPECT_NE(takeError(), "");
}

TEST_F(RuntimeTest, StreamsAndEvents) {
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  EXPECT_NE(stream, nullptr);
  EXPECT_NE(event, nullptr);
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  mgpuEventSynchronize(event);
  mgpuStreamSynchronize(stream);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
  mgpuSetDefaultDevice(0);
  EXPECT_EQ(takeError(), "");
  mgpuSetDefaultDevice(1);
  EXPECT_NE(takeError(), "");
}

TEST_F(RuntimeTest, Grids) {
  Module module(addOne());
  // An empty grid launches nothing.
  launch(module, "k", {0}, {128}, 0, static_cast<int *>(nullptr), uint64_t(9));
  launch(module, "k", {4, 0}, {128}, 0, static_cast<int *>(nullptr),
         uint64_t(9));
  EXPECT_EQ(takeError(), "");
  const size_t n = 70000 * 2;
  Buffer<int> buffer(std::vector<int>(n, 1));
  launch(module, "k", {70000}, {2}, 0, buffer.data, uint64_t(n));
  EXPECT_EQ(takeError(), "");
  EXPECT_EQ(buffer.read(), std::vector<int>(n, 2));
}

TEST_F(RuntimeTest, LaunchLimits) {
  Module module(addOne());
  auto run = [&](Size grid, Size block, int32_t smem) {
    launch(module, "k", grid, block, smem, static_cast<int *>(nullptr),
           uint64_t(0));
    return takeError();
  };
  EXPECT_EQ(run({1, 65536}, {1}, 0),
            "launch of kernel 'k': expected a grid of at most "
            "(2147483647,65535,65535) blocks, but got (1,65536,1)");
  EXPECT_EQ(run({1}, {0}, 0), "launch of kernel 'k': expected a block of 1 to "
                              "(1024,1024,64) threads, but got (0,1,1)");
  EXPECT_EQ(run({1}, {64, 32}, 0),
            "launch of kernel 'k': expected at most 1024 threads per block, "
            "but got (64,32,1)");
  EXPECT_EQ(run({1}, {1}, 300000),
            "launch of kernel 'k': expected at most 232448 bytes of shared "
            "memory, but got 300000");
  launch(module, "k", {1}, {1}, 0, 1);
  EXPECT_EQ(takeError(),
            "launch of kernel 'k': expected 2 arguments, but got 1");
  EXPECT_EQ(module.getFunction("absent"), nullptr);
  EXPECT_EQ(takeError(), "the kernel module has no kernel 'absent'");
  mgpuLaunchClusterKernel(module.getFunction("k"), 1, 1, 1, 1, 1, 1, 1, 1, 1, 0,
                          nullptr, nullptr, nullptr, 0);
  EXPECT_EQ(takeError(), "the emulator does not support thread block clusters");

  Module required(R"(
define ptx_kernel void @k() "nvvm.reqntid"="64" {
  ret void
})");
  launch(required, "k", {1}, {64}, 0);
  EXPECT_EQ(takeError(), "");
  launch(required, "k", {1}, {32}, 0);
  EXPECT_EQ(takeError(), "launch of kernel 'k': expected a block of (64,1,1) "
                         "threads, but got (32,1,1)");
}

/// Launches of several host threads do not mix.
TEST_F(RuntimeTest, ConcurrentHostThreads) {
  Module module(addOne());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const size_t n = 10000;
      Buffer<int> buffer(std::vector<int>(n, t));
      for (int i = 0; i < 20; ++i)
        launch(module, "k", {100}, {100}, 0, buffer.data, uint64_t(n));
      EXPECT_EQ(getError(), "");
      EXPECT_EQ(buffer.read(), std::vector<int>(n, t + 20));
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

namespace {
class StatisticsTest : public EmulatorTest {
protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    TeEmulatorOptions options = teEmulatorGetOptions();
    options.statistics = true;
    teEmulatorSetOptions(options);
  }

  /// The statistics, as written to a file.
  llvm::json::Value readStats() {
    std::string path = ::testing::TempDir() + "/te_emulator_stats_" +
                       std::to_string(reinterpret_cast<uintptr_t>(this)) +
                       ".json";
    EXPECT_EQ(teEmulatorWriteStats(path.c_str()), 0);
    auto buffer = llvm::MemoryBuffer::getFile(path);
    EXPECT_TRUE(static_cast<bool>(buffer));
    llvm::Expected<llvm::json::Value> value =
        llvm::json::parse((*buffer)->getBuffer());
    remove(path.c_str());
    if (!value) {
      ADD_FAILURE() << llvm::toString(value.takeError());
      return nullptr;
    }
    return *value;
  }

  /// One number of the only configuration of kernel @k.
  int64_t getCount(const llvm::json::Value &stats, const char *key) {
    const llvm::json::Array *configurations =
        stats.getAsObject()->getObject("kernels")->getArray("k");
    EXPECT_EQ(configurations->size(), 1u);
    return *(*configurations)[0].getAsObject()->getInteger(key);
  }
};
} // namespace

TEST_F(StatisticsTest, CoalescedCopy) {
  Module module(makeKernel("ptr %in, ptr %out", R"(
  %p = getelementptr float, ptr %in, i64 %idx
  %v = load float, ptr %p
  %q = getelementptr float, ptr %out, i64 %idx
  store float %v, ptr %q
  ret void)"));
  Buffer<float> in(4096), out(4096);
  launch(module, "k", {32}, {128}, 0, in.data, out.data);
  launch(module, "k", {32}, {128}, 0, in.data, out.data);
  llvm::json::Value stats = readStats();
  EXPECT_EQ(getCount(stats, "launches"), 2);
  EXPECT_EQ(getCount(stats, "bytes_read"), 2 * 16384);
  EXPECT_EQ(getCount(stats, "bytes_written"), 2 * 16384);
  EXPECT_EQ(getCount(stats, "sectors_read"), 2 * 16384 / 32);
  EXPECT_EQ(getCount(stats, "sectors_written"), 2 * 16384 / 32);
  EXPECT_EQ(getCount(stats, "bank_conflicts"), 0);
  const llvm::json::Object &entry =
      *(*stats.getAsObject()->getObject("kernels")->getArray("k"))[0]
           .getAsObject();
  EXPECT_EQ(*entry.getArray("grid"), (llvm::json::Array{32, 1, 1}));
  EXPECT_EQ(*entry.getArray("block"), (llvm::json::Array{128, 1, 1}));
  EXPECT_TRUE(stats.getAsObject()->getArray("faults")->empty());
}

TEST_F(StatisticsTest, StridedRead) {
  // One float in each 64 bytes, by lanes that take part.
  Module module(makeKernel("ptr %in", R"(
  %i = mul i64 %idx, 16
  %p = getelementptr float, ptr %in, i64 %i
  %odd = trunc i64 %idx to i1
  br i1 %odd, label %read, label %exit
read:
  %v = load volatile float, ptr %p
  br label %exit
exit:
  ret void)"));
  Buffer<float> in(64 * 16);
  launch(module, "k", {1}, {64}, 0, in.data);
  llvm::json::Value stats = readStats();
  EXPECT_EQ(getCount(stats, "bytes_read"), 32 * 4);
  EXPECT_EQ(getCount(stats, "sectors_read"), 32);
  EXPECT_EQ(getCount(stats, "bytes_written"), 0);
}

/// Each execution of an instruction in a loop counts by itself.
TEST_F(StatisticsTest, Loops) {
  Module module(makeKernel("ptr %in", R"(
  %p = getelementptr float, ptr %in, i64 %idx
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile float, ptr %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 10
  br i1 %more, label %loop, label %exit
exit:
  ret void)"));
  Buffer<float> in(32);
  launch(module, "k", {1}, {32}, 0, in.data);
  EXPECT_EQ(getCount(readStats(), "sectors_read"), 40);
}

TEST_F(StatisticsTest, BankConflicts) {
  auto run = [&](int stride, const std::string &type) {
    teEmulatorResetStats();
    Module module(makeKernel("", R"(
  %i = mul i32 %tid, )" + std::to_string(stride) +
                                     R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %i
  store )" + type + R"( zeroinitializer, ptr addrspace(3) %p, align 4
  ret void)",
                             "@s = internal addrspace(3) global [2048 x i32] "
                             "poison, align 16\n"));
    launch(module, "k", {1}, {32}, 0);
    return getCount(readStats(), "bank_conflicts");
  };
  EXPECT_EQ(run(1, "i32"), 0);
  EXPECT_EQ(run(0, "i32"), 0); // one word for all
  EXPECT_EQ(run(2, "i32"), 1);
  EXPECT_EQ(run(32, "i32"), 31);
  EXPECT_EQ(run(33, "i32"), 0);
  // 16 bytes are served in quarters of a warp.
  EXPECT_EQ(run(4, "<4 x i32>"), 0);
  EXPECT_EQ(run(32, "<4 x i32>"), 4 * 7);
}

TEST_F(StatisticsTest, Faults) {
  Module module(makeKernel("ptr %out", R"(
  store i32 1, ptr %out
  ret void)"));
  launch(module, "k", {1}, {1}, 0, reinterpret_cast<int *>(4));
  std::string error = getError();
  teRuntimeClearError();
  EXPECT_EQ(teEmulatorGetFaultCount(), 1u);
  llvm::json::Value stats = readStats();
  EXPECT_EQ(*stats.getAsObject()->getArray("faults"),
            (llvm::json::Array{error}));
  teEmulatorResetStats();
  EXPECT_EQ(teEmulatorGetFaultCount(), 0u);
  EXPECT_EQ(teEmulatorWriteStats("/nonexistent/stats.json"), 1);
  EXPECT_NE(getError().find("cannot write '/nonexistent/stats.json'"),
            std::string::npos);
  teRuntimeClearError();
}
