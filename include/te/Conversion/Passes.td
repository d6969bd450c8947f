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

def QuantSetTargetPass : Pass<"te-quant-set-target", "::mlir::ModuleOp"> {
  let summary = "rewrite quantizers to what a chip's GEMMs take";
  let description = [{
    A type's layout never depends on the module around it; this pass makes a
    module's types those of a chip. It rewrites every quantizer, in types of
    values, block arguments and functions, in attributes and inside other
    quantizers:

    * `non_tn_gemm` of per-tensor FP8 is set where the chip's FP8 GEMMs take
      every transpose combination and cleared elsewhere;
    * with the option `optimize-for-gemm`, families whose scales have a GEMM
      order get `optimize_for_gemm`.

    ```mlir
    !q = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
    func.func @f(%x: tensor<8x16xbf16>) -> !q {
      %q = te_quant.quantize %x : tensor<8x16xbf16> -> !q
      return %q : !q
    }
    ```

    becomes for sm_100a

    ```mlir
    !q = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>
    func.func @f(%x: tensor<8x16xbf16>) -> !q {
      %q = te_quant.quantize %x : tensor<8x16xbf16> -> !q
      return %q : !q
    }
    ```

    Both change what inner tensors mean, so the pass belongs before anything
    that names them. Fails on an unknown chip, and at the op where the rewritten
    module would not be valid (an `assemble` of inner tensors that are there no
    more, a usage change that the rule forbids, compact scales that have become
    a tensor of their own); the module is then as it was. No pipeline runs it.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"",
           "GPU whose GEMMs are meant, e.g. sm_100a">,
    Option<"optimizeForGemm", "optimize-for-gemm", "bool", "false",
           "put scales in GEMM order where a family has one">
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
    the host is a copy back. `te_quant.check` and collectives call the runtime.

    With `gemm=library` a matrix product calls `teRuntimeGemm` of the runtime
    instead of a kernel.

    Everything a call does is on one stream: the trailing `!llvm.ptr` argument of
    a public function if it has one, else one made for the call. Private
    functions take it from their callers.

    Fails on an unknown chip, on an op or family without a kernel, and on buffers
    with a layout that is not the identity.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"",
           "GPU to compile for, e.g. sm_90a">,
    Option<"gemm", "gemm", "::te::quant::GemmLowering",
           "::te::quant::GemmLowering::Generated",
           "what a matrix product becomes",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::GemmLowering::Generated, "generated",
                          "a kernel (default)"),
               clEnumValN(::te::quant::GemmLowering::Library, "library",
                          "a call of the runtime"))}]>
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

def QuantExpandCastsPass : Pass<"te-quant-expand-casts"> {
  let summary = "expand conversions between floating-point formats to integer "
                "arithmetic";
  let description = [{
    Before: `te_quant.cast` on scalars and vectors, `arith.truncf` and
    `arith.extf` to and from f8E4M3FN, f8E5M2, f4E2M1FN and f8E8M0FNU, which get
    the same conversion, and `vector.bitcast` of these types.

    After: none of these. A narrow value is an integer behind an
    `arith.bitcast`, which disappears where the value is bitcast back; two FP4
    values of a vector are one byte of its bitcast, the even one in the low
    half. Conversions are branch-free; neither flushing of subnormals nor the
    chip changes a bit of a result.

    ```mlir
    func.func @scale_code(%x: f32) -> i8 {
      %n = te_quant.cast %x : f32 to f8E8M0FNU
      %b = arith.bitcast %n : f8E8M0FNU to i8
      return %b : i8
    }
    ```

    becomes

    ```text
    %bits = arith.bitcast %x : f32 to i32
    %magnitude = arith.andi %bits, %c0x7FFFFFFF : i32
    %rounded = arith.addi %magnitude, %c0x7FFFFF : i32
    %exponent = arith.shrui %rounded, %c23 : i32
    ...
    %b = arith.trunci %code : i32 to i8
    ```

    Fails on casts of tensors, which `convert-elementwise-to-linalg` and
    `linalg` lowerings turn into scalars, and on f64 to a narrow type, which
    would round twice.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect",
                           "::te::quant::TEQuantDialect"];
}

def QuantCastsToNVVMPass
    : Pass<"te-quant-casts-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "convert between floating-point formats with the chip's "
                "instructions";
  let description = [{
    Before: what `te-quant-expand-casts` takes, in a `gpu.module`. After: the
    conversions that every target has are NVVM ops, two values at a time (odd
    vectors and scalars fill the other half with zero); the others are left for
    `te-quant-expand-casts`, which gives the same bits.

    ```mlir
    gpu.module @kernels {
      func.func @narrow(%v: vector<2xf32>) -> vector<2xf8E4M3FN> {
        %n = te_quant.cast %v : vector<2xf32> to vector<2xf8E4M3FN>
        return %n : vector<2xf8E4M3FN>
      }
    }
    ```

    becomes for a chip with FP8 conversions

    ```text
    %lo = vector.extract %v[0] : f32 from vector<2xf32>
    %hi = vector.extract %v[1] : f32 from vector<2xf32>
    %pair = nvvm.convert.f32x2.to.f8x2 %hi, %lo
        {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>}
        : i16 (f8E4M3FN)
    ...
    ```

    Fails on a chip that is not in the table of targets.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"\"",
           "Chip to convert for, e.g. sm_100a; by default those of the "
           "module's #nvvm.target attributes">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::vector::VectorDialect",
                           "::te::quant::TEQuantDialect"];
}

def QuantGPUToNVVMPass
    : Pass<"te-quant-gpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower a gpu.module to LLVM and NVVM without a math library";
  let description = [{
    Before: a `gpu.module` with gpu, arith, math, vector, scf, cf, affine,
    index, memref and func ops, and without conversions to or from narrow
    floating-point types (`te-quant-casts-to-nvvm` and `te-quant-expand-casts`).

    After: LLVM and NVVM ops only, ready for translation. Transcendental math of
    f32 is expanded to arithmetic, that of f16 and bf16 computed in f32; the
    rest of math maps to instructions. No function outside the module is called,
    no multiply-add is contracted and nothing is flushed, so that every backend
    computes the same bits. `exp`, `exp2`, `log` and its kin, `tanh`, `atan` and,
    up to 2^50, `sin` and `cos` are at most 2.5 units in the last place off,
    subnormal results included; `tanh` reaches 1, `exp` of -infinity is 0, and
    NaN stays NaN. Other functions are upstream's expansions.

    ```mlir
    gpu.module @kernels {
      func.func @magnitude(%x: f32) -> f32 {
        %y = math.absf %x : f32
        gpu.barrier
        return %y : f32
      }
    }
    ```

    becomes

    ```text
    %y = llvm.intr.fabs(%x) : (f32) -> f32
    nvvm.barrier0
    ```

    Fails, at the op, on anything that is left: f64 transcendental math,
    `gpu.printf`, and narrow floating-point arithmetic among others.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // TE_CONVERSION_PASSES_TD
