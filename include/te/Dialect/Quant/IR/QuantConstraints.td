//===- QuantConstraints.td - operand types and classes that ops share -----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTCONSTRAINTS_TD
#define TE_DIALECT_QUANT_IR_QUANTCONSTRAINTS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "te/Dialect/Quant/IR/QuantTypes.td"

def TEQuant_IsQuantizedPred
    : CPred<"::llvm::cast<::te::quant::TensorSpecType>($_self).isQuantized()">;

def TEQuant_AnySpec : DialectType<TEQuant_Dialect,
    CPred<"::llvm::isa<::te::quant::TensorSpecType>($_self)">, "TensorSpec",
    "::te::quant::TensorSpecType">;

def TEQuant_QuantizedSpec : DialectType<TEQuant_Dialect,
    And<[CPred<"::llvm::isa<::te::quant::TensorSpecType>($_self)">,
         TEQuant_IsQuantizedPred]>, "quantized TensorSpec",
    "::te::quant::TensorSpecType">;

def TEQuant_PlainSpec : DialectType<TEQuant_Dialect,
    And<[CPred<"::llvm::isa<::te::quant::TensorSpecType>($_self)">,
         Neg<TEQuant_IsQuantizedPred>]>, "plain TensorSpec",
    "::te::quant::TensorSpecType">;

/// A tensor that is not quantized: a builtin tensor or a plain spec.
def TEQuant_PlainTensor : AnyTypeOf<
    [RankedTensorOf<[F32, BF16, F16]>, TEQuant_PlainSpec],
    "ranked tensor of f32, bf16 or f16, or plain TensorSpec">;

/// Any tensor that ops on values take.
def TEQuant_Tensor : AnyTypeOf<
    [RankedTensorOf<[F32, BF16, F16]>, TEQuant_AnySpec],
    "ranked tensor of f32, bf16 or f16, or TensorSpec">;

def TEQuant_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef],
    "ranked tensor or strided memref">;

def TEQuant_ScalarTensor : RankedTensorOf<[F32]>;

/// An op on inner tensors that writes into `outs`: tensors before
/// bufferization, memrefs after it (then without results).
class TEQuant_IntoOp<string mnemonic, list<Trait> traits = []>
    : TEQuant_Op<mnemonic, [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let hasVerifier = 1;
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutsMutable();
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
}

#endif // TE_DIALECT_QUANT_IR_QUANTCONSTRAINTS_TD
