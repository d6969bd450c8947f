//===- LayoutReport.cpp - what reports on tensors have in common ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace te::quant;

std::string te::quant::getReportName(Value value, AsmState &state) {
  std::string name;
  llvm::raw_string_ostream os(name);
  Operation *scope = value.getParentBlock()->getParentOp();
  while (scope && !isa<FunctionOpInterface>(scope))
    scope = scope->getParentOp();
  if (scope)
    os << SymbolTable::getSymbolName(scope).getValue() << ".";
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && scope && argument.getOwner()->isEntryBlock() &&
      argument.getOwner()->getParentOp() == scope) {
    os << "arg" << argument.getArgNumber();
    return name;
  }
  std::string operand;
  llvm::raw_string_ostream operandOs(operand);
  value.printAsOperand(operandOs, state);
  os << StringRef(operand).ltrim('%');
  return name;
}

std::optional<int64_t> te::quant::getTotalBytes(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getSizeInBytes(tensor.getShape(), tensor.getElementType());
  std::optional<int64_t> total = 0;
  for (Type inner : cast<TensorSpecType>(type).getInnerTypes())
    total = addBytes(total, getTotalBytes(inner));
  return total;
}

std::optional<int64_t> te::quant::addBytes(std::optional<int64_t> a,
                                           std::optional<int64_t> b) {
  int64_t sum;
  if (!a || !b || llvm::AddOverflow(*a, *b, sum))
    return std::nullopt;
  return sum;
}

std::string te::quant::formatBytes(std::optional<int64_t> bytes) {
  return bytes ? std::to_string(*bytes) : "dynamic";
}
