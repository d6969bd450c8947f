// Proves that a product becomes one op on the inner tensors that it reads, with checks of what dynamic dims leave open,
// and that a tensor it is added to is updated in place.
// RUN: te-opt %s --te-quant-expand --canonicalize --cse --split-input-file | FileCheck %s
// RUN: te-opt %s --te-quant-expand --canonicalize --cse --split-input-file --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s --check-prefix=BUFFER

#mx = #te_quant.mxfp8<f8E4M3FN>
!w = !te_quant.tensor<64x128xbf16, #mx>
!x = !te_quant.tensor<?x?x128xbf16, #mx>

// Both operands have both representations; the rowwise ones are taken.
// CHECK: #[[ROW:.*]] = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
// CHECK-LABEL: func.func @tn(
// CHECK-SAME: %[[W:arg0]]: tensor<64x128xf8E4M3FN>, %[[WS:arg1]]: tensor<128x4xf8E8M0FNU>,
// CHECK-SAME: %[[X:arg4]]: tensor<?x?x128xf8E4M3FN>, %[[XS:arg5]]: tensor<?x4xf8E8M0FNU>,
// CHECK-DAG: %[[K:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[X]], %c1
// CHECK: %[[Y:.*]] = tensor.empty(%[[D0]], %[[D1]]) : tensor<?x?x64xbf16>
// CHECK-NOT: te_quant.check
// CHECK: %[[R:.*]]:2 = te_quant.gemm_into TN a(%[[W]], %[[WS]] : {{.*}}) as #[[ROW]] b(%[[X]], %[[XS]] : {{.*}}) as #[[ROW]]
// CHECK-SAME: bias(%{{.*}} : tensor<64xbf16>) depth(%[[K]]) outs(%[[Y]], %[[Y]] : {{.*}}) {gelu, test.kept}
// CHECK: return %[[R]]#0, %[[R]]#1
// Two buffers, though the empty tensors are one.
// BUFFER-LABEL: func.func @tn(
// BUFFER-COUNT-2: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: te_quant.gemm_into TN
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @tn(%w: !w, %x: !x, %b: tensor<64xbf16>) -> (tensor<?x?x64xbf16>, tensor<?x?x64xbf16>) {
  %y, %p = te_quant.gemm TN %w, %x bias(%b) {gelu, test.kept} : !w, !x, tensor<64xbf16>
    -> tensor<?x?x64xbf16>, tensor<?x?x64xbf16>
  return %y, %p : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>
}

// -----

#q = #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>
!x = !te_quant.tensor<?x128xbf16, #q>
!dy = !te_quant.tensor<?x64xbf16, #q>

// CHECK-LABEL: func.func @nt(
// CHECK-SAME: %[[X:arg0]]: tensor<128x?xf8E4M3FN>, %{{.*}}: tensor<1xf32>, %[[DY:arg2]]: tensor<64x?xf8E4M3FN>, %{{.*}}: tensor<1xf32>, %[[D:.*]]: tensor<64x128xf32>)
// CHECK-DAG: %[[KA:.*]] = tensor.dim %[[X]], %c1
// CHECK-DAG: %[[KB:.*]] = tensor.dim %[[DY]], %c1
// CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[KA]], %[[KB]]
// CHECK: te_quant.check %[[EQUAL]], "expected the contracted extents of A and B to be equal"
// CHECK: te_quant.check %{{.*}}, "expected the contracted extent of A to be a multiple of 16 for 'float8_current_scaling'"
// CHECK: te_quant.check %{{.*}}, "expected the contracted extent of B to be a multiple of 16 for 'float8_current_scaling'"
// CHECK: te_quant.gemm_into NT {{.*}} depth(%[[KA]]) outs(%[[D]] : tensor<64x128xf32>) {accumulate}
// BUFFER-LABEL: func.func @nt(
// BUFFER-SAME: %[[D:[^ ]*]]: memref<64x128xf32>)
// BUFFER-NOT: memref.alloc
// BUFFER: te_quant.gemm_into NT {{.*}} outs(%[[D]] : memref<64x128xf32>) {accumulate}
// BUFFER-NOT: memref.copy
// BUFFER: return %[[D]]
func.func @nt(%x: !x, %dy: !dy, %d: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %y = te_quant.gemm NT %x, %dy accumulate(%d) : !x, !dy, tensor<64x128xf32> -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

// -----

// What is added to is needed afterwards: its contents are copied.
// BUFFER-LABEL: func.func @kept(
// BUFFER: %[[NEW:.*]] = memref.alloc
// BUFFER: memref.copy %{{.*}}, %[[NEW]]
// BUFFER: te_quant.gemm_into TN {{.*}} outs(%[[NEW]] : memref<3x4xf32>) {accumulate}
func.func @kept(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>, %d: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %y = te_quant.gemm TN %a, %b accumulate(%d) : tensor<4x5xf32>, tensor<3x5xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  return %d, %y : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// The children of a hybrid, identity among them, are what is read.
!h = !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.identity, columnwise = #te_quant.nvfp4>>
// CHECK: #[[NV:.*]] = #te_quant.nvfp4<usage = columnwise>
// CHECK-LABEL: func.func @hybrid(
// CHECK-SAME: %[[HP:arg0]]: tensor<32x64xbf16>, %[[D:arg1]]: tensor<64x16xi8>, %[[S:arg2]]: tensor<128x4xf8E4M3FN>, %[[A:arg3]]: tensor<1xf32>)
// CHECK: te_quant.gemm_into TN a(%[[HP]] : tensor<32x64xbf16>) b(%[[HP]] : tensor<32x64xbf16>) depth(%c64)
// CHECK: te_quant.gemm_into NT a(%[[D]], %[[S]], %[[A]] : {{.*}}) as #[[NV]] b(%[[D]], %[[S]], %[[A]] : {{.*}}) as #[[NV]] depth(%c32)
func.func @hybrid(%h: !h) -> (tensor<32x32xf32>, tensor<64x64xf32>) {
  %y = te_quant.gemm TN %h, %h : !h, !h -> tensor<32x32xf32>
  %z = te_quant.gemm NT %h, %h : !h, !h -> tensor<64x64xf32>
  return %y, %z : tensor<32x32xf32>, tensor<64x64xf32>
}

// -----

// What the result's type knows is checked, and so are the other groups.
// CHECK-LABEL: func.func @static_result(
// CHECK-DAG: te_quant.check %{{.*}}, "expected the contracted extents of A and B to be equal"
// CHECK-DAG: te_quant.check %{{.*}}, "expected the bias to have as many elements as the result has columns"
// CHECK-DAG: te_quant.check %{{.*}}, "expected dim 1 of the result to be 4"
// CHECK: tensor.empty() : tensor<3x4xf32>
func.func @static_result(%a: tensor<?x?xf32>, %b: tensor<3x?xf32>, %c: tensor<?xf32>) -> tensor<3x4xf32> {
  %y = te_quant.gemm TN %a, %b bias(%c) : tensor<?x?xf32>, tensor<3x?xf32>, tensor<?xf32> -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
