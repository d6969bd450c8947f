//===- NVFP4.cpp - kernels that quantize to NVFP4 -------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of 128 threads works on tiles of 64 by 64 values, which it reads once
// into shared memory. From there each thread takes whole blocks of 16 values:
// of a row for one direction, of a column for the other one. Both directions
// are one procedure on lines, the rows of the tensor or of its transpose.
//
// Extents are multiples of the block where a direction is made: no block is
// partly in the tensor.
//
//===----------------------------------------------------------------------===//

#include "NVFP4.h"
#include "Families.h"
#include "NVFP4RandomBits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"
#include <vector>

using namespace mlir;
using namespace te::quant;
using namespace te::quant::nvfp4;

static constexpr int64_t blockBytes = blockSize / 2, warpSize = 32;
/// A line in shared memory; the padding spreads columns over the banks.
static constexpr int64_t pitch = tileSize + 1;

/// Tiles of a tensor; with scales in GEMM order also those of the padding to
/// 128 lines of either direction, whose scales are written.
static TileGrid getTiles(ImplicitLocOpBuilder &b, Value rows, Value cols,
                         bool isPadded) {
  if (!isPadded)
    return buildTileGrid(b, rows, cols, tileSize, tileSize);
  Value two = arith::ConstantIntOp::create(b, 128 / tileSize, 64);
  auto getPadded = [&](Value extent) -> Value {
    return arith::MulIOp::create(b, buildCeilDiv(b, extent, 128), two);
  };
  return {getPadded(rows), getPadded(cols)};
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

namespace {
/// A tile of the input in shared memory as f32; zero beyond the tensor.
class Tile {
public:
  Tile(KernelBuilder &b, Type dtype, bool isVector)
      : b(b), dtype(dtype), isVector(isVector),
        memory(b.makeShared(b.getF32Type(), tileSize * pitch)) {}

  /// All threads take part; the contents may be read after a barrier.
  void load(Value firstRow, Value firstCol);

  /// The values of a block of a row, or else of a column.
  SmallVector<Value> loadBlock(bool isRowwise, Value line, Value block) {
    Value position = b.mul(block, blockSize);
    Value row = isRowwise ? line : position, col = isRowwise ? position : line;
    Value first = b.add(b.mul(row, pitch), col);
    SmallVector<Value> values;
    for (int64_t k = 0; k < blockSize; ++k)
      values.push_back(b.load(memory, b.getF32Type(),
                              b.add(first, isRowwise ? k : k * pitch)));
    return values;
  }

private:
  void loadVectors(Value firstRow, Value firstCol);

  KernelBuilder &b;
  Type dtype;
  bool isVector;
  Value memory;
};
} // namespace

void Tile::load(Value firstRow, Value firstCol) {
  if (isVector)
    return loadVectors(firstRow, firstCol);
  Value col = b.rem(b.getThread(), tileSize);
  Value firstLine = b.div(b.getThread(), tileSize);
  constexpr int64_t step = numThreads / tileSize;
  b.forLoop(tileSize / step, {}, [&](Value index, ValueRange) {
    Value line = b.add(firstLine, b.mul(index, step));
    Value tensorRow = b.add(firstRow, line), tensorCol = b.add(firstCol, col);
    Value isInside = b.both(b.isLess(tensorRow, b.getRows()),
                            b.isLess(tensorCol, b.getCols()));
    Value value = b.loadInputOrZero(
        isInside, dtype,
        {b.add(b.mul(tensorRow, b.getCols()), tensorCol), tensorRow, tensorCol});
    b.store(b.widen(value), memory, b.add(b.mul(line, pitch), col));
    return SmallVector<Value>();
  });
}

void Tile::loadVectors(Value firstRow, Value firstCol) {
  int64_t size = vectorBytes / getBytes(dtype);
  int64_t perLine = tileSize / size;
  Value colInTile = b.mul(b.rem(b.getThread(), perLine), size);
  Value firstLine = b.div(b.getThread(), perLine);
  Value col = b.add(firstCol, colInTile);
  Value isCol = b.isLess(col, b.getCols());
  SmallVector<Value> lines, isInside;
  SmallVector<InputIndex> indices;
  for (int64_t line = 0; line < tileSize; line += numThreads / perLine) {
    lines.push_back(b.add(firstLine, line));
    Value row = b.add(firstRow, lines.back());
    indices.push_back({b.add(b.mul(row, b.getCols()), col), row, col});
    isInside.push_back(b.both(isCol, b.isLess(row, b.getRows())));
  }
  Value isFull = b.both(
      b.isLess(b.add(firstRow, tileSize - 1), b.getRows()),
      b.isLess(b.add(firstCol, tileSize - 1), b.getCols()));
  SmallVector<Value> values = b.loadInputs(
      isFull, isInside, VectorType::get(size, dtype), indices);
  for (auto [line, value] : llvm::zip_equal(lines, values)) {
    Value wide = b.widen(value);
    Value first = b.add(b.mul(line, pitch), colInTile);
    for (int64_t k = 0; k < size; ++k)
      b.store(vector::ExtractOp::create(b, wide, k), memory, b.add(first, k));
  }
}

static Value toVector(KernelBuilder &b, ArrayRef<Value> values) {
  auto type = VectorType::get(values.size(), values.front().getType());
  return vector::FromElementsOp::create(b, type, values);
}

/// The amax of a vector, zero if there are NaNs only.
static Value getBlockAmax(KernelBuilder &b, Value values) {
  return b.max(b.reduceMax(b.abs(values)), b.zero(b.getF32Type()));
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

namespace {
/// Builds the kernels of one configuration. Operand order is inputs, noop,
/// amaxes, random state, outs: data and scales of each direction, then their
/// amaxes.
class Quantize {
public:
  Quantize(NVFP4Attr quantizer, QuantizeIntoOp op)
      : quantizer(quantizer), input(op), dtype(input.getElementType()),
        numAmaxes(op.getAmax().size()), hasNoop(bool(op.getNoop())),
        isRowwise(quantizer.hasRowwise()),
        isColumnwise(quantizer.hasColumnwise()),
        is2D(quantizer.getWith_2dQuantization()),
        isStochastic(quantizer.getStochasticRounding()),
        isRowScaled(quantizer.getRowScaled()),
        is4over6(quantizer.getUse_4over6()) {}

  std::string getName() const;
  FailureOr<func::FuncOp> makeLaunch(Location loc,
                                     KernelContext &context) const;

private:
  /// One direction of the tensor in a kernel.
  struct Direction {
    bool isRowwise;
    Value data, amaxOut;
    std::optional<ScaleTensor> scales;
    /// The amax of the whole tensor and the scale that it gives, or else null.
    Value amax, encodeScale;
    /// What rounds the values, if not the nearest neighbour.
    std::optional<NVFP4RandomBits> randomBits;
  };
  /// What blocks of a tile exchange, one f32 for each.
  struct Exchange {
    Value amaxes, errors4, errors6;
  };
  /// A block of a thread: its line and its number in the line in the tile, and
  /// these numbers in the tensor.
  struct Block {
    Value line, block, i, j;
  };

  /// The pointer after those of the inputs is that of the flag, if there is one.
  unsigned getNoop() const { return input.getNumPointers(); }
  unsigned getFirstAmax() const { return getNoop() + hasNoop; }
  unsigned getFirstOut() const {
    return getFirstAmax() + numAmaxes + isStochastic;
  }
  unsigned getFirstAmaxOut() const {
    return getFirstOut() + 2 * (isRowwise + isColumnwise);
  }
  unsigned getColumnAmaxOut() const { return getFirstAmaxOut() + isRowwise; }
  SmallVector<KernelPointer> getPointers() const;
  KernelSpec getSpec() const;
  KernelSpec getLineAmaxSpec(bool isRowwise) const;
  KernelSpec getColumnZeroSpec() const;

  std::vector<Direction> getDirections(KernelBuilder &b) const;
  NVFP4RandomBits getRandomBits(KernelBuilder &b, bool isRowwise) const;
  void emit(KernelBuilder &b, bool isVector) const;
  void emitDirection(KernelBuilder &b, bool isVector, Tile &tile,
                     Exchange &exchange, Direction &direction, Value firstRow,
                     Value firstCol) const;
  void emitRowAmax(KernelBuilder &b) const;
  void emitColumnAmax(KernelBuilder &b) const;
  void storeScale(KernelBuilder &b, Direction &direction, Value scale,
                  const Block &block) const;

  NVFP4Attr quantizer;
  InputProducer input;
  Type dtype;
  unsigned numAmaxes;
  bool hasNoop, isRowwise, isColumnwise, is2D, isStochastic, isRowScaled,
      is4over6;
};
} // namespace

std::string Quantize::getName() const {
  std::string name = ("quantize_nvfp4_" + getKernelTypeName(dtype) + "_" +
                      stringifyUsage(quantizer.getUsage()))
                         .str();
  if (is2D)
    name += "_2d";
  if (quantizer.getWithRht())
    name += quantizer.getWithRandomSignMask() ? "_rht" : "_rht_unsigned";
  if (isStochastic)
    name += "_sr";
  if (isRowScaled)
    name += "_row_scaled";
  if (is4over6)
    name += ("_4over6_" + stringifyErrMode(quantizer.getErrMode()).lower());
  if (quantizer.getE4m3Max() != 448)
    name += "_max" + std::to_string(quantizer.getE4m3Max());
  if (quantizer.getOptimizeForGemm())
    name += "_swizzled";
  if (hasNoop)
    name += "_noop";
  return name + input.getNameSuffix().str();
}

SmallVector<KernelPointer> Quantize::getPointers() const {
  SmallVector<KernelPointer> pointers;
  input.appendPointers(pointers);
  if (hasNoop)
    pointers.push_back({KernelPointer::Input, 4});
  pointers.append(numAmaxes, {KernelPointer::Input, 4});
  if (isStochastic)
    pointers.push_back({KernelPointer::Input, 8});
  for (unsigned i = 0; i < unsigned(isRowwise + isColumnwise); ++i) {
    pointers.push_back({KernelPointer::Output, 1, /*isVector=*/true});
    pointers.push_back({KernelPointer::Output, 1});
  }
  pointers.append(isRowwise + isColumnwise, {KernelPointer::Output, 4});
  return pointers;
}

KernelSpec Quantize::getSpec() const {
  KernelSpec spec;
  spec.name = getName();
  spec.input = input;
  spec.pointers = getPointers();
  spec.threadsPerBlock = numThreads;
  bool isPadded = quantizer.getOptimizeForGemm();
  spec.getTiles = [isPadded](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return getTiles(b, rows, cols, isPadded);
  };
  Quantize config = *this;
  spec.variants = {{vectorBytes, vectorBytes / getBytes(dtype),
                    [config](KernelBuilder &b) { config.emit(b, true); }},
                   {1, 1, [config](KernelBuilder &b) { config.emit(b, false); }}};
  return spec;
}

FailureOr<func::FuncOp> Quantize::makeLaunch(Location loc,
                                             KernelContext &context) const {
  std::vector<KernelSpec> stages;
  if (isRowScaled) {
    if (isRowwise)
      stages.push_back(getLineAmaxSpec(/*isRowwise=*/true));
    if (isColumnwise) {
      stages.push_back(getColumnZeroSpec());
      stages.push_back(getLineAmaxSpec(/*isRowwise=*/false));
    }
  }
  stages.push_back(getSpec());
  return context.makeLaunch(loc, getName(), stages);
}

std::vector<Quantize::Direction>
Quantize::getDirections(KernelBuilder &b) const {
  std::vector<Direction> directions;
  unsigned next = getFirstOut(), nextAmax = getFirstAmaxOut();
  for (bool rowwise : {true, false}) {
    if (!(rowwise ? isRowwise : isColumnwise))
      continue;
    Direction &direction = directions.emplace_back();
    direction.isRowwise = rowwise;
    direction.data = b.getPointer(next++);
    direction.scales.emplace(b, b.getPointer(next++), getGeometry(rowwise),
                             quantizer.getOptimizeForGemm());
    direction.amaxOut = b.getPointer(nextAmax++);
    if (isRowScaled)
      continue;
    // One amax is that of both directions.
    unsigned index = getFirstAmax() + (rowwise ? 0 : numAmaxes - 1);
    direction.amax = b.load(b.getPointer(index), b.getF32Type(), b.i64(0));
    direction.encodeScale =
        buildNVFP4EncodeScale(b, direction.amax, quantizer.getE4m3Max());
    if (isStochastic)
      direction.randomBits.emplace(getRandomBits(b, rowwise));
  }
  return directions;
}

NVFP4RandomBits Quantize::getRandomBits(KernelBuilder &b,
                                        bool isRowwise) const {
  Value state = b.getPointer(getFirstOut() - 1);
  Value seed = b.load(state, b.getI64Type(), b.i64(0));
  Value offset = b.load(state, b.getI64Type(), b.i64(1));
  NVFP4RandomOrder order = {b.getRows(), b.getCols(),
                            isRowwise,   this->isRowwise && isColumnwise,
                            is2D,        dtype.isBF16()};
  if (!quantizer.getWithRht())
    return NVFP4RandomBits(b, seed, offset, order);
  // Each direction is a tensor of its own: the transform is transposed and goes
  // the way of rows, from another state.
  constexpr int64_t stateDistance = 1024;
  order.isBoth = false;
  if (!isRowwise) {
    order.isRowwise = true;
    std::swap(order.rows, order.cols);
    offset = b.add(offset, stateDistance);
  }
  return NVFP4RandomBits(b, seed, offset, order);
}

void Quantize::storeScale(KernelBuilder &b, Direction &direction, Value scale,
                          const Block &block) const {
  ScaleTensor &scales = *direction.scales;
  if (!quantizer.getOptimizeForGemm())
    return scales.store(scale, block.i, block.j);
  // The grid is padded for both directions, more than the scales of one are.
  Value isInI = b.isLess(b.div(block.i, 128),
                         buildCeilDiv(b, scales.getI(), 128));
  Value isInJ = b.isLess(b.div(block.j, 4), scales.getTiles());
  b.ifThen(b.both(isInI, isInJ),
           [&] { scales.store(scale, block.i, block.j); });
}

void Quantize::emitDirection(KernelBuilder &b, bool isVector, Tile &tile,
                             Exchange &exchange, Direction &direction,
                             Value firstRow, Value firstCol) const {
  Type f32 = b.getF32Type();
  bool isTransformed = !direction.isRowwise && quantizer.getWithRht();
  int64_t e4m3Max = quantizer.getE4m3Max();
  Value firstLine = direction.isRowwise ? firstRow : firstCol;
  Value firstBlock =
      b.div(direction.isRowwise ? firstCol : firstRow, blockSize);
  auto forEachBlock = [&](function_ref<void(const Block &)> body) {
    b.forLoop(tileBlocks / numThreads, {}, [&](Value index, ValueRange) {
      Value number = b.add(b.getThread(), b.mul(index, numThreads));
      Value line = b.div(number, lineBlocks), block = b.rem(number, lineBlocks);
      body({line, block, b.add(firstLine, line), b.add(firstBlock, block)});
      return SmallVector<Value>();
    });
  };
  auto getSlot = [&](Value line, Value block) {
    return b.add(b.mul(line, lineBlocks), block);
  };
  auto loadValues = [&](const Block &block) {
    SmallVector<Value> values =
        tile.loadBlock(direction.isRowwise, block.line, block.block);
    if (isTransformed)
      return buildHadamardTransform(b, values,
                                    quantizer.getWithRandomSignMask());
    return toVector(b, values);
  };
  // The line of 16 that a line belongs to.
  auto getGroup = [&](Value line) {
    return b.mul(b.div(line, blockSize), blockSize);
  };
  auto getAmax = [&](const Block &block, Value values) {
    if (!is2D)
      return getBlockAmax(b, values);
    // The amaxes are those of blocks of rows.
    Value row = direction.isRowwise ? getGroup(block.line)
                                    : b.mul(block.block, blockSize);
    Value column =
        direction.isRowwise ? block.block : b.div(block.line, blockSize);
    Value amax = b.zero(f32);
    for (int64_t k = 0; k < blockSize; ++k)
      amax = b.max(amax, b.load(exchange.amaxes, f32,
                                getSlot(b.add(row, k), column)));
    return amax;
  };
  // The amax that scales a line, and the scale that it gives.
  auto getLineScale = [&](const Block &block) -> std::pair<Value, Value> {
    if (!isRowScaled)
      return {direction.amax, direction.encodeScale};
    Value amax =
        b.loadOrZero(b.isLess(block.i, direction.scales->getI()),
                     direction.amaxOut, f32, block.i);
    return {amax, buildNVFP4EncodeScale(b, amax, e4m3Max)};
  };
  auto store = [&](const Block &block, Value values, NVFP4Scale scale) {
    Value randomBits;
    if (direction.randomBits)
      randomBits = direction.randomBits->get(block.i, block.j);
    Value bytes = buildNVFP4Bytes(b, values, scale.factor, randomBits);
    b.ifThen(direction.scales->isValid(block.i, block.j), [&] {
      Value lineBytes =
          b.div(direction.isRowwise ? b.getCols() : b.getRows(), 2);
      Value offset =
          b.add(b.mul(block.i, lineBytes), b.mul(block.j, blockBytes));
      if (isVector)
        return b.store(bytes, direction.data, offset);
      for (int64_t k = 0; k < blockBytes; ++k)
        b.store(vector::ExtractOp::create(b, bytes, k), direction.data,
                b.add(offset, k));
    });
    storeScale(b, direction, scale.code, block);
  };

  if (!is4over6) {
    forEachBlock([&](const Block &block) {
      Value values = loadValues(block);
      Value encodeScale = getLineScale(block).second;
      store(block, values,
            buildNVFP4Scale(b, getAmax(block, values), encodeScale));
    });
    return;
  }

  bool isSquared = quantizer.getErrMode() == ErrMode::MSE;
  auto getError = [&](Value values, NVFP4Scale scale, Value amax) {
    return buildNVFP4Error(b, values, scale, amax, e4m3Max, isSquared);
  };
  if (!is2D) {
    forEachBlock([&](const Block &block) {
      Value values = loadValues(block);
      auto [amax, encodeScale] = getLineScale(block);
      auto [mapTo4, mapTo6] =
          buildNVFP4Candidates(b, getAmax(block, values), encodeScale);
      Value error4 = getError(values, mapTo4, amax);
      Value error6 = getError(values, mapTo6, amax);
      store(block, values,
            buildNVFP4Choice(b, mapTo4, error4, mapTo6, error6));
    });
    return;
  }
  auto getCandidates = [&](const Block &block, Value values) {
    return buildNVFP4Candidates(b, getAmax(block, values),
                                direction.encodeScale);
  };
  forEachBlock([&](const Block &block) {
    Value values = loadValues(block);
    auto [mapTo4, mapTo6] = getCandidates(block, values);
    Value slot = getSlot(block.line, block.block);
    b.store(getError(values, mapTo4, direction.amax), exchange.errors4, slot);
    b.store(getError(values, mapTo6, direction.amax), exchange.errors6, slot);
  });
  b.barrier();
  // Adds the errors of 16 lines as a halving tree.
  auto sumErrors = [&](const Block &block, Value errors) {
    Value line = getGroup(block.line);
    SmallVector<Value> sums;
    for (int64_t k = 0; k < blockSize; ++k)
      sums.push_back(
          b.load(errors, f32, getSlot(b.add(line, k), block.block)));
    for (int64_t half = blockSize / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k)
        sums[k] = arith::AddFOp::create(b, sums[k], sums[k + half]);
    return sums.front();
  };
  forEachBlock([&](const Block &block) {
    Value values = loadValues(block);
    auto [mapTo4, mapTo6] = getCandidates(block, values);
    store(block, values,
          buildNVFP4Choice(b, mapTo4, sumErrors(block, exchange.errors4),
                           mapTo6, sumErrors(block, exchange.errors6)));
  });
  // The other direction overwrites what others may still read.
  b.barrier();
}

void Quantize::emit(KernelBuilder &b, bool isVector) const {
  Type f32 = b.getF32Type();
  Tile tile(b, dtype, isVector);
  Exchange exchange;
  if (is2D)
    exchange.amaxes = b.makeShared(f32, tileBlocks);
  if (is2D && is4over6) {
    exchange.errors4 = b.makeShared(f32, tileBlocks);
    exchange.errors6 = b.makeShared(f32, tileBlocks);
  }
  auto body = [&] {
    std::vector<Direction> directions = getDirections(b);
    if (!isRowScaled)
      b.inFirstThread([&] {
        for (Direction &direction : directions)
          b.store(direction.amax, direction.amaxOut, b.i64(0));
      });
    b.forEachTile([&](Value tileRow, Value tileCol) {
      Value firstRow = b.mul(tileRow, tileSize);
      Value firstCol = b.mul(tileCol, tileSize);
      tile.load(firstRow, firstCol);
      b.barrier();
      if (is2D) {
        b.forLoop(tileBlocks / numThreads, {}, [&](Value index, ValueRange) {
          Value number = b.add(b.getThread(), b.mul(index, numThreads));
          Value values = toVector(
              b, tile.loadBlock(/*isRowwise=*/true, b.div(number, lineBlocks),
                                b.rem(number, lineBlocks)));
          b.store(getBlockAmax(b, values), exchange.amaxes, number);
          return SmallVector<Value>();
        });
        b.barrier();
      }
      for (Direction &direction : directions)
        emitDirection(b, isVector, tile, exchange, direction, firstRow,
                      firstCol);
      // The next tile overwrites what others may still read.
      b.barrier();
    });
  };
  b.unlessNoop(hasNoop ? b.getPointer(getNoop()) : Value(), body);
}

//===----------------------------------------------------------------------===//
// Amaxes
//===----------------------------------------------------------------------===//

/// A stage of row-scaled quantization: an amax for each row, by one warp each,
/// or for each column, by merging those of its parts into zeros.
KernelSpec Quantize::getLineAmaxSpec(bool isRowwise) const {
  KernelSpec spec;
  spec.name = ((isRowwise ? "row_amax_" : "column_amax_") +
               getKernelTypeName(dtype) + (hasNoop ? "_noop" : "") +
               input.getNameSuffix())
                  .str();
  spec.input = input;
  input.appendPointers(spec.pointers, /*isVector=*/false);
  spec.pointers.resize(getPointers().size(), {KernelPointer::Unused});
  if (hasNoop)
    spec.pointers[getNoop()] = {KernelPointer::Input, 4};
  spec.pointers[isRowwise ? getFirstAmaxOut() : getColumnAmaxOut()] = {
      KernelPointer::Output, 4};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [isRowwise](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    Value one = arith::ConstantIntOp::create(b, 1, 64);
    return isRowwise
               ? TileGrid{buildCeilDiv(b, rows, numThreads / warpSize), one}
               : buildTileGrid(b, rows, cols, tileSize, numThreads);
  };
  Quantize config = *this;
  spec.variants = {{1, 1, [config, isRowwise](KernelBuilder &b) {
                      if (isRowwise)
                        config.emitRowAmax(b);
                      else
                        config.emitColumnAmax(b);
                    }}};
  return spec;
}

void Quantize::emitRowAmax(KernelBuilder &b) const {
  Value none = b.zero(b.getF32Type());
  // The amax of the elements of a row that the lane has.
  auto getAmax = [&](Value row, Value lane) -> Value {
    Value rowOffset = b.mul(row, b.getCols());
    auto loop = scf::ForOp::create(b, lane, b.getCols(), b.i64(warpSize),
                                   ValueRange(none));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value col = loop.getInductionVar();
    Value value = b.loadInput(dtype, {b.add(rowOffset, col), row, col});
    scf::YieldOp::create(
        b, b.max(loop.getRegionIterArgs()[0], b.abs(b.widen(value))));
    return loop.getResult(0);
  };
  auto emitTile = [&](Value tileRow, Value tileCol) {
    Value row = b.add(b.mul(tileRow, numThreads / warpSize),
                      b.div(b.getThread(), warpSize));
    Value lane = b.rem(b.getThread(), warpSize);
    b.ifThen(b.isLess(row, b.getRows()), [&] {
      Value amax = b.shuffleMax(getAmax(row, lane), warpSize - 1);
      b.ifThen(b.isEqual(lane, 0),
               [&] { b.store(amax, b.getPointer(getFirstAmaxOut()), row); });
    });
  };
  b.unlessNoop(hasNoop ? b.getPointer(getNoop()) : Value(),
               [&] { b.forEachTile(emitTile); });
}

void Quantize::emitColumnAmax(KernelBuilder &b) const {
  constexpr int64_t loadsAtOnce = 8;
  Value out = b.getPointer(getColumnAmaxOut());
  // A thread takes the part of a column in a tile.
  auto emitTile = [&](Value tileRow, Value tileCol) {
    Value firstRow = b.mul(tileRow, tileSize);
    Value firstCol = b.mul(tileCol, numThreads);
    Value col = b.add(firstCol, b.getThread());
    Value isCol = b.isLess(col, b.getCols());
    Value isFull =
        b.both(b.isLess(b.add(firstRow, tileSize - 1), b.getRows()),
               b.isLess(b.add(firstCol, numThreads - 1), b.getCols()));
    auto visit = [&](Value index, ValueRange carried) {
      Value start = b.add(firstRow, b.mul(index, loadsAtOnce));
      SmallVector<InputIndex> indices;
      SmallVector<Value> isInside;
      for (int64_t k = 0; k < loadsAtOnce; ++k) {
        Value row = b.add(start, k);
        indices.push_back({b.add(b.mul(row, b.getCols()), col), row, col});
        isInside.push_back(b.both(isCol, b.isLess(row, b.getRows())));
      }
      Value amax = carried.front();
      for (Value value : b.loadInputs(isFull, isInside, dtype, indices))
        amax = b.max(amax, b.abs(b.widen(value)));
      return SmallVector<Value>{amax};
    };
    Value amax =
        b.forLoop(tileSize / loadsAtOnce, b.zero(b.getF32Type()), visit)
            .front();
    b.ifThen(isCol, [&] {
      b.atomicMax(amax, b.getAddress(out, b.getF32Type(), col));
    });
  };
  b.unlessNoop(hasNoop ? b.getPointer(getNoop()) : Value(),
               [&] { b.forEachTile(emitTile); });
}

/// A stage that sets the amax of each column to zero.
KernelSpec Quantize::getColumnZeroSpec() const {
  KernelSpec spec;
  spec.name = std::string("zero_columns_f32") + (hasNoop ? "_noop" : "");
  spec.pointers.assign(getPointers().size(), {KernelPointer::Unused});
  if (hasNoop)
    spec.pointers[getNoop()] = {KernelPointer::Input, 4};
  spec.pointers[getColumnAmaxOut()] = {KernelPointer::Output, 4};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    Value one = arith::ConstantIntOp::create(b, 1, 64);
    return TileGrid{one, buildCeilDiv(b, cols, numThreads)};
  };
  auto emit = [hasNoop = hasNoop, noop = getNoop(),
               out = getColumnAmaxOut()](KernelBuilder &b) {
    b.unlessNoop(hasNoop ? b.getPointer(noop) : Value(), [&] {
      b.forEachTile([&](Value, Value tile) {
        Value col = b.add(b.mul(tile, numThreads), b.getThread());
        b.ifThen(b.isLess(col, b.getCols()), [&] {
          b.store(b.zero(b.getF32Type()), b.getPointer(out), col);
        });
      });
    });
  };
  spec.variants = {{1, 1, emit}};
  return spec;
}

/// The amax of the input and that of its transform along columns.
static void emitTransformAmax(KernelBuilder &b, Type dtype, unsigned firstOut,
                              bool withSigns, bool isVector) {
  Tile tile(b, dtype, isVector);
  Value none = b.zero(b.getF32Type());
  SmallVector<Value> amaxes = b.forEachTile(
      {none, none},
      [&](Value tileRow, Value tileCol, SmallVectorImpl<Value> &carried) {
        tile.load(b.mul(tileRow, tileSize), b.mul(tileCol, tileSize));
        b.barrier();
        SmallVector<Value> init = llvm::to_vector(carried);
        carried = b.forLoop(
            tileBlocks / numThreads, init,
            [&](Value index, ValueRange current) {
              Value number = b.add(b.getThread(), b.mul(index, numThreads));
              SmallVector<Value> values = tile.loadBlock(
                  /*isRowwise=*/false, b.div(number, lineBlocks),
                  b.rem(number, lineBlocks));
              Value transformed = buildHadamardTransform(b, values, withSigns);
              return SmallVector<Value>{
                  b.max(current[0], getBlockAmax(b, toVector(b, values))),
                  b.max(current[1], getBlockAmax(b, transformed))};
            });
        b.barrier();
      });
  for (auto [index, amax] : llvm::enumerate(amaxes)) {
    Value largest = b.blockMax(amax);
    b.ifThen(b.isEqual(b.getThread(), 0),
             [&, index = index] {
               b.atomicMax(largest, b.getPointer(firstOut + index));
             });
  }
}

static FailureOr<func::FuncOp>
emitTransformAmaxLaunch(NVFP4Attr quantizer, AmaxIntoOp op,
                        KernelContext &context) {
  InputProducer input(op);
  Type dtype = input.getElementType();
  bool withSigns = quantizer.getWithRandomSignMask();
  KernelSpec spec;
  spec.name = ("amax_nvfp4_" + getKernelTypeName(dtype) +
               (withSigns ? "_rht" : "_rht_unsigned") + input.getNameSuffix())
                  .str();
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  spec.input = input;
  input.appendPointers(spec.pointers);
  unsigned firstOut = spec.pointers.size();
  spec.pointers.append(2, {KernelPointer::Output, 4});
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return getTiles(b, rows, cols, /*isPadded=*/false);
  };
  auto emit = [=](KernelBuilder &b, bool isVector) {
    emitTransformAmax(b, dtype, firstOut, withSigns, isVector);
  };
  spec.variants = {{vectorBytes, vectorBytes / getBytes(dtype),
                    [=](KernelBuilder &b) { emit(b, true); }},
                   {1, 1, [=](KernelBuilder &b) { emit(b, false); }}};
  return context.makeLaunch(
      op.getLoc(), spec.name,
      {getZeroSpec(/*numPointers=*/firstOut + 2,
                   /*outs=*/{firstOut, firstOut + 1}),
       spec});
}

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

namespace {
struct NVFP4Kernels
    : KernelEmitterInterface::ExternalModel<NVFP4Kernels, NVFP4Attr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into", "swizzle_into", "amax_into",
            "derive_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    auto quantizer = cast<NVFP4Attr>(attr);
    // Nothing says whether blocks of the transform are 16x16 as well.
    if (quantizer.getWithRht() && quantizer.getWith_2dQuantization() &&
        quantizer.hasColumnwise())
      return op.emitOpError()
             << "expected usage rowwise for 'with_rht' together with "
                "'with_2d_quantization', as the blocks of the transform are "
                "not defined, but got "
             << stringifyUsage(quantizer.getUsage());
    if (!quantizer.getRowScaled() && op.getAmax().empty())
      return op.emitOpError()
             << "expected the amax of the input as an operand, but got none";
    Quantize config(quantizer, op);
    if (func::FuncOp launch = context.lookupLaunch(config.getName()))
      return launch;
    return config.makeLaunch(op.getLoc(), context);
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    return emitDequantizeLaunch(cast<NVFP4Attr>(attr), op, context);
  }

  FailureOr<func::FuncOp> emitSwizzle(Attribute attr, SwizzleIntoOp op,
                                      KernelContext &context) const {
    return emitScaleSwizzle(op, cast<QuantizerAttrInterface>(attr),
                            getGeometry(true), getGeometry(false), context);
  }

  FailureOr<func::FuncOp> emitAmax(Attribute attr, AmaxIntoOp op,
                                   KernelContext &context) const {
    auto quantizer = cast<NVFP4Attr>(attr);
    if (quantizer.getWithRht())
      return emitTransformAmaxLaunch(quantizer, op, context);
    return emitTensorAmax(op, context);
  }

  FailureOr<func::FuncOp> emitDerive(Attribute, DeriveIntoOp op,
                                     KernelContext &context) const {
    return emitDeriveLaunch(op, context);
  }
};
} // namespace

void te::quant::attachNVFP4Kernels(MLIRContext *context) {
  NVFP4Attr::attachInterface<NVFP4Kernels>(*context);
}
