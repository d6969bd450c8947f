// The kernels of NVFP4 quantization: names, stages, and how they store.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a | FileCheck %s

!x = memref<?x?xbf16>
!b = memref<?x?xi8>
!s = memref<?x?xf8E4M3FN>
!a = memref<1xf32>
!v = memref<?xf32>

// Whole blocks of a line are stored at once.
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_rowwise_v16(
// CHECK-DAG: llvm.store {{.*}} : vector<8xi8>, !llvm.ptr
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_rowwise_v1(
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_both_2d_swizzled_noop_v16(
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_both_rht_v16(
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_rowwise_4over6_mse_max256_v16(
// CHECK-DAG: gpu.func @row_amax_bf16_v1(
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_rowwise_row_scaled_v16(
func.func @names(%x: !x, %n: !a, %d: !b, %s: !s, %a: !a, %o: !a, %v: !v) {
  te_quant.quantize_into #te_quant.nvfp4<usage = rowwise>
    ins(%x : !x) amax(%a : !a) outs(%d, %s, %o : !b, !s, !a)
  te_quant.quantize_into #te_quant.nvfp4<with_2d_quantization = true, optimize_for_gemm = true>
    ins(%x : !x) noop(%n : !a) amax(%a : !a)
    outs(%d, %s, %d, %s, %o, %o : !b, !s, !b, !s, !a, !a)
  te_quant.quantize_into #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>
    ins(%x : !x) amax(%a, %a : !a, !a)
    outs(%d, %s, %d, %s, %o, %o : !b, !s, !b, !s, !a, !a)
  te_quant.quantize_into #te_quant.nvfp4<usage = rowwise, use_4over6 = true, e4m3_max = 256, err_mode = MSE>
    ins(%x : !x) amax(%a : !a) outs(%d, %s, %o : !b, !s, !a)
  te_quant.quantize_into #te_quant.nvfp4<usage = rowwise, row_scaled = true>
    ins(%x : !x) outs(%d, %s, %v : !b, !s, !v)
  return
}
