// Rules of docs/rules.md that hold on types and results alone, each in a function that its id names.
// RUN: te-opt %s --split-input-file --canonicalize | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>

// V-1: inference has no effects: a layer that nobody uses goes away.
// CHECK-LABEL: func @v1_inference_is_pure(
// CHECK-NEXT: return
func.func @v1_inference_is_pure(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) {
  te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// V-4: the amaxes come after all data and scales.
// CHECK-LABEL: func @v4_amaxes_come_last(
// CHECK: te_quant.disassemble %{{.*}} -> tensor<32x32xi8>, tensor<128x4xf8E4M3FN>, tensor<64x16xi8>, tensor<128x4xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>
func.func @v4_amaxes_come_last(%q: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4>) -> (tensor<1xf32>, tensor<1xf32>) {
  %d:6 = te_quant.disassemble %q : !te_quant.tensor<32x64xbf16, #te_quant.nvfp4>
    -> tensor<32x32xi8>, tensor<128x4xf8E4M3FN>, tensor<64x16xi8>, tensor<128x4xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>
  return %d#4, %d#5 : tensor<1xf32>, tensor<1xf32>
}

// -----

// V-7: an input is a builtin tensor, a plain spec, a wrapper or a bare tensor; B-1, V-10: whether it is differentiated is no matter of its type.
#mx = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#bare = #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>
#weight = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func @v7_kinds_of_operands(
// CHECK-COUNT-4: te_quant.linear
func.func @v7_kinds_of_operands(%a: tensor<64x128xbf16>, %b: !te_quant.tensor<64x128xbf16>, %c: !te_quant.tensor<64x128xbf16, #mx>,
    %d: !te_quant.tensor<64x128xbf16, #bare>, %w: tensor<32x128xbf16>)
    -> (tensor<64x32xbf16>, !te_quant.tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) {
  %0 = te_quant.linear %a, %w {input_quantizer = #bare, weight_quantizer = #weight, is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %1 = te_quant.linear %b, %w {input_quantizer = #bare, weight_quantizer = #weight, is_grad_enabled = false}
    : !te_quant.tensor<64x128xbf16>, tensor<32x128xbf16>
  %2 = te_quant.linear %c, %w {input_quantizer = #bare, weight_quantizer = #weight, is_grad_enabled = false}
    : !te_quant.tensor<64x128xbf16, #mx>, tensor<32x128xbf16>
  %3 = te_quant.linear %d, %w {input_quantizer = #bare, weight_quantizer = #weight, is_grad_enabled = false}
    : !te_quant.tensor<64x128xbf16, #bare>, tensor<32x128xbf16>
  return %0, %1, %2, %3 : tensor<64x32xbf16>, !te_quant.tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>
}

// -----

// V-8: a bare tensor knows its logical shape, which its inner tensors need.
#bare = #te_quant.nvfp4<usage = columnwise, internal = true>
// CHECK-LABEL: func @v8_bare_has_a_shape(
// CHECK: te_quant.disassemble %{{.*}} -> tensor<64x32xi8>,
func.func @v8_bare_has_a_shape(%q: !te_quant.tensor<4x16x64xbf16, #bare>) -> tensor<64x32xi8> {
  %d:3 = te_quant.disassemble %q : !te_quant.tensor<4x16x64xbf16, #bare> -> tensor<64x32xi8>, tensor<128x4xf8E4M3FN>, tensor<1xf32>
  return %d#0 : tensor<64x32xi8>
}

// -----

// B-1, V-10: equal operands, other flags, other results.
#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func @v10_flags_are_captured(
// CHECK: %output, %saved_input, %saved_weightmat = te_quant.linear
// CHECK: %output_0, %saved_weightmat_1 = te_quant.linear {{.*}} weight_requires_grad = false
// CHECK: %output_2 = te_quant.linear {{.*}} is_grad_enabled = false
func.func @v10_flags_are_captured(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) {
  %a:3 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %b:2 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, weight_requires_grad = false} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %c = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %a#0, %b#0, %c : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>
}

// -----

// V-11: with FSDP2 the slot of the quantized weight holds nothing, and so does the workspace: no name, no result.
#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func @v11_absent_is_no_name(
// CHECK: %output, %saved_input = te_quant.linear
func.func @v11_absent_is_no_name(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y:2 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, fsdp2 = true} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y#0 : tensor<64x32xbf16>
}

// -----

// V-19: a layer that caches its weight makes a workspace whatever the microbatch, a wrapper, and saves its name.
#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func @v19a_workspace_of_a_later_microbatch(
// CHECK: %output, %workspace, %saved_input = te_quant.linear
// CHECK-SAME: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @v19a_workspace_of_a_later_microbatch(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>> {
  %y:3 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, cache_weight = true, microbatch = #te_quant.microbatch<later>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y#1 : !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
}

// B-7: a workspace without the columnwise representation that is asked for is no hit.
// CHECK-LABEL: func @v19b_invalid_workspace_is_a_miss(
// CHECK: %output, %workspace, %saved_input = te_quant.linear
// CHECK-SAME: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @v19b_invalid_workspace_is_a_miss(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>,
    %ws: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>) -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>> {
  %y:3 = te_quant.linear %x, %w workspace(%ws) {input_quantizer = #mx, weight_quantizer = #mx, cache_weight = true, microbatch = #te_quant.microbatch<later>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return %y#1 : !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
}

// -----

// V-20: with `dequantized` the quantized input is saved, rowwise, whatever `save_original_input` says.
#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func @v20_dequantized_saves_the_quantized_input(
// CHECK: %output, %saved_input, %saved_weightmat = te_quant.linear
// CHECK-SAME: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>>
func.func @v20_dequantized_saves_the_quantized_input(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y:3 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, save_original_input = true,
    backward_override = #te_quant.backward_override<dequantized>} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y#0 : tensor<64x32xbf16>
}

// -----

// V-21: a trainable bias alone makes the output differentiable.
// CHECK-LABEL: func @v21_bias_makes_the_output_differentiable(
// CHECK: te_quant.linear {{.*}} -> !te_quant.tensor<64x32xbf16, requires_grad = true>
func.func @v21_bias_makes_the_output_differentiable(%x: !te_quant.tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>)
    -> !te_quant.tensor<64x32xbf16, requires_grad = true> {
  %y = te_quant.linear %x, %w bias(%b) {input_requires_grad = false, weight_requires_grad = false, bias_requires_grad = true}
    : !te_quant.tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32xbf16>
  return %y : !te_quant.tensor<64x32xbf16, requires_grad = true>
}

// -----

// V-28, V-29: a format of one's own uses public hooks only, and two of one name are two.
#a = #te_quant.custom<"own", layout = #te_quant.layout<data : i8[leading, cols]>>
#b = #te_quant.custom<"own", layout = #te_quant.layout<data : i8[leading, cols], scale : f32[1]>>
// CHECK-LABEL: func @v29_two_formats_of_one_name(
// CHECK: te_quant.disassemble %{{.*}} -> tensor<4x8xi8>
// CHECK: te_quant.disassemble %{{.*}} -> tensor<4x8xi8>, tensor<1xf32>
func.func @v29_two_formats_of_one_name(%p: !te_quant.tensor<4x8xbf16, #a>, %q: !te_quant.tensor<4x8xbf16, #b>) -> (tensor<4x8xi8>, tensor<1xf32>) {
  %d = te_quant.disassemble %p : !te_quant.tensor<4x8xbf16, #a> -> tensor<4x8xi8>
  %e:2 = te_quant.disassemble %q : !te_quant.tensor<4x8xbf16, #b> -> tensor<4x8xi8>, tensor<1xf32>
  return %d, %e#1 : tensor<4x8xi8>, tensor<1xf32>
}

// -----

// V-33: sequence parallelism multiplies the first dim with column parallelism and divides it with row parallelism.
// CHECK-LABEL: func @v33_parallel_shapes(
// CHECK: te_quant.linear {{.*}} -> tensor<128x32xbf16>
// CHECK: te_quant.linear {{.*}} -> tensor<32x32xbf16>
func.func @v33_parallel_shapes(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<128x32xbf16>, tensor<32x32xbf16>) {
  %c = te_quant.linear %x, %w {parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  %r = te_quant.linear %x, %w {parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %c, %r : tensor<128x32xbf16>, tensor<32x32xbf16>
}

// -----

// V-32: the row child's inner tensors, then the column child's, named by direction.
#hybrid = #te_quant.hybrid<rowwise = #te_quant.float8_current_scaling<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E5M2>>
// CHECK-LABEL: func @v32_hybrid_has_a_layout(
// CHECK: te_quant.disassemble %{{.*}} -> tensor<32x64xf8E4M3FN>, tensor<1xf32>, tensor<32x64xf8E5M2>, tensor<4x128xf8E8M0FNU>
func.func @v32_hybrid_has_a_layout(%q: !te_quant.tensor<32x64xbf16, #hybrid>) -> tensor<1xf32> {
  %d:4 = te_quant.disassemble %q : !te_quant.tensor<32x64xbf16, #hybrid>
    -> tensor<32x64xf8E4M3FN>, tensor<1xf32>, tensor<32x64xf8E5M2>, tensor<4x128xf8E8M0FNU>
  return %d#1 : tensor<1xf32>
}

// -----

// P-0, P-2: what each letter reads, and the result's shape: B's leading dims then A's free one, or two dims where B is transposed.
// CHECK-LABEL: func @p2_shape_of_a_gemm(
// CHECK: te_quant.gemm TN {{.*}} -> tensor<2x8x32xbf16>
// CHECK: te_quant.gemm NT {{.*}} -> tensor<64x96xbf16>
func.func @p2_shape_of_a_gemm(%w: tensor<32x64xbf16>, %x: tensor<2x8x64xbf16>, %a: tensor<16x96xbf16>) -> (tensor<2x8x32xbf16>, tensor<64x96xbf16>) {
  %y = te_quant.gemm TN %w, %x : tensor<32x64xbf16>, tensor<2x8x64xbf16> -> tensor<2x8x32xbf16>
  %z = te_quant.gemm NT %a, %x : tensor<16x96xbf16>, tensor<2x8x64xbf16> -> tensor<64x96xbf16>
  return %y, %z : tensor<2x8x32xbf16>, tensor<64x96xbf16>
}
