//===- Statistics.h - counting memory traffic -----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_STATISTICS_H
#define TE_RUNTIME_EMULATOR_STATISTICS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace te::emulator {

struct TrafficCounts {
  uint64_t bytesRead = 0, bytesWritten = 0;
  uint64_t sectorsRead = 0, sectorsWritten = 0;
  uint64_t bankConflicts = 0;

  TrafficCounts &operator+=(const TrafficCounts &other);
};

enum class MemorySpace : uint8_t { Global, Shared, Local };

/// Puts the accesses of a warp's lanes together. Lanes run one after another,
/// so the n-th execution of an instruction by one lane is matched with the n-th
/// execution by the others: what a converged warp does.
class WarpTraffic {
public:
  void start(uint32_t siteCount, uint32_t laneCount);

  void record(uint32_t site, uint32_t lane, uint64_t address, uint32_t size,
              MemorySpace space, bool isRead, bool isWrite,
              TrafficCounts &counts);

  /// Counts the executions that not all lanes took part in.
  void finish(TrafficCounts &counts);

private:
  struct Execution {
    uint32_t laneMask = 0;
    uint32_t size = 0;
    MemorySpace space = MemorySpace::Global;
    bool isRead = false, isWrite = false;
    std::array<uint64_t, 32> addresses;
  };
  struct Site {
    std::array<uint32_t, 32> executionsOfLane{};
    /// Executions that wait for lanes; the first has number `firstOpen`.
    std::deque<Execution> open;
    uint32_t firstOpen = 0;
  };

  static void count(const Execution &execution, TrafficCounts &counts);

  uint32_t fullMask = 0;
  std::vector<Site> sites;
};

/// What was counted and found in this process.
class StatisticsRegistry {
public:
  static StatisticsRegistry &get();

  void addLaunch(llvm::StringRef kernel, std::array<uint32_t, 3> grid,
                 std::array<uint32_t, 3> block, uint32_t sharedBytes,
                 const TrafficCounts &counts);
  void addFault(llvm::StringRef text);
  uint64_t getFaultCount();
  void reset();
  /// Returns a message on failure.
  std::string write(llvm::StringRef path);

private:
  using Configuration =
      std::tuple<std::array<uint32_t, 3>, std::array<uint32_t, 3>, uint32_t>;
  struct Entry {
    uint64_t launches = 0;
    TrafficCounts counts;
  };

  std::mutex mutex;
  std::map<std::string, std::map<Configuration, Entry>> kernels;
  std::vector<std::string> faults;
};

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_STATISTICS_H
