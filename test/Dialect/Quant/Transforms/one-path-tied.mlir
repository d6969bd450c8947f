// Proves what becomes of a result that is an argument's buffer on one path only: it stays a result, and buffer
// deallocation returns a clone on that path, so that a caller owns what it gets on every path.
// RUN: te-opt %s --te-quant-expand --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --te-quant-tie-results --canonicalize --ownership-based-buffer-deallocation --canonicalize --buffer-deallocation-simplification --bufferization-lower-deallocations --cse --canonicalize | FileCheck %s

!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>

// CHECK-LABEL: func.func @one_path(
// CHECK-SAME: %[[X:.*]]: memref<32x64xbf16>, %[[A:.*]]: memref<32x64xf8E4M3FN>, %[[B:.*]]: memref<128x4xf8E8M0FNU>
// CHECK-SAME: -> (memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
// CHECK-NOT: te_quant.tied
// CHECK: %[[C:.*]] = bufferization.clone %[[A]]
// CHECK: %[[D:.*]] = bufferization.clone %[[B]]
// CHECK: return %[[C]], %[[D]]
// CHECK: %[[E:.*]] = memref.alloc() {{.*}} : memref<32x64xf8E4M3FN>
// CHECK: %[[F:.*]] = memref.alloc() {{.*}} : memref<128x4xf8E8M0FNU>
// CHECK: return %[[E]], %[[F]]
func.func @one_path(%c: i1, %x: tensor<32x64xbf16>, %q: !row) -> !row {
  cf.cond_br %c, ^keep, ^make
^keep:
  return %q : !row
^make:
  %r = te_quant.quantize %x : tensor<32x64xbf16> -> !row
  return %r : !row
}

// The caller frees both.
// CHECK-LABEL: func.func @caller(
// CHECK: %[[R:.*]]:2 = call @one_path
// CHECK: te_quant.dequantize_into
// CHECK-DAG: memref.dealloc {{.*}} : memref<f8E4M3FN>
// CHECK-DAG: memref.dealloc {{.*}} : memref<f8E8M0FNU>
func.func @caller(%c: i1, %x: tensor<32x64xbf16>, %q: !row) -> tensor<32x64xf32> {
  %r = call @one_path(%c, %x, %q) : (i1, tensor<32x64xbf16>, !row) -> !row
  %y = te_quant.dequantize %r : !row -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}
