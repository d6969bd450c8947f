//===- NVFP4RandomBits.cpp - which random bits round which values ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NVFP4RandomBits.h"
#include "NVFP4.h"
#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t blockSize = nvfp4::blockSize;
static constexpr int64_t chunkSize = 128, warpSize = 32;
/// Threads of a chunk.
static constexpr int64_t tunedThreads = 128, fallbackThreads = 256;
/// What both extents are multiples of where a tuned kernel runs.
static constexpr int64_t tunedMultiple = 32;

NVFP4RandomBits::NVFP4RandomBits(KernelBuilder &b, Value seed, Value offset,
                                 const NVFP4RandomOrder &order)
    : b(b), seed(seed), offset(offset), order(order),
      chunksPerRow(buildCeilDiv(b, order.cols, chunkSize)) {
  bool isRowwiseMade = order.isRowwise || order.isBoth;
  if (!order.isBF16 || !(isRowwiseMade || order.is2D))
    return;
  Value bits = arith::OrIOp::create(b, order.rows, order.cols);
  isTuned = b.isEqual(b.rem(bits, tunedMultiple), 0);
}

Value NVFP4RandomBits::isInUpperHalfWarp(Value thread) const {
  return b.isEqual(b.rem(b.div(thread, warpSize / 2), 2), 1);
}

/// Stages of 64x64. In each, a thread makes two blocks of each direction that
/// the kernel makes, but leaves the draws of columns unused if it makes none.
NVFP4RandomBits::Draw NVFP4RandomBits::getTuned1D(Value row, Value col) const {
  constexpr int64_t stageSize = 64;
  Value stage = b.add(b.mul(b.div(row, stageSize), 2), b.div(col, stageSize));
  row = b.rem(row, stageSize);
  col = b.rem(col, stageSize);
  if (order.isRowwise) {
    Value thread = b.add(b.mul(b.rem(row, 32), 4), b.div(col, blockSize));
    Value number = b.add(b.mul(stage, order.isBoth ? 4 : 2), b.div(row, 32));
    return {thread, number, isInUpperHalfWarp(thread)};
  }
  // Threads of a warp take the columns in pairs, warps the four blocks of a
  // column: warp (block - lane / 2) mod 4, where -1 is as good as 3.
  Value lane = b.div(col, 2);
  Value warp = b.rem(b.add(b.div(row, blockSize), b.mul(b.div(lane, 2), 3)), 4);
  return {b.add(b.mul(warp, warpSize), lane),
          b.add(b.mul(stage, 4), b.add(b.rem(col, 2), 2)), Value()};
}

/// Stages of 32 rows: the columns first, two blocks a thread, then the rows.
NVFP4RandomBits::Draw NVFP4RandomBits::getTuned2D(Value row, Value col) const {
  constexpr int64_t stageRows = 32, drawsPerDirection = 2;
  int64_t drawsPerStage = drawsPerDirection * (order.isBoth ? 2 : 1);
  Value number = b.add(b.mul(b.div(row, stageRows), drawsPerStage),
                       b.div(b.rem(row, stageRows), blockSize));
  if (!order.isRowwise)
    return {col, number, Value()};
  if (order.isBoth)
    number = b.add(number, drawsPerDirection);
  Value thread = b.add(b.mul(b.rem(row, blockSize), chunkSize / blockSize),
                       b.div(col, blockSize));
  return {thread, number, isInUpperHalfWarp(thread)};
}

/// The rows first, four blocks a thread, then the columns.
NVFP4RandomBits::Draw NVFP4RandomBits::getFallback(Value row, Value col) const {
  constexpr int64_t lines = fallbackThreads / (chunkSize / blockSize);
  auto getThread = [&](Value line, Value position) {
    return b.add(b.mul(b.rem(line, lines), chunkSize / blockSize),
                 b.div(position, blockSize));
  };
  if (order.isRowwise)
    return {getThread(row, col), b.div(row, lines), Value()};
  // A thread takes columns in pairs.
  Value pair = b.div(col, 2);
  Value number = b.add(b.mul(b.div(pair, lines), 2), b.rem(col, 2));
  if (order.isBoth)
    number = b.add(number, chunkSize / lines);
  return {getThread(pair, row), number, Value()};
}

Value NVFP4RandomBits::get(Value line, Value block) const {
  Value position = b.mul(block, blockSize);
  Value row = order.isRowwise ? line : position;
  Value col = order.isRowwise ? position : line;
  Value chunk =
      b.add(b.mul(b.div(row, chunkSize), chunksPerRow), b.div(col, chunkSize));
  row = b.rem(row, chunkSize);
  col = b.rem(col, chunkSize);
  auto getSubsequence = [&](Value thread, int64_t numThreads) {
    return b.add(b.mul(chunk, numThreads), thread);
  };

  Draw draw = getFallback(row, col);
  Value subsequence = getSubsequence(draw.thread, fallbackThreads);
  Value isSwapped;
  if (isTuned) {
    Draw tuned = order.is2D ? getTuned2D(row, col) : getTuned1D(row, col);
    subsequence = arith::SelectOp::create(
        b, isTuned, getSubsequence(tuned.thread, tunedThreads), subsequence);
    draw.number =
        arith::SelectOp::create(b, isTuned, tuned.number, draw.number);
    if (tuned.isSwapped)
      isSwapped = b.both(isTuned, tuned.isSwapped);
  }

  std::array<Value, 4> words =
      buildPhilox4x32(b, seed, subsequence, b.add(offset, draw.number));
  SmallVector<Value> inOrder(words.begin(), words.end());
  if (isSwapped)
    for (unsigned i = 0; i < words.size(); ++i)
      inOrder[i] = arith::SelectOp::create(
          b, isSwapped, words[(i + 2) % words.size()], words[i]);
  auto wordsType = VectorType::get(words.size(), b.getI32Type());
  return vector::BitCastOp::create(
      b, VectorType::get(blockSize, b.getI8Type()),
      vector::FromElementsOp::create(b, wordsType, inOrder).getResult());
}
