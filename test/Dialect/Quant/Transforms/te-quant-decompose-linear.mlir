// Linear layers, forward, as what their plans say. Whatever nobody reads is removed, and what several layers make is made once.
// RUN: te-opt %s --te-quant-decompose-linear --cse --canonicalize | FileCheck %s

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
#cur = #te_quant.float8_current_scaling<f8E4M3FN, internal = true>
#del = #te_quant.float8_delayed_scaling<f8E4M3FN, internal = true>
#sr = #te_quant.nvfp4<stochastic_rounding = true, internal = true>
#id = #te_quant.identity<internal = true>

// CHECK-LABEL: func.func @unquantized(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.cast %[[A0]] : {{.*}} to tensor<2x8x16xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.cast %[[A2]] : {{.*}} to tensor<32xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[A1]], %[[V0]] bias(%[[V1]]) : {{.*}} -> tensor<2x8x32xbf16>
// CHECK: return %[[V2]], %[[V0]]
func.func @unquantized(%x: tensor<2x8x16xf32>, %w: tensor<32x16xbf16>, %b: tensor<32xf32>) -> (tensor<2x8x32xbf16>, tensor<2x8x16xbf16>) {
  %y, %in = te_quant.linear %x, %w bias(%b) {activation_dtype = bf16} : tensor<2x8x16xf32>, tensor<32x16xbf16>, tensor<32xf32>
  return %y, %in : tensor<2x8x32xbf16>, tensor<2x8x16xbf16>
}

// CHECK-LABEL: func.func @uncast_source(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[V1]], %[[V0]] bias(%[[A2]]) : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V2]]
func.func @uncast_source(%x: tensor<64x128xf32>, %w: tensor<32x128xf32>, %b: tensor<32xbf16>) -> tensor<64x32xbf16> {
  %y, %in, %wm = te_quant.linear %x, %w bias(%b) {activation_dtype = bf16, input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xf32>, tensor<32x128xf32>, tensor<32xbf16>
  return %y : tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @new_workspace(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V2]], %[[V1]]
func.func @new_workspace(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>) {
  %y, %ws, %in = te_quant.linear %x, %w {cache_weight = true, microbatch = #te_quant.microbatch<first>, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y, %ws : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
}

// CHECK-LABEL: func.func @refreshed(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] into %[[A2]] noop(%[[A3]]) : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V2]], %[[V1]]
func.func @refreshed(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %ws: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, %skip: tensor<1xf32>)
    -> (tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>) {
  %y, %new, %in = te_quant.linear %x, %w workspace(%ws) skip_update(%skip) {input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<1xf32>
  return %y, %new : tensor<64x32xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
}

// CHECK-LABEL: func.func @hit(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.gemm TN %[[A2]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V1]]
func.func @hit(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %ws: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>) -> tensor<64x32xbf16> {
  %y, %in = te_quant.linear %x, %w workspace(%ws) {microbatch = #te_quant.microbatch<later>, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return %y : tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @delayed(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:{{.*}}%[[A3:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]], %[[V1:[^ ,:]+]] = te_quant.quantize %[[A0]] scale(%[[A2]]) : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V2:[^ ,:]+]], %[[V3:[^ ,:]+]] = te_quant.quantize %[[A1]] scale(%[[A3]]) : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.float8_delayed_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.gemm TN %[[V2]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V4]], %[[V1]], %[[V3]]
func.func @delayed(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %sx: tensor<1xf32>, %sw: tensor<1xf32>) -> (tensor<64x32xbf16>, tensor<1xf32>, tensor<1xf32>) {
  %y, %in, %wm, %ax, %aw = te_quant.linear %x, %w scale(%sx, %sw) {input_quantizer = #del, weight_quantizer = #del} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<1xf32>, tensor<1xf32>
  return %y, %ax, %aw : tensor<64x32xbf16>, tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: func.func @quantized_output(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.quantize %[[V2]] : {{.*}} -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: return %[[V3]]
func.func @quantized_output(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, input_quantizer = #mx, weight_quantizer = #mx, output_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : !te_quant.tensor<64x32xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
}

// CHECK-LABEL: func.func @random(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:{{.*}}%[[A2:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] rng(%[[A2]]) : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.nvfp4<usage = rowwise, stochastic_rounding = true, internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = tensor.empty()
// CHECK: %[[V2:.*]] = linalg.generic {{.*}} ins(%[[A2]] : tensor<2xi64>)
// CHECK: %[[V3:[^ ,:]+]] = linalg.index 0
// CHECK: %[[V4:[^ ,:]+]] = arith.index_cast %[[V3]]
// CHECK: %[[V5:[^ ,:]+]] = arith.muli %[[V4]], %c2048{{.*}}
// CHECK: %[[V6:[^ ,:]+]] = arith.addi %in, %[[V5]]
// CHECK: %[[V7:[^ ,:]+]] = te_quant.quantize %[[A1]] rng(%[[V2]]) : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.nvfp4<usage = rowwise, stochastic_rounding = true, internal = true>>
// CHECK: %[[V8:[^ ,:]+]] = te_quant.gemm TN %[[V7]], %[[V0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: return %[[V8]]
func.func @random(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %rng: tensor<2xi64>) -> tensor<64x32xbf16> {
  %y = te_quant.linear %x, %w rng(%rng) {is_grad_enabled = false, input_quantizer = #sr, weight_quantizer = #sr} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<2xi64>
  return %y : tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @column_parallel(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.amax #{{.*}} %[[A0]]
// CHECK: %[[V1:[^ ,:]+]] = te_quant.all_reduce max %[[V0]] {group = "model", size = 2
// CHECK: %[[V2:[^ ,:]+]] = te_quant.quantize %[[A0]] amax(%[[V1]]) : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.all_gather %[[V2]] {group = "model", size = 2 : {{.*}} -> !te_quant.tensor<128x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.float8_current_scaling<f8E4M3FN, internal = true>>
// CHECK: %[[V5:[^ ,:]+]] = te_quant.gemm TN %[[V4]], %[[V3]] : {{.*}} -> tensor<128x32xbf16>
// CHECK: return %[[V5]]
func.func @column_parallel(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<128x32xbf16> {
  %y, %in, %wm = te_quant.linear %x, %w {input_quantizer = #cur, weight_quantizer = #cur, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64, tp_group = "model"}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<128x32xbf16>
}

// CHECK-LABEL: func.func @gathered_after(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xbf16, #te_quant.identity<internal = true>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.dequantize %[[V0]] : {{.*}} -> tensor<64x128xbf16>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.all_gather %[[V1]] {group = "tp", size = 2 : {{.*}} -> tensor<128x128xbf16>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.quantize %[[V2]] : {{.*}} -> !te_quant.tensor<128x128xbf16, #te_quant.identity<usage = rowwise, internal = true>>
// CHECK: %[[V4:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xbf16, #te_quant.identity<internal = true>>
// CHECK: %[[V5:[^ ,:]+]] = te_quant.gemm TN %[[V4]], %[[V3]] : {{.*}} -> tensor<128x32xbf16>
// CHECK: return %[[V5]]
func.func @gathered_after(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<128x32xbf16> {
  %y, %in, %wm = te_quant.linear %x, %w {input_quantizer = #id, weight_quantizer = #id, parallel_mode = #te_quant.parallel_mode<column>, sequence_parallel = true, tp_size = 2 : i64}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<128x32xbf16>
}

// CHECK-LABEL: func.func @row_parallel(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.gemm TN %[[A1]], %[[A0]] : {{.*}} -> tensor<64x32xbf16>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.all_reduce sum %[[V0]] {group = "tp", size = 2
// CHECK: %[[V2:[^ ,:]+]] = te_quant.reduce_scatter %[[V0]] {group = "tp", size = 2 : {{.*}} -> tensor<32x32xbf16>
// CHECK: return %[[V1]], %[[V2]]
func.func @row_parallel(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<64x32xbf16>, tensor<32x32xbf16>) {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, parallel_mode = #te_quant.parallel_mode<row>, tp_size = 2 : i64} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %z = te_quant.linear %x, %w {is_grad_enabled = false, parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y, %z : tensor<64x32xbf16>, tensor<32x32xbf16>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = tensor.dim %[[A0]], %c2{{.*}}
// CHECK: %[[V1:[^ ,:]+]] = tensor.dim %[[A1]], %c1{{.*}}
// CHECK: %[[V2:[^ ,:]+]] = arith.cmpi eq, %[[V0]], %[[V1]]
// CHECK: te_quant.check %[[V2]], "expected the last dim of the input to equal that of the weight"
// CHECK: %[[V3:[^ ,:]+]] = tensor.dim %[[A0]], %c0{{.*}}
// CHECK: %[[V4:[^ ,:]+]] = arith.muli %[[V3]], %c8{{.*}}
// CHECK: %[[V5:[^ ,:]+]] = arith.remui %[[V4]], %c8{{.*}}
// CHECK: %[[V6:[^ ,:]+]] = arith.cmpi eq, %[[V5]], %c0{{.*}}
// CHECK: te_quant.check %[[V6]], "expected the rows of the input to be a multiple of 8"
// CHECK: %[[V7:[^ ,:]+]] = arith.remui %[[V0]], %c16{{.*}}
// CHECK: %[[V8:[^ ,:]+]] = arith.cmpi eq, %[[V7]], %c0{{.*}}
// CHECK: te_quant.check %[[V8]], "expected the last dim of the input to be a multiple of 16"
// CHECK: %[[V9:[^ ,:]+]] = arith.remui %[[V3]], %c2{{.*}}
// CHECK: %[[V10:[^ ,:]+]] = arith.cmpi eq, %[[V9]], %c0{{.*}}
// CHECK: te_quant.check %[[V10]], "expected the first dim of the input to be a multiple of 2"
// CHECK: %[[V11:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<?x8x?xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V12:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x?xbf16, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise, internal = true>>
// CHECK: %[[V13:[^ ,:]+]] = te_quant.gemm TN %[[V12]], %[[V11]] : {{.*}} -> tensor<?x8x32xbf16>
// CHECK: %[[V14:[^ ,:]+]] = te_quant.reduce_scatter %[[V13]] {group = "tp", size = 2 : {{.*}} -> tensor<?x8x32xbf16>
// CHECK: return %[[V14]]
func.func @dynamic(%x: tensor<?x8x?xbf16>, %w: tensor<32x?xbf16>) -> tensor<?x8x32xbf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, input_quantizer = #cur, weight_quantizer = #cur, parallel_mode = #te_quant.parallel_mode<row>, sequence_parallel = true, tp_size = 2 : i64} : tensor<?x8x?xbf16>, tensor<32x?xbf16>
  return %y : tensor<?x8x32xbf16>
}

// CHECK-LABEL: func.func @f16(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.quantize %[[A0]] : {{.*}} -> !te_quant.tensor<64x128xf16, #te_quant.nvfp4<usage = rowwise>>
// CHECK: %[[V1:[^ ,:]+]] = te_quant.quantize %[[A1]] : {{.*}} -> !te_quant.tensor<32x128xf16, #te_quant.nvfp4<usage = rowwise>>
// CHECK: %[[V2:[^ ,:]+]] = te_quant.gemm TN %[[V1]], %[[V0]] : {{.*}} -> tensor<64x32xf32>
// CHECK: %[[V3:[^ ,:]+]] = te_quant.cast %[[V2]] : {{.*}} to tensor<64x32xf16>
// CHECK: return %[[V3]]
func.func @f16(%x: tensor<64x128xf16>, %w: tensor<32x128xf16>) -> tensor<64x32xf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, input_quantizer = #te_quant.nvfp4, weight_quantizer = #te_quant.nvfp4} : tensor<64x128xf16>, tensor<32x128xf16>
  return %y : tensor<64x32xf16>
}

// CHECK-LABEL: func.func @plain_spec(
// CHECK-SAME: %[[A0:arg[0-9]+]]:{{.*}}%[[A1:arg[0-9]+]]:
// CHECK: %[[V0:[^ ,:]+]] = te_quant.gemm TN %[[A1]], %[[A0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, device = "cuda:0">
// CHECK: %[[V1:[^ ,:]+]] = te_quant.dequantize %[[V0]] : {{.*}} -> !te_quant.tensor<64x32xbf16, requires_grad = true, device = "cuda:0">
// CHECK: return %[[V1]]
func.func @plain_spec(%x: !te_quant.tensor<64x128xbf16, device = "cuda:0">, %w: tensor<32x128xbf16>) -> !te_quant.tensor<64x32xbf16, requires_grad = true, device = "cuda:0"> {
  %y = te_quant.linear %x, %w : !te_quant.tensor<64x128xbf16, device = "cuda:0">, tensor<32x128xbf16>
  return %y : !te_quant.tensor<64x32xbf16, requires_grad = true, device = "cuda:0">
}

// Layers share their input, which is quantized once.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[X:arg[0-9]+]]:{{.*}}%[[W:arg[0-9]+]]:{{.*}}%[[V:arg[0-9]+]]:
// CHECK: %[[XQ:[^ ,:]+]] = te_quant.quantize %[[X]] :
// CHECK-NOT: te_quant.quantize %[[X]] :
// CHECK: te_quant.gemm TN %{{[^ ]+}}, %[[XQ]] :
// CHECK: te_quant.gemm TN %{{[^ ]+}}, %[[XQ]] :
func.func @shared(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %v: tensor<64x128xbf16>) -> (tensor<64x32xbf16>, tensor<64x64xbf16>) {
  %y, %in, %wm = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %z, %in2, %wm2 = te_quant.linear %x, %v {input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<64x128xbf16>
  return %y, %z : tensor<64x32xbf16>, tensor<64x64xbf16>
}
