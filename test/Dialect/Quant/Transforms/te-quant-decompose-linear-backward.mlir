// Linear layers, backward, as what their plans say.
// RUN: te-opt %s --te-quant-decompose-linear --cse --canonicalize | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
#mxcol = #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>
#mxrow = #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>
#cur = #te_quant.float8_current_scaling<f8E4M3FN, internal = true>
#currow = #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>
#del = #te_quant.float8_delayed_scaling<f8E4M3FN, internal = true>
#delcol = #te_quant.float8_delayed_scaling<f8E4M3FN, usage = columnwise, internal = true>
#rs = #te_quant.nvfp4<row_scaled = true, internal = true>
#nv = #te_quant.nvfp4<internal = true>
#hy = #te_quant.hybrid<rowwise = #te_quant.float8_current_scaling<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E4M3FN>, internal = true>

// CHECK-LABEL: func.func @unquantized(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.column_sum %[[A0]] : {{.*}} -> tensor<32xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NN %[[A2]], %[[A0]] : {{.*}} -> tensor<2x8x16xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[A0]] : {{.*}} -> tensor<32x16xbf16>
// CHECK: return %[[V2]], %[[V1]], %[[V0]]
func.func @unquantized(%dy: tensor<2x8x32xbf16>, %x: tensor<2x8x16xbf16>, %w: tensor<32x16xbf16>, %b: tensor<32xbf16>)
    -> (tensor<32x16xbf16>, tensor<2x8x16xbf16>, tensor<32xbf16>) {
  %dw, %dx, %db = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) bias(%b) {bias_requires_grad = true}
    : tensor<2x8x32xbf16>, tensor<2x8x16xbf16>, tensor<32x16xbf16>, tensor<32x16xbf16>, tensor<32xbf16>
  return %dw, %dx, %db : tensor<32x16xbf16>, tensor<2x8x16xbf16>, tensor<32xbf16>
}

// P-1: what is quantized is the result of the GEMM.
// CHECK-LABEL: func.func @quantized(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:{{.*}}%[[A4:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.column_sum %[[A0]] : {{.*}} -> tensor<32xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NN %[[A2]], %[[V1]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.quantize %[[V2]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[V1]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V4]], %[[V3]], %[[V0]]
func.func @quantized(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #mxcol>, %wm: !te_quant.tensor<32x128xbf16, #mx>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>)
    -> (tensor<32x128xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, tensor<32xbf16>) {
  %dw, %dx, %db = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w) bias(%b)
    {bias_requires_grad = true, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx, grad_input_quantizer = #mx}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>, tensor<32xbf16>
  return %dw, %dx, %db : tensor<32x128xbf16>, !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, tensor<32xbf16>
}

// CHECK-LABEL: func.func @frozen_weight(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.dequantize %[[A0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.column_sum %[[V0]] : {{.*}} -> tensor<32xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.cast %[[V1]] : {{.*}} to tensor<32xf32>
// CHECK: return %[[V2]]
func.func @frozen_weight(%dy: !te_quant.tensor<64x32xbf16, #mx>, %wm: !te_quant.tensor<32x128xf32, #mx>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>) -> tensor<32xf32> {
  %db = te_quant.linear_backward %dy weightmat(%wm) weight(%w) bias(%b)
    {activation_dtype = f32, bias_requires_grad = true, weight_requires_grad = false, input_requires_grad = false, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : !te_quant.tensor<64x32xbf16, #mx>, !te_quant.tensor<32x128xf32, #mx>, tensor<32x128xbf16>, tensor<32xbf16>
  return %db : tensor<32xf32>
}

// CHECK-LABEL: func.func @derived(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.update_usage %[[A2]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.gemm NT %[[V3]], %[[V0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V4]], %[[V2]]
func.func @derived(%dy: tensor<64x32xbf16>, %x: tensor<64x128xbf16>, %w: !te_quant.tensor<32x128xbf16, #currow>) -> (tensor<32x128xbf16>, tensor<64x128xbf16>) {
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w)
    {save_original_input = true, input_quantizer = #cur, weight_quantizer = #cur, grad_output_quantizer = #cur}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #currow>, !te_quant.tensor<32x128xbf16, #currow>
  return %dw, %dx : tensor<32x128xbf16>, tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @row_scaled(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.nvfp4<internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<row_scaled = true, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.update_usage %[[V1]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<usage = columnwise, row_scaled = true, internal = true>>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.gemm NT %[[V2]], %[[V0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V3]]
func.func @row_scaled(%dy: tensor<64x32xbf16>, %x: tensor<64x128xbf16>, %wm: !te_quant.tensor<32x128xbf16, #nv>, %w: tensor<32x128xbf16>) -> tensor<32x128xbf16> {
  %dw = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w)
    {input_requires_grad = false, save_original_input = true, input_quantizer = #rs, weight_quantizer = #nv, grad_output_quantizer = #nv}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #nv>, tensor<32x128xbf16>
  return %dw : tensor<32x128xbf16>
}

// CHECK-LABEL: func.func @delayed(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:{{.*}}%[[A4:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]], %[[V1:[^ ,:]+]] = te_quant.quantize %[[A0]] scale(%[[A4]]) : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NN %[[A2]], %[[V0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[V0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V3]], %[[V2]], %[[V1]]
func.func @delayed(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #delcol>, %wm: !te_quant.tensor<32x128xbf16, #del>, %w: tensor<32x128xbf16>, %s: tensor<1xf32>) -> (tensor<32x128xbf16>, tensor<64x128xbf16>, tensor<1xf32>) {
  %dw, %dx, %a = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w) scale(%s) {input_quantizer = #del, weight_quantizer = #del, grad_output_quantizer = #del}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #delcol>, !te_quant.tensor<32x128xbf16, #del>, tensor<32x128xbf16>, tensor<1xf32>
  return %dw, %dx, %a : tensor<32x128xbf16>, tensor<64x128xbf16>, tensor<1xf32>
}

// CHECK-LABEL: func.func @main_grad(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:{{.*}}%[[A4:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[V0]] accumulate(%[[A4]]) : {{.*}} -> tensor<32x128xf32>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[V0]] : {{.*}} -> tensor<32x128xf32>
// CHECK: %[[V3:[^ ,:]+]] = bufferization.materialize_in_destination %[[V2]] in %[[V1]]
// CHECK: return %[[V1]], %[[V3]]
func.func @main_grad(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #mxcol>, %wm: !te_quant.tensor<32x128xbf16, #mx>, %w: tensor<32x128xbf16>, %m: tensor<32x128xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>) {
  %added = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w) accumulate(%m)
    {input_requires_grad = false, fuse_wgrad_accumulation = true, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>, tensor<32x128xf32>
  %first = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w) accumulate(%added)
    {microbatch = #te_quant.microbatch<first>, input_requires_grad = false, fuse_wgrad_accumulation = true, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>, tensor<32x128xf32>
  return %added, %first : tensor<32x128xf32>, tensor<32x128xf32>
}

// CHECK-LABEL: func.func @fsdp2(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: return %[[V2]]
func.func @fsdp2(%dy: tensor<64x32xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x128xbf16> {
  %dx = te_quant.linear_backward %dy weight(%w) {fsdp2 = true, weight_requires_grad = false, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, tensor<32x128xbf16>
  return %dx : tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @fsdp2_unquantized(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.cast %[[A1]] : {{.*}} to tensor<32x128xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NN %[[V0]], %[[A0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: return %[[V1]]
func.func @fsdp2_unquantized(%dy: tensor<64x32xbf16>, %w: tensor<32x128xf32>) -> tensor<64x128xbf16> {
  %dx = te_quant.linear_backward %dy weight(%w) {fsdp2 = true, weight_requires_grad = false} : tensor<64x32xbf16>, tensor<32x128xf32>
  return %dx : tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @dequantized(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.dequantize %[[A2]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NN %[[V0]], %[[A0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.dequantize %[[A1]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.gemm NT %[[V2]], %[[A0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V3]], %[[V1]]
func.func @dequantized(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #mxrow>, %wm: !te_quant.tensor<32x128xbf16, #mxrow>, %w: tensor<32x128xbf16>) -> (tensor<32x128xbf16>, tensor<64x128xbf16>) {
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w)
    {backward_override = #te_quant.backward_override<dequantized>, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxrow>, !te_quant.tensor<32x128xbf16, #mxrow>, tensor<32x128xbf16>
  return %dw, %dx : tensor<32x128xbf16>, tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @high_precision(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.cast %[[A3]] : {{.*}} to tensor<32x128xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NN %[[V0]], %[[A0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[A0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V2]], %[[V1]]
func.func @high_precision(%dy: tensor<64x32xbf16>, %x: tensor<64x128xbf16>, %wm: !te_quant.tensor<32x128xbf16, #mxrow>, %w: tensor<32x128xf32>) -> (tensor<32x128xbf16>, tensor<64x128xbf16>) {
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w)
    {backward_override = #te_quant.backward_override<high_precision>, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx}
    : tensor<64x32xbf16>, tensor<64x128xbf16>, !te_quant.tensor<32x128xbf16, #mxrow>, tensor<32x128xf32>
  return %dw, %dx : tensor<32x128xbf16>, tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @column_parallel(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm NN %[[A2]], %[[V0]] : {{.*}} -> tensor<128x128xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.reduce_scatter %[[V1]] {group = "tp", size = 2 : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.all_gather %[[A1]] {group = "tp", size = 2 : {{.*}} -> !te_quant.tensor<128x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.update_usage %[[V3]] : {{.*}} -> !te_quant.tensor<128x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V5:[^ ,:]+]] = te_quant.gemm NT %[[V4]], %[[V0]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V5]], %[[V2]]
func.func @column_parallel(%dy: tensor<128x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #currow>, %wm: !te_quant.tensor<32x128xbf16, #cur>, %w: tensor<32x128xbf16>) -> (tensor<32x128xbf16>, tensor<64x128xbf16>) {
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w)
    {parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64, input_quantizer = #cur, weight_quantizer = #cur, grad_output_quantizer = #cur}
    : tensor<128x32xbf16>, !te_quant.tensor<64x128xbf16, #currow>, !te_quant.tensor<32x128xbf16, #cur>, tensor<32x128xbf16>
  return %dw, %dx : tensor<32x128xbf16>, tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @row_parallel(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.update_usage %[[V0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.swizzle %[[V1]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.all_gather %[[V2]] {group = "tp", size = 2 : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.update_usage %[[V0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, optimize_for_gemm = true>>
// CHECK: %[[V5:[^ ,:]+]] = te_quant.swizzle %[[V4]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
// CHECK: %[[V6:[^ ,:]+]] = te_quant.all_gather %[[V5]] {group = "tp", size = 2 : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
// CHECK: %[[V7:[^ ,:]+]]:2 = te_quant.disassemble %[[V3]]
// CHECK: %[[V8:[^ ,:]+]]:2 = te_quant.disassemble %[[V6]]
// CHECK: %[[V9:[^ ,:]+]] = te_quant.assemble %[[V7]]#0, %[[V7]]#1, %[[V8]]#0, %[[V8]]#1 : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: %[[V10:[^ ,:]+]] = te_quant.swizzle %[[V9]] : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
// CHECK: %[[V11:[^ ,:]+]] = te_quant.gemm NN %[[A2]], %[[V10]] : {{.*}} -> tensor<128x128xbf16>
// CHECK: %[[V12:[^ ,:]+]] = te_quant.gemm NT %[[A1]], %[[V10]] : {{.*}} -> tensor<32x128xbf16>
// CHECK: return %[[V12]], %[[V11]]
func.func @row_parallel(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<128x128xbf16, #mxcol>, %wm: !te_quant.tensor<32x128xbf16, #mx>, %w: tensor<32x128xbf16>) -> (tensor<32x128xbf16>, tensor<128x128xbf16>) {
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w)
    {parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64, input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>}
    : tensor<64x32xbf16>, !te_quant.tensor<128x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>
  return %dw, %dx : tensor<32x128xbf16>, tensor<128x128xbf16>
}

// CHECK-LABEL: func.func @row_parallel_composed(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.all_gather %[[A0]] {group = "tp", size = 2 : {{.*}} -> tensor<128x32xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.amax #{{.*}} %[[V0]]
// CHECK: %[[V2:[^ ,:]+]] = te_quant.all_reduce max %[[V1]] {group = "tp", size = 2
// CHECK: %[[V3:[^ ,:]+]] = te_quant.quantize %[[V0]] amax(%[[V2]]) : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
// CHECK: %[[V4:[^ ,:]+]]:2 = te_quant.disassemble %[[V3]]
// CHECK: %[[V5:[^ ,:]+]] = te_quant.assemble %[[V4]]#0, %[[V4]]#1 : {{.*}} -> !te_quant.tensor<128x32xbf16, #te_quant.hybrid<rowwise = #te_quant.float8_current_scaling<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E4M3FN>, usage = rowwise, internal = true>>
// CHECK: %[[V6:[^ ,:]+]] = te_quant.gemm NN %[[A1]], %[[V5]] : {{.*}} -> tensor<128x128xbf16>
// CHECK: return %[[V6]]
func.func @row_parallel_composed(%dy: tensor<64x32xbf16>, %wm: !te_quant.tensor<32x128xbf16, #cur>, %w: tensor<32x128xbf16>) -> tensor<128x128xbf16> {
  %dx = te_quant.linear_backward %dy weightmat(%wm) weight(%w)
    {weight_requires_grad = false, parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64, input_quantizer = #hy, weight_quantizer = #cur, grad_output_quantizer = #hy}
    : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #cur>, tensor<32x128xbf16>
  return %dx : tensor<128x128xbf16>
}

// The bias gradient of an empty GEMM is zero.
// CHECK-LABEL: func.func @no_features(
// CHECK-SAME: %[[DY:arg[0-9]+]]:{{.*}}%[[W:arg[0-9]+]]: tensor<32x?xbf16>
// CHECK: %[[SUM:.*]] = te_quant.column_sum %[[DY]]
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : bf16) outs(%{{.*}} : tensor<32xbf16>)
// CHECK: %[[DIM:.*]] = tensor.dim %[[W]], %c1
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[DIM]], %c0
// CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[SUM]] : tensor<32xbf16>
func.func @no_features(%dy: tensor<16x32xbf16>, %x: tensor<16x?xbf16>, %w: tensor<32x?xbf16>, %b: tensor<32xbf16>) -> (tensor<32x?xbf16>, tensor<32xbf16>) {
  %dw, %db = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) bias(%b) {input_requires_grad = false, bias_requires_grad = true}
    : tensor<16x32xbf16>, tensor<16x?xbf16>, tensor<32x?xbf16>, tensor<32x?xbf16>, tensor<32xbf16>
  return %dw, %db : tensor<32x?xbf16>, tensor<32xbf16>
}
