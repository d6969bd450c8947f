// ptxas takes the kernels of products for each generation of chips.

// REQUIRES: ptxas, ptxas-sm_80, ptxas-sm_86, ptxas-sm_89, ptxas-sm_90a, ptxas-sm_100a, ptxas-sm_120
// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_80 format=bin kernels=%t/sm_80"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_86 format=bin kernels=%t/sm_86"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_89 format=bin kernels=%t/sm_89"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_90a format=bin kernels=%t/sm_90a"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_100a format=bin kernels=%t/sm_100a"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_120 format=bin kernels=%t/sm_120"
// RUN: ls -s %t/sm_80 %t/sm_86 %t/sm_89 %t/sm_90a %t/sm_100a %t/sm_120 \
// RUN:   | FileCheck %s

// CHECK-COUNT-6: {{[1-9][0-9]* te_quant_kernels.cubin}}

!w8 = !te_quant.tensor<?x?xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
!x8 = !te_quant.tensor<?x?xbf16, #te_quant.float8_delayed_scaling<f8E5M2>>
!mx = !te_quant.tensor<?x?xbf16, #te_quant.mxfp8<f8E4M3FN>>
!mxs = !te_quant.tensor<?x?xbf16, #te_quant.mxfp8<
    f8E4M3FN, optimize_for_gemm = true>>
!lines = !te_quant.tensor<?x?xf32, #te_quant.float8_block_scaling<
    f8E4M3FN, block_scaling_dim = 1>>
!tiles = !te_quant.tensor<?x?xf32, #te_quant.float8_block_scaling<f8E4M3FN>>
!rht = !te_quant.tensor<?x?xbf16, #te_quant.nvfp4<
    usage = columnwise, with_rht = true, with_post_rht_amax = true>>
!rows = !te_quant.tensor<?x?xbf16, #te_quant.nvfp4<
    usage = rowwise, row_scaled = true, optimize_for_gemm = true>>
!bf16 = tensor<?x?xbf16>
!f16 = tensor<?x?xf16>
!f32 = tensor<?x?xf32>

func.func @fp8(%w: !w8, %x: !x8, %bias: tensor<?xbf16>) -> (!bf16, !bf16) {
  %y, %p = te_quant.gemm TN %w, %x bias(%bias) {gelu}
    : !w8, !x8, tensor<?xbf16> -> !bf16, !bf16
  return %y, %p : !bf16, !bf16
}

func.func @blocks(%w: !mx, %dy: !mxs, %t: !tiles, %l: !lines) -> (!f32, !f16) {
  %y = te_quant.gemm NN %w, %dy : !mx, !mxs -> !f32
  %z = te_quant.gemm NT %l, %t : !lines, !tiles -> !f16
  return %y, %z : !f32, !f16
}

func.func @fp4(%x: !rht, %dy: !rht, %d: !f32, %r: !rows) -> (!f32, !bf16) {
  %y = te_quant.gemm NT %x, %dy accumulate(%d) : !rht, !rht, !f32 -> !f32
  %z = te_quant.gemm TN %r, %r : !rows, !rows -> !bf16
  return %y, %z : !f32, !bf16
}

func.func @plain(%a: !bf16, %b: !f16, %c: !f32) -> (!bf16, !f16, !f32) {
  %x = te_quant.gemm TN %a, %a : !bf16, !bf16 -> !bf16
  %y = te_quant.gemm NN %b, %b : !f16, !f16 -> !f16
  %z = te_quant.gemm NT %c, %a : !f32, !bf16 -> !f32
  return %x, %y, %z : !bf16, !f16, !f32
}
