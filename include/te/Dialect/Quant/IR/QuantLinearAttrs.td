//===- QuantLinearAttrs.td - what ops that contain linear layers share ----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTLINEARATTRS_TD
#define TE_DIALECT_QUANT_IR_QUANTLINEARATTRS_TD

include "te/Dialect/Quant/IR/QuantConstraints.td"

/// A tensor or a quantized tensor.
def TEQuant_PlainOrQuantized : AnyTypeOf<
    [TEQuant_PlainTensor, TEQuant_QuantizedSpec],
    "ranked tensor of f32, bf16 or f16, or TensorSpec">;

/// What both directions of a linear layer take, as fixed when the op is built.
defvar linearAttributes = (ins
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$input_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$weight_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$output_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$grad_input_quantizer,
  OptionalAttr<TEQuant_QuantizerAttrInterface>:$grad_output_quantizer,
  OptionalAttr<TypeAttrOf<AnyTypeOf<[F32, BF16, F16]>>>:$activation_dtype,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$is_grad_enabled,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$input_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "true">:$weight_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$bias_requires_grad,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$save_original_input,
  DefaultValuedOptionalAttr<TEQuant_BackwardOverrideAttr,
      "::te::quant::BackwardOverride::None">:$backward_override,
  DefaultValuedOptionalAttr<TEQuant_MicrobatchAttr,
      "::te::quant::Microbatch::None">:$microbatch,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$cache_weight,
  DefaultValuedOptionalAttr<TEQuant_ParallelModeAttr,
      "::te::quant::ParallelMode::None">:$parallel_mode,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$sequence_parallel,
  DefaultValuedOptionalAttr<I64Attr, "1">:$tp_size,
  OptionalAttr<StrAttr>:$tp_group,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$fsdp2,
  DefaultValuedOptionalAttr<TEQuant_ActivationRecomputeAttr,
      "::te::quant::ActivationRecompute::Off">:$activation_recompute,
  DefaultValuedOptionalAttr<BoolAttr, "false">:$recipe_is_custom
);

#endif // TE_DIALECT_QUANT_IR_QUANTLINEARATTRS_TD
