//===- Collectives.cpp - collectives between threads of this process ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks meet twice in a collective: when all have shown their memory, and when
// all have read it. A rank that does not come, because it has an error or has
// left, is noticed by those that wait; nothing hangs on it.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "ErrorState.h"
#include "Faults.h"
#include "te/Numerics/Formats.h"
#include "te/Runtime/te_runtime.h"

#include "llvm/ADT/Twine.h"

#include <cmath>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

using namespace te::emulator;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

namespace {

/// What a rank brings to a collective.
struct Contribution {
  std::string call;
  uint64_t count = 0;
  int32_t format = -1, reduction = -1;
  const char *source = nullptr;

  bool isSameCall(const Contribution &other) const {
    return call == other.call && count == other.count &&
           format == other.format && reduction == other.reduction;
  }
};

class Communicator {
public:
  explicit Communicator(int64_t size) : contributions(size) {}

  int64_t size() const { return contributions.size(); }

  /// Shows this rank's contribution and waits for the others'. They may be read
  /// until `finish`. Returns a message on failure.
  std::string start(int64_t rank, const Contribution &mine) {
    std::unique_lock<std::mutex> lock(mutex);
    contributions[rank] = mine;
    if (std::string problem = meet(lock); !problem.empty())
      return problem;
    for (int64_t other = 0; other != size(); ++other)
      if (!contributions[other].isSameCall(mine))
        return ("rank " + Twine(other) + " calls " +
                contributions[other].call + " with " +
                Twine(contributions[other].count) + ", rank " + Twine(rank) +
                " " + mine.call + " with " + Twine(mine.count))
            .str();
    return {};
  }

  /// Waits until all ranks have read. Returns a message on failure.
  std::string finish() {
    std::unique_lock<std::mutex> lock(mutex);
    return meet(lock);
  }

  const Contribution &get(int64_t rank) const { return contributions[rank]; }

  /// Makes all calls of other ranks from now on fail.
  void abandon(int64_t rank, const char *reason) {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty())
      failure = ("rank " + Twine(rank) + " " + reason).str();
    condition.notify_all();
  }

private:
  std::string meet(std::unique_lock<std::mutex> &lock) {
    if (!failure.empty())
      return failure;
    uint64_t mine = meeting;
    if (++present == size()) {
      present = 0;
      ++meeting;
      condition.notify_all();
      return {};
    }
    condition.wait(lock, [&] { return meeting != mine || !failure.empty(); });
    return meeting != mine ? std::string() : failure;
  }

  std::mutex mutex;
  std::condition_variable condition;
  std::vector<Contribution> contributions;
  int64_t present = 0;
  /// Number of meetings that have taken place.
  uint64_t meeting = 0;
  std::string failure;
};

struct Membership {
  Communicator *communicator;
  int64_t rank;
};

using Memberships = std::map<std::string, Membership, std::less<>>;

} // namespace

/// The calling thread's groups; the one without a name stands for all others.
static Memberships &getMemberships() {
  static thread_local Memberships memberships;
  return memberships;
}

void *teEmulatorCommunicatorCreate(int64_t size) {
  if (size >= 1)
    return new Communicator(size);
  setError("expected a group of at least 1 rank, but got " + Twine(size));
  return nullptr;
}

void teEmulatorCommunicatorDestroy(void *communicator) {
  delete static_cast<Communicator *>(communicator);
}

void teRuntimeSetGroup(const char *group, int64_t rank, int64_t size,
                       void *communicator) {
  std::string name = group ? group : "";
  Memberships &memberships = getMemberships();
  if (auto old = memberships.find(name); old != memberships.end()) {
    old->second.communicator->abandon(old->second.rank, "has left the group");
    memberships.erase(old);
  }
  if (!communicator)
    return;
  auto *connected = static_cast<Communicator *>(communicator);
  if (size != connected->size() || rank < 0 || rank >= size)
    return setError("group '" + Twine(name) + "': expected a rank of " +
                    Twine(connected->size()) + ", but got rank " +
                    Twine(rank) + " of " + Twine(size));
  memberships[name] = {connected, rank};
}

/// Returns the membership that a call of a program means, or nothing with an
/// error. A rank with an error does not take part: the others must know.
static std::optional<Membership> findMembership(const char *group,
                                                int64_t size) {
  Memberships &memberships = getMemberships();
  auto found = memberships.find(llvm::StringRef(group).str());
  if (found == memberships.end())
    found = memberships.find("");
  if (hasError()) {
    if (found != memberships.end())
      found->second.communicator->abandon(found->second.rank, "has an error");
    return std::nullopt;
  }
  if (found == memberships.end()) {
    setError("no communicator for group '" + Twine(group) + "'");
    return std::nullopt;
  }
  Membership membership = found->second;
  if (membership.communicator->size() == size)
    return membership;
  setError("group '" + Twine(group) + "' has " +
           Twine(membership.communicator->size()) +
           " ranks, but the program was compiled for " + Twine(size));
  membership.communicator->abandon(membership.rank, "has an error");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Runs one collective: `read` is called while the memory of all ranks stands
/// still, `write` when it may change.
template <typename ReadFn, typename WriteFn>
static void runCollective(const char *group, const Membership &membership,
                          const Contribution &mine, ReadFn read,
                          WriteFn write) {
  Communicator &communicator = *membership.communicator;
  std::string problem = communicator.start(membership.rank, mine);
  if (problem.empty()) {
    OpenScope open;
    read(communicator);
    problem = communicator.finish();
    if (problem.empty())
      return write();
  }
  setError(Twine(mine.call) + " in group '" + group + "': " + problem);
  communicator.abandon(membership.rank, "has an error");
}

/// Whether memory of the program is what it says; gives up the membership
/// otherwise.
static bool checkMemory(const Membership &membership, const void *src,
                        uint64_t sourceSize, void *dst,
                        uint64_t destinationSize, const char *call) {
  bool isLegal =
      (sourceSize == 0 ||
       checkRange(src, sourceSize, (std::string(call) + ": read").c_str())) &&
      (destinationSize == 0 ||
       checkRange(dst, destinationSize,
                  (std::string(call) + ": write").c_str()));
  if (!isLegal)
    membership.communicator->abandon(membership.rank, "has an error");
  return isLegal;
}

void teAllGather(const char *group, int64_t size, const void *src, void *dst,
                 uint64_t sizeInBytes, void *stream) {
  std::optional<Membership> membership = findMembership(group, size);
  if (!membership || !checkMemory(*membership, src, sizeInBytes, dst,
                                  size * sizeInBytes, "teAllGather"))
    return;
  Contribution mine;
  mine.call = "teAllGather";
  mine.count = sizeInBytes;
  mine.source = static_cast<const char *>(src);
  std::vector<char> gathered(size * sizeInBytes);
  runCollective(
      group, *membership, mine,
      [&](const Communicator &communicator) {
        for (int64_t rank = 0; rank != size; ++rank)
          if (sizeInBytes != 0)
            memcpy(gathered.data() + rank * sizeInBytes,
                   communicator.get(rank).source, sizeInBytes);
      },
      [&] {
        if (!gathered.empty())
          memcpy(dst, gathered.data(), gathered.size());
      });
}

namespace {
/// An element type of reductions.
struct ElementType {
  te::numerics::Format format;
  unsigned sizeInBytes;
};
} // namespace

static std::optional<ElementType> getElementType(int32_t format) {
  switch (format) {
  case TE_FORMAT_F32:
    return ElementType{te::numerics::Format::F32, 4};
  case TE_FORMAT_F16:
    return ElementType{te::numerics::Format::F16, 2};
  case TE_FORMAT_BF16:
    return ElementType{te::numerics::Format::BF16, 2};
  default:
    return std::nullopt;
  }
}

static float load(ElementType type, const char *source) {
  uint32_t bits = 0;
  memcpy(&bits, source, type.sizeInBytes);
  return te::numerics::decode(type.format, bits);
}

/// Combines `count` elements of each rank from element `first` on into `dst`.
static void reduce(const char *call, const char *group,
                   const Membership &membership, const void *src,
                   uint64_t sourceCount, void *dst, uint64_t first,
                   uint64_t count, int32_t format, int32_t reduction) {
  std::optional<ElementType> type = getElementType(format);
  if (!type || (reduction != TE_SUM && reduction != TE_MAX)) {
    setError(Twine(call) + ": expected f32, bf16 or f16 and a TeReduction, but got " +
             Twine(format) + " and " + Twine(reduction));
    return membership.communicator->abandon(membership.rank, "has an error");
  }
  unsigned elementSize = type->sizeInBytes;
  if (!checkMemory(membership, src, sourceCount * elementSize, dst,
                   count * elementSize, call))
    return;
  Contribution mine;
  mine.call = call;
  mine.count = sourceCount;
  mine.format = format;
  mine.reduction = reduction;
  mine.source = static_cast<const char *>(src);
  std::vector<char> reduced(count * elementSize);
  runCollective(
      group, membership, mine,
      [&](const Communicator &communicator) {
        for (uint64_t index = 0; index != count; ++index) {
          auto get = [&](int64_t rank) {
            return load(*type, communicator.get(rank).source +
                                   (first + index) * elementSize);
          };
          float value = get(0);
          for (int64_t rank = 1; rank != communicator.size(); ++rank)
            value = reduction == TE_SUM ? value + get(rank)
                                        : std::fmax(value, get(rank));
          uint32_t bits = te::numerics::encode(type->format, value);
          memcpy(reduced.data() + index * elementSize, &bits, elementSize);
        }
      },
      [&] {
        if (!reduced.empty())
          memcpy(dst, reduced.data(), reduced.size());
      });
}

void teReduceScatter(const char *group, int64_t size, const void *src,
                     void *dst, uint64_t count, int32_t format,
                     void *stream) {
  if (std::optional<Membership> membership = findMembership(group, size))
    reduce("teReduceScatter", group, *membership, src, count * size, dst,
           membership->rank * count, count, format, TE_SUM);
}

void teAllReduce(const char *group, int64_t size, const void *src, void *dst,
                 uint64_t count, int32_t format, int32_t reduction,
                 void *stream) {
  if (std::optional<Membership> membership = findMembership(group, size))
    reduce("teAllReduce", group, *membership, src, count, dst, 0, count,
           format, reduction);
}
