//===- ColumnSum.cpp - kernels that sum over rows -------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first kernel adds up chunks of rows, the second one their sums. The order
// of additions is that of `column_sum` whatever the grid is, which rules out
// atomics.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t numThreads = 128;
/// Threads of the second kernel: few columns are to fill many processors.
static constexpr int64_t numSumThreads = 32;
static constexpr unsigned vectorBytes = 16;
/// Loads that are under way together.
static constexpr int64_t rowsAtOnce = 8, chunksAtOnce = 16;

static Type getAccessType(Type dtype, int64_t size) {
  return size == 1 ? dtype : VectorType::get(size, dtype);
}

static Value addF32(KernelBuilder &b, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs);
}

/// A thread has `size` columns of a chunk.
static void emitChunks(KernelBuilder &b, const InputProducer &input,
                       int64_t size) {
  Type type = getAccessType(input.getElementType(), size);
  Value chunks = b.getPointer(input.getNumPointers() + 1);
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value col = b.add(b.mul(tileCol, numThreads * size),
                      b.mul(b.getThread(), size));
    b.ifThen(b.isLess(col, b.getCols()), [&] {
      Value firstRow = b.mul(tileRow, columnSumChunk);
      Value isFull = b.isLess(b.add(firstRow, columnSumChunk - 1), b.getRows());
      Value none = b.zero(getAccessType(b.getF32Type(), size));
      Value sum = b.forLoop(
          columnSumChunk / rowsAtOnce, none,
          [&](Value index, ValueRange carried) {
            SmallVector<InputIndex> indices;
            SmallVector<Value> isInside;
            for (int64_t k = 0; k < rowsAtOnce; ++k) {
              Value row =
                  b.add(b.add(firstRow, b.mul(index, rowsAtOnce)), k);
              indices.push_back({b.add(b.mul(row, b.getCols()), col), row, col});
              isInside.push_back(b.isLess(row, b.getRows()));
            }
            // Zero beyond the tensor leaves a sum as it is, as none is -0.
            Value sum = carried.front();
            for (Value value : b.loadInputs(isFull, isInside, type, indices))
              sum = addF32(b, sum, b.widen(value));
            return SmallVector<Value>{sum};
          })[0];
      Value offset = b.add(b.mul(tileRow, b.getCols()), col);
      constexpr int64_t part = vectorBytes / 4;
      if (size <= part)
        return b.store(sum, chunks, offset);
      for (int64_t first = 0; first < size; first += part)
        b.store(b.slice(sum, first, part), chunks, b.add(offset, first));
    });
  });
}

/// A thread has a column.
static void emitSum(KernelBuilder &b, Type dtype, Value chunks, Value sums) {
  b.forEachTile([&](Value, Value tile) {
    Value col = b.add(b.mul(tile, numSumThreads), b.getThread());
    b.ifThen(b.isLess(col, b.getCols()), [&] {
      Type f32 = b.getF32Type();
      Value numChunks = buildCeilDiv(b, b.getRows(), columnSumChunk);
      auto loop = scf::ForOp::create(b, b.i64(0), numChunks,
                                     b.i64(chunksAtOnce),
                                     ValueRange(b.zero(f32)));
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        SmallVector<Value> values;
        for (int64_t k = 0; k < chunksAtOnce; ++k) {
          Value chunk = b.add(loop.getInductionVar(), k);
          values.push_back(
              b.loadOrZero(b.isLess(chunk, numChunks), chunks, f32,
                           b.add(b.mul(chunk, b.getCols()), col)));
        }
        Value sum = loop.getRegionIterArgs()[0];
        for (Value value : values)
          sum = addF32(b, sum, value);
        scf::YieldOp::create(b, sum);
      }
      Value sum = loop.getResult(0);
      if (!dtype.isF32())
        sum = CastOp::create(b, dtype, sum);
      b.store(sum, sums, col);
    });
  });
}

void te::quant::emitChunkSum(KernelBuilder &b, Value tile, Type dtype,
                             Value first, int64_t pitch, Value chunk, Value col,
                             Value chunks) {
  Value isRow = b.isLess(b.mul(chunk, columnSumChunk), b.getRows());
  b.ifThen(b.both(isRow, b.isLess(col, b.getCols())), [&] {
    Value sum = b.zero(b.getF32Type());
    for (int64_t row = 0; row < columnSumChunk; ++row)
      sum = addF32(b, sum,
                   b.widen(b.load(tile, dtype, b.add(first, row * pitch))));
    b.store(sum, chunks, b.add(b.mul(chunk, b.getCols()), col));
  });
}

/// A stage that adds up the sums of chunks, pointer `sum` + 1, into those of
/// `dtype` at pointer `sum`; also for an empty tensor.
static KernelSpec getTotalSpec(unsigned numPointers, unsigned sum,
                               Type dtype) {
  KernelSpec spec;
  spec.name = ("column_sum_" + getKernelTypeName(dtype)).str();
  spec.pointers.assign(numPointers, {KernelPointer::Unused});
  spec.pointers[sum] = {KernelPointer::Output,
                        dtype.getIntOrFloatBitWidth() / 8};
  spec.pointers[sum + 1] = {KernelPointer::Input, 4};
  spec.threadsPerBlock = numSumThreads;
  // Sums of no rows are zero, and a grid must have a tile.
  spec.runsOnEmpty = true;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value, Value cols) {
    Value one = arith::ConstantIntOp::create(b, 1, 64);
    Value tiles = buildCeilDiv(b, cols, numSumThreads);
    return TileGrid{one, arith::MaxUIOp::create(b, tiles, one)};
  };
  spec.variants = {{1, 1, [=](KernelBuilder &b) {
                      emitSum(b, dtype, b.getPointer(sum + 1),
                              b.getPointer(sum));
                    }}};
  return spec;
}

FailureOr<func::FuncOp> te::quant::makeQuantizeLaunch(
    QuantizeIntoOp op, std::string name,
    function_ref<SmallVector<KernelSpec, 0>()> getStages,
    KernelContext &context) {
  unsigned numPointers = op->getNumOperands();
  Type dtype;
  if (op.getColumnSum()) {
    dtype = getElementTypeOrSelf(op->getOperand(numPointers - 2).getType());
    name += ("_" + getKernelTypeName(dtype)).str();
  }
  if (func::FuncOp launch = context.lookupLaunch(name))
    return launch;
  SmallVector<KernelSpec, 0> stages = getStages();
  if (dtype)
    stages.push_back(getTotalSpec(numPointers, numPointers - 2, dtype));
  return context.makeLaunch(op.getLoc(), name, stages);
}

FailureOr<func::FuncOp> te::quant::emitColumnSum(ColumnSumIntoOp op,
                                                 KernelContext &context) {
  InputProducer input(op);
  Type dtype = input.getElementType();
  Type sumDtype = getElementTypeOrSelf(op.getOuts()[0].getType());
  std::string name =
      ("column_sum_" + getKernelTypeName(dtype) + "_" +
       getKernelTypeName(sumDtype) + input.getNameSuffix())
          .str();
  if (func::FuncOp launch = context.lookupLaunch(name))
    return launch;
  unsigned sums = input.getNumPointers();
  int64_t size = vectorBytes * 8 / dtype.getIntOrFloatBitWidth();

  KernelSpec first;
  first.name = ("column_sum_chunks_" + getKernelTypeName(dtype) +
                input.getNameSuffix())
                   .str();
  first.input = input;
  input.appendPointers(first.pointers);
  first.pointers.push_back({KernelPointer::Unused});
  first.pointers.push_back({KernelPointer::Output, 4, /*isVector=*/true});
  first.threadsPerBlock = numThreads;
  first.getTiles = [size](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildTileGrid(b, rows, cols, columnSumChunk, numThreads * size);
  };
  first.variants = {
      {vectorBytes, size,
       [=](KernelBuilder &b) { emitChunks(b, input, size); }},
      {1, 1, [=](KernelBuilder &b) { emitChunks(b, input, 1); }}};

  KernelSpec second = getTotalSpec(first.pointers.size(), sums, sumDtype);
  return context.makeLaunch(op.getLoc(), name, {first, second});
}
