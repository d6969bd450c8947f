// Each rule that refuses a layer that contains linear layers, by its id.
// RUN: te-opt %s --split-input-file --verify-diagnostics

// 7.2
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected a 'beta' with LayerNorm, but it is missing}}
  te_quant.layernorm_linear %x, %g, %w {eps = 1.0e-06}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.2
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected no 'beta' with RMSNorm, but it is given}}
  te_quant.layernorm_linear %x, %g, %w beta(%b) {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>, tensor<128xbf16>
  return
}

// -----

// 7.2: one factor for each element of a row.
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<64xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected 'gamma' of 128 elements as a row of the input, but got 'tensor<64xbf16>'}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<16x128xbf16>, tensor<64xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.2
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<64xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected 'beta' of 128 elements as a row of the input, but got 'tensor<64xbf16>'}}
  te_quant.layernorm_linear %x, %g, %w beta(%b) {eps = 1.0e-06}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>, tensor<64xbf16>
  return
}

// -----

// B-10
func.func @f(%x: tensor<128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected an input of rank 2 or more, but got 'tensor<128xbf16>'}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.2
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected 'eps' of at least 0, but got -1.000000e+00}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>, eps = -1.0}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.2: not supported.
func.func @f(%x: tensor<16x?xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op a norm of rows whose length is not known is not supported yet, but got 'tensor<16x?xbf16>'}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<16x?xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// B-2
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op expected no 'save_original_input': the input of the product is no operand}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>, save_original_input = true}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.2: not supported.
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_linear' op returning the gathered output of the norm is not supported yet}}
  te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>, return_layernorm_output = true, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.3, R-7
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x96xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_mlp' op expected no 'backward_override', but got dequantized}}
  te_quant.layernorm_mlp %x, %g, %w1, %w2 {normalization = #te_quant.normalization<RMSNorm>, backward_override = #te_quant.backward_override<dequantized>}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x96xbf16>
  return
}

// -----

// 7.3: a gate takes two halves.
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<97x128xbf16>, %w2: tensor<32x96xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_mlp' op expected an even number of features for 'swiglu', but got 97}}
  te_quant.layernorm_mlp %x, %g, %w1, %w2 {normalization = #te_quant.normalization<RMSNorm>, activation = #te_quant.activation<swiglu>}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<97x128xbf16>, tensor<32x96xbf16>
  return
}

// -----

// 7.3: the product at fault is named.
func.func @f(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x96xbf16>) {
  // expected-error @+1 {{'te_quant.layernorm_mlp' op in 'fc2': expected the last dim of the input to equal that of the weight, but got 48 and 96}}
  te_quant.layernorm_mlp %x, %g, %w1, %w2 {normalization = #te_quant.normalization<RMSNorm>, activation = #te_quant.activation<geglu>}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x96xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected at least 1 weight, but got 0}}
  te_quant.grouped_linear %x {m_splits = array<i64>}
    : tensor<16x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected either 'm_splits' or 'splits', but got neither}}
  te_quant.grouped_linear %x weights(%w0, %w1) {is_grad_enabled = false}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>, %m: tensor<2xi64>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected either 'm_splits' or 'splits', but got both}}
  te_quant.grouped_linear %x weights(%w0, %w1) splits(%m) {m_splits = array<i64: 8, 8>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<2xi64>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>, %m: tensor<3xi64>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected 'splits' of type 'tensor<2xi64>', but got 'tensor<3xi64>'}}
  te_quant.grouped_linear %x weights(%w0, %w1) splits(%m) {is_grad_enabled = false}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<3xi64>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected 'm_splits' of 2 elements, one for each weight, but got 1}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 16>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected 'm_splits' of at least 0 rows, but got -8}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 24, -8>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op the sum of 'm_splits' overflows 64 bits}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 9223372036854775807, 8>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected 'm_splits' to sum to the rows of the input, but got 24 and 16}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 16, 8>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4: experts share N and K.
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<64x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected experts with weights of one type, but got 'tensor<32x128xbf16>' and 'tensor<64x128xbf16>'}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 8, 8>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>
  return
}

// -----

// 7.4
func.func @f(%x: tensor<2x8x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expected an input of rank 2, but got 'tensor<2x8x128xbf16>'}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 8, 8>}
    : tensor<2x8x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4: not supported.
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op a grouped linear layer with 'parallel_mode' is not supported yet, but got row}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 8, 8>, parallel_mode = #te_quant.parallel_mode<row>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.4: not supported.
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op a quantized result of a grouped linear layer is not supported yet, but got #te_quant.mxfp8<f8E4M3FN>}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 8, 8>, output_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// B-13: the rows of each expert, which is named.
func.func @f(%x: tensor<16x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.grouped_linear' op expert 0: expected the rows of the input to be a multiple of 8, but got 4}}
  te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 4, 12>, input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}
