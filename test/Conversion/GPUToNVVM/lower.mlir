// Everything in a kernel becomes LLVM and NVVM ops, without calls.
// RUN: te-opt %s --te-quant-gpu-to-nvvm | FileCheck %s \
// RUN:   --implicit-check-not=unrealized_conversion_cast \
// RUN:   --implicit-check-not=__nv_ --implicit-check-not=llvm.call

gpu.module @kernels {
  // Attributes of bare pointers are what makes loads read-only and wide.
  // CHECK-LABEL: llvm.func @bare_pointers(
  // CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
  // CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}
  // CHECK-SAME: i64)
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
  gpu.func @bare_pointers(%in: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}, %n: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: nvvm.read.ptx.sreg.tid.x
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %p = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    // CHECK: %[[X:.*]] = llvm.load
    %x = llvm.load %p : !llvm.ptr -> f32
    // CHECK: %[[M:.*]] = llvm.fmul %[[X]], %[[X]] : f32
    // CHECK: llvm.fadd %[[M]], %[[X]] : f32
    %m = arith.mulf %x, %x : f32
    %a = arith.addf %m, %x : f32
    %q = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %a, %q : f32, !llvm.ptr
    gpu.return
  }

  // CHECK-LABEL: llvm.func @math_and_arith(
  func.func @math_and_arith(%x: f32, %y: f32) -> f32 {
    // CHECK: llvm.intr.fabs
    // CHECK: llvm.intr.maxnum
    // CHECK: llvm.intr.minnum
    // CHECK: llvm.intr.fma
    // CHECK: llvm.intr.sqrt
    %0 = math.absf %x : f32
    %1 = arith.maxnumf %0, %y : f32
    %2 = arith.minnumf %1, %y : f32
    %3 = math.fma %0, %1, %2 : f32
    %4 = math.sqrt %3 : f32
    return %4 : f32
  }

  // Transcendental functions are arithmetic; 16-bit ones are computed in f32.
  // CHECK-LABEL: llvm.func @transcendental(
  func.func @transcendental(%x: f32, %h: vector<2xbf16>) -> (f32, vector<2xbf16>) {
    // CHECK-NOT: llvm.intr.exp
    // CHECK-COUNT-3: llvm.intr.fma
    // CHECK: llvm.fpext {{.*}} : vector<2xbf16> to vector<2xf32>
    // CHECK-NOT: llvm.intr.tanh
    // CHECK: llvm.fdiv {{.*}} : vector<2xf32>
    // CHECK: llvm.fptrunc {{.*}} : vector<2xf32> to vector<2xbf16>
    %e = math.exp %x : f32
    %t = math.tanh %h : vector<2xbf16>
    return %e, %t : f32, vector<2xbf16>
  }

  // CHECK-LABEL: llvm.func @shared_memory(
  gpu.func @shared_memory(%x: f32, %out: !llvm.ptr) workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: llvm.mlir.addressof @{{.*}} : !llvm.ptr<3>
    %tid = gpu.thread_id x
    memref.store %x, %shared[%tid] : memref<32xf32, #gpu.address_space<workgroup>>
    // CHECK: nvvm.barrier
    gpu.barrier
    %c0 = arith.constant 0 : index
    %y = memref.load %shared[%c0] : memref<32xf32, #gpu.address_space<workgroup>>
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    // CHECK: nvvm.shfl.sync bfly
    %z, %valid = gpu.shuffle xor %y, %c16, %c32 : f32
    llvm.store %z, %out : f32, !llvm.ptr
    gpu.return
  }

  // Buffers of narrow types are bytes, their constants codes: 1.0 in E8M0 is
  // 127, and in E4M3 0x38.
  // CHECK-LABEL: llvm.func @narrow_buffers(
  gpu.func @narrow_buffers(%m: memref<?xf8E4M3FN>, %s: memref<?xf8E8M0FNU>) kernel {
    // CHECK-DAG: llvm.mlir.constant(127 : i8) : i8
    // CHECK-DAG: llvm.mlir.constant(dense<56> : vector<4xi8>) : vector<4xi8>
    // CHECK: llvm.load %{{.*}} : !llvm.ptr -> i8
    // CHECK: llvm.store %{{.*}} : i8, !llvm.ptr
    // CHECK: llvm.store %{{.*}} : vector<4xi8>, !llvm.ptr
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.load %m[%c0] : memref<?xf8E4M3FN>
    memref.store %x, %m[%c1] : memref<?xf8E4M3FN>
    %ones = arith.constant dense<1.0> : vector<4xf8E4M3FN>
    vector.store %ones, %m[%c0] : memref<?xf8E4M3FN>, vector<4xf8E4M3FN>
    %one = arith.constant 1.0 : f8E8M0FNU
    memref.store %one, %s[%c0] : memref<?xf8E8M0FNU>
    gpu.return
  }
}
