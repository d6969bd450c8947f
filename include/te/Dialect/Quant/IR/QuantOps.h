//===- QuantOps.h - operations of the quant dialect -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTOPS_H
#define TE_DIALECT_QUANT_IR_QUANTOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "te/Dialect/Quant/IR/Quant.h"

namespace te::quant {

/// How an input is read at an element of the logical input.
enum class InputAccess {
  /// The element at the same place: all dims.
  Elements,
  /// One for each column: the last dim.
  Cols,
  /// One for each row of the flattened tensor: all dims but the last.
  Rows,
  /// The same one everywhere: no dims.
  Single,
};

/// How a map from the dims of the logical input reads; nothing for a map that
/// no input can have.
std::optional<InputAccess> getInputAccess(mlir::AffineMap map);

/// Whether tensors with these elements can be inputs of a region.
bool isInputElementType(mlir::Type type);

/// Whether a region on elements may contain `op`: it computes scalars from
/// scalars and could as well do so for elements that do not exist.
bool isElementOp(mlir::Operation *op);

/// Rows whose elements `column_sum` adds up before it adds the sums.
constexpr int64_t columnSumChunk = 32;

namespace detail {
mlir::Value getShapedInput(mlir::Operation *op);
mlir::ShapedType getInputType(mlir::Operation *op);
llvm::SmallVector<mlir::AffineMap> getInputMaps(mlir::Operation *op);
} // namespace detail

} // namespace te::quant

#include "te/Dialect/Quant/IR/QuantOpInterfaces.h.inc"

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantOps.h.inc"

#endif // TE_DIALECT_QUANT_IR_QUANTOPS_H
