//===- Statistics.cpp - counting memory traffic ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace te::emulator;

namespace {
constexpr uint64_t sectorSize = 32;
constexpr uint32_t bankCount = 32;
constexpr uint32_t bankWidth = 4;
/// Executions of one instruction that may wait for lanes. A kernel whose
/// threads loop longer than this between two barriers has the rest of its
/// executions counted lane by lane.
constexpr size_t maxOpenExecutions = 1 << 16;
} // namespace

TrafficCounts &TrafficCounts::operator+=(const TrafficCounts &other) {
  bytesRead += other.bytesRead;
  bytesWritten += other.bytesWritten;
  sectorsRead += other.sectorsRead;
  sectorsWritten += other.sectorsWritten;
  bankConflicts += other.bankConflicts;
  return *this;
}

//===----------------------------------------------------------------------===//
// WarpTraffic
//===----------------------------------------------------------------------===//

void WarpTraffic::start(uint32_t siteCount, uint32_t laneCount) {
  fullMask = laneCount >= 32 ? ~0u : (1u << laneCount) - 1;
  sites.assign(siteCount, Site());
}

void WarpTraffic::record(uint32_t site, uint32_t lane, uint64_t address,
                         uint32_t size, MemorySpace space, bool isRead,
                         bool isWrite, TrafficCounts &counts) {
  Site &entry = sites[site];
  uint32_t number = entry.executionsOfLane[lane]++;
  auto fill = [&](Execution &execution) {
    execution.laneMask |= 1u << lane;
    execution.size = size;
    execution.space = space;
    execution.isRead = isRead;
    execution.isWrite = isWrite;
    execution.addresses[lane] = address;
  };
  uint32_t position = number - entry.firstOpen;
  if (number < entry.firstOpen || position >= maxOpenExecutions) {
    Execution alone;
    fill(alone);
    count(alone, counts);
    return;
  }
  if (position >= entry.open.size())
    entry.open.resize(position + 1);
  Execution &execution = entry.open[position];
  fill(execution);
  while (!entry.open.empty() && entry.open.front().laneMask == fullMask) {
    count(entry.open.front(), counts);
    entry.open.pop_front();
    ++entry.firstOpen;
  }
}

void WarpTraffic::finish(TrafficCounts &counts) {
  for (Site &site : sites)
    for (const Execution &execution : site.open)
      count(execution, counts);
  sites.clear();
}

/// Returns the wavefronts beyond one that a group of lanes needs: the most
/// different words that they touch in one bank.
static uint64_t getConflicts(llvm::SmallVectorImpl<uint64_t> &words) {
  llvm::sort(words);
  words.erase(llvm::unique(words), words.end());
  std::array<uint32_t, bankCount> perBank{};
  for (uint64_t word : words)
    ++perBank[word % bankCount];
  uint32_t most = *std::max_element(perBank.begin(), perBank.end());
  return most > 1 ? most - 1 : 0;
}

void WarpTraffic::count(const Execution &execution, TrafficCounts &counts) {
  if (execution.laneMask == 0 || execution.size == 0)
    return;
  auto forEachLane = [&](uint32_t begin, uint32_t end, auto &&visit) {
    for (uint32_t lane = begin; lane < end; ++lane)
      if (execution.laneMask >> lane & 1)
        visit(execution.addresses[lane]);
  };

  if (execution.space == MemorySpace::Shared) {
    // The hardware serves 128 bytes at a time: half or quarter warps for wider
    // accesses.
    uint32_t words =
        std::min<uint32_t>((execution.size + bankWidth - 1) / bankWidth, 32);
    uint32_t lanes = words <= 1 ? 32 : words == 2 ? 16 : words <= 4 ? 8 : 1;
    for (uint32_t begin = 0; begin < 32; begin += lanes) {
      llvm::SmallVector<uint64_t, 64> touched;
      forEachLane(begin, begin + lanes, [&](uint64_t address) {
        for (uint32_t i = 0; i < words; ++i)
          touched.push_back(address / bankWidth + i);
      });
      counts.bankConflicts += getConflicts(touched);
    }
    return;
  }

  if (execution.space != MemorySpace::Global)
    return;
  llvm::SmallVector<uint64_t, 64> sectors;
  uint64_t bytes = 0;
  forEachLane(0, 32, [&](uint64_t address) {
    bytes += execution.size;
    uint64_t last = (address + execution.size - 1) / sectorSize;
    for (uint64_t sector = address / sectorSize; sector <= last; ++sector)
      sectors.push_back(sector);
  });
  llvm::sort(sectors);
  uint64_t unique = llvm::unique(sectors) - sectors.begin();
  if (execution.isRead) {
    counts.bytesRead += bytes;
    counts.sectorsRead += unique;
  }
  if (execution.isWrite) {
    counts.bytesWritten += bytes;
    counts.sectorsWritten += unique;
  }
}

//===----------------------------------------------------------------------===//
// StatisticsRegistry
//===----------------------------------------------------------------------===//

StatisticsRegistry &StatisticsRegistry::get() {
  static StatisticsRegistry *registry = new StatisticsRegistry;
  return *registry;
}

void StatisticsRegistry::addLaunch(llvm::StringRef kernel,
                                   std::array<uint32_t, 3> grid,
                                   std::array<uint32_t, 3> block,
                                   uint32_t sharedBytes,
                                   const TrafficCounts &counts) {
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = kernels[kernel.str()][{grid, block, sharedBytes}];
  ++entry.launches;
  entry.counts += counts;
}

void StatisticsRegistry::addFault(llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  faults.push_back(text.str());
}

uint64_t StatisticsRegistry::getFaultCount() {
  std::lock_guard<std::mutex> lock(mutex);
  return faults.size();
}

void StatisticsRegistry::reset() {
  std::lock_guard<std::mutex> lock(mutex);
  kernels.clear();
  faults.clear();
}

std::string StatisticsRegistry::write(llvm::StringRef path) {
  std::lock_guard<std::mutex> lock(mutex);
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return (llvm::Twine("cannot write '") + path + "': " + error.message())
        .str();
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  auto writeSize = [&](llvm::StringRef key,
                       const std::array<uint32_t, 3> &size) {
    json.attributeArray(key, [&] {
      for (uint32_t extent : size)
        json.value(extent);
    });
  };
  auto writeEntry = [&](const Configuration &configuration,
                        const Entry &entry) {
    writeSize("grid", std::get<0>(configuration));
    writeSize("block", std::get<1>(configuration));
    json.attribute("shared_bytes", std::get<2>(configuration));
    json.attribute("launches", entry.launches);
    json.attribute("bytes_read", entry.counts.bytesRead);
    json.attribute("bytes_written", entry.counts.bytesWritten);
    json.attribute("sectors_read", entry.counts.sectorsRead);
    json.attribute("sectors_written", entry.counts.sectorsWritten);
    json.attribute("bank_conflicts", entry.counts.bankConflicts);
  };
  json.object([&] {
    json.attributeObject("kernels", [&] {
      for (const auto &[name, configurations] : kernels)
        json.attributeArray(name, [&, &configurations = configurations] {
          for (const auto &[configuration, entry] : configurations)
            json.object([&, &configuration = configuration, &entry = entry] {
              writeEntry(configuration, entry);
            });
        });
    });
    json.attributeArray("faults", [&] {
      for (const std::string &fault : faults)
        json.value(fault);
    });
  });
  stream << '\n';
  stream.close();
  if (stream.has_error()) {
    std::error_code failure = stream.error();
    stream.clear_error();
    return (llvm::Twine("cannot write '") + path + "': " + failure.message())
        .str();
  }
  return {};
}
