//===- Passes.td - passes that leave the quant dialect --------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_CONVERSION_PASSES_TD
#define TE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def QuantPrepareGPULoopsPass
    : Pass<"te-quant-prepare-gpu-loops", "::mlir::func::FuncOp"> {
  let summary = "turn what linalg and host code do with buffers into parallel loops";
  let description = [{
    Before: functions on memrefs, after bufferization. After: each linalg op,
    each copy to or from a strided memref, and each host loop or store that
    touches a buffer is one `scf.parallel` of one dimension, ready for upstream's
    tiling and mapping to GPU threads; a single store becomes a loop of one
    iteration. Loads whose value the host needs stay as they are.

    ```mlir
    func.func @fill(%zero: f32, %m: memref<4x8xf32>) {
      linalg.fill ins(%zero : f32) outs(%m : memref<4x8xf32>)
      return
    }
    ```

    becomes

    ```text
    scf.parallel (%i) = (%c0) to (%c32) step (%c1) {
      ... memref.store %zero, %m[%row, %col] : memref<4x8xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def QuantToGPUPass : Pass<"te-quant-to-gpu", "::mlir::ModuleOp"> {
  let summary = "launch kernels for quantized ops and put all buffers on the device";
  let description = [{
    Before: functions on memrefs whose loops are `gpu.launch_func` already.
    After: each op of ours is a call of a private launch function, whose kernels
    are in the `gpu.module` named `te_quant_kernels`; ops of one configuration
    share both. Every buffer is device memory: `memref.alloc`, `dealloc` and
    `copy` become asynchronous gpu ops, a constant is uploaded once, a load on
    the host is a copy back. `te_quant.check` calls the runtime.

    Everything a call does is on one stream: the trailing `!llvm.ptr` argument of
    a public function if it has one, else one made for the call. Private
    functions take it from their callers.

    Fails on an unknown chip, on an op or family without a kernel, and on buffers
    with a layout that is not the identity.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"",
           "GPU to compile for, e.g. sm_90a">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect"
  ];
}

def QuantWriteKernelsPass
    : Pass<"te-quant-write-kernels", "::mlir::ModuleOp"> {
  let summary = "write each embedded kernel module to a file";
  let description = [{
    Before: kernels are in `gpu.binary` ops. After: the same, and each object is
    in `folder` as NAME.ptx, NAME.cubin, NAME.fatbin or NAME.bc, by its format.
    A file appears whole or not at all. Fails when a file cannot be written.
  }];
  let options = [
    Option<"folder", "folder", "std::string", "\".\"",
           "where to write; made if it does not exist">
  ];
}

#endif // TE_CONVERSION_PASSES_TD
