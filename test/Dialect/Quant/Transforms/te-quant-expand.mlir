// Proves that te-quant-expand replaces each TensorSpec by its inner tensors, in functions, calls, control flow and
// ops, with sizes and run-time checks for what the types leave open, and that attributes survive.
// RUN: te-opt %s --te-quant-expand --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @quantize_static(
// CHECK-SAME: %[[X:.*]]: tensor<32x64xbf16>) -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
// CHECK-SAME: te_quant.args = [{name = "data", position = 0 : i64, type = tensor<32x64xbf16>}]
// CHECK-SAME: te_quant.results = [{name = "rowwise_data", position = 0 : i64, type = tensor<32x64xf8E4M3FN>}, {name = "rowwise_scale_inv", position = 0 : i64, type = tensor<128x4xf8E8M0FNU>}]
// CHECK-NOT: te_quant.check
// CHECK: %[[D:.*]] = tensor.empty() : tensor<32x64xf8E4M3FN>
// CHECK: %[[S:.*]] = tensor.empty() : tensor<128x4xf8E8M0FNU>
// CHECK: %[[R:.*]]:2 = te_quant.quantize_into #mxfp8 ins(%[[X]] : tensor<32x64xbf16>)
// CHECK-SAME: outs(%[[D]], %[[S]] : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {test.kept}
// CHECK: return %[[R]]#0, %[[R]]#1
!mx_static = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @quantize_static(%x: tensor<32x64xbf16>) -> !mx_static {
  %q = te_quant.quantize %x {test.kept} : tensor<32x64xbf16> -> !mx_static
  return %q : !mx_static
}

// -----

// Sizes of the padded scales are two ops, divisions round up; 128 rows hold 4 blocks of 32.

// CHECK-LABEL: func.func @quantize_dynamic_rows(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?x64xbf16>
// CHECK: %[[C32:.*]] = arith.constant 32 : index
// CHECK: %[[REST:.*]] = arith.remui %[[ROWS]], %[[C32]] : index
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[REST]], %[[C0]] : index
// CHECK: te_quant.check %[[OK]], "expected dim 0 to be a multiple of 32 for columnwise 'mxfp8' blocks"
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x64xf8E4M3FN>
// CHECK: %[[C127:.*]] = arith.constant 127 : index
// CHECK: %[[UP:.*]] = arith.addi %[[ROWS]], %[[C127]] : index
// CHECK: %[[C128:.*]] = arith.constant 128 : index
// CHECK: %[[TILES:.*]] = arith.divui %[[UP]], %[[C128]] : index
// CHECK: %[[PADDED:.*]] = arith.muli %[[TILES]], %[[C128]] : index
// CHECK: tensor.empty(%[[PADDED]]) : tensor<?x4xf8E8M0FNU>
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x64xf8E4M3FN>
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[BLOCKS:.*]] = arith.muli %[[TILES]], %[[C4]] : index
// CHECK: tensor.empty(%[[BLOCKS]]) : tensor<?x128xf8E8M0FNU>
!mx = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
func.func @quantize_dynamic_rows(%x: tensor<?x64xbf16>) -> !mx {
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !mx
  return %q : !mx
}

// -----

// Leading dims are multiplied, the static ones at once; each extent is checked once however many directions ask.

// CHECK-LABEL: func.func @quantize_leading_dims(
// CHECK-SAME: %[[X:.*]]: tensor<?x4x?x?xbf16>
// CHECK: %[[D0:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[D2:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[D3:.*]] = tensor.dim %[[X]], %c3
// CHECK: te_quant.check %{{.*}}, "expected dim 3 to be a multiple of 32 for rowwise 'mxfp8' blocks"
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[D0]], %[[D2]] : index
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[ROWS:.*]] = arith.muli %[[PRODUCT]], %[[C4]] : index
// CHECK: arith.remui %[[ROWS]]
// CHECK: te_quant.check %{{.*}}, "expected the product of the leading dims to be a multiple of 32 for rowwise 'mxfp8' blocks"
// CHECK-NOT: te_quant.check
// CHECK: tensor.empty(%[[D0]], %[[D2]], %[[D3]]) : tensor<?x4x?x?xf8E4M3FN>
!mx4 = !te_quant.tensor<?x4x?x?xbf16, #te_quant.mxfp8<f8E4M3FN, with_2d_quantization = true>>
func.func @quantize_leading_dims(%x: tensor<?x4x?x?xbf16>) -> !mx4 {
  %q = te_quant.quantize %x : tensor<?x4x?x?xbf16> -> !mx4
  return %q : !mx4
}

// -----

// A static zero among the leading dims makes the rows zero whatever the others are (L-1).

// CHECK-LABEL: func.func @quantize_static_zero(
// CHECK: tensor.empty(%{{.*}}) : tensor<0x?x32xf8E4M3FN>
// CHECK: tensor.empty() : tensor<0x4xf8E8M0FNU>
// CHECK: te_quant.quantize_into
!mx0 = !te_quant.tensor<0x?x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @quantize_static_zero(%x: tensor<0x?x32xbf16>) -> !mx0 {
  %q = te_quant.quantize %x : tensor<0x?x32xbf16> -> !mx0
  return %q : !mx0
}

// -----

// Rank 0: the data is a scalar tensor, the scales of one block are padded to 4.

// CHECK-LABEL: func.func @quantize_rank_0(
// CHECK-SAME: tensor<f8E5M2>, tensor<1x4xf32>, tensor<f8E5M2>, tensor<1x4xf32>
// CHECK: tensor.empty() : tensor<f8E5M2>
// CHECK: te_quant.quantize_into
!block0 = !te_quant.tensor<f32, #te_quant.float8_block_scaling<f8E5M2>>
func.func @quantize_rank_0(%x: tensor<f32>) -> !block0 {
  %q = te_quant.quantize %x : tensor<f32> -> !block0
  return %q : !block0
}

// -----

// What one type knows the other may leave open: the static dim is used, checked, and cast to where it is dynamic.

// CHECK-LABEL: func.func @quantize_result_knows(
// CHECK: %[[C32:.*]] = arith.constant 32 : index
// CHECK: %[[DIM:.*]] = tensor.dim %{{.*}}, %c0
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[DIM]], %[[C32]]
// CHECK: te_quant.check %[[SAME]], "expected dim 0 of the input to be 32"
// CHECK: tensor.empty() : tensor<32x64xf8E4M3FN>
!known = !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!open = !te_quant.tensor<?x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @quantize_result_knows(%x: tensor<?x64xf32>) -> !known {
  %q = te_quant.quantize %x : tensor<?x64xf32> -> !known
  return %q : !known
}

// CHECK-LABEL: func.func @quantize_input_knows(
// CHECK-NOT: te_quant.check
// CHECK: %[[R:.*]]:2 = te_quant.quantize_into {{.*}} -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: tensor.cast %[[R]]#0 : tensor<32x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
// CHECK: tensor.cast %[[R]]#1 : tensor<128x4xf8E8M0FNU> to tensor<?x4xf8E8M0FNU>
func.func @quantize_input_knows(%x: tensor<32x64xf32>) -> !open {
  %q = te_quant.quantize %x : tensor<32x64xf32> -> !open
  return %q : !open
}

// -----

// The groups of operands, the amax result, and a plain spec as input.

// CHECK-LABEL: func.func @quantize_delayed(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>, %[[S:.*]]: tensor<1xf32>
// CHECK: tensor.empty() : tensor<1xf32>
// CHECK: %[[AMAX:.*]] = tensor.empty() : tensor<1xf32>
// CHECK: te_quant.quantize_into #float8_delayed_scaling ins(%[[X]] : tensor<8x16xf32>) scale(%[[S]] : tensor<1xf32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}}, %[[AMAX]] : tensor<8x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>)
// CHECK: return %[[R:.*]]#0, %[[R]]#1, %[[R]]#2
!delayed = !te_quant.tensor<8x16xf32, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>
func.func @quantize_delayed(%x: !te_quant.tensor<8x16xf32>, %s: tensor<1xf32>) -> (!delayed, tensor<1xf32>) {
  %q, %a = te_quant.quantize %x scale(%s) : !te_quant.tensor<8x16xf32>, tensor<1xf32> -> !delayed, tensor<1xf32>
  return %q, %a : !delayed, tensor<1xf32>
}

// CHECK-LABEL: func.func @quantize_rht_rng(
// CHECK-SAME: %[[X:.*]]: tensor<16x16xbf16>, %[[A:.*]]: tensor<1xf32>, %[[B:.*]]: tensor<1xf32>, %[[STATE:.*]]: tensor<2xi64>
// CHECK: te_quant.quantize_into {{.*}} amax(%[[A]], %[[B]] : tensor<1xf32>, tensor<1xf32>) rng(%[[STATE]] : tensor<2xi64>)
!rht = !te_quant.tensor<16x16xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, stochastic_rounding = true>>
func.func @quantize_rht_rng(%x: tensor<16x16xbf16>, %a: tensor<1xf32>, %b: tensor<1xf32>, %state: tensor<2xi64>) -> !rht {
  %q = te_quant.quantize %x amax(%a, %b) rng(%state) : tensor<16x16xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<2xi64> -> !rht
  return %q : !rht
}

// -----

// In place: the tensor's own inner tensors are the destinations, and must have the input's extents.

// CHECK-LABEL: func.func @quantize_into(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xbf16>, %[[D:.*]]: tensor<?x?xf8E4M3FN>, %[[S:.*]]: tensor<?x?xf8E8M0FNU>, %[[F:.*]]: tensor<1xf32>
// CHECK: te_quant.check %{{.*}}, "expected dim 1 to be a multiple of 32 for rowwise 'mxfp8' blocks"
// CHECK: te_quant.check %{{.*}}, "expected 'into' to have as many rows as the input"
// CHECK: te_quant.check %{{.*}}, "expected 'into' to have as many columns as the input"
// CHECK-NOT: tensor.empty
// CHECK: te_quant.quantize_into #mxfp8 ins(%[[X]] : tensor<?x?xbf16>) noop(%[[F]] : tensor<1xf32>) outs(%[[D]], %[[S]] :
!dyn = !te_quant.tensor<?x?xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
func.func @quantize_into(%x: tensor<?x?xbf16>, %q: !dyn, %f: tensor<1xf32>) -> !dyn {
  %r = te_quant.quantize %x into %q noop(%f) : tensor<?x?xbf16>, !dyn, tensor<1xf32> -> !dyn
  return %r : !dyn
}

// -----

// A hybrid tensor is quantized by its components.

// CHECK-LABEL: func.func @quantize_hybrid(
// CHECK: te_quant.quantize_into #mxfp8 {{.*}} -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: te_quant.amax_into #nvfp4
// CHECK: te_quant.quantize_into #nvfp4 {{.*}} -> tensor<64x16xi8>, tensor<128x4xf8E4M3FN>, tensor<1xf32>
!hybrid = !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4>>
func.func @quantize_hybrid(%x: tensor<32x64xbf16>) -> !hybrid {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !hybrid
  return %q : !hybrid
}

// A child that is only decoded takes its operands and gives its amax.

// CHECK-LABEL: func.func @quantize_decoded(
// CHECK: %[[Q:.*]]:3 = te_quant.quantize_into #float8_delayed_scaling {{.*}} scale(
// CHECK: %[[Y:.*]] = te_quant.dequantize_into #float8_delayed_scaling ins(%[[Q]]#0, %[[Q]]#1
// CHECK: return %[[Y]], %[[Q]]#2 : tensor<32x40xbf16>, tensor<1xf32>
!decoded = !te_quant.tensor<32x40xbf16, #te_quant.hybrid<rowwise = #te_quant.float8_delayed_scaling<f8E4M3FN>, columnwise = #te_quant.identity, usage = columnwise, columnwise_source = rowwise_dequantized>>
func.func @quantize_decoded(%x: tensor<32x40xbf16>, %scale: tensor<1xf32>) -> (!decoded, tensor<1xf32>) {
  %q, %amax = te_quant.quantize %x scale(%scale) : tensor<32x40xbf16>, tensor<1xf32> -> !decoded, tensor<1xf32>
  return %q, %amax : !decoded, tensor<1xf32>
}

// CHECK-LABEL: func.func @empty_custom(
// CHECK-SAME: %[[D:.*]]: index
// CHECK: %[[C1:.*]] = arith.constant -1 : index
// CHECK: %[[SIZE:.*]] = arith.addi %[[D]], %[[C1]] : index
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[OK:.*]] = arith.cmpi sge, %[[SIZE]], %[[C0]] : index
// CHECK: te_quant.check %[[OK]], "expected inner tensor 'a' to have a size that is not negative"
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[SIZE]], %[[C0]] : index
// CHECK: tensor.empty(%[[CLAMPED]]) : tensor<?xf32>
!custom = !te_quant.tensor<?x4xf32, #te_quant.custom<"shrinks", layout = #te_quant.layout<a : f32[rows - 1]>>>
func.func @empty_custom(%d: index) -> !custom {
  %e = te_quant.empty(%d) : !custom
  return %e : !custom
}

// CHECK-LABEL: func.func @empty_nvfp4(
// CHECK-SAME: %[[ROWS:.*]]: index, %[[COLS:.*]]: index
// CHECK: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[UP:.*]] = arith.addi %[[COLS]], %[[C1]] : index
// CHECK: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[HALF:.*]] = arith.divui %[[UP]], %[[C2]] : index
// CHECK: tensor.empty(%[[ROWS]], %[[HALF]]) {test.kept} : tensor<?x?xi8>
// CHECK: tensor.empty() {test.kept} : tensor<1xf32>
!fp4 = !te_quant.tensor<?x?xf32, #te_quant.nvfp4<usage = rowwise>>
func.func @empty_nvfp4(%r: index, %c: index) -> !fp4 {
  %e = te_quant.empty(%r, %c) {test.kept} : !fp4
  return %e : !fp4
}

// -----

// The identity updates in place by a copy that the flag holds back.

// CHECK: #[[FIRST:.*]] = affine_map<(d0, d1) -> (0)>
// CHECK-LABEL: func.func @identity_into(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[OLD:.*]]: tensor<?x64xbf16>, %[[F:.*]]: tensor<1xf32>
// CHECK: te_quant.check %{{.*}}, "expected dim 0 of 'into' to be that of the input"
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[F]] : tensor<?x64xbf16>, tensor<1xf32>) outs(%[[OLD]] : tensor<?x64xbf16>)
// CHECK: ^bb0(%[[IN:.*]]: bf16, %[[FLAG:.*]]: f32, %[[OUT:.*]]: bf16):
// CHECK: %[[SKIP:.*]] = arith.cmpf oeq, %[[FLAG]], %{{.*}} : f32
// CHECK: arith.select %[[SKIP]], %[[OUT]], %[[IN]] : bf16
!identity = !te_quant.tensor<?x64xbf16, #te_quant.identity>
func.func @identity_into(%x: tensor<?x64xbf16>, %old: !identity, %flag: tensor<1xf32>) -> !identity {
  %q = te_quant.quantize %x into %old noop(%flag) : tensor<?x64xbf16>, !identity, tensor<1xf32> -> !identity
  return %q : !identity
}

// -----

// Identity and plain tensors hold the values: nothing is computed, or elements are converted.

!id = !te_quant.tensor<?x8xbf16, #te_quant.identity>
// CHECK-LABEL: func.func @identity(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xbf16>
// CHECK-NOT: te_quant.quantize_into
// CHECK: %[[Y:.*]] = te_quant.cast %[[X]] : tensor<?x8xbf16> to tensor<?x8xf16>
// CHECK: return %[[X]], %[[X]], %[[Y]]
func.func @identity(%x: tensor<?x8xbf16>) -> (!id, tensor<?x8xbf16>, tensor<?x8xf16>) {
  %q = te_quant.quantize %x : tensor<?x8xbf16> -> !id
  %y = te_quant.dequantize %q : !id -> tensor<?x8xbf16>
  %z = te_quant.dequantize %q : !id -> tensor<?x8xf16>
  return %q, %y, %z : !id, tensor<?x8xbf16>, tensor<?x8xf16>
}

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>) -> (tensor<4x8xbf16>, tensor<?x8xf32>)
// CHECK: %[[C:.*]] = te_quant.cast %[[X]] : tensor<?x8xf32> to tensor<?x8xbf16>
// CHECK: %[[Y:.*]] = tensor.cast %[[C]] : tensor<?x8xbf16> to tensor<4x8xbf16>
// CHECK: return %[[Y]], %[[X]]
func.func @plain(%x: !te_quant.tensor<?x8xf32>) -> (tensor<4x8xbf16>, !te_quant.tensor<?x8xf32>) {
  %y = te_quant.dequantize %x : !te_quant.tensor<?x8xf32> -> tensor<4x8xbf16>
  %z = te_quant.dequantize %x : !te_quant.tensor<?x8xf32> -> !te_quant.tensor<?x8xf32>
  return %y, %z : tensor<4x8xbf16>, !te_quant.tensor<?x8xf32>
}

// -----

// Logical dims come from the inner tensors: `leading` and `cols` as they are stored, packed columns doubled, rows of
// a columnwise tensor over the static leading dims. A static dim of the result needs none.

!fp4row = !te_quant.tensor<?x?xf32, #te_quant.nvfp4<usage = rowwise>>
// CHECK-LABEL: func.func @dequantize_packed(
// CHECK-SAME: %[[D:.*]]: tensor<?x?xi8>, %[[S:.*]]: tensor<?x?xf8E4M3FN>, %[[A:.*]]: tensor<1xf32>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[D]], %c0
// CHECK: %[[HALF:.*]] = tensor.dim %[[D]], %c1
// CHECK: %[[COLS:.*]] = arith.muli %[[HALF]], %c2
// CHECK: %[[OUT:.*]] = tensor.empty(%[[ROWS]], %[[COLS]]) : tensor<?x?xbf16>
// CHECK: te_quant.dequantize_into #nvfp4 ins(%[[D]], %[[S]], %[[A]] : {{.*}}) outs(%[[OUT]] : tensor<?x?xbf16>)
// CHECK-SAME: {test.kept} -> tensor<?x?xbf16>
func.func @dequantize_packed(%q: !fp4row) -> tensor<?x?xbf16> {
  %y = te_quant.dequantize %q {test.kept} : !fp4row -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

!fp4col = !te_quant.tensor<4x?x16xf32, #te_quant.nvfp4<usage = columnwise>>
// CHECK-LABEL: func.func @dequantize_columnwise(
// CHECK-SAME: %[[D:.*]]: tensor<16x?xi8>
// CHECK: %[[HALF:.*]] = tensor.dim %[[D]], %c1
// CHECK: %[[ROWS:.*]] = arith.muli %[[HALF]], %c2
// CHECK: %[[DIM:.*]] = arith.divui %[[ROWS]], %c4
// CHECK: tensor.empty(%[[DIM]]) : tensor<4x?x16xf32>
func.func @dequantize_columnwise(%q: !fp4col) -> tensor<4x?x16xf32> {
  %y = te_quant.dequantize %q : !fp4col -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

!transposed = !te_quant.tensor<?x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise>>
// CHECK-LABEL: func.func @dequantize_transpose(
// CHECK-SAME: %[[T:.*]]: tensor<16x?xf8E4M3FN>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[T]], %c1
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x16xf32>
func.func @dequantize_transpose(%q: !transposed) -> tensor<?x16xf32> {
  %y = te_quant.dequantize %q : !transposed -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @dequantize_result_knows(
// CHECK-NOT: tensor.dim
// CHECK: tensor.empty() : tensor<8x16xf32>
func.func @dequantize_result_knows(%q: !transposed) -> tensor<8x16xf32> {
  %y = te_quant.dequantize %q : !transposed -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

!both = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
!row = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!col = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
!gemm = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>

// CHECK-LABEL: func.func @drop(
// CHECK-SAME: %[[A:.*]]: tensor<?x64xf8E4M3FN>, %[[B:.*]]: tensor<?x4xf8E8M0FNU>, %[[C:.*]]: tensor<?x64xf8E4M3FN>, %[[D:.*]]: tensor<?x128xf8E8M0FNU>)
// CHECK-NEXT: return %[[C]], %[[D]]
func.func @drop(%q: !both) -> !col {
  %u = te_quant.update_usage %q : !both -> !col
  return %u : !col
}

// On a chip whose GEMMs take every transpose one buffer serves both usages.
// CHECK-LABEL: func.func @no_change(
// CHECK-SAME: %[[A:.*]]: tensor<8x16xf8E4M3FN>, %[[B:.*]]: tensor<1xf32>)
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @no_change(%q: !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, non_tn_gemm = true>>)
    -> !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>> {
  %u = te_quant.update_usage %q : !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, non_tn_gemm = true>>
    -> !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>>
  return %u : !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>>
}

// Only scales are reordered; data is forwarded.
// CHECK-LABEL: func.func @swizzle(
// CHECK-SAME: %[[A:.*]]: tensor<?x64xf8E4M3FN>, %[[B:.*]]: tensor<?x4xf8E8M0FNU>, %[[C:.*]]: tensor<?x64xf8E4M3FN>, %[[D:.*]]: tensor<?x128xf8E8M0FNU>)
// CHECK: %[[ROWS:.*]] = tensor.dim %[[A]], %c0
// CHECK: %[[COLS:.*]] = arith.constant 64 : index
// CHECK: %[[SIZE:.*]] = tensor.dim %[[B]]
// CHECK: %[[E:.*]] = tensor.empty(%[[SIZE]]) : tensor<?x4xf8E8M0FNU>
// CHECK: %[[R:.*]] = te_quant.swizzle_into #[[Q:.*]] "rowwise_scale_inv" ins(%[[B]] : tensor<?x4xf8E8M0FNU>) extents(%[[ROWS]], %[[COLS]]) outs(%[[E]] :
// CHECK-SAME: {test.kept}
// CHECK: %[[S:.*]] = te_quant.swizzle_into #[[Q]] "columnwise_scale_inv" ins(%[[D]] : tensor<?x128xf8E8M0FNU>)
// CHECK: return %[[A]], %[[R]], %[[C]], %[[S]]
func.func @swizzle(%q: !both) -> !gemm {
  %s = te_quant.swizzle %q {test.kept} : !both -> !gemm
  return %s : !gemm
}

// CHECK-LABEL: func.func @assemble(
// CHECK-SAME: %[[D:.*]]: tensor<32x64xf8E4M3FN>, %[[S:.*]]: tensor<?x4xf8E8M0FNU>
// CHECK: %[[C:.*]] = tensor.cast %[[D]] : tensor<32x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
// CHECK: %[[E:.*]] = tensor.cast %[[S]] : tensor<?x4xf8E8M0FNU> to tensor<128x4xf8E8M0FNU>
// CHECK: return %[[C]], %[[S]], %[[E]]
func.func @assemble(%d: tensor<32x64xf8E4M3FN>, %s: tensor<?x4xf8E8M0FNU>) -> (!row, tensor<128x4xf8E8M0FNU>) {
  %q = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU> -> !row
  %t:2 = te_quant.disassemble %q : !row -> tensor<?x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %q, %t#1 : !row, tensor<128x4xf8E8M0FNU>
}

// -----

// Functions: declarations, calls, attributes of arguments and results repeated for each part, boundary attributes
// with positions, scalars and the stream.

!t = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: func.func private @declared(tensor<?x64xf8E4M3FN> {test.arg = 1 : i64}, tensor<?x4xf8E8M0FNU> {test.arg = 1 : i64}, f32)
// CHECK-SAME: -> (i32 {test.first}, tensor<?x64xf8E4M3FN> {test.res}, tensor<?x4xf8E8M0FNU> {test.res})
// CHECK-SAME: te_quant.args = [{name = "rowwise_data", position = 0 : i64, type = tensor<?x64xf8E4M3FN>}, {name = "rowwise_scale_inv", position = 0 : i64, type = tensor<?x4xf8E8M0FNU>}, {name = "value", position = 1 : i64, type = f32}]
// CHECK-SAME: te_quant.results = [{name = "value", position = 0 : i64, type = i32}, {name = "rowwise_data", position = 1 : i64, type = tensor<?x64xf8E4M3FN>}, {name = "rowwise_scale_inv", position = 1 : i64, type = tensor<?x4xf8E8M0FNU>}]
// CHECK-SAME: test.func
func.func private @declared(!t {test.arg = 1}, f32) -> (i32 {test.first}, !t {test.res}) attributes {test.func}

// CHECK-LABEL: func.func @call(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr, %[[A:.*]]: tensor<?x64xf8E4M3FN>, %[[B:.*]]: tensor<?x4xf8E8M0FNU>, %[[F:.*]]: f32, %{{.*}}: !llvm.ptr)
// CHECK-SAME: te_quant.args = [{name = "value", position = 0 : i64, type = !llvm.ptr}
// CHECK-SAME: {name = "stream", position = 3 : i64, type = !llvm.ptr}]
// CHECK: %[[R:.*]]:3 = call @declared(%[[A]], %[[B]], %[[F]]) {test.call}
// CHECK: return {test.return} %[[R]]#1, %[[R]]#2
func.func @call(%p: !llvm.ptr, %q: !t, %f: f32, %stream: !llvm.ptr) -> !t {
  %r:2 = call @declared(%q, %f) {test.call} : (!t, f32) -> (i32, !t)
  return {test.return} %r#1 : !t
}

// CHECK-LABEL: func.func @nothing()
// CHECK-SAME: te_quant.args = [], te_quant.results = []
func.func @nothing() {
  return
}

// A second run keeps what the first wrote.
// CHECK-LABEL: func.func @expanded(
// CHECK-SAME: te_quant.args = [{name = "rowwise_data", position = 5 : i64, type = tensor<4xf32>}]
func.func @expanded(%d: tensor<4xf32>) attributes {
    te_quant.args = [{name = "rowwise_data", position = 5 : i64, type = tensor<4xf32>}], te_quant.results = []} {
  return
}

// -----

!t = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK-LABEL: func.func @branches(
// CHECK-SAME: %[[C:.*]]: i1, %[[A0:.*]]: tensor<?x64xf8E4M3FN>, %[[A1:.*]]: tensor<?x4xf8E8M0FNU>, %[[B0:.*]]: tensor<?x64xf8E4M3FN>, %[[B1:.*]]: tensor<?x4xf8E8M0FNU>, %[[I:.*]]: i32
// CHECK: cf.cond_br %[[C]], ^[[X:.*]](%[[A0]], %[[A1]] : {{.*}}), ^[[Y:.*]](%[[B0]], %[[B1]], %[[A0]], %[[A1]] : {{.*}}) {test.cond}
// CHECK: ^[[X]](%[[P0:.*]]: tensor<?x64xf8E4M3FN>, %[[P1:.*]]: tensor<?x4xf8E8M0FNU>)
// CHECK: cf.br ^[[Y]](%[[P0]], %[[P1]], %[[B0]], %[[B1]] : {{.*}}) {test.br}
// CHECK: ^[[Y]](%[[Q0:.*]]: {{.*}}, %[[Q1:.*]]: {{.*}}, %[[R0:.*]]: {{.*}}, %[[R1:.*]]: {{.*}}):
// CHECK: cf.switch %[[I]]
// CHECK: default: ^[[Z:.*]](%[[Q0]], %[[Q1]] :
// CHECK: 3: ^[[Z]](%[[R0]], %[[R1]] :
// CHECK: {test.switch}
func.func @branches(%c: i1, %a: !t, %b: !t, %i: i32) -> !t {
  cf.cond_br %c, ^x(%a : !t), ^y(%b, %a : !t, !t) {test.cond}
^x(%p: !t):
  cf.br ^y(%p, %b : !t, !t) {test.br}
^y(%q: !t, %r: !t):
  cf.switch %i : i32, [default: ^z(%q : !t), 3: ^z(%r : !t)] {test.switch}
^z(%s: !t):
  return %s : !t
}

// CHECK-LABEL: func.func @structured(
// CHECK-SAME: %[[C:.*]]: i1, %[[A0:.*]]: tensor<?x64xf8E4M3FN>, %[[A1:.*]]: tensor<?x4xf8E8M0FNU>, %[[N:.*]]: index
// CHECK: %[[FOR:.*]]:2 = scf.for {{.*}} iter_args(%[[I0:.*]] = %[[A0]], %[[I1:.*]] = %[[A1]]) -> (tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>)
// CHECK: %[[S0:.*]] = arith.select %[[C]], %[[I0]], %[[A0]] {test.select}
// CHECK: %[[S1:.*]] = arith.select %[[C]], %[[I1]], %[[A1]] {test.select}
// CHECK: scf.yield %[[S0]], %[[S1]]
// CHECK: {test.for}
// CHECK: %[[IF:.*]]:2 = scf.if %[[C]]
// CHECK: scf.yield %[[FOR]]#0, %[[FOR]]#1
// CHECK: scf.yield %[[A0]], %[[A1]]
// CHECK: {test.if}
// CHECK: %[[WHILE:.*]]:2 = scf.while (%{{.*}} = %[[IF]]#0, %{{.*}} = %[[IF]]#1)
// CHECK: scf.condition(%[[C]]) %{{.*}}, %{{.*}}
// CHECK: attributes {test.while}
// CHECK: %[[SWITCH:.*]]:2 = scf.index_switch %[[N]] {test.index_switch}
// CHECK: scf.yield %[[WHILE]]#0, %[[WHILE]]#1
// CHECK: return %[[SWITCH]]#0, %[[SWITCH]]#1
func.func @structured(%c: i1, %a: !t, %n: index) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %f = scf.for %i = %zero to %n step %one iter_args(%it = %a) -> !t {
    %s = arith.select %c, %it, %a {test.select} : !t
    scf.yield %s : !t
  } {test.for}
  %g = scf.if %c -> !t {
    scf.yield %f : !t
  } else {
    scf.yield %a : !t
  } {test.if}
  %w = scf.while (%before = %g) : (!t) -> !t {
    scf.condition(%c) %before : !t
  } do {
  ^bb0(%after: !t):
    scf.yield %after : !t
  } attributes {test.while}
  %x = scf.index_switch %n {test.index_switch} -> !t
  case 2 {
    scf.yield %w : !t
  }
  default {
    scf.yield %a : !t
  }
  return %x : !t
}

// Blocks that nothing reaches go: the conversion would not visit them.
// CHECK-LABEL: func.func @unreachable(
// CHECK-NOT: ^bb
// CHECK: return
func.func @unreachable(%a: !t) -> !t {
  return %a : !t
^dead(%x: !t):
  cf.br ^dead(%x : !t)
}
