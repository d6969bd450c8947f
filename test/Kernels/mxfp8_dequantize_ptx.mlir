// The product of code and scale is an f32, also where both of them and the
// result have 16 bits: half of the scales are no f16.
// RUN: rm -rf %t
// RUN: te-opt %s -o /dev/null \
// RUN:   --te-quant-gpu-pipeline="chip=sm_100a format=isa kernels=%t"
// RUN: FileCheck %s --input-file=%t/te_quant_kernels.ptx

// CHECK-NOT: mul{{(.rn)?}}.f16
// CHECK: cvt.rn.bf16x2.ue8m0x2
// CHECK-NOT: mul{{(.rn)?}}.f16
// CHECK: mul.rn.f32
// CHECK-NOT: mul{{(.rn)?}}.f16

!q = !te_quant.tensor<?x?xf16, #te_quant.mxfp8<f8E5M2>>
func.func @dequantize(%q: !q) -> tensor<?x?xf16> {
  %y = te_quant.dequantize %q : !q -> tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}
