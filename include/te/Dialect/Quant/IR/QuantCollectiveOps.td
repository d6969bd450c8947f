//===- QuantCollectiveOps.td - operations across the ranks of a group -----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTCOLLECTIVEOPS_TD
#define TE_DIALECT_QUANT_IR_QUANTCOLLECTIVEOPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "te/Dialect/Quant/IR/QuantConstraints.td"

def TEQuant_GroupSize : ConfinedAttr<I64Attr, [IntPositive]>;

/// A tensor that can cross ranks: plain, or quantized where the op allows it.
def TEQuant_GatherableTensor : AnyTypeOf<
    [RankedTensorOf<[F32, BF16, F16]>, TEQuant_AnySpec],
    "ranked tensor of f32, bf16 or f16, or TensorSpec">;

//===----------------------------------------------------------------------===//
// On values
//===----------------------------------------------------------------------===//

/// A collective of the `size` ranks of `group`, in which every rank runs the
/// same program. It is pure: ranks that drop, merge or move it do so alike.
class TEQuant_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : TEQuant_Op<mnemonic, [Pure] # traits> {
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TEQuant_AllGatherOp : TEQuant_CollectiveOp<"all_gather",
    [InferTypeOpAdaptor]> {
  let summary = "concatenate the tensors of all ranks along dim 0";
  let description = [{
    `result = concat(input of rank 0, .., input of rank size - 1)`. All inputs
    have the same shape; a group of one rank gives its operand.

    A quantized tensor is gathered as it is, without a change of a byte, when it
    has one representation and its family takes part:

    | family | usage | every rank must have |
    |---|---|---|
    | per-tensor FP8 | rowwise | the same `scale_inv` |
    | FP8 block, 1x128 | either | rows and columns that are multiples of 128 |
    | MXFP8 | either | what `quantize` demands |
    | NVFP4 | either | what `quantize` demands, the same amax |

    Static extents are verified and dynamic ones checked at run time. That
    scales and amaxes of the whole tensor agree is the program's business: it
    reduces the amax before it quantizes. Scales in GEMM order, row-scaled
    NVFP4, 128x128 blocks, identity, hybrid and custom tensors are refused:
    gather in high precision and quantize the result.

    Example:

    ```mlir
    func.func @gather(%q: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>)
        -> !te_quant.tensor<128x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>> {
      %g = te_quant.all_gather %q {group = "tp", size = 4 : i64} : !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
        -> !te_quant.tensor<128x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
      return %g : !te_quant.tensor<128x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
    }
    ```
  }];
  let arguments = (ins TEQuant_GatherableTensor:$input, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs TEQuant_GatherableTensor:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
}

def TEQuant_ReduceScatterOp : TEQuant_CollectiveOp<"reduce_scatter",
    [InferTypeOpAdaptor]> {
  let summary = "sum over the ranks and keep this rank's part of dim 0";
  let description = [{
    Rank k gets rows `[k * n, (k + 1) * n)` of the sum, with `n` the size of dim
    0 divided by `size`, which leaves no remainder: verified where it is static,
    checked at run time otherwise. The order of the additions is the runtime's.

    Example:

    ```mlir
    func.func @scatter(%x: tensor<128x64xbf16>) -> tensor<32x64xbf16> {
      %r = te_quant.reduce_scatter %x {group = "tp", size = 4 : i64} : tensor<128x64xbf16> -> tensor<32x64xbf16>
      return %r : tensor<32x64xbf16>
    }
    ```
  }];
  let arguments = (ins TEQuant_PlainTensor:$input, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs TEQuant_PlainTensor:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
}

def TEQuant_AllReduceOp : TEQuant_CollectiveOp<"all_reduce",
    [SameOperandsAndResultType]> {
  let summary = "combine the elements of all ranks";
  let description = [{
    The sum, in the runtime's order, or the maximum, which leaves NaN out as
    amaxes do. The reduced amax of a tensor that is spread over ranks:

    Example:

    ```mlir
    #q = #te_quant.float8_current_scaling<f8E4M3FN>
    func.func @reduced(%x: tensor<32x64xbf16>) -> !te_quant.tensor<32x64xbf16, #q> {
      %a = te_quant.amax #q %x : tensor<32x64xbf16> -> tensor<1xf32>
      %m = te_quant.all_reduce max %a {group = "tp", size = 4 : i64} : tensor<1xf32>
      %q = te_quant.quantize %x amax(%m) : tensor<32x64xbf16>, tensor<1xf32> -> !te_quant.tensor<32x64xbf16, #q>
      return %q : !te_quant.tensor<32x64xbf16, #q>
    }
    ```
  }];
  let arguments = (ins TEQuant_ReductionAttr:$reduction,
                       TEQuant_PlainTensor:$input, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs TEQuant_PlainTensor:$result);
  let assemblyFormat = [{
    `` $reduction $input attr-dict `:` qualified(type($input))
  }];
}

//===----------------------------------------------------------------------===//
// On inner tensors and their buffers
//===----------------------------------------------------------------------===//

def TEQuant_AllGatherIntoOp : TEQuant_IntoOp<"all_gather_into"> {
  let summary = "concatenate along dim 0 into a given tensor";
  let description = [{
    `all_gather` after expansion, on one tensor of any element type. Its
    lowering is a call of `teAllGather`.

    Example:

    ```mlir
    func.func @gather_into(%x: tensor<32x64xf8E4M3FN>, %y: tensor<128x64xf8E4M3FN>) -> tensor<128x64xf8E4M3FN> {
      %r = te_quant.all_gather_into ins(%x : tensor<32x64xf8E4M3FN>) outs(%y : tensor<128x64xf8E4M3FN>)
        {group = "tp", size = 4 : i64} -> tensor<128x64xf8E4M3FN>
      return %r : tensor<128x64xf8E4M3FN>
    }
    ```
  }];
  let arguments = (ins TEQuant_TensorOrMemRef:$input,
                       TEQuant_TensorOrMemRef:$outs, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $outs `:` type($outs) `)`
    attr-dict (`->` type($result)^)?
  }];
}

def TEQuant_ReduceScatterIntoOp : TEQuant_IntoOp<"reduce_scatter_into"> {
  let summary = "sum over the ranks into this rank's part of dim 0";
  let description = [{
    `reduce_scatter` after expansion. Its lowering is a call of
    `teReduceScatter`.

    Example:

    ```mlir
    func.func @scatter_into(%x: tensor<128x64xbf16>, %y: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
      %r = te_quant.reduce_scatter_into ins(%x : tensor<128x64xbf16>) outs(%y : tensor<32x64xbf16>)
        {group = "tp", size = 4 : i64} -> tensor<32x64xbf16>
      return %r : tensor<32x64xbf16>
    }
    ```
  }];
  let arguments = (ins TEQuant_TensorOrMemRef:$input,
                       TEQuant_TensorOrMemRef:$outs, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $outs `:` type($outs) `)`
    attr-dict (`->` type($result)^)?
  }];
}

def TEQuant_AllReduceIntoOp : TEQuant_IntoOp<"all_reduce_into"> {
  let summary = "combine the elements of all ranks into a given tensor";
  let description = [{
    `all_reduce` after expansion. Its lowering is a call of `teAllReduce`.

    Example:

    ```mlir
    func.func @reduce_into(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
      %r = te_quant.all_reduce_into max ins(%x : tensor<1xf32>) outs(%y : tensor<1xf32>)
        {group = "tp", size = 4 : i64} -> tensor<1xf32>
      return %r : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins TEQuant_ReductionAttr:$reduction,
                       TEQuant_TensorOrMemRef:$input,
                       TEQuant_TensorOrMemRef:$outs, StrAttr:$group,
                       TEQuant_GroupSize:$size);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `` $reduction `ins` `(` $input `:` type($input) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($result)^)?
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTCOLLECTIVEOPS_TD
