// Proves that quantizers survive bytecode with all their parameters, also as attributes of ops.
// RUN: te-opt %s > %t.mlir
// RUN: te-opt %s -emit-bytecode -o %t.bc
// RUN: te-opt %t.bc > %t.back.mlir
// RUN: diff %t.mlir %t.back.mlir
// RUN: FileCheck %s --input-file=%t.back.mlir

// CHECK: #te_quant.float8_current_scaling<f8E5M2, usage = columnwise, force_pow_2_scales = true, amax_epsilon = 2.500000e-01, with_amax_reduction = true, non_tn_gemm = true, internal = true, optimize_for_gemm = true>
// CHECK: #te_quant.custom<"int4", layout = #te_quant.layout<packed : i8[leading, cols ceildiv 2]>, storage_order = ["packed"], quantize = "q", dequantize = "d">
func.func private @types(
  !te_quant.tensor<8x16xf32, #te_quant.float8_current_scaling<f8E5M2, usage = columnwise, force_pow_2_scales = true, amax_epsilon = 0.25, with_amax_reduction = true, non_tn_gemm = true, internal = true, optimize_for_gemm = true>>,
  !te_quant.tensor<8x16xf32, #te_quant.custom<"int4", layout = #te_quant.layout<packed : i8[leading, cols ceildiv 2]>, storage_order = ["packed"], quantize = "q", dequantize = "d">>)

func.func @op(%x: memref<8x16xf32>, %d: memref<8x16xf8E4M3FN>, %s: memref<1xf32>) {
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, amax_epsilon = 0x3e99999a> ins(%x : memref<8x16xf32>)
    outs(%d, %s : memref<8x16xf8E4M3FN>, memref<1xf32>)
  return
}
