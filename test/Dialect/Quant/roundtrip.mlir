// Proves that every op, type and attribute prints as it is parsed: in the custom form, the generic form and bytecode.
// RUN: te-opt %s | te-opt | FileCheck %s
// RUN: te-opt %s --mlir-print-op-generic | te-opt | FileCheck %s
// RUN: te-opt %s -emit-bytecode | te-opt | FileCheck %s

!mx = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!delayed = !te_quant.tensor<8x16xf32, #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>>

// CHECK-LABEL: func.func private @types(
// CHECK-SAME: !te_quant.tensor<f32>,
// CHECK-SAME: !te_quant.tensor<8x16xbf16>,
// CHECK-SAME: !te_quant.tensor<?x0x64xf16, #te_quant.nvfp4>,
// CHECK-SAME: !te_quant.tensor<8xf32, requires_grad = true>,
// CHECK-SAME: !te_quant.tensor<8xf32, device = "cuda:0">,
// CHECK-SAME: !te_quant.tensor<8xf32, #te_quant.identity, requires_grad = true, device = "a \22quoted\22 name">,
// CHECK-SAME: !te_quant.tensor<8xf32>)
func.func private @types(
    !te_quant.tensor<f32>,
    !te_quant.tensor<8x16xbf16>,
    !te_quant.tensor<?x0x64xf16, #te_quant.nvfp4<>>,
    !te_quant.tensor<8xf32, requires_grad = true>,
    !te_quant.tensor<8xf32, device = "cuda:0">,
    !te_quant.tensor<8xf32, #te_quant.identity, device = "a \22quoted\22 name", requires_grad = true>,
    !te_quant.tensor<8xf32, requires_grad = false>)

// A layout by hand.
// CHECK-LABEL: func.func private @layout()
// CHECK-SAME: test.layout = #te_quant.layout<data : i8[leading, cols ceildiv 2], "odd name" : f32[], rest : f8E8M0FNU[((rows + 1) floordiv 2) * 4, cols mod 7, 3]>
func.func private @layout() attributes {
  test.layout = #te_quant.layout<data : i8[leading, cols ceildiv 2], "odd name" : f32[], rest : f8E8M0FNU[((rows + 1) floordiv 2) * 4, cols mod 7, 3]>
}

// CHECK-LABEL: func.func @values(
// CHECK: te_quant.empty(%{{.*}}) : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: %[[Q:.*]] = te_quant.quantize %{{.*}} : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: te_quant.quantize %{{.*}} into %[[Q]] noop(%{{.*}}) {test.kept} : tensor<32x64xbf16>, !te_quant.tensor<{{.*}}>, tensor<1xf32> -> !te_quant.tensor<
// CHECK: %{{.*}}, %{{.*}} = te_quant.quantize %{{.*}} scale(%{{.*}}) : tensor<8x16xf32>, tensor<1xf32> -> !te_quant.tensor<{{.*}}>, tensor<1xf32>
// CHECK: te_quant.quantize %{{.*}} amax(%{{.*}}, %{{.*}}) rng(%{{.*}}) : tensor<32x64xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<2xi64> -> !te_quant.tensor<
// CHECK: te_quant.dequantize %[[Q]] : !te_quant.tensor<{{.*}}> -> tensor<32x64xf32>
// CHECK: %[[D:.*]]:2 = te_quant.disassemble %[[Q]] : !te_quant.tensor<{{.*}}> -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: te_quant.assemble %[[D]]#0, %[[D]]#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !te_quant.tensor<
// CHECK: te_quant.swizzle %[[Q]] : !te_quant.tensor<{{.*}}> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
// CHECK: te_quant.update_usage %{{.*}} : !te_quant.tensor<{{.*}}> -> !te_quant.tensor<
// CHECK: te_quant.amax #{{.*}} %{{.*}} : tensor<8x16xf32> -> tensor<1xf32>
// CHECK: te_quant.update_scale #{{.*}} max %{{.*}}, %{{.*}}, %{{.*}} {keep_on_zero_amax, margin = 1 : i64} : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
// CHECK: te_quant.cast %{{.*}} : tensor<32x64xbf16> to tensor<32x64xf8E5M2>
// CHECK: te_quant.check %{{.*}}, "a \22reason\22"
func.func @values(%d: index, %x: tensor<32x64xbf16>, %y: tensor<8x16xf32>, %one: tensor<1xf32>, %state: tensor<2xi64>, %h: tensor<4xf32>, %c: i1) {
  %e = te_quant.empty(%d) : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !mx
  %r = te_quant.quantize %x into %q noop(%one) {test.kept} : tensor<32x64xbf16>, !mx, tensor<1xf32> -> !mx
  %s, %a = te_quant.quantize %y scale(%one) : tensor<8x16xf32>, tensor<1xf32> -> !delayed, tensor<1xf32>
  %t = te_quant.quantize %x amax(%one, %one) rng(%state) : tensor<32x64xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<2xi64>
    -> !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, stochastic_rounding = true>>
  %f = te_quant.dequantize %q : !mx -> tensor<32x64xf32>
  %g:2 = te_quant.disassemble %q : !mx -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %i = te_quant.assemble %g#0, %g#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !mx
  %j = te_quant.swizzle %q : !mx -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
  %k = te_quant.update_usage %e : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>> -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
  %l = te_quant.amax #te_quant.float8_current_scaling<f8E4M3FN> %y : tensor<8x16xf32> -> tensor<1xf32>
  %m:2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E4M3FN> max %h, %one, %one {margin = 1 : i64, keep_on_zero_amax} : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  %n = te_quant.cast %x : tensor<32x64xbf16> to tensor<32x64xf8E5M2>
  te_quant.check %c, "a \22reason\22"
  return
}

// CHECK-LABEL: func.func @into_tensors(
// CHECK: te_quant.quantize_into #{{.*}} ins(%{{.*}} : tensor<8x16xf32>) scale(%{{.*}} : tensor<1xf32>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>) {test.kept} -> tensor<8x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>
// CHECK: te_quant.dequantize_into #{{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xf8E4M3FN>, tensor<1xf32>) outs(%{{.*}} : tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK: te_quant.swizzle_into #{{.*}} "rowwise_scale_inv" ins(%{{.*}} : tensor<128x4xf8E8M0FNU>) extents(%{{.*}}, %{{.*}}) outs(%{{.*}} : tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU>
func.func @into_tensors(%x: tensor<8x16xf32>, %s: tensor<1xf32>, %d: tensor<8x16xf8E4M3FN>, %t: tensor<128x4xf8E8M0FNU>, %n: index) {
  %q:3 = te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise> ins(%x : tensor<8x16xf32>) scale(%s : tensor<1xf32>)
    outs(%d, %s, %s : tensor<8x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>) {test.kept} -> tensor<8x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>
  %y = te_quant.dequantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>
    ins(%q#0, %q#1 : tensor<8x16xf8E4M3FN>, tensor<1xf32>) outs(%x : tensor<8x16xf32>) -> tensor<8x16xf32>
  %z = te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true> "rowwise_scale_inv"
    ins(%t : tensor<128x4xf8E8M0FNU>) extents(%n, %n) outs(%t : tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU>
  return
}

// CHECK-LABEL: func.func @into_memrefs(
// CHECK: te_quant.quantize_into #{{.*}} ins(%{{.*}} : memref<32x64xbf16, strided<[128, 1]>>) noop(%{{.*}} : memref<1xf32>) outs(%{{.*}}, %{{.*}} : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>){{$}}
// CHECK: te_quant.quantize_into #{{.*}} ins(%{{.*}} : memref<16x16xbf16>) amax(%{{.*}}, %{{.*}} : memref<1xf32>, memref<1xf32>) rng(%{{.*}} : memref<2xi64>) outs(
func.func @into_memrefs(%x: memref<32x64xbf16, strided<[128, 1]>>, %f: memref<1xf32>, %d: memref<32x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>,
    %y: memref<16x16xbf16>, %e: memref<16x8xi8>, %t: memref<128x4xf8E4M3FN>, %state: memref<2xi64>) {
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<32x64xbf16, strided<[128, 1]>>) noop(%f : memref<1xf32>)
    outs(%d, %s : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  te_quant.quantize_into #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, stochastic_rounding = true> ins(%y : memref<16x16xbf16>)
    amax(%f, %f : memref<1xf32>, memref<1xf32>) rng(%state : memref<2xi64>)
    outs(%e, %t, %e, %t, %f, %f : memref<16x8xi8>, memref<128x4xf8E4M3FN>, memref<16x8xi8>, memref<128x4xf8E4M3FN>, memref<1xf32>, memref<1xf32>)
  return
}
