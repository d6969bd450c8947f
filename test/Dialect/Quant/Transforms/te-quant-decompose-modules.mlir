// Norms and activations are linalg ops in f32 around linear layers; experts are linear layers on slices.
// RUN: te-opt %s --te-quant-decompose-modules | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN>

// 7.2: mean, variance, and a norm that is rounded to bf16.
// CHECK-LABEL: func @norm(
// CHECK-SAME: %[[X:.*]]: tensor<32x128xbf16>, %[[G:.*]]: tensor<128xbf16>, %[[W:.*]]: tensor<32x128xbf16>
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]]
// CHECK: %[[MU:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
// CHECK: arith.divf
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[MU]]
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: %[[RSIGMA:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]]
// CHECK: math.sqrt
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MU]], %[[RSIGMA]], %[[G]], %[[G]]
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: te_quant.linear %[[N]], %[[W]] {input_quantizer = #{{.*}}, weight_quantizer = #{{.*}}}
// CHECK: return %{{.*}}, %[[MU]], %[[RSIGMA]]
func.func @norm(%x: tensor<32x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<32x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %y:5 = te_quant.layernorm_linear %x, %g, %w beta(%g) {input_quantizer = #mx, weight_quantizer = #mx, input_requires_grad = false}
    : tensor<32x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>, tensor<128xbf16>
  return %y#0, %y#3, %y#4 : tensor<32x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// 7.3: the gate takes both halves of what the first product gives.
// CHECK-LABEL: func @gated(
// CHECK: %[[H:.*]] = te_quant.linear %{{.*}} -> tensor<16x96xbf16>
// CHECK: %[[A:.*]] = tensor.extract_slice %[[H]][0, 0] [16, 48] [1, 1]
// CHECK: %[[B:.*]] = tensor.extract_slice %[[H]][0, 48] [16, 48] [1, 1]
// CHECK: %[[ACT:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]]
// CHECK: te_quant.linear %[[ACT]]
func.func @gated(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x48xbf16>) -> tensor<16x32xbf16> {
  %y = te_quant.layernorm_mlp %x, %g, %w1, %w2 {
    normalization = #te_quant.normalization<RMSNorm>, activation = #te_quant.activation<reglu>, is_grad_enabled = false
  } : tensor<16x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x48xbf16>
  return %y : tensor<16x32xbf16>
}

// 7.4: splits that are known need no check, and no rows need no slice.
// CHECK-LABEL: func @static(
// CHECK-NOT: te_quant.check
// CHECK: %[[X0:.*]] = tensor.empty() : tensor<0x128xbf16>
// CHECK: te_quant.linear %[[X0]]
// CHECK: %[[O0:.*]] = tensor.empty() : tensor<16x32xbf16>
// CHECK: %[[X1:.*]] = tensor.extract_slice %{{.*}}[0, 0] [16, 128] [1, 1]
// CHECK: %[[Y1:.*]] = te_quant.linear %[[X1]]
// CHECK: tensor.insert_slice %[[Y1]] into %[[O0]][0, 0] [16, 32] [1, 1]
func.func @static(%x: tensor<16x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<16x32xbf16> {
  %y = te_quant.grouped_linear %x weights(%w, %w) {m_splits = array<i64: 0, 16>} : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<16x32xbf16>
}

// 7.4: splits on the device are read, and sum to the rows.
// CHECK-LABEL: func @dynamic(
// CHECK: %[[M:.*]] = tensor.extract %{{.*}}[%{{.*}}] : tensor<1xi64>
// CHECK: %[[ROWS:.*]] = arith.index_cast %[[M]]
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[ROWS]]
// CHECK: te_quant.check %[[FITS]], "expected the splits to sum to the rows of the input"
// CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[ROWS]]
// CHECK: %[[ALL:.*]] = arith.cmpi eq, %[[REST]]
// CHECK: te_quant.check %[[ALL]]
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%[[ROWS]], 128] [1, 1]
func.func @dynamic(%x: tensor<16x128xbf16>, %w: tensor<32x128xbf16>, %m: tensor<1xi64>) -> tensor<16x32xbf16> {
  %y = te_quant.grouped_linear %x weights(%w) splits(%m) : tensor<16x128xbf16>, tensor<32x128xbf16>, tensor<1xi64>
  return %y : tensor<16x32xbf16>
}

// Each expert draws from its own part of the random stream.
// CHECK-LABEL: func @random(
// CHECK: te_quant.linear_backward {{.*}} rng(%arg4)
// CHECK: arith.constant 16384 : i64
// CHECK: te_quant.linear_backward
#sr = #te_quant.nvfp4<stochastic_rounding = true>
#nv = #te_quant.nvfp4<with_2d_quantization = true>
func.func @random(%dy: tensor<64x32xbf16>, %x0: !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<usage = columnwise>>, %wm: !te_quant.tensor<32x128xbf16, #nv>, %w: tensor<32x128xbf16>, %rng: tensor<2xi64>) -> tensor<64x128xbf16> {
  %d:3 = te_quant.grouped_linear_backward %dy input(%x0, %x0) weightmat(%wm, %wm) weights(%w, %w) rng(%rng) {
    m_splits = array<i64: 32, 32>, input_quantizer = #te_quant.nvfp4, weight_quantizer = #nv, grad_output_quantizer = #sr
  } : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<usage = columnwise>>, !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<usage = columnwise>>,
      !te_quant.tensor<32x128xbf16, #nv>, !te_quant.tensor<32x128xbf16, #nv>, tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<2xi64>
  return %d#2 : tensor<64x128xbf16>
}
