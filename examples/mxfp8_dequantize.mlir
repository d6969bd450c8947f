// Decode a quantized weight that exists as its two inner tensors, for example
// from a checkpoint, and narrow it to bf16.

!weight = !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>

func.func @dequantize(%data: tensor<64x128xf8E4M3FN>,
                      %scale_inv: tensor<128x4xf8E8M0FNU>)
    -> tensor<64x128xbf16> {
  %w = te_quant.assemble %data, %scale_inv
    : tensor<64x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !weight
  %y = te_quant.dequantize %w : !weight -> tensor<64x128xbf16>
  return %y : tensor<64x128xbf16>
}
