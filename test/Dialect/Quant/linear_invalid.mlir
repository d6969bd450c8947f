// Each rule that refuses a linear layer, by its id.
// RUN: te-opt %s --split-input-file --verify-diagnostics

// Neither a tensor nor a TensorSpec.
func.func @f(%a0: index, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the input to be a ranked tensor of f32, bf16 or f16, or a TensorSpec, but got 'index'}}
  te_quant.linear %a0, %a1
    : index, tensor<32x128xbf16>
  return
}

// -----

// An attribute of another kind.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{custom op 'te_quant.linear' attribute 'tp_size' failed to satisfy constraint: 64-bit signless integer attribute}}
  te_quant.linear %a0, %a1 {tp_size = "two"}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// B-10
func.func @f(%a0: tensor<128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected an input of rank 2 or more, but got 'tensor<128xbf16>'}}
  te_quant.linear %a0, %a1
    : tensor<128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// The weight is (out, in).
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<2x32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected a weight of rank 2, but got 'tensor<2x32x128xbf16>'}}
  te_quant.linear %a0, %a1
    : tensor<64x128xbf16>, tensor<2x32x128xbf16>
  return
}

// -----

// 5.7: GEMM not possible
func.func @f(%a0: tensor<64x64xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the last dim of the input to equal that of the weight, but got 64 and 128}}
  te_quant.linear %a0, %a1
    : tensor<64x64xbf16>, tensor<32x128xbf16>
  return
}

// -----

// A bias has an element for each output feature.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<64xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected a bias of one dim of the weight's first, but got 'tensor<64xbf16>' and 'tensor<32x128xbf16>'}}
  te_quant.linear %a0, %a1 bias(%a2)
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<64xbf16>
  return
}

// -----

// B-15
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<32xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected no bias with row parallelism: each rank would add it, but got 'tensor<32xbf16>'}}
  te_quant.linear %a0, %a1 bias(%a2) {parallel_mode = #te_quant.parallel_mode<row>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32xbf16>
  return
}

// -----

// 5.7: rows
func.func @f(%a0: tensor<4x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the rows of the input to be a multiple of 8, but got 4}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<4x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: depth
func.func @f(%a0: tensor<64x136xbf16>, %a1: tensor<32x136xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the last dim of the input to be a multiple of 16, but got 136}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x136xbf16>, tensor<32x136xbf16>
  return
}

// -----

// 5.7: output features
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<60x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the first dim of the weight to be a multiple of 8, but got 60}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<60x128xbf16>
  return
}

// -----

// H-21
func.func @f(%a0: tensor<3x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the first dim of the input, to be scattered, to be a multiple of 2, but got 3}}
  te_quant.linear %a0, %a1 {parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<3x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.1: tensor parallelism
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected tp_size of at least 1, but got 0}}
  te_quant.linear %a0, %a1 {tp_size = 0 : i64}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.5: sequence parallelism is part of it
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected a parallel_mode and tp_size of at least 2 with sequence_parallel, but got none and 1}}
  te_quant.linear %a0, %a1 {sequence_parallel = true}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.1: a cache needs a tag
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected microbatch first or later with cache_weight, but got none}}
  te_quant.linear %a0, %a1 {cache_weight = true}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.1: and excludes FSDP2
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op 'cache_weight' excludes 'fsdp2'}}
  te_quant.linear %a0, %a1 {cache_weight = true, fsdp2 = true, microbatch = #te_quant.microbatch<first>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.3: quantized input
func.func @f(%a0: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected a plain input where no quantizer is given, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>'}}
  te_quant.linear %a0, %a1
    : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 5.4: quantized weight
func.func @f(%a0: tensor<64x128xbf16>, %a1: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>) {
  // expected-error @+1 {{'te_quant.linear' op expected a plain weight where no quantizer is given, but got '!te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>'}}
  te_quant.linear %a0, %a1
    : tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

// 5.3: missing quantizer
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'input_quantizer' for an input that is plain or gathered}}
  te_quant.linear %a0, %a1 {weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.4: missing quantizer
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'weight_quantizer' for a weight that is not quantized}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// U-1: input
func.func @f(%a0: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected an input with the rowwise representation, which cannot be derived, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>, tensor<32x128xbf16>
  return
}

// -----

// U-1: weight
func.func @f(%a0: tensor<64x128xbf16>, %a1: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>) {
  // expected-error @+1 {{'te_quant.linear' op expected a weight with the rowwise representation, but got '!te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
  return
}

// -----

// H-33
func.func @f(%a0: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected an input with the rowwise representation to gather, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>, tensor<32x128xbf16>
  return
}

// -----

// B-2: delayed scaling
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected save_original_input to be off with 'float8_delayed_scaling': its scale will have changed in backward}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>, weight_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>, save_original_input = true}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// B-4, H-34
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected a quantizer of the input that is not row-scaled where it is gathered: row scaling excludes the amax reduction, but got #te_quant.nvfp4<row_scaled = true>}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.nvfp4<row_scaled = true>, weight_quantizer = #te_quant.nvfp4, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: scaling modes
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected input and weight to have one scaling mode, but got 'float8_current_scaling' and 'mxfp8'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.float8_current_scaling<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: 2-D by 2-D
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected either input or weight to have 2-D blocks, but got #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise> and #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.float8_block_scaling<f8E4M3FN>, weight_quantizer = #te_quant.float8_block_scaling<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: quantize dims
func.func @f(%a0: tensor<64x144xbf16>, %a1: tensor<32x144xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op cannot quantize the input: expected dim 1 to be a multiple of 32 for rowwise 'mxfp8' blocks, but got 144 (the next legal size is 160)}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x144xbf16>, tensor<32x144xbf16>
  return
}

// -----

// L-N4: the Hadamard transform
func.func @f(%a0: tensor<64x128xf32>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op cannot quantize the input: expected nominal dtype bf16 for 'with_rht', but got 'f32'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>, weight_quantizer = #te_quant.nvfp4}
    : tensor<64x128xf32>, tensor<32x128xbf16>
  return
}

// -----

// B-12
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected no 'output_quantizer' with a row-parallel reduction, but got #te_quant.mxfp8<f8E4M3FN>}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, output_quantizer = #te_quant.mxfp8<f8E4M3FN>, parallel_mode = #te_quant.parallel_mode<row>, tp_size = 2 : i64}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: output quantizer
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'output_quantizer' of a native family, but got 'identity'}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, output_quantizer = #te_quant.identity}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: row scaling
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected no 'output_quantizer' with a row-scaled input, but got #te_quant.mxfp8<f8E4M3FN>}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.nvfp4<row_scaled = true>, weight_quantizer = #te_quant.nvfp4, output_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// H-13
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the quantizers of input and weight to agree on gathering rowwise only, but got #te_quant.mxfp8<f8E4M3FN> and #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4>}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4>, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// A format without such a usage.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected the weight quantizer to have usage both, but got #te_quant.custom<"c", layout = #te_quant.layout<columnwise_data : i8[leading, cols]>, quantize = "f">}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>, weight_quantizer = #te_quant.custom<"c", layout = #te_quant.layout<columnwise_data : i8[leading, cols]>, quantize = "f">}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// A scale for each operand that is quantized.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<1xf32>) {
  // expected-error @+1 {{'te_quant.linear' op expected 2 operands of 'scale' (input, weight), but got 1}}
  te_quant.linear %a0, %a1 scale(%a2) {input_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>, weight_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<1xf32> -> tensor<64x32xbf16>
  return
}

// -----

// Of one element.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<1xf32>, %a3: tensor<2xf32>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'scale' of type 'tensor<1xf32>', but got 'tensor<2xf32>'}}
  te_quant.linear %a0, %a1 scale(%a2, %a3) {input_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>, weight_quantizer = #te_quant.float8_delayed_scaling<f8E4M3FN>, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<1xf32>, tensor<2xf32> -> tensor<64x32xbf16>
  return
}

// -----

// No random state where nothing is rounded stochastically.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<2xi64>) {
  // expected-error @+1 {{'te_quant.linear' op 'rng' is there exactly when an operand is rounded stochastically, but it is given}}
  te_quant.linear %a0, %a1 rng(%a2) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<2xi64> -> tensor<64x32xbf16>
  return
}

// -----

// One where something is.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op 'rng' is there exactly when an operand is rounded stochastically, but it is missing}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.nvfp4<stochastic_rounding = true>, weight_quantizer = #te_quant.nvfp4<stochastic_rounding = true>, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xbf16>
  return
}

// -----

// Seed and offset.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<1xi64>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'rng' of type 'tensor<2xi64>', but got 'tensor<1xi64>'}}
  te_quant.linear %a0, %a1 rng(%a2) {input_quantizer = #te_quant.nvfp4<stochastic_rounding = true>, weight_quantizer = #te_quant.nvfp4<stochastic_rounding = true>, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<1xi64> -> tensor<64x32xbf16>
  return
}

// -----

// A flag of one element.
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<2xf32>) {
  // expected-error @+1 {{'te_quant.linear' op expected 'skip_update' of type 'tensor<1xf32>', but got 'tensor<2xf32>'}}
  te_quant.linear %a0, %a1 skip_update(%a2) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<2xf32> -> tensor<64x32xbf16>
  return
}

// -----

// V-3: count of results
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected 3 results (output, saved_input, saved_weightmat), but got 1}}
  te_quant.linear %a0, %a1 {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xbf16>
  return
}

// -----

// Types of results
func.func @f(%a0: tensor<64x128xbf16>, %a1: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected result 0 'output' of type 'tensor<64x32xbf16>', but got 'tensor<64x32xf32>'}}
  te_quant.linear %a0, %a1
    : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xf32>
  return
}

// -----

// V-15: the weight is never absent.
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>) {
  // expected-error @+2 {{custom op 'te_quant.linear_backward' expected 'weight'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// Shapes
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<16x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected the last dim of the gradient to equal the first of the weight, but got 32 and 16}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<16x128xbf16>
  return
}

// -----

// Backward without gradients
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected 'is_grad_enabled' in backward}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {is_grad_enabled = false}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 0
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a saved input where the weight is differentiated}}
  te_quant.linear_backward %a0 weightmat(%a1) weight(%a2)
    : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: no slot 0
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected no saved input where the weight is not differentiated}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {weight_requires_grad = false}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: shape of slot 0
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<32x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a saved input of the shape of 'tensor<64x128xbf16>', but got 'tensor<32x128xbf16>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3)
    : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 0 is quantized
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a quantized saved input, but got 'tensor<64x128xbf16>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 0 is plain
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a plain saved input where no quantizer is given, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3)
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 1
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a saved quantized weight ('weightmat')}}
  te_quant.linear_backward %a0 input(%a1) weight(%a2)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 1 is the weight
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xf32>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected 'weightmat' to be the weight of type 'tensor<32x128xbf16>', but got 'tensor<32x128xf32>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xf32>, tensor<32x128xbf16>
  return
}

// -----

// 5.6: slot 1 is quantized
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected 'weightmat' to be a quantized tensor of the weight's shape and 'bf16', but got 'tensor<32x128xbf16>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// B-15
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<128x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>, %a4: tensor<32xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected no bias with row parallelism, but got 'tensor<32xbf16>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) bias(%a4) {parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<64x32xbf16>, tensor<128x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<32xbf16>
  return
}

// -----

// H-21
func.func @f(%a0: tensor<3x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected the first dim of the gradient, to be scattered, to be a multiple of 2, but got 3}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<3x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 6.2: missing quantizer
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected 'grad_output_quantizer' for a gradient that is plain or gathered}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 6.2: a quantized gradient
func.func @f(%a0: !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a plain gradient where backward is not quantized, but got '!te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3)
    : !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// 7.1: need dY.col
func.func @f(%a0: !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a gradient with the columnwise representation for the wgrad GEMM, which cannot be derived, but got '!te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 7.1: need X.col
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected an input with the columnwise representation for the wgrad GEMM, which cannot be derived, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 7.1: need W.col
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a weight with the columnwise representation for the dgrad GEMM, which cannot be derived, but got '!te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN>}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, tensor<32x128xbf16>
  return
}

// -----

// H-25
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected no 'grad_input_quantizer' with a column-parallel reduction, but got #te_quant.mxfp8<f8E4M3FN>}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_input_quantizer = #te_quant.mxfp8<f8E4M3FN>, parallel_mode = #te_quant.parallel_mode<column>, tp_size = 2 : i64}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// 5.7: gradient quantizer
func.func @f(%a0: tensor<64x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected 'grad_input_quantizer' of a native family, but got 'identity'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_input_quantizer = #te_quant.identity}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// H-33
func.func @f(%a0: tensor<128x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a saved input with the columnwise representation to gather, but got '!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN>, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<128x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<32x128xbf16>
  return
}

// -----

// B-4
func.func @f(%a0: tensor<32x32xbf16>, %a1: !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<row_scaled = true>>, %a2: !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<row_scaled = true>>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a quantizer of the grad_output that is not row-scaled where it is gathered: row scaling excludes the amax reduction, but got #te_quant.nvfp4<row_scaled = true>}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {input_quantizer = #te_quant.nvfp4<row_scaled = true>, weight_quantizer = #te_quant.nvfp4<row_scaled = true>, grad_output_quantizer = #te_quant.nvfp4<row_scaled = true>, parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<32x32xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<row_scaled = true>>, !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<row_scaled = true>>, tensor<32x128xbf16>
  return
}

// -----

// H-24: a main gradient
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a main gradient ('accumulate') with 'fuse_wgrad_accumulation'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) {fuse_wgrad_accumulation = true}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// H-24: without accumulation
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>, %a4: tensor<32x128xf32>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected no main gradient ('accumulate') without 'fuse_wgrad_accumulation' of a weight that is differentiated}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) accumulate(%a4)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<32x128xf32>
  return
}

// -----

// H-24: of another shape
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<32x128xbf16>, %a3: tensor<32x128xbf16>, %a4: tensor<32x64xf32>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected a main gradient of the shape of 'tensor<32x128xbf16>', but got 'tensor<32x64xf32>'}}
  te_quant.linear_backward %a0 input(%a1) weightmat(%a2) weight(%a3) accumulate(%a4) {fuse_wgrad_accumulation = true}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<32x64xf32>
  return
}

// -----

// Groups of one operand
func.func @f(%a0: tensor<64x32xbf16>, %a1: tensor<64x128xbf16>, %a2: tensor<64x128xbf16>, %a3: tensor<32x128xbf16>, %a4: tensor<32x128xbf16>) {
  // expected-error @+1 {{custom op 'te_quant.linear_backward' expected one operand of 'input', but got 2}}
  te_quant.linear_backward %a0 input(%a1, %a2) weightmat(%a3) weight(%a4)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}

// -----

// The generic form can give a group more than it has, and the next one none.
func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear' op expected one operand in group 0, but got 2}}
  %0 = "te_quant.linear"(%x, %w) <{operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0>}> : (tensor<64x128xbf16>, tensor<32x128xbf16>) -> tensor<64x32xbf16>
  return
}

// -----

// Backward, too.
func.func @f(%dy: tensor<64x32xbf16>, %w: tensor<32x128xbf16>) {
  // expected-error @+1 {{'te_quant.linear_backward' op expected one operand in group 0, but got 2}}
  %0 = "te_quant.linear_backward"(%dy, %w) <{operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>}> : (tensor<64x32xbf16>, tensor<32x128xbf16>) -> tensor<64x32xbf16>
  return
}
