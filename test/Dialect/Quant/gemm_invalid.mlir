// Proves that products refuse what they must, where it is at fault.
// RUN: te-opt %s --split-input-file --verify-diagnostics

!a = !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!b = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @missing_columnwise(%a: !a, %b: !b) {
  // expected-error @below {{layout NN reads the columnwise representation of A, but got 'mxfp8' with usage rowwise}}
  %y = te_quant.gemm NN %a, %b : !a, !b -> tensor<32x128xbf16>
  return
}

// -----

!a = !te_quant.tensor<32x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
!b = !te_quant.tensor<32x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
func.func @missing_transpose(%a: !a, %b: !b) {
  // expected-error @below {{layout NT reads the columnwise representation of B, but got 'float8_current_scaling' with usage rowwise}}
  %y = te_quant.gemm NT %a, %b : !a, !b -> tensor<64x128xbf16>
  return
}

// -----

!a = !te_quant.tensor<32x128xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4, usage = columnwise>>
!b = !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @missing_child(%a: !a, %b: !b) {
  // expected-error @below {{layout TN reads the rowwise representation of A, but got 'hybrid' with usage columnwise}}
  %y = te_quant.gemm TN %a, %b : !a, !b -> tensor<64x32xbf16>
  return
}

// -----

!c = !te_quant.tensor<32x128xbf16, #te_quant.custom<"q", layout = #te_quant.layout<q : i8[leading, cols]>>>
func.func @custom(%a: !c) {
  // expected-error @below {{'custom' tensors cannot be operands}}
  %y = te_quant.gemm TN %a, %a : !c, !c -> tensor<32x32xbf16>
  return
}

// -----

func.func @rank_0(%a: tensor<4x4xf32>, %b: tensor<f32>) {
  // expected-error @below {{expected B to have at least one dim, but got 'tensor<f32>'}}
  %y = te_quant.gemm TN %a, %b : tensor<4x4xf32>, tensor<f32> -> tensor<4xf32>
  return
}

// -----

func.func @overflow(%a: tensor<4611686018427387904x4x4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{flattened extents of 'tensor<4611686018427387904x4x4xf32>' overflow 64 bits}}
  %y = te_quant.gemm TN %a, %b : tensor<4611686018427387904x4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @depth(%a: tensor<4x5xf32>, %b: tensor<3x6xf32>) {
  // expected-error @below {{expected contracted extents to be equal, but got 5 of A and 6 of B}}
  %y = te_quant.gemm TN %a, %b : tensor<4x5xf32>, tensor<3x6xf32> -> tensor<3x4xf32>
  return
}

// -----

!a = !te_quant.tensor<64x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
!b = !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @scaling_modes(%a: !a, %b: !b) {
  // expected-error @below {{expected A and B to be scaled alike, but A has scaling mode 'one scale a tensor' and B 'E8M0 scales of 1x32 blocks'}}
  %y = te_quant.gemm TN %a, %b : !a, !b -> tensor<32x64xbf16>
  return
}

// -----

!b = !te_quant.tensor<32x128xbf16, #te_quant.nvfp4>
func.func @plain_by_quantized(%a: tensor<64x128xbf16>, %b: !b) {
  // expected-error @below {{expected A and B to be scaled alike, but A has scaling mode 'none' and B 'E4M3 scales of 1x16 blocks'}}
  %y = te_quant.gemm TN %a, %b : tensor<64x128xbf16>, !b -> tensor<32x64xbf16>
  return
}

// -----

!a = !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>
!b = !te_quant.tensor<64x32xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, with_random_sign_mask = false>>
func.func @rht_mask(%a: !a, %b: !b) {
  // expected-error @below {{expected A and B with the same transform along the contracted dimension, but A has the Hadamard transform with random signs and B the Hadamard transform without random signs}}
  %y = te_quant.gemm NT %a, %b : !a, !b -> tensor<32x128xbf16>
  return
}

// -----

!a = !te_quant.tensor<64x128xbf16, #te_quant.nvfp4>
!b = !te_quant.tensor<64x32xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>
func.func @rht(%a: !a, %b: !b) {
  // expected-error @below {{but A has no transform and B the Hadamard transform with random signs}}
  %y = te_quant.gemm NT %a, %b : !a, !b -> tensor<32x128xbf16>
  return
}

// -----

!t = !te_quant.tensor<128x128xbf16, #te_quant.float8_block_scaling<f8E4M3FN>>
func.func @tiles(%a: !t) {
  // expected-error @below {{expected at most one operand with scales of tiles, but A and B both have tiles of 128x128}}
  %y = te_quant.gemm TN %a, %a : !t, !t -> tensor<128x128xbf16>
  return
}

// -----

!t = !te_quant.tensor<128x128xbf16, #te_quant.nvfp4>
func.func @f16_result(%a: !t) {
  // expected-error @below {{expected a result of f32 or bf16 for 'nvfp4', but got f16}}
  %y = te_quant.gemm TN %a, %a : !t, !t -> tensor<128x128xf16>
  return
}

// -----

!t = !te_quant.tensor<128x128xbf16, #te_quant.nvfp4>
!r = !te_quant.tensor<128x128xbf16, #te_quant.nvfp4<usage = rowwise, row_scaled = true>>
func.func @row_scaled_gelu(%a: !t, %b: !r) {
  // expected-error @below {{'gelu' is not possible with row-scaled operands}}
  %y, %p = te_quant.gemm TN %a, %b {gelu} : !t, !r -> tensor<128x128xbf16>, tensor<128x128xbf16>
  return
}

// -----

!a = !te_quant.tensor<64x24xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
!b = !te_quant.tensor<32x24xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
func.func @per_tensor_depth(%a: !a, %b: !b) {
  // expected-error @below {{expected the contracted extent of A to be a multiple of 16 for 'float8_current_scaling', but got 24}}
  %y = te_quant.gemm TN %a, %b : !a, !b -> tensor<32x64xbf16>
  return
}

// -----

// The transpose has the rows last.
!a = !te_quant.tensor<24x64xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>
!b = !te_quant.tensor<24x32xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>
func.func @per_tensor_transpose(%a: !a, %b: !b) {
  // expected-error @below {{expected the contracted extent of A to be a multiple of 16 for 'float8_delayed_scaling', but got 24}}
  %y = te_quant.gemm NT %a, %b : !a, !b -> tensor<32x64xbf16>
  return
}

// -----

!a = !te_quant.tensor<24x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>
!b = !te_quant.tensor<24x40xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>
func.func @non_tn_free(%a: !a, %b: !b) {
  // expected-error @below {{expected the free extent of B to be a multiple of 16 for 'float8_current_scaling', but got 40}}
  %y = te_quant.gemm NT %a, %b : !a, !b -> tensor<40x64xbf16>
  return
}

// -----

!t = !te_quant.tensor<64x24xbf16, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>>
func.func @block_depth(%a: !t) {
  // expected-error @below {{expected the contracted extent of A to be a multiple of 16 for 'float8_block_scaling', but got 24}}
  %y = te_quant.gemm TN %a, %a : !t, !t -> tensor<64x64xbf16>
  return
}

// -----

!a = !te_quant.tensor<60x32xbf16, #te_quant.float8_block_scaling<f8E4M3FN>>
!b = !te_quant.tensor<64x32xbf16, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>>
func.func @block_free_a(%a: !a, %b: !b) {
  // expected-error @below {{expected the free extent of A to be a multiple of 8 for 'float8_block_scaling', but got 60}}
  %y = te_quant.gemm TN %a, %b : !a, !b -> tensor<64x60xbf16>
  return
}

// -----

!a = !te_quant.tensor<64x32xbf16, #te_quant.float8_block_scaling<f8E4M3FN>>
!b = !te_quant.tensor<60x32xbf16, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>>
func.func @block_free_b(%a: !a, %b: !b) {
  // expected-error @below {{expected the free extent of B to be a multiple of 8 for 'float8_block_scaling', but got 60}}
  %y = te_quant.gemm TN %a, %b : !a, !b -> tensor<60x64xbf16>
  return
}

// -----

func.func @result_dims(%a: tensor<4x5xf32>, %b: tensor<2x3x5xf32>) {
  // expected-error @below {{shape of the result (6, 4) must equal shape of the product (2, 3, 4)}}
  %y = te_quant.gemm TN %a, %b : tensor<4x5xf32>, tensor<2x3x5xf32> -> tensor<6x4xf32>
  return
}

// -----

func.func @result_transposed(%a: tensor<2x3x4xf32>, %b: tensor<6x5xf32>) {
  // expected-error @below {{shape of the result (4, 5) must equal shape of the product (5, 4)}}
  %y = te_quant.gemm NT %a, %b : tensor<2x3x4xf32>, tensor<6x5xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @bias_size(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{expected a bias of one dim of size 4, but got 'tensor<3xf32>'}}
  %y = te_quant.gemm TN %a, %b bias(%c) : tensor<4x5xf32>, tensor<3x5xf32>, tensor<3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @bias_rank(%a: tensor<?x5xf32>, %b: tensor<3x5xf32>, %c: tensor<1x4xf32>) {
  // expected-error @below {{expected a bias of one dim, but got 'tensor<1x4xf32>'}}
  %y = te_quant.gemm TN %a, %b bias(%c) : tensor<?x5xf32>, tensor<3x5xf32>, tensor<1x4xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @bias_dtype(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{expected a bias of 'bf16' for a result of 'bf16' from plain operands, but got 'f32'}}
  %y = te_quant.gemm TN %a, %b bias(%c) : tensor<4x5xf32>, tensor<3x5xf32>, tensor<4xf32> -> tensor<3x4xbf16>
  return
}

// -----

!t = !te_quant.tensor<32x32xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @bias_dtype_quantized(%a: !t, %c: tensor<32xf32>) {
  // expected-error @below {{expected a bias of 'bf16' for a result of 'f32' from quantized operands, but got 'f32'}}
  %y = te_quant.gemm TN %a, %a bias(%c) : !t, !t, tensor<32xf32> -> tensor<32x32xf32>
  return
}

// -----

func.func @accumulate_type(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>, %d: tensor<3x4xf32>) {
  // expected-error @below {{type of 'accumulate' ('tensor<3x4xf32>') must equal the result's type ('tensor<3x4xbf16>')}}
  %y = te_quant.gemm TN %a, %b accumulate(%d) : tensor<4x5xf32>, tensor<3x5xf32>, tensor<3x4xf32> -> tensor<3x4xbf16>
  return
}

// -----

func.func @gelu_without_result(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected a second result exactly with 'gelu', but it is missing}}
  %y = te_quant.gemm TN %a, %b {gelu} : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @result_without_gelu(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected a second result exactly with 'gelu', but it is given}}
  %y, %p = te_quant.gemm TN %a, %b : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<3x4xf32>, tensor<3x4xf32>
  return
}

// -----

func.func @gelu_shape(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{shape of the second result (4, 3) must equal shape of the result (3, 4)}}
  %y, %p = te_quant.gemm TN %a, %b {gelu} : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<3x4xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @gelu_dtype(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected a second result of 'f16' for a result of 'f16' from plain operands, but got 'f32'}}
  %y, %p = te_quant.gemm TN %a, %b {gelu} : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<3x4xf16>, tensor<3x4xf32>
  return
}

// -----

func.func @into_outs(%a: memref<4x5xf32>, %b: memref<3x5xf32>, %k: index, %y: memref<3x4xf32>) {
  // expected-error @below {{expected 2 operands of 'outs', but got 1}}
  te_quant.gemm_into TN a(%a : memref<4x5xf32>) b(%b : memref<3x5xf32>) depth(%k) outs(%y : memref<3x4xf32>) {gelu}
  return
}

// -----

func.func @into_mixed(%a: tensor<4x5xf32>, %b: memref<3x5xf32>, %k: index, %y: memref<3x4xf32>) {
  // expected-error @below {{expected tensors or memrefs throughout, but got both}}
  te_quant.gemm_into TN a(%a : tensor<4x5xf32>) b(%b : memref<3x5xf32>) depth(%k) outs(%y : memref<3x4xf32>)
  return
}

// -----

func.func @into_usage(%a: memref<32x32xf8E4M3FN>, %s: memref<1xf32>, %k: index, %y: memref<32x32xf32>) {
  // expected-error @below {{expected a quantizer with usage rowwise that is not made of others for A, but got #te_quant.float8_current_scaling<f8E4M3FN>}}
  te_quant.gemm_into TN a(%a, %s : memref<32x32xf8E4M3FN>, memref<1xf32>) as #te_quant.float8_current_scaling<f8E4M3FN>
    b(%a, %s : memref<32x32xf8E4M3FN>, memref<1xf32>) as #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
    depth(%k) outs(%y : memref<32x32xf32>)
  return
}

// -----

func.func @into_inners(%a: memref<32x32xf8E4M3FN>, %s: memref<1xf32>, %k: index, %y: memref<32x32xf32>) {
  // expected-error @below {{expected inner tensors of ('f8E5M2', 'f32') for B, but got ('f8E4M3FN', 'f32')}}
  te_quant.gemm_into TN a(%a, %s : memref<32x32xf8E4M3FN>, memref<1xf32>) as #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
    b(%a, %s : memref<32x32xf8E4M3FN>, memref<1xf32>) as #te_quant.float8_current_scaling<f8E5M2, usage = rowwise>
    depth(%k) outs(%y : memref<32x32xf32>)
  return
}

// -----

func.func @into_rank_0(%a: memref<4x5xf32>, %b: memref<5xf32>, %k: index, %y: memref<f32>) {
  // expected-error @below {{expected a result with at least one dim, but got 'memref<f32>'}}
  te_quant.gemm_into TN a(%a : memref<4x5xf32>) b(%b : memref<5xf32>) depth(%k) outs(%y : memref<f32>)
  return
}

// -----

func.func @into_second_out(%a: memref<4x5xf32>, %b: memref<3x5xf32>, %k: index, %y: memref<3x4xf32>, %p: memref<3x4xf16>) {
  // expected-error @below {{expected a second out of 'f32' for a result of 'f32' from plain operands, but got 'f16'}}
  te_quant.gemm_into TN a(%a : memref<4x5xf32>) b(%b : memref<3x5xf32>) depth(%k) outs(%y, %p : memref<3x4xf32>, memref<3x4xf16>) {gelu}
  return
}
