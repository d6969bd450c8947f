// What layers keep until backward, beside what they would in high precision.
// RUN: te-opt %s --te-quant-print-memory --split-input-file -o /dev/null | FileCheck %s
// RUN: te-opt %s --te-quant-print-memory=format=json --split-input-file -o %t | FileCheck %s --check-prefix=JSON

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>

// 64 * 128 codes and, of columns, 64 / 32 = 2 to 4 rows of 128 scales: 8192 + 512.
// Of the weight 2 * 32 * 128 codes, 128 * 4 rowwise scales and 4 * 128 columnwise.
// CHECK: linear.output: te_quant.linear
// CHECK-NEXT: {{^}}  saved         input      !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>>  8704
// CHECK-NEXT: {{^}}  saved_weight  weightmat  !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN, internal = true>> 9216
// CHECK-NEXT: {{^}}  activations 8704 (saved 8704, kept 0), weights 9216, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 16384 (saved 0, kept 16384), weights 0; activations are 53.1%
// CHECK-NEXT: {{^}}total: activations 8704 (saved 8704, kept 0), weights 9216, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 16384 (saved 0, kept 16384), weights 0; activations are 53.1%

// JSON:      "layers": [
// JSON-NEXT:   {
// JSON-NEXT:     "name": "linear.output",
// JSON-NEXT:     "op": "te_quant.linear",
// JSON-NEXT:     "items": [
// JSON-NEXT:       {
// JSON-NEXT:         "slot": "input",
// JSON-NEXT:         "purpose": "saved",
// JSON-NEXT:         "type": "!te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>>",
// JSON-NEXT:         "bytes": 8704
// JSON:            "slot": "weightmat",
// JSON-NEXT:         "purpose": "saved_weight",
// JSON:          "saved": 8704,
// JSON-NEXT:     "saved_weights": 9216,
// JSON-NEXT:     "kept": 0,
// JSON-NEXT:     "workspaces": 0,
// JSON-NEXT:     "high_precision": {
// JSON-NEXT:       "saved": 0,
// JSON-NEXT:       "saved_weights": 0,
// JSON-NEXT:       "kept": 16384,
// JSON-NEXT:       "workspaces": 0
// JSON-NEXT:     },
// JSON-NEXT:     "ratio": 0.53125
// JSON:      "total": {
// JSON-NEXT:     "saved": 8704,
func.func @linear(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y, %input, %weightmat = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<64x32xbf16>
}

// -----

// Two layers keep one input, which is in memory once.
// CHECK: plain.output: te_quant.linear
// CHECK-NEXT: {{^}}  kept  input  tensor<64x128xbf16>  16384
// CHECK-NEXT: {{^}}  activations 16384 (saved 0, kept 16384), weights 0, workspaces 0
// CHECK: plain.output_0: te_quant.linear
// CHECK-NEXT: {{^}}  kept  input  tensor<64x128xbf16>  16384
// CHECK: {{^}}total: activations 16384 (saved 0, kept 16384), weights 0, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 16384 (saved 0, kept 16384), weights 0; activations are 100.0%
func.func @plain(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
  %y = te_quant.linear %x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>
  %z = te_quant.linear %x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y, %z : tensor<64x32xbf16>, tensor<64x32xbf16>
}

// -----

// Nothing without gradients; a frozen weight needs no input, and with
// save_original_input the input itself is kept.

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>

// CHECK: few.output: te_quant.linear
// CHECK-NEXT: {{^}}  activations 0 (saved 0, kept 0), weights 0, workspaces 0
// CHECK: few.output_0: te_quant.linear
// CHECK-NEXT: {{^}}  saved_weight  weightmat
// CHECK-NEXT: {{^}}  activations 0 (saved 0, kept 0), weights 9216, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 0 (saved 0, kept 0), weights 0
// CHECK: few.output_1: te_quant.linear
// CHECK: {{^}}  kept          input      tensor<64x128xbf16> 16384
// CHECK-NEXT: {{^}}  activations 16384 (saved 0, kept 16384), weights 9216, workspaces 0
func.func @few(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false, input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %z:2 = te_quant.linear %x, %w {weight_requires_grad = false, input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  %u:2 = te_quant.linear %x, %w {save_original_input = true, input_quantizer = #mx, weight_quantizer = #mx} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<64x32xbf16>
}

// -----

// A new workspace, one that is used, and one that is refreshed in its buffers:
// each is there once, and the weight is saved by its name.

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
!workspace = !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>

// CHECK: workspaces.output: te_quant.linear
// CHECK: {{^}}  workspace  workspace  !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>> 9216
// CHECK-NEXT: {{^}}  activations 8704 (saved 8704, kept 0), weights 0, workspaces 9216
// CHECK-NEXT: {{^}}  in high precision: activations 16384 (saved 0, kept 16384), weights 0; activations are 53.1%
// CHECK: workspaces.output_{{.*}}: te_quant.linear
// CHECK: {{^}}  activations 8704 (saved 8704, kept 0), weights 0, workspaces 9216
// CHECK: workspaces.output_{{.*}}: te_quant.linear
// CHECK: {{^}}  activations 8704 (saved 8704, kept 0), weights 0, workspaces 9216
func.func @workspaces(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %given: !workspace) -> !workspace {
  %y:3 = te_quant.linear %x, %w {microbatch = #te_quant.microbatch<first>, cache_weight = true, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>
  %z:2 = te_quant.linear %x, %w workspace(%given) {microbatch = #te_quant.microbatch<later>, cache_weight = true, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !workspace
  %u:3 = te_quant.linear %x, %w workspace(%given) {microbatch = #te_quant.microbatch<first>, cache_weight = true, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, !workspace
  return %u#1 : !workspace
}

// -----

// The families: per-tensor FP8 has a transpose and one scale (4096 + 4 bytes),
// 1x128 blocks an f32 for each 128 rows of a column (4096 + 128 * 4), NVFP4 half a
// byte for each element, a byte for each 16 in 4 columns at least, and an amax.

#current = #te_quant.float8_current_scaling<f8E4M3FN, internal = true>
#block = #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1, internal = true>
#block2d = #te_quant.float8_block_scaling<f8E4M3FN, internal = true>
#nvfp4 = #te_quant.nvfp4<internal = true>

// CHECK: families.output: te_quant.linear
// CHECK: {{^}}  activations 4100 (saved 4100, kept 0), weights 32772,
// CHECK: {{^}}  activations 4608 (saved 4608, kept 0), weights 32800,
// CHECK: {{^}}  activations 2564 (saved 2564, kept 0), weights 18440,
func.func @families(%x: tensor<32x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<32x128xbf16> {
  %y:3 = te_quant.linear %x, %w {input_quantizer = #current, weight_quantizer = #current} : tensor<32x128xbf16>, tensor<128x128xbf16>
  %z:3 = te_quant.linear %x, %w {input_quantizer = #block, weight_quantizer = #block2d} : tensor<32x128xbf16>, tensor<128x128xbf16>
  %u:3 = te_quant.linear %x, %w {input_quantizer = #nvfp4, weight_quantizer = #nvfp4} : tensor<32x128xbf16>, tensor<128x128xbf16>
  return %y#0 : tensor<32x128xbf16>
}

// -----

// Layers that contain layers, sizes that are not known, and nothing at all.

#mx = #te_quant.mxfp8<f8E4M3FN, internal = true>

// CHECK: modules.output: te_quant.layernorm_linear
// CHECK: {{^}}  saved         rsigma       tensor<64xf32> 256
// CHECK: {{^}}  activations 25600 (saved 9216, kept 16384), weights 9216, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 33280 (saved 16896, kept 16384), weights 0; activations are 76.9%
// CHECK: modules.output_{{.*}}: te_quant.grouped_linear
// CHECK: {{^}}  saved         input_0
// CHECK: {{^}}  saved         input_1
// CHECK: {{^}}  activations 9216 (saved 9216, kept 0), weights 18432, workspaces 0
// CHECK: dynamic.output: te_quant.linear
// CHECK-NEXT: {{^}}  saved         input      !te_quant.tensor<?x128xbf16, {{.*}}>>  dynamic
// CHECK: {{^}}  activations dynamic (saved dynamic, kept 0), weights 9216, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations dynamic (saved 0, kept dynamic), weights 0{{$}}
// CHECK: {{^}}total: activations dynamic (saved dynamic, kept 16384)
// JSON: "name": "dynamic.output"
// JSON: "bytes": null
// JSON: "ratio": null
func.func @modules(%x: tensor<64x128xbf16>, %gamma: tensor<128xbf16>, %beta: tensor<128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y:5 = te_quant.layernorm_linear %x, %gamma, %w beta(%beta) {input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>, tensor<128xbf16>
  %z:5 = te_quant.grouped_linear %x weights(%w, %w) {m_splits = array<i64: 32, 32>, input_quantizer = #mx, weight_quantizer = #mx}
    : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y#0 : tensor<64x32xbf16>
}
func.func @dynamic(%x: tensor<?x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<?x32xbf16> {
  %y:3 = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx} : tensor<?x128xbf16>, tensor<32x128xbf16>
  return %y#0 : tensor<?x32xbf16>
}

// -----

// CHECK: {{^}}total: activations 0 (saved 0, kept 0), weights 0, workspaces 0
// CHECK-NEXT: {{^}}  in high precision: activations 0 (saved 0, kept 0), weights 0{{$}}
func.func @nothing() {
  return
}
