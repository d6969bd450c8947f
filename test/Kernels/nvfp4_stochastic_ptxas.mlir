// ptxas takes the kernels of stochastic rounding, which call no function.

// REQUIRES: ptxas, ptxas-sm_80, ptxas-sm_86, ptxas-sm_89, ptxas-sm_90a, ptxas-sm_100a, ptxas-sm_120
// RUN: rm -rf %t && mkdir %t

// DEFINE: %{chip} = sm_80
// DEFINE: %{assemble} = te-opt %s -o /dev/null \
// DEFINE:   --te-quant-gpu-pipeline="chip=%{chip} format=isa kernels=%t/%{chip}" && \
// DEFINE:   ptxas -arch=%{chip} -o /dev/null %t/%{chip}/te_quant_kernels.ptx && \
// DEFINE:   FileCheck %s --input-file=%t/%{chip}/te_quant_kernels.ptx

// RUN: %{assemble}
// REDEFINE: %{chip} = sm_86
// RUN: %{assemble}
// REDEFINE: %{chip} = sm_89
// RUN: %{assemble}
// REDEFINE: %{chip} = sm_90a
// RUN: %{assemble}
// REDEFINE: %{chip} = sm_100a
// RUN: %{assemble}
// REDEFINE: %{chip} = sm_120
// RUN: %{assemble}

// CHECK-NOT: .extern
// CHECK-DAG: .entry quantize_nvfp4_bf16_both_sr_v16(
// CHECK-DAG: .entry quantize_nvfp4_f32_both_2d_sr_swizzled_v1(
// CHECK-DAG: .entry quantize_nvfp4_bf16_both_rht_sr_v16(
// CHECK-NOT: call

!x = tensor<?x?xbf16>
!f = tensor<?x?xf32>
!g = tensor<2xi64>
!lines = !te_quant.tensor<?x?xbf16, #te_quant.nvfp4<stochastic_rounding = true>>
!tiles = !te_quant.tensor<?x?xf32, #te_quant.nvfp4<with_2d_quantization = true,
    stochastic_rounding = true, optimize_for_gemm = true>>
!transform = !te_quant.tensor<?x?xbf16, #te_quant.nvfp4<with_rht = true,
    with_post_rht_amax = true, stochastic_rounding = true>>

func.func @all(%x: !x, %f: !f, %g: !g) -> (!lines, !tiles, !transform) {
  %lines = te_quant.quantize %x rng(%g) : !x, !g -> !lines
  %tiles = te_quant.quantize %f rng(%g) : !f, !g -> !tiles
  %transform = te_quant.quantize %x rng(%g) : !x, !g -> !transform
  return %lines, %tiles, %transform : !lines, !tiles, !transform
}
