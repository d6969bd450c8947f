//===- QuantAllOps.td - all operations, for the reference -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTALLOPS_TD
#define TE_DIALECT_QUANT_IR_QUANTALLOPS_TD

include "te/Dialect/Quant/IR/QuantCollectiveOps.td"
include "te/Dialect/Quant/IR/QuantGemmOps.td"
include "te/Dialect/Quant/IR/QuantLinearOps.td"
include "te/Dialect/Quant/IR/QuantModuleOps.td"
include "te/Dialect/Quant/IR/QuantOps.td"

#endif // TE_DIALECT_QUANT_IR_QUANTALLOPS_TD
