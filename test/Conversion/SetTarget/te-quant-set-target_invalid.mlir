// A module that would not be valid with the chip's quantizers is refused at the op.
// RUN: te-opt %s --te-quant-set-target=chip=sm_100a --split-input-file --verify-diagnostics
// RUN: echo "module {}" | not te-opt --te-quant-set-target=chip=sm_12 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: te-opt %S/Inputs/named_scales.mlir --te-quant-set-target="chip=sm_100a optimize-for-gemm=true" --split-input-file --verify-diagnostics
// CHIP: error: unknown chip 'sm_12', expected one of sm_80, {{.*}}sm_100a

!q = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
// expected-note @below {{with the quantizers that 'te-quant-set-target' makes for 'sm_100a'}}
module {
  func.func @assemble(%d: tensor<8x16xf8E4M3FN>, %t: tensor<16x8xf8E4M3FN>,
                      %s: tensor<1xf32>) -> !q {
    // expected-error @below {{'te_quant.assemble' op expected 2 inner tensors}}
    %q = te_quant.assemble %d, %t, %s
      : tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<1xf32> -> !q
    return %q : !q
  }
}

// -----

!q = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
// expected-note @below {{with the quantizers that 'te-quant-set-target' makes for 'sm_100a'}}
module {
  func.func @disassemble(%q: !q) -> tensor<16x8xf8E4M3FN> {
    // expected-error @below {{'te_quant.disassemble' op}}
    %d:3 = te_quant.disassemble %q
      : !q -> tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<1xf32>
    return %d#1 : tensor<16x8xf8E4M3FN>
  }
}

// -----

// Expanded already.
// expected-note @below {{with the quantizers that 'te-quant-set-target' makes for 'sm_100a'}}
module {
  func.func @expanded(%x: memref<8x16xbf16>, %a: memref<1xf32>,
                      %d: memref<8x16xf8E4M3FN>, %t: memref<16x8xf8E4M3FN>,
                      %s: memref<1xf32>) {
    // expected-error @below {{'te_quant.quantize_into' op expected 2 inner tensors}}
    te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN>
      ins(%x : memref<8x16xbf16>) amax(%a : memref<1xf32>)
      outs(%d, %t, %s : memref<8x16xf8E4M3FN>, memref<16x8xf8E4M3FN>, memref<1xf32>)
    return
  }
}
