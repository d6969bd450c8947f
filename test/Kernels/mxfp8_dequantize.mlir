// The kernels of MXFP8 dequantization: the rowwise representation is read where
// it is present, else the columnwise one.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s

!y = memref<64x96xbf16>
!f = memref<64x96xf32>
!d = memref<64x96xf8E4M3FN>
!s = memref<128x4xf8E8M0FNU>
!c = memref<4x128xf8E8M0FNU>

// CHECK-LABEL: func.func @both_and_rowwise(
// CHECK: call @te_quant_launch_dequantize_mxfp8_e4m3_bf16_both(
// CHECK-SAME: (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !gpu.async.token)
// CHECK: call @te_quant_launch_dequantize_mxfp8_e4m3_bf16_rowwise(
// CHECK-SAME: (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !gpu.async.token)
func.func @both_and_rowwise(%d: !d, %s: !s, %c: !c, %y: !y) {
  te_quant.dequantize_into #te_quant.mxfp8<f8E4M3FN>
    ins(%d, %s, %d, %c : !d, !s, !d, !c) outs(%y : !y)
  te_quant.dequantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%d, %s : !d, !s) outs(%y : !y)
  return
}

// CHECK-LABEL: func.func @columnwise(
// CHECK: call @te_quant_launch_dequantize_mxfp8_e4m3_f32_columnwise(
// CHECK: call @te_quant_launch_dequantize_mxfp8_e4m3_f32_columnwise_swizzled(
func.func @columnwise(%d: !d, %c: !c, %f: !f) {
  te_quant.dequantize_into #te_quant.mxfp8<f8E4M3FN, usage = columnwise>
    ins(%d, %c : !d, !c) outs(%f : !f)
  te_quant.dequantize_into
    #te_quant.mxfp8<f8E4M3FN, usage = columnwise, optimize_for_gemm = true>
    ins(%d, %c : !d, !c) outs(%f : !f)
  return
}

// The product is rounded in f32 before it is rounded to the output's type.
// CHECK-LABEL: gpu.func @dequantize_mxfp8_e4m3_bf16_rowwise_v16(
// CHECK: scf.if
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr -> vector<8xi8>
// CHECK: te_quant.cast %{{.*}} : f8E8M0FNU to f32
// CHECK: te_quant.cast %{{.*}} : vector<8xf8E4M3FN> to vector<8xf32>
// CHECK: arith.mulf %{{.*}} : vector<8xf32>
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xbf16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>
// CHECK-LABEL: gpu.func @dequantize_mxfp8_e4m3_bf16_rowwise_v1(
// CHECK-NOT: gpu.func @dequantize_mxfp8_e4m3_bf16_both

// Compact columnwise scales of neighbouring columns are neighbours; in GEMM
// order they are not.
// CHECK-LABEL: gpu.func @dequantize_mxfp8_e4m3_f32_columnwise_v16(
// CHECK-NOT: -> i8
// CHECK-LABEL: gpu.func @dequantize_mxfp8_e4m3_f32_columnwise_v1(
// CHECK-LABEL: gpu.func @dequantize_mxfp8_e4m3_f32_columnwise_swizzled_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr -> i8

// The kernel of both gets the pointers that it reads.
// CHECK-LABEL: func.func private @te_quant_launch_dequantize_mxfp8_e4m3_bf16_both(
// CHECK-SAME: %[[D:.*]]: !llvm.ptr, %[[S:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[Y:.*]]: !llvm.ptr,
// CHECK: gpu.launch_func async {{.*}} @te_quant_kernels::@dequantize_mxfp8_e4m3_bf16_rowwise_v16
// CHECK-SAME: args(%[[D]] : !llvm.ptr, %[[S]] : !llvm.ptr, %[[Y]] : !llvm.ptr,
