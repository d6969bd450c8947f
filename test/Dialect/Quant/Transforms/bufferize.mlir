// Proves that the ops on inner tensors bufferize as destination-style ops: outs in place, read only where a no-op
// flag may keep them; and that te_quant.cast on tensors takes upstream's way for elementwise ops.
// RUN: te-opt %s --convert-elementwise-to-linalg --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %[[X:.*]]: memref<32x64xbf16>, %[[D:.*]]: memref<32x64xf8E4M3FN>, %[[S:.*]]: memref<128x4xf8E8M0FNU>)
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: te_quant.quantize_into #mxfp8 ins(%[[X]] : memref<32x64xbf16>) outs(%[[D]], %[[S]] : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>) {test.kept}
// CHECK-NOT: memref.copy
// CHECK: return %[[D]], %[[S]]
func.func @in_place(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>) -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<32x64xbf16>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {test.kept} -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// -----

// The old contents are needed after the op. Without a flag nothing reads them through the destination: the new
// buffers are not filled.

// CHECK-LABEL: func.func @overwrites(
// CHECK-SAME: %[[X:.*]]: memref<32x64xbf16>, %[[D:.*]]: memref<32x64xf8E4M3FN>, %[[S:.*]]: memref<128x4xf8E8M0FNU>)
// CHECK: %[[D2:.*]] = memref.alloc() {{.*}} : memref<32x64xf8E4M3FN>
// CHECK: %[[S2:.*]] = memref.alloc() {{.*}} : memref<128x4xf8E8M0FNU>
// CHECK-NOT: memref.copy
// CHECK: te_quant.quantize_into #mxfp8 ins(%[[X]] : memref<32x64xbf16>) outs(%[[D2]], %[[S2]] :
// CHECK: return %[[D]], %[[S]], %[[D2]], %[[S2]]
func.func @overwrites(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
    -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<32x64xbf16>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %d, %s, %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @may_keep(
// CHECK-SAME: %[[X:.*]]: memref<32x64xbf16>, %[[D:.*]]: memref<32x64xf8E4M3FN>, %[[S:.*]]: memref<128x4xf8E8M0FNU>, %[[F:.*]]: memref<1xf32>)
// CHECK: memref.copy %[[D]], %[[D2:.*]] :
// CHECK: memref.copy %[[S]], %[[S2:.*]] :
// CHECK: te_quant.quantize_into #mxfp8 ins(%[[X]] : memref<32x64xbf16>) noop(%[[F]] : memref<1xf32>) outs(%[[D2]], %[[S2]] :
func.func @may_keep(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %f: tensor<1xf32>)
    -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<32x64xbf16>) noop(%f : tensor<1xf32>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %d, %s, %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @dequantize(
// CHECK-SAME: %[[D:.*]]: memref<32x64xf8E4M3FN>, %[[S:.*]]: memref<128x4xf8E8M0FNU>) -> memref<32x64xf32>
// CHECK: %[[Y:.*]] = memref.alloc() {{.*}} : memref<32x64xf32>
// CHECK: te_quant.dequantize_into #mxfp8 ins(%[[D]], %[[S]] : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>) outs(%[[Y]] : memref<32x64xf32>)
// CHECK: return %[[Y]]
func.func @dequantize(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf32> {
  %e = tensor.empty() : tensor<32x64xf32>
  %r = te_quant.dequantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    ins(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// Source and destination of a swizzle never share a buffer, even where the source dies.
// CHECK-LABEL: func.func @swizzle(
// CHECK-SAME: %[[S:.*]]: memref<128x4xf8E8M0FNU>, %[[ROWS:.*]]: index, %[[COLS:.*]]: index
// CHECK: %[[Y:.*]] = memref.alloc() {{.*}} : memref<128x4xf8E8M0FNU>
// CHECK: te_quant.swizzle_into #[[Q:.*]] "rowwise_scale_inv" ins(%[[S]] : memref<128x4xf8E8M0FNU>) extents(%[[ROWS]], %[[COLS]]) outs(%[[Y]] : memref<128x4xf8E8M0FNU>)
func.func @swizzle(%s: tensor<128x4xf8E8M0FNU>, %rows: index, %cols: index) -> tensor<128x4xf8E8M0FNU> {
  %r = te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true> "rowwise_scale_inv"
    ins(%s : tensor<128x4xf8E8M0FNU>) extents(%rows, %cols) outs(%s : tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU>
  return %r : tensor<128x4xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @cast(
// CHECK-SAME: %[[X:.*]]: memref<?x8xbf16>
// CHECK: %[[Y:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x8xf8E4M3FN>
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<?x8xbf16>) outs(%[[Y]] : memref<?x8xf8E4M3FN>)
// CHECK: te_quant.cast %{{.*}} : bf16 to f8E4M3FN
func.func @cast(%x: tensor<?x8xbf16>) -> tensor<?x8xf8E4M3FN> {
  %y = te_quant.cast %x : tensor<?x8xbf16> to tensor<?x8xf8E4M3FN>
  return %y : tensor<?x8xf8E4M3FN>
}
