//===- CollectivesTest.cpp - ranks as threads -----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cmath>
#include <limits>
#include <thread>

using namespace te::emulator::test;

namespace {
class CollectivesTest : public EmulatorTest {
protected:
  /// Runs `body(rank)` as each rank of a group "g" of `size`, and returns the
  /// ranks' errors.
  template <typename Body>
  std::vector<std::string> run(int64_t size, Body body) {
    void *communicator = teEmulatorCommunicatorCreate(size);
    std::vector<std::string> errors(size);
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        teRuntimeSetGroup("g", rank, size, communicator);
        body(rank);
        errors[rank] = getError();
        teRuntimeSetGroup("g", rank, size, nullptr);
      });
    for (std::thread &thread : threads)
      thread.join();
    teEmulatorCommunicatorDestroy(communicator);
    return errors;
  }

  const std::vector<std::string> noErrors(int64_t size) {
    return std::vector<std::string>(size);
  }
};
} // namespace

TEST_F(CollectivesTest, AllGatherFollowsTheRanks) {
  std::vector<std::vector<int>> results(3);
  auto errors = run(3, [&](int rank) {
    Buffer<int> source(std::vector<int>{10 * rank, 10 * rank + 1});
    Buffer<int> gathered(6);
    teAllGather("g", 3, source.data, gathered.data, 2 * sizeof(int), nullptr);
    results[rank] = gathered.read();
  });
  EXPECT_EQ(errors, noErrors(3));
  for (const std::vector<int> &result : results)
    EXPECT_EQ(result, (std::vector<int>{0, 1, 10, 11, 20, 21}));
}

TEST_F(CollectivesTest, ReduceScatterGivesEachRankItsPart) {
  std::vector<std::vector<float>> results(2);
  auto errors = run(2, [&](int rank) {
    Buffer<float> source(std::vector<float>{1, 2, 3, 4.0f * (rank + 1)});
    Buffer<float> part(2);
    teReduceScatter("g", 2, source.data, part.data, 2, TE_FORMAT_F32, nullptr);
    results[rank] = part.read();
  });
  EXPECT_EQ(errors, noErrors(2));
  EXPECT_EQ(results[0], (std::vector<float>{2, 4}));
  EXPECT_EQ(results[1], (std::vector<float>{6, 12}));
}

TEST_F(CollectivesTest, AllReduceInPlaceManyTimes) {
  std::vector<float> results(4);
  auto errors = run(4, [&](int rank) {
    Buffer<float> value(std::vector<float>{rank + 1.0f});
    for (int i = 0; i < 50; ++i)
      teAllReduce("g", 4, value.data, value.data, 1, TE_FORMAT_F32,
                  i == 0 ? TE_SUM : TE_MAX, nullptr);
    results[rank] = value.read().front();
  });
  EXPECT_EQ(errors, noErrors(4));
  EXPECT_EQ(results, std::vector<float>(4, 10.0f));
}

TEST_F(CollectivesTest, SumsOfNarrowTypesAreRoundedOnce) {
  // 256 + 0.75 + 0.75 is 257.5: 258 in bf16 (to even), 256 if rounded at each
  // step.
  std::vector<uint16_t> results(3);
  auto errors = run(3, [&](int rank) {
    Buffer<uint16_t> value(
        std::vector<uint16_t>{uint16_t(rank == 0 ? 0x4380 : 0x3F40)});
    teAllReduce("g", 3, value.data, value.data, 1, TE_FORMAT_BF16, TE_SUM,
                nullptr);
    results[rank] = value.read().front();
  });
  EXPECT_EQ(errors, noErrors(3));
  EXPECT_EQ(results, std::vector<uint16_t>(3, 0x4381));
}

TEST_F(CollectivesTest, MaximumLeavesNaNOut) {
  std::vector<float> results(2);
  auto errors = run(2, [&](int rank) {
    float mine = rank == 0 ? std::numeric_limits<float>::quiet_NaN() : -3.0f;
    Buffer<float> value(std::vector<float>{mine});
    teAllReduce("g", 2, value.data, value.data, 1, TE_FORMAT_F32, TE_MAX,
                nullptr);
    results[rank] = value.read().front();
  });
  EXPECT_EQ(errors, noErrors(2));
  EXPECT_EQ(results, std::vector<float>(2, -3.0f));
}

TEST_F(CollectivesTest, UnknownGroup) {
  Buffer<float> value(std::vector<float>{1});
  teAllReduce("h", 2, value.data, value.data, 1, TE_FORMAT_F32, TE_SUM, nullptr);
  EXPECT_EQ(getError(), "no communicator for group 'h'");
  teRuntimeClearError();
}

TEST_F(CollectivesTest, SizeOfTheProgram) {
  auto errors = run(2, [&](int rank) {
    Buffer<float> value(std::vector<float>{1});
    teAllReduce("g", 4, value.data, value.data, 1, TE_FORMAT_F32, TE_SUM,
                nullptr);
  });
  EXPECT_EQ(errors,
            std::vector<std::string>(
                2, "group 'g' has 2 ranks, but the program was compiled for 4"));
}

/// Nothing waits for a rank that does not come.
TEST_F(CollectivesTest, RankWithAnError) {
  auto errors = run(2, [&](int rank) {
    Buffer<float> value(std::vector<float>{1});
    if (rank == 1)
      teRuntimeSetError("rank 1 failed before");
    teAllReduce("g", 2, value.data, value.data, 1, TE_FORMAT_F32, TE_SUM,
                nullptr);
  });
  EXPECT_EQ(errors[0], "teAllReduce in group 'g': rank 1 has an error");
  EXPECT_EQ(errors[1], "rank 1 failed before");
}

TEST_F(CollectivesTest, RankThatLeaves) {
  auto errors = run(2, [&](int rank) {
    if (rank == 1)
      return;
    Buffer<float> value(std::vector<float>{1});
    teAllReduce("g", 2, value.data, value.data, 1, TE_FORMAT_F32, TE_SUM,
                nullptr);
  });
  EXPECT_EQ(errors[0], "teAllReduce in group 'g': rank 1 has left the group");
  EXPECT_EQ(errors[1], "");
}

TEST_F(CollectivesTest, RanksThatDisagree) {
  auto errors = run(2, [&](int rank) {
    Buffer<float> source(4), result(4);
    if (rank == 0)
      teAllReduce("g", 2, source.data, result.data, 1, TE_FORMAT_F32, TE_SUM,
                  nullptr);
    else
      teAllReduce("g", 2, source.data, result.data, 2, TE_FORMAT_F32, TE_SUM,
                  nullptr);
  });
  EXPECT_EQ(errors[0], "teAllReduce in group 'g': rank 1 calls teAllReduce "
                       "with 2, rank 0 teAllReduce with 1");
  EXPECT_NE(errors[1], "");
}

TEST_F(CollectivesTest, MemoryIsChecked) {
  auto errors = run(2, [&](int rank) {
    Buffer<float> source(2), result(2);
    teAllGather("g", 2, source.data, result.data, 8, nullptr);
  });
  for (const std::string &error : errors)
    EXPECT_TRUE(error.find("teAllGather") == 0) << error;
}
