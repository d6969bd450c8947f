// Rules of docs/rules.md that refuse, each in a function that its id names.
// RUN: te-opt %s --split-input-file --verify-diagnostics

// V-5: a name that the layout lacks.
#mx = #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>
func.func @v5_unknown_inner_tensor(%s: tensor<128x4xf8E8M0FNU>, %n: index) -> tensor<128x4xf8E8M0FNU> {
  // expected-error @below {{columnwise_scale_inv}}
  %r = te_quant.swizzle_into #mx "columnwise_scale_inv" ins(%s : tensor<128x4xf8E8M0FNU>) extents(%n, %n)
    outs(%s : tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU>
  return %r : tensor<128x4xf8E8M0FNU>
}

// -----

// V-13: a plain tensor has no usages.
func.func @v13_usage_of_a_plain_tensor(%x: !te_quant.tensor<32x64xbf16>) {
  // expected-error @below {{quantized TensorSpec}}
  %y = te_quant.update_usage %x : !te_quant.tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16>
  return
}

// -----

// V-17: one inner tensor too few.
func.func @v17_assemble_counts(%d: tensor<32x64xf8E4M3FN>) {
  // expected-error @below {{2 inner tensors}}
  %q = te_quant.assemble %d : tensor<32x64xf8E4M3FN> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return
}

// -----

// V-30: a layout in another order than is declared; both orders are printed.
// expected-error @below {{expected the inner tensors of 'custom' in storage order [scale, data], but got [data, scale]}}
func.func private @v30_order_is_checked(!te_quant.tensor<8xf32, #te_quant.custom<"c", layout = #te_quant.layout<data : i8[cols], scale : f32[1]>, storage_order = ["scale", "data"]>>)
