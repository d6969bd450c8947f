//===- KernelBuilder.h - how kernels loop, load, reduce and store ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families say what a kernel computes, this builder how. Sizes and offsets
// are i64 throughout: tensors may have more than 2^31 elements.
//
//===----------------------------------------------------------------------===//

#ifndef TE_KERNELS_KERNELBUILDER_H
#define TE_KERNELS_KERNELBUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "te/Kernels/KernelEmitter.h"

namespace te::quant {

/// ceil(value / divisor) of a size; no overflow below 2^63 - divisor.
mlir::Value buildCeilDiv(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         int64_t divisor);

/// The tiles of `tileRows` by `tileCols` that cover rows by cols.
TileGrid buildTileGrid(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                       mlir::Value cols, int64_t tileRows, int64_t tileCols);

/// Tiles of `tileSize` elements that cover rows by cols as one long row.
TileGrid buildFlatGrid(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                       mlir::Value cols, int64_t tileSize);

/// Works on accesses of a thread: where they start, whether they are in the
/// tensor, and what the loop carries, which it replaces.
using AccessBody = llvm::function_ref<void(
    llvm::ArrayRef<mlir::Value> offsets, llvm::ArrayRef<mlir::Value> isInside,
    llvm::SmallVectorImpl<mlir::Value> &carried)>;

/// Builds the body of a kernel.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// At the start of `kernel`, which `spec` describes. Closes it when done.
  KernelBuilder(mlir::gpu::GPUFuncOp kernel, const KernelSpec &spec);

  /// The pointer for operand `index` of the op.
  mlir::Value getPointer(unsigned index) const { return pointers[index]; }
  mlir::Value getRows() const { return rows; }
  mlir::Value getCols() const { return cols; }
  /// The third extent; null where there is none.
  mlir::Value getDepth() const { return depth; }
  /// The index of the thread in its block.
  mlir::Value getThread() const { return thread; }

  //===--- Arithmetic on sizes and offsets --------------------------------===//

  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value add(mlir::Value lhs, int64_t rhs) { return add(lhs, i64(rhs)); }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs) { return mul(lhs, i64(rhs)); }
  mlir::Value div(mlir::Value lhs, int64_t rhs);
  mlir::Value rem(mlir::Value lhs, int64_t rhs);
  mlir::Value isLess(mlir::Value lhs, mlir::Value rhs);
  mlir::Value isEqual(mlir::Value lhs, int64_t rhs);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);

  //===--- Control --------------------------------------------------------===//

  /// Visits the tiles of the spec's grid, each by one block. A division is
  /// slow: only the first tile takes one.
  void
  forEachTile(llvm::function_ref<void(mlir::Value row, mlir::Value col)> body);

  /// The same with values that a thread carries from tile to tile.
  llvm::SmallVector<mlir::Value> forEachTile(
      mlir::ValueRange init,
      llvm::function_ref<void(mlir::Value row, mlir::Value col,
                              llvm::SmallVectorImpl<mlir::Value> &carried)>
          body);

  /// Visits all elements, `size` at a time, in the order of memory; the grid is
  /// a `buildFlatGrid`. `body` gets several accesses at once, so that loads can
  /// be under way together.
  llvm::SmallVector<mlir::Value> forEachAccess(int64_t tileSize, int64_t size,
                                               mlir::ValueRange init,
                                               AccessBody body);

  /// Runs `body` in one thread of the grid.
  void inFirstThread(llvm::function_ref<void()> body);

  /// Runs `body` where the flag, a pointer to one f32, is not exactly 1.0; the
  /// flag may be null.
  void unlessNoop(mlir::Value flag, llvm::function_ref<void()> body);

  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  void ifThenElse(mlir::Value condition, llvm::function_ref<void()> body,
                  llvm::function_ref<void()> otherwise);

  /// The value of one of the two.
  mlir::Value ifElse(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> body,
                     llvm::function_ref<mlir::Value()> otherwise);

  /// A loop that is not unrolled; returns what it carries.
  llvm::SmallVector<mlir::Value>
  forLoop(int64_t count, mlir::ValueRange init,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index,
                                                            mlir::ValueRange)>
              body);

  /// The same from `lower` to `upper` in steps, for extents of the tensor.
  llvm::SmallVector<mlir::Value>
  forRange(mlir::Value lower, mlir::Value upper, int64_t step,
           mlir::ValueRange init,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index,
                                                             mlir::ValueRange)>
               body);

  //===--- The logical input ----------------------------------------------===//

  /// A scalar or vector of the spec's input.
  mlir::Value loadInput(mlir::Type type, const InputIndex &index);
  mlir::Value loadInputOrZero(mlir::Value condition, mlir::Type type,
                              const InputIndex &index);
  /// Loads at each of `indices`, or zero where its `isInside` does not hold; all
  /// loads come first, so that they are under way together. `isFull` says that
  /// all of them hold: then there are no branches. To be the same in a warp; may
  /// be null.
  llvm::SmallVector<mlir::Value>
  loadInputs(mlir::Value isFull, llvm::ArrayRef<mlir::Value> isInside,
             mlir::Type type, llvm::ArrayRef<InputIndex> indices);

  //===--- Memory ---------------------------------------------------------===//

  /// The address of element `offset` (an i64) of `pointer`.
  mlir::Value getAddress(mlir::Value pointer, mlir::Type elementType,
                         mlir::Value offset);

  /// Loads from each of `offsets` as `loadInputs` does.
  llvm::SmallVector<mlir::Value> loadAll(mlir::Value isFull,
                                         llvm::ArrayRef<mlir::Value> isInside,
                                         mlir::Value pointer, mlir::Type type,
                                         llvm::ArrayRef<mlir::Value> offsets);

  /// Loads a scalar or vector at element `offset`; a vector with its whole size
  /// as alignment. Loads of inputs may be reordered freely. FP8 is loaded and
  /// stored as bytes.
  mlir::Value load(mlir::Value pointer, mlir::Type type, mlir::Value offset);
  mlir::Value loadOrZero(mlir::Value condition, mlir::Value pointer,
                         mlir::Type type, mlir::Value offset);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value offset);
  /// Merges an f32 that is not negative into the one at `pointer`.
  void atomicMax(mlir::Value value, mlir::Value pointer);

  /// Memory that the threads of a block share: `count` elements.
  mlir::Value makeShared(mlir::Type elementType, int64_t count);
  void barrier();

  //===--- Values ---------------------------------------------------------===//

  mlir::Value zero(mlir::Type type);
  mlir::Value widen(mlir::Value value);
  mlir::Value abs(mlir::Value value);
  /// The larger operand; a NaN loses against a number.
  mlir::Value max(mlir::Value lhs, mlir::Value rhs);
  /// The largest element of a vector.
  mlir::Value reduceMax(mlir::Value vector);
  /// The largest value among the lanes whose numbers differ in the bits of
  /// `lanes` only; all lanes of the warp take part.
  mlir::Value shuffleMax(mlir::Value value, unsigned lanes);
  /// The largest value among the threads of the block, known to the first one
  /// only; all take part. Once in a kernel: its shared memory is not reused.
  mlir::Value blockMax(mlir::Value value);
  /// Chains vectors of one type to a longer one.
  mlir::Value concat(mlir::ValueRange vectors);
  /// Elements [first, first + size) of a vector.
  mlir::Value slice(mlir::Value vector, int64_t first, int64_t size);

private:
  mlir::gpu::GPUFuncOp kernel;
  const KernelSpec &spec;
  llvm::SmallVector<mlir::Value> pointers;
  mlir::Value rows, cols, depth, thread;
};

/// The launch function of an `amax_into` for one amax, that of the input.
llvm::FailureOr<mlir::func::FuncOp> emitTensorAmax(AmaxIntoOp op,
                                                   KernelContext &context);

/// A stage that sets the f32 at each of `outs`, numbers of pointers, to zero,
/// for a later stage to merge into; also for an empty tensor. `noop` is the
/// number of the flag's pointer, if there is one.
KernelSpec getZeroSpec(unsigned numPointers, llvm::ArrayRef<unsigned> outs,
                       std::optional<unsigned> noop = std::nullopt);

/// Stores the sum of one column of a chunk of `column_sum`. Its elements are in
/// shared memory, `pitch` apart from `first` on, with zeros for rows beyond the
/// tensor; `chunk` and `col` may be beyond it.
void emitChunkSum(KernelBuilder &b, mlir::Value tile, mlir::Type dtype,
                  mlir::Value first, int64_t pitch, mlir::Value chunk,
                  mlir::Value col, mlir::Value chunks);

/// The launch function `name` of the stages that `getStages` makes for `op`,
/// followed by the last stage of its column sum if it has one; then the name
/// says its type.
llvm::FailureOr<mlir::func::FuncOp> makeQuantizeLaunch(
    QuantizeIntoOp op, std::string name,
    llvm::function_ref<llvm::SmallVector<KernelSpec, 0>()> getStages,
    KernelContext &context);

/// The offset of scale (i, j) in GEMM order, tiles of 128 by 4, where there are
/// `extentJ` of them along j (numerics: 4.4).
mlir::Value buildScaleTileOffset(KernelBuilder &b, mlir::Value i, mlir::Value j,
                                 mlir::Value extentJ);

/// Where one scale tensor of a format with blocks along one dimension keeps its
/// scales. `j` is the number of the block along the contracted dimension, `i`
/// the index along the other.
struct ScaleGeometry {
  /// Elements of a block along the contracted dimension.
  int64_t block;
  /// The extent that blocks divide: Cols for rowwise, Rows for columnwise.
  Extent blocked;
  /// Compact order: whether `j` is the slow dimension, [j][i].
  bool blocksFirst;
};

/// One scale tensor in a kernel: scales are bytes there.
class ScaleTensor {
public:
  ScaleTensor(KernelBuilder &b, mlir::Value pointer, ScaleGeometry geometry,
              bool isGemmOrder);

  /// i1: whether (i, j) is not padding.
  mlir::Value isValid(mlir::Value i, mlir::Value j);
  /// The element offset of scale (i, j) (numerics: 4.4).
  mlir::Value getOffset(mlir::Value i, mlir::Value j);

  mlir::Value load(mlir::Value i, mlir::Value j);
  /// `count` scales of consecutive `i`; a multiple of `count` is given.
  mlir::Value loadAlongI(mlir::Value i, mlir::Value j, int64_t count);
  /// Stores a byte. In GEMM order padding becomes zero, in compact order it is
  /// left alone.
  void store(mlir::Value scale, mlir::Value i, mlir::Value j);

  /// Extents without padding, and tiles of four blocks in the padded tensor.
  mlir::Value getI() const { return extentI; }
  mlir::Value getJ() const { return extentJ; }
  mlir::Value getTiles() const { return tiles; }
  mlir::Value getPointer() const { return pointer; }

private:
  KernelBuilder &b;
  mlir::Value pointer;
  ScaleGeometry geometry;
  bool isGemmOrder;
  mlir::Value extentI, extentJ, tiles, pitch;
};

/// The launch function of a `swizzle_into` of `rowwise_scale_inv` or
/// `columnwise_scale_inv`, scales with these geometries.
llvm::FailureOr<mlir::func::FuncOp>
emitScaleSwizzle(SwizzleIntoOp op, QuantizerAttrInterface quantizer,
                 ScaleGeometry rowwise, ScaleGeometry columnwise,
                 KernelContext &context);

} // namespace te::quant

#endif // TE_KERNELS_KERNELBUILDER_H
