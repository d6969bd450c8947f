//===- SynchronizationTest.cpp - warps, barriers, atomics -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

using namespace te::emulator::test;

namespace {

class SynchronizationTest : public EmulatorTest {};

const char *storeResult = R"(
  %o = getelementptr i32, ptr %out, i64 %idx
  store i32 %r, ptr %o
  ret void)";

/// Runs a kernel that leaves an i32 in %r in each of `threads` threads of one
/// block.
std::vector<uint32_t> runBlock(const std::string &globals,
                               const std::string &body, intptr_t threads) {
  Module module(makeKernel("ptr %out", body + storeResult, globals));
  EXPECT_EQ(getError(), "");
  Buffer<uint32_t> out(threads);
  launch(module, "k", {}, {threads}, 0, out.data);
  EXPECT_EQ(getError(), "");
  return out.read();
}

/// As above, but returns the error, which is cleared.
std::string runFaulty(const std::string &globals, const std::string &body,
                      intptr_t threads, intptr_t threadsY = 1) {
  Module module(makeKernel("ptr %out", body, globals));
  EXPECT_EQ(getError(), "");
  Buffer<uint32_t> out(threads);
  launch(module, "k", {}, {threads, threadsY}, 0, out.data);
  std::string error = getError();
  teRuntimeClearError();
  return error;
}

std::string shuffle(const std::string &mode, const std::string &b,
                    const std::string &c) {
  return "  %r = call i32 @llvm.nvvm.shfl.sync." + mode +
         ".i32(i32 -1, i32 %tid, i32 " + b + ", i32 " + c + ")\n";
}

std::string shuffleDeclaration(const std::string &mode) {
  return "declare i32 @llvm.nvvm.shfl.sync." + mode +
         ".i32(i32, i32, i32, i32)\n";
}

} // namespace

TEST_F(SynchronizationTest, Shuffles) {
  struct Case {
    const char *mode, *b, *c;
    uint32_t (*source)(uint32_t lane);
  };
  const Case cases[] = {
      {"bfly", "16", "31", [](uint32_t lane) { return lane ^ 16; }},
      {"bfly", "1", "31", [](uint32_t lane) { return lane ^ 1; }},
      {"up", "3", "0", [](uint32_t lane) { return lane < 3 ? lane : lane - 3; }},
      {"down", "3", "31",
       [](uint32_t lane) { return lane > 28 ? lane : lane + 3; }},
      {"idx", "5", "31", [](uint32_t) { return 5u; }},
      // Segments of eight lanes: the mask of 0x18 in bits 12 to 8.
      {"idx", "2", "6175", [](uint32_t lane) { return (lane & 24) | 2; }},
      {"down", "6", "6175",
       [](uint32_t lane) { return (lane & 7) > 1 ? lane : lane + 6; }},
      {"up", "6", "6144",
       [](uint32_t lane) { return (lane & 7) < 6 ? lane : lane - 6; }},
  };
  for (const Case &test : cases) {
    std::vector<uint32_t> out =
        runBlock(shuffleDeclaration(test.mode),
                 shuffle(test.mode, test.b, test.c), 128);
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(out[i], (i & ~31u) | test.source(i % 32))
          << test.mode << " " << test.b << " thread " << i;
  }
}

TEST_F(SynchronizationTest, ShuffleOfFloatsAndPredicates) {
  std::vector<uint32_t> out = runBlock(
      "declare {float, i1} @llvm.nvvm.shfl.sync.up.f32p(i32, float, i32, i32)",
      R"(
  %x = uitofp i32 %tid to float
  %s = call {float, i1} @llvm.nvvm.shfl.sync.up.f32p(i32 -1, float %x, i32 1, i32 0)
  %v = extractvalue {float, i1} %s, 0
  %p = extractvalue {float, i1} %s, 1
  %i = fptoui float %v to i32
  %q = select i1 %p, i32 1000, i32 0
  %r = add i32 %i, %q
)",
      64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i % 32 == 0 ? i : i - 1 + 1000);
}

/// Only the lanes of the mask take part; the others run past.
TEST_F(SynchronizationTest, ShuffleWithinMask) {
  std::vector<uint32_t> out = runBlock(shuffleDeclaration("bfly"), R"(
  %low = icmp ult i32 %tid, 8
  br i1 %low, label %then, label %join
then:
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 255, i32 %tid, i32 7, i32 31)
  br label %join
join:
  %r = phi i32 [ %s, %then ], [ 99, %entry ]
)",
                                       32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 8 ? 7 - i : 99u);
}

TEST_F(SynchronizationTest, VoteAndMatch) {
  std::vector<uint32_t> out = runBlock(R"(
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)
)",
                                       R"(
  %odd = trunc i32 %tid to i1
  %small = icmp ult i32 %tid, 32
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  %all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %small)
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %small)
  %uni = call i1 @llvm.nvvm.vote.uni.sync(i32 -1, i1 %small)
  %mixed = call i1 @llvm.nvvm.vote.uni.sync(i32 -1, i1 %odd)
  %isBallot = icmp eq i32 %ballot, -1431655766
  %b0 = zext i1 %isBallot to i32
  %b1 = select i1 %all, i32 2, i32 0
  %b2 = select i1 %any, i32 4, i32 0
  %b3 = select i1 %uni, i32 8, i32 0
  %b4 = select i1 %mixed, i32 16, i32 0
  %r0 = add i32 %b0, %b1
  %r1 = add i32 %r0, %b2
  %r2 = add i32 %r1, %b3
  %r = add i32 %r2, %b4
)",
                                       64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i < 32 ? 15u : 9u);

  out = runBlock("declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)", R"(
  %key = and i32 %tid, 3
  %r = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %key)
)",
                 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 0x11111111u << (i & 3));

  out = runBlock(
      "declare {i32, i1} @llvm.nvvm.match.all.sync.i64p(i32, i64)", R"(
  %warp = udiv i64 %idx, 32
  %second = icmp eq i64 %warp, 1
  %key = select i1 %second, i64 %idx, i64 5
  %m = call {i32, i1} @llvm.nvvm.match.all.sync.i64p(i32 -1, i64 %key)
  %mask = extractvalue {i32, i1} %m, 0
  %p = extractvalue {i32, i1} %m, 1
  %r = select i1 %p, i32 %mask, i32 7
)",
      64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i < 32 ? ~0u : 7u);
}

TEST_F(SynchronizationTest, ElectAndActiveMask) {
  std::vector<uint32_t> out =
      runBlock("declare {i32, i1} @llvm.nvvm.elect.sync(i32)", R"(
  %e = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)
  %lane = extractvalue {i32, i1} %e, 0
  %p = extractvalue {i32, i1} %e, 1
  %r = select i1 %p, i32 100, i32 %lane
)",
               32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i == 0 ? 100u : 0u);

  // Lanes that took another branch are not active.
  out = runBlock("declare i32 @llvm.nvvm.activemask()", R"(
  %low = icmp ult i32 %tid, 8
  br i1 %low, label %then, label %join
then:
  %s = call i32 @llvm.nvvm.activemask()
  br label %join
join:
  %r = phi i32 [ %s, %then ], [ 99, %entry ]
)",
                 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 8 ? 255u : 99u);
}

TEST_F(SynchronizationTest, Reductions) {
  struct Case {
    const char *op;
    uint32_t expected;
  };
  // The values are lane - 3 in each of 32 lanes.
  for (const Case &test :
       {Case{"add", 400}, Case{"min", uint32_t(-3)}, Case{"max", 28},
        Case{"umin", 0}, Case{"umax", uint32_t(-1)}, Case{"and", 0},
        Case{"or", ~0u},
        // -3, -2, -1, then 0 to 28
        Case{"xor", uint32_t(-3) ^ uint32_t(-2) ^ uint32_t(-1) ^ 28}}) {
    std::vector<uint32_t> out = runBlock(
        std::string("declare i32 @llvm.nvvm.redux.sync.") + test.op +
            "(i32, i32)",
        std::string("  %v = sub i32 %tid, 3\n"
                    "  %r = call i32 @llvm.nvvm.redux.sync.") +
            test.op + "(i32 %v, i32 -1)\n",
        32);
    for (uint32_t value : out)
      EXPECT_EQ(value, test.expected) << test.op;
  }
}

TEST_F(SynchronizationTest, FloatReductions) {
  auto run = [](const std::string &op, const std::string &special) {
    std::vector<uint32_t> out = runBlock(
        "declare float @llvm.nvvm.redux.sync." + op + "(float, i32)",
        "  %i = sub i32 %tid, 40\n  %x = sitofp i32 %i to float\n"
        "  %first = icmp eq i32 %tid, 0\n"
        "  %v = select i1 %first, float " + special + ", float %x\n"
        "  %w = call float @llvm.nvvm.redux.sync." + op +
            "(float %v, i32 -1)\n  %r = bitcast float %w to i32\n",
        32);
    for (uint32_t value : out)
      EXPECT_EQ(value, out[0]);
    float result;
    memcpy(&result, &out[0], 4);
    return result;
  };
  const std::string nan = "0x7FF8000000000000";
  // -39 .. -9 and the first lane
  EXPECT_EQ(run("fmax", "-100.0"), -9);
  EXPECT_EQ(run("fmin", "-100.0"), -100);
  EXPECT_EQ(run("fmax.abs", "-100.0"), 100);
  EXPECT_EQ(run("fmin.abs", "100.0"), 9);
  EXPECT_EQ(run("fmax", nan), -9);
  float result = run("fmax.NaN", nan);
  EXPECT_NE(result, result);
  result = run("fmin.abs.NaN", nan);
  EXPECT_NE(result, result);
}

TEST_F(SynchronizationTest, SharedMemoryReduction) {
  std::string globals = R"(
@s = internal addrspace(3) global [128 x i32] poison, align 16
)";
  std::string body = R"(
  %own = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %idx32, ptr addrspace(3) %own
  br label %loop
loop:
  %half = phi i32 [ 64, %entry ], [ %next, %latch ]
  call void @llvm.nvvm.barrier0()
  %active = icmp ult i32 %tid, %half
  br i1 %active, label %add, label %latch
add:
  %j = add i32 %tid, %half
  %other = getelementptr i32, ptr addrspace(3) @s, i32 %j
  %x = load i32, ptr addrspace(3) %own
  %y = load i32, ptr addrspace(3) %other
  %sum = add i32 %x, %y
  store i32 %sum, ptr addrspace(3) %own
  br label %latch
latch:
  %next = lshr i32 %half, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %write, label %exit
write:
  %block = zext i32 %ctaid to i64
  %o = getelementptr i32, ptr %out, i64 %block
  %total = load i32, ptr addrspace(3) %own
  store i32 %total, ptr %o
  br label %exit
exit:
  ret void
)";
  Module module(makeKernel("ptr %out", body, globals));
  const uint32_t blocks = 200;
  Buffer<uint32_t> out(blocks);
  TeEmulatorOptions options = teEmulatorGetOptions();
  options.raceChecks = true;
  options.statistics = true;
  teEmulatorSetOptions(options);
  launch(module, "k", {blocks}, {128}, 0, out.data);
  ASSERT_EQ(getError(), "");
  std::vector<uint32_t> sums = out.read();
  for (uint32_t i = 0; i < blocks; ++i)
    EXPECT_EQ(sums[i], 128 * (128 * i) + 127 * 64);
}

TEST_F(SynchronizationTest, BarrierReductions) {
  std::vector<uint32_t> out = runBlock(R"(
declare i32 @llvm.nvvm.barrier0.popc(i32)
declare i32 @llvm.nvvm.barrier0.and(i32)
declare i32 @llvm.nvvm.barrier0.or(i32)
)",
                                       R"(
  %small = icmp ult i32 %tid, 7
  %p = zext i1 %small to i32
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %p)
  %all = call i32 @llvm.nvvm.barrier0.and(i32 %p)
  %any = call i32 @llvm.nvvm.barrier0.or(i32 %p)
  %all0 = icmp ne i32 %all, 0
  %any0 = icmp ne i32 %any, 0
  %a = select i1 %all0, i32 100, i32 0
  %b = select i1 %any0, i32 1000, i32 0
  %r0 = add i32 %n, %a
  %r = add i32 %r0, %b
)",
                                       100);
  for (uint32_t value : out)
    EXPECT_EQ(value, 1007u);
}

/// One warp produces, another consumes; the third takes no part.
TEST_F(SynchronizationTest, NamedBarriers) {
  std::vector<uint32_t> out = runBlock(R"(
@s = internal addrspace(3) global [32 x i32] poison
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
)",
                                       R"(
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %lane
  switch i32 %warp, label %join [ i32 0, label %consume
                                  i32 1, label %produce ]
consume:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 64)
  %x = load i32, ptr addrspace(3) %p
  br label %join
produce:
  store i32 %tid, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 3, i32 64)
  br label %join
join:
  %r = phi i32 [ %x, %consume ], [ 1, %produce ], [ 2, %entry ]
)",
                                       96);
  for (uint32_t i = 0; i < 96; ++i)
    EXPECT_EQ(out[i], i < 32 ? i + 32 : i < 64 ? 1u : 2u);
}

/// The last warp of a block may be partial; a barrier waits for all the same.
TEST_F(SynchronizationTest, PartialWarps) {
  std::vector<uint32_t> out = runBlock(R"(
@s = internal addrspace(3) global [37 x i32] poison
declare void @llvm.nvvm.bar.warp.sync(i32)
)",
                                       R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @llvm.nvvm.barrier0()
  %j = sub i32 36, %tid
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %j
  %r = load i32, ptr addrspace(3) %q
)",
                                       37);
  for (uint32_t i = 0; i < 37; ++i)
    EXPECT_EQ(out[i], 36 - i);
}

TEST_F(SynchronizationTest, SpecialRegisters) {
  std::vector<uint32_t> out = runBlock(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.warpid()
declare i32 @llvm.nvvm.read.ptx.sreg.warpsize()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
)",
                                       R"(
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %warp = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()
  %lt = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %ge = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
  %both = xor i32 %lt, %ge
  %ok = icmp eq i32 %both, -1
  %t0 = mul i32 %warp, %size
  %t1 = add i32 %t0, %lane
  %r = select i1 %ok, i32 %t1, i32 -1
)",
                                       70);
  for (uint32_t i = 0; i < 70; ++i)
    EXPECT_EQ(out[i], i);
}

TEST_F(SynchronizationTest, ThreeDimensions) {
  Module module(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
define ptx_kernel void @k(ptr %out) {
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %b0 = mul i32 %bz, %gy
  %b1 = add i32 %b0, %by
  %b2 = mul i32 %b1, %gx
  %b3 = add i32 %b2, %bx
  %i0 = mul i32 %b3, %nz
  %i1 = add i32 %i0, %tz
  %i2 = mul i32 %i1, %ny
  %i3 = add i32 %i2, %ty
  %i4 = mul i32 %i3, %nx
  %i5 = add i32 %i4, %tx
  %p = getelementptr i32, ptr %out, i32 %i5
  %old = atomicrmw add ptr %p, i32 1 monotonic
  ret void
})");
  const size_t n = 2 * 3 * 5 * 4 * 3 * 2;
  Buffer<uint32_t> out(n);
  mgpuMemset32(out.data, 0, n, nullptr);
  launch(module, "k", {2, 3, 5}, {4, 3, 2}, 0, out.data);
  EXPECT_EQ(out.read(), std::vector<uint32_t>(n, 1));
}

TEST_F(SynchronizationTest, Atomics) {
  Module module(makeKernel("ptr %out", R"(
  %p1 = getelementptr i32, ptr %out, i64 1
  %p2 = getelementptr i32, ptr %out, i64 2
  %p3 = getelementptr i32, ptr %out, i64 3
  %p4 = getelementptr i32, ptr %out, i64 4
  %p5 = getelementptr i32, ptr %out, i64 5
  %a0 = atomicrmw add ptr %out, i32 1 syncscope("device") monotonic
  %a1 = atomicrmw umax ptr %p1, i32 %idx32 seq_cst
  %a2 = atomicrmw fadd ptr %p2, float 1.0 monotonic
  %a3 = call i32 @llvm.nvvm.atomic.xor.gen.i.cta.i32.p0(ptr %p3, i32 1)
  %a4 = atomicrmw uinc_wrap ptr %p4, i32 9 monotonic
  br label %retry
retry:
  %old = load i32, ptr %p5
  %new = add i32 %old, 2
  %pair = cmpxchg ptr %p5, i32 %old, i32 %new acq_rel monotonic
  %done = extractvalue {i32, i1} %pair, 1
  br i1 %done, label %exit, label %retry
exit:
  ret void)",
                           "declare i32 @llvm.nvvm.atomic.xor.gen.i.cta.i32.p0("
                           "ptr, i32)"));
  Buffer<uint32_t> out(6);
  mgpuMemset32(out.data, 0, 6, nullptr);
  const uint32_t blocks = 100, threads = 96, n = blocks * threads;
  launch(module, "k", {blocks}, {threads}, 0, out.data);
  float sum;
  std::vector<uint32_t> values = out.read();
  memcpy(&sum, &values[2], 4);
  EXPECT_EQ(values[0], n);
  EXPECT_EQ(values[1], n - 1);
  EXPECT_EQ(sum, float(n));
  EXPECT_EQ(values[3], n % 2);
  EXPECT_EQ(values[4], n % 10);
  EXPECT_EQ(values[5], 2 * n);
}

/// A thread that polls memory lets the one run that it waits for.
TEST_F(SynchronizationTest, Polling) {
  std::vector<uint32_t> out = runBlock(R"(
@flag = internal addrspace(3) global i32 poison
)",
                                       R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %last
wait:
  %v = load volatile i32, ptr addrspace(3) @flag
  %set = icmp eq i32 %v, 42
  br i1 %set, label %join, label %wait
last:
  %isLast = icmp eq i32 %tid, 63
  br i1 %isLast, label %signal, label %join
signal:
  store volatile i32 42, ptr addrspace(3) @flag
  br label %join
join:
  %r = phi i32 [ 7, %wait ], [ 0, %last ], [ 1, %signal ]
)",
                                       64);
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(out[63], 1u);
}

TEST_F(SynchronizationTest, MBarrier) {
  // Two phases: everybody arrives, then waits for the state or the parity.
  std::vector<uint32_t> out = runBlock(R"(
@bar = internal addrspace(3) global i64 poison, align 8
@s = internal addrspace(3) global [64 x i32] poison
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
)",
                                       R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 64)
  br label %ready
ready:
  call void @llvm.nvvm.barrier0()
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @bar, i64 %state)
  br i1 %done, label %phase2, label %wait
phase2:
  %j = sub i32 63, %tid
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %j
  %v = load i32, ptr addrspace(3) %q
  %state2 = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)
  br label %wait2
wait2:
  %done2 = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 1)
  br i1 %done2, label %last, label %wait2
last:
  store i32 0, ptr addrspace(3) %p
  %r = add i32 %v, 0
)",
                                       64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 63 - i);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

TEST_F(SynchronizationTest, BarrierAfterExit) {
  EXPECT_EQ(runFaulty("", R"(
  %early = icmp ugt i32 %tid, 39
  br i1 %early, label %exit, label %wait
wait:
  call void @llvm.nvvm.barrier0()
  br label %exit
exit:
  ret void)",
                      64),
            "kernel 'k' block (0,0,0) thread (0,0,0): divergent barrier: waits "
            "at barrier 0 forever, thread (40,0,0) has exited");
}

TEST_F(SynchronizationTest, DifferentBarriers) {
  EXPECT_EQ(runFaulty("declare void @llvm.nvvm.barrier.n(i32)", R"(
  %warp = lshr i32 %tid, 5
  call void @llvm.nvvm.barrier.n(i32 %warp)
  ret void)",
                      64),
            "kernel 'k' block (0,0,0) thread (0,0,0): divergent barrier: waits "
            "at barrier 0 forever, thread (32,0,0) waits at barrier 1");
}

/// Both branches have a barrier: the counts match, the program does not.
TEST_F(SynchronizationTest, BarriersInBothBranches) {
  EXPECT_EQ(runFaulty("", R"(
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %then, label %else
then:
  call void @llvm.nvvm.barrier0()
  store i32 1, ptr %out
  br label %exit
else:
  call void @llvm.nvvm.barrier0()
  store i32 2, ptr %out
  br label %exit
exit:
  ret void)",
                      32),
            "kernel 'k' block (0,0,0) thread (16,0,0): divergent barrier 0: "
            "thread (0,0,0) of the same warp waits at another barrier "
            "instruction");
}

TEST_F(SynchronizationTest, ShuffleDeadlock) {
  EXPECT_EQ(runFaulty(shuffleDeclaration("bfly"), R"(
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %then, label %exit
then:
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)
  br label %exit
exit:
  ret void)",
                      32),
            "kernel 'k' block (0,0,0) thread (0,0,0): deadlock: waits at "
            "shfl.sync with mask 0xffffffff forever, thread (16,0,0) has "
            "exited");
}

TEST_F(SynchronizationTest, ShuffleFaults) {
  EXPECT_EQ(runFaulty(shuffleDeclaration("bfly"), R"(
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 15, i32 %tid, i32 1, i32 31)
  ret void)",
                      32, 2),
            "kernel 'k' block (0,0,0) thread (4,0,0): shfl.sync with mask 0xf, "
            "which lacks its own lane 4");
  // A block of half a warp reads lanes that do not exist.
  EXPECT_EQ(runFaulty(shuffleDeclaration("bfly"), R"(
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 16, i32 31)
  ret void)",
                      16),
            "kernel 'k' block (0,0,0) thread (0,0,0): shfl.sync reads lane 16, "
            "which does not take part");
}

TEST_F(SynchronizationTest, BarrierFaults) {
  EXPECT_EQ(runFaulty("declare void @llvm.nvvm.barrier.n(i32)", R"(
  call void @llvm.nvvm.barrier.n(i32 16)
  ret void)",
                      32),
            "kernel 'k' block (0,0,0) thread (0,0,0): barrier 16 does not "
            "exist, a block has 16");
  EXPECT_EQ(runFaulty("declare void @llvm.nvvm.barrier(i32, i32)", R"(
  call void @llvm.nvvm.barrier(i32 1, i32 40)
  ret void)",
                      64),
            "kernel 'k' block (0,0,0) thread (0,0,0): barrier 1 expects 40 "
            "threads, which is no multiple of 32");
}
