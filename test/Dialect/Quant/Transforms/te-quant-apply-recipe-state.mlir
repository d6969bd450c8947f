// Scales, amaxes and the random state become arguments and results of functions
// and of their callers.
// RUN: te-opt %s --te-quant-apply-recipe=recipe=delayed | FileCheck %s
// RUN: te-opt %s --te-quant-apply-recipe=recipe=nvfp4 | FileCheck %s --check-prefix=RNG
// RUN: te-opt %s --te-quant-apply-recipe=recipe=mxfp8 | FileCheck %s --check-prefix=NONE

// R-1: a role each: input and weight forward, the gradient of the output backward;
// arguments come after those there are, but before a stream.

// CHECK-LABEL: func.func @r1_layer
// CHECK-SAME: %[[X:.*]]: tensor<64x128xbf16>, %[[W:.*]]: tensor<128x128xbf16>, %[[DY:.*]]: tensor<64x128xbf16>,
// CHECK-SAME: %[[SX:.*]]: tensor<1xf32>, %[[SW:.*]]: tensor<1xf32>, %[[SDY:.*]]: tensor<1xf32>, %{{.*}}: !llvm.ptr)
// CHECK-SAME: -> (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
// CHECK: %{{.*}}, %[[AX:.*]], %[[AW:.*]] = te_quant.linear %[[X]], %[[W]] scale(%[[SX]], %[[SW]])
// CHECK: %{{.*}}, %{{.*}}, %[[ADY:.*]] = te_quant.linear_backward {{.*}} scale(%[[SDY]])
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[AX]], %[[AW]], %[[ADY]]

// RNG-LABEL: func.func @r1_layer
// RNG-SAME: %[[DY:.*]]: tensor<64x128xbf16>, %[[RNG:.*]]: tensor<2xi64>, %{{.*}}: !llvm.ptr)
// RNG: te_quant.linear %{{.*}}, %{{.*}} {
// RNG: te_quant.linear_backward {{.*}} rng(%[[RNG]])

// NONE-LABEL: func.func @r1_layer
// NONE-SAME: (%{{[^:]*}}: tensor<64x128xbf16>, %{{[^:]*}}: tensor<128x128xbf16>, %{{[^:]*}}: tensor<64x128xbf16>, %{{[^:]*}}: !llvm.ptr)
func.func @r1_layer(%x: tensor<64x128xbf16>, %w: tensor<128x128xbf16>, %dy: tensor<64x128xbf16>, %stream: !llvm.ptr)
    -> (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>) {
  %y = te_quant.linear %x, %w : tensor<64x128xbf16>, tensor<128x128xbf16>
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w)
    : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xbf16>
  return %y, %dw, %dx : tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>
}

// Each call has scales of its own, and draws from its own part of the stream.

// CHECK-LABEL: func.func @two_calls
// CHECK-SAME: %[[S0:[^:]*]]: tensor<1xf32>, %[[S1:[^:]*]]: tensor<1xf32>, %[[S2:[^:]*]]: tensor<1xf32>, %[[S3:[^:]*]]: tensor<1xf32>, %[[S4:[^:]*]]: tensor<1xf32>, %[[S5:[^:]*]]: tensor<1xf32>, %{{[^:]*}}: !llvm.ptr)
// CHECK: %[[R:.*]]:6 = call @r1_layer(%{{.*}}, %{{.*}}, %{{.*}}, %[[S0]], %[[S1]], %[[S2]], %{{.*}})
// CHECK: %[[Q:.*]]:6 = call @r1_layer(%[[R]]#0, %{{.*}}, %{{.*}}, %[[S3]], %[[S4]], %[[S5]], %{{.*}})
// CHECK: return %[[Q]]#0, %[[R]]#3, %[[R]]#4, %[[R]]#5, %[[Q]]#3, %[[Q]]#4, %[[Q]]#5

// RNG-LABEL: func.func @two_calls
// RNG-SAME: %[[RNG:[^:]*]]: tensor<2xi64>
// RNG: call @r1_layer(%{{.*}}, %{{.*}}, %{{.*}}, %[[RNG]], %{{.*}})
// RNG: %[[LATER:.*]] = linalg.generic {{.*}} ins(%[[RNG]]
// RNG: arith.constant 16384 : i64
// RNG: call @r1_layer(%{{.*}}, %{{.*}}, %{{.*}}, %[[LATER]], %{{.*}})
func.func @two_calls(%x: tensor<64x128xbf16>, %w: tensor<128x128xbf16>, %dy: tensor<64x128xbf16>, %stream: !llvm.ptr) -> tensor<64x128xbf16> {
  %first:3 = call @r1_layer(%x, %w, %dy, %stream) : (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>, !llvm.ptr) -> (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>)
  %second:3 = call @r1_layer(%first#0, %w, %dy, %stream) : (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>, !llvm.ptr) -> (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>)
  return %second#0 : tensor<64x128xbf16>
}
