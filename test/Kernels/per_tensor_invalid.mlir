// What per-tensor FP8 has no kernels for, or not without more operands.
// RUN: te-opt %s --te-quant-to-gpu --split-input-file --verify-diagnostics

func.func @no_amax(%x: memref<4x4xf32>, %d: memref<4x4xf8E4M3FN>, %i: memref<1xf32>) {
  // expected-error @below {{expected the amax of the input as an operand, but got none}}
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
    ins(%x : memref<4x4xf32>) outs(%d, %i : memref<4x4xf8E4M3FN>, memref<1xf32>)
  return
}

// -----

func.func @amax_dtype(%x: memref<4x4xf64>, %a: memref<1xf32>) {
  // expected-error @below {{expected an input of f32, bf16 or f16, but got 'memref<4x4xf64>'}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%x : memref<4x4xf64>) outs(%a : memref<1xf32>)
  return
}

// -----

func.func @swizzle(%i: memref<1xf32>, %n: index) {
  // expected-error @below {{scales of 'float8_current_scaling' have one order only}}
  te_quant.swizzle_into #te_quant.float8_current_scaling<f8E4M3FN> "scale_inv"
    ins(%i : memref<1xf32>) extents(%n, %n) outs(%i : memref<1xf32>)
  return
}
