// A layer that does not qualify stays as it is, with the rule that failed.
// RUN: te-opt %s --te-quant-apply-recipe=recipe=mxfp8 --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @r8_rows
// CHECK-NOT: quantizer
func.func @r8_rows(%x: tensor<40x128xbf16>, %w: tensor<32x128xbf16>, %dy: tensor<40x32xbf16>) -> (tensor<40x32xbf16>, tensor<32x128xbf16>) {
  // expected-remark @below {{'te_quant.linear' op is not quantized: cannot quantize the input: expected dim 0 to be a multiple of 32 for columnwise 'mxfp8' blocks, but got 40 (the next legal size is 64)}}
  %y = te_quant.linear %x, %w : tensor<40x128xbf16>, tensor<32x128xbf16>
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w)
    : tensor<40x32xbf16>, tensor<40x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y, %dw : tensor<40x32xbf16>, tensor<32x128xbf16>
}

// -----

// Rows matter in columnwise blocks only, which inference has none of.

// CHECK-LABEL: func.func @inference
// CHECK: te_quant.linear {{.*}}input_quantizer
func.func @inference(%x: tensor<40x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<40x32xbf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<40x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<40x32xbf16>
}

// -----

// Forward would do, but not backward: both stay.

// CHECK-LABEL: func.func @backward
// CHECK-NOT: quantizer
func.func @backward(%x: tensor<32x128xbf16>, %w: tensor<48x128xbf16>, %dy: tensor<32x48xbf16>) -> (tensor<32x48xbf16>, tensor<32x128xbf16>) {
  // expected-remark @below {{'te_quant.linear' op is not quantized: }}
  %y = te_quant.linear %x, %w {weight_requires_grad = false} : tensor<32x128xbf16>, tensor<48x128xbf16>
  %dx = te_quant.linear_backward %dy weightmat(%w) weight(%w) {weight_requires_grad = false}
    : tensor<32x48xbf16>, tensor<48x128xbf16>, tensor<48x128xbf16>
  return %y, %dx : tensor<32x48xbf16>, tensor<32x128xbf16>
}

// -----

// What the plain layer saves has a use that would see another type.

// CHECK-LABEL: func.func @saved
// CHECK-NOT: quantizer
func.func @saved(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
  // expected-remark @below {{is not quantized: what it saves for backward is used by 'func.return'}}
  %y, %input, %weightmat = te_quant.linear %x, %w {activation_dtype = bf16} : tensor<64x128xf32>, tensor<128x128xf32>
  return %y, %input : tensor<64x128xbf16>, tensor<64x128xbf16>
}

// -----

// Quantized layers stay as they are, and are nothing to remark on.

#mx = #te_quant.mxfp8<f8E5M2, internal = true>
// CHECK-LABEL: func.func @quantized
// CHECK: input_quantizer = #{{.*}}, is_grad_enabled = false, weight_quantizer
func.func @quantized(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<64x32xbf16>
}

// -----

// CHECK-LABEL: func.func @module
func.func @module(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  // expected-remark @below {{is not quantized: recipes are applied to the linear layers that 'te-quant-decompose-modules' takes it apart into}}
  %y = te_quant.grouped_linear %x weights(%w, %w) {m_splits = array<i64: 32, 32>, is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<64x32xbf16>
}
