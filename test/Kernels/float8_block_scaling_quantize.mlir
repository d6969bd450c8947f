// The kernels of FP8 block scaling: names, sharing, and how they reach memory.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NAMES

!x = memref<?x?xbf16>
!h = memref<?x?xf16>
!f = memref<?x?xf32>
!d = memref<?x?xf8E4M3FN>
!e = memref<?x?xf8E5M2>
!s = memref<?x?xf32>
!n = memref<1xf32>

// Two ops of one configuration call one launch function, whatever their shapes.
// CHECK-LABEL: func.func @shared_kernel(
// CHECK-COUNT-2: call @te_quant_launch_quantize_float8_block_scaling_e4m3_bf16_rowwise_1d_pow2(
// CHECK-NOT: call
// CHECK: gpu.wait
func.func @shared_kernel(%x: !x, %d: !d, %s: !s, %x3: memref<2x3x33xbf16>,
                         %d3: memref<2x3x33xf8E4M3FN>,
                         %s3: memref<1x8xf32>) {
  te_quant.quantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise,
                                   block_scaling_dim = 1>
    ins(%x : !x) outs(%d, %s : !d, !s)
  te_quant.quantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise,
                                   block_scaling_dim = 1>
    ins(%x3 : memref<2x3x33xbf16>)
    outs(%d3, %s3 : memref<2x3x33xf8E4M3FN>, memref<1x8xf32>)
  return
}

// NAMES-DAG: gpu.func @quantize_float8_block_scaling_e4m3_bf16_rowwise_1d_pow2_v16(
// NAMES-DAG: gpu.func @quantize_float8_block_scaling_e4m3_bf16_rowwise_1d_pow2_v1(
// NAMES-DAG: gpu.func @quantize_float8_block_scaling_e5m2_f16_columnwise_2d_pow2_v16(
// NAMES-DAG: gpu.func @quantize_float8_block_scaling_e4m3_f32_both_1d_v16(
// NAMES-DAG: gpu.func @quantize_float8_block_scaling_e4m3_bf16_both_2d_eps3F800000_noop_v1(
func.func @names(%x: !x, %h: !h, %f: !f, %n: !n, %d: !d, %e: !e, %s: !s) {
  te_quant.quantize_into
    #te_quant.float8_block_scaling<f8E5M2, usage = columnwise>
    ins(%h : !h) outs(%e, %s : !e, !s)
  te_quant.quantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1,
                                   force_pow_2_scales = false>
    ins(%f : !f) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  te_quant.quantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, force_pow_2_scales = false,
                                   amax_epsilon = 1.0>
    ins(%x : !x) noop(%n : !n) outs(%d, %s, %d, %s : !d, !s, !d, !s)
  return
}

// A row is reduced by lanes that halve their rows at each exchange: 7 exchanges
// for 8 rows and one more, then each row's scale goes back to its lanes.
// CHECK-LABEL: gpu.func @quantize_float8_block_scaling_e4m3_bf16_rowwise_1d_pow2_v16(
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}
// CHECK-SAME: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias}
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: scf.for
// CHECK: scf.if
// CHECK-COUNT-8: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: } else {
// CHECK-COUNT-8: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle xor
// CHECK: arith.divf
// The mantissa is dropped: -8388608 is 0xFF800000.
// CHECK: arith.andi %{{.*}}, %c-8388608_i32
// CHECK: gpu.shuffle idx
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xf8E4M3FN>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<8xi8>
// Rowwise blocks need no other warp's help.
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// The generic kernel demands no alignment.
// CHECK-LABEL: gpu.func @quantize_float8_block_scaling_e4m3_bf16_rowwise_1d_pow2_v1(
// CHECK-SAME: !llvm.ptr {llvm.align = 2 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 1 : i64, llvm.noalias}
// CHECK: llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> bf16
// CHECK: llvm.store %{{.*}} {alignment = 1 : i64} : i8

// Both directions come from one load of 64 values, columns with scales of their
// own; bytes are transposed in shared memory.
// CHECK-LABEL: gpu.func @quantize_float8_block_scaling_e4m3_f32_both_1d_v16(
// CHECK-COUNT-16: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: } else {
// CHECK: gpu.barrier
// CHECK: gpu.shuffle idx
// CHECK: gpu.barrier
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// The flag is read first. An epsilon raises the amax.
// CHECK-LABEL: gpu.func @quantize_float8_block_scaling_e4m3_bf16_both_2d_eps3F800000_noop_v16(
// CHECK: %[[FLAG:.*]] = llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %[[RUNS:.*]] = arith.cmpf une, %[[FLAG]], %{{.*}} : f32
// CHECK: scf.if %[[RUNS]] {
// CHECK: gpu.barrier
// CHECK: arith.cmpf olt
// CHECK: arith.divf

// Columnwise data needs rows in multiples of 16 bytes too.
// CHECK-LABEL: func.func private @te_quant_launch_quantize_float8_block_scaling_e4m3_f32_both_1d(
// CHECK-SAME: %[[ROWS:[a-z0-9]*]]: i64, %[[COLS:[a-z0-9]*]]: i64, %[[STREAM:[a-z0-9]*]]: !gpu.async.token)
// CHECK-DAG: arith.remui %[[COLS]], %c4_i64
// CHECK-DAG: arith.remui %[[ROWS]], %c16_i64
// CHECK: gpu.launch_func async [%[[STREAM]]] @te_quant_kernels::@quantize_float8_block_scaling_e4m3_f32_both_1d_v16
// CHECK: gpu.launch_func async [%[[STREAM]]] @te_quant_kernels::@quantize_float8_block_scaling_e4m3_f32_both_1d_v1
