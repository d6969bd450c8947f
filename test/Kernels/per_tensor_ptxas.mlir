// ptxas takes all kernels of per-tensor FP8 for every generation.

// REQUIRES: ptxas, ptxas-sm_80, ptxas-sm_90a, ptxas-sm_100a, ptxas-sm_120
// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_80 format=bin kernels=%t/sm_80"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_86 format=bin kernels=%t/sm_86"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_89 format=bin kernels=%t/sm_89"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_90 format=bin kernels=%t/sm_90"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_90a format=bin kernels=%t/sm_90a"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_100 format=bin kernels=%t/sm_100"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_100a format=bin kernels=%t/sm_100a"
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_120 format=bin kernels=%t/sm_120"
// RUN: ls -s %t/sm_80 %t/sm_86 %t/sm_89 %t/sm_90 %t/sm_90a %t/sm_100 %t/sm_100a %t/sm_120 | FileCheck %s

// CHECK-COUNT-8: {{[1-9][0-9]* te_quant_kernels.cubin}}

!x = tensor<?x?xbf16>
!f = tensor<?x?xf32>
!s = tensor<1xf32>
!h = tensor<?xf32>
!row = !te_quant.tensor<?x?xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>
!both = !te_quant.tensor<?x?xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>
!current = !te_quant.tensor<?x?xf32, #te_quant.float8_current_scaling<f8E5M2, usage = columnwise, force_pow_2_scales = true>>

func.func @all(%x: !x, %f: !f, %h: !h, %s: !s, %q: !both, %flag: !s)
    -> (!both, !both, !current, !x, !f, !h, !s) {
  %row, %a = te_quant.quantize %x scale(%s) : !x, !s -> !row, !s
  %derived = te_quant.update_usage %row : !row -> !both
  %updated, %b = te_quant.quantize %x into %q noop(%flag) scale(%s) : !x, !both, !s, !s -> !both, !s
  %current = te_quant.quantize %f : !f -> !current
  %y = te_quant.dequantize %row : !row -> !x
  %z = te_quant.dequantize %current : !current -> !f
  %h2, %s2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E4M3FN> max %h, %b, %s
    {margin = 1 : i64, keep_on_zero_amax} : !h, !s, !s
  return %derived, %updated, %current, %y, %z, %h2, %s2 : !both, !both, !current, !x, !f, !h, !s
}
