// Quantize a bf16 activation to MXFP8 for both directions of a GEMM.
//
// The result's type says what backs it: E4M3 codes and one E8M0 scale for each
// 32 values of a row (rowwise), and the same again for columns (columnwise).

!activation = tensor<128x256xbf16>
!quantized = !te_quant.tensor<128x256xbf16, #te_quant.mxfp8<f8E4M3FN>>

func.func @quantize(%x: !activation) -> !quantized {
  %q = te_quant.quantize %x : !activation -> !quantized
  return %q : !quantized
}
