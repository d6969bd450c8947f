//===- NVFP4RandomBits.h - which random bits round which values -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TransformerEngine has three kernels, each with an order of its own in which
// threads draw random words for the values of a chunk of 128x128. Which kernel
// it is follows from the extents. In all of them one draw serves one block: the
// bits of a value are a function of its place, whichever thread of ours asks.
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_KERNELS_NVFP4RANDOMBITS_H
#define TE_LIB_KERNELS_NVFP4RANDOMBITS_H

#include "te/Kernels/KernelBuilder.h"

namespace te::quant {

/// One direction of a tensor that TransformerEngine quantizes in one kernel.
struct NVFP4RandomOrder {
  mlir::Value rows, cols;
  bool isRowwise;
  /// Whether the kernel makes the other direction as well.
  bool isBoth;
  bool is2D;
  /// Whether the values are bf16.
  bool isBF16;
};

/// The random bits of one direction (numerics: 5.9).
class NVFP4RandomBits {
public:
  /// From an i64 seed and offset.
  NVFP4RandomBits(KernelBuilder &b, mlir::Value seed, mlir::Value offset,
                  const NVFP4RandomOrder &order);

  /// The bits of a block, a byte for each value; `block` is its number in the
  /// line.
  mlir::Value get(mlir::Value line, mlir::Value block) const;

private:
  /// A draw of a thread: the number of the thread in its chunk and that of the
  /// draw. The halves of a block may take the words the other way round; a
  /// null value says that they never do.
  struct Draw {
    mlir::Value thread, number, isSwapped;
  };

  Draw getTuned1D(mlir::Value row, mlir::Value col) const;
  Draw getTuned2D(mlir::Value row, mlir::Value col) const;
  Draw getFallback(mlir::Value row, mlir::Value col) const;
  mlir::Value isInUpperHalfWarp(mlir::Value thread) const;

  KernelBuilder &b;
  mlir::Value seed, offset;
  NVFP4RandomOrder order;
  mlir::Value chunksPerRow;
  /// i1: whether one of the tuned kernels takes the tensor; null if none could.
  mlir::Value isTuned;
};

} // namespace te::quant

#endif // TE_LIB_KERNELS_NVFP4RANDOMBITS_H
