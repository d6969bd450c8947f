//===- Pipelines.cpp - whole lowerings ------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No logic but order.
//
//===----------------------------------------------------------------------===//

#include "te/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/RequestCWrappers.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "te/Conversion/Passes.h"
#include "te/Dialect/Quant/Transforms/Passes.h"

using namespace mlir;

/// Threads of a block where upstream's loop mapping makes the kernel.
static constexpr int64_t threadsPerBlock = 256;

/// From values to buffers.
static void addBufferization(OpPassManager &pm, bool fuse) {
  pm.addPass(te::quant::createQuantDecomposeModulesPass());
  pm.addPass(te::quant::createQuantDecomposeLinearPass());
  // Layers share what they quantize, and need not make what nobody reads.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(te::quant::createQuantExpandPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addPass(createLinalgElementwiseOpFusionPass());
  if (fuse) {
    pm.addNestedPass<func::FuncOp>(te::quant::createQuantFuseProducersPass());
    pm.addNestedPass<func::FuncOp>(te::quant::createQuantFuseColumnSumsPass());
    pm.addPass(createCanonicalizerPass());
  }
  // What overwrites a given tensor is made in its buffer.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(te::quant::createQuantTieResultsPass());
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  pm.addPass(te::quant::createQuantStackDeallocListsPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createCanonicalizerPass());
}

/// From buffers to launches.
static void addLaunches(OpPassManager &pm,
                        const te::quant::GPUPipelineOptions &options) {
  pm.addNestedPass<func::FuncOp>(te::quant::createQuantPrepareGPULoopsPass());
  // No canonicalization in between: it dissolves loops of one iteration.
  pm.addNestedPass<func::FuncOp>(createParallelLoopTilingPass(
      /*tileSizes=*/{threadsPerBlock}, /*noMinMaxBounds=*/true));
  pm.addNestedPass<func::FuncOp>(createGpuMapParallelLoopsPass());
  pm.addPass(createConvertParallelLoopToGpuPass());
  pm.addNestedPass<func::FuncOp>(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  te::quant::QuantToGPUPassOptions toGPU;
  toGPU.chip = options.chip;
  toGPU.gemm = options.gemm;
  pm.addPass(te::quant::createQuantToGPUPass(toGPU));
}

/// The format as upstream's pass spells it.
static StringRef spell(te::quant::KernelFormat format) {
  switch (format) {
  case te::quant::KernelFormat::ISA:
    return "isa";
  case te::quant::KernelFormat::Bin:
    return "bin";
  case te::quant::KernelFormat::Fatbin:
    return "fatbin";
  case te::quant::KernelFormat::LLVM:
    return "llvm";
  }
  return "";
}

/// From kernels to embedded binaries, and host code to LLVM.
static void addCodeGeneration(OpPassManager &pm,
                              const te::quant::GPUPipelineOptions &options) {
  auto &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  te::quant::QuantCastsToNVVMPassOptions casts;
  casts.chip = options.chip;
  kernels.addPass(te::quant::createQuantCastsToNVVMPass(casts));
  kernels.addPass(te::quant::createQuantExpandCastsPass());
  kernels.addPass(te::quant::createQuantGPUToNVVMPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());

  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  pm.addPass(createGpuToLLVMConversionPass());
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = spell(options.format).str();
  pm.addPass(createGpuModuleToBinaryPass(binary));
  if (!options.kernels.empty()) {
    te::quant::QuantWriteKernelsPassOptions write;
    write.folder = options.kernels;
    pm.addPass(te::quant::createQuantWriteKernelsPass(write));
  }
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void te::quant::buildGPUPipeline(OpPassManager &pm,
                                 const GPUPipelineOptions &options) {
  addBufferization(pm, options.fuse);
  addLaunches(pm, options);
  addCodeGeneration(pm, options);
}

void te::quant::registerPipelines() {
  // Not a PassPipelineRegistration: what it calls cannot fail, and to add a
  // pass on modules where there are none ends the process.
  registerPassPipeline(
      "te-quant-gpu-pipeline",
      "Lower quantized tensor programs to LLVM with embedded GPU kernels",
      [](OpPassManager &pm, StringRef text,
         function_ref<LogicalResult(const Twine &)> emitError) {
        if (pm.getOpAnchorName() != ModuleOp::getOperationName())
          return emitError("expected pipeline 'te-quant-gpu-pipeline' to be on "
                           "'builtin.module', but got '" +
                           pm.getOpAnchorName() + "'");
        GPUPipelineOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        buildGPUPipeline(pm, options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> handler) {
        handler(GPUPipelineOptions());
      });
}
