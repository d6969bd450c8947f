//===- QuantGemmOps.h - matrix products -----------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTGEMMOPS_H
#define TE_DIALECT_QUANT_IR_QUANTGEMMOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "te/Dialect/Quant/IR/Quant.h"

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantGemmOps.h.inc"

namespace te::quant {

/// P-0: the representation of A, or of B, that a layout reads.
Usage getGemmDirection(GemmLayout layout, bool isA);

/// What a gemm reads of a tensor.
struct GemmRepresentation {
  /// The quantizer with the usage that is read; null where values are plain.
  QuantizerAttrInterface quantizer;
  /// The numbers of its inner tensors among those of the whole tensor.
  llvm::SmallVector<unsigned> inners;
};

/// Finds the representation for `direction` among what a tensor with
/// `quantizer` has, looking into composed ones; a null quantizer is a plain
/// tensor. Nothing where it is not there.
std::optional<GemmRepresentation>
getGemmRepresentation(QuantizerAttrInterface quantizer, Usage direction);

/// How the plain values of a tensor of `dtype` are read.
GemmOperand getPlainGemmOperand(mlir::Type dtype, Usage direction);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_IR_QUANTGEMMOPS_H
