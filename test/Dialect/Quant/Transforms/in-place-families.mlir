// Proves for each family with inner tensors of its own that an update under a no-op flag writes the argument's buffers:
// all of them leave the results, nothing is copied, and what is allocated is only the amax that delayed scaling returns.
// RUN: te-opt %s --te-quant-expand --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --te-quant-tie-results --canonicalize --ownership-based-buffer-deallocation --canonicalize --buffer-deallocation-simplification --bufferization-lower-deallocations --cse --canonicalize | FileCheck %s --implicit-check-not=memref.copy --implicit-check-not=bufferization.clone --implicit-check-not=memref.alloc --implicit-check-not=memref.dealloc --implicit-check-not=dealloc_helper

!x = tensor<?x128xbf16>
!s = tensor<1xf32>

// CHECK-LABEL: func.func @delayed(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[D:[^ :]+]]: memref<?x128xf8E4M3FN>, %[[T:[^ :]+]]: memref<128x?xf8E4M3FN>, %[[I:[^ :]+]]: memref<1xf32>, %[[S:[^ :]+]]: memref<1xf32>, %[[F:[^ :]+]]: memref<1xf32>) -> memref<1xf32>
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>, array<i64: 2, 3>]
// CHECK: %[[AMAX:.*]] = memref.alloc() {{.*}}: memref<1xf32>
// CHECK: te_quant.quantize_into {{.*}} ins(%[[X]] : memref<?x128xbf16>) noop(%[[F]] : memref<1xf32>) scale(%[[S]] : memref<1xf32>) outs(%[[D]], %[[T]], %[[I]], %[[AMAX]] :
// CHECK-NEXT: return %[[AMAX]]
!delayed = !te_quant.tensor<?x128xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>
func.func @delayed(%x: !x, %q: !delayed, %s: !s, %f: !s) -> (!delayed, !s) {
  %r, %a = te_quant.quantize %x into %q noop(%f) scale(%s) : !x, !delayed, !s, !s -> !delayed, !s
  return %r, %a : !delayed, !s
}

// CHECK-LABEL: func.func @current(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[D:[^ :]+]]: memref<?x128xf8E5M2>, %[[I:[^ :]+]]: memref<1xf32>, %[[A:[^ :]+]]: memref<1xf32>, %[[F:[^ :]+]]: memref<1xf32>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>]
// CHECK: te_quant.quantize_into {{.*}} noop(%[[F]] : memref<1xf32>) amax(%[[A]] : memref<1xf32>) outs(%[[D]], %[[I]] :
// CHECK-NEXT: return
!current = !te_quant.tensor<?x128xbf16, #te_quant.float8_current_scaling<f8E5M2, non_tn_gemm = true>>
func.func @current(%x: !x, %q: !current, %a: !s, %f: !s) -> !current {
  %r = te_quant.quantize %x into %q noop(%f) amax(%a) : !x, !current, !s, !s -> !current
  return %r : !current
}

// CHECK-LABEL: func.func @block(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[A:[^ :]+]]: memref<?x128xf8E4M3FN>, %[[B:[^ :]+]]: memref<?x4xf32>, %[[C:[^ :]+]]: memref<128x?xf8E4M3FN>, %[[D:[^ :]+]]: memref<1x?xf32>, %[[F:[^ :]+]]: memref<1xf32>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>, array<i64: 2, 3>, array<i64: 3, 4>]
// CHECK: te_quant.quantize_into {{.*}} noop(%[[F]] : memref<1xf32>) outs(%[[A]], %[[B]], %[[C]], %[[D]] :
// CHECK-NEXT: return
!block = !te_quant.tensor<?x128xbf16, #te_quant.float8_block_scaling<f8E4M3FN>>
func.func @block(%x: !x, %q: !block, %f: !s) -> !block {
  %r = te_quant.quantize %x into %q noop(%f) : !x, !block, !s -> !block
  return %r : !block
}

// CHECK-LABEL: func.func @nvfp4(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[D:[^ :]+]]: memref<?x64xi8>, %[[S:[^ :]+]]: memref<?x8xf8E4M3FN>, %[[R:[^ :]+]]: memref<1xf32>, %[[A:[^ :]+]]: memref<1xf32>, %[[F:[^ :]+]]: memref<1xf32>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>, array<i64: 2, 3>]
// CHECK: te_quant.quantize_into {{.*}} noop(%[[F]] : memref<1xf32>) amax(%[[A]] : memref<1xf32>) outs(%[[D]], %[[S]], %[[R]] :
// CHECK-NEXT: return
!nvfp4 = !te_quant.tensor<?x128xbf16, #te_quant.nvfp4<usage = rowwise>>
func.func @nvfp4(%x: !x, %q: !nvfp4, %a: !s, %f: !s) -> !nvfp4 {
  %r = te_quant.quantize %x into %q noop(%f) amax(%a) : !x, !nvfp4, !s, !s -> !nvfp4
  return %r : !nvfp4
}

// Each child writes its own part.
// CHECK-LABEL: func.func @hybrid(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[A:[^ :]+]]: memref<?x128xf8E4M3FN>, %[[B:[^ :]+]]: memref<?x4xf8E8M0FNU>, %[[C:[^ :]+]]: memref<128x?xf8E5M2>, %[[D:[^ :]+]]: memref<1x?xf32>, %[[F:[^ :]+]]: memref<1xf32>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>, array<i64: 2, 3>, array<i64: 3, 4>]
// CHECK: te_quant.quantize_into #mxfp8{{.*}} noop(%[[F]] : memref<1xf32>) outs(%[[A]], %[[B]] :
// CHECK: te_quant.quantize_into #float8_block_scaling{{.*}} noop(%[[F]] : memref<1xf32>) outs(%[[C]], %[[D]] :
// CHECK-NEXT: return
!hybrid = !te_quant.tensor<?x128xbf16, #te_quant.hybrid<
    rowwise = #te_quant.mxfp8<f8E4M3FN>,
    columnwise = #te_quant.float8_block_scaling<f8E5M2>>>
func.func @hybrid(%x: !x, %q: !hybrid, %f: !s) -> !hybrid {
  %r = te_quant.quantize %x into %q noop(%f) : !x, !hybrid, !s -> !hybrid
  return %r : !hybrid
}

// CHECK-LABEL: func.func @custom(
// CHECK-SAME: %[[X:[^ :]+]]: memref<?x128xbf16>, %[[C:[^ :]+]]: memref<?x128xi8>, %[[S:[^ :]+]]: memref<?xf32>, %[[F:[^ :]+]]: memref<1xf32>) attributes
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 1, 2>]
// CHECK: te_quant.quantize_into {{.*}} noop(%[[F]] : memref<1xf32>) outs(%[[C]], %[[S]] :
// CHECK-NEXT: return
!custom = !te_quant.tensor<?x128xbf16, #te_quant.custom<"int8_rows",
    layout = #te_quant.layout<codes : i8[leading, cols], scale : f32[rows]>, quantize = "f">>
func.func @custom(%x: !x, %q: !custom, %f: !s) -> !custom {
  %r = te_quant.quantize %x into %q noop(%f) : !x, !custom, !s -> !custom
  return %r : !custom
}
