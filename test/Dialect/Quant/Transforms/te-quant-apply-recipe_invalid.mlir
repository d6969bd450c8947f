// Options that a recipe does not have, and those that exclude each other.
// RUN: not te-opt %s --te-quant-apply-recipe 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=mxfp8 chip=sm_1" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=mxfp8 fp8-format=e5m2" 2>&1 | FileCheck %s --check-prefix=E5M2
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=nvfp4 fp8-format=e4m3" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=mxfp8 with-rht=false" 2>&1 | FileCheck %s --check-prefix=RHT
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=mxfp8 with-2d-quantization=input" 2>&1 | FileCheck %s --check-prefix=MX2D
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=float8_block with-2d-quantization=weight,grad_output" 2>&1 | FileCheck %s --check-prefix=R3
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=float8_block with-2d-quantization=output" 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=float8_current amax-epsilon-weight=-1.0" 2>&1 | FileCheck %s --check-prefix=EPSILON
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=float8_current amax-epsilon-weight=inf" 2>&1 | FileCheck %s --check-prefix=INF
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=delayed backward-override=high_precision" 2>&1 | FileCheck %s --check-prefix=OVERRIDE
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=nvfp4 use-4over6=activations" 2>&1 | FileCheck %s --check-prefix=R4
// RUN: not te-opt %s --te-quant-apply-recipe="recipe=nvfp4 row-scaled-activation=true" 2>&1 | FileCheck %s --check-prefix=ROWS

// NONE: error: 'te-quant-apply-recipe' needs the option 'recipe'
// CHIP: error: unknown chip 'sm_1', expected one of sm_80,
// E5M2: error: expected fp8-format 'e4m3' or 'hybrid', but got 'e5m2': no recipe has E5M2 for inputs and weights
// FORMAT: error: recipe 'nvfp4' has no option 'fp8-format'
// RHT: error: recipe 'mxfp8' has no option 'with-rht'
// MX2D: error: recipe 'mxfp8' has 2-D blocks for the weight only, but got 'input'
// R3: error: expected at most one role with 128x128 blocks, but got 'weight' and 'grad_output'
// ROLE: error: expected roles of 'input', 'weight' and 'grad_output', or 'none', for 'with-2d-quantization', but got 'output'
// EPSILON: error: expected an amax epsilon that is finite and not negative, but got -1
// INF: error: expected an amax epsilon that is finite and not negative, but got inf
// OVERRIDE: error: recipe 'delayed' has no backward override, but got 'high_precision'
// R4: error: expected 'with-rht' to be off with 'use-4over6' for 'input'
// ROWS: error: expected 'with-rht' to be off with 'row-scaled-activation', which has no transform for 'input'

// R-8: what a chip lacks is said of each layer, and is no error.
// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8 chip=sm_90a" 2>&1 | FileCheck %s --check-prefix=SM90
// RUN: te-opt %s --te-quant-apply-recipe="recipe=mxfp8 chip=sm_120a" 2>&1 | FileCheck %s --check-prefix=SM120
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_block chip=sm_89" 2>&1 | FileCheck %s --check-prefix=SM89
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_current chip=sm_86" 2>&1 | FileCheck %s --check-prefix=SM86
// RUN: te-opt %s --te-quant-apply-recipe="recipe=float8_current chip=sm_89" 2>&1 | FileCheck %s --check-prefix=APPLIED
// RUN: te-opt %s --te-quant-apply-recipe="recipe=nvfp4 chip=sm_120a" 2>&1 | FileCheck %s --check-prefix=APPLIED

// SM90: remark: 'te_quant.linear' op is not quantized: recipe 'mxfp8' needs compute capability 10.0 or more and less than 12.0, but got 9.0
// SM120: is not quantized: recipe 'mxfp8' needs compute capability 10.0 or more and less than 12.0, but got 12.0
// SM89: is not quantized: recipe 'float8_block' needs compute capability 9.0 or more, but got 8.9
// SM86: is not quantized: recipe 'float8_current' needs compute capability 8.9 or more, but got 8.6
// APPLIED: input_quantizer
func.func @r8_layer(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16>
  return %y : tensor<64x32xbf16>
}
