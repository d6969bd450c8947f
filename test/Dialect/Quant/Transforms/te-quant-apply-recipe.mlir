// R-1 to R-8: each recipe gives each role its quantizer; layers that do not
// qualify stay as they are, with the rule that failed.

// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8" 2>%t.remarks \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MXFP8
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_current" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=CURRENT
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_block" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=BLOCK
// RUN: te-opt %s --te-quant-apply-recipe="recipe=nvfp4" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=NVFP4
// RUN: te-opt %s --te-quant-apply-recipe="recipe=delayed" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=DELAYED
// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8 chip=sm_90a" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP

// MXFP8: #[[$MX:[a-z0-9_]+]] = #te_quant.mxfp8<f8E4M3FN, internal = true>

// R-8
// CHIP: remark: stays as it is: expected a chip of compute capability 10.0 or more and less than 12.0, but got 'sm_90a'

// R-1: a scale for each quantized tensor, an amax for each scale.
// DELAYED-LABEL: func.func @pair(
// DELAYED-SAME: tensor<1xf32> {te_quant.scale = "input"}
// DELAYED-SAME: tensor<1xf32> {te_quant.scale = "weight"}
// DELAYED-SAME: tensor<1xf32> {te_quant.scale = "grad_output"}
// DELAYED-SAME: tensor<1xf32> {te_quant.amax = "input"}

// R-4: the random state of the gradient.
// NVFP4-LABEL: func.func @pair(
// NVFP4-SAME: %[[RNG:[a-z0-9]+]]: tensor<2xi64> {te_quant.rng}
// NVFP4: te_quant.linear_backward {{.*}} rng(%[[RNG]])

// CHECK-LABEL: func.func @pair(
// CHECK: %[[Y:.*]], %[[IN:.*]], %[[WM:.*]] = te_quant.linear %arg0, %arg1
// CHECK: te_quant.linear_backward %arg2 input(%[[IN]]) weightmat(%[[WM]]) weight(%arg1)
func.func @pair(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %dy: tensor<64x32xbf16>)
    -> (tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>) {
  %y = te_quant.linear %x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>
  %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w)
    : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
  return %y, %dw, %dx : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>
}

// R-2 and R-3: formats by role.
// CURRENT: #te_quant.float8_current_scaling<f8E4M3FN
// CURRENT: #te_quant.float8_current_scaling<f8E5M2
// BLOCK: #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1, internal = true>
// BLOCK: #te_quant.float8_block_scaling<f8E4M3FN, internal = true>

// A weight that is (in, out) is transposed; the bias becomes an operand.
// CHECK-LABEL: func.func @matmul(
// CHECK: %[[W:.*]] = linalg.transpose ins(%arg1
// CHECK: %[[Y:.*]] = te_quant.linear %arg0, %[[W]] bias(%arg2)
// CHECK-NOT: linalg.matmul
// CHECK: return %[[Y]]
func.func @matmul(%x: tensor<64x128xbf16>, %w: tensor<128x32xbf16>, %b: tensor<32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<64x32xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %wide = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%empty : tensor<64x32xbf16>) dimensions = [0]
  %sum = linalg.add ins(%y, %wide : tensor<64x32xbf16>, tensor<64x32xbf16>) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %sum : tensor<64x32xbf16>
}

// Leading dims stay; a transposed weight is (out, in) already.
// CHECK-LABEL: func.func @batched(
// CHECK-NOT: linalg.transpose
// CHECK: te_quant.linear %arg0, %arg1 {
#x = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (n, k)>
#y = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @batched(%x: tensor<4x16x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<4x16x32xbf16> {
  %init = arith.constant dense<0.0> : tensor<4x16x32xbf16>
  %y = linalg.contract indexing_maps = [#x, #w, #y]
    ins(%x, %w : tensor<4x16x128xbf16>, tensor<32x128xbf16>) outs(%init : tensor<4x16x32xbf16>) -> tensor<4x16x32xbf16>
  return %y : tensor<4x16x32xbf16>
}

// REMARK: remark: stays as it is: expected an init that is filled with zero
// CHECK-LABEL: func.func @accumulates(
// CHECK: linalg.matmul
func.func @accumulates(%x: tensor<64x128xbf16>, %w: tensor<128x32xbf16>, %init: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %y = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// REMARK: remark: stays as it is: expected a weight that is an argument of the function, a constant or a global, not computed
// CHECK-LABEL: func.func @computed(
// CHECK: linalg.matmul
func.func @computed(%x: tensor<64x128xbf16>, %a: tensor<128x32xbf16>) -> tensor<64x32xbf16> {
  %init = arith.constant dense<0.0> : tensor<64x32xbf16>
  %w = arith.addf %a, %a : tensor<128x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// REMARK: remark: stays as it is: {{.*}}expected {{.*}} multiple of 8
// CHECK-LABEL: func.func @rows(
// CHECK: linalg.matmul
func.func @rows(%x: tensor<3x128xbf16>, %w: tensor<128x32xbf16>) -> tensor<3x32xbf16> {
  %init = arith.constant dense<0.0> : tensor<3x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<3x128xbf16>, tensor<128x32xbf16>) outs(%init : tensor<3x32xbf16>) -> tensor<3x32xbf16>
  return %y : tensor<3x32xbf16>
}
