//===- QuantGemmOps.td - matrix products ----------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTGEMMOPS_TD
#define TE_DIALECT_QUANT_IR_QUANTGEMMOPS_TD

include "te/Dialect/Quant/IR/QuantConstraints.td"

def TEQuant_GemmOp : TEQuant_Op<"gemm", [Pure, AttrSizedOperandSegments]> {
  let summary = "multiply two matrices, plain or quantized";
  let description = [{
    Operands are flattened to matrices; the letters of the layout say whether A
    and B are transposed in the column-major reading of BLAS, A first.

    | layout | result | A is read | B is read |
    |---|---|---|---|
    | `TN` | `B * A^T` | rowwise | rowwise |
    | `NN` | `B * A` | columnwise | rowwise |
    | `NT` | `B^T * A` | columnwise | columnwise |

    The result keeps the leading dims of B where B is not transposed and ends
    with A's free dim; otherwise it has two dims. Both operands are plain, of any
    dtypes, or scaled alike: one mode of scaling, the same Hadamard transform,
    not both in tiles of 128x128. Extents must be what TransformerEngine's GEMMs
    take: the contiguous dim of per-tensor FP8 a multiple of 16; for FP8 blocks
    the contracted extent of 16, A's free one of 8, and B's too with 1x128
    blocks. For dynamic dims these are checks at run time.

    Products are added in f32 and the result is rounded once:
    `scales * sum + accumulate + bias`, then `gelu` (the approximation with
    tanh), whose argument is the second result. A row-scaled NVFP4 product is
    rounded before `accumulate` is added.

    `bias` has one element for each column of the result. It and the second
    result are of the result's dtype, but bf16 where operands are quantized and
    the result is f32. A product over nothing is zero and adds no bias; with
    `accumulate` it is the accumulator.

    Example:

    ```mlir
    func.func @linear(%w: !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>,
                      %x: !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>,
                      %b: tensor<64xbf16>) -> (tensor<32x64xbf16>, tensor<32x64xbf16>) {
      %y, %pre = te_quant.gemm TN %w, %x bias(%b) {gelu}
        : !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN>>,
          !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>, tensor<64xbf16>
        -> tensor<32x64xbf16>, tensor<32x64xbf16>
      return %y, %pre : tensor<32x64xbf16>, tensor<32x64xbf16>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_GemmLayoutAttr:$layout,
    TEQuant_Tensor:$a,
    TEQuant_Tensor:$b,
    Optional<TEQuant_PlainTensor>:$bias,
    Optional<TEQuant_PlainTensor>:$accumulator,
    UnitAttr:$gelu
  );
  let results = (outs
    TEQuant_PlainTensor:$result,
    Optional<TEQuant_PlainTensor>:$preActivation
  );
  let assemblyFormat = [{
    `` $layout $a `,` $b (`bias` `(` $bias^ `)`)?
    (`accumulate` `(` $accumulator^ `)`)? attr-dict
    `:` qualified(type(operands)) `->` qualified(type(results))
  }];
  let hasVerifier = 1;
}

def TEQuant_GemmIntoOp : TEQuant_IntoOp<"gemm_into",
    [AttrSizedOperandSegments]> {
  let summary = "multiply two matrices into a given tensor";
  let description = [{
    `gemm` after expansion. An operand is the inner tensors of a quantizer whose
    usage is the representation that is read, or one plain tensor. `depth` is the
    contracted extent; the others are those of the first out, the result. The
    second one is the argument of `gelu`. With `accumulate` the first out is read
    as well.

    Example:

    ```mlir
    func.func @gemm_into(%w: tensor<64x128xf8E4M3FN>, %ws: tensor<1xf32>, %x: tensor<32x128xf8E5M2>, %xs: tensor<1xf32>,
                         %y: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
      %k = arith.constant 128 : index
      %r = te_quant.gemm_into TN
        a(%w, %ws : tensor<64x128xf8E4M3FN>, tensor<1xf32>) as #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
        b(%x, %xs : tensor<32x128xf8E5M2>, tensor<1xf32>) as #te_quant.float8_current_scaling<f8E5M2, usage = rowwise>
        depth(%k) outs(%y : tensor<32x64xbf16>) -> tensor<32x64xbf16>
      return %r : tensor<32x64xbf16>
    }
    ```
  }];
  let arguments = (ins
    TEQuant_GemmLayoutAttr:$layout,
    Variadic<TEQuant_TensorOrMemRef>:$aInners,
    OptionalAttr<TEQuant_QuantizerAttrInterface>:$aQuantizer,
    Variadic<TEQuant_TensorOrMemRef>:$bInners,
    OptionalAttr<TEQuant_QuantizerAttrInterface>:$bQuantizer,
    Optional<TEQuant_TensorOrMemRef>:$bias,
    Index:$depth,
    Variadic<TEQuant_TensorOrMemRef>:$outs,
    UnitAttr:$accumulate,
    UnitAttr:$gelu
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `` $layout
    `a` `(` $aInners `:` type($aInners) `)` (`as` $aQuantizer^)?
    `b` `(` $bInners `:` type($bInners) `)` (`as` $bQuantizer^)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `depth` `(` $depth `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTGEMMOPS_TD
