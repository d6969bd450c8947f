// Kernels of products: one for each configuration, with tensor cores where the chip has them for the codes.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a | FileCheck %s --check-prefixes=CHECK,MMA
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,GENERIC

#w = #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
#x = #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>

// Ops of one configuration share a launch function, whatever their extents.
// CHECK-LABEL: func.func @per_tensor(
// CHECK: %[[K:.*]] = arith.index_cast %arg4 : index to i64
// CHECK: call @te_quant_launch_gemm_e4m3_scaled_e5m2_scaled_bf16(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[K]], %{{.*}})
// CHECK: call @te_quant_launch_gemm_e4m3_scaled_e5m2_scaled_bf16(
func.func @per_tensor(%w: memref<64x128xf8E4M3FN>, %ws: memref<1xf32>, %x: memref<32x128xf8E5M2>, %xs: memref<1xf32>,
                      %k: index, %y: memref<32x64xbf16>, %z: memref<?x64xbf16>, %x2: memref<?x128xf8E5M2>) {
  te_quant.gemm_into TN a(%w, %ws : memref<64x128xf8E4M3FN>, memref<1xf32>) as #w
    b(%x, %xs : memref<32x128xf8E5M2>, memref<1xf32>) as #x depth(%k) outs(%y : memref<32x64xbf16>)
  te_quant.gemm_into TN a(%w, %ws : memref<64x128xf8E4M3FN>, memref<1xf32>) as #w
    b(%x2, %xs : memref<?x128xf8E5M2>, memref<1xf32>) as #x depth(%k) outs(%z : memref<?x64xbf16>)
  return
}

#mx = #te_quant.mxfp8<f8E4M3FN, usage = columnwise>
#mxs = #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>
// CHECK-LABEL: func.func @mxfp8(
// CHECK: call @te_quant_launch_gemm_e4m3_strided_32xe8m0_blocks_pad128_e4m3_32xe8m0_swizzled_f32_bias_bf16_gelu_bf16_accumulate(
func.func @mxfp8(%w: memref<64x128xf8E4M3FN>, %ws: memref<4x128xf8E8M0FNU>, %x: memref<32x64xf8E4M3FN>, %xs: memref<128x4xf8E8M0FNU>,
                 %b: memref<128xbf16>, %k: index, %y: memref<32x128xf32>, %p: memref<32x128xbf16>) {
  te_quant.gemm_into NN a(%w, %ws : memref<64x128xf8E4M3FN>, memref<4x128xf8E8M0FNU>) as #mx
    b(%x, %xs : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>) as #mxs bias(%b : memref<128xbf16>)
    depth(%k) outs(%y, %p : memref<32x128xf32>, memref<32x128xbf16>) {accumulate, gelu}
  return
}

// CHECK-LABEL: func.func @bf16(
// CHECK: call @te_quant_launch_gemm_bf16_bf16_f32(
func.func @bf16(%a: memref<4x5xbf16>, %b: memref<3x5xbf16>, %k: index, %y: memref<3x4xf32>) {
  te_quant.gemm_into TN a(%a : memref<4x5xbf16>) b(%b : memref<3x5xbf16>) depth(%k) outs(%y : memref<3x4xf32>)
  return
}

// CHECK-LABEL: func.func @mixed(
// CHECK: call @te_quant_launch_gemm_bf16_f32_f16(
func.func @mixed(%a: memref<4x5xbf16>, %b: memref<3x5xf32>, %k: index, %y: memref<3x4xf16>) {
  te_quant.gemm_into TN a(%a : memref<4x5xbf16>) b(%b : memref<3x5xf32>) depth(%k) outs(%y : memref<3x4xf16>)
  return
}

// Lines are read 16 bytes at a time where their length and address allow it.
// CHECK-LABEL: gpu.module @te_quant_kernels
// MMA: gpu.func @gemm_e4m3_scaled_e5m2_scaled_bf16_mma_v16(%arg0: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %arg1: !llvm.ptr {llvm.align = 4
// MMA: "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"
// MMA: gpu.func @gemm_e4m3_scaled_e5m2_scaled_bf16_mma_v1(
// MMA: gpu.func @gemm_e4m3_strided_32xe8m0_blocks_pad128_e4m3_32xe8m0_swizzled_f32_bias_bf16_gelu_bf16_accumulate_mma_v16(%arg0: !llvm.ptr {llvm.align = 1 {{.*}} %arg2: !llvm.ptr {llvm.align = 16
// MMA: "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"
// MMA: math.tanh
// MMA: gpu.func @gemm_bf16_bf16_f32_mma_v16(
// MMA: "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// GENERIC-NOT: row.col.f32.e
// GENERIC: gpu.func @gemm_e4m3_scaled_e5m2_scaled_bf16_v1({{.*}}) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// GENERIC: gpu.func @gemm_e4m3_strided_32xe8m0_blocks_pad128_e4m3_32xe8m0_swizzled_f32_bias_bf16_gelu_bf16_accumulate_v1(
// GENERIC: gpu.func @gemm_bf16_bf16_f32_mma_v16(
// CHECK: gpu.func @gemm_bf16_f32_f16_v1(
// CHECK: math.fma
