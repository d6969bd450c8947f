//===- MXFP8.cpp - kernels of MXFP8 ---------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of 128 threads works on tiles of 32 rows by 128 columns: one block of
// 32 in each column, four in each row. The input is read once; both directions
// are made from registers.
//
// Kernels with vectors give each thread a piece of a row, 16 bytes in high
// precision, in every `piece`th row; a warp reads and writes whole sectors. The
// generic kernel gives each thread a column, so that a warp is one block of a
// row; it takes any number of columns and any address.
//
// Elements beyond the tensor count as zero: they change no amax, and the scales
// of blocks that consist of them are zero, which is what padding is.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t blockSize = 32;
static constexpr int64_t tileRows = 32, tileCols = 128;
static constexpr int64_t numThreads = 128, warpSize = 32;
/// Bytes of a piece in high precision.
static constexpr unsigned vectorBytes = 16;
/// Lanes of a warp, as bits to exchange.
static constexpr unsigned allLanes = warpSize - 1;

/// Columnwise data is not transposed: scales are [rows / 32][cols].
static ScaleGeometry getGeometry(bool isRowwise) {
  return {blockSize, isRowwise ? Extent::Cols : Extent::Rows,
          /*blocksFirst=*/!isRowwise};
}

/// Tiles of a tensor; with scales in GEMM order also those of the padding to
/// 128 rows, whose scales are written.
static TileGrid getTiles(ImplicitLocOpBuilder &b, Value rows, Value cols,
                         bool isPadded) {
  if (isPadded)
    rows = arith::MulIOp::create(
        b, buildCeilDiv(b, rows, 128),
        arith::ConstantIntOp::create(b, 128, 64).getResult());
  return buildTileGrid(b, rows, cols, tileRows, tileCols);
}

/// Whether no element of a tile is beyond the tensor.
static Value isFullTile(KernelBuilder &b, Value tileRow, Value tileCol) {
  Value lastRow = b.add(b.mul(tileRow, tileRows), tileRows - 1);
  Value lastCol = b.add(b.mul(tileCol, tileCols), tileCols - 1);
  return b.both(b.isLess(lastRow, b.getRows()), b.isLess(lastCol, b.getCols()));
}

namespace {
/// The place of a thread in kernels with vectors.
struct ThreadPiece {
  ThreadPiece(KernelBuilder &b, Type dtype)
      : size(vectorBytes * 8 / dtype.getIntOrFloatBitWidth()),
        perRow(tileCols / size), numRows(tileRows / size),
        index(b.rem(b.getThread(), perRow)),
        rowInTile(b.div(b.getThread(), perRow)), colInTile(b.mul(index, size)) {
  }

  /// The lanes that share a block of a row, as bits to exchange.
  unsigned getBlockLanes() const { return blockSize / size - 1; }

  /// Columns of a piece, and rows that the block covers at once.
  int64_t size;
  /// Pieces in a row of the tile, and rows of a thread.
  int64_t perRow, numRows;
  Value index, rowInTile, colInTile;
};

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

/// Builds the kernels of one configuration.
class Quantize {
public:
  Quantize(MXFP8Attr quantizer, QuantizeIntoOp op)
      : quantizer(quantizer), input(op), dtype(input.getElementType()),
        fp8(quantizer.getFp8Dtype()), hasNoop(bool(op.getNoop())),
        hasColumnSum(op.getColumnSum()), isRowwise(quantizer.hasRowwise()),
        isColumnwise(quantizer.hasColumnwise()),
        is2D(quantizer.getWith_2dQuantization()),
        isGemmOrder(quantizer.getOptimizeForGemm()) {}

  std::string getName() const;
  KernelSpec getSpec() const;

private:
  /// What the kernel works on; operand order is inputs, noop, outs, of which
  /// the last two are the sum and the sums of chunks.
  struct Tensors {
    Tensors(KernelBuilder &b, const Quantize &config);
    Value noop;
    Value rowData, columnData, chunks;
    std::optional<ScaleTensor> rowScales, columnScales;
  };

  void emitVector(KernelBuilder &b) const;
  void emitGeneric(KernelBuilder &b) const;

  MXFP8Attr quantizer;
  InputProducer input;
  Type dtype, fp8;
  bool hasNoop, hasColumnSum, isRowwise, isColumnwise, is2D, isGemmOrder;
};
} // namespace

std::string Quantize::getName() const {
  std::string name =
      ("quantize_mxfp8_" + getKernelTypeName(fp8) + "_" +
       getKernelTypeName(dtype) + "_" + stringifyUsage(quantizer.getUsage()))
          .str();
  if (is2D)
    name += "_2d";
  if (isGemmOrder)
    name += "_swizzled";
  if (hasNoop)
    name += "_noop";
  if (hasColumnSum)
    name += "_sums";
  return name + input.getNameSuffix().str();
}

KernelSpec Quantize::getSpec() const {
  KernelSpec spec;
  spec.name = getName();
  unsigned bytes = dtype.getIntOrFloatBitWidth() / 8;
  spec.input = input;
  input.appendPointers(spec.pointers);
  if (hasNoop)
    spec.pointers.push_back({KernelPointer::Input, 4});
  for (bool isPresent : {isRowwise, isColumnwise}) {
    if (!isPresent)
      continue;
    spec.pointers.push_back({KernelPointer::Output, 1, /*isVector=*/true});
    spec.pointers.push_back({KernelPointer::Output, 1});
  }
  if (hasColumnSum)
    spec.pointers.append(
        {{KernelPointer::Unused}, {KernelPointer::Output, 4}});
  spec.threadsPerBlock = numThreads;
  bool isPadded = isGemmOrder;
  spec.getTiles = [isPadded](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return getTiles(b, rows, cols, isPadded);
  };
  Quantize config = *this;
  spec.variants = {
      {vectorBytes, vectorBytes / bytes,
       [config](KernelBuilder &b) { config.emitVector(b); }},
      {1, 1, [config](KernelBuilder &b) { config.emitGeneric(b); }}};
  return spec;
}

Quantize::Tensors::Tensors(KernelBuilder &b, const Quantize &config) {
  unsigned next = config.input.getNumPointers();
  if (config.hasNoop)
    noop = b.getPointer(next++);
  if (config.isRowwise) {
    rowData = b.getPointer(next++);
    rowScales.emplace(b, b.getPointer(next++), getGeometry(true),
                      config.isGemmOrder);
  }
  if (config.isColumnwise) {
    columnData = b.getPointer(next++);
    columnScales.emplace(b, b.getPointer(next++), getGeometry(false),
                         config.isGemmOrder);
  }
  if (config.hasColumnSum)
    chunks = b.getPointer(next + 1);
}

namespace {
/// The shared memory of a reduction over the rows of a tile: f32 values of 128
/// columns for each row group, and again for the result. Groups of four columns
/// go to planes that start 16 banks apart, so that neither accesses of whole
/// pieces nor of single columns conflict.
struct ColumnBuffer {
  ColumnBuffer(KernelBuilder &b, const ThreadPiece &piece)
      : b(b), numPlanes(piece.size / 4),
        planeSize(tileCols / numPlanes + (numPlanes > 1 ? 16 : 0)),
        numRows(piece.size),
        memory(b.makeShared(b.getF32Type(),
                            numPlanes * planeSize * (numRows + 1))) {}

  /// The offset of a column, of which the first of four starts a vector.
  Value getOffset(Value row, Value col) {
    Value plane = b.rem(b.div(col, 4), numPlanes);
    Value inPlane = b.add(b.mul(b.div(col, 4 * numPlanes), 4), b.rem(col, 4));
    return b.add(b.mul(row, numPlanes * planeSize),
                 b.add(b.mul(plane, planeSize), inPlane));
  }

  void storePiece(Value piece, Value row, Value col) {
    for (int64_t plane = 0; plane < numPlanes; ++plane)
      b.store(b.slice(piece, 4 * plane, 4), memory,
              getOffset(row, b.add(col, 4 * plane)));
  }

  Value loadPiece(Value row, Value col) {
    auto type = VectorType::get(4, b.getF32Type());
    SmallVector<Value> parts;
    for (int64_t plane = 0; plane < numPlanes; ++plane)
      parts.push_back(
          b.load(memory, type, getOffset(row, b.add(col, 4 * plane))));
    return b.concat(parts);
  }

  KernelBuilder &b;
  int64_t numPlanes, planeSize, numRows;
  Value memory;
};
} // namespace

void Quantize::emitVector(KernelBuilder &b) const {
  Tensors tensors(b, *this);
  ThreadPiece piece(b, dtype);
  auto inputType = VectorType::get(piece.size, dtype);
  Type f32 = b.getF32Type();
  auto splat = [&](Value value) -> Value {
    return vector::BroadcastOp::create(b, VectorType::get(piece.size, f32),
                                       value);
  };
  auto larger = [&](Value lhs, Value rhs) {
    return lhs ? b.max(lhs, rhs) : rhs;
  };
  Value noAmax = b.zero(f32);
  Value t = b.getThread();
  unsigned blockLanes = piece.getBlockLanes();
  Value isBlockLeader =
      b.isEqual(b.rem(piece.index, blockSize / piece.size), 0);

  // What reductions over rows exchange.
  std::optional<ColumnBuffer> columns;
  constexpr int64_t numWarps = numThreads / warpSize;
  constexpr int64_t numBlocks = tileCols / blockSize;
  Value warpAmaxes;
  if (is2D)
    warpAmaxes = b.makeShared(f32, numWarps * numBlocks);
  else if (isColumnwise)
    columns.emplace(b, piece);
  // What sums over rows add, each thread a column of the tile.
  Value summands;
  if (hasColumnSum)
    summands = b.makeShared(dtype, tileRows * tileCols);

  auto emitTile = [&](Value tileRow, Value tileCol) {
    Value firstCol = b.mul(tileCol, tileCols);
    Value col = b.add(firstCol, piece.colInTile);
    Value isCol = b.isLess(col, b.getCols());
    Value firstRow = b.add(b.mul(tileRow, tileRows), piece.rowInTile);
    Value firstOffset = b.add(b.mul(firstRow, b.getCols()), col);
    Value rowStep = b.mul(b.getCols(), piece.size);

    SmallVector<Value> rows, offsets, isInside, magnitudes;
    SmallVector<InputIndex> indices;
    for (int64_t k = 0; k < piece.numRows; ++k) {
      rows.push_back(b.add(firstRow, k * piece.size));
      offsets.push_back(k == 0 ? firstOffset : b.add(offsets.back(), rowStep));
      isInside.push_back(b.both(isCol, b.isLess(rows[k], b.getRows())));
      indices.push_back({offsets[k], rows[k], col});
    }
    SmallVector<Value> values = b.loadInputs(isFullTile(b, tileRow, tileCol),
                                             isInside, inputType, indices);
    if (hasColumnSum)
      for (int64_t k = 0; k < piece.numRows; ++k) {
        Value row = b.add(piece.rowInTile, k * piece.size);
        b.store(values[k], summands,
                b.add(b.mul(row, tileCols), piece.colInTile));
      }
    // Between barriers: before it all is stored, after it overwritten.
    auto sumColumns = [&] {
      if (hasColumnSum)
        emitChunkSum(b, summands, dtype, t, tileCols, tileRow,
                     b.add(b.mul(tileCol, tileCols), t), tensors.chunks);
    };
    Value columnMagnitudes;
    for (Value &value : values) {
      value = b.widen(value);
      magnitudes.push_back(b.abs(value));
      if (is2D || isColumnwise)
        columnMagnitudes = larger(columnMagnitudes, magnitudes.back());
    }
    auto storeData = [&](Value data, Value bytes, int64_t k) {
      b.ifThen(isInside[k], [&] { b.store(bytes, data, offsets[k]); });
    };
    Value rowBlock = b.div(col, blockSize);
    auto storeRowScales = [&](ArrayRef<Value> scales) {
      b.ifThen(isBlockLeader, [&] {
        for (auto [scale, row] : llvm::zip_equal(scales, rows))
          tensors.rowScales->store(scale, row, rowBlock);
      });
    };
    // Scales of columns are stored by the threads one column each.
    Value threadCol = b.add(firstCol, t);

    if (is2D) {
      unsigned rowLanes = warpSize / piece.perRow - 1;
      Value warpAmax =
          b.shuffleMax(b.max(b.reduceMax(columnMagnitudes), noAmax),
                       blockLanes | rowLanes * piece.perRow);
      Value block = b.div(piece.colInTile, blockSize);
      Value isFirstRow = b.isLess(b.rem(t, warpSize), b.i64(piece.perRow));
      b.ifThen(b.both(isBlockLeader, isFirstRow), [&] {
        Value warp = b.div(t, warpSize);
        b.store(warpAmax, warpAmaxes, b.add(b.mul(warp, numBlocks), block));
      });
      b.barrier();
      auto loadScale = [&](Value block) {
        Value amax = noAmax;
        for (int64_t warp = 0; warp < numWarps; ++warp)
          amax = b.max(amax,
                       b.load(warpAmaxes, f32, b.add(block, warp * numBlocks)));
        return buildMXFP8Scale(b, amax, fp8);
      };
      Value scale = loadScale(block);
      Value columnScale =
          isColumnwise ? loadScale(b.div(t, blockSize)) : Value();
      sumColumns();
      // The next tile overwrites what others may still read.
      b.barrier();
      Value reciprocal = splat(buildE8M0Reciprocal(b, scale));
      for (int64_t k = 0; k < piece.numRows; ++k) {
        Value bytes = buildScaledFP8(b, values[k], reciprocal, fp8);
        if (isRowwise)
          storeData(tensors.rowData, bytes, k);
        if (isColumnwise)
          storeData(tensors.columnData, bytes, k);
      }
      if (isRowwise)
        storeRowScales(SmallVector<Value>(piece.numRows, scale));
      if (isColumnwise)
        tensors.columnScales->store(columnScale, threadCol, tileRow);
      return;
    }

    // The rows are done while the columns wait for other threads.
    if (isColumnwise)
      columns->storePiece(columnMagnitudes, piece.rowInTile, piece.colInTile);
    if (isRowwise) {
      // Step by step over all rows: one row's latencies hide another's.
      SmallVector<Value> amaxes, scales, bytes;
      for (Value magnitude : magnitudes)
        amaxes.push_back(
            b.shuffleMax(b.max(b.reduceMax(magnitude), noAmax), blockLanes));
      for (auto [amax, value] : llvm::zip_equal(amaxes, values)) {
        scales.push_back(buildMXFP8Scale(b, amax, fp8));
        Value reciprocal = splat(buildE8M0Reciprocal(b, scales.back()));
        bytes.push_back(buildScaledFP8(b, value, reciprocal, fp8));
      }
      for (int64_t k = 0; k < piece.numRows; ++k)
        storeData(tensors.rowData, bytes[k], k);
      storeRowScales(scales);
    }
    if (hasColumnSum && !isColumnwise) {
      b.barrier();
      sumColumns();
      b.barrier();
    }
    if (isColumnwise) {
      b.barrier();
      sumColumns();
      Value amax = noAmax;
      for (int64_t row = 0; row < columns->numRows; ++row)
        amax = b.max(amax, b.load(columns->memory, f32,
                                  columns->getOffset(b.i64(row), t)));
      Value scale = buildMXFP8Scale(b, amax, fp8);
      tensors.columnScales->store(scale, threadCol, tileRow);
      Value resultRow = b.i64(columns->numRows);
      b.store(buildE8M0Reciprocal(b, scale), columns->memory,
              columns->getOffset(resultRow, t));
      b.barrier();
      Value reciprocals = columns->loadPiece(resultRow, piece.colInTile);
      for (int64_t k = 0; k < piece.numRows; ++k)
        storeData(tensors.columnData,
                  buildScaledFP8(b, values[k], reciprocals, fp8), k);
    }
  };
  b.unlessNoop(tensors.noop, [&] { b.forEachTile(emitTile); });
}

void Quantize::emitGeneric(KernelBuilder &b) const {
  Tensors tensors(b, *this);
  Type f32 = b.getF32Type();
  Value t = b.getThread();
  Value noAmax = b.zero(f32);
  Value isRowLeader = b.isEqual(b.rem(t, warpSize), 0);
  // A second pass reads what the first one kept, each thread its own column.
  Value kept;
  if (isColumnwise || is2D || hasColumnSum)
    kept = b.makeShared(dtype, tileRows * tileCols);
  auto getKeptOffset = [&](Value row) {
    return b.add(b.mul(row, tileCols), t);
  };

  auto emitTile = [&](Value tileRow, Value tileCol) {
    Value col = b.add(b.mul(tileCol, tileCols), t);
    Value isCol = b.isLess(col, b.getCols());
    Value rowBlock = b.div(col, blockSize);
    Value firstRow = b.mul(tileRow, tileRows);
    auto storeData = [&](Value data, Value byte, Value row) {
      Value isInside = b.both(isCol, b.isLess(row, b.getRows()));
      b.ifThen(isInside, [&] {
        b.store(byte, data, b.add(b.mul(row, b.getCols()), col));
      });
    };
    auto storeRowScale = [&](Value scale, Value row) {
      b.ifThen(isRowLeader,
               [&] { tensors.rowScales->store(scale, row, rowBlock); });
    };

    Value columnAmax =
        b.forLoop(tileRows, noAmax, [&](Value index, ValueRange carried) {
          Value row = b.add(firstRow, index);
          Value isInside = b.both(isCol, b.isLess(row, b.getRows()));
          Value raw = b.loadInputOrZero(
              isInside, dtype, {b.add(b.mul(row, b.getCols()), col), row, col});
          if (kept)
            b.store(raw, kept, getKeptOffset(index));
          Value value = b.widen(raw);
          Value magnitude = b.abs(value);
          if (isRowwise && !is2D) {
            Value amax = b.shuffleMax(b.max(magnitude, noAmax), allLanes);
            Value scale = buildMXFP8Scale(b, amax, fp8);
            Value reciprocal = buildE8M0Reciprocal(b, scale);
            storeData(tensors.rowData,
                      buildScaledFP8(b, value, reciprocal, fp8), row);
            storeRowScale(scale, row);
          }
          return SmallVector<Value>{b.max(carried.front(), magnitude)};
        })[0];
    if (hasColumnSum)
      emitChunkSum(b, kept, dtype, t, tileCols, tileRow, col, tensors.chunks);
    if (!isColumnwise && !is2D)
      return;

    Value amax = is2D ? b.shuffleMax(columnAmax, allLanes) : columnAmax;
    Value scale = buildMXFP8Scale(b, amax, fp8);
    Value reciprocal = buildE8M0Reciprocal(b, scale);
    b.forLoop(tileRows, {}, [&](Value index, ValueRange) {
      Value row = b.add(firstRow, index);
      Value value = b.widen(b.load(kept, dtype, getKeptOffset(index)));
      Value byte = buildScaledFP8(b, value, reciprocal, fp8);
      if (isRowwise && is2D) {
        storeData(tensors.rowData, byte, row);
        storeRowScale(scale, row);
      }
      if (isColumnwise)
        storeData(tensors.columnData, byte, row);
      return SmallVector<Value>();
    });
    if (isColumnwise)
      tensors.columnScales->store(scale, col, tileRow);
  };
  b.unlessNoop(tensors.noop, [&] { b.forEachTile(emitTile); });
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

namespace {
/// Builds the kernels of one configuration: the rowwise representation is read
/// if it is there.
class Dequantize {
public:
  Dequantize(MXFP8Attr quantizer, Type dtype)
      : quantizer(quantizer), dtype(dtype), fp8(quantizer.getFp8Dtype()),
        isRowwise(quantizer.hasRowwise()),
        isGemmOrder(quantizer.getOptimizeForGemm()) {}

  KernelSpec getSpec() const;

private:
  void emitVector(KernelBuilder &b) const;
  void emitGeneric(KernelBuilder &b) const;

  /// Operand order is data and scales of each direction, output.
  unsigned getOutputIndex() const {
    return quantizer.getUsage() == Usage::Both ? 4 : 2;
  }
  ScaleTensor getScales(KernelBuilder &b) const {
    return ScaleTensor(b, b.getPointer(1), getGeometry(isRowwise), isGemmOrder);
  }

  MXFP8Attr quantizer;
  Type dtype, fp8;
  bool isRowwise, isGemmOrder;
};
} // namespace

KernelSpec Dequantize::getSpec() const {
  auto getName = [&](Usage usage) {
    return ("dequantize_mxfp8_" + getKernelTypeName(fp8) + "_" +
            getKernelTypeName(dtype) + "_" + stringifyUsage(usage) +
            (isGemmOrder ? "_swizzled" : ""))
        .str();
  };
  KernelSpec spec;
  spec.name = getName(isRowwise ? Usage::Rowwise : Usage::Columnwise);
  spec.launchName = getName(quantizer.getUsage());
  unsigned bytes = dtype.getIntOrFloatBitWidth() / 8;
  spec.pointers = {{KernelPointer::Input, 1, /*isVector=*/true},
                   {KernelPointer::Input, 1, /*isVector=*/!isRowwise}};
  if (quantizer.getUsage() == Usage::Both)
    spec.pointers.append(2, {KernelPointer::Unused});
  spec.pointers.push_back({KernelPointer::Output, bytes, /*isVector=*/true});
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return getTiles(b, rows, cols, /*isPadded=*/false);
  };
  Dequantize config = *this;
  spec.variants = {
      {vectorBytes, vectorBytes / bytes,
       [config](KernelBuilder &b) { config.emitVector(b); }},
      {1, 1, [config](KernelBuilder &b) { config.emitGeneric(b); }}};
  return spec;
}

void Dequantize::emitVector(KernelBuilder &b) const {
  Value data = b.getPointer(0), output = b.getPointer(getOutputIndex());
  ScaleTensor scales = getScales(b);
  ThreadPiece piece(b, dtype);
  auto bytesType = VectorType::get(piece.size, b.getI8Type());
  auto f32Type = VectorType::get(piece.size, b.getF32Type());
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value col = b.add(b.mul(tileCol, tileCols), piece.colInTile);
    Value isCol = b.isLess(col, b.getCols());
    Value firstRow = b.add(b.mul(tileRow, tileRows), piece.rowInTile);
    Value firstOffset = b.add(b.mul(firstRow, b.getCols()), col);
    Value rowStep = b.mul(b.getCols(), piece.size);
    Value rowBlock = b.div(col, blockSize);

    SmallVector<Value> offsets, scaleOffsets, isInside;
    for (int64_t k = 0; k < piece.numRows; ++k) {
      Value row = b.add(firstRow, k * piece.size);
      offsets.push_back(k == 0 ? firstOffset : b.add(offsets.back(), rowStep));
      isInside.push_back(b.both(isCol, b.isLess(row, b.getRows())));
      if (isRowwise)
        scaleOffsets.push_back(scales.getOffset(row, rowBlock));
    }
    Value isFull = isFullTile(b, tileRow, tileCol);
    SmallVector<Value> bytes =
        b.loadAll(isFull, isInside, data, bytesType, offsets);
    SmallVector<Value> codes;
    if (isRowwise)
      codes = b.loadAll(isFull, isInside, scales.getPointer(), b.getI8Type(),
                        scaleOffsets);
    // A piece's columns have the same scales in all rows of the tile.
    Value columnScales;
    if (!isRowwise)
      columnScales = buildE8M0Value(
          b, b.ifElse(
                 isCol, bytesType,
                 [&] { return scales.loadAlongI(col, tileRow, piece.size); },
                 [&] { return b.zero(bytesType); }));
    for (int64_t k = 0; k < piece.numRows; ++k) {
      Value scale = columnScales;
      if (isRowwise)
        scale = vector::BroadcastOp::create(b, f32Type,
                                            buildE8M0Value(b, codes[k]));
      Value values = buildScaledValue(b, bytes[k], fp8, scale, dtype);
      b.ifThen(isInside[k], [&] { b.store(values, output, offsets[k]); });
    }
  });
}

void Dequantize::emitGeneric(KernelBuilder &b) const {
  Value data = b.getPointer(0), output = b.getPointer(getOutputIndex());
  ScaleTensor scales = getScales(b);
  Value t = b.getThread();
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value col = b.add(b.mul(tileCol, tileCols), t);
    Value isCol = b.isLess(col, b.getCols());
    Value firstRow = b.mul(tileRow, tileRows);
    b.forLoop(tileRows, {}, [&](Value index, ValueRange) {
      Value row = b.add(firstRow, index);
      b.ifThen(b.both(isCol, b.isLess(row, b.getRows())), [&] {
        Value code = isRowwise ? scales.load(row, b.div(col, blockSize))
                               : scales.load(col, tileRow);
        Value offset = b.add(b.mul(row, b.getCols()), col);
        Value byte = b.load(data, b.getI8Type(), offset);
        b.store(buildScaledValue(b, byte, fp8, buildE8M0Value(b, code), dtype),
                output, offset);
      });
      return SmallVector<Value>();
    });
  });
}

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

namespace {
struct MXFP8Kernels
    : KernelEmitterInterface::ExternalModel<MXFP8Kernels, MXFP8Attr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into", "swizzle_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    Quantize config(cast<MXFP8Attr>(attr), op);
    return makeQuantizeLaunch(
        op, config.getName(),
        [&] { return SmallVector<KernelSpec, 0>{config.getSpec()}; }, context);
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    Type dtype = getElementTypeOrSelf(op.getOuts().getType());
    KernelSpec spec = Dequantize(cast<MXFP8Attr>(attr), dtype).getSpec();
    if (func::FuncOp launch = context.lookupLaunch(spec.launchName))
      return launch;
    return context.makeLaunch(op.getLoc(), spec);
  }

  FailureOr<func::FuncOp> emitSwizzle(Attribute attr, SwizzleIntoOp op,
                                      KernelContext &context) const {
    return emitScaleSwizzle(op, cast<QuantizerAttrInterface>(attr),
                            getGeometry(true), getGeometry(false), context);
  }
};
} // namespace

void te::quant::attachMXFP8Kernels(MLIRContext *context) {
  MXFP8Attr::attachInterface<MXFP8Kernels>(*context);
}
