//===- Execution.h - running the blocks of a launch -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker is a host thread that runs whole blocks. The threads of a block are
// fibers on its worker: one runs until it waits for others, and the last to
// arrive at a warp operation or barrier completes it for all. Kernels that wait
// for nobody run as a loop over the threads, on one fiber, so that a fault can
// leave any kernel by switching back to the worker.
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_EXECUTION_H
#define TE_RUNTIME_EMULATOR_EXECUTION_H

#include "DeviceMemory.h"
#include "Statistics.h"

#include <array>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <csetjmp>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace te::emulator {

class Worker;

inline constexpr uint32_t warpSize = 32;
inline constexpr uint32_t maxThreadsPerBlock = 1024;

enum class WarpOp : uint8_t {
  Sync,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  ShuffleIndex,
  VoteAll,
  VoteAny,
  VoteUniform,
  VoteBallot,
  MatchAny,
  MatchAll,
  Elect,
  ReduceAdd,
  ReduceMin,
  ReduceMax,
  ReduceUMin,
  ReduceUMax,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  ReduceF32,
  /// Values are addresses of the lanes' registers.
  MultiplyMatrices,
  /// Waits for nothing that is named: completes when no thread can run.
  ActiveMask,
};

enum class BarrierOp : uint8_t { Sync, Arrive, ReducePopc, ReduceAnd, ReduceOr };

enum class ThreadStatus : uint8_t {
  Ready,
  InWarpOp,
  InBarrier,
  Exited,
};

/// A thread of the block that a worker runs. Compiled kernels read the first
/// fields, by their offsets.
struct ThreadState {
  std::array<uint32_t, 3> tid, ctaid, ntid, nctaid;
  uint32_t lane, warp, warpCount;
  uint32_t sharedSize, dynamicSharedSize;
  char *shared;

  Worker *worker;
  ThreadStatus status;
  uint32_t index;
  boost::context::detail::fcontext_t context;

  /// What the thread waits for, and then the result.
  struct {
    WarpOp op;
    uint32_t mask, mode, b, c, site;
    uint64_t value;
    bool predicate;
  } warpOp;
  struct {
    uint32_t id, site, result;
  } barrier;
};

/// What a launch needs to know of a compiled kernel.
struct KernelCode {
  std::string name;
  /// Calls the kernel with arguments read through an array of pointers.
  void (*thunk)(void **params) = nullptr;
  uint32_t staticSharedSize = 0;
  bool usesFibers = false;
  /// Number of memory access instructions, which are numbered.
  uint32_t siteCount = 0;
};

/// One launch, shared by the workers.
struct Launch {
  const KernelCode *kernel = nullptr;
  void **params = nullptr;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t dynamicSharedSize = 0;
  bool collectsStatistics = false, checksRaces = false;
  std::shared_ptr<const AllocationTable> allocations;

  std::atomic<uint64_t> nextBlock{0};
  std::atomic<bool> isStopped{false};
  std::mutex mutex;
  /// The first fault, if any.
  std::string fault;
  TrafficCounts counts;

  uint64_t getBlockCount() const {
    return uint64_t(grid[0]) * grid[1] * grid[2];
  }
  uint32_t getThreadCount() const { return block[0] * block[1] * block[2]; }
};

/// Runs all blocks with the given number of host threads, the calling one
/// included, and returns when they have ended. A fault ends the launch early.
void runLaunch(Launch &launch, unsigned workers);

/// What a signal handler does for a thread that runs a kernel: returns null if
/// the calling thread does not, otherwise where to jump after the signal and
/// its address were noted.
sigjmp_buf *noteSignalInKernel(int signal, uint64_t address);

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_EXECUTION_H
