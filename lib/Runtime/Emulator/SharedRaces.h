//===- SharedRaces.h - finding races on shared memory ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remembers for each byte of a block's shared memory who accessed it last, and
// in which interval between barriers. Two accesses by different threads, one of
// them a write, race if they lie in one interval. bar.warp.sync ends an interval
// among the threads of its warp.
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_SHAREDRACES_H
#define TE_RUNTIME_EMULATOR_SHAREDRACES_H

#include <cstdint>
#include <vector>

namespace te::emulator {

class SharedRaces {
public:
  /// Begins a block. Intervals are never used twice, so that what is known of
  /// the block before does no harm.
  void start(uint32_t sharedSize, uint32_t warpCount) {
    if (shadow.size() < sharedSize)
      shadow.resize(sharedSize);
    warpIntervals.assign(warpCount, 0);
    ++interval;
  }

  void synchronizeBlock() { ++interval; }
  void synchronizeWarp(uint32_t warp) { ++warpIntervals[warp]; }

  /// Returns whether the access races with one of thread `other`.
  bool record(uint32_t thread, uint32_t warp, uint64_t offset, uint64_t size,
              bool isWrite, bool isAtomic, uint32_t &other) {
    Access now = {interval, warpIntervals[warp], thread, warp, isAtomic};
    for (uint64_t i = offset; i < offset + size; ++i) {
      Shadow &byte = shadow[i];
      if (races(byte.write, now, other) ||
          (isWrite && (races(byte.read, now, other) ||
                       races(byte.otherRead, now, other))))
        return true;
      if (isWrite) {
        byte.write = now;
      } else if (byte.read.thread != thread) {
        byte.otherRead = byte.read;
        byte.read = now;
      } else {
        byte.read = now;
      }
    }
    return false;
  }

private:
  struct Access {
    uint64_t interval = 0;
    uint32_t warpInterval = 0, thread = 0, warp = 0;
    bool isAtomic = false;
  };
  /// Two readers suffice: a writer differs from one of them.
  struct Shadow {
    Access write, read, otherRead;
  };

  static bool races(const Access &before, const Access &now, uint32_t &other) {
    other = before.thread;
    return before.interval == now.interval && before.thread != now.thread &&
           !(before.isAtomic && now.isAtomic) &&
           !(before.warp == now.warp &&
             before.warpInterval != now.warpInterval);
  }

  std::vector<Shadow> shadow;
  std::vector<uint32_t> warpIntervals;
  uint64_t interval = 0;
};

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_SHAREDRACES_H
