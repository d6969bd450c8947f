// The kernels of NVFP4 quantization: names, stages, and how they store.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a | FileCheck %s
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize \
// RUN:   | FileCheck %s --check-prefix=COLUMNS

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
// CHECK-DAG: gpu.func @quantize_nvfp4_bf16_both_row_scaled_noop_v16(
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
  te_quant.quantize_into #te_quant.nvfp4<row_scaled = true>
    ins(%x : !x) noop(%n : !a) outs(%d, %s, %d, %s, %v, %v : !b, !s, !b, !s, !v, !v)
  return
}

// The amax of a column comes from all blocks: its parts are merged into zeros.
// Threads of a warp read one row, from several rows at once.
// COLUMNS-LABEL: gpu.func @zero_columns_f32_noop_v1(
// COLUMNS: llvm.store {{.*}} : f32, !llvm.ptr
// COLUMNS-LABEL: gpu.func @column_amax_bf16_noop_v1(
// COLUMNS: scf.for
// COLUMNS: scf.for
// COLUMNS: scf.if
// COLUMNS-COUNT-8: llvm.load {{.*}} -> bf16
// COLUMNS-NEXT: scf.yield
// COLUMNS: llvm.atomicrmw umax
// COLUMNS: gpu.return
// COLUMNS-LABEL: func.func private @te_quant_launch_quantize_nvfp4_bf16_both_row_scaled_noop(
// COLUMNS: gpu.launch_func {{.*}} @te_quant_kernels::@row_amax_bf16_noop_v1
// COLUMNS: gpu.launch_func {{.*}} @te_quant_kernels::@zero_columns_f32_noop_v1
// COLUMNS: gpu.launch_func {{.*}} @te_quant_kernels::@column_amax_bf16_noop_v1
// COLUMNS: gpu.launch_func {{.*}} @te_quant_kernels::@quantize_nvfp4_bf16_both_row_scaled_noop_v16
