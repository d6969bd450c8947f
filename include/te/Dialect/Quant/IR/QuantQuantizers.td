//===- QuantQuantizers.td - the quantizer families ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTQUANTIZERS_TD
#define TE_DIALECT_QUANT_IR_QUANTQUANTIZERS_TD

include "te/Dialect/Quant/IR/QuantDialect.td"
include "te/Dialect/Quant/IR/QuantEnums.td"
include "te/Dialect/Quant/IR/QuantInterfaces.td"

class TEQuant_Flag<string value> : DefaultValuedParameter<"bool", value>;

def TEQuant_UsageParameter : TEQuant_EnumParameter<TEQuant_Usage, "Both">;

/// An f32, written as a number or as its bits (`0x3e99999a`).
def TEQuant_F32Parameter : APFloatParameter<""> {
  let defaultValue = "::llvm::APFloat(0.0f)";
  let parser = "::te::quant::parseF32($_parser)";
  let printer = "::te::quant::printF32($_printer, $_self)";
}

/// A quantizer. `usage`, `internal` and `optimize_for_gemm` are parameters of
/// every family with options, so their accessors answer the interface; the rest
/// is declared here and defined in `Quantizers<Family>.cpp`.
class TEQuant_QuantizerAttr<string name, string attrMnemonic,
                            string ownDeclarations = "">
    : TEQuant_Attr<name, attrMnemonic, [TEQuant_QuantizerAttrInterface]> {
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getFamily() const;
    QuantizerAttrInterface withUsage(Usage usage) const;
    QuantizerAttrInterface withInternal(bool internal) const;
    QuantizerAttrInterface withOptimizeForGemm(bool optimizeForGemm) const;
    LayoutAttr computeLayout(::mlir::Type nominalDtype) const;
    ::llvm::SmallVector<::mlir::StringAttr> getCanonicalOrder() const;
    ::llvm::SmallVector<BlockConstraint> getQuantizeConstraints() const;
    std::optional<::llvm::SmallVector<BlockConstraint>>
    getGatherConstraints() const;
    bool isRequantizationSafe() const;
    bool isRowOnlyAllGather() const;
    UsageChange getUsageChange(std::optional<Usage> usage) const;
  }] # !strconcat(ownDeclarations, "");
}

defvar declareSignature = [{
    QuantizeSignature getQuantizeSignature() const;
}];

defvar declareNonTNGemm = [{
    QuantizerAttrInterface withNonTNGemm(bool nonTNGemm) const;
}];

defvar declareGemmOrderedInners = [{
    ::llvm::SmallVector<::mlir::StringAttr> getGemmOrderedInners() const;
}];

defvar declareVerifyQuantize = [{
    ::llvm::LogicalResult verifyQuantize(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::Type nominalDtype) const;
}];

defvar declareQuantizedGather = [{
    QuantizedGather getQuantizedGather() const;
}];

defvar declareSumsRows = [{
    bool sumsRowsWhenQuantizing() const { return true; }
}];

defvar declareFusesColumnSum = [{
    bool fusesColumnSum() const;
}];

defvar declareGemmOperand = [{
    std::optional<GemmOperand> getGemmOperand(Usage direction) const;
}];

def TEQuant_Float8CurrentScalingAttr
    : TEQuant_QuantizerAttr<"Float8CurrentScaling",
        "float8_current_scaling",
        !strconcat(declareSignature, declareGemmOperand, declareSumsRows,
                   declareQuantizedGather, declareNonTNGemm)> {
  let summary = "per-tensor FP8 with the scale of the tensor's own amax";
  let description = [{
    `scale = fp8_max / amax`, `data = fp8(x * scale)`, `x = data * scale_inv`.

    | # | inner tensor | present | shape | element |
    |---|---|---|---|---|
    | 1 | `data` | rowwise, or any usage with `non_tn_gemm` | logical | `fp8_dtype` |
    | 2 | `transpose` | columnwise without `non_tn_gemm` | last dim first | `fp8_dtype` |
    | 3 | `scale_inv` | always | `1` | f32 |

    `non_tn_gemm` is the rule of chips whose FP8 GEMMs take every transpose
    combination: one buffer serves both usages. A 32x64 tensor with both usages
    takes 4100 bytes, 2052 with `non_tn_gemm`.

    Example:

    ```mlir
    #te_quant.float8_current_scaling<f8E4M3FN, force_pow_2_scales = true>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$fp8_dtype,
    TEQuant_UsageParameter:$usage,
    TEQuant_Flag<"false">:$force_pow_2_scales,
    TEQuant_F32Parameter:$amax_epsilon,
    TEQuant_Flag<"false">:$with_amax_reduction,
    TEQuant_Flag<"false">:$non_tn_gemm,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = [{
    `<` $fp8_dtype (`,` struct($usage, $force_pow_2_scales, $amax_epsilon,
      $with_amax_reduction, $non_tn_gemm, $internal, $optimize_for_gemm)^)? `>`
  }];
}

def TEQuant_Float8DelayedScalingAttr
    : TEQuant_QuantizerAttr<"Float8DelayedScaling",
        "float8_delayed_scaling",
        !strconcat(declareSignature, declareGemmOperand, declareSumsRows,
                   declareFusesColumnSum, declareQuantizedGather, declareNonTNGemm)> {
  let summary = "per-tensor FP8 with a scale from the history of amaxes";
  let description = [{
    Inner tensors as `float8_current_scaling`. The scale is an operand of
    `quantize` and the amax a result, so the attribute holds no state.

    Example:

    ```mlir
    #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$fp8_dtype,
    TEQuant_UsageParameter:$usage,
    TEQuant_Flag<"false">:$non_tn_gemm,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = [{
    `<` $fp8_dtype (`,` struct($usage, $non_tn_gemm, $internal,
      $optimize_for_gemm)^)? `>`
  }];
}

def TEQuant_Float8BlockScalingAttr
    : TEQuant_QuantizerAttr<"Float8BlockScaling",
        "float8_block_scaling",
        !strconcat(declareGemmOperand, declareQuantizedGather)> {
  let summary = "FP8 with an f32 scale for each block of 1x128 or 128x128";
  let description = [{
    `R`, `C`: rows and columns of the flattened tensor; divisions round up and
    `to 4` is rounded up to a multiple of 4.

    | # | inner tensor | shape, 128x128 (`block_scaling_dim = 2`) | shape, 1x128 (`1`) | element |
    |---|---|---|---|---|
    | 1 | `rowwise_data` | logical | logical | `fp8_dtype` |
    | 2 | `rowwise_scale_inv` | `R/128, C/128 to 4` | `C/128, R to 4` | f32 |
    | 3 | `columnwise_data` | last dim first | last dim first | `fp8_dtype` |
    | 4 | `columnwise_scale_inv` | `C/128, R/128 to 4` | `R/128, C to 4` | f32 |

    A 128x256 tensor of 128x128 blocks, both usages: 65,584 bytes.

    Example:

    ```mlir
    #te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$fp8_dtype,
    TEQuant_UsageParameter:$usage,
    DefaultValuedParameter<"int64_t", "2">:$block_scaling_dim,
    TEQuant_Flag<"true">:$force_pow_2_scales,
    TEQuant_F32Parameter:$amax_epsilon,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = [{
    `<` $fp8_dtype (`,` struct($usage, $block_scaling_dim, $force_pow_2_scales,
      $amax_epsilon, $internal, $optimize_for_gemm)^)? `>`
  }];
}

def TEQuant_MXFP8Attr : TEQuant_QuantizerAttr<"MXFP8", "mxfp8",
    !strconcat(declareGemmOrderedInners, declareGemmOperand, declareSumsRows,
               declareFusesColumnSum, declareQuantizedGather)> {
  let summary = "FP8 with an E8M0 scale for each block of 32";
  let description = [{
    A block is 32 columns of a row (rowwise) or 32 rows of a column
    (columnwise); with `with_2d_quantization` a tile of 32x32 shares one scale.
    Columnwise data is not transposed.

    | # | inner tensor | present | shape | element |
    |---|---|---|---|---|
    | 1 | `rowwise_data` | rowwise | logical | `fp8_dtype` |
    | 2 | `rowwise_scale_inv` | rowwise | `R to 128, C/32 to 4` | f8E8M0FNU |
    | 3 | `columnwise_data` | columnwise | logical | `fp8_dtype` |
    | 4 | `columnwise_scale_inv` | columnwise | `R/32 to 4, C to 128` | f8E8M0FNU |

    With `optimize_for_gemm` the scales are in the order that tensor cores read
    (tiles of 128x4 bytes), in buffers of the same shape. A 32x64 tensor with
    both usages takes 5,120 bytes.

    Example:

    ```mlir
    #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$fp8_dtype,
    TEQuant_UsageParameter:$usage,
    TEQuant_Flag<"false">:$with_2d_quantization,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = [{
    `<` $fp8_dtype (`,` struct($usage, $with_2d_quantization, $internal,
      $optimize_for_gemm)^)? `>`
  }];
}

def TEQuant_NVFP4Attr
    : TEQuant_QuantizerAttr<"NVFP4", "nvfp4",
        !strconcat(declareVerifyQuantize, declareSignature,
                   declareGemmOrderedInners, declareGemmOperand,
                   declareSumsRows, declareQuantizedGather, [{
    bool isRowScaled() const { return getRowScaled(); }
}])> {
  let summary = "E2M1 with an E4M3 scale for each block of 16 and an f32 amax";
  let description = [{
    `value = data * scale_inv * amax / (6 * e4m3_max)`. Data is `i8`, two values
    a byte, the even element in the low nibble.

    | # | inner tensor | present | shape | element |
    |---|---|---|---|---|
    | 1 | `rowwise_data` | rowwise | logical, last dim halved | i8 |
    | 2 | `rowwise_scale_inv` | rowwise | `R to 128, C/16 to 4` | f8E4M3FN |
    | 3 | `columnwise_data` | columnwise | `C, R/2` | i8 |
    | 4 | `columnwise_scale_inv` | columnwise | `C to 128, R/16 to 4` | f8E4M3FN |
    | 5 | `amax_rowwise` | rowwise | `1`; `R` if `row_scaled` | f32 |
    | 6 | `amax_columnwise` | columnwise | `1`; `C` if `row_scaled` | f32 |

    A 64x64 tensor with both usages takes 5,128 bytes.

    Example:

    ```mlir
    #te_quant.nvfp4<usage = rowwise, with_2d_quantization = true>
    ```
  }];
  let parameters = (ins
    TEQuant_UsageParameter:$usage,
    TEQuant_Flag<"false">:$with_rht,
    TEQuant_Flag<"false">:$with_post_rht_amax,
    TEQuant_Flag<"false">:$with_2d_quantization,
    TEQuant_Flag<"false">:$stochastic_rounding,
    TEQuant_Flag<"false">:$with_amax_reduction,
    TEQuant_Flag<"false">:$row_scaled,
    TEQuant_Flag<"false">:$use_4over6,
    DefaultValuedParameter<"int64_t", "448">:$e4m3_max,
    TEQuant_EnumParameter<TEQuant_ErrMode, "MAE">:$err_mode,
    TEQuant_Flag<"true">:$with_random_sign_mask,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

def TEQuant_IdentityAttr : TEQuant_QuantizerAttr<"Identity", "identity",
    [{ bool isIdentity() const; }]> {
  let summary = "no quantization: the tensor itself in its nominal dtype";
  let description = [{
    One inner tensor, `hp_data`, of the logical shape and the nominal dtype; it
    serves both usages. A 32x64xbf16 tensor takes 4,096 bytes.

    Example:

    ```mlir
    #te_quant.identity<usage = rowwise>
    ```
  }];
  let parameters = (ins
    TEQuant_UsageParameter:$usage,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

def TEQuant_HybridAttr
    : TEQuant_QuantizerAttr<"Hybrid", "hybrid",
        !strconcat(declareVerifyQuantize, declareSignature, [{
    ::llvm::SmallVector<QuantizerComponent> getComponents() const;
    bool isReconstructible() const;

    /// The children, pinned to their direction.
    QuantizerAttrInterface getRowwiseChild() const;
    QuantizerAttrInterface getColumnwiseChild() const;
}])> {
  let summary = "one quantizer for rowwise and another for columnwise usage";
  let description = [{
    Inner tensors are those of the row child with rowwise usage, their names
    prefixed by `rowwise_`, then those of the column child with columnwise
    usage, prefixed by `columnwise_` (a name that has the prefix keeps it). The
    children leave `usage` out. With
    `columnwise_source = rowwise_dequantized` the column child quantizes what
    the rowwise representation decodes to.

    Example:

    ```mlir
    #te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>,
                     columnwise = #te_quant.nvfp4>
    ```
  }];
  let parameters = (ins
    "::te::quant::QuantizerAttrInterface":$rowwise,
    "::te::quant::QuantizerAttrInterface":$columnwise,
    TEQuant_UsageParameter:$usage,
    TEQuant_EnumParameter<TEQuant_ColumnwiseSource, "Original">:$columnwise_source,
    TEQuant_Flag<"false">:$internal,
    TEQuant_Flag<"false">:$optimize_for_gemm
  );
  let assemblyFormat = [{
    `<` struct(qualified($rowwise), qualified($columnwise), $usage,
      $columnwise_source, $internal, $optimize_for_gemm) `>`
  }];
}

def TEQuant_CustomAttr : TEQuant_QuantizerAttr<"Custom", "custom",
    !strconcat(declareVerifyQuantize, [{
    Usage getUsage() const;
    bool getOptimizeForGemm() const;
    bool isQuantizedAtGemm() const { return true; }
    bool isReconstructible() const { return true; }
    /// An external function has one input.
    bool fusesProducers() const { return false; }
}])> {
  let summary = "a format whose layout is spelled by hand";
  let description = [{
    For formats that have no C++ here: what the layout lists is present. Where
    the names of all inner tensors begin with `rowwise_` or `columnwise_` the
    format has usages, which are those the names say; any other has both.
    `storage_order` declares the canonical order (the layout's own when left
    out); a layout in another order is an error.

    `quantize` and `dequantize` name functions with the C ABI that do the work:
    host functions, which launch what they like on the stream. A tensor is
    flattened to rows and columns.

    ```c
    void quantize(const void *input, void *inner0, ..., void *innerN,
                  int64_t rows, int64_t cols, void *stream);
    void dequantize(const void *inner0, ..., const void *innerN, void *output,
                    int64_t rows, int64_t cols, void *stream);
    ```

    | argument | meaning |
    |---|---|
    | `input`, `output` | the tensor in high precision, row-major; f32, bf16 or f16 |
    | `inner0, ...` | the inner tensors present, in canonical order, row-major |
    | `rows`, `cols` | the product of all dims but the last, and the last |
    | `stream` | the stream that orders all work of the call |

    Pointers are device memory, aligned to their element and no further. Every
    byte of the outputs is written, padding included. One name stands for one
    element type of input or output and one set of inner tensors: a second one in
    a program is an error.

    An empty tensor makes no call, and neither does anything after the runtime's
    error is set. A `noop` flag is no argument: the host waits for the stream,
    reads the flag and leaves the call out where it is exactly 1.0. The function
    is found when the program is linked or loaded, or in the module, as an
    `llvm.func` or a public `func.func` with a body and this type. Without a
    name the op that needs it is refused.

    Example:

    ```mlir
    #te_quant.custom<"int8_rows",
      layout = #te_quant.layout<codes : i8[leading, cols], scale : f32[rows]>,
      storage_order = ["codes", "scale"],
      quantize = "int8_rows_quantize", dequantize = "int8_rows_dequantize">
    ```
  }];
  let parameters = (ins
    "::mlir::StringAttr":$format,
    "::te::quant::LayoutAttr":$layout,
    OptionalParameter<"::mlir::ArrayAttr">:$storage_order,
    OptionalParameter<"::mlir::StringAttr">:$quantize,
    OptionalParameter<"::mlir::StringAttr">:$dequantize,
    TEQuant_Flag<"false">:$internal
  );
  let assemblyFormat = [{
    `<` $format `,` struct(qualified($layout), $storage_order, $quantize,
      $dequantize, $internal) `>`
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTQUANTIZERS_TD
