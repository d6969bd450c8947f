//===- QuantOpInterfaces.td - what several operations have in common ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTOPINTERFACES_TD
#define TE_DIALECT_QUANT_IR_QUANTOPINTERFACES_TD

include "mlir/IR/OpBase.td"

def TEQuant_FusedInputOpInterface : OpInterface<"FusedInputOpInterface"> {
  let cppNamespace = "::te::quant";
  let description = [{
    An op that reads a tensor, its logical input, element by element. It is the
    only operand of `inputs`, or what a region makes of the elements of several
    ones: the region, `fuse` in the textual form, has an argument for each
    input and yields an element of the logical input.

    Each input has an affine map from the dims of the logical input to its own,
    as in `linalg.generic`: all of them, the last one, all but the last one, or
    none. At least one input has all dims.
  }];
  let methods = [
    InterfaceMethod<"The operands that the logical input is made of.",
      "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The same operands, to be changed.",
      "::mlir::MutableOperandRange", "getInputsMutable">,
    InterfaceMethod<"The region; empty where the only input is read as it is.",
      "::mlir::Region &", "getProducer">,
    InterfaceMethod<"The map of each input; null if all are identities.",
      "::mlir::ArrayAttr", "getIndexingMapsAttr">,
    InterfaceMethod<"Sets the maps.", "void", "setIndexingMapsAttr",
      (ins "::mlir::ArrayAttr":$maps)>,
    InterfaceMethod<"Whether the op may get a region.",
      "bool", "canFuseProducer", (ins), [{}], [{ return true; }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// The input that has the shape of the logical input.
    ::mlir::Value getShapedInput() {
      return ::te::quant::detail::getShapedInput($_op.getOperation());
    }
    /// The logical input as a tensor or memref. Null in an op that does not
    /// verify.
    ::mlir::ShapedType getInputType() {
      return ::te::quant::detail::getInputType($_op.getOperation());
    }
    /// The map of each input.
    ::llvm::SmallVector<::mlir::AffineMap> getInputMaps() {
      return ::te::quant::detail::getInputMaps($_op.getOperation());
    }
  }];
}

#endif // TE_DIALECT_QUANT_IR_QUANTOPINTERFACES_TD
