//===- QuantOps.td - operations on quantized tensors ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTOPS_TD
#define TE_DIALECT_QUANT_IR_QUANTOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "te/Dialect/Quant/IR/QuantConstraints.td"
include "te/Dialect/Quant/IR/QuantOpInterfaces.td"

//===----------------------------------------------------------------------===//
// On values
//===----------------------------------------------------------------------===//

def TEQuant_EmptyOp : TEQuant_Op<"empty", [Pure]> {
  let summary = "make a tensor with undefined contents";
  let description = [{
    One operand for each dynamic dim. Refused, as `quantize` is, where the
    quantizer could not fill the tensor for a reason other than its shape.

    Example:

    ```mlir
    func.func @empty(%d: index) -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>> {
      %e = te_quant.empty(%d) : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
      return %e : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$dynamicSizes);
  let results = (outs TEQuant_AnySpec:$result);
  let assemblyFormat = [{
    `(` $dynamicSizes `)` attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TEQuant_QuantizeOp : TEQuant_Op<"quantize",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "quantize a tensor";
  let description = [{
    Fills all representations in the usage of the result's quantizer from
    `input`. Narrowing rounds to the nearest even value and saturates; NaN is
    left out of every amax and becomes the format's NaN. Extents must be
    multiples of the block along each present direction (statically an error,
    for dynamic dims a check at run time); an empty tensor is legal and its
    contents stay undefined.

    The input is read in its own dtype, from which the result's nominal dtype may
    differ: nothing is rounded twice.

    | group | type | meaning |
    |---|---|---|
    | `into` | the result's type | update this tensor in place |
    | `noop` | `tensor<1xf32>` | exactly 1.0 leaves `into` as it is; needs `into` |
    | `scale` | `tensor<1xf32>` | delayed scaling: the scale; gives a second result, the amax |
    | `amax` | one or two `tensor<1xf32>` | use these amaxes, compute none |
    | `rng` | `tensor<2xi64>` | seed and offset, there exactly when rounding is stochastic |

    Example:

    ```mlir
    func.func @quantize(%x: tensor<32x64xbf16>) -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>> {
      %q = te_quant.quantize %x : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
      return %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_PlainTensor:$input,
    Optional<TEQuant_QuantizedSpec>:$into,
    Optional<TEQuant_ScalarTensor>:$noop,
    Optional<TEQuant_ScalarTensor>:$scale,
    Variadic<TEQuant_ScalarTensor>:$amax,
    Optional<RankedTensorOf<[I64]>>:$rng
  );
  let results = (outs
    TEQuant_QuantizedSpec:$result,
    Optional<TEQuant_ScalarTensor>:$amaxResult
  );
  let assemblyFormat = [{
    $input (`into` $into^)? (`noop` `(` $noop^ `)`)? (`scale` `(` $scale^ `)`)?
    (`amax` `(` $amax^ `)`)? (`rng` `(` $rng^ `)`)? attr-dict
    `:` qualified(type(operands)) `->` qualified(type(results))
  }];
  let hasVerifier = 1;
}

def TEQuant_DequantizeOp : TEQuant_Op<"dequantize", [Pure]> {
  let summary = "decode a quantized tensor";
  let description = [{
    Code times scale in f32, rounded once to the result's element type (f32,
    bf16 or f16; f16 overflows to infinity). The rowwise representation is read
    where it is present, else the columnwise one.

    Example:

    ```mlir
    func.func @dequantize(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>) -> tensor<32x64xf32> {
      %y = te_quant.dequantize %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>> -> tensor<32x64xf32>
      return %y : tensor<32x64xf32>
    }
    ```
  }];
  let arguments = (ins TEQuant_AnySpec:$input);
  let results = (outs TEQuant_PlainTensor:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TEQuant_AssembleOp : TEQuant_Op<"assemble", [Pure]> {
  let summary = "make a tensor from its inner tensors";
  let description = [{
    The operands are the inner tensors of the result's layout in canonical
    order; count, shapes and element types are verified. Nothing is copied.

    Example:

    ```mlir
    func.func @assemble(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>> {
      %q = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
      return %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inners);
  let results = (outs TEQuant_AnySpec:$result);
  let assemblyFormat = [{
    $inners attr-dict `:` type($inners) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TEQuant_DisassembleOp : TEQuant_Op<"disassemble",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "take a tensor apart into its inner tensors";
  let description = [{
    The results are the inner tensors of the operand's layout in canonical
    order; a result's type may know or leave open other dims than the layout.
    Nothing is copied.

    Example:

    ```mlir
    func.func @scales(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>) -> tensor<128x4xf8E8M0FNU> {
      %d:2 = te_quant.disassemble %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
        -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      return %d#1 : tensor<128x4xf8E8M0FNU>
    }
    ```
  }];
  let arguments = (ins TEQuant_AnySpec:$input);
  let results = (outs Variadic<AnyRankedTensor>:$inners);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` type($inners)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The verifier compares types, and names the inner tensor at fault.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) {
      return true;
    }
  }];
}

def TEQuant_UpdateUsageOp : TEQuant_Op<"update_usage", [Pure]> {
  let summary = "drop representations of a tensor or derive the columnwise one";
  let description = [{
    The result's type differs in the quantizer's usage only. What is legal is
    the family's usage algebra; dropping copies nothing.

    Example:

    ```mlir
    func.func @drop(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>)
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>> {
      %u = te_quant.update_usage %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
      return %u : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
    }
    ```
  }];
  let arguments = (ins TEQuant_QuantizedSpec:$input);
  let results = (outs TEQuant_QuantizedSpec:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def TEQuant_SwizzleOp : TEQuant_Op<"swizzle", [Pure]> {
  let summary = "change the order of a tensor's scales";
  let description = [{
    From the compact order to the one GEMMs read (tiles of 128x4 scales) or
    back; the result's type differs in `optimize_for_gemm` only. Padding in
    GEMM order is zero.

    Example:

    ```mlir
    func.func @swizzle(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>)
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>> {
      %s = te_quant.swizzle %q : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
        -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
      return %s : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
    }
    ```
  }];
  let arguments = (ins TEQuant_QuantizedSpec:$input);
  let results = (outs TEQuant_QuantizedSpec:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TEQuant_AmaxOp : TEQuant_Op<"amax", [Pure]> {
  let summary = "compute the amaxes that a quantizer scales by";
  let description = [{
    What `quantize` with the same quantizer computes for itself and what its
    group `amax` takes, so that a program can reduce it across devices in
    between: the largest magnitude of the tensor, NaN left out, 0 for a tensor
    without other values. With the Hadamard transform there is a second one, of
    the transformed columnwise operand.

    Example:

    ```mlir
    func.func @amax(%x: tensor<32x64xbf16>) -> tensor<1xf32> {
      %a = te_quant.amax #te_quant.float8_current_scaling<f8E4M3FN> %x : tensor<32x64xbf16> -> tensor<1xf32>
      return %a : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    TEQuant_PlainTensor:$input
  );
  let results = (outs Variadic<TEQuant_ScalarTensor>:$amaxes);
  let assemblyFormat = [{
    $quantizer $input attr-dict `:` qualified(type($input)) `->` type($amaxes)
  }];
  let hasVerifier = 1;
}

def TEQuant_UpdateScaleOp : TEQuant_Op<"update_scale",
    [Pure, AllTypesMatch<["history", "newHistory"]>,
     AllTypesMatch<["scale", "newScale"]>]> {
  let summary = "roll a history of amaxes and make the next delayed scale";
  let description = [{
    `amax` enters the history and the oldest entry leaves it; the scale is
    `fp8_max * 2^-margin / a`, where `a` is the largest amax of the history (the
    oldest one included) or the most recent one. A zero, infinite or NaN `a`
    keeps the scale; a scale that overflows is the largest f32. With
    `keep_on_zero_amax` a zero `amax` leaves history and scale alone.

    Example:

    ```mlir
    func.func @update(%h: tensor<4xf32>, %a: tensor<1xf32>, %s: tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>) {
      %h2, %s2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E4M3FN> max %h, %a, %s {margin = 1 : i64}
        : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
      return %h2, %s2 : tensor<4xf32>, tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    TEQuant_AmaxAlgoAttr:$algo,
    TEQuant_ScalarTensor:$history,
    TEQuant_ScalarTensor:$amax,
    TEQuant_ScalarTensor:$scale,
    DefaultValuedOptionalAttr<I64Attr, "0">:$margin,
    UnitAttr:$keep_on_zero_amax
  );
  let results = (outs
    TEQuant_ScalarTensor:$newHistory,
    TEQuant_ScalarTensor:$newScale
  );
  let assemblyFormat = [{
    $quantizer `` $algo $history `,` $amax `,` $scale attr-dict
    `:` type($history) `,` type($amax) `,` type($scale)
  }];
  let hasVerifier = 1;
}

def TEQuant_ColumnSumOp : TEQuant_Op<"column_sum", [Pure]> {
  let summary = "sum over all dims but the last one";
  let description = [{
    The gradient of a bias. Sums are f32 and have one order, so that the result
    has the same bits whatever makes it: starting from zero, the elements of a
    column are added in row order over chunks of 32 rows of the flattened
    tensor; the sums of the chunks are added in row order, starting from zero;
    the result is rounded once to the result's element type.

    Example:

    ```mlir
    func.func @column_sum(%x: tensor<32x64xbf16>) -> tensor<64xbf16> {
      %s = te_quant.column_sum %x : tensor<32x64xbf16> -> tensor<64xbf16>
      return %s : tensor<64xbf16>
    }
    ```
  }];
  let arguments = (ins TEQuant_PlainTensor:$input);
  let results = (outs RankedTensorOf<[F32, BF16, F16]>:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// On elements
//===----------------------------------------------------------------------===//

def TEQuant_CastOp : TEQuant_Op<"cast", [Pure, SameOperandsAndResultShape] #
    ElementwiseMappable.traits> {
  let summary = "convert floating-point elements with our rounding";
  let description = [{
    Widening is exact. Narrowing to f8E4M3FN, f8E5M2 and f4E2M1FN rounds to
    nearest even and saturates to the largest finite value (NaN becomes 0x7F,
    in f4E2M1FN +6); to f8E8M0FNU it rounds the magnitude up to a power of two
    (0 becomes 2^-127, infinity 2^127, NaN 0xFF); to bf16 and f16 it rounds to
    nearest even and overflows to infinity.

    `arith.truncf` says neither how it rounds nor whether it saturates, which is
    why this op exists.

    Example:

    ```mlir
    func.func @cast(%x: f32, %v: vector<4xf8E5M2>) -> (f8E4M3FN, vector<4xf32>) {
      %n = te_quant.cast %x : f32 to f8E4M3FN
      %w = te_quant.cast %v : vector<4xf8E5M2> to vector<4xf32>
      return %n, %w : f8E4M3FN, vector<4xf32>
    }
    ```
  }];
  let arguments = (ins FloatLike:$input);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// On inner tensors and their buffers
//===----------------------------------------------------------------------===//

def TEQuant_CheckOp : TEQuant_Op<"check", [MemoryEffects<[MemWrite]>]> {
  let summary = "record a run-time error when a condition does not hold";
  let description = [{
    A false condition sets the thread's sticky error to `message`; allocations,
    copies and launches that follow do nothing, and the caller reads the error.
    Nothing aborts.

    Example:

    ```mlir
    func.func @check(%ok: i1) {
      te_quant.check %ok, "expected dim 0 to be a multiple of 32"
      return
    }
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
  let hasFolder = 0;
  let hasCanonicalizeMethod = 1;
}

/// An into op whose input a region on elements may make.
class TEQuant_FusedInputOp<string mnemonic>
    : TEQuant_IntoOp<mnemonic, [AttrSizedOperandSegments, IsolatedFromAbove,
                                TEQuant_FusedInputOpInterface]> {
  let regions = (region MaxSizedRegion<1>:$producer);
}

def TEQuant_YieldOp : TEQuant_Op<"yield",
    [Pure, ReturnLike, Terminator,
     ParentOneOf<["QuantizeIntoOp", "AmaxIntoOp", "ColumnSumIntoOp"]>]> {
  let summary = "end a region on elements";
  let description = [{
    Yields the element that the enclosing op reads. See `quantize_into`.
  }];
  let arguments = (ins AnyTypeOf<[F32, BF16, F16]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def TEQuant_QuantizeIntoOp : TEQuant_FusedInputOp<"quantize_into"> {
  let summary = "quantize into given inner tensors";
  let description = [{
    `quantize` after expansion: `outs` are the inner tensors of `quantizer` for
    the shape of the input, in canonical order, then the amax if the family
    returns one. With `noop` the outs are read as well: they keep their contents
    when the flag is 1.0.

    With `fuse` the input is what the region makes of the elements of several
    tensors. Each op in it computes and rounds in its own type, so that the
    result has the bits of a program that stores the region's values in between.
    `maps` says for each input which dims of the logical input it has, all of
    them, the last one, all but the last one or none; without it all have all.
    The region has arithmetic on scalars only, of `arith`, `math` and
    `te_quant.cast`, and sees nothing from outside.

    With `column_sum` the last two `outs` are those of a `column_sum_into` of the
    same input, with the same bits. Only for quantizers whose kernels do it, and
    not with `noop`, as a sum is not skipped.

    Example:

    ```mlir
    func.func @quantize_into(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
        -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
      %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<32x64xbf16>)
        outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
    }
    func.func @bias(%x: tensor<32x64xf32>, %bias: tensor<64xf32>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
        -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
      %r:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
        ins(%x, %bias : tensor<32x64xf32>, tensor<64xf32>)
        outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
        fuse maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] {
      ^bb0(%e: f32, %f: f32):
        %sum = arith.addf %e, %f : f32
        %v = arith.truncf %sum : f32 to bf16
        te_quant.yield %v : bf16
      } -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
    }
    func.func @column_sum(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>,
                          %sum: tensor<64xbf16>, %c: tensor<1x64xf32>) -> tensor<64xbf16> {
      %r:4 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<32x64xbf16>)
        outs(%d, %s, %sum, %c : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<64xbf16>, tensor<1x64xf32>) column_sum
        -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<64xbf16>, tensor<1x64xf32>
      return %r#2 : tensor<64xbf16>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    Variadic<TEQuant_TensorOrMemRef>:$inputs,
    Optional<TEQuant_TensorOrMemRef>:$noop,
    Optional<TEQuant_TensorOrMemRef>:$scale,
    Variadic<TEQuant_TensorOrMemRef>:$amax,
    Optional<TEQuant_TensorOrMemRef>:$rng,
    Variadic<TEQuant_TensorOrMemRef>:$outs,
    OptionalAttr<AffineMapArrayAttr>:$indexing_maps,
    UnitAttr:$column_sum
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $quantizer `ins` `(` $inputs `:` type($inputs) `)`
    (`noop` `(` $noop^ `:` type($noop) `)`)?
    (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`amax` `(` $amax^ `:` type($amax) `)`)?
    (`rng` `(` $rng^ `:` type($rng) `)`)?
    `outs` `(` $outs `:` type($outs) `)` (`column_sum` $column_sum^)? attr-dict
    (`fuse` (`maps` $indexing_maps^)? $producer^)? (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    bool canFuseProducer() { return getQuantizer().fusesProducers(); }
  }];
}

def TEQuant_DequantizeIntoOp : TEQuant_IntoOp<"dequantize_into"> {
  let summary = "decode inner tensors into a given tensor";
  let description = [{
    `dequantize` after expansion: `ins` are the inner tensors of `quantizer` in
    canonical order.

    Example:

    ```mlir
    func.func @dequantize_into(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %y: tensor<32x64xf32>) -> tensor<32x64xf32> {
      %r = te_quant.dequantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
        ins(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) outs(%y : tensor<32x64xf32>) -> tensor<32x64xf32>
      return %r : tensor<32x64xf32>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    Variadic<TEQuant_TensorOrMemRef>:$inners,
    TEQuant_TensorOrMemRef:$outs
  );
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $quantizer `ins` `(` $inners `:` type($inners) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($result)^)?
  }];
}

def TEQuant_SwizzleIntoOp : TEQuant_IntoOp<"swizzle_into"> {
  let summary = "reorder one scale tensor";
  let description = [{
    Writes the scales named `inner`, one of the quantizer's inner tensors, in
    the order that `quantizer` says (GEMM order with `optimize_for_gemm`,
    compact without) from the other order. `rows` and `cols` are the flattened
    logical extents: scales beyond them are padding.

    Example:

    ```mlir
    func.func @swizzle_into(%s: tensor<128x4xf8E8M0FNU>, %d: tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU> {
      %rows = arith.constant 32 : index
      %cols = arith.constant 64 : index
      %r = te_quant.swizzle_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true> "rowwise_scale_inv"
        ins(%s : tensor<128x4xf8E8M0FNU>) extents(%rows, %cols) outs(%d : tensor<128x4xf8E8M0FNU>) -> tensor<128x4xf8E8M0FNU>
      return %r : tensor<128x4xf8E8M0FNU>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    StrAttr:$inner,
    TEQuant_TensorOrMemRef:$input,
    Index:$rows,
    Index:$cols,
    TEQuant_TensorOrMemRef:$outs
  );
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $quantizer $inner `ins` `(` $input `:` type($input) `)`
    `extents` `(` $rows `,` $cols `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($result)^)?
  }];
}

def TEQuant_AmaxIntoOp : TEQuant_FusedInputOp<"amax_into"> {
  let summary = "compute amaxes into given tensors";
  let description = [{
    `amax` after expansion, and the first half of a `quantize` whose family
    scales by the amax of the whole tensor. `fuse` is that of `quantize_into`.

    Example:

    ```mlir
    func.func @amax_into(%x: tensor<32x64xbf16>, %a: tensor<1xf32>) -> tensor<1xf32> {
      %r = te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : tensor<32x64xbf16>)
        outs(%a : tensor<1xf32>) -> tensor<1xf32>
      return %r : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    Variadic<TEQuant_TensorOrMemRef>:$inputs,
    Variadic<TEQuant_TensorOrMemRef>:$outs,
    OptionalAttr<AffineMapArrayAttr>:$indexing_maps
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $quantizer `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
    (`fuse` (`maps` $indexing_maps^)? $producer^)? (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    bool canFuseProducer() { return getQuantizer().fusesProducers(); }
  }];
}

def TEQuant_ColumnSumIntoOp : TEQuant_FusedInputOp<"column_sum_into"> {
  let summary = "sum over all dims but the last one into a given tensor";
  let description = [{
    `column_sum` after expansion: `outs` are the result and room for the f32
    sums of the chunks, one row for each. `fuse` is that of `quantize_into`.

    Example:

    ```mlir
    func.func @column_sum_into(%x: tensor<96x64xbf16>, %s: tensor<64xbf16>, %c: tensor<3x64xf32>) -> tensor<64xbf16> {
      %r:2 = te_quant.column_sum_into ins(%x : tensor<96x64xbf16>)
        outs(%s, %c : tensor<64xbf16>, tensor<3x64xf32>) -> tensor<64xbf16>, tensor<3x64xf32>
      return %r#0 : tensor<64xbf16>
    }
    ```
  }];
  let arguments = (ins
    Variadic<TEQuant_TensorOrMemRef>:$inputs,
    Variadic<TEQuant_TensorOrMemRef>:$outs,
    OptionalAttr<AffineMapArrayAttr>:$indexing_maps
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
    (`fuse` (`maps` $indexing_maps^)? $producer^)? (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    bool canFuseProducer() { return true; }
  }];
}

def TEQuant_UpdateScaleIntoOp : TEQuant_IntoOp<"update_scale_into"> {
  let summary = "roll a history of amaxes into given tensors";
  let description = [{
    `update_scale` after expansion: `outs` are the new history and scale.

    Example:

    ```mlir
    func.func @update_scale_into(%h: tensor<4xf32>, %a: tensor<1xf32>, %s: tensor<1xf32>, %h2: tensor<4xf32>, %s2: tensor<1xf32>)
        -> (tensor<4xf32>, tensor<1xf32>) {
      %r:2 = te_quant.update_scale_into #te_quant.float8_delayed_scaling<f8E4M3FN> most_recent
        ins(%h, %a, %s : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) outs(%h2, %s2 : tensor<4xf32>, tensor<1xf32>)
        -> tensor<4xf32>, tensor<1xf32>
      return %r#0, %r#1 : tensor<4xf32>, tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    TEQuant_AmaxAlgoAttr:$algo,
    TEQuant_TensorOrMemRef:$history,
    TEQuant_TensorOrMemRef:$amax,
    TEQuant_TensorOrMemRef:$scale,
    Variadic<TEQuant_TensorOrMemRef>:$outs,
    DefaultValuedOptionalAttr<I64Attr, "0">:$margin,
    UnitAttr:$keep_on_zero_amax
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $quantizer `` $algo `ins` `(` $history `,` $amax `,` $scale `:`
    type($history) `,` type($amax) `,` type($scale) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def TEQuant_DeriveIntoOp : TEQuant_IntoOp<"derive_into",
    [AttrSizedOperandSegments]> {
  let summary = "make the columnwise representation from the rowwise one";
  let description = [{
    `update_usage` after expansion where it derives. `quantizer` has both
    usages; `ins` are its inner tensors with rowwise usage, `outs` those that
    columnwise usage adds; `rows` and `cols` are the flattened logical extents.
    The bytes are those that `quantize` with both usages makes.

    Example:

    ```mlir
    func.func @derive_into(%d: tensor<32x64xf8E4M3FN>, %s: tensor<1xf32>, %t: tensor<64x32xf8E4M3FN>) -> tensor<64x32xf8E4M3FN> {
      %rows = arith.constant 32 : index
      %cols = arith.constant 64 : index
      %r = te_quant.derive_into #te_quant.float8_current_scaling<f8E4M3FN>
        ins(%d, %s : tensor<32x64xf8E4M3FN>, tensor<1xf32>) extents(%rows, %cols)
        outs(%t : tensor<64x32xf8E4M3FN>) -> tensor<64x32xf8E4M3FN>
      return %r : tensor<64x32xf8E4M3FN>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_QuantizerAttrInterface:$quantizer,
    Variadic<TEQuant_TensorOrMemRef>:$inners,
    Index:$rows,
    Index:$cols,
    Variadic<TEQuant_TensorOrMemRef>:$outs
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $quantizer `ins` `(` $inners `:` type($inners) `)`
    `extents` `(` $rows `,` $cols `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTOPS_TD
