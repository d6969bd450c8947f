//===- QuantTypes.td - the TensorSpec type --------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTTYPES_TD
#define TE_DIALECT_QUANT_IR_QUANTTYPES_TD

include "te/Dialect/Quant/IR/QuantQuantizers.td"

def TEQuant_TensorSpecType : TypeDef<TEQuant_Dialect, "TensorSpec"> {
  let mnemonic = "tensor";
  let summary = "a tensor described by shape, nominal dtype and quantizer";
  let description = [{
    `shape` is the logical shape, `nominalDtype` the high-precision type the
    tensor stands for (f32, bf16 or f16). With a quantizer the tensor is
    quantized and backed by the inner tensors of the quantizer's layout;
    without one it is plain and backed by one tensor, `data`. The usage in the
    quantizer is the set of representations that are present.

    Any shape is legal: divisions in a layout round up. Whether `quantize` can
    make a tensor of a shape is a question for that op.

    Example:

    ```mlir
    !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
    !te_quant.tensor<?x64xf32, #te_quant.nvfp4, requires_grad = true, device = "cuda:0">
    !te_quant.tensor<8x16xbf16>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$nominalDtype,
    OptionalParameter<"::te::quant::QuantizerAttrInterface">:$quantizer,
    DefaultValuedParameter<"bool", "false">:$requiresGrad,
    OptionalParameter<"::mlir::StringAttr">:$device
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isQuantized() const { return static_cast<bool>(getQuantizer()); }
    int64_t getRank() const { return getShape().size(); }

    /// The layout: the quantizer's, or `data` alone for a plain tensor.
    LayoutAttr getLayout() const;

    /// The inner tensors as builtin tensor types, in canonical order.
    ::llvm::SmallVector<::mlir::Type> getInnerTypes() const;

    /// The same tensor with another shape, for which the layout must not
    /// overflow.
    TensorSpecType withShape(::llvm::ArrayRef<int64_t> shape) const;

    /// The same tensor with another quantizer.
    TensorSpecType withQuantizer(QuantizerAttrInterface quantizer) const;
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTTYPES_TD
