//===- GemmOps.cpp - verification of matrix products ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"

using namespace mlir;
using namespace te::quant;

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantGemmOps.cpp.inc"

void TEQuantDialect::registerGemmOps() {
  addOperations<
#define GET_OP_LIST
#include "te/Dialect/Quant/IR/QuantGemmOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Representations
//===----------------------------------------------------------------------===//

Usage te::quant::getGemmDirection(GemmLayout layout, bool isA) {
  bool isTransposed = isA ? layout == GemmLayout::TN : layout == GemmLayout::NT;
  return isTransposed == isA ? Usage::Rowwise : Usage::Columnwise;
}

GemmOperand te::quant::getPlainGemmOperand(Type dtype, Usage direction) {
  GemmOperand operand;
  operand.codes = "data";
  operand.codeType = dtype;
  operand.isLineMajor = direction == Usage::Rowwise;
  return operand;
}

std::optional<GemmRepresentation>
te::quant::getGemmRepresentation(QuantizerAttrInterface quantizer,
                                 Usage direction) {
  if (!quantizer || quantizer.isIdentity())
    return GemmRepresentation{{}, {0}};
  // The nominal dtype has no part in the names.
  Type f32 = Float32Type::get(quantizer.getContext());
  unsigned first = 0;
  for (const QuantizerComponent &component : quantizer.getComponents()) {
    auto part = cast<QuantizerAttrInterface>(component.quantizer);
    if (!QuantizerAttrInterface::includes(part.getUsage(), direction)) {
      first += getLayout(part, f32).size();
      continue;
    }
    std::optional<GemmRepresentation> found =
        getGemmRepresentation(part, direction);
    if (found)
      for (unsigned &inner : found->inners)
        inner += first;
    return found;
  }
  QuantizerAttrInterface narrow = quantizer.withUsage(direction);
  if (!quantizer.getComponents().empty() || !narrow)
    return std::nullopt;
  LayoutAttr present = getLayout(quantizer, f32);
  GemmRepresentation representation = {narrow, {}};
  for (StringAttr name : getLayout(narrow, f32).getNames()) {
    std::optional<unsigned> index = present.lookup(name);
    if (!index)
      return std::nullopt;
    representation.inners.push_back(*index);
  }
  return representation;
}

//===----------------------------------------------------------------------===//
// Checks of both ops
//===----------------------------------------------------------------------===//

namespace {
/// An operand as far as types tell.
struct Operand {
  StringRef name;
  Usage direction;
  /// Null for plain values.
  QuantizerAttrInterface quantizer;
  GemmOperand format;
};
} // namespace

static FailureOr<Operand> resolveOperand(Operation *op, GemmLayout layout,
                                         bool isA,
                                         QuantizerAttrInterface quantizer,
                                         Type dtype) {
  Operand operand = {isA ? "A" : "B", getGemmDirection(layout, isA), {}, {}};
  std::optional<GemmRepresentation> found =
      getGemmRepresentation(quantizer, operand.direction);
  if (!found) {
    if (!quantizer.withUsage(operand.direction))
      return op->emitOpError()
             << "'" << quantizer.getFamily() << "' tensors cannot be operands";
    return op->emitOpError()
           << "layout " << stringifyGemmLayout(layout) << " reads the "
           << stringifyUsage(operand.direction) << " representation of "
           << operand.name << ", but got '" << quantizer.getFamily()
           << "' with usage " << stringifyUsage(quantizer.getUsage());
  }
  operand.quantizer = found->quantizer;
  if (!operand.quantizer) {
    operand.format = getPlainGemmOperand(dtype, operand.direction);
    return operand;
  }
  std::optional<GemmOperand> format =
      operand.quantizer.getGemmOperand(operand.direction);
  if (!format)
    return op->emitOpError() << "'" << operand.quantizer.getFamily()
                             << "' tensors cannot be operands";
  operand.format = *format;
  return operand;
}

/// Whether the two can be multiplied (semantics: 5.7, Q-10).
static LogicalResult verifyPair(Operation *op, const Operand &a,
                                const Operand &b, Type dtype, bool isGelu) {
  if (a.format.scalingMode != b.format.scalingMode ||
      a.format.block != b.format.block || !a.quantizer != !b.quantizer)
    return op->emitOpError()
           << "expected A and B to be scaled alike, but A has scaling mode '"
           << a.format.scalingMode << "' and B '" << b.format.scalingMode
           << "'";
  if (a.format.transform != b.format.transform) {
    auto print = [](StringRef transform) {
      return transform.empty() ? StringRef("no transform") : transform;
    };
    return op->emitOpError()
           << "expected A and B with the same transform along the contracted "
              "dimension, but A has "
           << print(a.format.transform) << " and B "
           << print(b.format.transform);
  }
  if (a.format.linesPerScale > 1 && b.format.linesPerScale > 1)
    return op->emitOpError()
           << "expected at most one operand with scales of tiles, but A and B "
              "both have tiles of "
           << a.format.linesPerScale << "x" << a.format.block;
  bool isF16Legal = a.format.allowsF16Result && b.format.allowsF16Result;
  if (dtype.isF16() && !isF16Legal)
    return op->emitOpError() << "expected a result of f32 or bf16 for '"
                             << a.quantizer.getFamily() << "', but got f16";
  if (isGelu && (a.format.hasLineFactors || b.format.hasLineFactors))
    return op->emitOpError()
           << "'gelu' is not possible with row-scaled operands";
  return success();
}

static LogicalResult verifyMultiple(Operation *op, const Operand &operand,
                                    StringRef what, int64_t extent,
                                    int64_t multiple) {
  if (ShapedType::isDynamic(extent) || extent % multiple == 0)
    return success();
  return op->emitOpError() << "expected the " << what << " extent of "
                           << operand.name << " to be a multiple of "
                           << multiple << " for '"
                           << operand.quantizer.getFamily() << "', but got "
                           << extent;
}

/// Checks the dtype of the bias or of the argument of gelu (semantics: 5.5;
/// numerics: 8.4).
static LogicalResult verifyEpilogueDtype(Operation *op, StringRef what,
                                         Type type, bool isQuantized,
                                         Type dtype) {
  Type expected = isQuantized && dtype.isF32()
                      ? Type(BFloat16Type::get(op->getContext()))
                      : dtype;
  Type actual = getLogicalElementType(type);
  if (actual == expected)
    return success();
  return op->emitOpError() << "expected " << what << " of " << expected
                           << " for a result of " << dtype << " from "
                           << (isQuantized ? "quantized" : "plain")
                           << " operands, but got " << actual;
}

static LogicalResult verifyBias(Operation *op, Type type, int64_t size,
                                bool isQuantized, Type dtype) {
  ArrayRef<int64_t> shape = getLogicalShape(type);
  if (shape.size() != 1 || (!ShapedType::isDynamic(shape[0]) &&
                            !ShapedType::isDynamic(size) && shape[0] != size)) {
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "expected a bias of one dim";
    if (!ShapedType::isDynamic(size))
      diagnostic << " of size " << size;
    return diagnostic << ", but got " << type;
  }
  return verifyEpilogueDtype(op, "a bias", type, isQuantized, dtype);
}

//===----------------------------------------------------------------------===//
// GemmOp
//===----------------------------------------------------------------------===//

/// The quantizer of a value's type, or null.
static QuantizerAttrInterface getQuantizer(Type type) {
  auto spec = dyn_cast<TensorSpecType>(type);
  return spec ? spec.getQuantizer() : QuantizerAttrInterface();
}

LogicalResult GemmOp::verify() {
  Operation *op = getOperation();
  Type dtype = getLogicalElementType(getResult().getType());
  Operand operands[2];
  // The extents along the lines and across.
  int64_t depth[2], lines[2];
  for (bool isA : {true, false}) {
    Type type = (isA ? getA() : getB()).getType();
    FailureOr<Operand> operand = resolveOperand(
        op, getLayout(), isA, getQuantizer(type), getLogicalElementType(type));
    if (failed(operand))
      return failure();
    ArrayRef<int64_t> shape = getLogicalShape(type);
    if (shape.empty())
      return emitOpError() << "expected " << operand->name
                           << " to have at least one dim, but got " << type;
    FailureOr<std::pair<int64_t, int64_t>> extents = getFlattenedExtents(shape);
    if (failed(extents))
      return emitOpError() << "flattened extents of " << type
                           << " overflow 64 bits";
    bool isRowwise = operand->direction == Usage::Rowwise;
    depth[!isA] = isRowwise ? extents->second : extents->first;
    lines[!isA] = isRowwise ? extents->first : extents->second;
    int64_t freeMultiple =
        isA ? operand->format.freeMultipleAsA : operand->format.freeMultipleAsB;
    if (failed(verifyMultiple(op, *operand, "contracted", depth[!isA],
                              operand->format.depthMultiple)) ||
        failed(verifyMultiple(op, *operand, "free", lines[!isA], freeMultiple)))
      return failure();
    operands[!isA] = *operand;
  }
  auto &[a, b] = operands;
  if (!ShapedType::isDynamic(depth[0]) && !ShapedType::isDynamic(depth[1]) &&
      depth[0] != depth[1])
    return emitOpError() << "expected contracted extents to be equal, but got "
                         << depth[0] << " of A and " << depth[1] << " of B";
  if (failed(verifyPair(op, a, b, dtype, getGelu())))
    return failure();

  // P-2
  SmallVector<int64_t> shape;
  if (b.direction == Usage::Rowwise)
    llvm::append_range(shape, getLogicalShape(getB().getType()).drop_back());
  else
    shape.push_back(lines[1]);
  shape.push_back(lines[0]);
  if (failed(verifySameShape(op, "the result",
                             getLogicalShape(getResult().getType()),
                             "the product", shape)))
    return failure();
  bool isQuantized = bool(a.quantizer);
  if (getBias() &&
      failed(verifyBias(op, getBias().getType(), lines[0], isQuantized, dtype)))
    return failure();
  if (getAccumulator() && getAccumulator().getType() != getResult().getType())
    return emitOpError() << "type of 'accumulate' ("
                         << getAccumulator().getType()
                         << ") must equal the result's type ("
                         << getResult().getType() << ")";
  if (bool(getPreActivation()) != getGelu())
    return emitOpError() << "expected a second result exactly with 'gelu', but "
                            "it "
                         << (getGelu() ? "is missing" : "is given");
  if (!getGelu())
    return success();
  Type preActivation = getPreActivation().getType();
  if (failed(verifySameShape(op, "the second result",
                             getLogicalShape(preActivation), "the result",
                             getLogicalShape(getResult().getType()))))
    return failure();
  return verifyEpilogueDtype(op, "a second result", preActivation, isQuantized,
                             dtype);
}

//===----------------------------------------------------------------------===//
// GemmIntoOp
//===----------------------------------------------------------------------===//

void GemmIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), getAccumulate(), effects);
}

LogicalResult GemmIntoOp::verify() {
  Operation *op = getOperation();
  if (getOuts().size() != 1u + getGelu())
    return emitOpError() << "expected " << 1 + getGelu()
                         << " operands of 'outs', but got " << getOuts().size();
  SmallVector<Value> shaped(getAInners());
  llvm::append_range(shaped, getBInners());
  if (getBias())
    shaped.push_back(getBias());
  llvm::append_range(shaped, getOuts());
  if (failed(verifyInto(op, shaped, getOuts().getTypes())))
    return failure();
  Type result = getOuts().front().getType();
  Type dtype = getElementTypeOrSelf(result);

  Operand operands[2];
  for (bool isA : {true, false}) {
    OperandRange inners = isA ? getAInners() : getBInners();
    QuantizerAttrInterface quantizer =
        (isA ? getAQuantizer() : getBQuantizer()).value_or(nullptr);
    Type first = inners.empty() ? Type() : inners.front().getType();
    FailureOr<Operand> operand =
        resolveOperand(op, getLayout(), isA, quantizer,
                       first ? getElementTypeOrSelf(first) : Type());
    if (failed(operand))
      return failure();
    if (operand->quantizer != quantizer)
      return emitOpError() << "expected a quantizer with usage "
                           << stringifyUsage(operand->direction)
                           << " that is not made of others for "
                           << operand->name << ", but got " << quantizer;
    SmallVector<Type> expected;
    if (quantizer)
      llvm::append_range(
          expected, te::quant::getLayout(quantizer, dtype).getElementTypes());
    else
      expected.push_back(operand->format.codeType);
    auto types = llvm::map_to_vector(inners.getTypes(), [](Type type) {
      return getElementTypeOrSelf(type);
    });
    if (types != expected)
      return emitOpError() << "expected inner tensors of (" << expected
                           << ") for " << operand->name << ", but got ("
                           << types << ")";
    operands[!isA] = *operand;
  }
  auto &[a, b] = operands;
  if (failed(verifyPair(op, a, b, dtype, getGelu())))
    return failure();
  bool isQuantized = bool(a.quantizer);
  ArrayRef<int64_t> shape = getLogicalShape(result);
  if (shape.empty())
    return emitOpError() << "expected a result with at least one dim, but got "
                         << result;
  if (getBias() && failed(verifyBias(op, getBias().getType(), shape.back(),
                                     isQuantized, dtype)))
    return failure();
  if (!getGelu())
    return success();
  Type preActivation = getOuts().back().getType();
  if (failed(verifySameShape(op, "the second out",
                             getLogicalShape(preActivation), "the first out",
                             shape)))
    return failure();
  return verifyEpilogueDtype(op, "a second out", preActivation, isQuantized,
                             dtype);
}
