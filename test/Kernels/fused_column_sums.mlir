// Kernels that sum the columns of what they quantize: names, what they take, and that sums of any type share one.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s
// RUN: te-opt %s --te-quant-gpu-pipeline="chip=sm_90a format=isa kernels=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX < %t/te_quant_kernels.ptx

!x = memref<?x?xbf16>
!d = memref<?x?xf8E4M3FN>
!s = memref<?x?xf8E8M0FNU>
!c = memref<?x?xf32>

// CHECK-LABEL: func.func @names(
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_sums_bf16(
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_sums_f32(
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_both_sums_fused_[[NEG:[0-9a-f]{16}]]_f16(
// CHECK: call @te_quant_launch_quantize_float8_delayed_scaling_e4m3_bf16_both_sums_f32(
func.func @names(%x: !x, %d: !d, %s: !s, %c: !c, %b: memref<?xbf16>, %f: memref<?xf32>, %h: memref<?xf16>, %a: memref<1xf32>) {
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : !x)
    outs(%d, %s, %b, %c : !d, !s, memref<?xbf16>, !c) column_sum
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : !x)
    outs(%d, %s, %f, %c : !d, !s, memref<?xf32>, !c) column_sum
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN> ins(%x : !x)
    outs(%d, %s, %d, %s, %h, %c : !d, !s, !d, !s, memref<?xf16>, !c) column_sum fuse {
  ^bb0(%e: bf16):
    %v = arith.negf %e : bf16
    te_quant.yield %v : bf16
  }
  te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN> ins(%x : !x) scale(%a : memref<1xf32>)
    outs(%d, %d, %a, %a, %f, %c : !d, !d, memref<1xf32>, memref<1xf32>, memref<?xf32>, !c) column_sum
  return
}

// The sums of chunks are added up even where there is nothing to quantize.
// CHECK-LABEL: func.func private @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_sums_bf16(
// CHECK: gpu.launch_func {{.*}}@quantize_mxfp8_e4m3_bf16_rowwise_sums_v16
// CHECK: gpu.launch_func {{.*}}@quantize_mxfp8_e4m3_bf16_rowwise_sums_v1
// CHECK: gpu.launch_func {{.*}}@column_sum_bf16_v1

// CHECK-LABEL: func.func private @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_sums_f32(
// CHECK: gpu.launch_func {{.*}}@quantize_mxfp8_e4m3_bf16_rowwise_sums_v16
// CHECK: gpu.launch_func {{.*}}@column_sum_f32_v1

// No kernel sums chunks of an input of its own.
// CHECK-NOT: column_sum_chunks

// PTX-NOT: .extern
// PTX: .visible .entry quantize_mxfp8_e4m3_bf16_rowwise_sums_v16
// PTX-NOT: .extern
