//===- TargetInfo.cpp - the table of chips --------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Target/TargetInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace te::quant;

// Conversions to E2M1 and E8M0 exist in the architecture-specific targets only
// ("a" names): LLVM and ptxas refuse them for plain sm_100 and sm_120.
static constexpr TargetInfo targets[] = {
    // chip, PTX, SMs, FP8, FP4, E8M0, FP4 stochastic, non-TN FP8 GEMM, FP8 mma
    {"sm_80", "+ptx70", 108, false, false, false, false, false, false},
    {"sm_86", "+ptx71", 84, false, false, false, false, false, false},
    {"sm_87", "+ptx74", 16, false, false, false, false, false, false},
    {"sm_89", "+ptx84", 142, true, false, false, false, false, true},
    {"sm_90", "+ptx84", 132, true, false, false, false, false, true},
    {"sm_90a", "+ptx84", 132, true, false, false, false, false, true},
    {"sm_100", "+ptx86", 148, true, false, false, false, true, true},
    {"sm_100a", "+ptx87", 148, true, true, true, true, true, true},
    {"sm_103", "+ptx88", 160, true, false, false, false, true, true},
    {"sm_103a", "+ptx88", 160, true, true, true, true, true, true},
    {"sm_120", "+ptx87", 188, true, false, false, false, false, true},
    {"sm_120a", "+ptx87", 188, true, true, true, false, false, true},
};

unsigned TargetInfo::getComputeCapability() const {
  // The architecture-specific targets end in a letter.
  llvm::StringRef digits = chip;
  digits.consume_front("sm_");
  unsigned capability = 0;
  digits.consumeInteger(10, capability);
  return capability;
}

const TargetInfo *TargetInfo::lookup(llvm::StringRef chip) {
  const TargetInfo *entry = llvm::find_if(
      targets, [&](const TargetInfo &target) { return target.chip == chip; });
  return entry == std::end(targets) ? nullptr : entry;
}

llvm::ArrayRef<TargetInfo> TargetInfo::getAll() { return targets; }

std::string TargetInfo::getKnownChips() {
  return llvm::join(
      llvm::map_range(targets,
                      [](const TargetInfo &target) { return target.chip; }),
      ", ");
}
