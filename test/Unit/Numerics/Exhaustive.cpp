//===- Exhaustive.cpp - every f32 pattern through every conversion --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the library's conversions with the reference's on all 2^32 patterns
// and all six targets. Two threads take every other chunk. Exits with 1 if any
// pattern differs.
//
//===----------------------------------------------------------------------===//

#include "te/Numerics/Formats.h"

#include "Reference/Reference.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <thread>

using namespace te::numerics;
namespace reference = te::reference;

namespace {

constexpr uint64_t numPatterns = uint64_t{1} << 32;
constexpr uint64_t chunkSize = uint64_t{1} << 20;
constexpr unsigned numThreads = 2;

/// Compares one conversion over a chunk; returns the number of differences and
/// the first one's pattern.
template <typename Encode>
uint64_t compareChunk(uint64_t begin, Encode encode, reference::DType dtype,
                      uint32_t &first) {
  uint64_t differences = 0;
  for (uint64_t bits = begin; bits < begin + chunkSize; ++bits) {
    float value = fromBits(static_cast<uint32_t>(bits));
    if (encode(value) != reference::encode(dtype, value) && !differences++)
      first = static_cast<uint32_t>(bits);
  }
  return differences;
}

struct Conversion {
  const char *name;
  uint64_t (*compare)(uint64_t begin, uint32_t &first);
};

const Conversion conversions[] = {
    {"e4m3",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeE4M3, reference::DType::E4M3, first);
     }},
    {"e5m2",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeE5M2, reference::DType::E5M2, first);
     }},
    {"e2m1",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeE2M1, reference::DType::E2M1, first);
     }},
    {"e8m0",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeE8M0, reference::DType::E8M0, first);
     }},
    {"bf16",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeBF16, reference::DType::BF16, first);
     }},
    {"f16",
     [](uint64_t begin, uint32_t &first) {
       return compareChunk(begin, encodeF16, reference::DType::F16, first);
     }},
};

} // namespace

int main() {
  std::atomic<uint64_t> differences{0};
  auto work = [&](uint64_t thread) {
    for (uint64_t begin = thread * chunkSize; begin < numPatterns;
         begin += numThreads * chunkSize)
      for (const Conversion &conversion : conversions) {
        uint32_t first = 0;
        if (uint64_t count = conversion.compare(begin, first)) {
          std::fprintf(stderr, "%s: %" PRIu64 " differences from 0x%08x on\n",
                       conversion.name, count, first);
          differences += count;
        }
      }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  std::printf("%" PRIu64 " patterns to %zu formats, %" PRIu64 " differences\n",
              numPatterns, std::size(conversions), differences.load());
  return differences ? 1 : 0;
}
