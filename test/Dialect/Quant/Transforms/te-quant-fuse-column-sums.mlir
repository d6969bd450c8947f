// Which sums become part of a quantize, and where.
// RUN: te-opt %s --te-quant-fuse-column-sums --split-input-file | FileCheck %s

#q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
!x = tensor<32x64xbf16>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>

// What the second op needs moves in front of the first one.
// CHECK-LABEL: func.func @moves(
// CHECK-SAME: %[[X:.*]]: tensor<32x64xbf16>, %[[D:.*]]: tensor<32x64xf8E4M3FN>, %[[S:.*]]: tensor<128x4xf8E8M0FNU>)
// CHECK-DAG: %[[B:.*]] = tensor.empty() : tensor<64xbf16>
// CHECK-DAG: %[[C:.*]] = tensor.empty() : tensor<1x64xf32>
// CHECK: %[[Q:.*]]:4 = te_quant.quantize_into {{.*}} ins(%[[X]] : {{.*}} outs(%[[D]], %[[S]], %[[B]], %[[C]] :
// CHECK-SAME: column_sum {mark} -> {{.*}}, tensor<64xbf16>, tensor<1x64xf32>
// CHECK-NEXT: %[[N:.*]] = tensor.cast %[[Q]]#0
// CHECK-NOT: column_sum_into
// CHECK: return %[[N]], %[[Q]]#2
func.func @moves(%x: !x, %d: !d, %s: !s) -> (tensor<?x64xf8E4M3FN>, tensor<64xbf16>) {
  %q:2 = te_quant.quantize_into #q ins(%x : !x) outs(%d, %s : !d, !s) {mark} -> !d, !s
  %n = tensor.cast %q#0 : !d to tensor<?x64xf8E4M3FN>
  %b = tensor.empty() : tensor<64xbf16>
  %c = tensor.empty() : tensor<1x64xf32>
  %r:2 = te_quant.column_sum_into ins(%x : !x) outs(%b, %c : tensor<64xbf16>, tensor<1x64xf32>)
    -> tensor<64xbf16>, tensor<1x64xf32>
  return %n, %r#0 : tensor<?x64xf8E4M3FN>, tensor<64xbf16>
}

// -----

#q = #te_quant.float8_delayed_scaling<f8E4M3FN>
#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>

// Equal regions; the sums come after the amax.
// CHECK-LABEL: func.func @regions(
// CHECK: te_quant.quantize_into {{.*}} outs(%{{.*}} : tensor<32x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>, tensor<64xf32>, tensor<1x64xf32>) column_sum
// CHECK-SAME: fuse maps [#{{.*}}, #{{.*}}] {
// CHECK-NOT: column_sum_into
func.func @regions(%x: tensor<32x64xbf16>, %y: tensor<64xbf16>, %d: tensor<32x64xf8E4M3FN>, %t: tensor<64x32xf8E4M3FN>,
                   %s: tensor<1xf32>, %b: tensor<64xf32>, %c: tensor<1x64xf32>)
    -> (tensor<64x32xf8E4M3FN>, tensor<64xf32>) {
  %r:2 = te_quant.column_sum_into ins(%x, %y : tensor<32x64xbf16>, tensor<64xbf16>)
    outs(%b, %c : tensor<64xf32>, tensor<1x64xf32>) fuse maps [#all, #cols] {
  ^bb0(%e: bf16, %f: bf16):
    %v = arith.addf %e, %f : bf16
    te_quant.yield %v : bf16
  } -> tensor<64xf32>, tensor<1x64xf32>
  %a = tensor.empty() : tensor<1xf32>
  %q:4 = te_quant.quantize_into #q ins(%x, %y : tensor<32x64xbf16>, tensor<64xbf16>) scale(%s : tensor<1xf32>)
    outs(%d, %t, %s, %a : tensor<32x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>)
    fuse maps [#all, #cols] {
  ^bb0(%g: bf16, %h: bf16):
    %v = arith.addf %g, %h : bf16
    te_quant.yield %v : bf16
  } -> tensor<32x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>
  return %q#1, %r#0 : tensor<64x32xf8E4M3FN>, tensor<64xf32>
}

// -----

#q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
!x = tensor<32x64xbf16>
!d = tensor<32x64xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>
!b = tensor<64xbf16>
!c = tensor<1x64xf32>

// Another input, a flag, a sum of what is quantized, a kernel without rows.
// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-4: te_quant.column_sum_into
// CHECK: return
func.func @apart(%x: !x, %y: !x, %d: !d, %s: !s, %b: !b, %c: !c, %f: tensor<1xf32>, %z: tensor<32x64xf16>)
    -> (!d, !b, !d, !b, !d, !b, !d, !b) {
  %q:2 = te_quant.quantize_into #q ins(%x : !x) outs(%d, %s : !d, !s) -> !d, !s
  %r:2 = te_quant.column_sum_into ins(%y : !x) outs(%b, %c : !b, !c) -> !b, !c
  %q1:2 = te_quant.quantize_into #q ins(%y : !x) noop(%f : tensor<1xf32>) outs(%d, %s : !d, !s) -> !d, !s
  %q2:2 = te_quant.quantize_into #q ins(%x : !x) outs(%d, %s : !d, !s) fuse {
  ^bb0(%e: bf16):
    %v = arith.negf %e : bf16
    te_quant.yield %v : bf16
  } -> !d, !s
  %r1:2 = te_quant.column_sum_into ins(%x : !x) outs(%b, %c : !b, !c) fuse {
  ^bb0(%e: bf16):
    %v = arith.addf %e, %e : bf16
    te_quant.yield %v : bf16
  } -> !b, !c
  %a = tensor.empty() : tensor<1xf32>
  %q3:3 = te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>
    ins(%z : tensor<32x64xf16>) scale(%f : tensor<1xf32>) outs(%d, %f, %a : !d, tensor<1xf32>, tensor<1xf32>)
    -> !d, tensor<1xf32>, tensor<1xf32>
  %r2:2 = te_quant.column_sum_into ins(%z : tensor<32x64xf16>) outs(%b, %c : !b, !c) -> !b, !c
  %o:2 = te_quant.quantize_into #q ins(%z : tensor<32x64xf16>)
    outs(%d, %s : !d, !s) fuse {
  ^bb0(%e: f16):
    te_quant.yield %e : f16
  } -> !d, !s
  %w = tensor.empty() : !x
  %r3:2 = te_quant.column_sum_into ins(%w : !x) outs(%b, %c : !b, !c) -> !b, !c
  return %q#0, %r#0, %q1#0, %r1#0, %q2#0, %r2#0, %o#0, %r3#0 : !d, !b, !d, !b, !d, !b, !d, !b
}
