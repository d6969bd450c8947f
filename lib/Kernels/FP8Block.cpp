//===- FP8Block.cpp - kernels of FP8 block scaling ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of 256 threads works on tiles of 128x128: one scale of 128x128
// blocks, or 128 scales of 1x128 blocks in each direction. The input is read
// once and stays in registers; both directions are made from there.
//
// A thread has 64 elements of a tile: some columns, 16 bytes of a row in high
// precision, in some rows that follow each other. It thus has runs of bytes
// along rows and, transposed in registers, along columns. Those it puts into
// shared memory, from where whole columns go to the columnwise tensor.
//
// Kernels with vectors need rows and, where there is columnwise data, columns
// that start at multiples of 16 bytes. The generic kernel works alike, but
// accesses single elements; it takes any extents and any address.
//
// Elements beyond the tensor count as zero: they change no amax.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t tileSize = 128;
static constexpr int64_t numThreads = 256, warpSize = 32;
static constexpr int64_t numWarps = numThreads / warpSize;
/// Rows of the tile that a warp works on.
static constexpr int64_t warpRows = tileSize / numWarps;
/// Bytes of a vector access.
static constexpr unsigned vectorBytes = 16;
/// Lanes of a warp, as bits to exchange.
static constexpr unsigned allLanes = warpSize - 1;

/// Columns of a thread: 16 bytes in high precision.
static int64_t getPartSize(Type dtype) {
  return vectorBytes * 8 / dtype.getIntOrFloatBitWidth();
}

static TileGrid getTiles(ImplicitLocOpBuilder &b, Value rows, Value cols) {
  return buildTileGrid(b, rows, cols, tileSize, tileSize);
}

static Value select(KernelBuilder &b, Value condition, Value lhs, Value rhs) {
  return arith::SelectOp::create(b, condition, lhs, rhs);
}

static Value extract(KernelBuilder &b, Value vector, int64_t index) {
  return vector::ExtractOp::create(b, vector, index);
}

static Value fromElements(KernelBuilder &b, ArrayRef<Value> elements) {
  auto type = VectorType::get(elements.size(), elements.front().getType());
  return vector::FromElementsOp::create(b, type, elements);
}

/// The largest elements of vectors, element by element.
static Value maxOf(KernelBuilder &b, ArrayRef<Value> vectors) {
  Value result = vectors.front();
  for (Value vector : vectors.drop_front())
    result = b.max(result, vector);
  return result;
}

/// Transposes 4x4 bytes, given and returned as four vectors of four.
static SmallVector<Value> transpose4x4(KernelBuilder &b,
                                       ArrayRef<Value> vectors) {
  auto shuffle = [&](Value lhs, Value rhs, ArrayRef<int64_t> mask) -> Value {
    return vector::ShuffleOp::create(b, lhs, rhs, mask);
  };
  SmallVector<Value> result;
  for (int64_t i : {0, 2}) {
    // Elements i and i + 1 of all vectors.
    int64_t pairs[] = {i, i + 4, i + 1, i + 5};
    Value first = shuffle(vectors[0], vectors[1], pairs);
    Value second = shuffle(vectors[2], vectors[3], pairs);
    result.push_back(shuffle(first, second, {0, 1, 4, 5}));
    result.push_back(shuffle(first, second, {2, 3, 6, 7}));
  }
  return result;
}

namespace {
/// The part of a tile that a thread works on: `size` columns in each of
/// `numRows` rows. With vectors the columns follow each other. Without, those
/// of neighbouring lanes do, so that a warp accesses runs of elements.
struct ThreadPart {
  ThreadPart(KernelBuilder &b, int64_t size, bool isVector)
      : size(size), perRow(tileSize / size),
        numRows(warpRows * perRow / warpSize), isVector(isVector),
        lane(b.rem(b.getThread(), warpSize)), index(b.rem(lane, perRow)),
        group(b.div(b.getThread(), perRow)), firstRow(b.mul(group, numRows)) {}

  /// The column in the tile of element `number` in the part `index` of a row.
  Value getCol(KernelBuilder &b, Value index, Value number) const {
    return isVector ? b.add(b.mul(index, size), number)
                    : b.add(index, b.mul(number, perRow));
  }
  Value getCol(KernelBuilder &b, int64_t number) const {
    return getCol(b, index, b.i64(number));
  }
  /// The index of the part that has a column.
  Value getIndexOf(KernelBuilder &b, Value col) const {
    return isVector ? b.div(col, size) : b.rem(col, perRow);
  }
  /// Parts in a column of the tile.
  int64_t getNumGroups() const { return tileSize / numRows; }

  int64_t size;
  /// Parts in a row of the tile.
  int64_t perRow;
  int64_t numRows;
  bool isVector;
  /// The part's index in its row, the number of its row group.
  Value lane, index, group, firstRow;
};

/// A tile of bytes in shared memory, column by column. A slot holds the bytes
/// that a part has in a column. The slots of a column are permuted by the index
/// of the part, so that neither accesses to slots nor to columns conflict.
class TransposedTile {
public:
  TransposedTile(KernelBuilder &b, const ThreadPart &part)
      : b(b), part(part),
        memory(b.makeShared(b.getI8Type(), tileSize * tileSize)) {}

  /// Stores the bytes of the thread's part, a vector for each row.
  void storePart(ArrayRef<Value> rows);
  SmallVector<Value> loadPart();

  /// What threads move to and from tensors at once: a byte or, with vectors, 16
  /// of a column, as i32.
  Type getPieceType() const {
    if (part.isVector)
      return VectorType::get(vectorBytes / 4, b.getI32Type());
    return b.getI8Type();
  }
  Value loadPiece(Value col, Value row);
  void storePiece(Value piece, Value col, Value row);

private:
  Value getOffset(Value col, Value row);
  /// The address of a slot of the thread.
  Value getSlot(int64_t number) {
    Value offset = getOffset(part.getCol(b, number), part.firstRow);
    return b.getAddress(memory, b.getI8Type(), offset);
  }
  Value getPiece(Value col, Value row);
  /// Two slots in 16 bytes may have changed places.
  Value restoreOrder(Value piece, Value col, Value row);

  KernelBuilder &b;
  const ThreadPart &part;
  Value memory;
};

/// One tile of a tensor as a thread sees it.
class Tile {
public:
  Tile(KernelBuilder &b, const ThreadPart &part, Value tileRow, Value tileCol);

  /// The thread's part, a vector for each row, zero beyond the tensor.
  SmallVector<Value> load(Value tensor, Type elementType);
  /// The same of the logical input.
  SmallVector<Value> loadInput(Type elementType);
  void store(ArrayRef<Value> vectors, Value tensor);

  /// Bytes to and from a tensor of cols by rows, all threads together.
  void storeTransposed(TransposedTile &bytes, Value tensor);
  void loadTransposed(TransposedTile &bytes, Value tensor);

  /// The scales of the part's columns, of which the tile's start at `offset`.
  Value loadColumnScales(Value scales, Value offset);

  Value getRow(int64_t k) const { return rows[k]; }
  /// i1: whether row or column `inTile` of the tile is in the tensor.
  Value isRow(Value inTile) {
    return b.isLess(b.add(firstRow, inTile), b.getRows());
  }
  Value isCol(Value inTile) {
    return b.isLess(b.add(firstCol, inTile), b.getCols());
  }

private:
  /// Without vectors: the part's elements, zero beyond the tensor, from one load
  /// each in the tensor.
  SmallVector<Value> loadElements(
      Type elementType, function_ref<Value(const InputIndex &index)> load);
  /// With vectors: where they start, and whether they are in the tensor.
  void getVectors(SmallVectorImpl<InputIndex> &indices,
                  SmallVectorImpl<Value> &isInside);
  /// i1: whether the whole tile is in the tensor.
  Value isFull() {
    Value last = b.i64(tileSize - 1);
    return b.both(isRow(last), isCol(last));
  }

  /// Calls `body` for each access of the thread to transposed bytes: column and
  /// row in the tile, whether they are in the tensor, and the offset there.
  void forEachTransposed(
      function_ref<void(Value col, Value row, Value isInside, Value offset)>
          body);
  /// `index`, or the last one if it is beyond.
  Value clamp(Value index, Value extent) {
    return arith::MinUIOp::create(b, index, b.add(extent, -1));
  }

  KernelBuilder &b;
  const ThreadPart &part;
  Value firstRow, firstCol;
  /// The part's rows and columns in the tensor, and whether they are inside.
  /// With vectors the first column stands for all.
  SmallVector<Value> rows, isRowInside, cols, isColInside;
};

/// One tensor of f32 scales in a kernel (numerics: 3.2).
class BlockScales {
public:
  BlockScales(KernelBuilder &b, Value pointer, bool isRowwise, bool is2D)
      : b(b), pointer(pointer), isRowwise(isRowwise), is2D(is2D) {
    Value extent = isRowwise == is2D ? b.getCols() : b.getRows();
    if (is2D)
      extent = buildCeilDiv(b, extent, tileSize);
    pitch = b.mul(buildCeilDiv(b, extent, 4), 4);
  }

  /// The offset of the scale of a tile, or of the first of its 128.
  Value getOffset(Value tileRow, Value tileCol) {
    Value slow = isRowwise == is2D ? tileRow : tileCol;
    Value fast = isRowwise == is2D ? tileCol : tileRow;
    return b.add(b.mul(slow, pitch), is2D ? fast : b.mul(fast, tileSize));
  }
  Value load(Value offset) { return b.load(pointer, b.getF32Type(), offset); }
  void store(Value scale, Value offset) { b.store(scale, pointer, offset); }
  Value getPointer() const { return pointer; }

private:
  KernelBuilder &b;
  Value pointer;
  bool isRowwise, is2D;
  Value pitch;
};
} // namespace

//===----------------------------------------------------------------------===//
// TransposedTile
//===----------------------------------------------------------------------===//

Value TransposedTile::getOffset(Value col, Value row) {
  int64_t numSlots = tileSize / part.numRows;
  Value key = b.rem(part.getIndexOf(b, col), numSlots);
  Value slot = arith::XOrIOp::create(b, b.div(row, part.numRows), key);
  return b.add(b.add(b.mul(col, tileSize), b.mul(slot, part.numRows)),
               b.rem(row, part.numRows));
}

void TransposedTile::storePart(ArrayRef<Value> rows) {
  auto wordType = VectorType::get(1, b.getI32Type());
  for (int64_t col = 0; col < part.size; col += 4) {
    SmallVector<Value> columns[4];
    for (int64_t row = 0; row < part.numRows; row += 4) {
      SmallVector<Value> block;
      for (int64_t i = 0; i < 4; ++i)
        block.push_back(b.slice(rows[row + i], col, 4));
      for (auto [column, bytes] : llvm::zip(columns, transpose4x4(b, block)))
        column.push_back(
            extract(b, vector::BitCastOp::create(b, wordType, bytes), 0));
    }
    for (auto [i, column] : llvm::enumerate(columns))
      b.store(fromElements(b, column), getSlot(col + i), b.i64(0));
  }
}

SmallVector<Value> TransposedTile::loadPart() {
  auto slotType = VectorType::get(part.numRows / 4, b.getI32Type());
  auto bytesType = VectorType::get(4, b.getI8Type());
  SmallVector<SmallVector<Value>> rows(part.numRows);
  for (int64_t col = 0; col < part.size; col += 4) {
    SmallVector<Value> columns;
    for (int64_t i = 0; i < 4; ++i)
      columns.push_back(b.load(getSlot(col + i), slotType, b.i64(0)));
    for (int64_t row = 0; row < part.numRows; row += 4) {
      SmallVector<Value> block;
      for (Value column : columns)
        block.push_back(vector::BitCastOp::create(b, bytesType,
                                                  b.slice(column, row / 4, 1)));
      for (auto [i, bytes] : llvm::enumerate(transpose4x4(b, block)))
        rows[row + i].push_back(bytes);
    }
  }
  return llvm::map_to_vector(
      rows, [&](ArrayRef<Value> parts) { return b.concat(parts); });
}

Value TransposedTile::getPiece(Value col, Value row) {
  Value offset = getOffset(col, row);
  if (part.isVector)
    offset = b.mul(b.div(offset, vectorBytes), vectorBytes);
  return b.getAddress(memory, b.getI8Type(), offset);
}

Value TransposedTile::restoreOrder(Value piece, Value col, Value row) {
  if (!part.isVector || part.numRows == vectorBytes)
    return piece;
  int64_t mask[] = {2, 3, 0, 1};
  Value exchanged = vector::ShuffleOp::create(b, piece, piece, mask);
  Value first = b.rem(getOffset(col, row), vectorBytes);
  return select(b, b.isEqual(first, 0), piece, exchanged);
}

Value TransposedTile::loadPiece(Value col, Value row) {
  Value piece = b.load(getPiece(col, row), getPieceType(), b.i64(0));
  return restoreOrder(piece, col, row);
}

void TransposedTile::storePiece(Value piece, Value col, Value row) {
  b.store(restoreOrder(piece, col, row), getPiece(col, row), b.i64(0));
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

Tile::Tile(KernelBuilder &b, const ThreadPart &part, Value tileRow,
           Value tileCol)
    : b(b), part(part), firstRow(b.mul(tileRow, tileSize)),
      firstCol(b.mul(tileCol, tileSize)) {
  Value row = b.add(firstRow, part.firstRow);
  for (int64_t k = 0; k < part.numRows; ++k) {
    rows.push_back(b.add(row, k));
    isRowInside.push_back(b.isLess(rows.back(), b.getRows()));
  }
  for (int64_t j = 0; j < (part.isVector ? 1 : part.size); ++j) {
    cols.push_back(b.add(firstCol, part.getCol(b, j)));
    isColInside.push_back(b.isLess(cols.back(), b.getCols()));
  }
}

SmallVector<Value>
Tile::loadElements(Type elementType,
                   function_ref<Value(const InputIndex &index)> load) {
  SmallVector<Value> vectors;
  // A branch for each element would cost more than loads to no avail.
  for (auto [row, isRow] : llvm::zip_equal(rows, isRowInside)) {
    Value inRow = clamp(row, b.getRows());
    Value rowOffset = b.mul(inRow, b.getCols());
    SmallVector<Value> elements;
    for (auto [col, isCol] : llvm::zip_equal(cols, isColInside)) {
      Value inCol = clamp(col, b.getCols());
      Value element = load({b.add(rowOffset, inCol), inRow, inCol});
      elements.push_back(
          select(b, b.both(isRow, isCol), element, b.zero(elementType)));
    }
    vectors.push_back(fromElements(b, elements));
  }
  return vectors;
}

void Tile::getVectors(SmallVectorImpl<InputIndex> &indices,
                      SmallVectorImpl<Value> &isInside) {
  for (auto [row, isRow] : llvm::zip_equal(rows, isRowInside)) {
    Value offset = b.add(b.mul(row, b.getCols()), cols.front());
    indices.push_back({offset, row, cols.front()});
    isInside.push_back(b.both(isRow, isColInside.front()));
  }
}

SmallVector<Value> Tile::load(Value tensor, Type elementType) {
  if (!part.isVector)
    return loadElements(elementType, [&](const InputIndex &index) {
      return b.load(tensor, elementType, index.offset);
    });
  SmallVector<InputIndex> indices;
  SmallVector<Value> isInside;
  getVectors(indices, isInside);
  return b.loadAll(isFull(), isInside, tensor,
                   VectorType::get(part.size, elementType),
                   llvm::map_to_vector(indices, [](const InputIndex &index) {
                     return index.offset;
                   }));
}

SmallVector<Value> Tile::loadInput(Type elementType) {
  if (!part.isVector)
    return loadElements(elementType, [&](const InputIndex &index) {
      return b.loadInput(elementType, index);
    });
  SmallVector<InputIndex> indices;
  SmallVector<Value> isInside;
  getVectors(indices, isInside);
  return b.loadInputs(isFull(), isInside,
                      VectorType::get(part.size, elementType), indices);
}

void Tile::store(ArrayRef<Value> vectors, Value tensor) {
  for (size_t k = 0; k < vectors.size(); ++k) {
    b.ifThen(isRowInside[k], [&] {
      Value rowOffset = b.mul(rows[k], b.getCols());
      for (size_t j = 0; j < cols.size(); ++j) {
        b.ifThen(isColInside[j], [&] {
          Value stored = part.isVector ? vectors[k] : extract(b, vectors[k], j);
          b.store(stored, tensor, b.add(rowOffset, cols[j]));
        });
      }
    });
  }
}

void Tile::forEachTransposed(
    function_ref<void(Value, Value, Value, Value)> body) {
  Value t = b.getThread();
  auto visit = [&](Value col, Value row) {
    Value offset =
        b.add(b.mul(b.add(firstCol, col), b.getRows()), b.add(firstRow, row));
    body(col, row, b.both(isCol(col), isRow(row)), offset);
  };
  if (part.isVector) {
    constexpr int64_t perCol = tileSize / vectorBytes;
    for (int64_t col = 0; col < tileSize; col += numThreads / perCol)
      visit(b.add(b.div(t, perCol), col), b.mul(b.rem(t, perCol), vectorBytes));
    return;
  }
  constexpr int64_t numCols = numThreads / tileSize;
  b.forLoop(tileSize / numCols, {}, [&](Value step, ValueRange) {
    visit(b.add(b.mul(step, numCols), b.div(t, tileSize)), b.rem(t, tileSize));
    return SmallVector<Value>();
  });
}

void Tile::storeTransposed(TransposedTile &bytes, Value tensor) {
  forEachTransposed([&](Value col, Value row, Value isInside, Value offset) {
    b.ifThen(isInside, [&] {
      b.store(bytes.loadPiece(col, row),
              b.getAddress(tensor, b.getI8Type(), offset), b.i64(0));
    });
  });
}

void Tile::loadTransposed(TransposedTile &bytes, Value tensor) {
  Type type = bytes.getPieceType();
  forEachTransposed([&](Value col, Value row, Value isInside, Value offset) {
    // Loads count in elements of the type.
    if (part.isVector)
      offset = b.div(offset, 4);
    bytes.storePiece(b.loadOrZero(isInside, tensor, type, offset), col, row);
  });
}

Value Tile::loadColumnScales(Value scales, Value offset) {
  SmallVector<Value> parts;
  if (!part.isVector) {
    for (Value col : cols) {
      Value inTile =
          arith::SubIOp::create(b, clamp(col, b.getCols()), firstCol);
      parts.push_back(b.load(scales, b.getF32Type(), b.add(offset, inTile)));
    }
    return fromElements(b, parts);
  }
  auto type = VectorType::get(vectorBytes / 4, b.getF32Type());
  for (int64_t j = 0; j < part.size; j += type.getNumElements())
    parts.push_back(b.loadOrZero(isColInside.front(), scales, type,
                                 b.add(offset, part.getCol(b, j))));
  return b.concat(parts);
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

namespace {
/// Builds the kernels of one configuration.
class Quantize {
public:
  Quantize(Float8BlockScalingAttr quantizer, InputProducer input, bool hasNoop)
      : quantizer(quantizer), input(input), dtype(input.getElementType()),
        fp8(quantizer.getFp8Dtype()), hasNoop(hasNoop), isRowwise(quantizer.hasRowwise()),
        isColumnwise(quantizer.hasColumnwise()),
        is2D(quantizer.getBlockScalingDim() == 2) {}

  std::string getName() const;
  KernelSpec getSpec() const;

private:
  /// What the kernel works on; operand order is inputs, noop, outs.
  struct Tensors {
    Tensors(KernelBuilder &b, const Quantize &config);
    Value noop;
    Value rowData, columnData;
    std::optional<BlockScales> rowScales, columnScales;
  };

  void emit(KernelBuilder &b, bool isVector) const;
  Value buildScale(KernelBuilder &b, Value amax) const;
  /// FP8 bytes of a vector for each row, with one scale for each.
  SmallVector<Value>
  buildBytes(KernelBuilder &b, ArrayRef<Value> values,
             function_ref<Value(int64_t row)> getScale) const;

  Float8BlockScalingAttr quantizer;
  InputProducer input;
  Type dtype, fp8;
  bool hasNoop, isRowwise, isColumnwise, is2D;
};

/// The shared memory of a reduction over the rows of a tile: f32 values of 128
/// columns for each row group, and again for the result. A row starts with the
/// first four columns of all parts, so that accesses do not conflict.
class ColumnBuffer {
public:
  ColumnBuffer(KernelBuilder &b, const ThreadPart &part)
      : b(b), part(part),
        memory(b.makeShared(b.getF32Type(),
                            tileSize * (part.getNumGroups() + 1))) {}

  void storePart(Value vector, Value row) {
    for (int64_t j = 0; j < part.size; j += 4)
      b.store(b.slice(vector, j, 4), memory, getOffset(row, j));
  }
  Value loadPart(Value row) {
    auto type = VectorType::get(4, b.getF32Type());
    SmallVector<Value> parts;
    for (int64_t j = 0; j < part.size; j += 4)
      parts.push_back(b.load(memory, type, getOffset(row, j)));
    return b.concat(parts);
  }

  Value loadValue(Value row, Value position) {
    return b.load(memory, b.getF32Type(),
                  b.add(b.mul(row, tileSize), position));
  }
  void storeValue(Value value, Value row, Value position) {
    b.store(value, memory, b.add(b.mul(row, tileSize), position));
  }
  /// The column in the tile of the value at a position in a row.
  Value getCol(Value position) {
    Value index = b.rem(b.div(position, 4), part.perRow);
    Value fours = b.div(position, 4 * part.perRow);
    return part.getCol(b, index, b.add(b.mul(fours, 4), b.rem(position, 4)));
  }

private:
  Value getOffset(Value row, int64_t j) {
    return b.add(b.add(b.mul(row, tileSize), b.mul(part.index, 4)),
                 j * part.perRow);
  }

  KernelBuilder &b;
  const ThreadPart &part;
  Value memory;
};
} // namespace

std::string Quantize::getName() const {
  std::string name =
      ("quantize_float8_block_scaling_" + getKernelTypeName(fp8) + "_" +
       getKernelTypeName(dtype) + "_" + stringifyUsage(quantizer.getUsage()) +
       (is2D ? "_2d" : "_1d"))
          .str();
  if (quantizer.getForcePow_2Scales())
    name += "_pow2";
  if (quantizer.getAmaxEpsilon().isNonZero())
    name += "_eps" +
            llvm::utohexstr(
                quantizer.getAmaxEpsilon().bitcastToAPInt().getZExtValue());
  if (hasNoop)
    name += "_noop";
  return name + input.getNameSuffix().str();
}

/// Kernels with vectors, and generic ones.
static SmallVector<KernelVariant>
getVariants(int64_t partSize, bool isTransposed,
            std::function<void(KernelBuilder &, bool isVector)> emit) {
  int64_t rowsMultiple = isTransposed ? vectorBytes : 1;
  return {{vectorBytes, partSize,
           [emit](KernelBuilder &b) { emit(b, /*isVector=*/true); },
           rowsMultiple},
          {1, 1, [emit](KernelBuilder &b) { emit(b, /*isVector=*/false); }}};
}

KernelSpec Quantize::getSpec() const {
  KernelSpec spec;
  spec.name = getName();
  spec.input = input;
  input.appendPointers(spec.pointers);
  if (hasNoop)
    spec.pointers.push_back({KernelPointer::Input, 4});
  for (bool isPresent : {isRowwise, isColumnwise}) {
    if (!isPresent)
      continue;
    spec.pointers.push_back({KernelPointer::Output, 1, /*isVector=*/true});
    spec.pointers.push_back({KernelPointer::Output, 4});
  }
  spec.threadsPerBlock = numThreads;
  spec.getTiles = getTiles;
  Quantize config = *this;
  spec.variants = getVariants(
      getPartSize(dtype), isColumnwise,
      [config](KernelBuilder &b, bool isVector) { config.emit(b, isVector); });
  return spec;
}

Quantize::Tensors::Tensors(KernelBuilder &b, const Quantize &config) {
  unsigned next = config.input.getNumPointers();
  if (config.hasNoop)
    noop = b.getPointer(next++);
  if (config.isRowwise) {
    rowData = b.getPointer(next++);
    rowScales.emplace(b, b.getPointer(next++), /*isRowwise=*/true, config.is2D);
  }
  if (config.isColumnwise) {
    columnData = b.getPointer(next++);
    columnScales.emplace(b, b.getPointer(next++), /*isRowwise=*/false,
                         config.is2D);
  }
}

/// The largest finite value of a format as f32.
static float getMaxFinite(Type type) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  return APFloat::getLargest(semantics).convertToFloat();
}

Value Quantize::buildScale(KernelBuilder &b, Value amax) const {
  return buildScaleFromAmax(b, amax, getMaxFinite(fp8),
                            quantizer.getForcePow_2Scales(),
                            quantizer.getAmaxEpsilon().convertToFloat(),
                            /*valueForInf=*/getMaxFinite(dtype));
}

SmallVector<Value>
Quantize::buildBytes(KernelBuilder &b, ArrayRef<Value> values,
                     function_ref<Value(int64_t)> getScale) const {
  SmallVector<Value> bytes;
  for (auto [k, value] : llvm::enumerate(values)) {
    Value scale = getScale(k);
    if (!isa<VectorType>(scale.getType()))
      scale = vector::BroadcastOp::create(b, value.getType(), scale);
    bytes.push_back(buildScaledFP8(b, value, scale, fp8));
  }
  return bytes;
}

/// Reduces one value for each row of the part over all parts of the row. The
/// result is that of row `index / 2`, known to both lanes. Each exchange halves
/// the rows of a lane.
static Value reduceRows(KernelBuilder &b, const ThreadPart &part,
                        SmallVector<Value> values) {
  int64_t bit = part.perRow / 2;
  for (; values.size() > 1; bit /= 2) {
    size_t half = values.size() / 2;
    Value isLower = b.isEqual(b.rem(b.div(part.index, bit), 2), 0);
    for (size_t k = 0; k < half; ++k) {
      Value kept = select(b, isLower, values[k], values[k + half]);
      Value sent = select(b, isLower, values[k + half], values[k]);
      auto received =
          gpu::ShuffleOp::create(b, sent, bit, warpSize, gpu::ShuffleMode::XOR);
      values[k] = b.max(kept, received.getShuffleResult());
    }
    values.truncate(half);
  }
  return b.shuffleMax(values.front(), 2 * bit - 1);
}

/// The value that `reduceRows` left for row `row` of the part.
static Value broadcastRow(KernelBuilder &b, const ThreadPart &part, Value value,
                          int64_t row) {
  Value source =
      b.add(arith::SubIOp::create(b, part.lane, part.index), 2 * row);
  auto toI32 = [&](Value value) -> Value {
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  };
  return gpu::ShuffleOp::create(b, value, toI32(source), toI32(b.i64(warpSize)),
                                gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

void Quantize::emit(KernelBuilder &b, bool isVector) const {
  Tensors tensors(b, *this);
  ThreadPart part(b, getPartSize(dtype), isVector);
  Type f32 = b.getF32Type();
  Value noAmax = b.zero(f32);
  Value t = b.getThread();
  Value isFirstThread = b.isEqual(t, 0);

  std::optional<TransposedTile> transposed;
  if (isColumnwise)
    transposed.emplace(b, part);
  Value warpAmaxes;
  std::optional<ColumnBuffer> columns;
  if (is2D)
    warpAmaxes = b.makeShared(f32, numWarps);
  else if (isColumnwise)
    columns.emplace(b, part);

  auto emitTile = [&](Value tileRow, Value tileCol) {
    Tile tile(b, part, tileRow, tileCol);
    SmallVector<Value> values, magnitudes;
    for (Value value : tile.loadInput(dtype)) {
      values.push_back(b.widen(value));
      magnitudes.push_back(b.abs(values.back()));
    }
    auto storeTransposed = [&](ArrayRef<Value> bytes) {
      transposed->storePart(bytes);
      b.barrier();
      tile.storeTransposed(*transposed, tensors.columnData);
    };

    if (is2D) {
      Value warpAmax = b.shuffleMax(
          b.max(b.reduceMax(maxOf(b, magnitudes)), noAmax), allLanes);
      b.ifThen(b.isEqual(part.lane, 0),
               [&] { b.store(warpAmax, warpAmaxes, b.div(t, warpSize)); });
      b.barrier();
      Value amax = noAmax;
      for (int64_t warp = 0; warp < numWarps; ++warp)
        amax = b.max(amax, b.load(warpAmaxes, f32, b.i64(warp)));
      Value scale = buildScale(b, amax);
      b.ifThen(isFirstThread, [&] {
        Value inverse = buildReciprocal(b, scale);
        for (auto *scales : {&tensors.rowScales, &tensors.columnScales})
          if (*scales)
            (*scales)->store(inverse, (*scales)->getOffset(tileRow, tileCol));
      });
      SmallVector<Value> bytes =
          buildBytes(b, values, [&](int64_t) { return scale; });
      if (isRowwise)
        tile.store(bytes, tensors.rowData);
      // The next tile overwrites what others may still read. Where bytes are
      // transposed, there is a barrier in between.
      if (isColumnwise)
        storeTransposed(bytes);
      else
        b.barrier();
      return;
    }

    // Columns first: while the block waits, the rows are at work.
    if (isColumnwise) {
      columns->storePart(maxOf(b, magnitudes), part.group);
      b.barrier();
    }
    if (isRowwise) {
      Value amax =
          reduceRows(b, part, llvm::map_to_vector(magnitudes, [&](Value row) {
                       return b.max(b.reduceMax(row), noAmax);
                     }));
      Value scale = buildScale(b, amax);
      Value row = b.add(part.firstRow, b.div(part.index, 2));
      Value isOwner = b.isEqual(b.rem(part.index, 2), 0);
      b.ifThen(b.both(isOwner, tile.isRow(row)), [&] {
        Value first = tensors.rowScales->getOffset(tileRow, tileCol);
        tensors.rowScales->store(buildReciprocal(b, scale), b.add(first, row));
      });
      tile.store(buildBytes(b, values,
                            [&](int64_t row) {
                              return broadcastRow(b, part, scale, row);
                            }),
                 tensors.rowData);
    }
    if (isColumnwise) {
      Value resultRow = b.i64(part.getNumGroups());
      b.ifThen(b.isLess(t, b.i64(tileSize)), [&] {
        Value amax = noAmax;
        for (int64_t group = 0; group < part.getNumGroups(); ++group)
          amax = b.max(amax, columns->loadValue(b.i64(group), t));
        Value scale = buildScale(b, amax);
        columns->storeValue(scale, resultRow, t);
        Value col = columns->getCol(t);
        b.ifThen(tile.isCol(col), [&] {
          Value first = tensors.columnScales->getOffset(tileRow, tileCol);
          tensors.columnScales->store(buildReciprocal(b, scale),
                                      b.add(first, col));
        });
      });
      b.barrier();
      Value scales = columns->loadPart(resultRow);
      storeTransposed(buildBytes(b, values, [&](int64_t) { return scales; }));
    }
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
  Dequantize(Float8BlockScalingAttr quantizer, Type dtype)
      : quantizer(quantizer), dtype(dtype), fp8(quantizer.getFp8Dtype()),
        isRowwise(quantizer.hasRowwise()),
        is2D(quantizer.getBlockScalingDim() == 2) {}

  KernelSpec getSpec() const;

private:
  void emit(KernelBuilder &b, bool isVector) const;

  /// Operand order is data and scales of each direction, output.
  unsigned getOutputIndex() const {
    return quantizer.getUsage() == Usage::Both ? 4 : 2;
  }

  Float8BlockScalingAttr quantizer;
  Type dtype, fp8;
  bool isRowwise, is2D;
};
} // namespace

KernelSpec Dequantize::getSpec() const {
  auto getName = [&](Usage usage) {
    return ("dequantize_float8_block_scaling_" + getKernelTypeName(fp8) + "_" +
            getKernelTypeName(dtype) + "_" + stringifyUsage(usage) +
            (is2D ? "_2d" : "_1d"))
        .str();
  };
  KernelSpec spec;
  spec.name = getName(isRowwise ? Usage::Rowwise : Usage::Columnwise);
  spec.launchName = getName(quantizer.getUsage());
  unsigned bytes = dtype.getIntOrFloatBitWidth() / 8;
  bool isScaleVector = !isRowwise && !is2D;
  spec.pointers = {{KernelPointer::Input, 1, /*isVector=*/true},
                   {KernelPointer::Input, 4, isScaleVector}};
  if (quantizer.getUsage() == Usage::Both)
    spec.pointers.append(2, {KernelPointer::Unused});
  spec.pointers.push_back({KernelPointer::Output, bytes, /*isVector=*/true});
  spec.threadsPerBlock = numThreads;
  spec.getTiles = getTiles;
  Dequantize config = *this;
  spec.variants = getVariants(
      getPartSize(dtype), !isRowwise,
      [config](KernelBuilder &b, bool isVector) { config.emit(b, isVector); });
  return spec;
}

void Dequantize::emit(KernelBuilder &b, bool isVector) const {
  Value data = b.getPointer(0), output = b.getPointer(getOutputIndex());
  BlockScales scales(b, b.getPointer(1), isRowwise, is2D);
  ThreadPart part(b, getPartSize(dtype), isVector);
  auto f32Type = VectorType::get(part.size, b.getF32Type());
  std::optional<TransposedTile> transposed;
  if (!isRowwise)
    transposed.emplace(b, part);

  b.forEachTile([&](Value tileRow, Value tileCol) {
    Tile tile(b, part, tileRow, tileCol);
    SmallVector<Value> bytes;
    if (isRowwise)
      bytes = tile.load(data, b.getI8Type());
    else
      tile.loadTransposed(*transposed, data);

    // One scale for the tile, for each row or for each column.
    Value first = scales.getOffset(tileRow, tileCol);
    SmallVector<Value> rowScales;
    if (is2D)
      rowScales.assign(part.numRows, scales.load(first));
    else if (isRowwise)
      for (int64_t k = 0; k < part.numRows; ++k) {
        Value row = b.add(part.firstRow, k);
        rowScales.push_back(b.loadOrZero(tile.isRow(row), scales.getPointer(),
                                         b.getF32Type(), b.add(first, row)));
      }
    else
      rowScales.assign(part.numRows,
                       tile.loadColumnScales(scales.getPointer(), first));

    if (!isRowwise) {
      b.barrier();
      bytes = transposed->loadPart();
      // The next tile overwrites what others may still read.
      b.barrier();
    }
    SmallVector<Value> values;
    for (auto [rowBytes, scale] : llvm::zip_equal(bytes, rowScales)) {
      if (!isa<VectorType>(scale.getType()))
        scale = vector::BroadcastOp::create(b, f32Type, scale);
      values.push_back(buildScaledValue(b, rowBytes, fp8, scale, dtype));
    }
    tile.store(values, output);
  });
}

//===----------------------------------------------------------------------===//
// Derive
//===----------------------------------------------------------------------===//

/// Transposes bytes and scales of 128x128 blocks; operand order is data and
/// scales of rowwise usage, then of columnwise usage.
static void emitDerive(KernelBuilder &b, int64_t partSize, bool isVector) {
  BlockScales rowScales(b, b.getPointer(1), /*isRowwise=*/true, /*is2D=*/true);
  BlockScales columnScales(b, b.getPointer(3), /*isRowwise=*/false,
                           /*is2D=*/true);
  ThreadPart part(b, partSize, isVector);
  TransposedTile transposed(b, part);
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Tile tile(b, part, tileRow, tileCol);
    transposed.storePart(tile.load(b.getPointer(0), b.getI8Type()));
    b.ifThen(b.isEqual(b.getThread(), 0), [&] {
      Value scale = rowScales.load(rowScales.getOffset(tileRow, tileCol));
      columnScales.store(scale, columnScales.getOffset(tileRow, tileCol));
    });
    b.barrier();
    tile.storeTransposed(transposed, b.getPointer(2));
    // The next tile overwrites what others may still read.
    b.barrier();
  });
}

/// One kernel for all formats: bytes are bytes.
static KernelSpec getDeriveSpec() {
  // Runs of 8 bytes along rows and along columns.
  constexpr int64_t partSize = 8;
  KernelSpec spec;
  spec.name = "derive_float8_block_scaling_2d";
  spec.pointers = {{KernelPointer::Input, 1, /*isVector=*/true},
                   {KernelPointer::Input, 4},
                   {KernelPointer::Output, 1, /*isVector=*/true},
                   {KernelPointer::Output, 4}};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = getTiles;
  spec.variants = getVariants(partSize, /*isTransposed=*/true,
                              [](KernelBuilder &b, bool isVector) {
                                emitDerive(b, partSize, isVector);
                              });
  return spec;
}

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

namespace {
struct Float8BlockScalingKernels
    : KernelEmitterInterface::ExternalModel<Float8BlockScalingKernels,
                                            Float8BlockScalingAttr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into", "derive_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    Quantize config(cast<Float8BlockScalingAttr>(attr), InputProducer(op),
                    bool(op.getNoop()));
    if (func::FuncOp launch = context.lookupLaunch(config.getName()))
      return launch;
    return context.makeLaunch(op.getLoc(), config.getSpec());
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    Type dtype = getElementTypeOrSelf(op.getOuts().getType());
    KernelSpec spec =
        Dequantize(cast<Float8BlockScalingAttr>(attr), dtype).getSpec();
    if (func::FuncOp launch = context.lookupLaunch(spec.launchName))
      return launch;
    return context.makeLaunch(op.getLoc(), spec);
  }

  // Only 128x128 blocks can be derived.
  FailureOr<func::FuncOp> emitDerive(Attribute, DeriveIntoOp op,
                                     KernelContext &context) const {
    KernelSpec spec = getDeriveSpec();
    if (func::FuncOp launch = context.lookupLaunch(spec.name))
      return launch;
    return context.makeLaunch(op.getLoc(), spec);
  }
};
} // namespace

void te::quant::attachFloat8BlockScalingKernels(MLIRContext *context) {
  Float8BlockScalingAttr::attachInterface<Float8BlockScalingKernels>(*context);
}
