// What cannot be expanded is an error at the op.
// RUN: te-opt %s --te-quant-expand-casts --split-input-file --verify-diagnostics

func.func @tensor(%x: tensor<4xf32>) -> tensor<4xf8E4M3FN> {
  // expected-error @below {{'te_quant.cast' op expected a scalar or a vector, but got 'tensor<4xf8E4M3FN>'}}
  %n = te_quant.cast %x : tensor<4xf32> to tensor<4xf8E4M3FN>
  return %n : tensor<4xf8E4M3FN>
}

// -----

func.func @rounds_twice(%x: f64) -> f8E4M3FN {
  // expected-error @below {{'arith.truncf' op expected the rounding of te_quant.cast and a source of f32, bf16 or f16, but got 'f64'}}
  %n = arith.truncf %x : f64 to f8E4M3FN
  return %n : f8E4M3FN
}

// -----

func.func @other_rounding(%x: f32) -> f8E4M3FN {
  // expected-error @below {{'arith.truncf' op expected the rounding of te_quant.cast and a source of f32, bf16 or f16, but got 'f32'}}
  %n = arith.truncf %x toward_zero : f32 to f8E4M3FN
  return %n : f8E4M3FN
}
