// Expansion of what makes scales and of derived representations.
// RUN: te-opt %s --te-quant-expand | FileCheck %s
// RUN: te-opt %s --te-quant-expand --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   | FileCheck %s --check-prefix=BUFFERS

!x = tensor<?x64xbf16>
!s = tensor<1xf32>

// An amax that is not given is computed; it needs no TensorSpec.
// CHECK-LABEL: func.func @current(
// CHECK-SAME: %[[X:[^ :]+]]: tensor<?x64xbf16>
// CHECK: %[[AMAX:[^ :]+]] = te_quant.amax_into #float8_current_scaling ins(%[[X]] : tensor<?x64xbf16>) outs(%{{.*}} : tensor<1xf32>) -> tensor<1xf32>
// CHECK: te_quant.quantize_into {{.*}} ins(%[[X]] : tensor<?x64xbf16>) amax(%[[AMAX]] : tensor<1xf32>)
// BUFFERS-LABEL: func.func @current(
// BUFFERS: te_quant.amax_into {{.*}} outs(%[[AMAX:[^ :]+]] : memref<1xf32>)
// BUFFERS: te_quant.quantize_into {{.*}} amax(%[[AMAX]] : memref<1xf32>)
!current = !te_quant.tensor<?x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
func.func @current(%x: !x) -> !current {
  %q = te_quant.quantize %x : !x -> !current
  return %q : !current
}

// One that is given is not computed again.
// CHECK-LABEL: func.func @given_amax(
// CHECK-SAME: , %[[A:[^ :]+]]: tensor<1xf32>)
// CHECK-NOT: te_quant.amax_into
// CHECK: te_quant.quantize_into {{.*}} amax(%[[A]] : tensor<1xf32>)
func.func @given_amax(%x: !x, %a: !s) -> !current {
  %q = te_quant.quantize %x amax(%a) : !x, !s -> !current
  return %q : !current
}

// With the Hadamard transform there are two.
// CHECK-LABEL: func.func @two_amaxes(
// CHECK: %[[AMAX:[^ :]+]]:2 = te_quant.amax_into #nvfp4 {{.*}} -> tensor<1xf32>, tensor<1xf32>
// CHECK: te_quant.quantize_into {{.*}} amax(%[[AMAX]]#0, %[[AMAX]]#1 : tensor<1xf32>, tensor<1xf32>)
!rht = !te_quant.tensor<64x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>
func.func @two_amaxes(%x: tensor<64x64xbf16>) -> !rht {
  %q = te_quant.quantize %x : tensor<64x64xbf16> -> !rht
  return %q : !rht
}

// Delayed scaling takes the scale and returns the amax.
// CHECK-LABEL: func.func @delayed(
// CHECK-SAME: %[[X:[^ :]+]]: tensor<?x64xbf16>, %[[S:[^ :]+]]: tensor<1xf32>)
// CHECK-NOT: te_quant.amax_into
// CHECK: %[[Q:[^ :]+]]:4 = te_quant.quantize_into {{.*}} scale(%[[S]] : tensor<1xf32>)
// CHECK: return %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3
!delayed = !te_quant.tensor<?x64xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>
func.func @delayed(%x: !x, %s: !s) -> (!delayed, !s) {
  %q, %a = te_quant.quantize %x scale(%s) : !x, !s -> !delayed, !s
  return %q, %a : !delayed, !s
}

// CHECK-LABEL: func.func @amax(
// CHECK-SAME: %[[X:[^ :]+]]: tensor<?x64xbf16>)
// CHECK: %[[AMAX:[^ :]+]] = te_quant.amax_into {{.*}} ins(%[[X]] : tensor<?x64xbf16>)
// CHECK: return %[[AMAX]] : tensor<1xf32>
func.func @amax(%x: !te_quant.tensor<?x64xbf16>) -> !s {
  %a = te_quant.amax #te_quant.float8_current_scaling<f8E4M3FN> %x
    : !te_quant.tensor<?x64xbf16> -> !s
  return %a : !s
}

// CHECK-LABEL: func.func @update_scale(
// CHECK-SAME: %[[H:[^ :]+]]: tensor<?xf32>, %[[A:[^ :]+]]: tensor<1xf32>, %[[S:[^ :]+]]: tensor<1xf32>)
// CHECK: %[[LENGTH:[^ :]+]] = tensor.dim %[[H]]
// CHECK: %[[H2:[^ :]+]] = tensor.empty(%[[LENGTH]]) : tensor<?xf32>
// CHECK: %[[S2:[^ :]+]] = tensor.empty() : tensor<1xf32>
// CHECK: te_quant.update_scale_into #float8_delayed_scaling most_recent ins(%[[H]], %[[A]], %[[S]] :
// CHECK-SAME: outs(%[[H2]], %[[S2]] :
// CHECK-SAME: keep_on_zero_amax
// CHECK-SAME: margin = 2
// BUFFERS-LABEL: func.func @update_scale(
// BUFFERS: te_quant.update_scale_into {{.*}} outs(%{{.*}}, %{{.*}} : memref<?xf32>, memref<1xf32>)
func.func @update_scale(%h: tensor<?xf32>, %a: !s, %s: !s) -> (tensor<?xf32>, !s) {
  %h2, %s2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E4M3FN> most_recent %h, %a, %s
    {margin = 2 : i64, keep_on_zero_amax} : tensor<?xf32>, !s, !s
  return %h2, %s2 : tensor<?xf32>, !s
}

// Deriving makes the inner tensors that are missing and keeps the others.
// CHECK-LABEL: func.func @derive(
// CHECK-SAME: %[[D:[^ :]+]]: tensor<2x?x64xf8E4M3FN>, %[[S:[^ :]+]]: tensor<1xf32>)
// CHECK: %[[DIM:[^ :]+]] = tensor.dim %[[D]]
// CHECK: %[[EMPTY:[^ :]+]] = tensor.empty(%[[DIM]]) : tensor<64x2x?xf8E4M3FN>
// CHECK: %[[ROWS:[^ :]+]] = arith.muli %[[DIM]]
// CHECK: %[[T:[^ :]+]] = te_quant.derive_into #float8_current_scaling ins(%[[D]], %[[S]] :
// CHECK-SAME: extents(%[[ROWS]], %{{.*}}) outs(%[[EMPTY]] : tensor<64x2x?xf8E4M3FN>)
// CHECK: return %[[D]], %[[T]], %[[S]] :
// BUFFERS-LABEL: func.func @derive(
// BUFFERS: te_quant.derive_into {{.*}} outs(%{{.*}} : memref<64x2x?xf8E4M3FN>)
!row = !te_quant.tensor<2x?x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
!both = !te_quant.tensor<2x?x64xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
func.func @derive(%q: !row) -> !both {
  %u = te_quant.update_usage %q : !row -> !both
  return %u : !both
}

// CHECK-LABEL: func.func @derive_and_drop(
// CHECK-SAME: %[[D:[^ :]+]]: tensor<8x64xf8E4M3FN>, %[[S:[^ :]+]]: tensor<1xf32>)
// CHECK: %[[T:[^ :]+]] = te_quant.derive_into #float8_delayed_scaling ins(%[[D]], %[[S]] :
// CHECK: return %[[T]], %[[S]] : tensor<64x8xf8E4M3FN>, tensor<1xf32>
!from = !te_quant.tensor<8x64xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>
!to = !te_quant.tensor<8x64xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = columnwise>>
func.func @derive_and_drop(%q: !from) -> !to {
  %u = te_quant.update_usage %q : !from -> !to
  return %u : !to
}
