//===- QuantModuleOps.h - layers that contain linear layers ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTMODULEOPS_H
#define TE_DIALECT_QUANT_IR_QUANTMODULEOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "te/Dialect/Quant/IR/ModulePlan.h"

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantModuleOps.h.inc"

#endif // TE_DIALECT_QUANT_IR_QUANTMODULEOPS_H
