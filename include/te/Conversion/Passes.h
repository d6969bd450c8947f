//===- Passes.h - passes that leave the quant dialect ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_CONVERSION_PASSES_H
#define TE_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace te::quant {

/// What a matrix product becomes.
enum class GemmLowering { Generated, Library };

#define GEN_PASS_DECL
#include "te/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "te/Conversion/Passes.h.inc"

} // namespace te::quant

#endif // TE_CONVERSION_PASSES_H
