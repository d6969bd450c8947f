// Proves that nothing is copied, cloned or allocated where a tensor is updated in place, passed through or narrowed
// across function boundaries: the whole way from te-quant-expand to buffer deallocation.
// RUN: te-opt %s --te-quant-expand --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --te-quant-tie-results --canonicalize --ownership-based-buffer-deallocation --canonicalize --buffer-deallocation-simplification --bufferization-lower-deallocations --cse --canonicalize | FileCheck %s --implicit-check-not=memref.copy --implicit-check-not=bufferization.clone --implicit-check-not=memref.alloc --implicit-check-not=memref.dealloc --implicit-check-not=dealloc_helper

!both = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
!row = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>

// CHECK-LABEL: func.func @update_and_drop(
// CHECK-SAME: %[[X:.*]]: memref<?x64xbf16>, %[[A:.*]]: memref<?x64xf8E4M3FN>, %[[B:.*]]: memref<?x4xf8E8M0FNU>, %[[C:.*]]: memref<?x64xf8E4M3FN>, %[[D:.*]]: memref<?x128xf8E8M0FNU>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>, array<i64: 2, 3>, array<i64: 3, 4>, array<i64: 4, 1>, array<i64: 5, 2>]
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]] : memref<?x64xbf16>) outs(%[[A]], %[[B]], %[[C]], %[[D]] :
// CHECK-NEXT: return
func.func @update_and_drop(%x: tensor<?x64xbf16>, %q: !both) -> (!both, !row) {
  %r = te_quant.quantize %x into %q : tensor<?x64xbf16>, !both -> !both
  %u = te_quant.update_usage %r : !both -> !row
  return %r, %u : !both, !row
}

// CHECK-LABEL: func.func private @callee(
// CHECK: te_quant.quantize_into {{.*}} noop(
func.func private @callee(%x: tensor<?x64xbf16>, %q: !row, %f: tensor<1xf32>) -> !row {
  %r = te_quant.quantize %x into %q noop(%f) : tensor<?x64xbf16>, !row, tensor<1xf32> -> !row
  return %r : !row
}

// CHECK-LABEL: func.func @across_calls(
// CHECK-SAME: %[[X:.*]]: memref<?x64xbf16>, %[[A:.*]]: memref<?x64xf8E4M3FN>, %[[B:.*]]: memref<?x4xf8E8M0FNU>, %[[F:.*]]: memref<1xf32>) attributes
// CHECK-NEXT: call @callee(%[[X]], %[[A]], %[[B]], %[[F]]) : {{.*}} -> ()
// CHECK-NEXT: call @callee(%[[X]], %[[A]], %[[B]], %[[F]]) : {{.*}} -> ()
// CHECK-NEXT: return
func.func @across_calls(%x: tensor<?x64xbf16>, %q: !row, %f: tensor<1xf32>) -> !row {
  %r = call @callee(%x, %q, %f) : (tensor<?x64xbf16>, !row, tensor<1xf32>) -> !row
  %s = call @callee(%x, %r, %f) : (tensor<?x64xbf16>, !row, tensor<1xf32>) -> !row
  return %s : !row
}

// CHECK-LABEL: func.func @pass_through(
// CHECK-NEXT: return
func.func @pass_through(%q: !both) -> (!both, !row, !both) {
  %u = te_quant.update_usage %q : !both -> !row
  return %q, %u, %q : !both, !row, !both
}

// CHECK-LABEL: func.func @in_for(
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: te_quant.quantize_into
// CHECK: return
func.func @in_for(%x: tensor<?x64xbf16>, %q: !row, %n: index) -> !row {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%it = %q) -> !row {
    %s = te_quant.quantize %x into %it : tensor<?x64xbf16>, !row -> !row
    scf.yield %s : !row
  }
  return %r : !row
}

// CHECK-LABEL: func.func @in_if(
// CHECK: scf.if %{{.*}} {
// CHECK: te_quant.quantize_into
// CHECK: return
func.func @in_if(%c: i1, %x: tensor<?x64xbf16>, %q: !row) -> !row {
  %r = scf.if %c -> !row {
    %s = te_quant.quantize %x into %q : tensor<?x64xbf16>, !row -> !row
    scf.yield %s : !row
  } else {
    scf.yield %q : !row
  }
  return %r : !row
}

// CHECK-LABEL: func.func @in_while(
// CHECK: scf.while : () -> ()
// CHECK: te_quant.quantize_into
// CHECK: return
func.func @in_while(%c: i1, %x: tensor<?x64xbf16>, %q: !row) -> !row {
  %r = scf.while (%before = %q) : (!row) -> !row {
    %ok = func.call @more() : () -> i1
    scf.condition(%ok) %before : !row
  } do {
  ^bb0(%after: !row):
    %s = te_quant.quantize %x into %after : tensor<?x64xbf16>, !row -> !row
    scf.yield %s : !row
  }
  return %r : !row
}
func.func private @more() -> i1
