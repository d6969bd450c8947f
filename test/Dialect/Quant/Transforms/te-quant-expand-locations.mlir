// Proves that te-quant-expand keeps locations: each op made has that of the op it stands for.
// RUN: te-opt %s --te-quant-expand --mlir-print-debuginfo | FileCheck %s

// CHECK: te_quant.quantize_into {{.*}} loc([[LOC:#.*]])
// CHECK: [[LOC]] = loc("quantize here")
!t = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @f(%x: tensor<32x64xbf16>) -> !t {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !t loc("quantize here")
  return %q : !t
}
