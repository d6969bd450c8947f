//===- Inputs.cpp - argument values from files ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "Npy.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace mlir;
using namespace te::run;

namespace {
/// One `--input`, taken apart.
struct InputSpec {
  std::string file;
  std::optional<SmallVector<int64_t>> shape;
};
} // namespace

/// Reads `2x128x64`.
static std::optional<SmallVector<int64_t>> parseShape(StringRef text) {
  SmallVector<int64_t> shape;
  for (StringRef part : split(text, 'x')) {
    int64_t size;
    if (part.empty() || !all_of(part, isDigit) || part.getAsInteger(10, size))
      return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

/// A file whose own name ends like a shape is taken as it is named.
static Expected<InputSpec> parseInputSpec(StringRef text) {
  if (sys::fs::exists(text) || !text.contains(':'))
    return InputSpec{text.str(), std::nullopt};
  auto [file, shapeText] = text.rsplit(':');
  std::optional<SmallVector<int64_t>> shape = parseShape(shapeText);
  if (!shape)
    return createStringError("expected a file, or a file with a shape like "
                             "':2x128x64', but got '" +
                             text + "'");
  return InputSpec{file.str(), std::move(shape)};
}

/// Whether an array of that dtype holds elements of `type`. Types that numpy
/// lacks may also be given as their bits.
static bool isNpyDtypeOf(const NpyDtype &dtype, mlir::Type type) {
  if (type.isIndex())
    return dtype.kind == 'i' || dtype.kind == 'u';
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() == 1)
      return dtype.kind == 'b';
    return (dtype.kind == 'i' && !integer.isUnsigned()) ||
           (dtype.kind == 'u' && !integer.isSigned());
  }
  if (isa<Float16Type, Float32Type, Float64Type>(type))
    return dtype.kind == 'f';
  return dtype.kind == 'V' || dtype.kind == 'u' || dtype.kind == 'i';
}

/// Returns the numpy dtypes that hold elements of the argument's type.
static std::string describeNpyDtypes(const BoundaryValue &argument) {
  std::string text;
  for (StringRef kind : {"f", "i", "u", "b", "V"}) {
    if (!isNpyDtypeOf(NpyDtype{kind[0], argument.elementSize, false},
                      argument.elementType))
      continue;
    text += (Twine(text.empty() ? "'" : " or '") +
             (argument.elementSize > 1 ? "<" : "|") + kind +
             Twine(argument.elementSize) + "'")
                .str();
  }
  return text;
}

static Error checkNpyDtype(StringRef descr, const BoundaryValue &argument) {
  Expected<NpyDtype> dtype = parseNpyDtype(descr);
  if (!dtype)
    return dtype.takeError();
  // ml_dtypes' names say more than the kind: an f8E4M3FN is no f8E5M2.
  std::string typeName;
  raw_string_ostream(typeName) << argument.elementType;
  bool isOtherName = llvm::StringSwitch<bool>(descr)
                         .Case("bfloat16", typeName != "bf16")
                         .Case("float8_e4m3fn", typeName != "f8E4M3FN")
                         .Case("float8_e5m2", typeName != "f8E5M2")
                         .Case("float8_e8m0fnu", typeName != "f8E8M0FNU")
                         .Default(false);
  if (isOtherName || dtype->sizeInBytes != argument.elementSize ||
      !isNpyDtypeOf(*dtype, argument.elementType))
    return createStringError("expected the dtype " +
                             describeNpyDtypes(argument) + " for '" + typeName +
                             "', but got '" + descr + "'");
  if (dtype->isBigEndian && argument.elementSize > 1)
    return createStringError("expected little-endian elements, but got the "
                             "dtype '" +
                             descr + "'");
  return Error::success();
}

/// Checks a shape against the argument's static sizes.
static Error checkShape(ArrayRef<int64_t> shape,
                        const BoundaryValue &argument) {
  // A scalar is an array of rank 0.
  ArrayRef<int64_t> expected;
  if (argument.isTensor())
    expected = *argument.shape;
  bool matches = shape.size() == expected.size();
  for (size_t i = 0; matches && i < shape.size(); ++i)
    matches = ShapedType::isDynamic(expected[i]) || expected[i] == shape[i];
  if (matches)
    return Error::success();
  return createStringError("expected the shape [" + formatShape(expected) +
                           "], but got [" + formatShape(shape) + "]");
}

static Expected<Input> loadInput(const InputSpec &spec,
                                 const BoundaryValue &argument) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      spec.file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("cannot read '" + spec.file +
                             "': " + file.getError().message());
  Input input;
  input.file = std::move(*file);
  input.bytes = input.file->getBuffer();

  if (StringRef(spec.file).ends_with(".npy")) {
    Expected<NpyHeader> header = parseNpyHeader(input.bytes);
    if (!header)
      return header.takeError();
    if (Error error = checkNpyDtype(header->descr, argument))
      return error;
    if (header->isFortranOrder)
      return createStringError("expected an array in C order, but got one in "
                               "Fortran order");
    if (spec.shape && *spec.shape != header->shape)
      return createStringError("expected the shape [" +
                               formatShape(*spec.shape) +
                               "] that follows the file's name, but its header "
                               "says [" +
                               formatShape(header->shape) + "]");
    input.shape = header->shape;
    input.bytes = input.bytes.drop_front(header->dataOffset);
  } else if (spec.shape) {
    input.shape = *spec.shape;
  } else if (argument.isTensor()) {
    input.shape = *argument.shape;
    if (is_contained(input.shape, ShapedType::kDynamic))
      return createStringError("expected a shape for '" + formatType(argument) +
                               "', as in FILE:2x128x64 or in the header of a "
                               ".npy file");
  }
  if (Error error = checkShape(input.shape, argument))
    return error;

  std::optional<int64_t> size =
      getSizeInBytes(input.shape, argument.elementSize);
  if (!size)
    return createStringError("the shape [" + formatShape(input.shape) +
                             "] of '" + formatType(argument) +
                             "' has more bytes than 63 bits can count");
  if (input.bytes.size() != uint64_t(*size))
    return createStringError(
        "expected " + Twine(*size) + " bytes for '" + formatType(argument) +
        "'" +
        (is_contained(argument.shape.value_or(SmallVector<int64_t>()),
                      ShapedType::kDynamic)
             ? " of shape [" + formatShape(input.shape) + "]"
             : std::string()) +
        ", but '" + spec.file + "' has " + Twine(input.bytes.size()));
  if (argument.elementType.isInteger(1))
    for (char byte : input.bytes)
      if (byte != 0 && byte != 1)
        return createStringError("expected bytes 0 and 1 for 'i1', but got " +
                                 Twine(unsigned(uint8_t(byte))));
  return input;
}

Expected<std::vector<Input>>
te::run::loadInputs(ArrayRef<std::string> inputs,
                    ArrayRef<BoundaryValue> arguments) {
  if (inputs.size() != arguments.size()) {
    std::string list;
    for (const BoundaryValue &argument : arguments)
      list += (list.empty() ? ": " : ", ") + formatType(argument);
    return createStringError("expected " + Twine(arguments.size()) +
                             " inputs, one for each argument after flattening" +
                             list + "; but got " + Twine(inputs.size()));
  }
  std::vector<Input> values;
  for (auto [index, text, argument] : enumerate(inputs, arguments)) {
    auto addContext = [&, index = index,
                       &argument = argument](Error error) -> Error {
      return createStringError("input " + Twine(index) + " ('" + argument.name +
                               "' of argument " + Twine(argument.position) +
                               "): " + toString(std::move(error)));
    };
    Expected<InputSpec> spec = parseInputSpec(text);
    if (!spec)
      return addContext(spec.takeError());
    Expected<Input> value = loadInput(*spec, argument);
    if (!value)
      return addContext(value.takeError());
    values.push_back(std::move(*value));
  }
  return values;
}
