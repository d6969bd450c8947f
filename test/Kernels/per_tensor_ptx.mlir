// PTX of per-tensor FP8: correctly rounded inverses, maxima by integer atomics,
// conversions by the chip where it has them, and nothing that is not in it.

// RUN: rm -rf %t
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_80 kernels=%t/sm_80"
// RUN: FileCheck %s --input-file=%t/sm_80/te_quant_kernels.ptx --implicit-check-not=.extern --implicit-check-not=e4m3x2
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_89 kernels=%t/sm_89"
// RUN: FileCheck %s --input-file=%t/sm_89/te_quant_kernels.ptx --implicit-check-not=.extern --check-prefixes=CHECK,CVT
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_90a kernels=%t/sm_90a"
// RUN: FileCheck %s --input-file=%t/sm_90a/te_quant_kernels.ptx --implicit-check-not=.extern --check-prefixes=CHECK,CVT
// RUN: te-opt %s -o /dev/null --te-quant-gpu-pipeline="chip=sm_100a kernels=%t/sm_100a"
// RUN: FileCheck %s --input-file=%t/sm_100a/te_quant_kernels.ptx --implicit-check-not=.extern --check-prefixes=CHECK,CVT

!x = tensor<?x?xbf16>
!s = tensor<1xf32>
!delayed = !te_quant.tensor<?x?xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN>>

// CHECK: .entry quantize_float8_delayed_scaling_e4m3_bf16_both_v16(
// CHECK: rcp.rn.f32
// CHECK: ld.global.nc.{{(L1::[a-z_]*\.)?}}v4
// CVT: cvt.rn.satfinite.e4m3x2.f32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: {{(red|atom)}}{{.*}}.global.max.u32
func.func @quantize(%x: !x, %s: !s) -> (!delayed, !s) {
  %q, %a = te_quant.quantize %x scale(%s) : !x, !s -> !delayed, !s
  return %q, %a : !delayed, !s
}

// CHECK: .entry dequantize_per_tensor_e4m3_bf16_rowwise_v16(
// CVT: cvt.rn.f16x2.e4m3x2
// CHECK: st.global.v4
func.func @dequantize(%q: !delayed) -> !x {
  %y = te_quant.dequantize %q : !delayed -> !x
  return %y : !x
}
