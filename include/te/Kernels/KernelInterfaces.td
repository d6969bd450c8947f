//===- KernelInterfaces.td - how a quantizer gets its kernels -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_KERNELS_KERNELINTERFACES_TD
#define TE_KERNELS_KERNELINTERFACES_TD

include "mlir/IR/OpBase.td"

class TEQuant_EmitMethod<string summary, string name, string op>
    : InterfaceMethod<summary, "::llvm::FailureOr<::mlir::func::FuncOp>", name,
        (ins op:$op, "::te::quant::KernelContext &":$context), [{}],
        [{ return ::te::quant::emitNoKernelError(op, $_attr); }]>;

def TEQuant_KernelEmitterInterface : AttrInterface<"KernelEmitterInterface"> {
  let cppNamespace = "::te::quant";
  let description = [{
    Makes the kernels of a quantizer. Attached to the quantizer attributes from
    outside (`registerKernelEmitters`), so that the dialect knows no kernels.

    A method returns the launch function for an op on memrefs, making it and its
    kernels if no op before asked for the same ones. The launch function takes a
    pointer for each memref operand of the op in order, the flattened rows and
    columns of the logical shape, and the stream.

    The quantizer to emit for is the attribute itself; of the op only operand
    types and groups matter. A quantizer made of others may thus ask them with
    the op at hand. What a method leaves to its default is an error at the op
    that names the family and what it has kernels for.
  }];
  let methods = [
    InterfaceMethod<[{
        The ops that the family has kernels for, by their names without the
        dialect, for diagnostics.
      }], "::llvm::SmallVector<::llvm::StringRef>", "getSupportedOps">,
    TEQuant_EmitMethod<"The launch function of a `quantize_into`.",
      "emitQuantize", "::te::quant::QuantizeIntoOp">,
    TEQuant_EmitMethod<"The launch function of a `dequantize_into`.",
      "emitDequantize", "::te::quant::DequantizeIntoOp">,
    TEQuant_EmitMethod<"The launch function of a `swizzle_into`.",
      "emitSwizzle", "::te::quant::SwizzleIntoOp">,
    TEQuant_EmitMethod<"The launch function of an `amax_into`.",
      "emitAmax", "::te::quant::AmaxIntoOp">,
    TEQuant_EmitMethod<[{
        The launch function of an `update_scale_into`; its extents are those of
        the history, one row.
      }], "emitUpdateScale", "::te::quant::UpdateScaleIntoOp">,
    TEQuant_EmitMethod<"The launch function of a `derive_into`.",
      "emitDerive", "::te::quant::DeriveIntoOp">,
  ];
}

#endif // TE_KERNELS_KERNELINTERFACES_TD
