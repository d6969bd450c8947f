//===- DeviceMemory.cpp - the emulated device's memory --------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <sys/mman.h>

using namespace te::emulator;
using llvm::Twine;

namespace {
constexpr uint64_t pageSize = 4096;
/// The most that may be allocated at a time.
constexpr uint64_t maxLiveBytes = uint64_t(64) << 30;
/// Addresses reserved at first, four times the above to keep freed ones out of
/// use; a limit on address space may grant less.
constexpr uint64_t preferredArenaSize = 4 * maxLiveBytes;
constexpr uint64_t minArenaSize = uint64_t(1) << 30;
/// What cudaMalloc guarantees, and no more: code that relies on more is found.
constexpr uint64_t deviceAlignment = 256;
/// How many freed allocations messages remember.
constexpr size_t maxFreedRecords = 4096;
/// Larger allocations are not filled; touching all pages would cost more than
/// the kernels that use them.
constexpr uint64_t maxPoisonedSize = uint64_t(256) << 20;
} // namespace

//===----------------------------------------------------------------------===//
// AllocationTable
//===----------------------------------------------------------------------===//

const Allocation *AllocationTable::find(uint64_t address) const {
  auto it = llvm::upper_bound(live, address,
                              [](uint64_t address, const Allocation &entry) {
                                return address < entry.begin;
                              });
  if (it == live.begin())
    return nullptr;
  --it;
  return address < it->end() ? &*it : nullptr;
}

bool AllocationTable::isFreed(uint64_t address) const {
  return !find(address) && llvm::any_of(freed, [&](const Allocation &entry) {
    return address - entry.begin < entry.size;
  });
}

std::string AllocationTable::describe(uint64_t address, uint64_t size) const {
  auto name = [](const Allocation &entry) {
    return (Twine(entry.description) + " of " + Twine(entry.size) + " bytes")
        .str();
  };
  if (const Allocation *entry = find(address)) {
    uint64_t offset = address - entry->begin;
    if (size <= entry->size - offset)
      return ("offset " + Twine(offset) + " in " + name(*entry)).str();
    return ("across the end of " + name(*entry) + " from offset " +
            Twine(offset))
        .str();
  }
  // The newest record of an address is the last.
  for (const Allocation &entry : llvm::reverse(freed))
    if (address - entry.begin < entry.size)
      return ("offset " + Twine(address - entry.begin) + " in a freed " +
              "allocation of " + Twine(entry.size) + " bytes")
          .str();
  const Allocation *nearest = nullptr;
  uint64_t distance = UINT64_MAX;
  bool isPast = false;
  for (const Allocation &entry : live) {
    bool past = address >= entry.end();
    uint64_t d = past ? address - entry.end() : entry.begin - address;
    // The end of one allocation is a likelier culprit than the start of the
    // next at the same distance.
    if (d < distance || (d == distance && past)) {
      nearest = &entry;
      distance = d;
      isPast = past;
    }
  }
  if (!nearest)
    return "and there is no device allocation";
  return (Twine(distance) + " bytes " +
          (isPast ? "past the end of " : "before the start of ") +
          name(*nearest))
      .str();
}

//===----------------------------------------------------------------------===//
// DeviceMemory
//===----------------------------------------------------------------------===//

DeviceMemory &DeviceMemory::get() {
  static DeviceMemory *memory = new DeviceMemory;
  return *memory;
}

bool DeviceMemory::reserve() {
  if (arenaSize)
    return true;
  for (uint64_t size = preferredArenaSize; size >= minArenaSize; size /= 2) {
    void *pages = mmap(nullptr, size, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
      continue;
    arenaBegin = reinterpret_cast<uint64_t>(pages);
    arenaSize = size;
    return true;
  }
  return false;
}

/// Returns the address of `size` bytes of pages, or 0.
uint64_t DeviceMemory::findSpace(uint64_t size) {
  if (size <= arenaSize - arenaUsed) {
    uint64_t begin = arenaBegin + arenaUsed;
    arenaUsed += size;
    return begin;
  }
  for (auto it = freePages.begin(), e = freePages.end(); it != e; ++it) {
    // Neighbours are joined here, where it matters, and not at each release.
    for (auto next = std::next(it);
         next != e && it->first + it->second == next->first;
         next = freePages.erase(next))
      it->second += next->second;
    if (it->second < size)
      continue;
    uint64_t begin = it->first, rest = it->second - size;
    freePages.erase(it);
    if (rest)
      freePages[begin + size] = rest;
    return begin;
  }
  return 0;
}

void *DeviceMemory::allocate(uint64_t size, bool isHostShared, bool poison,
                             std::string &error) {
  std::lock_guard<std::mutex> lock(mutex);
  auto fail = [&]() -> void * {
    error =
        ("out of device memory: " + Twine(size) + " bytes requested").str();
    return nullptr;
  };
  if (size > maxLiveBytes || liveBytes + size > maxLiveBytes)
    return fail();
  // One alignment unit in front makes the pointer no more aligned than
  // promised; a page behind keeps neighbours apart.
  uint64_t pages = llvm::alignTo(size + deviceAlignment, pageSize);
  uint64_t begin;
  if (isHostShared) {
    void *memory = mmap(nullptr, pages, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return fail();
    begin = reinterpret_cast<uint64_t>(memory);
  } else {
    if (!reserve())
      return fail();
    begin = findSpace(pages + pageSize);
    if (!begin)
      return fail();
    if (mprotect(reinterpret_cast<void *>(begin), pages + pageSize,
                 PROT_READ | PROT_WRITE)) {
      freePages[begin] = pages + pageSize;
      return fail();
    }
  }
  uint64_t pointer = begin + deviceAlignment;
  if (isHostShared)
    hostShared[pointer] = {reinterpret_cast<void *>(begin), pages};
  if (poison && size <= maxPoisonedSize)
    memset(reinterpret_cast<void *>(pointer), 0xFF, size);
  if (!isHostShared && isClosed)
    mprotect(reinterpret_cast<void *>(begin), pages + pageSize, PROT_NONE);
  live[pointer] = {pointer, size, "an allocation"};
  liveBytes += size;
  table.reset();
  return reinterpret_cast<void *>(pointer);
}

bool DeviceMemory::release(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t begin = reinterpret_cast<uint64_t>(pointer);
  auto it = live.find(begin);
  if (it == live.end())
    return false;
  auto shared = hostShared.find(begin);
  if (shared == hostShared.end() && !isDeviceOnly(begin))
    return false;
  Allocation allocation = it->second;
  live.erase(it);
  liveBytes -= allocation.size;
  table.reset();
  if (shared != hostShared.end()) {
    munmap(shared->second.pages, shared->second.size);
    hostShared.erase(shared);
    return true;
  }
  uint64_t pages =
      llvm::alignTo(allocation.size + deviceAlignment, pageSize) + pageSize;
  begin -= deviceAlignment;
  madvise(reinterpret_cast<void *>(begin), pages, MADV_DONTNEED);
  freePages[begin] = pages;
  if (freed.size() >= maxFreedRecords)
    freed.erase(freed.begin(), freed.begin() + maxFreedRecords / 2);
  freed.push_back(std::move(allocation));
  return true;
}

void DeviceMemory::addRange(Allocation range) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t begin = range.begin;
  live[begin] = std::move(range);
  table.reset();
}

void DeviceMemory::removeRange(uint64_t begin) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isDeviceOnly(begin) || hostShared.count(begin))
    return;
  live.erase(begin);
  table.reset();
}

std::shared_ptr<const AllocationTable> DeviceMemory::snapshot() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!table) {
    auto fresh = std::make_shared<AllocationTable>();
    fresh->live.reserve(live.size());
    for (const auto &[begin, allocation] : live)
      fresh->live.push_back(allocation);
    fresh->freed = freed;
    table = std::move(fresh);
  }
  return table;
}

std::string DeviceMemory::checkRange(uint64_t address, uint64_t size,
                                     const char *what) {
  if (!isDeviceOnly(address) || size == 0)
    return {};
  std::shared_ptr<const AllocationTable> allocations = snapshot();
  const Allocation *allocation = allocations->find(address);
  if (allocation && size <= allocation->end() - address)
    return {};
  return (Twine(what) + " of " + Twine(size) + " bytes at 0x" +
          Twine::utohexstr(address) + " is out of bounds: " +
          allocations->describe(address, size))
      .str();
}

void DeviceMemory::updateProtection() {
  bool close = guards > 0 && openers == 0;
  if (close == isClosed)
    return;
  if (arenaUsed)
    mprotect(reinterpret_cast<void *>(arenaBegin), arenaUsed,
             close ? PROT_NONE : PROT_READ | PROT_WRITE);
  isClosed = close;
}

void DeviceMemory::addGuard() {
  std::lock_guard<std::mutex> lock(mutex);
  ++guards;
  updateProtection();
}

void DeviceMemory::removeGuard() {
  std::lock_guard<std::mutex> lock(mutex);
  --guards;
  updateProtection();
}

void DeviceMemory::open() {
  std::lock_guard<std::mutex> lock(mutex);
  ++openers;
  updateProtection();
}

void DeviceMemory::close() {
  std::lock_guard<std::mutex> lock(mutex);
  --openers;
  updateProtection();
}

//===----------------------------------------------------------------------===//
// OpenScope
//===----------------------------------------------------------------------===//

static thread_local int openDepth = 0;

OpenScope::OpenScope() {
  DeviceMemory::get().open();
  ++openDepth;
}

OpenScope::~OpenScope() {
  --openDepth;
  DeviceMemory::get().close();
}

int OpenScope::depth() { return openDepth; }

void OpenScope::unwindTo(int depth) {
  for (; openDepth > depth; --openDepth)
    DeviceMemory::get().close();
}
