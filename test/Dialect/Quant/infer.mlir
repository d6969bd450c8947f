// Proves that disassemble infers the inner tensors from the operand, and what a result's type may say differently.
// RUN: te-opt %s --split-input-file --verify-diagnostics | FileCheck %s

!dynamic = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!static = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>

// CHECK-LABEL: func.func @known_dims(
// CHECK: te_quant.disassemble {{.*}} -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: te_quant.disassemble {{.*}} -> tensor<?x64xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
func.func @known_dims(%d: !dynamic, %s: !static) {
  %a:2 = te_quant.disassemble %d : !dynamic -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %b:2 = te_quant.disassemble %s : !static -> tensor<?x64xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return
}

// -----

!static = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @other_count(%s: !static) {
  // expected-error @below {{'te_quant.disassemble' op expected 2 inner tensors, but got 1}}
  %a = te_quant.disassemble %s : !static -> tensor<32x64xf8E4M3FN>
  return
}

// -----

!static = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @other_shape(%s: !static) {
  // expected-error @below {{'te_quant.disassemble' op expected inner tensor 1 'rowwise_scale_inv' to be 'tensor<128x4xf8E8M0FNU>', but got 'tensor<64x4xf8E8M0FNU>'}}
  %a:2 = te_quant.disassemble %s : !static -> tensor<32x64xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----

!static = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @other_element_type(%s: !static) {
  // expected-error @below {{'te_quant.disassemble' op expected inner tensor 0 'rowwise_data' to be 'tensor<32x64xf8E4M3FN>', but got 'tensor<32x64xf8E5M2>'}}
  %a:2 = te_quant.disassemble %s : !static -> tensor<32x64xf8E5M2>, tensor<128x4xf8E8M0FNU>
  return
}
