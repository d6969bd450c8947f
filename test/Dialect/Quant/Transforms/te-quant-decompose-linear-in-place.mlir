// What a linear layer updates is a buffer of its caller: a workspace that is refreshed, and a main gradient that is added to or
// overwritten.
// RUN: te-opt %s --te-quant-decompose-linear --canonicalize --te-quant-expand --eliminate-empty-tensors --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --te-quant-tie-results --canonicalize | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN>
#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>

// CHECK-LABEL: func.func @workspace(
// CHECK-SAME: %[[X:arg[0-9]+]]: {{.*}}, %[[W:arg[0-9]+]]: {{.*}}, %[[D:arg[0-9]+]]: {{.*}}, %[[S:arg[0-9]+]]: {{.*}}, %[[SKIP:arg[0-9]+]]: memref<1xf32>)
// CHECK-SAME: te_quant.tied = [array<i64: 1, 2>, array<i64: 2, 3>]
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[W]] : {{.*}}) noop(%[[SKIP]] : {{.*}}) outs(%[[D]], %[[S]] :
// CHECK-NOT: memref.copy
// CHECK: te_quant.gemm_into TN a(%[[D]], %[[S]] :
func.func @workspace(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %ws: !te_quant.tensor<32x128xbf16, #row>, %skip: tensor<1xf32>)
    -> (tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #row>) {
  %y, %new = te_quant.linear %x, %w workspace(%ws) skip_update(%skip) {is_grad_enabled = false, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !te_quant.tensor<32x128xbf16, #row>, tensor<1xf32>
  return %y, %new : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #row>
}

// CHECK-LABEL: func.func @added(
// CHECK-SAME: %[[M:arg[0-9]+]]: memref<32x16xf32>)
// CHECK-SAME: te_quant.tied = [array<i64: 0, 3>]
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: te_quant.gemm_into NT {{.*}} outs(%[[M]] : memref<32x16xf32>) {accumulate}
// CHECK-NEXT: return
func.func @added(%dy: tensor<8x32xbf16>, %x: tensor<8x16xbf16>, %w: tensor<32x16xbf16>, %m: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %dw = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) accumulate(%m) {input_requires_grad = false, fuse_wgrad_accumulation = true}
    : tensor<8x32xbf16>, tensor<8x16xbf16>, tensor<32x16xbf16>, tensor<32x16xbf16>, tensor<32x16xf32>
  return %dw : tensor<32x16xf32>
}

// CHECK-LABEL: func.func @overwritten(
// CHECK-SAME: %[[M:arg[0-9]+]]: memref<32x16xf32>)
// CHECK-SAME: te_quant.tied = [array<i64: 0, 3>]
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: te_quant.gemm_into NT {{.*}} outs(%[[M]] : memref<32x16xf32>){{$}}
// CHECK-NEXT: return
func.func @overwritten(%dy: tensor<8x32xbf16>, %x: tensor<8x16xbf16>, %w: tensor<32x16xbf16>, %m: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %dw = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) accumulate(%m) {microbatch = #te_quant.microbatch<first>, input_requires_grad = false, fuse_wgrad_accumulation = true}
    : tensor<8x32xbf16>, tensor<8x16xbf16>, tensor<32x16xbf16>, tensor<32x16xbf16>, tensor<32x16xf32>
  return %dw : tensor<32x16xf32>
}
