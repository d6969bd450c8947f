//===- QuantAttrs.td - the layout attribute -------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTATTRS_TD
#define TE_DIALECT_QUANT_IR_QUANTATTRS_TD

include "te/Dialect/Quant/IR/QuantDialect.td"

def TEQuant_LayoutAttr : TEQuant_Attr<"Layout", "layout"> {
  let summary = "the inner tensors of a quantized tensor, in canonical order";
  let description = [{
    Lists each inner tensor with its name, element type and shape. A dim of a
    shape is an affine expression over `rows`, the product of all logical dims
    but the last, and `cols`, the last one (both 1 where there is no such dim).
    The word `leading`, alone in a dim's place, stands for all logical dims but
    the last. A shape with `leading` has rank 0 where the logical one has.

    One attribute therefore serves every rank and static, dynamic and zero
    sizes. Evaluation is checked: an extent that does not fit in 64 bits is an
    error.

    Example:

    ```mlir
    #te_quant.layout<rowwise_data : f8E4M3FN[leading, cols],
                     rowwise_scale_inv : f8E8M0FNU[(rows ceildiv 128) * 128,
                                                   (cols ceildiv 128) * 4]>
    ```
  }];
  // Each shape is a map (leading)[rows, cols] -> (dims).
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr">:$names,
    ArrayRefParameter<"::mlir::Type">:$elementTypes,
    ArrayRefParameter<"::mlir::AffineMap">:$shapes
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The number of inner tensors.
    size_t size() const { return getNames().size(); }

    /// Position of the inner tensor `name`, or nothing.
    std::optional<unsigned> lookup(::llvm::StringRef name) const;

    /// Shape of inner tensor `index` for a logical shape; dynamic dims are
    /// `ShapedType::kDynamic`. Fails when an extent overflows 64 bits or an
    /// expression divides by zero.
    ::llvm::LogicalResult
    getShape(unsigned index, ::llvm::ArrayRef<int64_t> logicalShape,
             ::llvm::SmallVectorImpl<int64_t> &shape) const;

    /// All inner tensors as builtin tensor types. Fails as `getShape` does.
    ::llvm::LogicalResult
    getInnerTypes(::llvm::ArrayRef<int64_t> logicalShape,
                  ::llvm::SmallVectorImpl<::mlir::Type> &types) const;
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTATTRS_TD
