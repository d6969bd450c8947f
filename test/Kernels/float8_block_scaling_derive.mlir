// The columnwise representation made from the rowwise one is the one that
// quantization makes, bytes and scales.

// RUN: rm -rf %t && mkdir %t
// RUN: te-run %s --entry=main --target=emulate --chip=sm_90a --output-dir %t/out \
// RUN:   --input %te_src_root/test/golden/fp8block_160x288_bf16_e4m3_2d_fp32_both/input.bin
// RUN: cmp %t/out/0_columnwise_data.bin \
// RUN:   %te_src_root/test/golden/fp8block_160x288_bf16_e4m3_2d_fp32_both/columnwise_data.bin
// RUN: cmp %t/out/1_data.bin %t/out/2_data.bin

!x = tensor<160x288xbf16>
!row = !te_quant.tensor<160x288xbf16, #te_quant.float8_block_scaling<
    f8E4M3FN, usage = rowwise, force_pow_2_scales = false>>
!column = !te_quant.tensor<160x288xbf16, #te_quant.float8_block_scaling<
    f8E4M3FN, usage = columnwise, force_pow_2_scales = false>>
!both = !te_quant.tensor<160x288xbf16, #te_quant.float8_block_scaling<
    f8E4M3FN, force_pow_2_scales = false>>

func.func @main(%x: !x) -> (!column, !x, !x) {
  %row = te_quant.quantize %x : !x -> !row
  %both = te_quant.update_usage %row : !row -> !both
  %column = te_quant.update_usage %both : !both -> !column
  %from_column = te_quant.dequantize %column : !column -> !x
  %from_row = te_quant.dequantize %row : !row -> !x
  return %column, %from_column, %from_row : !column, !x, !x
}
