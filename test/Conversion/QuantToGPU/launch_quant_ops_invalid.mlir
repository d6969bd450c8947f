// Ops that cannot be launched say so and what could be.
// RUN: te-opt %s --te-quant-to-gpu --split-input-file --verify-diagnostics

func.func @family_without_kernels(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  // expected-error-re @below {{'te_quant.quantize_into' op is not supported yet for 'identity', which has no kernels; families with kernels: {{.*}}mxfp8}}
  te_quant.quantize_into #te_quant.identity ins(%x : memref<4x4xf32>)
    outs(%y : memref<4x4xf32>)
  return
}

// -----

func.func @dtype(%x: memref<32x32xf64>, %d: memref<32x32xf8E4M3FN>,
                 %s: memref<128x4xf8E8M0FNU>) {
  // expected-error @below {{expected an input of f32, bf16 or f16, but got 'memref<32x32xf64>'}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x : memref<32x32xf64>)
    outs(%d, %s : memref<32x32xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// -----

func.func @not_scales(%d: memref<32x32xf8E4M3FN>, %i: index) {
  // expected-error @below {{expected the name of scales with a GEMM order, but got 'rowwise_data'}}
  te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN> "rowwise_data"
    ins(%d : memref<32x32xf8E4M3FN>) extents(%i, %i)
    outs(%d : memref<32x32xf8E4M3FN>)
  return
}

// -----

func.func @tensors(%x: tensor<32x32xf32>, %d: tensor<32x32xf8E4M3FN>,
                   %s: tensor<128x4xf8E8M0FNU>) {
  // expected-error @below {{expected memrefs, but got tensors: launches come after bufferization}}
  %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x : tensor<32x32xf32>)
    outs(%d, %s : tensor<32x32xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
    -> tensor<32x32xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return
}

// -----

func.func private @te_quant_kernels()

func.func @name_of_module_taken(%x: memref<32x32xf32>,
                                %d: memref<32x32xf8E4M3FN>,
                                %s: memref<128x4xf8E8M0FNU>) {
  // expected-error @below {{expected the symbol 'te_quant_kernels' to be free for kernels, but it is taken}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x : memref<32x32xf32>)
    outs(%d, %s : memref<32x32xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// -----

func.func private @te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise()

func.func @name_of_launch_taken(%x: memref<32x32xf32>,
                                %d: memref<32x32xf8E4M3FN>,
                                %s: memref<128x4xf8E8M0FNU>) {
  // expected-error @below {{expected the symbol 'te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise' to be free for a launch function, but it is taken}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%x : memref<32x32xf32>)
    outs(%d, %s : memref<32x32xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}
