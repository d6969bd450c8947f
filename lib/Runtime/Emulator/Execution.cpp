//===- Execution.cpp - running the blocks of a launch ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "DeviceFunctions.h"
#include "SharedRaces.h"
#include "SignalGuard.h"
#include "te/Numerics/Formats.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <sys/mman.h>
#include <thread>

using namespace te::emulator;
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;
using llvm::Twine;

namespace {
/// A fiber's stack holds the kernel's local memory too. Pages are only backed
/// when touched.
constexpr size_t stackSize = 256 * 1024;
constexpr size_t guardSize = 4096;
constexpr uint32_t barrierCount = 16;
/// The most shared memory a block of any supported chip can have (227 KiB).
constexpr size_t sharedCapacity = 232448;
/// Switches from one polling thread to another, without any other progress,
/// after which a block is taken to hang: some seconds.
constexpr uint64_t maxIdleYields = 200'000'000;

/// Why a fiber went back to its worker.
enum class SwitchReason : uintptr_t { Exited, Waiting, Yielded, Fault };

struct Stack {
  char *low = nullptr;
  char *high() const { return low + guardSize + stackSize; }
};

struct Barrier {
  uint32_t expected = 0; // 0: nobody has arrived
  uint32_t arrived = 0;
  uint32_t trueCount = 0, participants = 0;
  std::vector<uint32_t> waiting;
};

struct CachedRange {
  uint64_t begin = 0, size = 0;
};
} // namespace

/// The thread of the kernel that this host thread runs. Compiled kernels ask
/// for it once per function, so its access has to be cheap.
static thread_local ThreadState *currentThread
    __attribute__((tls_model("initial-exec"))) = nullptr;

//===----------------------------------------------------------------------===//
// Worker
//===----------------------------------------------------------------------===//

namespace te::emulator {

class Worker {
public:
  Worker();
  ~Worker();

  void run(Launch &newLaunch);

  // What kernels call, by way of the functions below.
  void access(ThreadState &thread, uint64_t address, uint64_t size,
              uint32_t flags, uint32_t site);
  uint64_t warpOperation(ThreadState &thread, uint64_t value, uint32_t mask,
                         uint32_t b, uint32_t c, uint32_t mode, uint32_t site);
  uint32_t barrier(ThreadState &thread, BarrierOp op, uint32_t id,
                   uint32_t count, bool predicate, uint32_t site);
  void yield(ThreadState &thread);
  void noteProgress() { idleYields = 0; }
  [[noreturn]] void exitThread(ThreadState &thread);
  [[noreturn]] void fault(ThreadState &thread, const Twine &what);

  bool isShared(uint64_t address) const {
    return address - sharedBegin() < sharedSize;
  }
  bool isLocal(uint64_t address) const {
    const Stack &stack = stacks[kernel().usesFibers ? currentThread->index : 0];
    return address - reinterpret_cast<uint64_t>(stack.low + guardSize) <
           stackSize;
  }
  const AllocationTable &allocations() const { return *launch->allocations; }

  /// The object of which [address, address + size) goes out of bounds.
  std::string describeOutOfBounds(uint64_t address, uint64_t size,
                                  const char *object, uint64_t begin,
                                  uint64_t objectSize) const;

  sigjmp_buf jump;
  int signalNumber = 0;
  uint64_t signalAddress = 0;
  bool isInKernel = false;

private:
  const KernelCode &kernel() const { return *launch->kernel; }
  uint64_t sharedBegin() const { return reinterpret_cast<uint64_t>(shared); }

  void startBlock(uint64_t index);
  bool runBlock(uint64_t index);
  bool runLoop();
  bool runFibers();
  SwitchReason resume(fcontext_t &context);
  void leave(SwitchReason reason);
  static void loopMain(transfer_t from);
  static void fiberMain(transfer_t from);

  void makeReady(ThreadState &thread);
  uint32_t lanesOfWarp(uint32_t warp) const;
  void completeWarpOp(uint32_t warp, uint32_t lanes);
  bool releaseActiveMasks();
  void reportDeadlock();
  void finishWarp(uint32_t warp);
  void reserveStacks(size_t count);
  void report(const ThreadState &thread, const Twine &what);

  Launch *launch = nullptr;
  std::vector<ThreadState> threads;
  std::vector<Stack> stacks;
  char *shared = nullptr;
  uint32_t sharedSize = 0;
  uint32_t threadCount = 0;

  fcontext_t scheduler = nullptr;
  std::vector<uint32_t> ready; // a ring
  uint32_t readyBegin = 0, readyCount = 0;
  uint32_t exitedCount = 0;
  uint64_t idleYields = 0;
  std::array<Barrier, barrierCount> barriers;
  std::array<uint32_t, maxThreadsPerBlock / warpSize> lanesWaiting{},
      lanesExited{};

  std::array<CachedRange, 2> cache; // of reads and of writes
  std::array<WarpTraffic, maxThreadsPerBlock / warpSize> traffic;
  TrafficCounts counts;
  SharedRaces races;
};

} // namespace te::emulator

/// The worker of the calling host thread while it runs a launch.
static thread_local Worker *currentWorker = nullptr;

sigjmp_buf *te::emulator::noteSignalInKernel(int signal, uint64_t address) {
  Worker *worker = currentWorker;
  if (!worker || !worker->isInKernel)
    return nullptr;
  worker->signalNumber = signal;
  worker->signalAddress = address;
  return &worker->jump;
}

Worker::Worker() : threads(maxThreadsPerBlock), ready(maxThreadsPerBlock) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_32BIT
  // Shared addresses are 32 bits wide on the device; code that keeps one in an
  // i32 works if they are small here too.
  void *pages = mmap(nullptr, sharedCapacity, PROT_READ | PROT_WRITE,
                     flags | MAP_32BIT, -1, 0);
#else
  void *pages = MAP_FAILED;
#endif
  if (pages == MAP_FAILED)
    pages = mmap(nullptr, sharedCapacity, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages != MAP_FAILED)
    shared = static_cast<char *>(pages);
}

Worker::~Worker() {
  for (Stack &stack : stacks)
    munmap(stack.low, guardSize + stackSize);
  if (shared)
    munmap(shared, sharedCapacity);
}

void Worker::reserveStacks(size_t count) {
  while (stacks.size() < count) {
    void *pages = mmap(nullptr, guardSize + stackSize, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
      return;
    mprotect(pages, guardSize, PROT_NONE);
    stacks.push_back({static_cast<char *>(pages)});
  }
}

static std::string formatIndex(const std::array<uint32_t, 3> &index) {
  return ("(" + Twine(index[0]) + "," + Twine(index[1]) + "," +
          Twine(index[2]) + ")")
      .str();
}

void Worker::report(const ThreadState &thread, const Twine &what) {
  std::lock_guard<std::mutex> lock(launch->mutex);
  launch->isStopped = true;
  if (!launch->fault.empty())
    return;
  launch->fault = ("kernel '" + Twine(kernel().name) + "' block " +
                   formatIndex(thread.ctaid) + " thread " +
                   formatIndex(thread.tid) + ": " + what)
                      .str();
}

void Worker::fault(ThreadState &thread, const Twine &what) {
  report(thread, what);
  leave(SwitchReason::Fault);
  __builtin_unreachable();
}

void Worker::run(Launch &newLaunch) {
  launch = &newLaunch;
  threadCount = launch->getThreadCount();
  sharedSize = kernel().staticSharedSize + launch->dynamicSharedSize;
  cache = {};
  counts = {};
  size_t stackCount = kernel().usesFibers ? threadCount : 1;
  reserveStacks(stackCount);
  currentThread = &threads[0];
  if (!shared || stacks.size() < stackCount) {
    startBlock(0);
    report(threads[0], "the host has no memory for the threads of a block");
    return;
  }
  currentWorker = this;
  if (sigsetjmp(jump, /*savesigs=*/1) == 0) {
    uint64_t blockCount = launch->getBlockCount();
    while (!launch->isStopped) {
      uint64_t index = launch->nextBlock.fetch_add(1);
      if (index >= blockCount || !runBlock(index))
        break;
    }
  } else {
    isInKernel = false;
    uint64_t address = signalAddress;
    const Stack &stack = stacks[kernel().usesFibers ? currentThread->index : 0];
    if (address - reinterpret_cast<uint64_t>(stack.low) < guardSize)
      report(*currentThread, "local memory of a thread exceeds " +
                                 Twine(stackSize) + " bytes");
    else
      report(*currentThread, describeSignal(signalNumber, address));
  }
  currentWorker = nullptr;
  currentThread = nullptr;
  std::lock_guard<std::mutex> lock(launch->mutex);
  launch->counts += counts;
}

void Worker::startBlock(uint64_t index) {
  std::array<uint32_t, 3> ctaid = {
      static_cast<uint32_t>(index % launch->grid[0]),
      static_cast<uint32_t>(index / launch->grid[0] % launch->grid[1]),
      static_cast<uint32_t>(index / launch->grid[0] / launch->grid[1])};
  std::array<uint32_t, 3> tid = {0, 0, 0};
  for (uint32_t i = 0; i < threadCount; ++i) {
    ThreadState &thread = threads[i];
    thread.tid = tid;
    thread.ctaid = ctaid;
    thread.ntid = launch->block;
    thread.nctaid = launch->grid;
    thread.lane = i % warpSize;
    thread.warp = i / warpSize;
    thread.warpCount = llvm::divideCeil(threadCount, warpSize);
    thread.sharedSize = sharedSize;
    thread.dynamicSharedSize = launch->dynamicSharedSize;
    thread.shared = shared;
    thread.worker = this;
    thread.status = ThreadStatus::Ready;
    thread.index = i;
    if (++tid[0] == launch->block[0]) {
      tid[0] = 0;
      if (++tid[1] == launch->block[1]) {
        tid[1] = 0;
        ++tid[2];
      }
    }
  }
}

bool Worker::runBlock(uint64_t index) {
  startBlock(index);
  // Blocks must not see what the one before left behind.
  if (sharedSize)
    memset(shared, 0xFF, sharedSize);
  if (launch->collectsStatistics)
    for (uint32_t warp = 0; warp < threads[0].warpCount; ++warp)
      traffic[warp].start(kernel().siteCount,
                          llvm::popcount(lanesOfWarp(warp)));
  if (launch->checksRaces)
    races.start(sharedSize, threads[0].warpCount);
  return kernel().usesFibers ? runFibers() : runLoop();
}

void Worker::finishWarp(uint32_t warp) {
  if (launch->collectsStatistics)
    traffic[warp].finish(counts);
}

/// Runs a fiber until it comes back, and keeps where it did.
SwitchReason Worker::resume(fcontext_t &context) {
  isInKernel = true;
  transfer_t back = jump_fcontext(context, this);
  isInKernel = false;
  context = back.fctx;
  return static_cast<SwitchReason>(reinterpret_cast<uintptr_t>(back.data));
}

/// Goes back to the worker from a fiber; returns when that is resumed.
void Worker::leave(SwitchReason reason) {
  transfer_t back = jump_fcontext(
      scheduler, reinterpret_cast<void *>(static_cast<uintptr_t>(reason)));
  scheduler = back.fctx;
}

void Worker::loopMain(transfer_t from) {
  Worker &worker = *static_cast<Worker *>(from.data);
  worker.scheduler = from.fctx;
  for (uint32_t i = 0; i < worker.threadCount; ++i) {
    currentThread = &worker.threads[i];
    worker.kernel().thunk(worker.launch->params);
    if (i % warpSize == warpSize - 1 || i + 1 == worker.threadCount)
      worker.finishWarp(i / warpSize);
  }
  worker.leave(SwitchReason::Exited);
}

bool Worker::runLoop() {
  fcontext_t context = make_fcontext(stacks[0].high(), stackSize, &loopMain);
  return resume(context) != SwitchReason::Fault;
}

void Worker::fiberMain(transfer_t from) {
  Worker &worker = *static_cast<Worker *>(from.data);
  worker.scheduler = from.fctx;
  worker.kernel().thunk(worker.launch->params);
  worker.exitThread(*currentThread);
}

void Worker::makeReady(ThreadState &thread) {
  thread.status = ThreadStatus::Ready;
  ready[(readyBegin + readyCount++) % maxThreadsPerBlock] = thread.index;
}

bool Worker::runFibers() {
  readyBegin = readyCount = exitedCount = 0;
  idleYields = 0;
  for (Barrier &barrier : barriers)
    barrier = {};
  lanesWaiting.fill(0);
  lanesExited.fill(0);
  for (uint32_t i = 0; i < threadCount; ++i) {
    threads[i].context = make_fcontext(stacks[i].high(), stackSize, &fiberMain);
    makeReady(threads[i]);
  }
  while (exitedCount < threadCount) {
    if (readyCount == 0 && !releaseActiveMasks()) {
      reportDeadlock();
      return false;
    }
    ThreadState &thread = threads[ready[readyBegin]];
    readyBegin = (readyBegin + 1) % maxThreadsPerBlock;
    --readyCount;
    currentThread = &thread;
    SwitchReason reason = resume(thread.context);
    if (reason == SwitchReason::Fault)
      return false;
    if (reason == SwitchReason::Yielded) {
      makeReady(thread);
      if (launch->isStopped)
        return false;
      if (++idleYields > maxIdleYields) {
        report(thread, "polls without end for what no thread of its block "
                       "provides");
        return false;
      }
      continue;
    }
    idleYields = 0;
  }
  return true;
}

void Worker::exitThread(ThreadState &thread) {
  thread.status = ThreadStatus::Exited;
  ++exitedCount;
  lanesExited[thread.warp] |= 1u << thread.lane;
  if (lanesExited[thread.warp] == lanesOfWarp(thread.warp))
    finishWarp(thread.warp);
  leave(SwitchReason::Exited);
  __builtin_unreachable();
}

void Worker::yield(ThreadState &thread) {
  if (kernel().usesFibers)
    leave(SwitchReason::Yielded);
}

//===----------------------------------------------------------------------===//
// Warp operations
//===----------------------------------------------------------------------===//

/// The lanes of a warp that exist; the last warp of a block may be partial.
uint32_t Worker::lanesOfWarp(uint32_t warp) const {
  uint32_t lanes = threadCount - warp * warpSize;
  return lanes >= warpSize ? ~0u : (1u << lanes) - 1;
}

static const char *getName(WarpOp op) {
  switch (op) {
  case WarpOp::Sync:
    return "bar.warp.sync";
  case WarpOp::ShuffleUp:
  case WarpOp::ShuffleDown:
  case WarpOp::ShuffleXor:
  case WarpOp::ShuffleIndex:
    return "shfl.sync";
  case WarpOp::VoteAll:
  case WarpOp::VoteAny:
  case WarpOp::VoteUniform:
  case WarpOp::VoteBallot:
    return "vote.sync";
  case WarpOp::MatchAny:
  case WarpOp::MatchAll:
    return "match.sync";
  case WarpOp::Elect:
    return "elect.sync";
  case WarpOp::ActiveMask:
    return "activemask";
  case WarpOp::MultiplyMatrices:
    return "mma.sync";
  default:
    return "redux.sync";
  }
}

static WarpOp getWarpOp(uint32_t mode) {
  return static_cast<WarpOp>(mode >> kModeOpShift & 0x3F);
}

uint64_t Worker::warpOperation(ThreadState &thread, uint64_t value,
                               uint32_t mask, uint32_t b, uint32_t c,
                               uint32_t mode, uint32_t site) {
  WarpOp op = getWarpOp(mode);
  uint32_t warp = thread.warp, lane = 1u << thread.lane;
  thread.warpOp = {op, mask, mode, b, c, site, value, false};
  if (op == WarpOp::ActiveMask) {
    thread.status = ThreadStatus::InWarpOp;
    leave(SwitchReason::Waiting);
    return thread.warpOp.value;
  }
  if (!(mask & lane))
    fault(thread, Twine(getName(op)) + " with mask 0x" +
                      Twine::utohexstr(mask) + ", which lacks its own lane " +
                      Twine(thread.lane));
  uint32_t lanes = mask & lanesOfWarp(warp);
  thread.status = ThreadStatus::InWarpOp;
  lanesWaiting[warp] |= lane;
  bool isComplete = (lanesWaiting[warp] & lanes) == lanes;
  for (uint32_t rest = lanes; isComplete && rest; rest &= rest - 1) {
    const auto &other =
        threads[warp * warpSize + llvm::countr_zero(rest)].warpOp;
    isComplete = other.op == op && other.mask == mask;
  }
  if (!isComplete) {
    leave(SwitchReason::Waiting);
    return thread.warpOp.value;
  }
  completeWarpOp(warp, lanes);
  lanesWaiting[warp] &= ~lanes;
  for (uint32_t rest = lanes & ~lane; rest; rest &= rest - 1)
    makeReady(threads[warp * warpSize + llvm::countr_zero(rest)]);
  thread.status = ThreadStatus::Ready;
  return thread.warpOp.value;
}

/// Returns the lane that a shuffle reads, and whether the index was in range
/// (PTX ISA, shfl.sync).
static std::pair<uint32_t, bool> getShuffleSource(WarpOp op, uint32_t lane,
                                                  uint32_t b, uint32_t c) {
  uint32_t offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  int maxLane = (lane & segment) | (clamp & ~segment & 31);
  int minLane = lane & segment;
  int source = 0;
  bool inRange = false;
  switch (op) {
  case WarpOp::ShuffleUp:
    source = static_cast<int>(lane) - static_cast<int>(offset);
    inRange = source >= maxLane;
    break;
  case WarpOp::ShuffleDown:
    source = lane + offset;
    inRange = source <= maxLane;
    break;
  case WarpOp::ShuffleXor:
    source = lane ^ offset;
    inRange = source <= maxLane;
    break;
  default:
    source = minLane | (offset & ~segment & 31);
    inRange = source <= maxLane;
    break;
  }
  return {inRange ? static_cast<uint32_t>(source) : lane, inRange};
}

static uint32_t reduce(WarpOp op, uint32_t a, uint32_t b) {
  switch (op) {
  case WarpOp::ReduceAdd:
    return a + b;
  case WarpOp::ReduceMin:
    return std::min<int32_t>(a, b);
  case WarpOp::ReduceMax:
    return std::max<int32_t>(a, b);
  case WarpOp::ReduceUMin:
    return std::min(a, b);
  case WarpOp::ReduceUMax:
    return std::max(a, b);
  case WarpOp::ReduceAnd:
    return a & b;
  case WarpOp::ReduceOr:
    return a | b;
  default:
    return a ^ b;
  }
}

static uint32_t reduceF32(uint32_t a, uint32_t b, uint32_t mode) {
  constexpr uint32_t infinity = 0x7F800000, nan = 0x7FFFFFFF;
  auto isNaN = [&](uint32_t bits) { return (bits & nan) > infinity; };
  if (mode & kModeAbs) {
    a &= nan;
    b &= nan;
  }
  if (isNaN(a) || isNaN(b)) {
    if (mode & kModeNaN || (isNaN(a) && isNaN(b)))
      return nan;
    return isNaN(a) ? b : a;
  }
  // Sign and magnitude to an order in which -0 is below +0.
  auto order = [](uint32_t bits) {
    return bits >> 31 ? -static_cast<int64_t>(bits & nan) - 1
                      : static_cast<int64_t>(bits);
  };
  bool takeA = mode & kModeMin ? order(a) < order(b) : order(a) > order(b);
  return takeA ? a : b;
}

/// The values of 8-bit and 16-bit elements that follow each other.
static void decodeElements(const uint32_t word, FormatKind format,
                           float *values) {
  auto decode = [&](uint32_t code) {
    switch (format) {
    case FormatKind::E4M3:
      return te::numerics::decodeE4M3(code);
    case FormatKind::E5M2:
      return te::numerics::decodeE5M2(code);
    case FormatKind::BF16:
      return te::numerics::decodeBF16(code);
    default:
      return te::numerics::decodeF16(code);
    }
  };
  bool isByte = format == FormatKind::E4M3 || format == FormatKind::E5M2;
  int bits = isByte ? 8 : 16;
  for (int i = 0; i < 32 / bits; ++i)
    values[i] = decode(word >> (i * bits) & ((1u << bits) - 1));
}

/// Multiplies 16 rows of 32 bytes by 8 columns of 32 bytes (PTX ISA, mma.sync
/// m16n8k32 and m16n8k16). A lane's registers are four words of rows, two of
/// columns and four sums, which become the result. Products are exact; they and
/// the old sum are added in f64, and the result is rounded once.
static void multiplyMatrices(const ThreadState *lanes, FormatKind rowFormat,
                             FormatKind colFormat) {
  bool isByte =
      rowFormat == FormatKind::E4M3 || rowFormat == FormatKind::E5M2;
  int bytes = isByte ? 1 : 2, depth = 32 / bytes;
  std::array<std::array<float, 32>, 16> rows;
  std::array<std::array<float, 32>, 8> cols;
  auto getRegisters = [&](uint32_t lane) {
    return reinterpret_cast<uint32_t *>(lanes[lane].warpOp.value);
  };
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    const uint32_t *registers = getRegisters(lane);
    uint32_t group = lane / 4, byte = lane % 4 * 4;
    for (uint32_t i = 0; i < 4; ++i)
      decodeElements(registers[i], rowFormat,
                     &rows[group + i % 2 * 8][(byte + i / 2 * 16) / bytes]);
    for (uint32_t i = 0; i < 2; ++i)
      decodeElements(registers[4 + i], colFormat,
                     &cols[group][(byte + i * 16) / bytes]);
  }
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      const auto &row = rows[lane / 4 + i / 2 * 8];
      const auto &col = cols[lane % 4 * 2 + i % 2];
      double sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += double(row[k]) * double(col[k]);
      uint32_t *result = getRegisters(lane) + 6 + i;
      float old;
      memcpy(&old, result, sizeof(old));
      float value = static_cast<float>(old + sum);
      memcpy(result, &value, sizeof(value));
    }
}

void Worker::completeWarpOp(uint32_t warp, uint32_t lanes) {
  ThreadState *first = &threads[warp * warpSize];
  auto forEach = [&](auto &&visit) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
      visit(first[llvm::countr_zero(rest)]);
  };
  const auto &any = first[llvm::countr_zero(lanes)].warpOp;
  WarpOp op = any.op;
  switch (op) {
  case WarpOp::Sync:
    if (launch->checksRaces)
      races.synchronizeWarp(warp);
    return;
  case WarpOp::ShuffleUp:
  case WarpOp::ShuffleDown:
  case WarpOp::ShuffleXor:
  case WarpOp::ShuffleIndex: {
    std::array<uint64_t, warpSize> values;
    forEach([&](ThreadState &thread) {
      values[thread.lane] = thread.warpOp.value;
    });
    forEach([&](ThreadState &thread) {
      auto [source, inRange] = getShuffleSource(
          op, thread.lane, thread.warpOp.b, thread.warpOp.c);
      if (!(lanes >> source & 1))
        fault(thread, "shfl.sync reads lane " + Twine(source) +
                          ", which does not take part");
      thread.warpOp.value = values[source];
      thread.warpOp.predicate = inRange;
    });
    return;
  }
  case WarpOp::VoteAll:
  case WarpOp::VoteAny:
  case WarpOp::VoteUniform:
  case WarpOp::VoteBallot: {
    uint32_t ballot = 0;
    forEach([&](ThreadState &thread) {
      ballot |= (thread.warpOp.value ? 1u : 0) << thread.lane;
    });
    uint32_t result = op == WarpOp::VoteBallot ? ballot
                      : op == WarpOp::VoteAll  ? ballot == lanes
                      : op == WarpOp::VoteAny
                          ? ballot != 0
                          : ballot == lanes || ballot == 0;
    forEach([&](ThreadState &thread) { thread.warpOp.value = result; });
    return;
  }
  case WarpOp::MatchAny:
  case WarpOp::MatchAll: {
    std::array<uint32_t, warpSize> matches{};
    forEach([&](ThreadState &thread) {
      forEach([&](ThreadState &other) {
        if (other.warpOp.value == thread.warpOp.value)
          matches[thread.lane] |= 1u << other.lane;
      });
    });
    forEach([&](ThreadState &thread) {
      uint32_t match = matches[thread.lane];
      thread.warpOp.predicate = match == lanes;
      thread.warpOp.value =
          op == WarpOp::MatchAny || match == lanes ? match : 0;
    });
    return;
  }
  case WarpOp::Elect: {
    uint32_t leader = llvm::countr_zero(lanes);
    forEach([&](ThreadState &thread) {
      thread.warpOp.value = leader;
      thread.warpOp.predicate = thread.lane == leader;
    });
    return;
  }
  case WarpOp::ActiveMask:
    return;
  case WarpOp::MultiplyMatrices: {
    if (lanes != ~0u)
      fault(first[llvm::countr_zero(lanes)],
            "mma.sync in a warp of " + Twine(llvm::popcount(lanes)) +
                " threads, but all 32 take part");
    multiplyMatrices(first, getFormat(any.mode),
                     static_cast<FormatKind>(any.b));
    return;
  }
  default: {
    bool isFirst = true;
    uint32_t result = 0;
    forEach([&](ThreadState &thread) {
      uint32_t value = static_cast<uint32_t>(thread.warpOp.value);
      if (op == WarpOp::ReduceF32)
        result = reduceF32(isFirst ? value : result, value, thread.warpOp.mode);
      else
        result = isFirst ? value : reduce(op, result, value);
      isFirst = false;
    });
    forEach([&](ThreadState &thread) { thread.warpOp.value = result; });
    return;
  }
  }
}

/// When no thread can run, the lanes that wait at one activemask instruction
/// are as converged as they can be. Returns whether there were any.
bool Worker::releaseActiveMasks() {
  auto isWaiting = [](const ThreadState &thread) {
    return thread.status == ThreadStatus::InWarpOp &&
           thread.warpOp.op == WarpOp::ActiveMask;
  };
  bool found = false;
  for (uint32_t i = 0; i < threadCount; ++i) {
    if (!isWaiting(threads[i]))
      continue;
    found = true;
    uint32_t begin = threads[i].warp * warpSize;
    uint32_t end = std::min(begin + warpSize, threadCount);
    uint32_t mask = 0;
    auto isPeer = [&](uint32_t other) {
      return isWaiting(threads[other]) &&
             threads[other].warpOp.site == threads[i].warpOp.site;
    };
    for (uint32_t other = begin; other < end; ++other)
      if (isPeer(other))
        mask |= 1u << threads[other].lane;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      ThreadState &peer = threads[begin + llvm::countr_zero(rest)];
      peer.warpOp.value = mask;
      makeReady(peer);
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

uint32_t Worker::barrier(ThreadState &thread, BarrierOp op, uint32_t id,
                         uint32_t count, bool predicate, uint32_t site) {
  if (id >= barrierCount)
    fault(thread, "barrier " + Twine(id) + " does not exist, a block has " +
                      Twine(barrierCount));
  if (count % warpSize != 0)
    fault(thread, "barrier " + Twine(id) + " expects " + Twine(count) +
                      " threads, which is no multiple of " + Twine(warpSize));
  // Barriers count whole warps: the last thread stands for missing lanes.
  uint32_t weight =
      thread.index + 1 == threadCount ? warpSize - thread.lane : 1;
  uint32_t expected =
      count ? count
            : static_cast<uint32_t>(llvm::alignTo(threadCount, warpSize));
  Barrier &barrier = barriers[id];
  if (barrier.expected && barrier.expected != expected)
    fault(thread, "barrier " + Twine(id) + " expects " + Twine(expected) +
                      " threads, but others there expect " +
                      Twine(barrier.expected));
  // Threads of one warp that wait at different instructions diverged.
  for (uint32_t other : barrier.waiting)
    if (threads[other].warp == thread.warp &&
        threads[other].barrier.site != site)
      fault(thread, "divergent barrier " + Twine(id) + ": thread " +
                        formatIndex(threads[other].tid) +
                        " of the same warp waits at another barrier "
                        "instruction");
  barrier.expected = expected;
  barrier.arrived += weight;
  ++barrier.participants;
  barrier.trueCount += predicate;
  if (barrier.arrived > expected)
    fault(thread, "barrier " + Twine(id) + " expects " + Twine(expected) +
                      " threads, but more arrive");
  thread.barrier = {id, site, 0};
  bool isComplete = barrier.arrived == expected;
  if (!isComplete && op == BarrierOp::Arrive)
    return 0;
  if (!isComplete) {
    barrier.waiting.push_back(thread.index);
    thread.status = ThreadStatus::InBarrier;
    leave(SwitchReason::Waiting);
    return thread.barrier.result;
  }

  uint32_t result = 0;
  if (op == BarrierOp::ReducePopc)
    result = barrier.trueCount;
  else if (op == BarrierOp::ReduceAnd)
    result = barrier.trueCount == barrier.participants;
  else if (op == BarrierOp::ReduceOr)
    result = barrier.trueCount != 0;
  for (uint32_t other : barrier.waiting) {
    threads[other].barrier.result = result;
    makeReady(threads[other]);
  }
  if (launch->checksRaces)
    races.synchronizeBlock();
  barrier.expected = barrier.arrived = 0;
  barrier.participants = barrier.trueCount = 0;
  barrier.waiting.clear();
  return result;
}

/// Names a thread that waits, and one that keeps it waiting.
void Worker::reportDeadlock() {
  auto isBlocked = [&](const ThreadState &thread) {
    return thread.status == ThreadStatus::InBarrier ||
           thread.status == ThreadStatus::InWarpOp;
  };
  auto describe = [&](const ThreadState &thread) -> std::string {
    switch (thread.status) {
    case ThreadStatus::Exited:
      return "has exited";
    case ThreadStatus::InBarrier:
      return ("waits at barrier " + Twine(thread.barrier.id)).str();
    case ThreadStatus::InWarpOp:
      return ("waits at " + Twine(getName(thread.warpOp.op)) + " with mask 0x" +
              Twine::utohexstr(thread.warpOp.mask))
          .str();
    case ThreadStatus::Ready:
      break;
    }
    return "runs";
  };
  auto *end = threads.data() + threadCount;
  ThreadState *waiting = std::find_if(threads.data(), end, isBlocked);
  if (waiting == end)
    return;
  auto isMissing = [&](const ThreadState &other) {
    if (waiting->status == ThreadStatus::InBarrier)
      return other.status != ThreadStatus::InBarrier ||
             other.barrier.id != waiting->barrier.id;
    return other.warp == waiting->warp &&
           (waiting->warpOp.mask >> other.lane & 1) &&
           (other.status != ThreadStatus::InWarpOp ||
            other.warpOp.op != waiting->warpOp.op ||
            other.warpOp.mask != waiting->warpOp.mask);
  };
  ThreadState *missing = std::find_if(threads.data(), end, isMissing);
  std::string who =
      missing == end
          ? "too few threads arrive"
          : ("thread " + formatIndex(missing->tid) + " " + describe(*missing));
  report(*waiting, Twine(waiting->status == ThreadStatus::InBarrier
                             ? "divergent barrier: "
                             : "deadlock: ") +
                       describe(*waiting) + " forever, " + who);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string describeAccess(uint32_t flags, uint64_t size,
                                  uint64_t address) {
  const char *kind = flags & kAccessAtomic ? "atomic access"
                     : flags & kAccessRead ? "read"
                                          : "write";
  return (Twine(kind) + " of " + Twine(size) + " bytes at 0x" +
          Twine::utohexstr(address))
      .str();
}

std::string Worker::describeOutOfBounds(uint64_t address, uint64_t size,
                                        const char *object, uint64_t begin,
                                        uint64_t objectSize) const {
  std::string name =
      (Twine(object) + " of " + Twine(objectSize) + " bytes").str();
  if (address < begin)
    return (Twine(begin - address) + " bytes before the start of " + name)
        .str();
  uint64_t offset = address - begin;
  if (offset >= objectSize)
    return (Twine(offset - objectSize) + " bytes past the end of " + name)
        .str();
  return ("across the end of " + name + " from offset " + Twine(offset)).str();
}

void Worker::access(ThreadState &thread, uint64_t address, uint64_t size,
                    uint32_t flags, uint32_t site) {
  if (size == 0)
    return;
  uint64_t alignment = uint64_t(1) << (flags & kAccessAlignMask);
  if (address & (alignment - 1))
    fault(thread, "misaligned " + describeAccess(flags, size, address) +
                      ", expected a multiple of " + Twine(alignment));

  MemorySpace space = MemorySpace::Global;
  CachedRange &cached = cache[flags & kAccessWrite ? 1 : 0];
  uint64_t offset = address - cached.begin;
  if (offset >= cached.size || size > cached.size - offset) {
    if (isShared(address)) {
      space = MemorySpace::Shared;
      if (size > sharedSize - (address - sharedBegin()))
        fault(thread, "out-of-bounds " + describeAccess(flags, size, address) +
                          ", " +
                          describeOutOfBounds(address, size, "shared memory",
                                              sharedBegin(), sharedSize));
    } else if (isLocal(address)) {
      space = MemorySpace::Local;
    } else {
      const Allocation *allocation = allocations().find(address);
      if (!allocation || size > allocation->end() - address) {
        bool isFreed = !allocation && allocations().isFreed(address);
        uint64_t pastShared = address - sharedBegin() - sharedSize;
        // Next to shared memory, that is what was meant.
        std::string where =
            sharedSize && pastShared < sharedCapacity
                ? describeOutOfBounds(address, size, "shared memory",
                                      sharedBegin(), sharedSize)
                : allocations().describe(address, size);
        fault(thread, Twine(isFreed ? "use after free: " : "out-of-bounds ") +
                          describeAccess(flags, size, address) + ", " + where);
      }
      if (flags & kAccessWrite && allocation->isReadOnly)
        fault(thread, describeAccess(flags, size, address) +
                          " to constant memory, " +
                          allocations().describe(address, size));
      cached = {allocation->begin, allocation->size};
    }
  }
  if (launch->collectsStatistics)
    traffic[thread.warp].record(
        site, thread.lane, address, static_cast<uint32_t>(size), space,
        flags & kAccessRead, flags & kAccessWrite, counts);
  if (launch->checksRaces && space == MemorySpace::Shared) {
    uint32_t other;
    if (races.record(thread.index, thread.warp, address - sharedBegin(), size,
                     flags & kAccessWrite, flags & kAccessAtomic, other))
      fault(thread, "race on shared memory: " +
                        describeAccess(flags, size, address) + ", offset " +
                        Twine(address - sharedBegin()) +
                        ", conflicts with thread " +
                        formatIndex(threads[other].tid) +
                        " without a barrier between");
  }
}

//===----------------------------------------------------------------------===//
// Functions called by kernels
//===----------------------------------------------------------------------===//

static ThreadState *thread() { return currentThread; }

static void accessMemory(uint64_t address, uint64_t size, uint32_t flags,
                         uint32_t site) {
  ThreadState &thread = *currentThread;
  thread.worker->access(thread, address, size, flags, site);
}

/// An access through a pointer into a variable of the kernel, which must stay
/// inside of that.
static void accessObject(uint64_t address, uint64_t size, uint32_t flags,
                         uint32_t site, uint64_t begin, uint64_t objectSize) {
  ThreadState &thread = *currentThread;
  Worker &worker = *thread.worker;
  uint64_t offset = address - begin;
  if (size && (offset >= objectSize || size > objectSize - offset))
    worker.fault(thread,
                 "out-of-bounds " + describeAccess(flags, size, address) +
                     ", " +
                     worker.describeOutOfBounds(
                         address, size,
                         worker.isShared(begin) ? "a shared variable"
                                                : "a local variable",
                         begin, objectSize));
  worker.access(thread, address, size, flags, site);
}

static uint64_t warpOperation(uint64_t value, uint32_t mask, uint32_t b,
                              uint32_t c, uint32_t mode, uint32_t site) {
  ThreadState &thread = *currentThread;
  return thread.worker->warpOperation(thread, value, mask, b, c, mode, site);
}

/// The second result of the warp operation before.
static uint32_t warpPredicate() { return currentThread->warpOp.predicate; }

static uint32_t barrier(uint32_t op, uint32_t id, uint32_t count,
                        uint32_t predicate, uint32_t site) {
  ThreadState &thread = *currentThread;
  return thread.worker->barrier(thread, static_cast<BarrierOp>(op), id, count,
                                predicate, site);
}

static void yield() { currentThread->worker->yield(*currentThread); }

static void exitThread() {
  currentThread->worker->exitThread(*currentThread);
}

static void trap() {
  currentThread->worker->fault(*currentThread, "the kernel trapped");
}

static void assertFail(const char *message, const char *file, uint32_t line,
                       const char *function) {
  currentThread->worker->fault(*currentThread,
                               "assertion failed: " + Twine(message) + " (" +
                                   file + ":" + Twine(line) + ", " + function +
                                   ")");
}

static uint32_t isInSpace(uint64_t address, uint32_t space) {
  const Worker &worker = *currentThread->worker;
  if (worker.isShared(address))
    return static_cast<AddressSpace>(space) == AddressSpace::Shared;
  if (worker.isLocal(address))
    return static_cast<AddressSpace>(space) == AddressSpace::Local;
  const Allocation *allocation = worker.allocations().find(address);
  bool isConstant = allocation && allocation->isConstantSpace;
  return static_cast<AddressSpace>(space) ==
         (isConstant ? AddressSpace::Constant : AddressSpace::Global);
}

/// cp.async: copies `sourceSize` bytes and fills up to `size` with zeros.
static void copyAsync(char *destination, const char *source, uint32_t size,
                      uint32_t sourceSize, uint32_t site) {
  ThreadState &thread = *currentThread;
  if (sourceSize > size)
    thread.worker->fault(thread, "cp.async of " + Twine(size) +
                                     " bytes reads " + Twine(sourceSize));
  uint32_t alignment = llvm::Log2_32(size);
  accessMemory(reinterpret_cast<uint64_t>(source), sourceSize,
               alignment | kAccessRead, site);
  accessMemory(reinterpret_cast<uint64_t>(destination), size,
               alignment | kAccessWrite, site + 1);
  memcpy(destination, source, sourceSize);
  memset(destination + sourceSize, 0, size - sourceSize);
}

static uint64_t clockTicks() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

namespace {
/// The contents of an mbarrier object, which PTX leaves opaque.
struct MBarrier {
  uint64_t pending : 20;
  uint64_t expected : 20;
  /// Transaction bytes that are still to come, in two's complement.
  uint64_t transactions : 23;
  uint64_t phase : 1;
};
static_assert(sizeof(MBarrier) == 8, "an mbarrier object has 64 bits");
} // namespace

static uint64_t bitsOfBarrier(const MBarrier &barrier) {
  uint64_t bits;
  memcpy(&bits, &barrier, sizeof(bits));
  return bits;
}

static MBarrier barrierOfBits(uint64_t bits) {
  MBarrier barrier;
  memcpy(&barrier, &bits, sizeof(bits));
  return barrier;
}

/// All mbarrier operations on an object; returns its state before an arrival,
/// whether a phase has ended, or a count.
static uint64_t mbarrier(uint32_t opCode, char *object, uint64_t operand,
                         uint32_t transactions) {
  ThreadState &thread = *currentThread;
  Worker &worker = *thread.worker;
  auto op = static_cast<MBarrierOp>(opCode);
  if (op == MBarrierOp::PendingCount)
    return barrierOfBits(operand).pending;
  uint64_t address = reinterpret_cast<uint64_t>(object);
  if (!worker.isShared(address) || !worker.isShared(address + 7) ||
      address % 8 != 0)
    worker.fault(thread, "expected an mbarrier in shared memory at a multiple "
                         "of 8, but got address 0x" +
                             Twine::utohexstr(address));
  MBarrier barrier;
  memcpy(&barrier, object, sizeof(barrier));
  uint64_t state = bitsOfBarrier(barrier);
  auto arrive = [&](uint64_t count, bool drop) {
    if (count == 0 || count > barrier.pending)
      worker.fault(thread, "mbarrier with " + Twine(uint64_t(barrier.pending)) +
                               " pending arrivals gets " + Twine(count));
    barrier.pending -= count;
    if (drop)
      barrier.expected -= count;
  };
  uint64_t result = 0;
  switch (op) {
  case MBarrierOp::Init:
    if (operand == 0 || operand >= 1 << 20)
      worker.fault(thread, "mbarrier count " + Twine(operand) +
                               " is not in 1 to 1048575");
    barrier = {};
    barrier.pending = barrier.expected = operand;
    break;
  case MBarrierOp::Invalidate:
    barrier = {};
    break;
  case MBarrierOp::Arrive:
  case MBarrierOp::ArriveDrop:
    arrive(operand, op == MBarrierOp::ArriveDrop);
    result = state;
    break;
  case MBarrierOp::ExpectTransactions:
    barrier.transactions += transactions;
    break;
  case MBarrierOp::CompleteTransactions:
    barrier.transactions -= transactions;
    break;
  case MBarrierOp::ArriveExpectTransactions:
  case MBarrierOp::ArriveDropExpectTransactions:
    barrier.transactions += transactions;
    arrive(operand, op == MBarrierOp::ArriveDropExpectTransactions);
    result = state;
    break;
  case MBarrierOp::TestWait:
  case MBarrierOp::TryWait:
    result = barrierOfBits(operand).phase != barrier.phase;
    break;
  case MBarrierOp::TestWaitParity:
  case MBarrierOp::TryWaitParity:
    result = (operand & 1) != barrier.phase;
    break;
  case MBarrierOp::PendingCount:
    break;
  }
  if (op < MBarrierOp::TestWait && op > MBarrierOp::Invalidate &&
      barrier.pending == 0 && barrier.transactions == 0) {
    barrier.phase ^= 1;
    barrier.pending = barrier.expected;
  }
  memcpy(object, &barrier, sizeof(barrier));
  if (op >= MBarrierOp::TestWait && !result)
    worker.yield(thread);
  else
    worker.noteProgress();
  return result;
}

llvm::ArrayRef<DeviceFunction> te::emulator::getExecutionFunctions() {
#define TE_FUNCTION(name)                                                      \
  { "te." #name, reinterpret_cast<void *>(&name) }
  static const DeviceFunction functions[] = {
      TE_FUNCTION(thread),       TE_FUNCTION(accessMemory),
      TE_FUNCTION(accessObject), TE_FUNCTION(warpOperation),
      TE_FUNCTION(warpPredicate), TE_FUNCTION(barrier),
      TE_FUNCTION(yield),        TE_FUNCTION(exitThread),
      TE_FUNCTION(trap),         TE_FUNCTION(assertFail),
      TE_FUNCTION(isInSpace),    TE_FUNCTION(copyAsync),
      TE_FUNCTION(clockTicks),   TE_FUNCTION(mbarrier),
  };
#undef TE_FUNCTION
  return functions;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

namespace {

/// Host threads that wait for launches. The pool is never destroyed: programs
/// may unload modules after the destructors of this library have run.
class WorkerPool {
public:
  static WorkerPool &get() {
    static WorkerPool *pool = new WorkerPool;
    return *pool;
  }

  void run(Launch &launch, unsigned count) {
    // One launch at a time: launches of several host threads take turns.
    std::lock_guard<std::mutex> turn(launchMutex);
    if (count > 1) {
      std::lock_guard<std::mutex> lock(mutex);
      while (helpers.size() < count - 1) {
        size_t index = helpers.size();
        helpers.push_back(std::make_unique<Worker>());
        std::thread([this, index] { help(index); }).detach();
      }
      current = &launch;
      ++generation;
      wanted = running = count - 1;
    }
    wake.notify_all();
    first.run(launch);
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return running == 0; });
    current = nullptr;
    wanted = 0;
  }

private:
  void help(size_t index) {
    SignalStack stack;
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return generation != seen && index < wanted; });
      seen = generation;
      Launch &launch = *current;
      Worker &worker = *helpers[index];
      lock.unlock();
      worker.run(launch);
      lock.lock();
      if (--running == 0)
        done.notify_all();
    }
  }

  std::mutex launchMutex, mutex;
  std::condition_variable wake, done;
  Launch *current = nullptr;
  uint64_t generation = 0;
  size_t wanted = 0, running = 0;
  Worker first;
  std::vector<std::unique_ptr<Worker>> helpers;
};

} // namespace

void te::emulator::runLaunch(Launch &launch, unsigned workers) {
  uint64_t blocks = launch.getBlockCount();
  // Waking another worker costs as much as some thousand threads.
  if (blocks * launch.getThreadCount() < 4096)
    workers = 1;
  SignalScope signals;
  OpenScope open;
  WorkerPool::get().run(
      launch, static_cast<unsigned>(std::min<uint64_t>(workers, blocks)));
}
