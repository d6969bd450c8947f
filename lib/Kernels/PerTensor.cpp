//===- PerTensor.cpp - kernels of per-tensor FP8 --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Current and delayed scaling share the storage and all loops; they differ in
// where the scale comes from and in whether the amax is recorded.
//
// Without transposed data a tensor is one long row. With it, a block of 256
// threads works on tiles of 128 rows by eight vectors of input: each thread has
// a vector in four rows, whose bytes it transposes in registers and puts into
// shared memory as words of four rows. From there whole pieces of 16 rows go to
// the transposed tensor.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"
#include "te/Numerics/Formats.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace te;
using namespace te::quant;

static constexpr int64_t numThreads = 256, warpSize = 32;
static constexpr unsigned vectorBytes = 16;
/// Rows of a tile, vectors in each of them, rows of a thread.
static constexpr int64_t tileRows = 128, tileVectors = 8, threadRows = 4;
/// Rows of a piece of transposed data, and pieces in the tile.
static constexpr int64_t pieceRows = 16, numPieces = tileRows / pieceRows;

/// Elements of a vector.
static int64_t getVectorSize(Type dtype) {
  return vectorBytes * 8 / dtype.getIntOrFloatBitWidth();
}

static unsigned getBytes(Type dtype) {
  return dtype.getIntOrFloatBitWidth() / 8;
}

/// Elements of a tile of a tensor taken as one row.
static int64_t getFlatTileSize(Type dtype) {
  return threadRows * numThreads * getVectorSize(dtype);
}

static float getFP8Max(Type fp8Dtype) {
  return isa<Float8E5M2Type>(fp8Dtype) ? 57344.0f : 448.0f;
}

/// `size` elements, or one of them as a scalar.
static Type getAccessType(Type dtype, int64_t size) {
  return size == 1 ? dtype : VectorType::get(size, dtype);
}

static Value splat(KernelBuilder &b, Value value, int64_t size) {
  if (size == 1)
    return value;
  return vector::BroadcastOp::create(b, VectorType::get(size, value.getType()),
                                     value);
}

/// All loads come first, so that they are under way together.
static SmallVector<Value> loadAll(KernelBuilder &b, Value pointer, Type type,
                                  ArrayRef<InputIndex> indices,
                                  ArrayRef<Value> isInside) {
  SmallVector<Value> values;
  for (auto [index, isIn] : llvm::zip_equal(indices, isInside))
    values.push_back(b.loadOrZero(isIn, pointer, type, index.offset));
  return values;
}

static SmallVector<InputIndex> toIndices(ArrayRef<Value> offsets) {
  return llvm::map_to_vector(offsets,
                             [](Value offset) { return InputIndex{offset}; });
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

namespace {
/// Visits a matrix tile by tile and hands over the bytes made of its elements
/// in the order of the transposed matrix.
class Transposition {
public:
  /// What makes bytes of elements.
  using Make = function_ref<SmallVector<Value>(
      ArrayRef<InputIndex> indices, ArrayRef<Value> isInside,
      SmallVectorImpl<Value> &carried)>;
  /// Takes bytes, one or `pieceRows`, and their offset in the transposed matrix.
  using Take = function_ref<void(Value bytes, Value offset)>;
  /// Visits a tile when all threads have made their bytes and none those of the
  /// next tile.
  using Visit = function_ref<void(Value tileRow, Value tileCol)>;

  /// `vectorSize`: elements of a vector of input. The grid must have been made
  /// by `getTiles` of the same extents.
  Transposition(KernelBuilder &b, int64_t vectorSize, Value rows, Value cols)
      : b(b), vectorSize(vectorSize), tileCols(tileVectors * vectorSize),
        rows(rows), cols(cols) {}

  static TileGrid getTiles(ImplicitLocOpBuilder &b, int64_t vectorSize,
                           Value rows, Value cols) {
    return buildTileGrid(b, rows, cols, tileRows, tileVectors * vectorSize);
  }

  /// Columns must be a multiple of the vector, rows of the piece.
  SmallVector<Value> runVector(ValueRange init, Make make, Take take,
                               Visit visit = {});
  SmallVector<Value> runGeneric(ValueRange init, Make make, Take take,
                                Visit visit = {});

private:
  /// The offset of the piece with this number in a column. Columns of a vector
  /// share a permutation of pieces, so that neither the words of a warp nor
  /// the pieces of a column meet in a bank.
  Value getPieceOffset(Value col, Value vector, Value piece) {
    Value permuted = arith::XOrIOp::create(b, piece, vector);
    return b.add(b.mul(col, tileRows), b.mul(permuted, pieceRows));
  }

  KernelBuilder &b;
  int64_t vectorSize, tileCols;
  Value rows, cols;
};
} // namespace

/// The bytes of one column of four rows.
static Value getColumn(KernelBuilder &b, ArrayRef<Value> rows, int64_t col) {
  int64_t size = cast<VectorType>(rows[0].getType()).getNumElements();
  auto pair = [&](Value first, Value second) -> Value {
    return vector::ShuffleOp::create(b, first, second,
                                     ArrayRef<int64_t>{col, size + col});
  };
  return b.concat({pair(rows[0], rows[1]), pair(rows[2], rows[3])});
}

SmallVector<Value> Transposition::runVector(ValueRange init, Make make,
                                            Take take, Visit visit) {
  Type i8 = b.getI8Type();
  auto pieceType = VectorType::get(pieceRows, i8);
  Value shared = b.makeShared(i8, tileCols * tileRows);
  Value t = b.getThread();
  // A warp has all vectors of four groups of four rows, that is of one piece.
  Value vector = b.rem(t, tileVectors);
  Value group = b.div(t, tileVectors);
  Value rowInTile = b.mul(group, threadRows);
  Value colInTile = b.mul(vector, vectorSize);
  Value word = b.add(getPieceOffset(colInTile, vector, b.div(t, warpSize)),
                     b.rem(rowInTile, pieceRows));

  return b.forEachTile(init, [&](Value tileRow, Value tileCol,
                                 SmallVectorImpl<Value> &carried) {
    Value firstRow = b.mul(tileRow, tileRows);
    Value firstCol = b.mul(tileCol, tileCols);
    Value col = b.add(firstCol, colInTile);
    Value isCol = b.isLess(col, cols);
    SmallVector<InputIndex> indices;
    SmallVector<Value> isInside;
    for (int64_t k = 0; k < threadRows; ++k) {
      Value row = b.add(b.add(firstRow, rowInTile), k);
      Value offset = k == 0 ? b.add(b.mul(row, cols), col)
                            : b.add(indices.back().offset, cols);
      indices.push_back({offset, row, col});
      isInside.push_back(b.both(isCol, b.isLess(row, rows)));
    }
    SmallVector<Value> bytes = make(indices, isInside, carried);
    for (int64_t k = 0; k < vectorSize; ++k)
      b.store(getColumn(b, bytes, k), shared, b.add(word, k * tileRows));
    b.barrier();
    for (int64_t k = 0; k < tileCols * numPieces; k += numThreads) {
      Value index = b.add(t, k);
      Value pieceCol = b.div(index, numPieces);
      Value piece = b.rem(index, numPieces);
      Value source =
          getPieceOffset(pieceCol, b.div(pieceCol, vectorSize), piece);
      Value row = b.add(firstRow, b.mul(piece, pieceRows));
      Value col = b.add(firstCol, pieceCol);
      b.ifThen(b.both(b.isLess(col, cols), b.isLess(row, rows)), [&] {
        take(b.load(shared, pieceType, source), b.add(b.mul(col, rows), row));
      });
    }
    if (visit)
      visit(tileRow, tileCol);
    // The next tile overwrites what others may still read.
    b.barrier();
  });
}

SmallVector<Value> Transposition::runGeneric(ValueRange init, Make make,
                                             Take take, Visit visit) {
  // One word of padding for each column: no two rows start in one bank.
  constexpr int64_t pitch = tileRows + 4;
  Type i8 = b.getI8Type();
  Value shared = b.makeShared(i8, tileCols * pitch);
  Value t = b.getThread();
  int64_t count = tileRows * tileCols / numThreads;
  Value colInTile = b.rem(t, tileCols);
  Value firstRowInTile = b.div(t, tileCols);
  Value rowInTile = b.rem(t, tileRows);
  Value firstColInTile = b.div(t, tileRows);

  return b.forEachTile(init, [&](Value tileRow, Value tileCol,
                                 SmallVectorImpl<Value> &carried) {
    Value firstRow = b.mul(tileRow, tileRows);
    Value firstCol = b.mul(tileCol, tileCols);
    SmallVector<Value> inits = llvm::to_vector(carried);
    carried = b.forLoop(count, inits, [&](Value index, ValueRange current) {
      Value inTile =
          b.add(firstRowInTile, b.mul(index, numThreads / tileCols));
      Value row = b.add(firstRow, inTile), col = b.add(firstCol, colInTile);
      Value isInside = b.both(b.isLess(row, rows), b.isLess(col, cols));
      SmallVector<Value> next(current);
      InputIndex at = {b.add(b.mul(row, cols), col), row, col};
      Value byte = make(at, isInside, next).front();
      b.store(byte, shared, b.add(b.mul(colInTile, pitch), inTile));
      return next;
    });
    b.barrier();
    b.forLoop(count, {}, [&](Value index, ValueRange) {
      Value inTile =
          b.add(firstColInTile, b.mul(index, numThreads / tileRows));
      Value row = b.add(firstRow, rowInTile), col = b.add(firstCol, inTile);
      b.ifThen(b.both(b.isLess(row, rows), b.isLess(col, cols)), [&] {
        take(b.load(shared, i8, b.add(b.mul(inTile, pitch), rowInTile)),
             b.add(b.mul(col, rows), row));
      });
      return SmallVector<Value>();
    });
    if (visit)
      visit(tileRow, tileCol);
    b.barrier();
  });
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

namespace {
/// How current scaling makes its scale.
struct CurrentRule {
  bool isPow2;
  float epsilon;
};

/// Builds the kernels of one configuration. Operand order is inputs, noop, amax
/// or scale, outs: data, transpose, inverse scale, recorded amax, column sum and
/// sums of chunks.
class Quantize {
public:
  Quantize(QuantizerAttrInterface quantizer, Type fp8,
           std::optional<CurrentRule> current, QuantizeIntoOp op)
      : family(quantizer.getFamily()), input(op), fp8(fp8),
        dtype(input.getElementType()), current(current),
        hasNoop(bool(op.getNoop())), hasColumnSum(op.getColumnSum()) {
    LayoutAttr layout = getLayout(quantizer, dtype);
    hasData = layout.lookup("data").has_value();
    hasTranspose = layout.lookup("transpose").has_value();
  }

  std::string getName() const;
  SmallVector<KernelSpec, 0> getStages() const;

private:
  void emit(KernelBuilder &b, bool isVector) const;

  StringRef family;
  InputProducer input;
  Type fp8, dtype;
  /// Delayed scaling where there is none.
  std::optional<CurrentRule> current;
  bool hasNoop, hasColumnSum, hasData, hasTranspose;
};
} // namespace

std::string Quantize::getName() const {
  std::string name = ("quantize_" + family + "_" + getKernelTypeName(fp8) +
                      "_" + getKernelTypeName(dtype) + "_")
                         .str();
  name += !hasTranspose ? "rowwise" : hasData ? "both" : "columnwise";
  if (current && current->isPow2)
    name += "_pow2";
  if (current && current->epsilon > 0)
    name += "_eps" + llvm::utohexstr(numerics::bitsOf(current->epsilon),
                                     /*LowerCase=*/true);
  if (hasNoop)
    name += "_noop";
  if (hasColumnSum)
    name += "_sums";
  return name + input.getNameSuffix().str();
}

SmallVector<KernelSpec, 0> Quantize::getStages() const {
  KernelSpec spec;
  spec.name = getName();
  spec.input = input;
  input.appendPointers(spec.pointers);
  if (hasNoop)
    spec.pointers.push_back({KernelPointer::Input, 4});
  spec.pointers.push_back({KernelPointer::Input, 4});
  spec.pointers.append(hasData + hasTranspose,
                       {KernelPointer::Output, 1, /*isVector=*/true});
  spec.pointers.push_back({KernelPointer::Output, 4});
  unsigned amax = spec.pointers.size();
  if (!current)
    spec.pointers.push_back({KernelPointer::Output, 4});
  if (hasColumnSum)
    spec.pointers.append(
        {{KernelPointer::Unused}, {KernelPointer::Output, 4}});
  spec.threadsPerBlock = numThreads;
  int64_t size = getVectorSize(dtype);
  if (hasTranspose)
    spec.getTiles = [size](ImplicitLocOpBuilder &b, Value rows, Value cols) {
      return Transposition::getTiles(b, size, rows, cols);
    };
  else
    spec.getTiles = [tileSize = getFlatTileSize(dtype)](
                        ImplicitLocOpBuilder &b, Value rows, Value cols) {
      return buildFlatGrid(b, rows, cols, tileSize);
    };
  Quantize config = *this;
  spec.variants = {{vectorBytes, size,
                    [config](KernelBuilder &b) { config.emit(b, true); },
                    /*rowsMultiple=*/hasTranspose ? pieceRows : 1},
                   {1, 1, [config](KernelBuilder &b) { config.emit(b, false); }}};
  if (current)
    return {spec};
  KernelSpec zero = getZeroSpec(
      spec.pointers.size(), {amax},
      hasNoop ? std::optional<unsigned>(input.getNumPointers()) : std::nullopt);
  return {zero, spec};
}

void Quantize::emit(KernelBuilder &b, bool isVector) const {
  unsigned next = input.getNumPointers();
  Value noop = hasNoop ? b.getPointer(next++) : Value();
  Value factor = b.getPointer(next++);
  Value data = hasData ? b.getPointer(next++) : Value();
  Value transpose = hasTranspose ? b.getPointer(next++) : Value();
  Value scaleInv = b.getPointer(next++);
  Value amax = current ? Value() : b.getPointer(next++);
  Value chunks = hasColumnSum ? b.getPointer(next + 1) : Value();

  Type f32 = b.getF32Type();
  int64_t size = isVector ? getVectorSize(dtype) : 1;
  Type inputType = getAccessType(dtype, size);
  b.unlessNoop(noop, [&] {
    Value scale = b.load(factor, f32, b.i64(0));
    if (current)
      scale = buildScaleFromAmax(b, scale, getFP8Max(fp8), current->isPow2,
                                 current->epsilon,
                                 std::numeric_limits<float>::max());
    b.inFirstThread(
        [&] { b.store(buildReciprocal(b, scale), scaleInv, b.i64(0)); });
    Value scales = splat(b, scale, size);
    // The elements of a tile, where columns are summed.
    int64_t tileCols = tileVectors * getVectorSize(dtype);
    Value summands =
        chunks ? b.makeShared(dtype, tileRows * tileCols) : Value();

    auto make = [&](ArrayRef<InputIndex> indices, ArrayRef<Value> isInside,
                    SmallVectorImpl<Value> &carried) {
      SmallVector<Value> bytes;
      for (auto [value, index, isIn] : llvm::zip_equal(
               b.loadInputs(/*isFull=*/Value(), isInside, inputType, indices),
               indices, isInside)) {
        if (summands)
          b.store(value, summands,
                  b.add(b.mul(b.rem(index.row, tileRows), tileCols),
                        b.rem(index.col, tileCols)));
        Value wide = b.widen(value);
        if (amax)
          carried[0] = b.max(carried[0], b.abs(wide));
        Value narrow = buildScaledFP8(b, wide, scales, fp8);
        if (hasData)
          b.ifThen(isIn, [&, offset = index.offset] {
            b.store(narrow, data, offset);
          });
        bytes.push_back(narrow);
      }
      return bytes;
    };
    auto take = [&](Value bytes, Value offset) {
      b.store(bytes, transpose, offset);
    };
    // A thread has a column of one of the tile's chunks.
    auto sumColumns = [&](Value tileRow, Value tileCol) {
      if (!summands)
        return;
      constexpr int64_t tileChunks = tileRows / columnSumChunk;
      Value chunk = b.div(b.getThread(), tileCols);
      Value col = b.rem(b.getThread(), tileCols);
      b.ifThen(b.isLess(chunk, b.i64(tileChunks)), [&] {
        emitChunkSum(b, summands, dtype,
                     b.add(b.mul(chunk, columnSumChunk * tileCols), col),
                     tileCols, b.add(b.mul(tileRow, tileChunks), chunk),
                     b.add(b.mul(tileCol, tileCols), col), chunks);
      });
    };
    SmallVector<Value> carried;
    if (amax)
      carried.push_back(b.zero(getAccessType(f32, size)));
    if (hasTranspose) {
      Transposition transposition(b, getVectorSize(dtype), b.getRows(),
                                  b.getCols());
      carried =
          isVector
              ? transposition.runVector(carried, make, take, sumColumns)
              : transposition.runGeneric(carried, make, take, sumColumns);
    } else {
      carried = b.forEachAccess(
          getFlatTileSize(dtype), size, carried,
          [&](ArrayRef<Value> offsets, ArrayRef<Value> isInside,
              SmallVectorImpl<Value> &values) {
            (void)make(toIndices(offsets), isInside, values);
          });
    }
    if (!amax)
      return;
    Value largest = isVector ? b.reduceMax(carried[0]) : carried[0];
    largest = b.blockMax(largest);
    b.ifThen(b.isEqual(b.getThread(), 0), [&] { b.atomicMax(largest, amax); });
  });
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

/// Decodes data in the order of the output.
static void emitDequantizeData(KernelBuilder &b, Type fp8, Type dtype,
                               int64_t size, Value data, Value scaleInv,
                               Value output) {
  Value scale = splat(b, b.load(scaleInv, b.getF32Type(), b.i64(0)), size);
  Type bytesType = getAccessType(b.getI8Type(), size);
  auto body = [&](ArrayRef<Value> offsets, ArrayRef<Value> isInside,
                  SmallVectorImpl<Value> &) {
    for (auto [bytes, offset, isIn] :
         llvm::zip_equal(
             loadAll(b, data, bytesType, toIndices(offsets), isInside), offsets,
             isInside)) {
      Value value = buildScaledValue(b, bytes, fp8, scale, dtype);
      b.ifThen(isIn, [&, offset = offset] { b.store(value, output, offset); });
    }
  };
  b.forEachAccess(getFlatTileSize(dtype), size, {}, body);
}

/// Hands transposed bytes on; `take` is called as by a transposition whose
/// input is the transposed data.
static void emitTransposeBytes(KernelBuilder &b, bool isVector, Value data,
                               Value rows, Value cols,
                               Transposition::Take take) {
  int64_t size = getVectorSize(b.getI8Type());
  Type type = getAccessType(b.getI8Type(), isVector ? size : 1);
  auto make = [&](ArrayRef<InputIndex> indices, ArrayRef<Value> isInside,
                  SmallVectorImpl<Value> &) {
    return loadAll(b, data, type, indices, isInside);
  };
  Transposition transposition(b, size, rows, cols);
  if (isVector)
    transposition.runVector({}, make, take);
  else
    transposition.runGeneric({}, make, take);
}

/// Decodes transposed data, a matrix of `cols` rows.
static void emitDequantizeTranspose(KernelBuilder &b, Type fp8, Type dtype,
                                    bool isVector, Value data, Value scaleInv,
                                    Value output) {
  int64_t size = isVector ? pieceRows : 1;
  Value scale = splat(b, b.load(scaleInv, b.getF32Type(), b.i64(0)), size);
  auto take = [&](Value bytes, Value offset) {
    Value values = buildScaledValue(b, bytes, fp8, scale, dtype);
    if (!isVector)
      return b.store(values, output, offset);
    int64_t part = getVectorSize(dtype);
    for (int64_t first = 0; first < pieceRows; first += part)
      b.store(b.slice(values, first, part), output, b.add(offset, first));
  };
  emitTransposeBytes(b, isVector, data, b.getCols(), b.getRows(), take);
}

/// The tiles of bytes with these rows and columns.
static TileGrid getByteTiles(ImplicitLocOpBuilder &b, Value rows, Value cols) {
  return Transposition::getTiles(b, getVectorSize(b.getI8Type()), rows, cols);
}

static FailureOr<func::FuncOp> emitDequantizeLaunch(
    QuantizerAttrInterface quantizer, Type fp8, DequantizeIntoOp op,
    KernelContext &context) {
  Type dtype = getElementTypeOrSelf(op.getOuts().getType());
  LayoutAttr layout = getLayout(quantizer, dtype);
  bool hasData = layout.lookup("data").has_value();
  bool hasTranspose = layout.lookup("transpose").has_value();
  auto getName = [&](StringRef usage) {
    return ("dequantize_per_tensor_" + getKernelTypeName(fp8) + "_" +
            getKernelTypeName(dtype) + "_" + usage)
        .str();
  };
  KernelSpec spec;
  spec.name = getName(hasData ? "rowwise" : "columnwise");
  spec.launchName =
      getName(hasData && hasTranspose ? "both"
                                      : hasData ? "rowwise" : "columnwise");
  if (func::FuncOp launch = context.lookupLaunch(spec.launchName))
    return launch;
  spec.pointers.push_back({KernelPointer::Input, 1, /*isVector=*/true});
  if (hasData && hasTranspose)
    spec.pointers.push_back({KernelPointer::Unused});
  spec.pointers.push_back({KernelPointer::Input, 4});
  spec.pointers.push_back(
      {KernelPointer::Output, getBytes(dtype), /*isVector=*/true});
  unsigned scaleInv = spec.pointers.size() - 2, output = scaleInv + 1;
  spec.threadsPerBlock = numThreads;
  int64_t size = getVectorSize(dtype);
  if (hasData) {
    spec.getTiles = [tileSize = getFlatTileSize(dtype)](
                        ImplicitLocOpBuilder &b, Value rows, Value cols) {
      return buildFlatGrid(b, rows, cols, tileSize);
    };
    auto emit = [=](KernelBuilder &b, int64_t size) {
      emitDequantizeData(b, fp8, dtype, size, b.getPointer(0),
                         b.getPointer(scaleInv), b.getPointer(output));
    };
    spec.variants = {
        {vectorBytes, size, [=](KernelBuilder &b) { emit(b, size); }},
        {1, 1, [=](KernelBuilder &b) { emit(b, 1); }}};
  } else {
    spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
      return getByteTiles(b, cols, rows);
    };
    auto emit = [=](KernelBuilder &b, bool isVector) {
      emitDequantizeTranspose(b, fp8, dtype, isVector, b.getPointer(0),
                              b.getPointer(scaleInv), b.getPointer(output));
    };
    spec.variants = {{vectorBytes, pieceRows,
                      [=](KernelBuilder &b) { emit(b, true); },
                      /*rowsMultiple=*/vectorBytes},
                     {1, 1, [=](KernelBuilder &b) { emit(b, false); }}};
  }
  return context.makeLaunch(op.getLoc(), spec);
}

//===----------------------------------------------------------------------===//
// Derive
//===----------------------------------------------------------------------===//

/// Operand order is data, inverse scale, transpose.
static FailureOr<func::FuncOp> emitDeriveLaunch(DeriveIntoOp op,
                                                KernelContext &context) {
  KernelSpec spec;
  spec.name = "transpose_bytes";
  spec.launchName = "derive_per_tensor";
  if (func::FuncOp launch = context.lookupLaunch(spec.launchName))
    return launch;
  spec.pointers = {{KernelPointer::Input, 1, /*isVector=*/true},
                   {KernelPointer::Unused},
                   {KernelPointer::Output, 1, /*isVector=*/true}};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = getByteTiles;
  auto emit = [](KernelBuilder &b, bool isVector) {
    emitTransposeBytes(b, isVector, b.getPointer(0), b.getRows(), b.getCols(),
                       [&](Value bytes, Value offset) {
                         b.store(bytes, b.getPointer(2), offset);
                       });
  };
  spec.variants = {{vectorBytes, vectorBytes,
                    [emit](KernelBuilder &b) { emit(b, true); },
                    /*rowsMultiple=*/pieceRows},
                   {1, 1, [emit](KernelBuilder &b) { emit(b, false); }}};
  return context.makeLaunch(op.getLoc(), spec);
}

//===----------------------------------------------------------------------===//
// Update of the delayed scale
//===----------------------------------------------------------------------===//

namespace {
/// One block rolls the history and reduces it (numerics: 2.3). Operand order is
/// history, amax, scale, new history, new scale.
struct UpdateScale {
  void emit(KernelBuilder &b) const;

  AmaxAlgo algo;
  /// The largest FP8 value times 2^-margin.
  float scaledMax;
  bool keepsOnZero;
};
} // namespace

void UpdateScale::emit(KernelBuilder &b) const {
  Value history = b.getPointer(0), newHistory = b.getPointer(3);
  Type f32 = b.getF32Type();
  Value zero = b.zero(f32);
  auto constant = [&](float value) {
    return buildF32Bits(b, f32, numerics::bitsOf(value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value lhs,
                     Value rhs) -> Value {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  };
  auto select = [&](Value condition, Value lhs, Value rhs) -> Value {
    return arith::SelectOp::create(b, condition, lhs, rhs);
  };
  Value length = b.getCols();

  // No amax is recorded as zero: then the slot being filled counts.
  Value amax = b.load(b.getPointer(1), f32, b.i64(0));
  Value last = select(compare(arith::CmpFPredicate::UNE, amax, zero), amax,
                      b.load(history, f32, b.i64(0)));
  Value isKept =
      keepsOnZero ? compare(arith::CmpFPredicate::OEQ, last, zero) : Value();

  auto loop = scf::ForOp::create(b, b.getThread(), length,
                                 b.i64(numThreads), ValueRange(zero));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = loop.getInductionVar();
    Value following = b.add(slot, 1);
    Value old = b.load(history, f32, slot);
    Value rolled = b.ifElse(
        b.isLess(following, length), f32,
        [&] { return b.load(history, f32, following); },
        [&] { return last; });
    Value isFilled = b.isEqual(slot, 0);
    Value value = select(isFilled, zero, rolled);
    if (isKept)
      value = select(isKept, old, value);
    b.store(value, newHistory, slot);
    Value largest = b.max(loop.getRegionIterArgs()[0],
                          select(isFilled, zero, old));
    scf::YieldOp::create(b, largest);
  }
  Value chosen = last;
  if (algo == AmaxAlgo::Max)
    chosen = b.max(b.blockMax(loop.getResult(0)), b.max(last, zero));

  b.ifThen(b.isEqual(b.getThread(), 0), [&] {
    Value infinity = constant(std::numeric_limits<float>::infinity());
    Value old = b.load(b.getPointer(2), f32, b.i64(0));
    Value isUsable =
        b.both(compare(arith::CmpFPredicate::OGT, chosen, zero),
               compare(arith::CmpFPredicate::OLT, chosen, infinity));
    Value scale = select(
        isUsable, arith::DivFOp::create(b, constant(scaledMax), chosen), old);
    Value isInfinite =
        compare(arith::CmpFPredicate::OEQ, b.abs(scale), infinity);
    scale = select(isInfinite, constant(std::numeric_limits<float>::max()),
                   scale);
    if (isKept)
      scale = select(isKept, old, scale);
    b.store(scale, b.getPointer(4), b.i64(0));
  });
}

static FailureOr<func::FuncOp> emitUpdateScaleLaunch(Type fp8,
                                                     UpdateScaleIntoOp op,
                                                     KernelContext &context) {
  // Beyond these the power is zero or infinite anyway.
  int64_t margin = std::clamp<int64_t>(op.getMargin(), -1000, 1000);
  float power = std::ldexp(1.0, -margin);
  UpdateScale config = {op.getAlgo(), getFP8Max(fp8) * power,
                        op.getKeepOnZeroAmax()};
  KernelSpec spec;
  spec.name = ("update_scale_" + getKernelTypeName(fp8) + "_" +
               stringifyAmaxAlgo(config.algo))
                  .str();
  if (margin != 0)
    spec.name += (margin < 0 ? "_margin_minus" : "_margin") +
                 std::to_string(std::abs(margin));
  if (config.keepsOnZero)
    spec.name += "_keep";
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  spec.pointers.append(3, {KernelPointer::Input, 4});
  spec.pointers.append(2, {KernelPointer::Output, 4});
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value, Value) {
    Value one = arith::ConstantIntOp::create(b, 1, 64);
    return TileGrid{one, one};
  };
  spec.variants = {{1, 1, [config](KernelBuilder &b) { config.emit(b); }}};
  return context.makeLaunch(op.getLoc(), spec);
}

//===----------------------------------------------------------------------===//
// Emitters
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> emitQuantizeLaunch(const Quantize &config,
                                                  QuantizeIntoOp op,
                                                  KernelContext &context) {
  return makeQuantizeLaunch(
      op, config.getName(), [&] { return config.getStages(); }, context);
}

namespace {
struct CurrentScalingKernels
    : KernelEmitterInterface::ExternalModel<CurrentScalingKernels,
                                            Float8CurrentScalingAttr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into", "amax_into", "derive_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    auto quantizer = cast<Float8CurrentScalingAttr>(attr);
    if (op.getAmax().empty())
      return op.emitOpError()
             << "expected the amax of the input as an operand, but got none";
    CurrentRule rule = {quantizer.getForcePow_2Scales(),
                        quantizer.getAmaxEpsilon().convertToFloat()};
    return emitQuantizeLaunch(
        Quantize(quantizer, quantizer.getFp8Dtype(), rule, op), op, context);
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    auto quantizer = cast<Float8CurrentScalingAttr>(attr);
    return emitDequantizeLaunch(quantizer, quantizer.getFp8Dtype(), op,
                                context);
  }

  FailureOr<func::FuncOp> emitAmax(Attribute, AmaxIntoOp op,
                                   KernelContext &context) const {
    return emitTensorAmax(op, context);
  }

  FailureOr<func::FuncOp> emitDerive(Attribute, DeriveIntoOp op,
                                     KernelContext &context) const {
    return emitDeriveLaunch(op, context);
  }
};

struct DelayedScalingKernels
    : KernelEmitterInterface::ExternalModel<DelayedScalingKernels,
                                            Float8DelayedScalingAttr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into", "update_scale_into",
            "derive_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    auto quantizer = cast<Float8DelayedScalingAttr>(attr);
    return emitQuantizeLaunch(
        Quantize(quantizer, quantizer.getFp8Dtype(), std::nullopt, op), op,
        context);
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    auto quantizer = cast<Float8DelayedScalingAttr>(attr);
    return emitDequantizeLaunch(quantizer, quantizer.getFp8Dtype(), op,
                                context);
  }

  FailureOr<func::FuncOp> emitUpdateScale(Attribute attr, UpdateScaleIntoOp op,
                                          KernelContext &context) const {
    return emitUpdateScaleLaunch(
        cast<Float8DelayedScalingAttr>(attr).getFp8Dtype(), op, context);
  }

  FailureOr<func::FuncOp> emitDerive(Attribute, DeriveIntoOp op,
                                     KernelContext &context) const {
    return emitDeriveLaunch(op, context);
  }
};
} // namespace

void te::quant::attachFloat8CurrentScalingKernels(MLIRContext *context) {
  Float8CurrentScalingAttr::attachInterface<CurrentScalingKernels>(*context);
}

void te::quant::attachFloat8DelayedScalingKernels(MLIRContext *context) {
  Float8DelayedScalingAttr::attachInterface<DelayedScalingKernels>(*context);
}
