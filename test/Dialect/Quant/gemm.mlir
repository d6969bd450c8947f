// Proves that products print as they are parsed, and which combinations are legal.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s
// RUN: te-opt %s -emit-bytecode | te-opt | FileCheck %s

!row = !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!columns = !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, optimize_for_gemm = true>>

// CHECK-LABEL: func.func @epilogue(
// CHECK: %{{.*}}, %{{.*}} = te_quant.gemm TN %{{.*}}, %{{.*}} bias(%{{.*}}) accumulate(%{{.*}}) {gelu}
// CHECK-SAME: : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, !te_quant.tensor<2x3x128xbf16, #te_quant.mxfp8<f8E5M2>>, tensor<64xbf16>, tensor<2x3x64xf32> -> tensor<2x3x64xf32>, tensor<2x3x64xbf16>
func.func @epilogue(%w: !row, %x: !te_quant.tensor<2x3x128xbf16, #te_quant.mxfp8<f8E5M2>>,
                    %b: tensor<64xbf16>, %d: tensor<2x3x64xf32>) -> (tensor<2x3x64xf32>, tensor<2x3x64xbf16>) {
  %y, %p = te_quant.gemm TN %w, %x bias(%b) accumulate(%d) {gelu}
    : !row, !te_quant.tensor<2x3x128xbf16, #te_quant.mxfp8<f8E5M2>>, tensor<64xbf16>, tensor<2x3x64xf32>
    -> tensor<2x3x64xf32>, tensor<2x3x64xbf16>
  return %y, %p : tensor<2x3x64xf32>, tensor<2x3x64xbf16>
}

// A is read columnwise, B rowwise.
// CHECK-LABEL: func.func @nn(
// CHECK: te_quant.gemm NN %{{.*}}, %{{.*}} : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, optimize_for_gemm = true>>
func.func @nn(%w: !columns, %dy: !te_quant.tensor<4x8x64xbf16, #te_quant.mxfp8<f8E4M3FN>>) -> tensor<4x8x128xbf16> {
  %y = te_quant.gemm NN %w, %dy : !columns, !te_quant.tensor<4x8x64xbf16, #te_quant.mxfp8<f8E4M3FN>> -> tensor<4x8x128xbf16>
  return %y : tensor<4x8x128xbf16>
}

// B transposed: two dims.
// CHECK-LABEL: func.func @nt(
// CHECK: te_quant.gemm NT
func.func @nt(%x: !te_quant.tensor<?x?x128xbf16, #te_quant.nvfp4<usage = columnwise, with_rht = true, with_post_rht_amax = true>>,
              %dy: !te_quant.tensor<?x?x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>) -> tensor<64x128xf32> {
  %y = te_quant.gemm NT %x, %dy : !te_quant.tensor<?x?x128xbf16, #te_quant.nvfp4<usage = columnwise, with_rht = true, with_post_rht_amax = true>>,
    !te_quant.tensor<?x?x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>> -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

// Where one transform is along rows and the other along columns, none is read.
// CHECK-LABEL: func.func @rht_dgrad(
func.func @rht_dgrad(%w: !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<with_2d_quantization = true>>,
                     %dy: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>>) -> tensor<32x128xbf16> {
  %y = te_quant.gemm NN %w, %dy : !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<with_2d_quantization = true>>,
    !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>> -> tensor<32x128xbf16>
  return %y : tensor<32x128xbf16>
}

// One buffer serves both directions, whatever the usage says.
// CHECK-LABEL: func.func @non_tn(
func.func @non_tn(%w: !te_quant.tensor<64x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>>,
                  %x: !te_quant.tensor<5x128xbf16, #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>>) -> tensor<5x64xf16> {
  %y = te_quant.gemm TN %w, %x : !te_quant.tensor<64x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>>,
    !te_quant.tensor<5x128xbf16, #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>> -> tensor<5x64xf16>
  return %y : tensor<5x64xf16>
}

// Any number of rows of B with tiles.
// CHECK-LABEL: func.func @tiles(
func.func @tiles(%w: !te_quant.tensor<64x128xf32, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>>,
                 %x: !te_quant.tensor<5x128xf32, #te_quant.float8_block_scaling<f8E4M3FN>>) -> tensor<5x64xf32> {
  %y = te_quant.gemm TN %w, %x : !te_quant.tensor<64x128xf32, #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>>,
    !te_quant.tensor<5x128xf32, #te_quant.float8_block_scaling<f8E4M3FN>> -> tensor<5x64xf32>
  return %y : tensor<5x64xf32>
}

// A plain value may be a spec; identity is plain.
// CHECK-LABEL: func.func @plain(
// CHECK: te_quant.gemm TN %{{.*}}, %{{.*}} : !te_quant.tensor<6x7xbf16>, !te_quant.tensor<7xf32, #te_quant.identity<usage = columnwise>> -> !te_quant.tensor<6xf16>
func.func @plain(%a: !te_quant.tensor<6x7xbf16>, %b: !te_quant.tensor<7xf32, #te_quant.identity<usage = columnwise>>) -> !te_quant.tensor<6xf16> {
  %y = te_quant.gemm TN %a, %b : !te_quant.tensor<6x7xbf16>, !te_quant.tensor<7xf32, #te_quant.identity<usage = columnwise>> -> !te_quant.tensor<6xf16>
  return %y : !te_quant.tensor<6xf16>
}

// The children are read: 'mxfp8' for TN, 'nvfp4' for NT.
// CHECK-LABEL: func.func @hybrid(
!hybrid = !te_quant.tensor<32x64xbf16, #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = #te_quant.nvfp4>>
func.func @hybrid(%a: !hybrid, %b: !te_quant.tensor<96x64xbf16, #te_quant.mxfp8<f8E4M3FN>>, %c: !te_quant.tensor<32x16xbf16, #te_quant.nvfp4>)
    -> (tensor<96x32xbf16>, tensor<16x64xbf16>) {
  %y = te_quant.gemm TN %a, %b : !hybrid, !te_quant.tensor<96x64xbf16, #te_quant.mxfp8<f8E4M3FN>> -> tensor<96x32xbf16>
  %z = te_quant.gemm NT %a, %c : !hybrid, !te_quant.tensor<32x16xbf16, #te_quant.nvfp4> -> tensor<16x64xbf16>
  return %y, %z : tensor<96x32xbf16>, tensor<16x64xbf16>
}

// CHECK-LABEL: func.func @into(
// CHECK: te_quant.gemm_into NT a(%{{.*}}, %{{.*}} : tensor<?x64xf8E4M3FN>, tensor<1xf32>) as #float8_current_scaling b(%{{.*}}, %{{.*}} : tensor<?x32xf8E5M2>, tensor<1xf32>) as #float8_delayed_scaling
// CHECK-SAME: bias(%{{.*}} : tensor<64xbf16>) depth(%{{.*}}) outs(%{{.*}}, %{{.*}} : tensor<32x64xf32>, tensor<32x64xbf16>) {accumulate, gelu} -> tensor<32x64xf32>, tensor<32x64xbf16>
func.func @into(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<1xf32>, %dy: tensor<?x32xf8E5M2>, %dys: tensor<1xf32>, %b: tensor<64xbf16>,
                %k: index, %y: tensor<32x64xf32>, %p: tensor<32x64xbf16>) -> (tensor<32x64xf32>, tensor<32x64xbf16>) {
  %r:2 = te_quant.gemm_into NT
    a(%x, %xs : tensor<?x64xf8E4M3FN>, tensor<1xf32>) as #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>
    b(%dy, %dys : tensor<?x32xf8E5M2>, tensor<1xf32>) as #te_quant.float8_delayed_scaling<f8E5M2, usage = columnwise, non_tn_gemm = true>
    bias(%b : tensor<64xbf16>) depth(%k) outs(%y, %p : tensor<32x64xf32>, tensor<32x64xbf16>) {accumulate, gelu}
    -> tensor<32x64xf32>, tensor<32x64xbf16>
  return %r#0, %r#1 : tensor<32x64xf32>, tensor<32x64xbf16>
}

// CHECK-LABEL: func.func @into_memrefs(
// CHECK: te_quant.gemm_into TN a(%{{.*}} : memref<6x7xf32>) b(%{{.*}} : memref<5x7xbf16>) depth(%{{.*}}) outs(%{{.*}} : memref<5x6xf16>){{$}}
func.func @into_memrefs(%a: memref<6x7xf32>, %b: memref<5x7xbf16>, %k: index, %y: memref<5x6xf16>) {
  te_quant.gemm_into TN a(%a : memref<6x7xf32>) b(%b : memref<5x7xbf16>) depth(%k) outs(%y : memref<5x6xf16>)
  return
}
