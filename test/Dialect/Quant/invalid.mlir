// Proves that each check of the types, the layout attribute and the ops refuses what it must, where it is at fault.
// RUN: te-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected nominal dtype f32, bf16 or f16, but got 'f64'}}
func.func private @nominal_dtype(!te_quant.tensor<8xf64>)

// -----

// expected-error @below {{expected a quantizer attribute, but got 5}}
func.func private @quantizer(!te_quant.tensor<8xf32, 5 : i64>)

// -----

// expected-error @below {{expected a quantizer attribute, but got #te_quant.layout<a : f32[cols]>}}
func.func private @layout_as_quantizer(!te_quant.tensor<8xf32, #te_quant.layout<a : f32[cols]>>)

// -----

// expected-error @below {{expected 'requires_grad' or 'device'}}
func.func private @quantizer_last(!te_quant.tensor<8xf32, requires_grad = true, #te_quant.nvfp4>)

// -----

// expected-error @below {{parameter 'requires_grad' appears twice}}
func.func private @requires_grad_twice(!te_quant.tensor<8xf32, requires_grad = true, requires_grad = true>)

// -----

// expected-error @below {{parameter 'device' appears twice}}
func.func private @device_twice(!te_quant.tensor<8xf32, device = "a", device = "b">)

// -----

// expected-error @below {{the number of rows overflows 64 bits}}
func.func private @rows_overflow(!te_quant.tensor<9223372036854775807x2x?xf32>)

// -----

// expected-error @below {{the size of inner tensor 'data' overflows 64 bits}}
func.func private @bytes_overflow(!te_quant.tensor<9223372036854775807xf32>)

// -----

// Padding to 128 rows passes the largest number.
// expected-error @below {{the shape of inner tensor 'rowwise_scale_inv' is negative or overflows 64 bits}}
func.func private @padding_overflows(!te_quant.tensor<9223372036854775807x0xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>)

// -----

// expected-error @below {{expected the inner tensors of 'custom' in storage order [scale, data], but got [data, scale]}}
func.func private @storage_order_s5(!te_quant.tensor<8xf32, #te_quant.custom<"c", layout = #te_quant.layout<data : i8[cols], scale : f32[1]>, storage_order = ["scale", "data"]>>)

// -----

// expected-error @below {{the shape of inner tensor 'a' is negative or overflows 64 bits}}
func.func private @negative_size(!te_quant.tensor<4xf32, #te_quant.custom<"c", layout = #te_quant.layout<a : f32[cols - 5]>>>)

// -----

// expected-error @below {{unknown attribute 'unknown' in dialect 'te_quant'}}
func.func private @unknown_attribute() attributes {test.a = #te_quant.unknown}

// -----

// expected-error @below {{expected '<'}}
func.func private @layout_needs_brackets() attributes {test.a = #te_quant.layout}

// -----

// expected-error @below {{inner tensor 'a' appears twice}}
func.func private @layout_name_twice() attributes {test.a = #te_quant.layout<a : f32[cols], a : f32[rows]>}

// -----

// expected-error @below {{expected a name for each inner tensor}}
func.func private @layout_without_name() attributes {test.a = #te_quant.layout<"" : f32[cols]>}

// -----

// expected-error @below {{expected an integer or float element type for inner tensor 'a', but got 'index'}}
func.func private @layout_element_type() attributes {test.a = #te_quant.layout<a : index[cols]>}

// -----

// expected-error @below {{'leading' in inner tensor 'a' must stand alone in a dim's place}}
func.func private @layout_leading_alone() attributes {test.a = #te_quant.layout<a : f32[leading * 2]>}

// -----

// expected-error @below {{'leading' appears twice in inner tensor 'a'}}
func.func private @layout_leading_twice() attributes {test.a = #te_quant.layout<a : f32[leading, leading]>}

// -----

// expected-error @below {{expected a positive constant divisor in inner tensor 'a', but got '0'}}
func.func private @layout_division_by_zero() attributes {test.a = #te_quant.layout<a : f32[cols floordiv 0]>}

// -----

// expected-error @below {{expected a positive constant divisor in inner tensor 'a', but got 'cols'}}
func.func private @layout_division_by_extent() attributes {test.a = #te_quant.layout<a : f32[rows ceildiv cols]>}

// -----

func.func @empty_sizes(%d: index) {
  // expected-error @below {{'te_quant.empty' op expected 1 dynamic sizes, but got 2}}
  %e = te_quant.empty(%d, %d) : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @empty_d3() {
  // expected-error @below {{'te_quant.empty' op expected usage both or rowwise for 'row_scaled', but got columnwise}}
  %e = te_quant.empty() : !te_quant.tensor<64x64xbf16, #te_quant.nvfp4<usage = columnwise, row_scaled = true>>
  return
}

// -----

func.func @quantize_shape(%x: tensor<32x32xbf16>) {
  // expected-error @below {{'te_quant.quantize' op shape of the input (32, 32) must equal shape of the result (32, 64)}}
  %q = te_quant.quantize %x : tensor<32x32xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @quantize_dtype(%x: tensor<32x64xf32>) {
  // expected-error @below {{nominal dtype bf16 for 'with_rht'}}
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>
  return
}

// -----

func.func @quantize_into_type(%x: tensor<32x64xbf16>, %p: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E5M2>>) {
  // expected-error @below {{'te_quant.quantize' op type of 'into' ('!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E5M2>>') must equal the result's type ('!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>')}}
  %q = te_quant.quantize %x into %p : tensor<32x64xbf16>, !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E5M2>> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @quantize_noop_alone(%x: tensor<32x64xbf16>, %f: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'noop' needs 'into': without it there is nothing to leave as it is}}
  %q = te_quant.quantize %x noop(%f) : tensor<32x64xbf16>, tensor<1xf32> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

!mx = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @quantize_noop_shape(%x: tensor<32x64xbf16>, %p: !mx, %f: tensor<2xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected 'noop' to have 1 element of 'f32', but got 'tensor<2xf32>'}}
  %q = te_quant.quantize %x into %p noop(%f) : tensor<32x64xbf16>, !mx, tensor<2xf32> -> !mx
  return
}

// -----

func.func @quantize_scale_given(%x: tensor<32x64xbf16>, %s: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'mxfp8' takes no scale operand, but one is given}}
  %q = te_quant.quantize %x scale(%s) : tensor<32x64xbf16>, tensor<1xf32> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @quantize_scale_missing(%x: tensor<8x16xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'float8_delayed_scaling' takes a scale operand, but one is missing}}
  %q, %a = te_quant.quantize %x : tensor<8x16xf32> -> !te_quant.tensor<8x16xf32, #te_quant.float8_delayed_scaling<f8E4M3FN>>, tensor<1xf32>
  return
}

// -----

func.func @quantize_amax_result_missing(%x: tensor<8x16xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize' op 'float8_delayed_scaling' returns an amax, but the result for one is missing}}
  %q = te_quant.quantize %x scale(%s) : tensor<8x16xf32>, tensor<1xf32> -> !te_quant.tensor<8x16xf32, #te_quant.float8_delayed_scaling<f8E4M3FN>>
  return
}

// -----

func.func @quantize_amax_result_shape(%x: tensor<8x16xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected 'amax result' to have 1 element of 'f32', but got 'tensor<f32>'}}
  %q, %a = te_quant.quantize %x scale(%s) : tensor<8x16xf32>, tensor<1xf32> -> !te_quant.tensor<8x16xf32, #te_quant.float8_delayed_scaling<f8E4M3FN>>, tensor<f32>
  return
}

// -----

func.func @quantize_amax_count(%x: tensor<16x16xbf16>, %a: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize' op expected 1 operands of 'amax' for 'nvfp4', but got 2}}
  %q = te_quant.quantize %x amax(%a, %a) : tensor<16x16xbf16>, tensor<1xf32>, tensor<1xf32> -> !te_quant.tensor<16x16xbf16, #te_quant.nvfp4>
  return
}

// -----

func.func @quantize_rng_missing(%x: tensor<16x16xbf16>) {
  // expected-error @below {{'te_quant.quantize' op 'rng' is there exactly when the quantizer rounds stochastically, but it is missing}}
  %q = te_quant.quantize %x : tensor<16x16xbf16> -> !te_quant.tensor<16x16xbf16, #te_quant.nvfp4<stochastic_rounding = true>>
  return
}

// -----

func.func @quantize_rng_shape(%x: tensor<16x16xbf16>, %s: tensor<1xi64>) {
  // expected-error @below {{'te_quant.quantize' op expected 'rng' to have 2 elements of 'i64', but got 'tensor<1xi64>'}}
  %q = te_quant.quantize %x rng(%s) : tensor<16x16xbf16>, tensor<1xi64> -> !te_quant.tensor<16x16xbf16, #te_quant.nvfp4<stochastic_rounding = true>>
  return
}

// -----

// The input knows what the result leaves open (D-6).
func.func @quantize_input_not_multiple_d6(%x: tensor<33x64xbf16>) {
  // expected-error @below {{'te_quant.quantize' op expected dim 0 to be a multiple of 32 for columnwise 'mxfp8' blocks, but got 33 (the next legal size is 64)}}
  %q = te_quant.quantize %x : tensor<33x64xbf16> -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @dequantize_shape(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>) {
  // expected-error @below {{'te_quant.dequantize' op shape of the input (32, 64) must equal shape of the result (64, 32)}}
  %y = te_quant.dequantize %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>> -> tensor<64x32xf32>
  return
}

// -----

func.func @assemble_count(%d: tensor<32x64xf8E4M3FN>) {
  // expected-error @below {{'te_quant.assemble' op expected 2 inner tensors, but got 1}}
  %q = te_quant.assemble %d : tensor<32x64xf8E4M3FN> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return
}

// -----

func.func @assemble_shape(%d: tensor<32x64xf8E4M3FN>, %s: tensor<32x2xf8E8M0FNU>) {
  // expected-error @below {{'te_quant.assemble' op expected inner tensor 1 'rowwise_scale_inv' to be 'tensor<128x4xf8E8M0FNU>', but got 'tensor<32x2xf8E8M0FNU>'}}
  %q = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return
}

// -----

!mx = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @update_usage_type(%q: !mx) {
  // expected-error @below {{'te_quant.update_usage' op expected a result type that differs from '!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>' in usage only}}
  %u = te_quant.update_usage %q : !mx -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E5M2, usage = rowwise>>
  return
}

// -----

!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @update_usage_illegal(%q: !row) {
  // expected-error @below {{'te_quant.update_usage' op cannot change usage of 'mxfp8' from rowwise to both: columnwise cannot be derived from rowwise}}
  %u = te_quant.update_usage %q : !row -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @swizzle_one_order(%q: !te_quant.tensor<8x16xf32, #te_quant.identity>) {
  // expected-error @below {{'te_quant.swizzle' op scales of 'identity' have one order only}}
  %s = te_quant.swizzle %q : !te_quant.tensor<8x16xf32, #te_quant.identity> -> !te_quant.tensor<8x16xf32, #te_quant.identity>
  return
}

// -----

!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @swizzle_type(%q: !row) {
  // expected-error @below {{'te_quant.swizzle' op expected a result type that differs from '!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>' in 'optimize_for_gemm' only}}
  %s = te_quant.swizzle %q : !row -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
  return
}

// -----

func.func @cast_elements(%x: f64) {
  // expected-error @below {{'te_quant.cast' op expected elements of f32, bf16, f16, f8E4M3FN, f8E5M2, f4E2M1FN or f8E8M0FNU, but got 'f64'}}
  %y = te_quant.cast %x : f64 to f32
  return
}

// -----

func.func @cast_narrow_to_narrow(%x: f8E4M3FN) {
  // expected-error @below {{'te_quant.cast' op expected f32, bf16 or f16 on one side, but got 'f8E4M3FN' and 'f8E5M2'}}
  %y = te_quant.cast %x : f8E4M3FN to f8E5M2
  return
}

// -----

func.func @quantize_into_mixed(%x: tensor<8x16xf32>, %d: memref<8x16xf8E4M3FN>, %s: memref<1xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected tensors or memrefs throughout, but got both}}
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise> ins(%x : tensor<8x16xf32>) outs(%d, %s : memref<8x16xf8E4M3FN>, memref<1xf32>)
  return
}

// -----

func.func @quantize_into_results(%x: tensor<8x16xf32>, %d: tensor<8x16xf8E4M3FN>, %s: tensor<1xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected the types of 'outs' as results}}
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise> ins(%x : tensor<8x16xf32>) outs(%d, %s : tensor<8x16xf8E4M3FN>, tensor<1xf32>)
  return
}

// -----

func.func @quantize_into_no_outs(%x: tensor<8x16xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected the inner tensors as 'outs'}}
  "te_quant.quantize_into"(%x) <{quantizer = #te_quant.nvfp4, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}> ({}) : (tensor<8x16xf32>) -> ()
  return
}

// -----

func.func @quantize_into_inner_shape(%x: memref<8x16xf32>, %d: memref<8x8xf8E4M3FN>, %s: memref<1xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected inner tensor 0 'data' to be 'tensor<8x16xf8E4M3FN>', but got 'memref<8x8xf8E4M3FN>'}}
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise> ins(%x : memref<8x16xf32>) outs(%d, %s : memref<8x8xf8E4M3FN>, memref<1xf32>)
  return
}

// -----

func.func @quantize_into_amax_out(%x: memref<8x16xf32>, %d: memref<8x16xf8E4M3FN>, %s: memref<1xf32>, %a: memref<4xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected 'amax out' to have 1 element of 'f32', but got 'memref<4xf32>'}}
  te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise> ins(%x : memref<8x16xf32>) scale(%s : memref<1xf32>) outs(%d, %s, %a : memref<8x16xf8E4M3FN>, memref<1xf32>, memref<4xf32>)
  return
}

// -----

func.func @dequantize_into_inner_type(%d: memref<8x16xf8E5M2>, %s: memref<1xf32>, %y: memref<8x16xf32>) {
  // expected-error @below {{'te_quant.dequantize_into' op expected inner tensor 0 'data' to be 'tensor<8x16xf8E4M3FN>', but got 'memref<8x16xf8E5M2>'}}
  te_quant.dequantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise> ins(%d, %s : memref<8x16xf8E5M2>, memref<1xf32>) outs(%y : memref<8x16xf32>)
  return
}

// -----

// The inner tensor of identity tells the nominal dtype, which the result need not have.
func.func @dequantize_into_identity(%d: memref<8x16xbf16>, %y: memref<8x16xf32>, %e: memref<8x16xi8>) {
  te_quant.dequantize_into #te_quant.identity ins(%d : memref<8x16xbf16>) outs(%y : memref<8x16xf32>)
  // expected-error @below {{'te_quant.dequantize_into' op expected inner tensor 0 'hp_data' to be 'tensor<8x16xf32>', but got 'memref<8x16xi8>'}}
  te_quant.dequantize_into #te_quant.identity ins(%e : memref<8x16xi8>) outs(%y : memref<8x16xf32>)
  return
}

// -----

func.func @swizzle_into_name(%s: memref<128x4xf8E8M0FNU>, %n: index) {
  // expected-error @below {{'te_quant.swizzle_into' op expected the name of an inner tensor of '#te_quant.mxfp8<f8E4M3FN>', but got 'scale'}}
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN> "scale" ins(%s : memref<128x4xf8E8M0FNU>) extents(%n, %n) outs(%s : memref<128x4xf8E8M0FNU>)
  return
}

// -----

// Data has one order.
func.func @swizzle_into_data(%s: memref<32x64xf8E4M3FN>, %n: index) {
  // expected-error @below {{'te_quant.swizzle_into' op expected the name of scales with a GEMM order, but got 'rowwise_data'}}
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN> "rowwise_data" ins(%s : memref<32x64xf8E4M3FN>) extents(%n, %n) outs(%s : memref<32x64xf8E4M3FN>)
  return
}

// -----

func.func @swizzle_into_family(%s: memref<1xf32>, %n: index) {
  // expected-error @below {{'te_quant.swizzle_into' op scales of 'float8_current_scaling' have one order only}}
  te_quant.swizzle_into #te_quant.float8_current_scaling<f8E4M3FN> "scale_inv" ins(%s : memref<1xf32>) extents(%n, %n) outs(%s : memref<1xf32>)
  return
}

// -----

func.func @swizzle_into_elements(%s: memref<128x4xi8>, %n: index) {
  // expected-error @below {{'te_quant.swizzle_into' op expected elements of 'f8E8M0FNU', but got 'i8' and 'i8'}}
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN> "rowwise_scale_inv" ins(%s : memref<128x4xi8>) extents(%n, %n) outs(%s : memref<128x4xi8>)
  return
}

// -----

func.func @swizzle_into_shapes(%s: memref<128x4xf8E8M0FNU>, %t: memref<128x8xf8E8M0FNU>, %n: index) {
  // expected-error @below {{'te_quant.swizzle_into' op shape of the input (128, 4) must equal shape of the output (128, 8)}}
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN> "rowwise_scale_inv" ins(%s : memref<128x4xf8E8M0FNU>) extents(%n, %n) outs(%t : memref<128x8xf8E8M0FNU>)
  return
}

// -----

func.func @amax_family(%x: tensor<32x64xbf16>) {
  // expected-error @below {{'te_quant.amax' op 'mxfp8' with these options does not scale by an amax of the tensor}}
  %a = te_quant.amax #te_quant.mxfp8<f8E4M3FN> %x : tensor<32x64xbf16> -> tensor<1xf32>
  return
}

// -----

func.func @amax_count(%x: tensor<32x64xbf16>) {
  // expected-error @below {{'te_quant.amax' op expected 1 amaxes for 'nvfp4', but got 2}}
  %a:2 = te_quant.amax #te_quant.nvfp4 %x : tensor<32x64xbf16> -> tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @update_scale_family(%h: tensor<4xf32>, %a: tensor<1xf32>) {
  // expected-error @below {{'te_quant.update_scale' op expected a quantizer with delayed scaling, but got 'mxfp8'}}
  %r:2 = te_quant.update_scale #te_quant.mxfp8<f8E4M3FN> max %h, %a, %a : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @update_scale_history(%h: tensor<0xf32>, %a: tensor<1xf32>) {
  // expected-error @below {{'te_quant.update_scale' op expected a history of one dim with at least one element of f32, but got 'tensor<0xf32>'}}
  %r:2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E4M3FN> max %h, %a, %a : tensor<0xf32>, tensor<1xf32>, tensor<1xf32>
  return
}
