//===- QuantEnums.td - the words that quantizers take ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTENUMS_TD
#define TE_DIALECT_QUANT_IR_QUANTENUMS_TD

include "mlir/IR/EnumAttr.td"
include "te/Dialect/Quant/IR/QuantDialect.td"

class TEQuant_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::te::quant";
  let genSpecializedAttr = 0;
}

def TEQuant_Usage : TEQuant_Enum<"Usage",
    "the representations of a tensor that are present", [
  I32EnumAttrCase<"Rowwise", 1, "rowwise">,
  I32EnumAttrCase<"Columnwise", 2, "columnwise">,
  I32EnumAttrCase<"Both", 3, "both">,
]>;

def TEQuant_ErrMode : TEQuant_Enum<"ErrMode",
    "how four-over-six measures the error of a block", [
  I32EnumAttrCase<"MAE", 0>,
  I32EnumAttrCase<"MSE", 1>,
]>;

def TEQuant_ColumnwiseSource : TEQuant_Enum<"ColumnwiseSource",
    "what a hybrid quantizer's columnwise child quantizes", [
  I32EnumAttrCase<"Original", 0, "original">,
  I32EnumAttrCase<"RowwiseDequantized", 1, "rowwise_dequantized">,
]>;

def TEQuant_AmaxAlgo : TEQuant_Enum<"AmaxAlgo",
    "which amax of its history delayed scaling takes", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"MostRecent", 1, "most_recent">,
]>;

def TEQuant_AmaxAlgoAttr : EnumAttr<TEQuant_Dialect, TEQuant_AmaxAlgo,
                                    "amax_algo"> {
  let assemblyFormat = "$value";
  let summary = "which amax of its history delayed scaling takes";
  let description = [{
    `max` or `most_recent`.

    Example:

    ```mlir
    #te_quant<amax_algo max>
    ```
  }];
}

def TEQuant_GemmLayout : TEQuant_Enum<"GemmLayout",
    "which operands of a gemm are transposed, A first", [
  I32EnumAttrCase<"TN", 0>,
  I32EnumAttrCase<"NN", 1>,
  I32EnumAttrCase<"NT", 2>,
]>;

def TEQuant_GemmLayoutAttr : EnumAttr<TEQuant_Dialect, TEQuant_GemmLayout,
                                      "gemm_layout"> {
  let assemblyFormat = "$value";
  let summary = "which operands of a gemm are transposed, A first";
  let description = [{
    `TN`, `NN` or `NT`, in the column-major reading of BLAS.

    Example:

    ```mlir
    #te_quant<gemm_layout TN>
    ```
  }];
}

/// An enum as an attribute of ops: `#te_quant.parallel_mode<column>`.
class TEQuant_WordAttr<EnumAttrInfo info, string attrMnemonic, string words,
                       string example>
    : EnumAttr<TEQuant_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
  let summary = info.summary;
  let description = !strconcat(words, ". Example: `#te_quant.", attrMnemonic,
                               "<", example, ">`");
}

def TEQuant_ParallelMode : TEQuant_Enum<"ParallelMode",
    "how a linear layer's weight is split over a tensor-parallel group", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Column", 1, "column">,
  I32EnumAttrCase<"Row", 2, "row">,
]>;

def TEQuant_ParallelModeAttr : TEQuant_WordAttr<TEQuant_ParallelMode,
    "parallel_mode", "`none`, `column` (by output features) or `row` (by input features)",
    "column">;

def TEQuant_BackwardOverride : TEQuant_Enum<"BackwardOverride",
    "in which precision a layer that computes quantized goes backward", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"HighPrecision", 1, "high_precision">,
  I32EnumAttrCase<"Dequantized", 2, "dequantized">,
]>;

def TEQuant_BackwardOverrideAttr : TEQuant_WordAttr<TEQuant_BackwardOverride,
    "backward_override", "`none` (quantized), `high_precision` (the original operands) or `dequantized`",
    "dequantized">;

def TEQuant_Microbatch : TEQuant_Enum<"Microbatch",
    "which microbatch of a step a call belongs to", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"First", 1, "first">,
  I32EnumAttrCase<"Later", 2, "later">,
]>;

def TEQuant_MicrobatchAttr : TEQuant_WordAttr<TEQuant_Microbatch,
    "microbatch", "`none` (steps have no microbatches), `first` or `later`", "first">;

def TEQuant_ActivationRecompute : TEQuant_Enum<"ActivationRecompute",
    "the part of a call in activation recomputation", [
  I32EnumAttrCase<"Off", 0, "off">,
  I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"Recompute", 2, "recompute">,
]>;

def TEQuant_ActivationRecomputeAttr
    : TEQuant_WordAttr<TEQuant_ActivationRecompute, "activation_recompute",
        "`off`, `forward` (the first pass) or `recompute` (the second)", "forward">;

def TEQuant_Reduction : TEQuant_Enum<"Reduction",
    "how a collective combines the elements of its ranks", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
]>;

def TEQuant_ReductionAttr : EnumAttr<TEQuant_Dialect, TEQuant_Reduction,
                                     "reduction"> {
  let assemblyFormat = "$value";
  let summary = "how a collective combines the elements of its ranks";
  let description = [{
    `sum` or `max`.

    Example:

    ```mlir
    #te_quant<reduction sum>
    ```
  }];
}

def TEQuant_Normalization : TEQuant_Enum<"Normalization",
    "how a layer normalizes the rows of its input", [
  I32EnumAttrCase<"LayerNorm", 0>,
  I32EnumAttrCase<"RMSNorm", 1>,
]>;

def TEQuant_NormalizationAttr : TEQuant_WordAttr<TEQuant_Normalization,
    "normalization", "`LayerNorm` (by mean and variance) or `RMSNorm` (by the mean square)",
    "RMSNorm">;

def TEQuant_Activation : TEQuant_Enum<"Activation",
    "the function between the two products of a perceptron", [
  I32EnumAttrCase<"GELU", 0, "gelu">,
  I32EnumAttrCase<"QGELU", 1, "qgelu">,
  I32EnumAttrCase<"ReLU", 2, "relu">,
  I32EnumAttrCase<"SReLU", 3, "srelu">,
  I32EnumAttrCase<"SiLU", 4, "silu">,
  I32EnumAttrCase<"GLU", 5, "glu">,
  I32EnumAttrCase<"GeGLU", 6, "geglu">,
  I32EnumAttrCase<"QGeGLU", 7, "qgeglu">,
  I32EnumAttrCase<"ReGLU", 8, "reglu">,
  I32EnumAttrCase<"SReGLU", 9, "sreglu">,
  I32EnumAttrCase<"SwiGLU", 10, "swiglu">,
]>;

def TEQuant_ActivationAttr : TEQuant_WordAttr<TEQuant_Activation, "activation",
    "`gelu` (by tanh), `qgelu` (x sigmoid(1.702 x)), `relu`, `srelu` (its square), `silu`; gated, the function of the first half of a row times the second half: `glu` (sigmoid), `geglu`, `qgeglu`, `reglu`, `sreglu`, `swiglu`",
    "swiglu">;

/// An enum parameter with a default, printed as a bare word.
class TEQuant_EnumParameter<EnumAttrInfo info, string value>
    : EnumParameter<info> {
  let defaultValue = info.cppType # "::" # value;
}

#endif // TE_DIALECT_QUANT_IR_QUANTENUMS_TD
