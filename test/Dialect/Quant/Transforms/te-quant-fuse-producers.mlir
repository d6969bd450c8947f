// Proves what moves into a region, how, and what stays.
// RUN: te-opt %s --te-quant-fuse-producers --canonicalize --split-input-file | FileCheck %s

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>

// A broadcast, an addition and the casts around it become one region.
// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %[[X:[^:]*]]: tensor<32x64xbf16>, %[[B:[^:]*]]: tensor<64xbf16>,
// CHECK-NOT: linalg
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]], %[[B]] : tensor<32x64xbf16>, tensor<64xbf16>)
// CHECK-SAME: fuse maps [#[[ALL:.*]], #[[COLS:.*]]] {
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %[[F:.*]]: bf16):
// CHECK-NEXT: %[[A:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK-NEXT: %[[C:.*]] = arith.extf %[[F]] : bf16 to f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[C]] : f32
// CHECK-NEXT: %[[V:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT: te_quant.yield %[[V]] : bf16
func.func @bias(%x: tensor<32x64xbf16>, %b: tensor<64xbf16>, %d: !d, %s: !s) -> (!d, !s) {
  %e = tensor.empty() : tensor<32x64xbf16>
  %wide = linalg.broadcast ins(%b : tensor<64xbf16>) outs(%e : tensor<32x64xbf16>) dimensions = [0]
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %wide : tensor<32x64xbf16>, tensor<32x64xbf16>) outs(%e : tensor<32x64xbf16>) {
  ^bb0(%f: bf16, %g: bf16, %o: bf16):
    %h = arith.extf %f : bf16 to f32
    %i = arith.extf %g : bf16 to f32
    %j = arith.addf %h, %i : f32
    %k = arith.truncf %j : f32 to bf16
    linalg.yield %k : bf16
  } -> tensor<32x64xbf16>
  %r:2 = te_quant.quantize_into #row ins(%y : tensor<32x64xbf16>) outs(%d, %s : !d, !s) -> !d, !s
  return %r#0, %r#1 : !d, !s
}

// -----

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#all = affine_map<(d0, d1) -> (d0, d1)>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>

// What the two ops have in common is one argument; what is there already stays behind it.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[X:[^:]*]]: tensor<32x64xbf16>, %[[Y:[^:]*]]: tensor<32x64xbf16>,
// CHECK-NOT: linalg
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]], %[[Y]] : tensor<32x64xbf16>, tensor<32x64xbf16>)
// CHECK-SAME: fuse {
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %[[F:.*]]: bf16):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[E]], %[[F]] : bf16
// CHECK-NEXT: %[[V:.*]] = arith.mulf %[[E]], %[[S]] : bf16
// CHECK-NEXT: te_quant.yield %[[V]] : bf16
func.func @residual(%x: tensor<32x64xbf16>, %y: tensor<32x64xbf16>, %d: !d, %s: !s) -> (!d, !s) {
  %e = tensor.empty() : tensor<32x64xbf16>
  %sum = linalg.add ins(%x, %y : tensor<32x64xbf16>, tensor<32x64xbf16>) outs(%e : tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %r:2 = te_quant.quantize_into #row ins(%x, %sum : tensor<32x64xbf16>, tensor<32x64xbf16>) outs(%d, %s : !d, !s) fuse {
  ^bb0(%f: bf16, %g: bf16):
    %v = arith.mulf %f, %g : bf16
    te_quant.yield %v : bf16
  } -> !d, !s
  return %r#0, %r#1 : !d, !s
}

// -----

#q = #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
#all = affine_map<(d0, d1) -> (d0, d1)>

// Every op that reads gets the region, constants included; sizes come from elsewhere.
// CHECK-LABEL: func.func @silu(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32>
// CHECK-NOT: linalg
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK-NOT: linalg
// CHECK: te_quant.amax_into #{{.*}} ins(%[[X]] : tensor<?x64xf32>)
// CHECK-SAME: fuse {
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: arith.negf %[[E]]
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.addf %{{.*}}, %[[ONE]]
// CHECK-NEXT: %[[V:.*]] = arith.divf %[[E]]
// CHECK-NEXT: te_quant.yield %[[V]] : f32
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]] : tensor<?x64xf32>) amax(
// CHECK-SAME: fuse {
// CHECK: math.exp
// CHECK-NOT: linalg
// CHECK: return
func.func @silu(%x: tensor<?x64xf32>, %scale: tensor<1xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%x : tensor<?x64xf32>) {
  ^bb0(%f: f32, %o: f32):
    %g = arith.negf %f : f32
    %h = math.exp %g : f32
    %i = arith.addf %h, %one : f32
    %j = arith.divf %f, %i : f32
    linalg.yield %j : f32
  } -> tensor<?x64xf32>
  %n = tensor.dim %y, %c0 : tensor<?x64xf32>
  %d = tensor.empty(%n) : tensor<?x64xf8E4M3FN>
  %e = tensor.empty() : tensor<1xf32>
  %a = te_quant.amax_into #q ins(%y : tensor<?x64xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32>
  %r:2 = te_quant.quantize_into #q ins(%y : tensor<?x64xf32>) amax(%a : tensor<1xf32>)
    outs(%d, %e : tensor<?x64xf8E4M3FN>, tensor<1xf32>) -> tensor<?x64xf8E4M3FN>, tensor<1xf32>
  return %r#0, %r#1 : tensor<?x64xf8E4M3FN>, tensor<1xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#none = affine_map<(d0, d1) -> ()>

// Scales for rows and for the tensor, a constant operand, and gelu; into a sum.
// CHECK-LABEL: func.func @scales(
// CHECK-NOT: linalg
// CHECK: te_quant.column_sum_into ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<96x64xf32>, tensor<96xf32>, tensor<f32>)
// CHECK-SAME: fuse maps [#{{.*}}, #{{.*}}, #{{.*}}] {
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32, %[[F:.*]]: f32, %[[G:.*]]: f32):
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: %[[A:.*]] = arith.mulf %[[E]], %[[F]] : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %[[G]] : f32
// CHECK-NEXT: %[[C:.*]] = math.erf %[[B]] : f32
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[C]], %[[HALF]] : f32
// CHECK-NEXT: %[[V:.*]] = arith.truncf %[[D]] : f32 to f16
// CHECK-NEXT: te_quant.yield %[[V]] : f16
func.func @scales(%x: tensor<96x64xf32>, %s: tensor<96xf32>, %t: tensor<f32>, %sum: tensor<64xf16>, %chunks: tensor<3x64xf32>) -> tensor<64xf16> {
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<96x64xf16>
  %y = linalg.generic {indexing_maps = [#all, #rows, #none, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %t, %half : tensor<96x64xf32>, tensor<96xf32>, tensor<f32>, f32) outs(%e : tensor<96x64xf16>) {
  ^bb0(%f: f32, %g: f32, %h: f32, %i: f32, %o: f16):
    %j = arith.mulf %f, %g : f32
    %k = arith.mulf %j, %h : f32
    %l = math.erf %k : f32
    %m = arith.mulf %l, %i : f32
    %v = arith.truncf %m : f32 to f16
    linalg.yield %v : f16
  } -> tensor<96x64xf16>
  %r:2 = te_quant.column_sum_into ins(%y : tensor<96x64xf16>) outs(%sum, %chunks : tensor<64xf16>, tensor<3x64xf32>) -> tensor<64xf16>, tensor<3x64xf32>
  return %r#0 : tensor<64xf16>
}

// -----

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>

// What is returned is stored anyway.
// CHECK-LABEL: func.func @other_use(
// CHECK: %[[Y:.*]] = linalg.negf
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[Y]] : tensor<32x64xbf16>)
// CHECK-NOT: fuse
// CHECK: return
func.func @other_use(%x: tensor<32x64xbf16>, %d: !d, %s: !s) -> (!d, !s, tensor<32x64xbf16>) {
  %e = tensor.empty() : tensor<32x64xbf16>
  %y = linalg.negf ins(%x : tensor<32x64xbf16>) outs(%e : tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %r:2 = te_quant.quantize_into #row ins(%y : tensor<32x64xbf16>) outs(%d, %s : !d, !s) -> !d, !s
  return %r#0, %r#1, %y : !d, !s, tensor<32x64xbf16>
}

// An op that a program quantizes and updates in place is not an input only.
// CHECK-LABEL: func.func @as_out(
// CHECK: %[[Y:.*]] = linalg.negf
// CHECK: te_quant.amax_into #{{.*}} ins(%[[Y]] : tensor<1xf32>) outs(%[[Y]] : tensor<1xf32>)
// CHECK-NOT: fuse
func.func @as_out(%x: tensor<1xf32>) -> tensor<1xf32> {
  %e = tensor.empty() : tensor<1xf32>
  %y = linalg.negf ins(%x : tensor<1xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32>
  %r = te_quant.amax_into #te_quant.nvfp4 ins(%y : tensor<1xf32>) outs(%y : tensor<1xf32>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#all = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>

// CHECK-LABEL: func.func @permuted(
// CHECK: linalg.generic
// CHECK: te_quant.quantize_into
// CHECK-NOT: fuse
func.func @permuted(%x: tensor<64x32xbf16>, %d: !d, %s: !s) -> (!d, !s) {
  %e = tensor.empty() : tensor<32x64xbf16>
  %y = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x32xbf16>) outs(%e : tensor<32x64xbf16>) {
  ^bb0(%f: bf16, %o: bf16):
    %g = arith.negf %f : bf16
    linalg.yield %g : bf16
  } -> tensor<32x64xbf16>
  %r:2 = te_quant.quantize_into #row ins(%y : tensor<32x64xbf16>) outs(%d, %s : !d, !s) -> !d, !s
  return %r#0, %r#1 : !d, !s
}

// No input would have the shape.
// CHECK-LABEL: func.func @broadcast_only(
// CHECK: linalg.broadcast
// CHECK: te_quant.quantize_into
// CHECK-NOT: fuse
func.func @broadcast_only(%b: tensor<64xbf16>, %d: !d, %s: !s) -> (!d, !s) {
  %e = tensor.empty() : tensor<32x64xbf16>
  %y = linalg.broadcast ins(%b : tensor<64xbf16>) outs(%e : tensor<32x64xbf16>) dimensions = [0]
  %r:2 = te_quant.quantize_into #row ins(%y : tensor<32x64xbf16>) outs(%d, %s : !d, !s) -> !d, !s
  return %r#0, %r#1 : !d, !s
}

// A reduction, a value from outside the body, what depends on the position, what was there before.
// CHECK-LABEL: func.func @not_elementwise(
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: fuse
// CHECK: return
func.func @not_elementwise(%x: tensor<32x64xf32>, %w: tensor<32x64x8xf32>, %c: f32, %e: tensor<32x64xf32>, %a: tensor<1xf32>)
    -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %reduced = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w : tensor<32x64x8xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%f: f32, %o: f32):
    %v = arith.addf %f, %o : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  %captured = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%f: f32, %o: f32):
    %v = arith.mulf %f, %c : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  %position = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%f: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %g = arith.sitofp %j : i32 to f32
    %v = arith.mulf %f, %g : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  %accumulated = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%f: f32, %o: f32):
    %v = arith.addf %f, %o : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  %r0 = te_quant.amax_into #te_quant.nvfp4 ins(%reduced : tensor<32x64xf32>) outs(%a : tensor<1xf32>) -> tensor<1xf32>
  %r1 = te_quant.amax_into #te_quant.nvfp4 ins(%captured : tensor<32x64xf32>) outs(%a : tensor<1xf32>) -> tensor<1xf32>
  %r2 = te_quant.amax_into #te_quant.nvfp4 ins(%position : tensor<32x64xf32>) outs(%a : tensor<1xf32>) -> tensor<1xf32>
  %r3 = te_quant.amax_into #te_quant.nvfp4 ins(%accumulated : tensor<32x64xf32>) outs(%a : tensor<1xf32>) -> tensor<1xf32>
  return %r0, %r1, %r2, %r3 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
