// The plan of a linear layer as JSON, the form that the tables of test/tables are compared with.
// RUN: te-opt %s --te-quant-dump-plan -o %t.mlir | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
#sr = #te_quant.nvfp4<stochastic_rounding = true>

// CHECK: [
// CHECK: "id": "forward",
// CHECK: "assertions": [
// CHECK-NEXT: "(d0 * 8) mod 8 == 0",
// CHECK-NEXT: "d0 mod 2 == 0",
// CHECK-NEXT: "(d0 * 8) mod 32 == 0"
// CHECK: "gather": null,
// CHECK-NEXT: "new_workspace": null,
// CHECK-NEXT: "output": {
// CHECK: "kind": "plain",
// CHECK-NEXT: "requires_grad": true,
// CHECK-NEXT: "shape": [
// CHECK-NEXT: "d0 floordiv 2",
// CHECK-NEXT: 8,
// CHECK-NEXT: 32
// CHECK: "owns_input": true,
// CHECK: "amax_reduction": false,
// CHECK-NEXT: "how": "fresh",
// CHECK-NEXT: "operand": "input",
// CHECK: "usage": "both"
// CHECK: "operand": "weight",
// CHECK: "refresh_workspace": null,
// CHECK-NEXT: "saved": {
// CHECK-NEXT: "bias": null,
// CHECK-NEXT: "input": {
// CHECK-NEXT: "value": {
// CHECK: "kind": "bare",
// CHECK: "usage": "columnwise"
// CHECK: "weight": {
// CHECK-NEXT: "alias": "weight"
// CHECK: "scales": []
func.func @forward(%x: tensor<?x8x128xbf16>, %w: tensor<32x128xbf16>) {
  te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx, parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<?x8x128xbf16>, tensor<32x128xbf16>
  return
}

// A frozen weight with a trainable bias: the bias gradient is a sum of rows that comes with the quantize.
// CHECK: "id": "backward",
// CHECK: "dgrad": {
// CHECK: "gather": [],
// CHECK-NEXT: "grad_bias": {
// CHECK: "source": "with_quantize",
// CHECK: "operand": "grad_output",
// CHECK: "usage": "both",
// CHECK-NEXT: "where": "local"
// CHECK: "random_state": true,
// CHECK: "wgrad": null
func.func @backward(%dy: tensor<64x32xbf16>, %w: !te_quant.tensor<32x128xbf16, #te_quant.nvfp4>, %b: tensor<32xbf16>, %state: tensor<2xi64>) {
  te_quant.linear_backward %dy weightmat(%w) weight(%w) bias(%b) rng(%state) {grad_output_quantizer = #sr, weight_requires_grad = false, bias_requires_grad = true}
    : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.nvfp4>, !te_quant.tensor<32x128xbf16, #te_quant.nvfp4>, tensor<32xbf16>, tensor<2xi64>
  return
}
