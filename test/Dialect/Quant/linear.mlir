// Linear layers: printing and parsing are inverse, and result types that are left out are those of the plan.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
#mxcol = #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>
#ws = #te_quant.mxfp8<f8E4M3FN>
#delayed = #te_quant.float8_delayed_scaling<f8E4M3FN>
#sr = #te_quant.nvfp4<stochastic_rounding = true>

// CHECK-LABEL: func @plain(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x128xbf16>, %[[W:.*]]: tensor<64x128xbf16>, %[[B:.*]]: tensor<64xbf16>
// CHECK: %{{.*}} = te_quant.linear %[[X]], %[[W]] bias(%[[B]]) : tensor<2x8x128xbf16>, tensor<64x128xbf16>, tensor<64xbf16> -> tensor<2x8x64xbf16>
func.func @plain(%x: tensor<2x8x128xbf16>, %w: tensor<64x128xbf16>, %b: tensor<64xbf16>) -> tensor<2x8x64xbf16> {
  %y = te_quant.linear %x, %w bias(%b) : tensor<2x8x128xbf16>, tensor<64x128xbf16>, tensor<64xbf16>
  return %y : tensor<2x8x64xbf16>
}

// P-5: the results' names say what they are; what is not there has a name in the plan.
// CHECK-LABEL: func @saved(
// CHECK: %output, %saved_input, %saved_weightmat = te_quant.linear %{{.*}}, %{{.*}} {grad_output_quantizer = #mxfp8, input_quantizer = #mxfp8, weight_quantizer = #mxfp8}
// CHECK-SAME: -> tensor<64x32xbf16>,
// CHECK-SAME: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>>,
// CHECK-SAME: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
func.func @saved(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y:3 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
    -> tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>
  return %y#0 : tensor<64x32xbf16>
}

// A dim that is not known stays so, and a plain TensorSpec gives one.
// CHECK-LABEL: func @dynamic(
// CHECK: te_quant.linear {{.*}} -> !te_quant.tensor<?x32xbf16, requires_grad = true>
func.func @dynamic(%x: !te_quant.tensor<?x128xbf16>, %w: tensor<32x128xbf16>) -> !te_quant.tensor<?x32xbf16, requires_grad = true> {
  %y = te_quant.linear %x, %w : !te_quant.tensor<?x128xbf16>, tensor<32x128xbf16>
  return %y : !te_quant.tensor<?x32xbf16, requires_grad = true>
}

// A workspace that is refreshed is a result of its own type.
// CHECK-LABEL: func @workspace(
// CHECK: %output, %workspace, %saved_input = te_quant.linear %{{.*}}, %{{.*}} workspace(%{{.*}}) skip_update(%{{.*}}) {
// CHECK-SAME: microbatch = #te_quant.microbatch<later>
func.func @workspace(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %ws: !te_quant.tensor<32x128xbf16, #ws>, %skip: tensor<1xf32>)
    -> !te_quant.tensor<32x128xbf16, #ws> {
  %y, %new, %s = te_quant.linear %x, %w workspace(%ws) skip_update(%skip)
    {input_quantizer = #mx, weight_quantizer = #mx, cache_weight = true, microbatch = #te_quant.microbatch<later>}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !te_quant.tensor<32x128xbf16, #ws>, tensor<1xf32>
  return %new : !te_quant.tensor<32x128xbf16, #ws>
}

// A scale goes in and an amax comes out for each operand that is quantized.
// CHECK-LABEL: func @delayed(
// CHECK: %output, %amax_input, %amax_weight = te_quant.linear %{{.*}}, %{{.*}} scale(%{{.*}}, %{{.*}}) {
// CHECK-SAME: -> tensor<64x32xbf16>, tensor<1xf32>, tensor<1xf32>
func.func @delayed(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %s: tensor<1xf32>) -> (tensor<64x32xbf16>, tensor<1xf32>) {
  %y, %ax, %aw = te_quant.linear %x, %w scale(%s, %s) {input_quantizer = #delayed, weight_quantizer = #delayed, is_grad_enabled = false}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<1xf32>, tensor<1xf32>
  return %y, %aw : tensor<64x32xbf16>, tensor<1xf32>
}

// CHECK-LABEL: func @backward(
// CHECK: %wgrad, %dgrad, %grad_bias = te_quant.linear_backward %{{.*}} input(%{{.*}}) weightmat(%{{.*}}) weight(%{{.*}}) bias(%{{.*}}) accumulate(%{{.*}}) rng(%{{.*}}) {
// CHECK-SAME: -> tensor<32x128xf32>, tensor<64x128xbf16>, tensor<32xbf16>
func.func @backward(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #sr>, %w: !te_quant.tensor<32x128xbf16, #sr>, %b: tensor<32xbf16>,
                    %grad: tensor<32x128xf32>, %state: tensor<2xi64>) -> (tensor<32x128xf32>, tensor<64x128xbf16>, tensor<32xbf16>) {
  %dw, %dx, %db = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) bias(%b) accumulate(%grad) rng(%state)
    {grad_output_quantizer = #sr, bias_requires_grad = true, fuse_wgrad_accumulation = true}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #sr>, !te_quant.tensor<32x128xbf16, #sr>, !te_quant.tensor<32x128xbf16, #sr>, tensor<32xbf16>,
      tensor<32x128xf32>, tensor<2xi64>
  return %dw, %dx, %db : tensor<32x128xf32>, tensor<64x128xbf16>, tensor<32xbf16>
}

// Nothing is differentiated: nothing comes out.
// CHECK-LABEL: func @no_gradients(
// CHECK: te_quant.linear_backward %{{.*}} weightmat(%[[W:.*]]) weight(%[[W]]) {input_requires_grad = false, weight_requires_grad = false} : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>{{$}}
func.func @no_gradients(%dy: tensor<64x32xbf16>, %w: tensor<32x128xbf16>) {
  te_quant.linear_backward %dy weightmat(%w) weight(%w) {input_requires_grad = false, weight_requires_grad = false}
    : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return
}
