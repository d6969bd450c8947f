// Proves that quantizers refuse every combination of options that has no meaning, ops those that no kernel makes, and
// usage changes what cannot be derived.
// RUN: te-opt %s --split-input-file --verify-diagnostics -o /dev/null
// expected-error @below {{expected fp8_dtype f8E4M3FN or f8E5M2, but got 'f32'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f32>>)

// -----

// expected-error @below {{expected a finite amax_epsilon of at least 0, but got -1}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = -1.0>>)

// -----

// expected-error @below {{expected a finite amax_epsilon of at least 0, but got +Inf}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, amax_epsilon = 0x7F800000>>)

// -----

// expected-error @below {{expected block_scaling_dim 1 or 2, but got 3}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 3>>)

// -----

// expected-error @below {{expected e4m3_max 448 or 256, but got 320}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<e4m3_max = 320>>)

// -----

// expected-error @below {{expected ::te::quant::ErrMode to be one of: MAE, MSE}}
// expected-error @below {{failed to parse TEQuant_NVFP4Attr parameter 'err_mode'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<err_mode = RMS>>)

// -----

// expected-error @below {{'row_scaled' excludes 'with_rht'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true, with_rht = true, with_post_rht_amax = true>>)

// -----

// expected-error @below {{'row_scaled' excludes 'with_2d_quantization'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true, with_2d_quantization = true>>)

// -----

// expected-error @below {{'row_scaled' excludes 'stochastic_rounding'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true, stochastic_rounding = true>>)

// -----

// expected-error @below {{'row_scaled' excludes 'with_amax_reduction'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true, with_amax_reduction = true>>)

// -----

// expected-error @below {{'use_4over6' excludes 'with_rht'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<use_4over6 = true, with_rht = true, with_post_rht_amax = true>>)

// -----

// expected-error @below {{'use_4over6' excludes 'stochastic_rounding'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<use_4over6 = true, stochastic_rounding = true>>)

// -----

// expected-error @below {{'row_scaled' with columnwise usage excludes 'use_4over6'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true, use_4over6 = true>>)

// -----

// expected-error @below {{'row_scaled' with columnwise usage excludes 'use_4over6'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, row_scaled = true, use_4over6 = true>>)

// -----

// expected-error @below {{'with_rht' needs 'with_post_rht_amax': the amax before the transform does not bound its results}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<with_rht = true>>)

// -----

// expected-error @below {{expected ::te::quant::Usage to be one of: rowwise, columnwise, both}}
// expected-error @below {{failed to parse TEQuant_NVFP4Attr parameter 'usage'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = neither>>)

// -----

// expected-error @below {{struct is missing required parameter: columnwise}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>>>)

// -----

// expected-error @below {{expected ::te::quant::ColumnwiseSource to be one of: original, rowwise_dequantized}}
// expected-error @below {{failed to parse TEQuant_HybridAttr parameter 'columnwise_source'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4, columnwise_source = decoded>>)

// -----

// expected-error @below {{expected a rowwise child that is not itself 'hybrid'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.nvfp4>, columnwise = #te_quant.nvfp4>>)

// -----

// expected-error @below {{expected a columnwise child that is not itself 'hybrid'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.nvfp4>>>)

// -----

// expected-error @below {{expected the rowwise child to leave 'usage' out, but got rowwise}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>, columnwise = #te_quant.nvfp4>>)

// -----

// expected-error @below {{expected the columnwise child to leave 'usage' out, but got columnwise}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>>)

// -----

// expected-error @below {{expected a rowwise child with a usage, but got 'custom'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.custom<"own", layout = #te_quant.layout<a : f32[cols]>>, columnwise = #te_quant.nvfp4>>)

// -----

// expected-error @below {{invalid kind of attribute specified}}
// expected-error @below {{failed to parse TEQuant_HybridAttr parameter 'rowwise'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = 5 : i32, columnwise = #te_quant.nvfp4>>)

// -----

// expected-error @below {{'row_scaled' with columnwise usage excludes 'use_4over6'}}
// expected-error @below {{failed to parse TEQuant_HybridAttr parameter 'rowwise'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4<row_scaled = true, use_4over6 = true>, columnwise = #te_quant.nvfp4>>)

// -----

// expected-error @below {{expected a name}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.custom<"", layout = #te_quant.layout<a : f32[cols]>>>)

// -----

// expected-error @below {{expected storage_order to list names, but got '1 : i64'}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.custom<"own", layout = #te_quant.layout<a : f32[cols]>, storage_order = [1]>>)

// -----

// expected-error @below {{expected ','}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.custom<"own">>)

// -----

// expected-error @below {{duplicate or unknown struct parameter name: usage}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.custom<"own", layout = #te_quant.layout<a : f32[cols]>, usage = rowwise>>)

// -----

// expected-error @below {{expected the inner tensors of 'custom' in storage order [b], but got [a]}}
func.func private @f(!te_quant.tensor<32x64xbf16, #te_quant.custom<"own", layout = #te_quant.layout<a : f32[cols]>, storage_order = ["b"]>>)

// -----

func.func @f(%x: tensor<32x64xbf16>) {
  // expected-error @below {{'te_quant.quantize' op expected usage both or rowwise for 'row_scaled', but got columnwise}}
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, row_scaled = true>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected nominal dtype bf16 for 'row_scaled' with columnwise usage, but got 'f32'}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.nvfp4<row_scaled = true>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf16>) {
  // expected-error @below {{'te_quant.quantize' op expected nominal dtype bf16 for 'with_rht', but got 'f16'}}
  %q = te_quant.quantize %x : tensor<32x64xf16> -> !te_quant.tensor<32x64xf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>
  return
}

// -----

func.func @f(%x: tensor<32x64xbf16>) {
  // expected-error @below {{'te_quant.quantize' op expected usage both or rowwise for 'row_scaled', but got columnwise}}
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4<row_scaled = true>>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected nominal dtype bf16 for 'with_rht', but got 'f32'}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected nominal dtype bf16 for 'with_rht', but got 'f32'}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.hybrid<rowwise = #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>, columnwise = #te_quant.mxfp8<f8E4M3FN>, usage = columnwise, columnwise_source = rowwise_dequantized>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'hybrid' takes a scale operand, but one is missing}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.hybrid<rowwise = #te_quant.float8_delayed_scaling<f8E4M3FN>, columnwise = #te_quant.identity, usage = columnwise, columnwise_source = rowwise_dequantized>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'rng' is there exactly when the quantizer rounds stochastically, but it is missing}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4<stochastic_rounding = true>>>
  return
}

// -----

func.func @f(%x: tensor<32x64xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected custom quantizer 'own' to name a 'quantize' function}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.custom<"own", layout = #te_quant.layout<a : f32[leading, cols]>>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'nvfp4' from rowwise to both: columnwise cannot be derived from rowwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise>> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = both>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, with_2d_quantization = true>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'nvfp4' from columnwise to both: rowwise cannot be derived from columnwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, with_2d_quantization = true>> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = both, with_2d_quantization = true>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'nvfp4' from rowwise to columnwise: derive with rowwise kept first, then drop}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true>> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, with_2d_quantization = true>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true, optimize_for_gemm = true>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'nvfp4' from rowwise to both: deriving columnwise needs compact scales}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true, optimize_for_gemm = true>> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = both, with_2d_quantization = true, optimize_for_gemm = true>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true, with_rht = true, with_post_rht_amax = true>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'nvfp4' from rowwise to both: columnwise data is transformed and cannot be derived from rowwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true, with_rht = true, with_post_rht_amax = true>> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = both, with_2d_quantization = true, with_rht = true, with_post_rht_amax = true>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'float8_block_scaling' from rowwise to both: columnwise cannot be derived from rowwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>> -> !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = both, block_scaling_dim = 1>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'float8_block_scaling' from rowwise to columnwise: derive with rowwise kept first, then drop}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>> -> !te_quant.tensor<32x64xbf16, #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'float8_current_scaling' from columnwise to rowwise: rowwise cannot be derived from columnwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>> -> !te_quant.tensor<32x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
  return
}

// -----

func.func @f(%q: !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.nvfp4, usage = rowwise>>) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'hybrid' from rowwise to both: columnwise cannot be derived from rowwise}}
  %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.nvfp4, usage = rowwise>> -> !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.nvfp4, usage = both>>
  return
}
