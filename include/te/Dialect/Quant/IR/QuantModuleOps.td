//===- QuantModuleOps.td - layers that contain linear layers --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTMODULEOPS_TD
#define TE_DIALECT_QUANT_IR_QUANTMODULEOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "te/Dialect/Quant/IR/QuantLinearAttrs.td"

def TEQuant_BuiltinTensor : RankedTensorOf<[F32, BF16, F16]>;

/// What a norm is, as fixed when the op is built.
defvar normAttributes = (ins
  DefaultValuedOptionalAttr<TEQuant_NormalizationAttr,
      "::te::quant::Normalization::LayerNorm">:$normalization,
  DefaultValuedOptionalAttr<F64Attr, "1e-5">:$eps,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$zero_centered_gamma,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$return_layernorm_output
);

/// A layer that contains linear layers. Its plan says what it takes and gives.
class TEQuant_ModuleOp<string mnemonic, string planType>
    : TEQuant_Op<mnemonic, [
        Pure, AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the op takes, gives and consists of; fails without a diagnostic
    /// where the verifier would.
    ::llvm::FailureOr<::te::quant::}] # planType # [{> getPlan();

    /// The verifier compares types, and names the result at fault.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) {
      return true;
    }
  }];
}

def TEQuant_LayerNormLinearOp
    : TEQuant_ModuleOp<"layernorm_linear", "LayerNormLinearPlan"> {
  let summary = "a norm and a linear layer, forward";
  let description = [{
    `y = norm(x) w^T + bias`: the norm of each row of `x` in f32, rounded to the
    activation dtype, then what `linear` does with it. The groups and attributes
    of `linear` mean the same here; `save_original_input` and
    `grad_input_quantizer` are not for this op, and `input_requires_grad` and
    `activation_recompute` change nothing, as the norm always needs a gradient.

    | group or attribute | default | meaning |
    |---|---|---|
    | second operand, `gamma` | | factors, as many as a row has elements |
    | `beta` | | summands, there exactly with `LayerNorm` |
    | `normalization` | `LayerNorm` | or `RMSNorm` |
    | `eps` | 1e-5 | added to the variance or mean square |
    | `zero_centered_gamma` | false | the factors are `gamma + 1` |
    | `return_layernorm_output` | false | the norm's output is a result |

    Results: the output, the workspace, the norm's output, the saved tensors in
    the order weight, norm's output, mean, reciprocal deviation, and an amax for
    each scale; each but the first only where there is one.

    Example:

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %gamma: tensor<128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y = te_quant.layernorm_linear %x, %gamma, %w {
        normalization = #te_quant.normalization<RMSNorm>, is_grad_enabled = false
      } : tensor<64x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_BuiltinTensor:$x,
    TEQuant_BuiltinTensor:$gamma,
    TEQuant_PlainOrQuantized:$w,
    Optional<TEQuant_BuiltinTensor>:$beta,
    Optional<TEQuant_PlainTensor>:$bias,
    Optional<TEQuant_QuantizedSpec>:$workspace,
    Optional<TEQuant_ScalarTensor>:$skip_update,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng
  ), linearAttributes, normAttributes);
}

def TEQuant_LayerNormLinearBackwardOp
    : TEQuant_ModuleOp<"layernorm_linear_backward",
                       "LayerNormLinearBackwardPlan"> {
  let summary = "a norm and a linear layer, backward";
  let description = [{
    The gradients of `layernorm_linear` from that of its output and what it
    saved. The groups are those of `linear_backward` with these besides:

    | group | meaning |
    |---|---|
    | `input` | the input of the layer |
    | `gamma`, `beta` | the norm's operands |
    | `norm_output` | the saved input of the product, where `linear_backward` has `input` |
    | `mu`, `rsigma` | the saved statistics; `mu` with `LayerNorm` only |
    | `grad_norm_output` | the gradient of the norm's output, where it is returned |

    Results: the gradients of the weight, the input, the bias, `gamma` and
    `beta`, each where there is one, then an amax for each scale.

    Example:

    ```mlir
    func.func @f(%dy: tensor<64x32xf32>, %x: tensor<64x128xf32>, %g: tensor<128xf32>, %w: tensor<32x128xf32>,
                 %n: tensor<64x128xf32>, %r: tensor<64xf32>) -> tensor<64x128xf32> {
      %dw, %dx, %dg = te_quant.layernorm_linear_backward %dy input(%x) gamma(%g) norm_output(%n) weightmat(%w)
        weight(%w) rsigma(%r) {normalization = #te_quant.normalization<RMSNorm>}
        : tensor<64x32xf32>, tensor<64x128xf32>, tensor<128xf32>, tensor<64x128xf32>, tensor<32x128xf32>,
          tensor<32x128xf32>, tensor<64xf32>
      return %dx : tensor<64x128xf32>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_PlainOrQuantized:$dy,
    TEQuant_BuiltinTensor:$input,
    TEQuant_BuiltinTensor:$gamma,
    Optional<TEQuant_BuiltinTensor>:$beta,
    Optional<TEQuant_PlainOrQuantized>:$norm_output,
    Optional<TEQuant_PlainOrQuantized>:$weightmat,
    TEQuant_PlainOrQuantized:$weight,
    Optional<TEQuant_PlainTensor>:$bias,
    Optional<RankedTensorOf<[F32]>>:$mu,
    RankedTensorOf<[F32]>:$rsigma,
    Optional<TEQuant_BuiltinTensor>:$grad_norm_output,
    Optional<RankedTensorOf<[F32, BF16, F16]>>:$accumulate,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng
  ), linearAttributes, normAttributes, (ins
    DefaultValuedOptionalAttr<BoolAttr, "false">:$fuse_wgrad_accumulation
  ));
}

/// What both directions of a perceptron take.
defvar mlpAttributes = (ins
  DefaultValuedOptionalAttr<TEQuant_ActivationAttr,
      "::te::quant::Activation::GELU">:$activation,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc1_input_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc1_weight_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc1_grad_output_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc2_input_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc2_weight_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc2_output_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$fc2_grad_output_quantizer,
  OptionalAttr<TypeAttrOf<AnyTypeOf<[F32, BF16, F16]>>>:$activation_dtype,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$is_grad_enabled,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$fc1_weight_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$fc2_weight_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$fc1_bias_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$fc2_bias_requires_grad,
  DefaultValuedOptionalAttr<TEQuant_BackwardOverrideAttr,
      "::te::quant::BackwardOverride::None">:$backward_override,
  DefaultValuedOptionalAttr<TEQuant_MicrobatchAttr,
      "::te::quant::Microbatch::None">:$microbatch,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$cache_weight,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$set_parallel_mode,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$sequence_parallel,
  DefaultValuedOptionalAttr<I64Attr, "1">:$tp_size,
  OptionalAttr<StrAttr>:$tp_group,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$fsdp2,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$recipe_is_custom
);

def TEQuant_LayerNormMLPOp
    : TEQuant_ModuleOp<"layernorm_mlp", "LayerNormMLPPlan"> {
  let summary = "a norm, a linear layer, an activation and another, forward";
  let description = [{
    `y = act(norm(x) w1^T + bias1) w2^T + bias2`. The norm is that of
    `layernorm_linear`; each product is a `linear`, the first one on the norm's
    output, the second one on the activation, which is computed in f32 and rounded
    to the activation dtype. Attributes are those of `linear`, once for both or
    with a prefix for one. A gated activation takes the function of the first
    half of a row times the second half.

    With `set_parallel_mode` the first product is split by output features and
    the second by input features. A backward override is refused.

    Results, each but the first only where there is one: the output; the
    workspaces; the norm's output; the saved tensors `norm_output`,
    `fc1_weightmat`, `hidden` (what the activation reads), `activated`,
    `fc2_weightmat`, `mu`, `rsigma`; an amax for each scale, those of the first
    product first.

    Example:

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %g: tensor<128xbf16>, %w1: tensor<96x128xbf16>, %w2: tensor<32x48xbf16>)
        -> tensor<64x32xbf16> {
      %y = te_quant.layernorm_mlp %x, %g, %w1, %w2 {
        normalization = #te_quant.normalization<RMSNorm>, activation = #te_quant.activation<swiglu>,
        is_grad_enabled = false
      } : tensor<64x128xbf16>, tensor<128xbf16>, tensor<96x128xbf16>, tensor<32x48xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_BuiltinTensor:$x,
    TEQuant_BuiltinTensor:$gamma,
    TEQuant_PlainOrQuantized:$w1,
    TEQuant_PlainOrQuantized:$w2,
    Optional<TEQuant_BuiltinTensor>:$beta,
    Optional<TEQuant_PlainTensor>:$bias1,
    Optional<TEQuant_PlainTensor>:$bias2,
    Optional<TEQuant_QuantizedSpec>:$workspace1,
    Optional<TEQuant_QuantizedSpec>:$workspace2,
    Optional<TEQuant_ScalarTensor>:$skip_update,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng
  ), mlpAttributes, normAttributes);
}

def TEQuant_LayerNormMLPBackwardOp
    : TEQuant_ModuleOp<"layernorm_mlp_backward", "LayerNormMLPBackwardPlan"> {
  let summary = "a norm, a linear layer, an activation and another, backward";
  let description = [{
    The gradients of `layernorm_mlp` from that of its output and what it saved:
    a `linear_backward`, the activation's gradient in f32 rounded to the
    activation dtype, and a `layernorm_linear_backward`. The groups are those of
    that op, with 1 or 2 after the names that both products have, and besides:

    | group | meaning |
    |---|---|
    | `hidden` | what the activation reads |
    | `activated` | the saved input of the second product |

    Results, each only where there is one: the gradients of both weights, the
    input, both biases, `gamma` and `beta`, then an amax for each scale, those of
    the first product first.

    Example:

    ```mlir
    func.func @f(%dy: tensor<8x32xf32>, %x: tensor<8x128xf32>, %g: tensor<128xf32>, %w1: tensor<96x128xf32>,
                 %w2: tensor<32x96xf32>, %n: tensor<8x128xf32>, %h: tensor<8x96xf32>, %a: tensor<8x96xf32>, %r: tensor<8xf32>)
        -> tensor<8x128xf32> {
      %dw1, %dw2, %dx, %dg = te_quant.layernorm_mlp_backward %dy input(%x) gamma(%g) norm_output(%n) weightmat1(%w1)
        weight1(%w1) hidden(%h) activated(%a) weightmat2(%w2) weight2(%w2) rsigma(%r)
        {normalization = #te_quant.normalization<RMSNorm>}
        : tensor<8x32xf32>, tensor<8x128xf32>, tensor<128xf32>, tensor<8x128xf32>, tensor<96x128xf32>,
          tensor<96x128xf32>, tensor<8x96xf32>, tensor<8x96xf32>, tensor<32x96xf32>, tensor<32x96xf32>, tensor<8xf32>
      return %dx : tensor<8x128xf32>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_PlainOrQuantized:$dy,
    TEQuant_BuiltinTensor:$input,
    TEQuant_BuiltinTensor:$gamma,
    Optional<TEQuant_BuiltinTensor>:$beta,
    Optional<TEQuant_PlainOrQuantized>:$norm_output,
    Optional<TEQuant_PlainOrQuantized>:$weightmat1,
    TEQuant_PlainOrQuantized:$weight1,
    Optional<TEQuant_PlainTensor>:$bias1,
    TEQuant_BuiltinTensor:$hidden,
    Optional<TEQuant_PlainOrQuantized>:$activated,
    Optional<TEQuant_PlainOrQuantized>:$weightmat2,
    TEQuant_PlainOrQuantized:$weight2,
    Optional<TEQuant_PlainTensor>:$bias2,
    Optional<RankedTensorOf<[F32]>>:$mu,
    RankedTensorOf<[F32]>:$rsigma,
    Optional<TEQuant_BuiltinTensor>:$grad_norm_output,
    Optional<TEQuant_BuiltinTensor>:$accumulate1,
    Optional<TEQuant_BuiltinTensor>:$accumulate2,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$fuse_wgrad_accumulation
  ), mlpAttributes, normAttributes);
}

def TEQuant_GroupedLinearOp
    : TEQuant_ModuleOp<"grouped_linear", "GroupedLinearPlan"> {
  let summary = "linear layers of experts that share the rows of an input";
  let description = [{
    `y[rows of e] = x[rows of e] w_e^T + bias_e`. The experts take the rows of
    the input one after the other, as many as `m_splits` or, on the device,
    `splits` says; none is legal. The splits sum to the rows: what is not known
    before is checked at run time. Each expert's part is a `linear` of its own.

    | group or attribute | meaning |
    |---|---|
    | `weights` | one for each expert, of one type |
    | `bias`, `workspace` | none, or one for each expert |
    | `splits` | a tensor of as many i64 |
    | `m_splits` | the same as a constant; exactly one of the two is given |
    | `scale` | those of the first expert, then of the second, ... |

    The other groups and attributes are those of `linear`. A workspace is kept
    whenever there is a microbatch; `fsdp2` changes nothing.

    Results, each but the first only where there is one: the output of all rows;
    a workspace for each expert; the saved inputs of all experts, their saved
    weights; an amax for each scale.

    Example:

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w0: tensor<32x128xbf16>, %w1: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y = te_quant.grouped_linear %x weights(%w0, %w1) {m_splits = array<i64: 64, 0>, is_grad_enabled = false}
        : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_BuiltinTensor:$x,
    Variadic<TEQuant_PlainOrQuantized>:$weights,
    Variadic<TEQuant_PlainTensor>:$bias,
    Optional<RankedTensorOf<[I64]>>:$splits,
    Variadic<TEQuant_QuantizedSpec>:$workspace,
    Optional<TEQuant_ScalarTensor>:$skip_update,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng,
    OptionalAttr<DenseI64ArrayAttr>:$m_splits
  ), linearAttributes);
}

def TEQuant_GroupedLinearBackwardOp
    : TEQuant_ModuleOp<"grouped_linear_backward", "GroupedLinearBackwardPlan"> {
  let summary = "linear layers of experts, backward";
  let description = [{
    The gradients of `grouped_linear`. Each expert's part is a `linear_backward`
    on its rows of the gradient. The groups are those of `linear_backward`, with
    one operand for each expert in `weights` and in the others that are there;
    `input` is instead the one input of all where `grouped_linear` saves its name.
    `splits` and `m_splits` are those of `grouped_linear`.

    Results, each only where there is one: the gradients of the weights, of all
    rows of the input, of the biases, then an amax for each scale.

    Example:

    ```mlir
    func.func @f(%dy: tensor<64x32xf32>, %x: tensor<64x128xf32>, %w0: tensor<32x128xf32>, %w1: tensor<32x128xf32>)
        -> tensor<64x128xf32> {
      %dw0, %dw1, %dx = te_quant.grouped_linear_backward %dy input(%x) weightmat(%w0, %w1) weights(%w0, %w1)
        {m_splits = array<i64: 64, 0>}
        : tensor<64x32xf32>, tensor<64x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>,
          tensor<32x128xf32>, tensor<32x128xf32>
      return %dx : tensor<64x128xf32>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_BuiltinTensor:$dy,
    Variadic<TEQuant_PlainOrQuantized>:$input,
    Variadic<TEQuant_PlainOrQuantized>:$weightmat,
    Variadic<TEQuant_PlainOrQuantized>:$weights,
    Variadic<TEQuant_PlainTensor>:$bias,
    Optional<RankedTensorOf<[I64]>>:$splits,
    Variadic<TEQuant_BuiltinTensor>:$accumulate,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng,
    OptionalAttr<DenseI64ArrayAttr>:$m_splits,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$fuse_wgrad_accumulation
  ), linearAttributes);
}

#endif // TE_DIALECT_QUANT_IR_QUANTMODULEOPS_TD
