// Kernels of per-tensor FP8 that start from bytes: dequantize and derive, which
// current and delayed scaling share, and the update of the delayed scale.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s

!d = memref<?x?xf8E4M3FN>
!s = memref<1xf32>
!h = memref<?xf32>
!y = memref<?x?xbf16>
!z = memref<?x?xf16>

// Data is preferred; a kernel is shared by layouts that it reads alike.
// CHECK-LABEL: func.func @dequantize(
// CHECK: call @te_quant_launch_dequantize_per_tensor_e4m3_bf16_both(
// CHECK: call @te_quant_launch_dequantize_per_tensor_e4m3_bf16_rowwise(
// CHECK: call @te_quant_launch_dequantize_per_tensor_e4m3_f16_columnwise(
func.func @dequantize(%d: !d, %t: !d, %i: !s, %y: !y, %z: !z) {
  te_quant.dequantize_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%d, %t, %i : !d, !d, !s) outs(%y : !y)
  te_quant.dequantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>
    ins(%d, %i : !d, !s) outs(%y : !y)
  te_quant.dequantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = columnwise>
    ins(%t, %i : !d, !s) outs(%z : !z)
  return
}

// CHECK-LABEL: func.func @derive(
// CHECK-COUNT-2: call @te_quant_launch_derive_per_tensor(
func.func @derive(%d: !d, %i: !s, %t: !d, %rows: index, %cols: index) {
  te_quant.derive_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%d, %i : !d, !s) extents(%rows, %cols) outs(%t : !d)
  te_quant.derive_into #te_quant.float8_delayed_scaling<f8E4M3FN>
    ins(%d, %i : !d, !s) extents(%rows, %cols) outs(%t : !d)
  return
}

// CHECK-LABEL: func.func @update_scale(
// CHECK: call @te_quant_launch_update_scale_e4m3_max(
// CHECK: call @te_quant_launch_update_scale_e4m3_most_recent_margin2_keep(
// CHECK: call @te_quant_launch_update_scale_e4m3_max_margin_minus1(
func.func @update_scale(%h: !h, %a: !s, %s: !s, %h2: !h, %s2: !s) {
  te_quant.update_scale_into #te_quant.float8_delayed_scaling<f8E4M3FN> max
    ins(%h, %a, %s : !h, !s, !s) outs(%h2, %s2 : !h, !s)
  te_quant.update_scale_into #te_quant.float8_delayed_scaling<f8E4M3FN> most_recent
    ins(%h, %a, %s : !h, !s, !s) outs(%h2, %s2 : !h, !s) {margin = 2 : i64, keep_on_zero_amax}
  te_quant.update_scale_into #te_quant.float8_delayed_scaling<f8E4M3FN> max
    ins(%h, %a, %s : !h, !s, !s) outs(%h2, %s2 : !h, !s) {margin = -1 : i64}
  return
}

// CHECK-LABEL: gpu.func @dequantize_per_tensor_e4m3_bf16_rowwise_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr -> vector<8xi8>
// CHECK: te_quant.cast %{{.*}} : vector<8xf8E4M3FN> to vector<8xf32>
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xbf16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>

// Transposed bytes go through shared memory before they are decoded.
// CHECK-LABEL: gpu.func @dequantize_per_tensor_e4m3_f16_columnwise_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK: gpu.barrier
// CHECK: te_quant.cast %{{.*}} : vector<16xf8E4M3FN> to vector<16xf32>
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xf16>

// CHECK-LABEL: gpu.func @transpose_bytes_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK: gpu.barrier
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<16xi8>

// The largest amax of all that are remembered, over the whole block.
// CHECK-LABEL: gpu.func @update_scale_e4m3_max_v1(
// CHECK: arith.constant 4.480000e+02 : f32
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: arith.divf

// 448 / 4, and nothing but the last amax.
// CHECK-LABEL: gpu.func @update_scale_e4m3_most_recent_margin2_keep_v1(
// CHECK: arith.constant 1.120000e+02 : f32
// CHECK-NOT: gpu.shuffle
// CHECK: arith.divf
// CHECK: gpu.return

// Both layouts launch the same kernel.
// CHECK-LABEL: func.func private @te_quant_launch_dequantize_per_tensor_e4m3_bf16_both(
// CHECK: @te_quant_kernels::@dequantize_per_tensor_e4m3_bf16_rowwise_v16
