// Forward and backward of a two-layer MLP, y = W2 silu(W1 x + b1) + b2.
//
// The layers say nothing of formats: `te-quant-apply-recipe` gives each role its
// quantizer, and adds what the recipe needs to the function: scales and amaxes
// for delayed scaling, a random state for stochastic rounding.
//
//   te-opt linear_mxfp8.mlir --te-quant-apply-recipe=recipe=mxfp8
//
// Other recipes: float8_current, float8_block, delayed, nvfp4.

!input = tensor<64x128xbf16>
!hidden = tensor<64x256xbf16>
!weight1 = tensor<256x128xbf16>
!bias1 = tensor<256xbf16>
!output = tensor<64x128xbf16>
!weight2 = tensor<128x256xbf16>
!bias2 = tensor<128xbf16>

#id = affine_map<(row, feature) -> (row, feature)>

func.func @mlp(%x: !input, %w1: !weight1, %b1: !bias1, %w2: !weight2, %b2: !bias2, %dy: !output)
    -> (!output, !weight1, !bias1, !weight2, !bias2, !input) {
  %one = arith.constant 1.0 : f32
  %none = tensor.empty() : !hidden

  // Forward.
  %h = te_quant.linear %x, %w1 bias(%b1) {bias_requires_grad = true} : !input, !weight1, !bias1
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : !hidden) outs(%none : !hidden) {
  ^bb0(%value: bf16, %unused: bf16):
    %v = arith.extf %value : bf16 to f32
    %negated = arith.negf %v : f32
    %e = math.exp %negated : f32
    %denominator = arith.addf %e, %one : f32
    %silu = arith.divf %v, %denominator : f32
    %rounded = arith.truncf %silu : f32 to bf16
    linalg.yield %rounded : bf16
  } -> !hidden
  %y = te_quant.linear %a, %w2 bias(%b2) {bias_requires_grad = true} : !hidden, !weight2, !bias2

  // Backward.
  %dw2, %da, %db2 = te_quant.linear_backward %dy input(%a) weightmat(%w2) weight(%w2) bias(%b2)
      {bias_requires_grad = true} : !output, !hidden, !weight2, !weight2, !bias2
  %dh = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %da : !hidden, !hidden) outs(%none : !hidden) {
  ^bb0(%value: bf16, %gradient: bf16, %unused: bf16):
    %v = arith.extf %value : bf16 to f32
    %g = arith.extf %gradient : bf16 to f32
    %negated = arith.negf %v : f32
    %e = math.exp %negated : f32
    %denominator = arith.addf %e, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    // silu'(v) = sigmoid(v) (1 + v (1 - sigmoid(v)))
    %rest = arith.subf %one, %sigmoid : f32
    %slope = arith.mulf %v, %rest : f32
    %inner = arith.addf %slope, %one : f32
    %derivative = arith.mulf %sigmoid, %inner : f32
    %product = arith.mulf %g, %derivative : f32
    %rounded = arith.truncf %product : f32 to bf16
    linalg.yield %rounded : bf16
  } -> !hidden
  %dw1, %dx, %db1 = te_quant.linear_backward %dh input(%x) weightmat(%w1) weight(%w1) bias(%b1)
      {bias_requires_grad = true} : !hidden, !input, !weight1, !weight1, !bias1

  return %y, %dw1, %db1, %dw2, %db2, %dx : !output, !weight1, !bias1, !weight2, !bias2, !input
}
