// What has no lowering is an error at the op, not a failure of the translation.
// RUN: te-opt %s --pass-pipeline='builtin.module(gpu.module(te-quant-gpu-to-nvvm))' \
// RUN:   --split-input-file --verify-diagnostics

gpu.module @f64_function {
  func.func @f(%x: f64) -> f64 {
    // expected-error @below {{'math.exp' op expected a function with an expansion on f32, bf16 or f16, but got one on 'f64'}}
    %y = math.exp %x : f64
    return %y : f64
  }
}

// -----

gpu.module @cast_left {
  func.func @f(%x: f32) -> f8E4M3FN {
    // expected-error @below {{'te_quant.cast' op expected to be lowered to LLVM or NVVM, but no lowering applies}}
    %y = te_quant.cast %x : f32 to f8E4M3FN
    return %y : f8E4M3FN
  }
}

// -----

gpu.module @other_dialect {
  func.func @f(%x: tensor<4xf32>) -> f32 {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'tensor.extract' op expected to be lowered to LLVM or NVVM, but no lowering applies}}
    %y = tensor.extract %x[%c0] : tensor<4xf32>
    return %y : f32
  }
}

// -----

gpu.module @narrow_arithmetic {
  func.func @f(%x: f8E4M3FN) -> f8E4M3FN {
    // expected-error @below {{'arith.addf' op expected to be lowered to LLVM or NVVM, but no lowering applies}}
    %y = arith.addf %x, %x : f8E4M3FN
    return %y : f8E4M3FN
  }
}

// -----

gpu.module @library {
  gpu.func @f(%x: i32) kernel {
    // expected-error @below {{'llvm.func' op expected no call of a library, but one of 'vprintf' is left}}
    gpu.printf "%d", %x : i32
    gpu.return
  }
}
