// Proves that regions on elements and column sums print as they are parsed, in all forms.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s
// RUN: te-opt %s -emit-bytecode | te-opt | FileCheck %s

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>

// CHECK-LABEL: func.func @no_region(
// CHECK: te_quant.quantize_into {{.*}} outs(%{{.*}} : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
func.func @no_region(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
    -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r:2 = te_quant.quantize_into #row ins(%x : tensor<32x64xbf16>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// All identities need no maps.
// CHECK-LABEL: func.func @residual(
// CHECK: te_quant.quantize_into #{{.*}} ins(%{{.*}}, %{{.*}} : tensor<32x64xbf16>, tensor<?x64xbf16>)
// CHECK-SAME: noop(%{{.*}} : tensor<1xf32>) outs(
// CHECK-SAME: {note = 1 : i64} fuse {
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %[[F:.*]]: bf16):
// CHECK-NEXT:   %[[V:.*]] = arith.addf %[[E]], %[[F]] : bf16
// CHECK-NEXT:   te_quant.yield %[[V]] : bf16
// CHECK-NEXT: } -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
func.func @residual(%x: tensor<32x64xbf16>, %y: tensor<?x64xbf16>, %f: tensor<1xf32>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
    -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r:2 = te_quant.quantize_into #row ins(%x, %y : tensor<32x64xbf16>, tensor<?x64xbf16>) noop(%f : tensor<1xf32>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {note = 1 : i64} fuse {
  ^bb0(%e: bf16, %g: bf16):
    %v = arith.addf %e, %g : bf16
    te_quant.yield %v : bf16
  } -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @broadcasts(
// CHECK: te_quant.amax_into {{.*}} outs(%{{.*}} : memref<1xf32>)
// CHECK-SAME: fuse maps [#[[COLS:.*]], #[[ALL:.*]], #[[ROWS:.*]], #[[NONE:.*]]] {
// CHECK-NEXT: ^bb0(
// CHECK: te_quant.yield %{{.*}} : f32
// CHECK-NEXT: }{{$}}
func.func @broadcasts(%b: memref<16xf32>, %x: memref<2x8x16xi8>, %r: memref<2x8xf32>, %c: memref<f32>, %a: memref<1xf32>) {
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%b, %x, %r, %c : memref<16xf32>, memref<2x8x16xi8>, memref<2x8xf32>, memref<f32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
               affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> ()>] {
  ^bb0(%e: f32, %f: i8, %g: f32, %h: f32):
    %w = arith.sitofp %f : i8 to f32
    %p = arith.mulf %w, %g : f32
    %q = arith.mulf %p, %h : f32
    %v = arith.addf %q, %e : f32
    te_quant.yield %v : f32
  }
  return
}

// CHECK-LABEL: func.func @column_sum(
// CHECK: te_quant.column_sum %{{.*}} : tensor<2x?x64xbf16> -> tensor<64xf32>
// CHECK: te_quant.column_sum %{{.*}} : !te_quant.tensor<8x16xf16> -> tensor<16xf16>
// CHECK: te_quant.column_sum_into ins(%{{.*}} : tensor<96x64xf32>) outs(%{{.*}}, %{{.*}} : tensor<64xbf16>, tensor<3x64xf32>) -> tensor<64xbf16>, tensor<3x64xf32>
func.func @column_sum(%x: tensor<2x?x64xbf16>, %p: !te_quant.tensor<8x16xf16>, %y: tensor<96x64xf32>, %s: tensor<64xbf16>, %c: tensor<3x64xf32>)
    -> (tensor<64xf32>, tensor<16xf16>, tensor<64xbf16>) {
  %a = te_quant.column_sum %x : tensor<2x?x64xbf16> -> tensor<64xf32>
  %b = te_quant.column_sum %p : !te_quant.tensor<8x16xf16> -> tensor<16xf16>
  %r:2 = te_quant.column_sum_into ins(%y : tensor<96x64xf32>) outs(%s, %c : tensor<64xbf16>, tensor<3x64xf32>) -> tensor<64xbf16>, tensor<3x64xf32>
  return %a, %b, %r#0 : tensor<64xf32>, tensor<16xf16>, tensor<64xbf16>
}

// CHECK-LABEL: func.func @quantize_into_sums(
// CHECK: te_quant.quantize_into #{{.*}} ins(%{{.*}} : memref<?x64xf16>)
// CHECK-SAME: outs({{.*}} : memref<?x64xf8E4M3FN>, memref<?x4xf8E8M0FNU>, memref<64xbf16>, memref<?x64xf32>) column_sum {mark} fuse {
func.func @quantize_into_sums(%x: memref<?x64xf16>, %d: memref<?x64xf8E4M3FN>, %s: memref<?x4xf8E8M0FNU>, %b: memref<64xbf16>,
                              %c: memref<?x64xf32>) {
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<?x64xf16>)
    outs(%d, %s, %b, %c : memref<?x64xf8E4M3FN>, memref<?x4xf8E8M0FNU>, memref<64xbf16>, memref<?x64xf32>) column_sum {mark} fuse {
  ^bb0(%e: f16):
    te_quant.yield %e : f16
  }
  return
}
