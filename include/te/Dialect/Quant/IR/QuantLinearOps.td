//===- QuantLinearOps.td - linear layers, forward and backward ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTLINEAROPS_TD
#define TE_DIALECT_QUANT_IR_QUANTLINEAROPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "te/Dialect/Quant/IR/QuantLinearAttrs.td"

/// One direction of a linear layer. Its plan says what it takes and gives.
class TEQuant_LinearOpBase<string mnemonic, string planType>
    : TEQuant_Op<mnemonic, [
        Pure, AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The attributes as a configuration.
    ::te::quant::LinearConfig getConfig();

    /// What the op takes, gives and consists of; fails without a diagnostic
    /// where the verifier would.
    ::llvm::FailureOr<::te::quant::}] # planType # [{> getPlan();

    /// The verifier compares types, and names the result at fault.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) {
      return true;
    }
  }];
}

def TEQuant_LinearOp
    : TEQuant_LinearOpBase<"linear", "LinearForwardPlan"> {
  let summary = "a linear layer, forward";
  let description = [{
    `y = x w^T + bias` with quantized operands where quantizers are given, and
    what backward needs. The weight is `(out, in)`, the input `(..., in)`.

    | group | type | meaning |
    |---|---|---|
    | `bias` | tensor of `out` elements | added before a collective, hence not with row parallelism |
    | `workspace` | quantized tensor | a cached quantized weight |
    | `skip_update` | `tensor<1xf32>` | exactly 1.0 leaves the workspace as it is |
    | `scale` | `tensor<1xf32>`s | one for each operand quantized here by delayed scaling, in the order input, weight, output |
    | `rng` | `tensor<2xi64>` | seed and offset, there exactly when an operand is rounded stochastically |

    Results, of which only the first is always there:

    1. the output;
    2. the workspace: a new one that the caller keeps, or the given one
       refreshed, in the same buffers;
    3. the saved tensors that backward needs and that are no operand and no
       result above, in the order input, weight;
    4. an amax for each scale.

    Operands, results and attributes together determine the results' types, and
    which of the four *saved slots* (input, quantized weight, weight, bias) are
    results and which name something that is there already: the plan of the op.
    The types may be left out; they are printed after `->`.

    | attribute | default | meaning |
    |---|---|---|
    | `input_quantizer`, `weight_quantizer`, `output_quantizer`, `grad_output_quantizer`, `grad_input_quantizer` | none | how each role is quantized; without any the layer computes in high precision |
    | `activation_dtype` | that of the input | element type of the output |
    | `is_grad_enabled`, `input_requires_grad`, `weight_requires_grad`, `bias_requires_grad` | true, true, true, false | what will be differentiated |
    | `save_original_input` | false | save the input itself and quantize it again in backward |
    | `backward_override` | `none` | go backward in high precision |
    | `microbatch` | `none` | a workspace is refreshed unless this is a later one |
    | `cache_weight` | false | return a workspace where none is given |
    | `parallel_mode`, `sequence_parallel`, `tp_size`, `tp_group` | none | tensor parallelism |
    | `fsdp2` | false | the weight is gathered for each use and its quantized form not kept |
    | `activation_recompute` | `off` | part of a recomputation |
    | `recipe_is_custom` | false | the quantizers come from the user's factory |

    Example:

    ```mlir
    #mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
    func.func @linear(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y, %saved_input, %saved_weightmat = te_quant.linear %x, %w {
        input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx
      } : tensor<64x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_PlainOrQuantized:$x,
    TEQuant_PlainOrQuantized:$w,
    Optional<TEQuant_PlainTensor>:$bias,
    Optional<TEQuant_QuantizedSpec>:$workspace,
    Optional<TEQuant_ScalarTensor>:$skip_update,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng
  ), linearAttributes);
}

def TEQuant_LinearBackwardOp
    : TEQuant_LinearOpBase<"linear_backward", "LinearBackwardPlan"> {
  let summary = "a linear layer, backward";
  let description = [{
    The gradients of `linear` from the gradient of its output and the slots that
    it saved. A slot that is a value is a result of `linear`; one that is a name
    is what it names: the operand of that group, or the workspace result.

    | group | meaning |
    |---|---|
    | `input` | the saved input, there when the weight is differentiated |
    | `weightmat` | the quantized weight, missing only where `fsdp2` does not keep it |
    | `weight` | the weight |
    | `bias` | the bias, there when `linear` had one |
    | `accumulate` | a main gradient that the gradient of the weight is added to |
    | `scale`, `rng` | as in `linear`, in the order input, weight, gradient of the output, gradient of the input |

    Results, each there only when its operand is differentiated: the gradients
    of the weight, of the input and of the bias, then an amax for each scale.
    With `accumulate` the first is the main gradient's new value, in the same
    buffer. The attributes are those of `linear` and one more,
    `fuse_wgrad_accumulation`, which demands `accumulate`.

    Example:

    ```mlir
    #mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
    #mxcol = #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>
    func.func @backward(%dy: tensor<64x32xbf16>, %x: !te_quant.tensor<64x128xbf16, #mxcol>,
                        %wm: !te_quant.tensor<32x128xbf16, #mx>, %w: tensor<32x128xbf16>)
        -> (tensor<32x128xbf16>, tensor<64x128xbf16>) {
      %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%wm) weight(%w) {
        input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx
      } : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>
      return %dw, %dx : tensor<32x128xbf16>, tensor<64x128xbf16>
    }
    ```
  }];
  let arguments = !con((ins
    TEQuant_PlainOrQuantized:$dy,
    Optional<TEQuant_PlainOrQuantized>:$input,
    Optional<TEQuant_PlainOrQuantized>:$weightmat,
    TEQuant_PlainOrQuantized:$weight,
    Optional<TEQuant_PlainTensor>:$bias,
    Optional<RankedTensorOf<[F32, BF16, F16]>>:$accumulate,
    Variadic<TEQuant_ScalarTensor>:$scale,
    Optional<RankedTensorOf<[I64]>>:$rng
  ), linearAttributes, (ins
    DefaultValuedOptionalAttr<BoolAttr, "false">:$fuse_wgrad_accumulation
  ));
}

#endif // TE_DIALECT_QUANT_IR_QUANTLINEAROPS_TD
