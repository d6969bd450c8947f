// Forward and backward of a multilayer perceptron: linear, ReLU, linear. The
// gradient of the loss by its output is an argument.
//
// The program says nothing of formats. One option of a pass does, here MXFP8:
//
//   te-opt --te-quant-apply-recipe="recipe=mxfp8" linear_mxfp8.mlir
//
// `nvfp4`, `float8_current` and `float8_block` are the other recipes that need
// nothing else; NVFP4 rounds gradients stochastically, so its program takes a
// random state as a last argument.

!x = tensor<64x128xbf16>
!h = tensor<64x256xbf16>
!w1 = tensor<256x128xbf16>
!w2 = tensor<128x256xbf16>

#map = affine_map<(i, j) -> (i, j)>

func.func @train(%x: !x, %w1: !w1, %w2: !w2, %dy: !x) -> (!x, !w1, !w2, !x) {
  %zero = arith.constant 0.0 : bf16
  %h = te_quant.linear %x, %w1 : !x, !w1
  %empty = tensor.empty() : !h
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%h : !h) outs(%empty : !h) {
  ^bb0(%value: bf16, %out: bf16):
    %relu = arith.maximumf %value, %zero : bf16
    linalg.yield %relu : bf16
  } -> !h
  %y = te_quant.linear %a, %w2 : !h, !w2

  %dw2, %da = te_quant.linear_backward %dy input(%a) weightmat(%w2) weight(%w2) : !x, !h, !w2, !w2
  %dh = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%h, %da : !h, !h) outs(%empty : !h) {
  ^bb0(%value: bf16, %gradient: bf16, %out: bf16):
    %is_positive = arith.cmpf ogt, %value, %zero : bf16
    %passed = arith.select %is_positive, %gradient, %zero : bf16
    linalg.yield %passed : bf16
  } -> !h
  %dw1, %dx = te_quant.linear_backward %dh input(%x) weightmat(%w1) weight(%w1) : !h, !x, !w1, !w1
  return %y, %dw1, %dw2, %dx : !x, !w1, !w2, !x
}
