// ptxas takes the kernels of FP8 block scaling.

// REQUIRES: ptxas, ptxas-sm_80, ptxas-sm_90a, ptxas-sm_100a
// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_80 format=bin kernels=%t/sm_80"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_90a format=bin kernels=%t/sm_90a"
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_100a format=bin kernels=%t/sm_100a"
// RUN: ls -s %t/sm_80 %t/sm_90a %t/sm_100a | FileCheck %s

// CHECK-COUNT-3: {{[1-9][0-9]* te_quant_kernels.cubin}}

!x = tensor<?x?xbf16>
!f = tensor<?x?xf32>
!row = !te_quant.tensor<?x?xbf16, #te_quant.float8_block_scaling<
    f8E4M3FN, usage = rowwise>>
!both = !te_quant.tensor<?x?xbf16, #te_quant.float8_block_scaling<f8E4M3FN>>
!lines = !te_quant.tensor<?x?xf32, #te_quant.float8_block_scaling<
    f8E5M2, block_scaling_dim = 1, force_pow_2_scales = false>>
!columns = !te_quant.tensor<?x?xf32, #te_quant.float8_block_scaling<
    f8E5M2, usage = columnwise, block_scaling_dim = 1, amax_epsilon = 1.0>>

func.func @all(%x: !x, %f: !f) -> (!both, !lines, !x, !f) {
  %row = te_quant.quantize %x : !x -> !row
  %both = te_quant.update_usage %row : !row -> !both
  %lines = te_quant.quantize %f : !f -> !lines
  %columns = te_quant.quantize %f : !f -> !columns
  %from_both = te_quant.dequantize %both : !both -> !x
  %from_columns = te_quant.dequantize %columns : !columns -> !f
  return %both, %lines, %from_both, %from_columns : !both, !lines, !x, !f
}
