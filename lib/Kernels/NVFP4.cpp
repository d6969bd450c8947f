//===- NVFP4.cpp - kernels of NVFP4 ---------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "te/Kernels/KernelBuilder.h"

using namespace mlir;
using namespace te::quant;

/// Both directions store [i][j]: columnwise data is transposed.
static ScaleGeometry getGeometry(bool isRowwise) {
  return {16, isRowwise ? Extent::Cols : Extent::Rows, /*blocksFirst=*/false};
}

namespace {
struct NVFP4Kernels
    : KernelEmitterInterface::ExternalModel<NVFP4Kernels, NVFP4Attr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"swizzle_into"};
  }

  FailureOr<func::FuncOp> emitSwizzle(Attribute attr, SwizzleIntoOp op,
                                      KernelContext &context) const {
    return emitScaleSwizzle(op, cast<QuantizerAttrInterface>(attr),
                            getGeometry(true), getGeometry(false), context);
  }
};
} // namespace

void te::quant::attachNVFP4Kernels(MLIRContext *context) {
  NVFP4Attr::attachInterface<NVFP4Kernels>(*context);
}
