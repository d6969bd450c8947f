// Each role of a layer gets the quantizer of its recipe, and no other role has
// one (R-5); backward is given what the quantized layer saves.
// RUN: te-opt %s --te-quant-apply-recipe=recipe=mxfp8 --split-input-file | FileCheck %s
// RUN: te-opt %s --te-quant-apply-recipe=recipe=float8_current --split-input-file \
// RUN:   | FileCheck %s --check-prefix=CURRENT
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_current fp8-format=e4m3 force-pow-2-scales=input,grad_output amax-epsilon-weight=0.5" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=FLAGS
// RUN: te-opt %s --te-quant-apply-recipe=recipe=float8_block --split-input-file \
// RUN:   | FileCheck %s --check-prefix=BLOCK
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_block with-2d-quantization=none force-pow-2-scales=none amax-epsilon-input=1.0 fp8-format=hybrid" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=BLOCK1D
// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8 with-2d-quantization=weight fp8-format=hybrid" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=MX2D
// RUN: te-opt %s --te-quant-apply-recipe=recipe=nvfp4 --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NVFP4
// RUN: te-opt %s --te-quant-apply-recipe="recipe=nvfp4 with-rht=false stochastic-rounding=false with-2d-quantization=none use-4over6=all e4m3-max-256=weights err-mode=MSE" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=FOUR
// RUN: te-opt %s --te-quant-apply-recipe="recipe=nvfp4 with-rht=false row-scaled-activation=true use-4over6=weights" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=ROWS
// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8 backward-override=dequantized" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=OVERRIDE

// What the pass makes can be taken apart, and there is something to take apart.
// RUN: te-opt %s --te-quant-apply-recipe=recipe=nvfp4 --te-quant-decompose-linear --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PARTS

// CURRENT-DAG: #[[X:.*]] = #te_quant.float8_current_scaling<f8E4M3FN, internal = true>
// CURRENT-DAG: #[[DY:.*]] = #te_quant.float8_current_scaling<f8E5M2, internal = true>
// CURRENT: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[X]]

// R-2, H-27
// FLAGS-DAG: #[[X:.*]] = #te_quant.float8_current_scaling<f8E4M3FN, force_pow_2_scales = true, internal = true>
// FLAGS-DAG: #[[W:.*]] = #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = 5.000000e-01, internal = true>
// FLAGS: {bias_requires_grad = true, grad_output_quantizer = #[[X]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// R-3
// BLOCK-DAG: #[[X:.*]] = #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1, internal = true>
// BLOCK-DAG: #[[W:.*]] = #te_quant.float8_block_scaling<f8E4M3FN, internal = true>
// BLOCK: {bias_requires_grad = true, grad_output_quantizer = #[[X]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// BLOCK1D-DAG: #[[X:.*]] = #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1, force_pow_2_scales = false, amax_epsilon = 1.000000e+00, internal = true>
// BLOCK1D-DAG: #[[W:.*]] = #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1, force_pow_2_scales = false, internal = true>
// BLOCK1D-DAG: #[[DY:.*]] = #te_quant.float8_block_scaling<f8E5M2, block_scaling_dim = 1, force_pow_2_scales = false, internal = true>
// BLOCK1D: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// MX2D-DAG: #[[X:.*]] = #te_quant.mxfp8<f8E4M3FN, internal = true>
// MX2D-DAG: #[[W:.*]] = #te_quant.mxfp8<f8E4M3FN, with_2d_quantization = true, internal = true>
// MX2D-DAG: #[[DY:.*]] = #te_quant.mxfp8<f8E5M2, internal = true>
// MX2D: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// R-4
// NVFP4-DAG: #[[X:.*]] = #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, internal = true>
// NVFP4-DAG: #[[W:.*]] = #te_quant.nvfp4<with_2d_quantization = true, internal = true>
// NVFP4-DAG: #[[DY:.*]] = #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true, stochastic_rounding = true, internal = true>
// NVFP4: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// FOUR-DAG: #[[X:.*]] = #te_quant.nvfp4<use_4over6 = true, err_mode = MSE, internal = true>
// FOUR-DAG: #[[W:.*]] = #te_quant.nvfp4<use_4over6 = true, e4m3_max = 256, err_mode = MSE, internal = true>
// FOUR-DAG: #[[DY:.*]] = #te_quant.nvfp4<err_mode = MSE, internal = true>
// FOUR: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// ROWS-DAG: #[[X:.*]] = #te_quant.nvfp4<row_scaled = true, internal = true>
// ROWS-DAG: #[[W:.*]] = #te_quant.nvfp4<with_2d_quantization = true, use_4over6 = true, e4m3_max = 256, internal = true>
// ROWS-DAG: #[[DY:.*]] = #te_quant.nvfp4<stochastic_rounding = true, internal = true>
// ROWS: {bias_requires_grad = true, grad_output_quantizer = #[[DY]], input_quantizer = #[[X]], weight_quantizer = #[[W]]

// CHECK: #[[MX:.*]] = #te_quant.mxfp8<f8E4M3FN, internal = true>
// CHECK-LABEL: func.func @r5_step
// CHECK-SAME: %[[X:.*]]: tensor<64x256xbf16>, %[[W:.*]]: tensor<128x256xbf16>, %[[B:.*]]: tensor<128xbf16>, %[[DY:.*]]: tensor<64x128xbf16>)
// CHECK: %[[Y:.*]], %[[INPUT:.*]], %[[WEIGHTMAT:.*]] = te_quant.linear %[[X]], %[[W]] bias(%[[B]])
// CHECK-SAME: {bias_requires_grad = true, grad_output_quantizer = #[[MX]], input_quantizer = #[[MX]], weight_quantizer = #[[MX]]}
// CHECK: %[[DW:.*]], %[[DX:.*]], %[[DB:.*]] = te_quant.linear_backward %[[DY]] input(%[[INPUT]]) weightmat(%[[WEIGHTMAT]]) weight(%[[W]]) bias(%[[B]])
// CHECK: return %[[Y]], %[[DW]], %[[DX]], %[[DB]]

// R-7: what is saved is quantized for decoding, and backward computes plainly.
// OVERRIDE-LABEL: func.func @r5_step
// OVERRIDE: te_quant.linear {{.*}}backward_override = #te_quant.backward_override<dequantized>
// OVERRIDE-SAME: !te_quant.tensor<64x256xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, internal = true>>
// OVERRIDE: te_quant.linear_backward {{.*}}backward_override = #te_quant.backward_override<dequantized>

// PARTS-LABEL: func.func @r5_step
// PARTS-NOT: te_quant.linear
// PARTS: te_quant.gemm TN
// PARTS: te_quant.gemm NN
// PARTS: te_quant.gemm NT

func.func @r5_step(%x: tensor<64x256xbf16>, %w: tensor<128x256xbf16>, %b: tensor<128xbf16>, %dy: tensor<64x128xbf16>)
    -> (tensor<64x128xbf16>, tensor<128x256xbf16>, tensor<64x256xbf16>, tensor<128xbf16>) {
  %y = te_quant.linear %x, %w bias(%b) {bias_requires_grad = true} : tensor<64x256xbf16>, tensor<128x256xbf16>, tensor<128xbf16>
  %dw, %dx, %db = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w) bias(%b) {bias_requires_grad = true}
    : tensor<64x128xbf16>, tensor<64x256xbf16>, tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<128xbf16>
  return %y, %dw, %dx, %db : tensor<64x128xbf16>, tensor<128x256xbf16>, tensor<64x256xbf16>, tensor<128xbf16>
}

// -----

// Two layers with one weight: each backward takes from its own forward. A plain
// layer in another dtype saves values of its own, which quantized ones replace.

// CHECK-LABEL: func.func @shared_weight
// CHECK: %{{.*}}, %[[INPUT0:.*]], %[[WEIGHTMAT0:.*]] = te_quant.linear %[[X0:.*]], %[[W:.*]] {
// CHECK: %{{.*}}, %[[INPUT1:.*]], %[[WEIGHTMAT1:.*]] = te_quant.linear %[[X1:.*]], %[[W]] {
// CHECK: te_quant.linear_backward %{{.*}} input(%[[INPUT1]]) weightmat(%[[WEIGHTMAT1]]) weight(%[[W]])
// CHECK: te_quant.linear_backward %{{.*}} input(%[[INPUT0]]) weightmat(%[[WEIGHTMAT0]]) weight(%[[W]])
func.func @shared_weight(%x0: tensor<64x128xbf16>, %x1: tensor<64x128xbf16>, %w: tensor<128x128xbf16>, %dy: tensor<64x128xbf16>)
    -> (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xbf16>) {
  %y0 = te_quant.linear %x0, %w : tensor<64x128xbf16>, tensor<128x128xbf16>
  %y1 = te_quant.linear %x1, %w : tensor<64x128xbf16>, tensor<128x128xbf16>
  %dw1, %dx1 = te_quant.linear_backward %dy input(%x1) weightmat(%w) weight(%w)
    : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xbf16>
  %dw0, %dx0 = te_quant.linear_backward %dy input(%x0) weightmat(%w) weight(%w)
    : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xbf16>
  return %y0, %y1, %dw0, %dw1 : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xbf16>
}

// CHECK-LABEL: func.func @cast
// CHECK: %{{.*}}, %[[INPUT:.*]], %[[WEIGHTMAT:.*]] = te_quant.linear %{{.*}} {activation_dtype = bf16,
// CHECK-SAME: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>>
// CHECK: te_quant.linear_backward %{{.*}} input(%[[INPUT]]) weightmat(%[[WEIGHTMAT]])
func.func @cast(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>, %dy: tensor<64x128xbf16>)
    -> (tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>) {
  %y, %input, %weightmat = te_quant.linear %x, %w {activation_dtype = bf16} : tensor<64x128xf32>, tensor<128x128xf32>
  %dw, %dx = te_quant.linear_backward %dy input(%input) weightmat(%weightmat) weight(%w) {activation_dtype = bf16}
    : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x128xf32>
  return %y, %dw, %dx : tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xbf16>
}

// -----

// Layers within control flow need no state here.

// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: te_quant.linear {{.*}}input_quantizer = #
func.func @loop(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %n: index) -> tensor<64x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%value = %x) -> tensor<64x64xbf16> {
    %next = te_quant.linear %value, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
    scf.yield %next : tensor<64x64xbf16>
  }
  return %y : tensor<64x64xbf16>
}

// A product of linalg; the dynamic dim is checked at run time.

// CHECK-LABEL: func.func @product
// CHECK: te_quant.linear {{.*}}{input_quantizer = #{{.*}}, is_grad_enabled = false, weight_quantizer = #{{.*}}} : tensor<?x128xbf16>
// PARTS-LABEL: func.func @product
// PARTS: te_quant.check
// PARTS: te_quant.gemm TN
func.func @product(%x: tensor<?x128xbf16>, %w: tensor<32x128xbf16>, %init: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %filled = linalg.fill ins(%zero : bf16) outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x128xbf16>, tensor<32x128xbf16>) outs(%filled : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// CHECK-LABEL: module @nested
// CHECK: te_quant.linear {{.*}}input_quantizer
module @nested {
  func.func @layer(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
}
