//===- Signature.cpp - what a lowered function takes and returns ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir;
using namespace te::run;

static constexpr StringLiteral argsName = "te_quant.args";
static constexpr StringLiteral resultsName = "te_quant.results";
static constexpr StringLiteral tiedName = "te_quant.tied";
static constexpr StringLiteral streamName = "stream";

/// Prints with the quotes that MLIR's own diagnostics put around types.
static std::string quote(mlir::Type type) {
  std::string text;
  raw_string_ostream(text) << '\'' << type << '\'';
  return text;
}

std::string te::run::formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream stream(text);
  interleave(
      shape, stream,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          stream << '?';
        else
          stream << size;
      },
      "x");
  return text;
}

std::string te::run::formatType(const BoundaryValue &value) {
  std::string text;
  raw_string_ostream stream(text);
  if (!value.isTensor()) {
    stream << value.elementType;
    return text;
  }
  stream << "tensor<" << formatShape(*value.shape)
         << (value.shape->empty() ? "" : "x") << value.elementType << '>';
  return text;
}

std::optional<int64_t> te::run::getSizeInBytes(ArrayRef<int64_t> shape,
                                               unsigned elementSize) {
  // A zero makes the product zero whatever the others are.
  if (is_contained(shape, 0))
    return 0;
  int64_t bytes = elementSize;
  for (int64_t size : shape) {
    std::optional<int64_t> product = checkedMul(bytes, size);
    if (!product)
      return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

/// Returns the type that func-to-llvm converts an element type to, or null for
/// types whose bytes in a file would not be those in memory.
static mlir::Type getLoweredElementType(mlir::Type type) {
  MLIRContext *context = type.getContext();
  if (type.isIndex())
    return IntegerType::get(context, 64);
  if (auto integer = dyn_cast<IntegerType>(type))
    if (is_contained({1, 8, 16, 32, 64}, integer.getWidth()))
      return IntegerType::get(context, integer.getWidth());
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
    return type;
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8)
    return IntegerType::get(context, 8);
  return {};
}

/// Names become parts of file names.
static bool isPlainName(StringRef name) {
  return !name.empty() && all_of(name, [](char c) {
    return isAlnum(c) || c == '_' || c == '-' || c == '$';
  });
}

static Expected<BoundaryValue> getBoundaryValue(Attribute attribute,
                                                StringRef listName) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  auto position = entry ? entry.getAs<IntegerAttr>("position") : IntegerAttr();
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  auto type = entry ? entry.getAs<TypeAttr>("type") : TypeAttr();
  if (!position || !name || !type)
    return createStringError("expected '" + listName +
                             "' to be an array of {position, name, type}");
  if (!isPlainName(name.getValue()))
    return createStringError("expected the names in '" + listName +
                             "' to have letters, digits, '_', '-' and '$' "
                             "only, but got '" +
                             name.getValue() + "'");

  BoundaryValue value;
  value.position = position.getValue().getSExtValue();
  value.name = name.getValue().str();
  mlir::Type valueType = type.getValue();
  if (value.name == streamName && isa<LLVM::LLVMPointerType>(valueType))
    return value;
  value.elementType = valueType;
  if (isa<RankedTensorType, MemRefType>(valueType)) {
    auto shaped = cast<ShapedType>(valueType);
    value.elementType = shaped.getElementType();
    value.shape.emplace(shaped.getShape());
  }
  mlir::Type lowered = getLoweredElementType(value.elementType);
  if (!lowered)
    return createStringError(
        "expected tensors and scalars of 1 to 64 bit integers, index, 8 to 64 "
        "bit floats at the entry's boundary, but got " +
        quote(valueType));
  value.elementSize = (lowered.getIntOrFloatBitWidth() + 7) / 8;
  return value;
}

static Error getBoundaryValues(LLVM::LLVMFuncOp function, StringRef listName,
                               SmallVectorImpl<BoundaryValue> &values) {
  auto list = function->getAttrOfType<ArrayAttr>(listName);
  if (!list)
    return createStringError(
        "expected the lowered function '" + function.getName() +
        "' to have the attribute '" + listName +
        "', which te-quant-gpu-pipeline leaves on functions");
  for (Attribute attribute : list) {
    Expected<BoundaryValue> value = getBoundaryValue(attribute, listName);
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  return Error::success();
}

static Error setTies(LLVM::LLVMFuncOp function, Signature &signature) {
  Attribute attribute = function->getAttr(tiedName);
  if (!attribute)
    return Error::success();
  auto makeError = [&] {
    return createStringError(
        Twine("expected '") + tiedName +
        "' to be an array of pairs of a flattened result and a flattened "
        "argument, both tensors of one element type");
  };
  auto ties = dyn_cast<ArrayAttr>(attribute);
  if (!ties)
    return makeError();
  for (Attribute tie : ties) {
    auto pair = dyn_cast<DenseI64ArrayAttr>(tie);
    if (!pair || pair.size() != 2 || pair[0] < 0 || pair[1] < 0 ||
        uint64_t(pair[0]) >= signature.results.size() ||
        uint64_t(pair[1]) >= signature.arguments.size())
      return makeError();
    BoundaryValue &result = signature.results[pair[0]];
    const BoundaryValue &argument = signature.arguments[pair[1]];
    if (!result.isTensor() || !argument.isTensor() ||
        result.elementType != argument.elementType)
      return makeError();
    result.tiedArgument = pair[1];
  }
  return Error::success();
}

static mlir::Type getDescriptorType(MLIRContext *context, size_t rank) {
  mlir::Type pointer = LLVM::LLVMPointerType::get(context);
  mlir::Type word = IntegerType::get(context, 64);
  SmallVector<mlir::Type> fields = {pointer, pointer, word};
  if (rank) {
    mlir::Type sizes = LLVM::LLVMArrayType::get(word, rank);
    fields.append({sizes, sizes});
  }
  return LLVM::LLVMStructType::getLiteral(context, fields);
}

/// Returns the type of the lowered function with that signature.
static LLVM::LLVMFunctionType getLoweredType(MLIRContext *context,
                                             const Signature &signature) {
  mlir::Type pointer = LLVM::LLVMPointerType::get(context);
  mlir::Type word = IntegerType::get(context, 64);
  SmallVector<mlir::Type> parameters;
  for (const BoundaryValue &argument : signature.arguments) {
    if (argument.isStream()) {
      parameters.push_back(pointer);
    } else if (argument.isTensor()) {
      parameters.append({pointer, pointer, word});
      parameters.append(2 * argument.shape->size(), word);
    } else {
      parameters.push_back(getLoweredElementType(argument.elementType));
    }
  }
  SmallVector<mlir::Type> results;
  for (const BoundaryValue &result : signature.results) {
    if (result.tiedArgument)
      continue;
    results.push_back(result.isTensor()
                          ? getDescriptorType(context, result.shape->size())
                          : getLoweredElementType(result.elementType));
  }
  mlir::Type resultType =
      results.empty() ? LLVM::LLVMVoidType::get(context)
      : results.size() == 1
          ? results.front()
          : LLVM::LLVMStructType::getLiteral(context, results);
  return LLVM::LLVMFunctionType::get(resultType, parameters);
}

Expected<Signature> te::run::getSignature(LLVM::LLVMFuncOp function) {
  Signature signature;
  if (Error error = getBoundaryValues(function, argsName, signature.arguments))
    return error;
  if (Error error = getBoundaryValues(function, resultsName, signature.results))
    return error;
  if (Error error = setTies(function, signature))
    return error;

  for (const BoundaryValue &input : signature.getInputs())
    if (input.isStream())
      return createStringError("expected the stream to be the last argument of "
                               "'" +
                               function.getName() + "'");
  llvm::StringSet<> names;
  for (const BoundaryValue &result : signature.results) {
    if (result.isStream())
      return createStringError("expected tensors and scalars as results of '" +
                               function.getName() + "', but got a stream");
    if (!names.insert((Twine(result.position) + "_" + result.name).str())
             .second)
      return createStringError("expected result " + Twine(result.position) +
                               " of '" + function.getName() +
                               "' to have one inner tensor '" + result.name +
                               "', but got two");
  }

  LLVM::LLVMFunctionType expected =
      getLoweredType(function.getContext(), signature);
  if (function.getFunctionType() != expected)
    return createStringError(
        "expected '" + function.getName() + "' to have the type " +
        quote(expected) + " that its '" + argsName + "' and '" + resultsName +
        "' describe, but got " + quote(function.getFunctionType()));
  return signature;
}
