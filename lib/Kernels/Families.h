//===- Families.h - the kernel emitters of the families -------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_KERNELS_FAMILIES_H
#define TE_LIB_KERNELS_FAMILIES_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace te::quant {

void attachCustomKernels(mlir::MLIRContext *context);
void attachFloat8BlockScalingKernels(mlir::MLIRContext *context);
void attachFloat8CurrentScalingKernels(mlir::MLIRContext *context);
void attachFloat8DelayedScalingKernels(mlir::MLIRContext *context);
void attachMXFP8Kernels(mlir::MLIRContext *context);
void attachNVFP4Kernels(mlir::MLIRContext *context);

} // namespace te::quant

#endif // TE_LIB_KERNELS_FAMILIES_H
