//===- DeviceMemory.h - the emulated device's memory ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory is one arena of reserved address space, so that opening and
// closing it to the host is one system call. Freed addresses are used again
// only after the arena is exhausted: a dangling pointer stays detectable.
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_DEVICEMEMORY_H
#define TE_RUNTIME_EMULATOR_DEVICEMEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace te::emulator {

/// A range of addresses that kernels may access.
struct Allocation {
  uint64_t begin = 0;
  uint64_t size = 0;
  /// What a message calls it, such as "an allocation".
  std::string description;
  bool isReadOnly = false;
  bool isConstantSpace = false;

  uint64_t end() const { return begin + size; }
};

/// An immutable picture of the allocations, sorted by address.
class AllocationTable {
public:
  /// Returns the allocation that holds the address, or null.
  const Allocation *find(uint64_t address) const;

  /// Says where [address, address + size) lies relative to the allocations, as
  /// in "16 bytes past the end of an allocation of 1024 bytes".
  std::string describe(uint64_t address, uint64_t size) const;

  /// Returns whether the address lies in memory that was freed.
  bool isFreed(uint64_t address) const;

private:
  friend class DeviceMemory;
  std::vector<Allocation> live;
  std::vector<Allocation> freed;
};

class DeviceMemory {
public:
  /// The one device; it is never destroyed, as programs may release memory in
  /// their last destructors.
  static DeviceMemory &get();

  /// Returns null and fills `error` on failure. Fills fresh memory with 0xFF
  /// if `poison` is set.
  void *allocate(uint64_t size, bool isHostShared, bool poison,
                 std::string &error);
  /// Returns false if `pointer` is no live allocation.
  bool release(void *pointer);

  /// Makes memory that somebody else owns known to the access checks.
  void addRange(Allocation range);
  void removeRange(uint64_t begin);

  std::shared_ptr<const AllocationTable> snapshot();

  /// Returns whether the address lies in memory that is closed to the host.
  bool isDeviceOnly(uint64_t address) const {
    return address - arenaBegin < arenaSize;
  }

  /// Returns an error unless [address, address + size) is host memory or lies
  /// inside one allocation.
  std::string checkRange(uint64_t address, uint64_t size, const char *what);

  /// While a guard is held and no opener, the host cannot access the arena.
  void addGuard();
  void removeGuard();
  void open();
  void close();

private:
  DeviceMemory() = default;
  bool reserve();
  uint64_t findSpace(uint64_t size);
  void updateProtection();

  struct HostShared {
    void *pages;
    uint64_t size;
  };

  std::mutex mutex;
  uint64_t arenaBegin = 0, arenaSize = 0, arenaUsed = 0;
  uint64_t liveBytes = 0;
  int guards = 0, openers = 0;
  bool isClosed = false;
  std::map<uint64_t, Allocation> live;
  std::map<uint64_t, HostShared> hostShared;
  std::vector<Allocation> freed;
  /// Freed pages by address, for when the arena is exhausted.
  std::map<uint64_t, uint64_t> freePages;
  std::shared_ptr<const AllocationTable> table;
};

/// Opens device memory to the host for a scope.
class OpenScope {
public:
  OpenScope();
  ~OpenScope();
  OpenScope(const OpenScope &) = delete;
  OpenScope &operator=(const OpenScope &) = delete;

  /// Number of scopes that the calling thread is in; a guard closes those that
  /// a fault jumped over.
  static int depth();
  static void unwindTo(int depth);
};

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_DEVICEMEMORY_H
