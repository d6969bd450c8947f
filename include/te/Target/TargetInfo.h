//===- TargetInfo.h - what each chip can do -------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TARGET_TARGETINFO_H
#define TE_TARGET_TARGETINFO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace te::quant {

/// Facts about one chip. Code asks for capabilities, never for a name.
struct TargetInfo {
  /// As the compiler spells it, e.g. `sm_100a`.
  llvm::StringRef chip;
  /// Smallest PTX version with all we use, as LLVM's feature, e.g. `+ptx86`.
  llvm::StringRef ptxFeature;
  /// Streaming multiprocessors of the largest product, for grid sizes.
  unsigned numSMs;
  /// f32 to E4M3 and E5M2 and back, in pairs.
  bool hasFP8Conversions;
  /// f32 to E2M1 and back, in pairs.
  bool hasFP4Conversions;
  /// f32 to E8M0 and back, in pairs.
  bool hasE8M0Conversions;
  /// Stochastically rounded f32 to E2M1.
  bool hasStochasticFP4Conversions;
  /// Per-tensor FP8 GEMMs take every transpose combination.
  bool hasNonTNFP8Gemm;
  /// Warps multiply FP8 matrices with f32 sums (mma.sync m16n8k32); those of
  /// bf16 and f16 (m16n8k16) every chip here multiplies.
  bool hasFP8Mma;

  /// 10 times the major number and the minor one: 89 for `sm_89`.
  unsigned getComputeCapability() const;

  /// The entry of `chip`, or null.
  static const TargetInfo *lookup(llvm::StringRef chip);

  /// All entries, oldest chip first.
  static llvm::ArrayRef<TargetInfo> getAll();

  /// The chips we know, separated by commas, for diagnostics.
  static std::string getKnownChips();
};

} // namespace te::quant

#endif // TE_TARGET_TARGETINFO_H
