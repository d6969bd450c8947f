// A batch whose size is known only when the program runs. The row count must be
// a multiple of 32, which columnwise blocks need: the check runs on the host and
// makes the call fail with a message.

!batch = tensor<?x128xf32>
!quantized = !te_quant.tensor<?x128xf32, #te_quant.mxfp8<f8E5M2>>

func.func @round_trip(%x: !batch) -> !batch {
  %q = te_quant.quantize %x : !batch -> !quantized
  %y = te_quant.dequantize %q : !quantized -> !batch
  return %y : !batch
}
