// Proves what te-quant-print-layout writes for people and for tools.
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-print-layout -o /dev/null | FileCheck %s --match-full-lines --strict-whitespace
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-print-layout=format=json -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-print-layout=format=json -o /dev/null | %python -c "import json, sys; assert [row['name'] for row in json.load(sys.stdin)] == ['static.arg1', 'static.1#1', 'dynamic.arg0', 'dynamic.1', 'dynamic.arg1', '0']"
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-print-layout | FileCheck %s --check-prefix=IR
// RUN: not te-opt %s --allow-unregistered-dialect --te-quant-print-layout=format=xml 2>&1 | FileCheck %s --check-prefix=FORMAT

// The module itself is unchanged, and builtin tensors have no row.
// IR: func.func @static(%arg0: tensor<32x64xbf16>, %arg1: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>)
// FORMAT: Cannot find option named 'xml'

//      CHECK:static.arg1: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK-NEXT:  rowwise_data          (32, 64)                                             f8E4M3FN      2048
// CHECK-NEXT:  rowwise_scale_inv     (128, 4)                                             f8E8M0FNU      512
// CHECK-NEXT:  total                                                                                    2560 bytes, 4096 as bf16 (62.5%)
//      JSON: [
// JSON-NEXT:   {
// JSON-NEXT:     "name": "static.arg1",
// JSON-NEXT:     "type": "!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>",
// JSON-NEXT:     "quantizer": "#te_quant.mxfp8<f8E4M3FN, usage = rowwise>",
// JSON-NEXT:     "inner": [
// JSON-NEXT:       {
// JSON-NEXT:         "name": "rowwise_data",
// JSON-NEXT:         "shape": [
// JSON-NEXT:           32,
// JSON-NEXT:           64
// JSON-NEXT:         ],
// JSON-NEXT:         "dtype": "f8E4M3FN",
// JSON-NEXT:         "bytes": 2048
//      JSON:     "bytes": 2560,
// JSON-NEXT:     "nominal_bytes": 4096,
// JSON-NEXT:     "ratio": 0.625
func.func @static(%x: tensor<32x64xbf16>, %q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>) {
  // The second result of an op.
  // CHECK-NEXT:static.1#1: !te_quant.tensor<f32>
  // CHECK-NEXT:  data                  ()                                                   f32              4
  // CHECK-NEXT:  total                                                                                       4 bytes, 4 as f32 (100.0%)
  // JSON: "name": "static.1#1"
  // JSON: "quantizer": null
  %a:2 = "test.op"() : () -> (i32, !te_quant.tensor<f32>)
  return
}

// Rows are the product of the leading dims, static parts folded; what the rules make static is a number.
// CHECK-NEXT:dynamic.arg0: !te_quant.tensor<?x4x?xf16, #te_quant.nvfp4>
// CHECK-NEXT:  rowwise_data          (d0, 4, d2 ceildiv 2)                                i8         dynamic
// CHECK-NEXT:  rowwise_scale_inv     (((d0 * 4) ceildiv 128) * 128, (d2 ceildiv 64) * 4)  f8E4M3FN   dynamic
// CHECK-NEXT:  columnwise_data       (d2, d0 * 2)                                         i8         dynamic
// CHECK-NEXT:  columnwise_scale_inv  ((d2 ceildiv 128) * 128, ((d0 * 4) ceildiv 64) * 4)  f8E4M3FN   dynamic
// CHECK-NEXT:  amax_rowwise          (1)                                                  f32              4
// CHECK-NEXT:  amax_columnwise       (1)                                                  f32              4
// CHECK-NEXT:  total                                                                                 dynamic
// JSON: "name": "dynamic.arg0"
// JSON: "d2 ceildiv 2"
// JSON: "bytes": null
func.func @dynamic(%q: !te_quant.tensor<?x4x?xf16, #te_quant.nvfp4>) {
  // A zero among the dims: empty whatever the others are, and no ratio.
  // CHECK-NEXT:dynamic.1: !te_quant.tensor<0x?x8xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
  // CHECK-NEXT:  data                  (0, d1, 8)                                           f8E4M3FN         0
  // CHECK-NEXT:  scale_inv             (1)                                                  f32              4
  // CHECK-NEXT:  total                                                                                       4 bytes, 0 as f32
  // JSON: "name": "dynamic.1"
  // JSON: "ratio": null
  %z = "test.op"() ({
  // CHECK-NEXT:dynamic.arg1: !te_quant.tensor<8x16xbf16>
  // CHECK-NEXT:  data                  (8, 16)                                              bf16           256
  // CHECK-NEXT:  total                                                                                     256 bytes, 256 as bf16 (100.0%)
  ^bb0(%inner: !te_quant.tensor<8x16xbf16>):
    "test.end"() : () -> ()
  }) : () -> !te_quant.tensor<0x?x8xf32, #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>>
  return
}

// Outside of functions a value has its own name alone. A declaration has no values.
func.func private @declared(!te_quant.tensor<8x16xbf16>)
// CHECK:0: !te_quant.tensor<4xf32>
// CHECK-NEXT:  data                  (4)                                                  f32             16
// CHECK-NEXT:  total                                                                                      16 bytes, 16 as f32 (100.0%)
%top = "test.op"() : () -> !te_quant.tensor<4xf32>
