// Kernels that reorder scales, to the order of GEMMs and back.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s

!s = memref<?x?xf8E8M0FNU>
!n = memref<?x?xf8E4M3FN>

// CHECK-LABEL: func.func @mxfp8(
// CHECK: call @te_quant_launch_swizzle_mxfp8_rowwise(
// CHECK: call @te_quant_launch_unswizzle_mxfp8_columnwise(
func.func @mxfp8(%a: !s, %b: !s, %rows: index, %cols: index) {
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>
    "rowwise_scale_inv" ins(%a : !s) extents(%rows, %cols) outs(%b : !s)
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN>
    "columnwise_scale_inv" ins(%a : !s) extents(%rows, %cols) outs(%b : !s)
  return
}

// The kernels do not depend on what else the quantizers say.
// CHECK-LABEL: func.func @nvfp4(
// CHECK-COUNT-2: call @te_quant_launch_swizzle_nvfp4_columnwise(
func.func @nvfp4(%a: !n, %b: !n, %rows: index, %cols: index) {
  te_quant.swizzle_into #te_quant.nvfp4<optimize_for_gemm = true>
    "columnwise_scale_inv" ins(%a : !n) extents(%rows, %cols) outs(%b : !n)
  te_quant.swizzle_into
    #te_quant.nvfp4<with_2d_quantization = true, optimize_for_gemm = true>
    "columnwise_scale_inv" ins(%a : !n) extents(%rows, %cols) outs(%b : !n)
  return
}

// Four scales of a row are one word; at the edge, where the last is missing, each
// is looked at by itself, and what is beyond becomes zero unread.
// CHECK-LABEL: gpu.func @swizzle_mxfp8_rowwise_v4(
// CHECK-SAME: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias, llvm.readonly}
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK: } else {
// CHECK-COUNT-3: llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: vector.from_elements %{{.*}}, %{{.*}}, %{{.*}}, %c0_i8
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<4xi8>
// CHECK-LABEL: gpu.func @swizzle_mxfp8_rowwise_v1(
// CHECK-NOT: alignment = 4
// Columnwise scales of MXFP8 lie along the other dimension.
// CHECK-LABEL: gpu.func @unswizzle_mxfp8_columnwise_v4(
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 1 : i64} : i8
// Those of NVFP4 do not.
// CHECK-LABEL: gpu.func @swizzle_nvfp4_columnwise_v4(
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
