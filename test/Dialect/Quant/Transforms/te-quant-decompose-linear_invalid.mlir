// RUN: te-opt %s --te-quant-decompose-linear --split-input-file --verify-diagnostics

#sr = #te_quant.nvfp4<stochastic_rounding = true, internal = true>

func.func @ignored(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %rng: tensor<2xi64>) {
  // expected-warning @below {{'save_original_input' is ignored: quantizing the input again would not give the same}}
  te_quant.linear %x, %w rng(%rng) {save_original_input = true, input_quantizer = #sr, weight_quantizer = #te_quant.nvfp4} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<2xi64>
  return
}

// -----

// A layout that does not tell the dims, which are to be checked.
#custom = #te_quant.custom<"format", layout = #te_quant.layout<data : i8[8]>, quantize = "quantize", dequantize = "dequantize">

func.func @unknown_dims(%x: !te_quant.tensor<?x128xbf16, #custom>, %w: !te_quant.tensor<32x128xbf16, #custom>) {
  // expected-error @below {{the dynamic dims of '!te_quant.tensor<?x128xbf16, #te_quant.custom<}}
  te_quant.linear %x, %w {input_quantizer = #custom, weight_quantizer = #custom} : !te_quant.tensor<?x128xbf16, #custom>, !te_quant.tensor<32x128xbf16, #custom>
  return
}

// -----

#mx = #te_quant.mxfp8<f8E4M3FN>
#nv = #te_quant.nvfp4

func.func @mixed(%dy: tensor<64x32xbf16>, %wm: !te_quant.tensor<32x128xbf16, #nv>, %w: tensor<32x128xbf16>) {
  // expected-error @below {{'te_quant.gemm' op expected A and B to be scaled alike}}
  te_quant.linear_backward %dy weightmat(%wm) weight(%w) {weight_requires_grad = false, input_quantizer = #nv, weight_quantizer = #nv, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #nv>, tensor<32x128xbf16>
  return
}
