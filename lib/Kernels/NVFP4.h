//===- NVFP4.h - what the kernels of NVFP4 share --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_KERNELS_NVFP4_H
#define TE_LIB_KERNELS_NVFP4_H

#include "te/Kernels/KernelBuilder.h"

namespace te::quant::nvfp4 {

inline constexpr int64_t blockSize = 16;
inline constexpr int64_t numThreads = 128;
inline constexpr unsigned vectorBytes = 16;
/// A tile's lines, and the blocks of a line and of the tile.
inline constexpr int64_t tileSize = 64, lineBlocks = tileSize / blockSize,
                         tileBlocks = tileSize * lineBlocks;

/// Both directions store [i][j]: columnwise data is transposed.
inline ScaleGeometry getGeometry(bool isRowwise) {
  return {blockSize, isRowwise ? Extent::Cols : Extent::Rows,
          /*blocksFirst=*/false};
}

inline unsigned getBytes(mlir::Type dtype) {
  return dtype.getIntOrFloatBitWidth() / 8;
}

llvm::FailureOr<mlir::func::FuncOp>
emitDequantizeLaunch(NVFP4Attr quantizer, DequantizeIntoOp op,
                     KernelContext &context);

llvm::FailureOr<mlir::func::FuncOp> emitDeriveLaunch(DeriveIntoOp op,
                                                     KernelContext &context);

} // namespace te::quant::nvfp4

#endif // TE_LIB_KERNELS_NVFP4_H
