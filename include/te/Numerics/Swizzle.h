//===- Swizzle.h - the order of scales that GEMMs read ---------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_NUMERICS_SWIZZLE_H
#define TE_NUMERICS_SWIZZLE_H

#include <cstdint>

namespace te::numerics {

/// The byte offset, in GEMM order, of the scale of row `i` (along the dimension
/// that is not contracted) and block `j` (along the contracted one), with
/// `tiles` tiles of four blocks in a row of tiles (numerics: 4.4).
///
/// One tile covers 128 rows by 4 blocks and takes 512 bytes. The number of
/// tiles comes from the padded block count: cdiv(blocks, 4).
inline constexpr uint64_t swizzledScaleOffset(uint64_t i, uint64_t j,
                                              uint64_t tiles) {
  return (i / 128 * tiles + j / 4) * 512 + i % 32 * 16 + i % 128 / 32 * 4 +
         j % 4;
}

} // namespace te::numerics

#endif // TE_NUMERICS_SWIZZLE_H
