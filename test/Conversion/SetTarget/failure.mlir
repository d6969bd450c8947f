// A module that is refused is as it was, the parts that could be rewritten too.
// RUN: not te-opt %s --te-quant-set-target=chip=sm_90a --mlir-print-ir-after-failure 2>&1 | FileCheck %s --implicit-check-not=error:

#both = #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>
!column = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>>
!both = !te_quant.tensor<8x16xbf16, #both>

// CHECK: error: 'te_quant.update_usage' op {{.*}}rowwise cannot be derived from columnwise
// CHECK: note: with the quantizers that 'te-quant-set-target' makes for 'sm_90a'
// CHECK: IR Dump After QuantSetTargetPass Failed
// CHECK-LABEL: func.func private @other(!te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>)
func.func private @other(!both)
// One buffer serves both usages there, but here columnwise data is no rowwise data.
func.func @change(%q: !column) -> !both {
  // CHECK: te_quant.update_usage {{.*}}non_tn_gemm = true
  %r = te_quant.update_usage %q : !column -> !both
  return %r : !both
}
