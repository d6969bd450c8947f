// Proves that te-quant-expand refuses what it cannot expand with one error at the op.
// RUN: te-opt %s --te-quant-expand --allow-unregistered-dialect --split-input-file --verify-diagnostics

!row = !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
func.func @unknown_op(%q: !row) {
  // expected-error @below {{'test.use' op with TensorSpecs cannot be expanded: supported are te_quant, func.func, call and return}}
  "test.use"(%q) : (!row) -> ()
  return
}

// -----

!row = !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
func.func private @callee(!row)
func.func @function_value() {
  // expected-error @below {{'func.constant' op with TensorSpecs cannot be expanded}}
  %f = constant @callee : (!row) -> ()
  return
}

// -----

// Two leading dims cannot be told from packed rows.
!col = !te_quant.tensor<?x?x16xf32, #te_quant.nvfp4<usage = columnwise>>
func.func @dequantize_unknown_dims(%q: !col) -> tensor<?x?x16xf32> {
  // expected-error @below {{the dynamic dims of '!te_quant.tensor<?x?x16xf32, #te_quant.nvfp4<usage = columnwise>>' cannot be told from its inner tensors}}
  %y = te_quant.dequantize %q : !col -> tensor<?x?x16xf32>
  return %y : tensor<?x?x16xf32>
}

// -----

// expected-error @below {{'func.func' op expected 'te_quant.args' to list dictionaries of 'position', 'name' and 'type', but got [3]}}
func.func private @args() attributes {te_quant.args = [3]}

// -----

// expected-error @below {{'func.func' op expected 'te_quant.results' to list dictionaries of 'position', 'name' and 'type', but got [{name = "data", type = f32}]}}
func.func private @results() attributes {te_quant.results = [{name = "data", type = f32}]}

// -----

// expected-error @below {{'func.func' op expected 'te_quant.tied' to list pairs of a result and an argument, but got [array<i64: 1>]}}
func.func private @tied() attributes {te_quant.tied = [array<i64: 1>]}

// -----

// A child that is only decoded needs whole blocks as well.
!decoded = !te_quant.tensor<96x7xbf16, #te_quant.hybrid<rowwise = #te_quant.nvfp4, columnwise = #te_quant.mxfp8<f8E4M3FN>, usage = columnwise, columnwise_source = rowwise_dequantized>>
func.func @decoded_blocks(%x: tensor<96x7xbf16>) -> !decoded {
  // expected-error @below {{'te_quant.quantize' op expected dim 1 to be a multiple of 16 for rowwise 'nvfp4' blocks, but got 7 (the next legal size is 16)}}
  %q = te_quant.quantize %x : tensor<96x7xbf16> -> !decoded
  return %q : !decoded
}

// -----

!q = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>

func.func @in_a_tuple(%a: tuple<!q>) -> tuple<!q> {
  // expected-error @below {{'func.return' op with a TensorSpec inside of another type cannot be expanded}}
  return %a : tuple<!q>
}

// -----

!q = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>

// expected-error @below {{'func.func' op with a TensorSpec inside of another type cannot be expanded}}
func.func private @declared(tuple<i32, !q>)
