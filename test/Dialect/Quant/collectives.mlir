// Proves that collectives print as they are parsed, and that a group of one rank folds away.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s
// RUN: te-opt %s -emit-bytecode | te-opt | FileCheck %s
// RUN: te-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#mx = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
!mx = !te_quant.tensor<32x64xbf16, #mx>
!mx4 = !te_quant.tensor<128x64xbf16, #mx>

// CHECK-LABEL: func.func @all_gather(
// CHECK: te_quant.all_gather %{{.*}} {group = "tp", size = 4 : i64} : tensor<8x16xbf16> -> tensor<32x16xbf16>
// CHECK: te_quant.all_gather %{{.*}} {group = "tp", size = 4 : i64} : tensor<?x16xbf16> -> tensor<?x16xbf16>
// CHECK: te_quant.all_gather %{{.*}} {group = "tp", size = 4 : i64} : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>> -> !te_quant.tensor<128x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: te_quant.all_gather %{{.*}} {group = "tp", size = 4 : i64} : !te_quant.tensor<8x4xf32> -> !te_quant.tensor<32x4xf32>
func.func @all_gather(%x: tensor<8x16xbf16>, %d: tensor<?x16xbf16>, %q: !mx,
                      %p: !te_quant.tensor<8x4xf32>)
    -> (tensor<32x16xbf16>, tensor<?x16xbf16>, !mx4, !te_quant.tensor<32x4xf32>) {
  %0 = te_quant.all_gather %x {group = "tp", size = 4 : i64} : tensor<8x16xbf16> -> tensor<32x16xbf16>
  %1 = te_quant.all_gather %d {group = "tp", size = 4 : i64} : tensor<?x16xbf16> -> tensor<?x16xbf16>
  %2 = te_quant.all_gather %q {group = "tp", size = 4 : i64} : !mx -> !mx4
  %3 = te_quant.all_gather %p {group = "tp", size = 4 : i64} : !te_quant.tensor<8x4xf32> -> !te_quant.tensor<32x4xf32>
  return %0, %1, %2, %3 : tensor<32x16xbf16>, tensor<?x16xbf16>, !mx4, !te_quant.tensor<32x4xf32>
}

// What may be gathered in quantized form (B-5).
// CHECK-LABEL: func.func @families(
// CHECK-COUNT-5: te_quant.all_gather
func.func @families(
    %a: !te_quant.tensor<5x7xf32, #te_quant.float8_current_scaling<f8E5M2, usage = rowwise>>,
    %b: !te_quant.tensor<3xf32, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>,
    %c: !te_quant.tensor<128x256xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise, block_scaling_dim = 1>>,
    %d: !te_quant.tensor<2x?x32xf32, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>,
    %e: !te_quant.tensor<16x32xf32, #te_quant.nvfp4<usage = columnwise>>) {
  %0 = te_quant.all_gather %a {group = "g", size = 2 : i64} : !te_quant.tensor<5x7xf32, #te_quant.float8_current_scaling<f8E5M2, usage = rowwise>>
    -> !te_quant.tensor<10x7xf32, #te_quant.float8_current_scaling<f8E5M2, usage = rowwise>>
  %1 = te_quant.all_gather %b {group = "g", size = 2 : i64} : !te_quant.tensor<3xf32, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>
    -> !te_quant.tensor<6xf32, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>
  %2 = te_quant.all_gather %c {group = "g", size = 2 : i64} : !te_quant.tensor<128x256xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise, block_scaling_dim = 1>>
    -> !te_quant.tensor<256x256xf32, #te_quant.float8_block_scaling<f8E4M3FN, usage = columnwise, block_scaling_dim = 1>>
  %3 = te_quant.all_gather %d {group = "g", size = 2 : i64} : !te_quant.tensor<2x?x32xf32, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
    -> !te_quant.tensor<4x?x32xf32, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
  %4 = te_quant.all_gather %e {group = "g", size = 2 : i64} : !te_quant.tensor<16x32xf32, #te_quant.nvfp4<usage = columnwise>>
    -> !te_quant.tensor<32x32xf32, #te_quant.nvfp4<usage = columnwise>>
  return
}

// CHECK-LABEL: func.func @reductions(
// CHECK: te_quant.reduce_scatter %{{.*}} {group = "tp", size = 4 : i64} : tensor<8x16xbf16> -> tensor<2x16xbf16>
// CHECK: te_quant.all_reduce sum %{{.*}} {group = "tp", size = 4 : i64} : tensor<8x16xbf16>
// CHECK: te_quant.all_reduce max %{{.*}} {group = "tp", size = 4 : i64} : tensor<1xf32>
func.func @reductions(%x: tensor<8x16xbf16>, %a: tensor<1xf32>)
    -> (tensor<2x16xbf16>, tensor<8x16xbf16>, tensor<1xf32>) {
  %0 = te_quant.reduce_scatter %x {group = "tp", size = 4 : i64} : tensor<8x16xbf16> -> tensor<2x16xbf16>
  %1 = te_quant.all_reduce sum %x {group = "tp", size = 4 : i64} : tensor<8x16xbf16>
  %2 = te_quant.all_reduce max %a {group = "tp", size = 4 : i64} : tensor<1xf32>
  return %0, %1, %2 : tensor<2x16xbf16>, tensor<8x16xbf16>, tensor<1xf32>
}

// CHECK-LABEL: func.func @into(
// CHECK: te_quant.all_gather_into ins(%{{.*}} : memref<2x3xi8>) outs(%{{.*}} : memref<4x3xi8>) {group = "g", size = 2 : i64}
// CHECK: te_quant.reduce_scatter_into ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<2xf32>) {group = "g", size = 2 : i64}
// CHECK: te_quant.all_reduce_into max ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4xf32>) {group = "g", size = 2 : i64}
func.func @into(%a: memref<2x3xi8>, %b: memref<4x3xi8>, %c: memref<4xf32>, %d: memref<2xf32>) {
  te_quant.all_gather_into ins(%a : memref<2x3xi8>) outs(%b : memref<4x3xi8>) {group = "g", size = 2 : i64}
  te_quant.reduce_scatter_into ins(%c : memref<4xf32>) outs(%d : memref<2xf32>) {group = "g", size = 2 : i64}
  te_quant.all_reduce_into max ins(%c : memref<4xf32>) outs(%c : memref<4xf32>) {group = "g", size = 2 : i64}
  return
}

// FOLD-LABEL: func.func @one_rank(
// FOLD-SAME: %[[X:[^:]*]]: tensor<8x16xbf16>, %[[Q:[^:]*]]: !te_quant
// FOLD-NEXT: return %[[X]], %[[X]], %[[Q]]
func.func @one_rank(%x: tensor<8x16xbf16>, %q: !mx) -> (tensor<8x16xbf16>, tensor<8x16xbf16>, !mx) {
  %0 = te_quant.all_reduce sum %x {group = "tp", size = 1 : i64} : tensor<8x16xbf16>
  %1 = te_quant.reduce_scatter %0 {group = "tp", size = 1 : i64} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  %2 = te_quant.all_gather %1 {group = "tp", size = 1 : i64} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  %3 = te_quant.all_gather %q {group = "tp", size = 1 : i64} : !mx -> !mx
  return %0, %2, %3 : tensor<8x16xbf16>, tensor<8x16xbf16>, !mx
}
