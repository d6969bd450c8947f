//===- InputProducer.cpp - how kernels make their input -------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Kernels/InputProducer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "te/Kernels/KernelBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace te::quant;

/// Bytes of the longest vector access.
static constexpr int64_t maxAccessBytes = 16;

static int64_t getBytes(Type elementType) {
  return elementType.getIntOrFloatBitWidth() / 8;
}

/// What elements of a type are loaded as: FP8 as bytes.
static Type getLoadElementType(Type elementType) {
  if (isa<FloatType>(elementType) && getBytes(elementType) == 1)
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

static Type getAccessType(Type elementType, int64_t size) {
  return size == 1 ? elementType : VectorType::get(size, elementType);
}

static char spell(InputAccess access) {
  switch (access) {
  case InputAccess::Elements:
    return 'e';
  case InputAccess::Cols:
    return 'c';
  case InputAccess::Rows:
    return 'r';
  case InputAccess::Single:
    return 's';
  }
  return '?';
}

/// All that a kernel with `body` depends on, without names of values.
static void describe(Block &body, llvm::raw_ostream &os) {
  llvm::DenseMap<Value, unsigned> numbers;
  auto add = [&](Value value) {
    unsigned number = numbers.size();
    numbers[value] = number;
    os << ' ' << value.getType();
  };
  llvm::for_each(body.getArguments(), add);
  for (Operation &op : body) {
    os << '\n' << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " %" << numbers.lookup(operand);
    llvm::for_each(op.getResults(), add);
  }
}

InputProducer::InputProducer(FusedInputOpInterface op)
    : elementType(op.getInputType().getElementType()) {
  for (auto [input, map] : llvm::zip_equal(op.getInputs(), op.getInputMaps()))
    inputs.push_back(
        {*getInputAccess(map), getElementTypeOrSelf(input.getType())});
  if (op.getProducer().empty())
    return;
  body = &op.getProducer().front();
  std::string description;
  llvm::raw_string_ostream os(description);
  for (const Input &input : inputs)
    os << spell(input.access);
  describe(*body, os);
  nameSuffix =
      "_fused_" + llvm::utohexstr(llvm::xxh3_64bits(description),
                                  /*LowerCase=*/true, /*Width=*/16);
}

void InputProducer::appendPointers(SmallVectorImpl<KernelPointer> &pointers,
                                   bool isVector) const {
  for (const Input &input : inputs) {
    bool hasCols = input.access == InputAccess::Elements ||
                   input.access == InputAccess::Cols;
    pointers.push_back({KernelPointer::Input,
                        static_cast<unsigned>(getBytes(input.elementType)),
                        isVector && hasCols});
  }
}

SmallVector<Type> InputProducer::getLoadTypes(int64_t size) const {
  return llvm::map_to_vector(inputs, [&](const Input &input) {
    bool hasCols = input.access == InputAccess::Elements ||
                   input.access == InputAccess::Cols;
    return getAccessType(getLoadElementType(input.elementType),
                         hasCols ? size : 1);
  });
}

/// Loads a vector in accesses of a size that there is.
static Value loadParts(KernelBuilder &b, Value pointer, Type type,
                       Value offset) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return b.load(pointer, type, offset);
  Type elementType = vector.getElementType();
  int64_t size = vector.getNumElements();
  int64_t part = std::min(size, maxAccessBytes / getBytes(elementType));
  SmallVector<Value> parts;
  for (int64_t first = 0; first < size; first += part)
    parts.push_back(b.load(pointer, VectorType::get(part, elementType),
                           first == 0 ? offset : b.add(offset, first)));
  return b.concat(parts);
}

SmallVector<Value> InputProducer::load(KernelBuilder &b, int64_t size,
                                       const InputIndex &index) const {
  Value row = index.row, col = index.col;
  SmallVector<Value> loaded;
  for (auto [number, input, type] :
       llvm::enumerate(inputs, getLoadTypes(size))) {
    Value offset;
    switch (input.access) {
    case InputAccess::Elements:
      offset = index.offset;
      break;
    case InputAccess::Cols:
      if (!col)
        col = arith::RemUIOp::create(b, index.offset, b.getCols());
      offset = col;
      break;
    case InputAccess::Rows:
      if (!row)
        row = arith::DivUIOp::create(b, index.offset, b.getCols());
      offset = row;
      break;
    case InputAccess::Single:
      offset = b.i64(0);
      break;
    }
    loaded.push_back(loadParts(b, b.getPointer(number), type, offset));
  }
  return loaded;
}

Value InputProducer::apply(KernelBuilder &b, int64_t size,
                           ValueRange loaded) const {
  if (!body)
    return loaded.front();
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip_equal(body->getArguments(), loaded)) {
    Type type = getAccessType(getElementTypeOrSelf(value.getType()), size);
    if (type != value.getType())
      value = vector::BroadcastOp::create(b, type, value);
    Type elementType = getAccessType(argument.getType(), size);
    if (elementType != type)
      value = arith::BitcastOp::create(b, elementType, value);
    mapping.map(argument, value);
  }
  // The ops are elementwise: they work on vectors as they do on scalars.
  for (Operation &op : body->without_terminator()) {
    TypedAttr constant;
    if (matchPattern(&op, m_Constant(&constant)) && size > 1) {
      auto type = VectorType::get(size, constant.getType());
      mapping.map(op.getResult(0),
                  arith::ConstantOp::create(
                      b, type,
                      DenseElementsAttr::get(type, Attribute(constant)))
                      .getResult());
      continue;
    }
    Operation *copy = b.clone(op, mapping);
    for (OpResult result : copy->getResults())
      result.setType(getAccessType(result.getType(), size));
  }
  return mapping.lookup(cast<YieldOp>(body->getTerminator()).getValue());
}
