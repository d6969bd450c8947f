// Layers that contain linear layers: printing and parsing are inverse, and result types that are left out are those of the plan.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
#delayed = #te_quant.float8_delayed_scaling<f8E4M3FN>

// What is saved is what backward of the norm and of the product reads.
// CHECK-LABEL: func @layernorm_linear(
// CHECK: %output, %saved_weightmat, %saved_norm_output, %saved_mu, %saved_rsigma = te_quant.layernorm_linear %{{.*}}, %{{.*}}, %{{.*}} beta(%{{.*}}) bias(%{{.*}}) {
// CHECK-SAME: -> tensor<2x32x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>,
// CHECK-SAME: !te_quant.tensor<2x32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>>,
// CHECK-SAME: tensor<64xf32>, tensor<64xf32>
func.func @layernorm_linear(%x: tensor<2x32x128xbf16>, %g: tensor<128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>) -> tensor<2x32x32xbf16> {
  %y:5 = te_quant.layernorm_linear %x, %g, %w beta(%g) bias(%b) {input_quantizer = #mx, weight_quantizer = #mx, input_requires_grad = false}
    : tensor<2x32x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>, tensor<128xbf16>, tensor<32xbf16>
  return %y#0 : tensor<2x32x32xbf16>
}

// V-3: a norm output that is returned is not saved again.
// CHECK-LABEL: func @returned(
// CHECK: %output, %norm_output, %saved_rsigma = te_quant.layernorm_linear
func.func @returned(%x: tensor<8x128xf32>, %g: tensor<128xf32>, %w: tensor<32x128xf32>) -> tensor<8x32xf32> {
  %y:3 = te_quant.layernorm_linear %x, %g, %w {normalization = #te_quant.normalization<RMSNorm>, return_layernorm_output = true}
    : tensor<8x128xf32>, tensor<128xf32>, tensor<32x128xf32>
  return %y#0 : tensor<8x32xf32>
}

// CHECK-LABEL: func @layernorm_linear_backward(
// CHECK: %wgrad, %dgrad, %grad_gamma, %grad_beta = te_quant.layernorm_linear_backward %{{.*}} input(%{{.*}}) gamma(%{{.*}}) beta(%{{.*}}) norm_output(%{{.*}}) weightmat(%{{.*}}) weight(%{{.*}}) mu(%{{.*}}) rsigma(%{{.*}}) :
func.func @layernorm_linear_backward(%dy: tensor<8x32xf32>, %x: tensor<8x128xf32>, %g: tensor<128xf32>, %w: tensor<32x128xf32>, %r: tensor<8xf32>) -> tensor<8x128xf32> {
  %d:4 = te_quant.layernorm_linear_backward %dy input(%x) gamma(%g) beta(%g) norm_output(%x) weightmat(%w) weight(%w) mu(%r) rsigma(%r)
    : tensor<8x32xf32>, tensor<8x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<8x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<8xf32>, tensor<8xf32>
  return %d#1 : tensor<8x128xf32>
}

// The gate halves the features; scales and amaxes of both products.
// CHECK-LABEL: func @layernorm_mlp(
// CHECK: %output, %amax_fc1_input, %amax_fc1_weight, %amax_fc2_input, %amax_fc2_weight = te_quant.layernorm_mlp
// CHECK-SAME: scale(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {activation = #te_quant.activation<swiglu>
func.func @layernorm_mlp(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x48xbf16>, %s: tensor<1xf32>) -> tensor<16x32xbf16> {
  %y:5 = te_quant.layernorm_mlp %x, %g, %w1, %w2 scale(%s, %s, %s, %s) {
    normalization = #te_quant.normalization<RMSNorm>, activation = #te_quant.activation<swiglu>, is_grad_enabled = false,
    fc1_input_quantizer = #delayed, fc1_weight_quantizer = #delayed, fc2_input_quantizer = #delayed, fc2_weight_quantizer = #delayed
  } : tensor<16x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x48xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
  return %y#0 : tensor<16x32xbf16>
}

// CHECK-LABEL: func @layernorm_mlp_saved(
// CHECK: %output, %saved_norm_output, %saved_hidden, %saved_activated, %saved_rsigma = te_quant.layernorm_mlp
func.func @layernorm_mlp_saved(%x: tensor<16x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x96xbf16>) -> tensor<16x32xbf16> {
  %y:5 = te_quant.layernorm_mlp %x, %g, %w1, %w2 {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<16x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x96xbf16>
  return %y#0 : tensor<16x32xbf16>
}

// An expert without rows; each has its own saved tensors.
// CHECK-LABEL: func @grouped_linear(
// CHECK: %output, %saved_input_0, %saved_input_1, %saved_weightmat_0, %saved_weightmat_1 = te_quant.grouped_linear %{{.*}} weights(%{{.*}}, %{{.*}}) {
// CHECK-SAME: -> tensor<32x32xbf16>, !te_quant.tensor<32x128xbf16, {{.*}}>, !te_quant.tensor<0x128xbf16,
func.func @grouped_linear(%x: tensor<32x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<32x32xbf16> {
  %y:5 = te_quant.grouped_linear %x weights(%w, %w) {m_splits = array<i64: 32, 0>, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<32x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y#0 : tensor<32x32xbf16>
}

// CHECK-LABEL: func @grouped_dynamic(
// CHECK: te_quant.grouped_linear %{{.*}} weights(%{{.*}}) splits(%{{.*}}) : tensor<?x128xbf16>, tensor<32x128xbf16>, tensor<1xi64> -> tensor<?x32xbf16>
func.func @grouped_dynamic(%x: tensor<?x128xbf16>, %w: tensor<32x128xbf16>, %m: tensor<1xi64>) -> tensor<?x32xbf16> {
  %y = te_quant.grouped_linear %x weights(%w) splits(%m) : tensor<?x128xbf16>, tensor<32x128xbf16>, tensor<1xi64>
  return %y : tensor<?x32xbf16>
}

// CHECK-LABEL: func @grouped_backward(
// CHECK: %wgrad_0, %wgrad_1, %dgrad = te_quant.grouped_linear_backward %{{.*}} input(%{{.*}}) weightmat(%{{.*}}, %{{.*}}) weights(%{{.*}}, %{{.*}}) {m_splits = array<i64: 8, 0>}
func.func @grouped_backward(%dy: tensor<8x32xf32>, %x: tensor<8x128xf32>, %w: tensor<32x128xf32>) -> tensor<8x128xf32> {
  %d:3 = te_quant.grouped_linear_backward %dy input(%x) weightmat(%w, %w) weights(%w, %w) {m_splits = array<i64: 8, 0>}
    : tensor<8x32xf32>, tensor<8x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>
  return %d#2 : tensor<8x128xf32>
}

// CHECK-LABEL: func @layernorm_mlp_backward(
// CHECK: %fc1_wgrad, %fc2_wgrad, %dgrad, %grad_gamma = te_quant.layernorm_mlp_backward %{{.*}} input(%{{.*}}) gamma(%{{.*}}) norm_output(%{{.*}}) weightmat1(%{{.*}}) weight1(%{{.*}}) hidden(%{{.*}}) activated(%{{.*}}) weightmat2(%{{.*}}) weight2(%{{.*}}) rsigma(%{{.*}}) {
func.func @layernorm_mlp_backward(%dy: tensor<8x32xf32>, %x: tensor<8x128xf32>, %g: tensor<128xf32>, %w1: tensor<96x128xf32>, %w2: tensor<32x96xf32>, %h: tensor<8x96xf32>, %r: tensor<8xf32>) -> tensor<8x128xf32> {
  %d:4 = te_quant.layernorm_mlp_backward %dy input(%x) gamma(%g) norm_output(%x) weightmat1(%w1) weight1(%w1) hidden(%h) activated(%h) weightmat2(%w2) weight2(%w2) rsigma(%r)
    {normalization = #te_quant.normalization<RMSNorm>}
    : tensor<8x32xf32>, tensor<8x128xf32>, tensor<128xf32>, tensor<8x128xf32>, tensor<96x128xf32>, tensor<96x128xf32>, tensor<8x96xf32>, tensor<8x96xf32>, tensor<32x96xf32>, tensor<32x96xf32>, tensor<8xf32>
  return %d#2 : tensor<8x128xf32>
}
