// Proves that collectives refuse what they cannot do, and say what would be right.
// RUN: te-opt %s --split-input-file --verify-diagnostics

func.func @no_group(%x: tensor<8xf32>) {
  // expected-error @below {{expected the name of a group, but got ''}}
  %0 = te_quant.all_reduce sum %x {group = "", size = 2 : i64} : tensor<8xf32>
  return
}

// -----

func.func @size(%x: tensor<8xf32>) {
  // expected-error @below {{attribute 'size' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = te_quant.all_gather %x {group = "g", size = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @rank_0(%x: tensor<f32>) {
  // expected-error @below {{expected an operand with a dim 0, but got 'tensor<f32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = te_quant.all_gather %x {group = "g", size = 2 : i64} : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<8x4xf32>) {
  // expected-error @below {{'te_quant.all_gather' op inferred type(s) 'tensor<16x4xf32>' are incompatible with return type(s) of operation 'tensor<8x8xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = te_quant.all_gather %x {group = "g", size = 2 : i64} : tensor<8x4xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @overflow(%x: tensor<4611686018427387904xf32>) {
  // expected-error @below {{dim 0 of the result overflows 64 bits}}
  // expected-error @below {{failed to infer returned types}}
  %0 = te_quant.all_gather %x {group = "g", size = 2 : i64} : tensor<4611686018427387904xf32> -> tensor<8xf32>
  return
}

// -----

func.func @remainder(%x: tensor<30x4xf32>) {
  // expected-error @below {{expected dim 0 to be a multiple of 4, the size of the group, but got 30}}
  // expected-error @below {{failed to infer returned types}}
  %0 = te_quant.reduce_scatter %x {group = "g", size = 4 : i64} : tensor<30x4xf32> -> tensor<7x4xf32>
  return
}

// -----

func.func @both(%q: !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN>>) {
  // expected-error @below {{expected a tensor with one representation, but got usage both}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN>>
    -> !te_quant.tensor<64x64xf32, #te_quant.mxfp8<f8E4M3FN>>
  return
}

// -----

func.func @per_tensor_columnwise(%q: !te_quant.tensor<32x64xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>>) {
  // expected-error @below {{expected usage rowwise, the only one in which 'float8_current_scaling' is gathered, but got columnwise}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<32x64xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>>
    -> !te_quant.tensor<64x64xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>>
  return
}

// -----

// H-34
func.func @row_scaled(%q: !te_quant.tensor<32x64xf32, #te_quant.nvfp4<usage = rowwise, row_scaled = true>>) {
  // expected-error @below {{expected a family that is gathered in quantized form, but got #te_quant.nvfp4<usage = rowwise, row_scaled = true>: dequantize, gather and quantize again}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<32x64xf32, #te_quant.nvfp4<usage = rowwise, row_scaled = true>>
    -> !te_quant.tensor<64x64xf32, #te_quant.nvfp4<usage = rowwise, row_scaled = true>>
  return
}

// -----

func.func @blocks_2d(%q: !te_quant.tensor<128x128xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>>) {
  // expected-error @below {{expected a family that is gathered in quantized form}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<128x128xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>>
    -> !te_quant.tensor<256x128xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>>
  return
}

// -----

func.func @identity(%q: !te_quant.tensor<8x8xf32, #te_quant.identity<usage = rowwise>>) {
  // expected-error @below {{expected a family that is gathered in quantized form}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<8x8xf32, #te_quant.identity<usage = rowwise>>
    -> !te_quant.tensor<16x8xf32, #te_quant.identity<usage = rowwise>>
  return
}

// -----

func.func @gemm_order(%q: !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>) {
  // expected-error @below {{expected compact scales, but got scales in GEMM order: swizzle the result instead}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
    -> !te_quant.tensor<64x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
  return
}

// -----

func.func @extents(%q: !te_quant.tensor<64x?xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>>) {
  // expected-error @below {{expected dim 0 to be a multiple of 128 for columnwise 'float8_block_scaling' blocks, but got 64}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<64x?xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>>
    -> !te_quant.tensor<128x?xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>>
  return
}

// -----

func.func @rank_1(%q: !te_quant.tensor<32xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>) {
  // expected-error @below {{expected rank 2 or more to gather 'mxfp8', but got 1}}
  %0 = te_quant.all_gather %q {group = "g", size = 2 : i64} : !te_quant.tensor<32xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
    -> !te_quant.tensor<64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return
}

// -----

func.func @into_size(%a: memref<2x3xi8>, %b: memref<5x3xi8>) {
  // expected-error @below {{dim 0 of the input (2) does not go with dim 0 of the output (5) in a group of 2}}
  te_quant.all_gather_into ins(%a : memref<2x3xi8>) outs(%b : memref<5x3xi8>) {group = "g", size = 2 : i64}
  return
}

// -----

func.func @into_element(%a: memref<4x3xi8>, %b: memref<2x3xi8>) {
  // expected-error @below {{expected elements of f32, bf16 or f16, but got 'i8'}}
  te_quant.reduce_scatter_into ins(%a : memref<4x3xi8>) outs(%b : memref<2x3xi8>) {group = "g", size = 2 : i64}
  return
}

// -----

func.func @into_mixed(%a: memref<4xf32>, %b: memref<4xf16>) {
  // expected-error @below {{element type of the input ('f32') must equal that of the output ('f16')}}
  te_quant.all_reduce_into sum ins(%a : memref<4xf32>) outs(%b : memref<4xf16>) {group = "g", size = 2 : i64}
  return
}
