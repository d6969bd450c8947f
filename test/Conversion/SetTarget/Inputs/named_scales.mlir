// Scales that are tensors of their own keep their order.

!q = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @assemble(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>) -> !q {
  // expected-error @below {{'te_quant.assemble' op has scales in compact order as a tensor of their own, which 'optimize-for-gemm' cannot reorder}}
  %q = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !q
  return %q : !q
}

// -----

!q = !te_quant.tensor<32x64xbf16, #te_quant.hybrid<
    rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E5M2>, usage = rowwise>>
func.func @disassemble(%q: !q) -> tensor<128x4xf8E8M0FNU> {
  // expected-error @below {{'te_quant.disassemble' op has scales in compact order as a tensor of their own}}
  %d:2 = te_quant.disassemble %q : !q -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %d#1 : tensor<128x4xf8E8M0FNU>
}

// -----

func.func @expanded(%x: memref<32x64xbf16>, %d: memref<32x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>) {
  // expected-error @below {{'te_quant.quantize_into' op has scales in compact order as a tensor of their own}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<32x64xbf16>)
    outs(%d, %s : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// -----

// In GEMM order already, and a family that has one order.
!q = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
!p = !te_quant.tensor<8xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
func.func @fine(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %p: !p) -> (!q, tensor<1xf32>) {
  %q = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !q
  %e:2 = te_quant.disassemble %p : !p -> tensor<8xf8E4M3FN>, tensor<1xf32>
  return %q, %e#1 : !q, tensor<1xf32>
}
