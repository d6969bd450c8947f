// The kernels of MXFP8 quantization: names, sharing, and how they reach memory.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NAMES

!x = memref<?x?xbf16>
!f = memref<?x?xf32>
!d = memref<?x?xf8E4M3FN>
!e = memref<?x?xf8E5M2>
!s = memref<?x?xf8E8M0FNU>
!n = memref<1xf32>

// Two ops of one configuration call one launch function, whatever their shapes.
// CHECK-LABEL: func.func @shared_kernel(
// CHECK-COUNT-2: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise(
// CHECK-NOT: call
// CHECK: return
func.func @shared_kernel(%x: !x, %d: !d, %s: !s, %x3: memref<2x3x32xbf16>,
                         %d3: memref<2x3x32xf8E4M3FN>,
                         %s3: memref<128x4xf8E8M0FNU>) {
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x : !x) outs(%d, %s : !d, !s)
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x3 : memref<2x3x32xbf16>)
    outs(%d3, %s3 : memref<2x3x32xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// The name says all that a kernel specialises on, in one order.
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_bf16_rowwise_v16(
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_bf16_rowwise_v1(
// NAMES-DAG: gpu.func @quantize_mxfp8_e5m2_bf16_columnwise_v16(
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_f32_both_v16(
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_bf16_both_2d_v16(
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_bf16_both_swizzled_v16(
// NAMES-DAG: gpu.func @quantize_mxfp8_e4m3_bf16_both_2d_swizzled_noop_v1(
func.func @names(%x: !x, %f: !f, %n: !n, %d: !d, %e: !e, %s: !s) {
  te_quant.quantize_into #te_quant.mxfp8<f8E5M2, usage = columnwise>
    ins(%x : !x) outs(%e, %s : !e, !s)
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN>
    ins(%f : !f) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, with_2d_quantization = true>
    ins(%x : !x) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>
    ins(%x : !x) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, with_2d_quantization = true,
                                         optimize_for_gemm = true>
    ins(%x : !x) noop(%n : !n) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  return
}

// A kernel with vectors reads 16 bytes at a time from a pointer that nobody
// writes; eight values of one row end in one store.
// CHECK-LABEL: gpu.func @quantize_mxfp8_e4m3_bf16_rowwise_v16(
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}
// CHECK-SAME: !llvm.ptr {llvm.align = 1 : i64, llvm.noalias}
// CHECK-SAME: i64, %{{.*}}: i64) kernel
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// A full tile loads its rows without branches.
// CHECK: scf.for
// CHECK: scf.if
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: } else {
// CHECK: vector.reduction <maxnumf>
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: te_quant.cast %{{.*}} : f32 to f8E8M0FNU
// CHECK: te_quant.cast %{{.*}} : f8E8M0FNU to f32
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xf8E4M3FN>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<8xi8>
// Rowwise blocks need no other thread's help.
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// The generic kernel demands no alignment and is a loop over the tile's rows.
// CHECK-LABEL: gpu.func @quantize_mxfp8_e4m3_bf16_rowwise_v1(
// CHECK-SAME: !llvm.ptr {llvm.align = 2 : i64, llvm.noalias, llvm.readonly}
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> bf16
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: te_quant.cast %{{.*}} : f32 to f8E4M3FN

// Both directions come from one load: columns meet in shared memory.
// CHECK: llvm.mlir.global internal @quantize_mxfp8_e4m3_f32_both_v16_shared0()
// CHECK-SAME: addr_space = 3
// CHECK-LABEL: gpu.func @quantize_mxfp8_e4m3_f32_both_v16(
// CHECK-COUNT-16: llvm.load %{{.*}} invariant
// CHECK-NOT: llvm.load %{{.*}} invariant
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// The flag is read first, and only exactly 1.0 stops the kernel.
// CHECK-LABEL: gpu.func @quantize_mxfp8_e4m3_bf16_both_2d_swizzled_noop_v16(
// CHECK: %[[FLAG:.*]] = llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %[[RUNS:.*]] = arith.cmpf une, %[[FLAG]], %{{.*}} : f32
// CHECK: scf.if %[[RUNS]] {
// CHECK: scf.for

// CHECK-LABEL: func.func private @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr, %[[D:.*]]: !llvm.ptr, %[[S:.*]]: !llvm.ptr,
// CHECK-SAME: %[[ROWS:.*]]: i64, %[[COLS:.*]]: i64, %[[STREAM:.*]]: !gpu.async.token)
// Empty tensors launch nothing; 16 blocks for each of 132 multiprocessors.
// CHECK-DAG: arith.cmpi ne, %[[ROWS]],
// CHECK-DAG: arith.cmpi ne, %[[COLS]],
// CHECK: scf.if
// CHECK: arith.minui
// CHECK-DAG: llvm.ptrtoint %[[X]]
// CHECK-DAG: llvm.ptrtoint %[[D]]
// CHECK: scf.if
// CHECK: gpu.launch_func async [%[[STREAM]]] @te_quant_kernels::@quantize_mxfp8_e4m3_bf16_rowwise_v16
// CHECK-SAME: args(%[[X]] : !llvm.ptr, %[[D]] : !llvm.ptr, %[[S]] : !llvm.ptr, %[[ROWS]] : i64, %[[COLS]] : i64)
// CHECK: } else {
// CHECK: gpu.launch_func async [%[[STREAM]]] @te_quant_kernels::@quantize_mxfp8_e4m3_bf16_rowwise_v1
