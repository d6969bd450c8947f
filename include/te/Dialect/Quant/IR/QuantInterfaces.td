//===- QuantInterfaces.td - what every quantizer answers ------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTINTERFACES_TD
#define TE_DIALECT_QUANT_IR_QUANTINTERFACES_TD

include "mlir/IR/OpBase.td"

def TEQuant_QuantizerAttrInterface : AttrInterface<"QuantizerAttrInterface"> {
  let cppNamespace = "::te::quant";
  let description = [{
    A quantizer: a family of formats with its options and the usage, the set of
    representations that are present. Everything that reasons about a quantized
    tensor asks this interface; nothing outside the quantizers knows families.

    Statements here are about facts of the format. How a family's kernels are
    built is the business of the kernel emitter, attached to the same attribute
    by another interface.
  }];
  let methods = [
    InterfaceMethod<"The family's name, as in the attribute's mnemonic.",
      "::llvm::StringRef", "getFamily">,
    InterfaceMethod<"The representations present.",
      "::te::quant::Usage", "getUsage">,
    InterfaceMethod<[{
        The same quantizer with another usage, or null where there is none: a
        family whose usage is fixed returns itself for that usage alone.
      }], "::te::quant::QuantizerAttrInterface", "withUsage",
      (ins "::te::quant::Usage":$usage)>,
    InterfaceMethod<"Whether tensors are bare storages without a wrapper.",
      "bool", "getInternal">,
    InterfaceMethod<"The same quantizer for wrappers or for bare storages.",
      "::te::quant::QuantizerAttrInterface", "withInternal",
      (ins "bool":$internal)>,
    InterfaceMethod<"Whether scales are in GEMM order, if the family has one.",
      "bool", "getOptimizeForGemm">,
    InterfaceMethod<"The same quantizer with another scale order.",
      "::te::quant::QuantizerAttrInterface", "withOptimizeForGemm",
      (ins "bool":$optimizeForGemm)>,
    InterfaceMethod<[{
        Names of the scales that have a GEMM order beside the compact one,
        whatever the usage. Both orders take the same shape.
      }], "::llvm::SmallVector<::mlir::StringAttr>", "getGemmOrderedInners",
      (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        The same quantizer as a chip wants it whose per-tensor FP8 GEMMs take
        every transpose combination, or TN only. Itself for a family that the
        rule does not touch.
      }], "::te::quant::QuantizerAttrInterface", "withNonTNGemm",
      (ins "bool":$nonTNGemm), [{}], [{ return $_attr; }]>,
    InterfaceMethod<[{
        Whether the only inner tensor is the tensor itself in its nominal dtype:
        quantizing it computes nothing.
      }], "bool", "isIdentity", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        The quantizers a tensor is composed of, in the order of their inner
        tensors; empty for a family that is not composed. Quantizing and
        dequantizing a composed tensor is what its components do.
      }], "::llvm::SmallVector<::te::quant::QuantizerComponent>",
      "getComponents", (ins), [{}], [{ return {}; }]>,

    InterfaceMethod<[{
        The inner tensors for the usage, in canonical order. The only place
        where a family states its layout. Use `getLayout` of
        `TensorSpecType` or `te::quant::getLayout`, which cache the answer.
      }], "::te::quant::LayoutAttr", "computeLayout",
      (ins "::mlir::Type":$nominalDtype)>,
    InterfaceMethod<[{
        Names of all inner tensors the family can have, in canonical order. The
        names of a layout must be a subsequence; that is verified, a layout is
        never reordered.
      }], "::llvm::SmallVector<::mlir::StringAttr>", "getCanonicalOrder">,

    InterfaceMethod<[{
        Extents that must be multiples of a block for `quantize`, one for each
        present direction and extent, in the order in which they are reported.
      }], "::llvm::SmallVector<::te::quant::BlockConstraint>",
      "getQuantizeConstraints">,
    InterfaceMethod<[{
        Refuses a `quantize` (or `empty`) for reasons other than extents: a
        combination of options that no kernel produces, or a nominal dtype.
        Emits through `emitError` and fails.
      }], "::llvm::LogicalResult", "verifyQuantize",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::Type":$nominalDtype),
      [{}], [{ return ::mlir::success(); }]>,
    InterfaceMethod<[{
        What `quantize` takes and gives besides the input and the tensor.
      }], "::te::quant::QuantizeSignature", "getQuantizeSignature",
      (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Whether what quantizes the tensor can make its elements itself, by the
        region of a `quantize_into`.
      }], "bool", "fusesProducers", (ins), [{}],
      [{ return !$_attr.isIdentity(); }]>,
    InterfaceMethod<[{
        Whether what quantizes the tensor can also sum its columns, by the flag
        `column_sum` of a `quantize_into`.
      }], "bool", "fusesColumnSum", (ins), [{}], [{ return false; }]>,

    InterfaceMethod<[{
        Extents that must be multiples of a block for a tensor to be gathered
        in quantized form, or nothing when it never is. A rank of two or more
        is demanded as well where the list is not empty.
      }], "std::optional<::llvm::SmallVector<::te::quant::BlockConstraint>>",
      "getGatherConstraints">,
    InterfaceMethod<"When an all-gather moves the quantized form.",
      "::te::quant::QuantizedGather", "getQuantizedGather",
      (ins), [{}], [{ return ::te::quant::QuantizedGather::Never; }]>,
    InterfaceMethod<[{
        Whether a tensor that is to be gathered stays in high precision until
        the GEMM needs it: the format's owner knows no other moment.
      }], "bool", "isQuantizedAtGemm", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether quantizing a dequantized tensor again gives the same bytes
        (rowwise).
      }], "bool", "isRequantizationSafe">,
    InterfaceMethod<[{
        Whether quantizing the original again, in a later step, gives what it
        gave before.
      }], "bool", "isReconstructible",
      (ins), [{}], [{ return $_attr.isRequantizationSafe(); }]>,
    InterfaceMethod<"Whether only rowwise data can be all-gathered.",
      "bool", "isRowOnlyAllGather">,
    InterfaceMethod<[{
        Whether each row has its own amax, so that neither an amax of the whole
        tensor nor the columns alone can be quantized.
      }], "bool", "isRowScaled", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether quantizing a gradient also gives the sum of its rows, the bias
        gradient, in one step.
      }], "bool", "sumsRowsWhenQuantizing",
      (ins), [{}], [{ return false; }]>,

    InterfaceMethod<[{
        What a change of the present representations means: nothing, dropping,
        deriving columnwise data from rowwise data, or a refusal with its
        reason. `usage` empty means dropping all of them.
      }], "::te::quant::UsageChange", "getUsageChange",
      (ins "std::optional<::te::quant::Usage>":$usage)>,

    InterfaceMethod<[{
        How a gemm reads one representation, `Rowwise` or `Columnwise`, or
        nothing where no gemm can. Whether it is present is another question:
        the layout's. All that verification, kernels and library calls need to
        know of a family; a composed or identity quantizer is not asked.
      }], "std::optional<::te::quant::GemmOperand>", "getGemmOperand",
      (ins "::te::quant::Usage":$direction), [{}], [{ return std::nullopt; }]>,
  ];
  let extraClassDeclaration = [{
    /// Whether `usage` includes all of `part`.
    static bool includes(::te::quant::Usage usage, ::te::quant::Usage part) {
      return (static_cast<uint32_t>(usage) & static_cast<uint32_t>(part)) ==
             static_cast<uint32_t>(part);
    }
  }];
  let extraSharedClassDeclaration = [{
    bool hasRowwise() const {
      return static_cast<uint32_t>($_attr.getUsage()) & 1;
    }
    bool hasGemmScaleOrder() const {
      return !$_attr.getGemmOrderedInners().empty();
    }
    bool hasColumnwise() const {
      return static_cast<uint32_t>($_attr.getUsage()) & 2;
    }
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTINTERFACES_TD
