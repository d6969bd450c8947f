// The kernels of FP8 block dequantization and of the columnwise representation
// made from the rowwise one.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s

!y = memref<144x160xbf16>
!d = memref<144x160xf8E4M3FN>
!t = memref<160x144xf8E4M3FN>
!s = memref<2x4xf32>
!r = memref<2x144xf32>
!c = memref<2x160xf32>

// CHECK-LABEL: func.func @dequantize(
// CHECK: call @te_quant_launch_dequantize_float8_block_scaling_e4m3_bf16_both_2d(
// CHECK: call @te_quant_launch_dequantize_float8_block_scaling_e4m3_bf16_rowwise_1d(
// CHECK: call @te_quant_launch_dequantize_float8_block_scaling_e4m3_bf16_columnwise_1d(
func.func @dequantize(%d: !d, %t: !t, %s: !s, %r: !r, %c: !c, %y: !y) {
  te_quant.dequantize_into #te_quant.float8_block_scaling<f8E4M3FN>
    ins(%d, %s, %t, %s : !d, !s, !t, !s) outs(%y : !y)
  te_quant.dequantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise,
                                   block_scaling_dim = 1>
    ins(%d, %r : !d, !r) outs(%y : !y)
  te_quant.dequantize_into
    #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise,
                                   block_scaling_dim = 1>
    ins(%t, %c : !t, !c) outs(%y : !y)
  return
}

// CHECK-LABEL: func.func @derive(
// CHECK: call @te_quant_launch_derive_float8_block_scaling_2d(
func.func @derive(%d: !d, %t: !t, %s: !s, %rows: index, %cols: index) {
  te_quant.derive_into #te_quant.float8_block_scaling<f8E4M3FN>
    ins(%d, %s : !d, !s) extents(%rows, %cols) outs(%t, %s : !t, !s)
  return
}

// With both representations the rowwise one is read: one scale for a tile.
// CHECK-LABEL: gpu.func @dequantize_float8_block_scaling_e4m3_bf16_rowwise_2d_v16(
// CHECK-COUNT-8: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr -> vector<8xi8>
// CHECK: } else {
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: te_quant.cast %{{.*}} : vector<8xf8E4M3FN> to vector<8xf32>
// CHECK: arith.mulf %{{.*}} : vector<8xf32>
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xbf16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
// CHECK-NOT: gpu.func @dequantize_float8_block_scaling_e4m3_bf16_both

// Columnwise data is transposed on the way; its scales are neighbours.
// CHECK-LABEL: gpu.func @dequantize_float8_block_scaling_e4m3_bf16_columnwise_1d_v16(
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: gpu.barrier
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: gpu.barrier
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>

// Bytes and scales move, none is computed.
// CHECK-LABEL: gpu.func @derive_float8_block_scaling_2d_v16(
// CHECK-NOT: te_quant.cast
// CHECK: gpu.return
