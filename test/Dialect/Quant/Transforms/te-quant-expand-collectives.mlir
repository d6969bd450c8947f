// Proves how each inner tensor is gathered: as it is, without the padding of its rows, or by a transposition of the ranks' parts.
// RUN: te-opt %s --te-quant-expand --canonicalize --cse | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#nv = #te_quant.nvfp4<usage = columnwise>
#block = #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise, block_scaling_dim = 1>
#current = #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>

// Ranks of 32 rows in a tensor padded to 128: what crosses is contiguous.
// CHECK-LABEL: func.func @prefix(
// CHECK-SAME: %[[D:[^:]*]]: tensor<32x64xf8E4M3FN>, %[[S:[^:]*]]: tensor<128x4xf8E8M0FNU>
// CHECK: te_quant.all_gather_into ins(%[[D]] : tensor<32x64xf8E4M3FN>) outs(%{{.*}} : tensor<64x64xf8E4M3FN>) {group = "tp", size = 2 : i64}
// CHECK-DAG: %[[OUT:.*]] = tensor.empty() : tensor<128x4xf8E8M0FNU>
// CHECK-DAG: %[[FROM:.*]] = tensor.extract_slice %[[S]][0, 0] [32, 4] [1, 1]
// CHECK-DAG: %[[TO:.*]] = tensor.extract_slice %[[OUT]][0, 0] [64, 4] [1, 1]
// CHECK: %[[G:.*]] = te_quant.all_gather_into ins(%[[FROM]] : tensor<32x4xf8E8M0FNU>) outs(%[[TO]] : tensor<64x4xf8E8M0FNU>)
// CHECK: tensor.insert_slice %[[G]] into %[[OUT]][0, 0] [64, 4] [1, 1]
func.func @prefix(%q: !te_quant.tensor<32x64xbf16, #mx>) -> !te_quant.tensor<64x64xbf16, #mx> {
  %g = te_quant.all_gather %q {group = "tp", size = 2 : i64} : !te_quant.tensor<32x64xbf16, #mx> -> !te_quant.tensor<64x64xbf16, #mx>
  return %g : !te_quant.tensor<64x64xbf16, #mx>
}

// CHECK-LABEL: func.func @ranks_alternate(
// CHECK-SAME: %[[D:[^:]*]]: tensor<48x8xi8>, %[[S:[^:]*]]: tensor<128x4xf8E4M3FN>, %[[A:[^:]*]]: tensor<1xf32>)
// CHECK: %[[GD:.*]] = te_quant.all_gather_into ins(%[[D]] : tensor<48x8xi8>) outs(%{{.*}} : tensor<144x8xi8>)
// CHECK: %[[E:.*]] = tensor.expand_shape %[[GD]] {{\[\[}}0, 1], [2]] output_shape [3, 48, 8]
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[E]] : tensor<3x48x8xi8>) outs(%{{.*}} : tensor<48x3x8xi8>) permutation = [1, 0, 2]
// CHECK: %[[DATA:.*]] = tensor.collapse_shape %[[T]] {{\[\[}}0], [1, 2]] : tensor<48x3x8xi8> into tensor<48x24xi8>
// CHECK: %[[V:.*]] = tensor.extract_slice %[[S]][0, 0] [48, 1] [1, 1]
// CHECK: te_quant.all_gather_into ins(%[[V]] : tensor<48x1xf8E4M3FN>) outs(%{{.*}} : tensor<144x1xf8E4M3FN>)
// CHECK: %[[SCALES:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [48, 3] [1, 1] : tensor<48x3xf8E4M3FN> into tensor<128x4xf8E4M3FN>
// CHECK: return %[[DATA]], %[[SCALES]], %[[A]]
func.func @ranks_alternate(%q: !te_quant.tensor<16x48xbf16, #nv>) -> !te_quant.tensor<48x48xbf16, #nv> {
  %g = te_quant.all_gather %q {group = "tp", size = 3 : i64} : !te_quant.tensor<16x48xbf16, #nv> -> !te_quant.tensor<48x48xbf16, #nv>
  return %g : !te_quant.tensor<48x48xbf16, #nv>
}

// Blocks of dynamic dims are checked, leading dims come back.
// CHECK-LABEL: func.func @leading(
// CHECK: te_quant.check %{{.*}}, "expected the product of the leading dims to be a multiple of 128 for columnwise 'float8_block_scaling' blocks"
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<128x2x?xf8E4M3FN> into tensor<128x?xf8E4M3FN>
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [128, 4, %{{.*}}] : tensor<128x?xf8E4M3FN> into tensor<128x4x?xf8E4M3FN>
func.func @leading(%q: !te_quant.tensor<2x?x128xbf16, #block>) -> !te_quant.tensor<4x?x128xbf16, #block> {
  %g = te_quant.all_gather %q {group = "tp", size = 2 : i64} : !te_quant.tensor<2x?x128xbf16, #block> -> !te_quant.tensor<4x?x128xbf16, #block>
  return %g : !te_quant.tensor<4x?x128xbf16, #block>
}

// CHECK-LABEL: func.func @rank_1(
// CHECK-SAME: %[[D:[^:]*]]: tensor<7xf8E4M3FN>, %[[S:[^:]*]]: tensor<1xf32>)
// CHECK: %[[G:.*]] = te_quant.all_gather_into ins(%[[D]] : tensor<7xf8E4M3FN>) outs(%{{.*}} : tensor<14xf8E4M3FN>)
// CHECK: return %[[G]], %[[S]]
func.func @rank_1(%q: !te_quant.tensor<7xbf16, #current>) -> !te_quant.tensor<14xbf16, #current> {
  %g = te_quant.all_gather %q {group = "tp", size = 2 : i64} : !te_quant.tensor<7xbf16, #current> -> !te_quant.tensor<14xbf16, #current>
  return %g : !te_quant.tensor<14xbf16, #current>
}

// CHECK-LABEL: func.func @reductions(
// CHECK: %[[REST:.*]] = arith.remui %[[N:.*]], %c4
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[REST]], %c0
// CHECK: te_quant.check %[[OK]], "expected dim 0 to be a multiple of 4, the size of group 'tp'"
// CHECK: %[[PART:.*]] = arith.divui %[[N]], %c4
// CHECK: tensor.empty(%[[PART]]) : tensor<?x8xf32>
// CHECK: te_quant.reduce_scatter_into ins(%{{.*}} : tensor<?x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) {group = "tp", size = 4 : i64}
// CHECK: te_quant.all_reduce_into sum ins(%{{.*}} : tensor<?x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) {group = "tp", size = 4 : i64}
func.func @reductions(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = te_quant.reduce_scatter %x {group = "tp", size = 4 : i64} : tensor<?x8xf32> -> tensor<?x8xf32>
  %s = te_quant.all_reduce sum %r {group = "tp", size = 4 : i64} : tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @one_rank(
// CHECK-SAME: %[[D:[^:]*]]: tensor<32x64xf8E4M3FN>, %[[S:[^:]*]]: tensor<128x4xf8E8M0FNU>
// CHECK: return %[[D]], %[[S]]
func.func @one_rank(%q: !te_quant.tensor<32x64xbf16, #mx>) -> !te_quant.tensor<32x64xbf16, #mx> {
  %g = te_quant.all_gather %q {group = "tp", size = 1 : i64} : !te_quant.tensor<32x64xbf16, #mx> -> !te_quant.tensor<32x64xbf16, #mx>
  return %g : !te_quant.tensor<32x64xbf16, #mx>
}
