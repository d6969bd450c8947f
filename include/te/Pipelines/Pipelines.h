//===- Pipelines.h - whole lowerings, by name and from C++ ----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_PIPELINES_PIPELINES_H
#define TE_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "te/Conversion/Passes.h"

namespace te::quant {

/// What kernels are embedded as.
enum class KernelFormat { ISA, Bin, Fatbin, LLVM };

/// Options of `te-quant-gpu-pipeline`.
struct GPUPipelineOptions
    : public mlir::PassPipelineOptions<GPUPipelineOptions> {
  Option<std::string> chip{
      *this, "chip", llvm::cl::desc("GPU to compile for (default sm_90a)"),
      llvm::cl::init("sm_90a")};
  Option<KernelFormat> format{
      *this, "format", llvm::cl::desc("what kernels are embedded as"),
      llvm::cl::init(KernelFormat::ISA),
      llvm::cl::values(
          clEnumValN(KernelFormat::ISA, "isa", "PTX (default)"),
          clEnumValN(KernelFormat::Bin, "bin", "cubin, by ptxas"),
          clEnumValN(KernelFormat::Fatbin, "fatbin",
                     "fat binary, by ptxas and fatbinary"),
          clEnumValN(KernelFormat::LLVM, "llvm",
                     "bitcode, for the emulator"))};
  Option<GemmLowering> gemm{
      *this, "gemm", llvm::cl::desc("what a matrix product becomes"),
      llvm::cl::init(GemmLowering::Generated),
      llvm::cl::values(
          clEnumValN(GemmLowering::Generated, "generated", "a kernel (default)"),
          clEnumValN(GemmLowering::Library, "library",
                     "a call of the runtime's teRuntimeGemm"))};
  Option<std::string> kernels{
      *this, "kernels",
      llvm::cl::desc("folder where each kernel module is written as well, as "
                     "NAME.ptx, .cubin, .fatbin or .bc")};
  Option<bool> fuse{
      *this, "fuse",
      llvm::cl::desc("let kernels make what they quantize from what it is "
                     "computed from (default true; the bits are the same)"),
      llvm::cl::init(true)};
};

/// From quantized values to LLVM with embedded kernels:
///   expand, fuse, bufferize, tie results, loops and launches, NVVM, binary, LLVM.
/// Needs nothing but LLVM for the formats isa and llvm; bin and fatbin call
/// `ptxas`, which must be on the path.
void buildGPUPipeline(mlir::OpPassManager &pm,
                      const GPUPipelineOptions &options);

/// Registers the pipelines by name.
void registerPipelines();

} // namespace te::quant

#endif // TE_PIPELINES_PIPELINES_H
