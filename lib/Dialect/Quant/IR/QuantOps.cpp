//===- QuantOps.cpp - verification, inference and folding -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/QuantOps.h"
#include "OpSupport.h"
#include "QuantProducers.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "te/Numerics/Formats.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

#include "te/Dialect/Quant/IR/QuantOpInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantOps.cpp.inc"

void TEQuantDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "te/Dialect/Quant/IR/QuantOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> te::quant::getLogicalShape(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getShape();
  return cast<ShapedType>(type).getShape();
}

Type te::quant::getLogicalElementType(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getNominalDtype();
  return cast<ShapedType>(type).getElementType();
}

LogicalResult te::quant::verifySameShape(Operation *op, StringRef what,
                                         ArrayRef<int64_t> shape,
                                         StringRef other,
                                         ArrayRef<int64_t> otherShape) {
  if (succeeded(verifyCompatibleShape(shape, otherShape)))
    return success();
  auto print = [](ArrayRef<int64_t> dims) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << '(';
    llvm::interleaveComma(dims, os, [&](int64_t dim) {
      if (ShapedType::isDynamic(dim))
        os << '?';
      else
        os << dim;
    });
    os << ')';
    return text;
  };
  return op->emitOpError() << "shape of " << what << " " << print(shape)
                           << " must equal shape of " << other << " "
                           << print(otherShape);
}

/// Checks a one-dimensional operand group of `quantize`.
static LogicalResult verifyVectorOperand(Operation *op, StringRef group,
                                         Type type, int64_t size,
                                         Type elementType) {
  auto shaped = cast<ShapedType>(type);
  if (shaped.getRank() == 1 && shaped.getDimSize(0) == size &&
      shaped.getElementType() == elementType)
    return success();
  return op->emitOpError() << "expected '" << group << "' to have " << size
                           << (size == 1 ? " element of " : " elements of ")
                           << elementType << ", but got " << type;
}

/// The groups of `quantize` against what the family takes. `numOutAmaxes`: how
/// many amaxes the op returns.
template <typename OpTy>
static LogicalResult verifySignature(OpTy op, QuantizerAttrInterface quantizer,
                                     bool returnsAmax) {
  QuantizeSignature signature = quantizer.getQuantizeSignature();
  MLIRContext *context = op.getContext();
  Type f32 = Float32Type::get(context);
  auto has = [](bool given) { return given ? "is given" : "is missing"; };
  if (bool(op.getScale()) != signature.takesScale)
    return op.emitOpError()
           << "'" << quantizer.getFamily() << "' takes "
           << (signature.takesScale ? "a" : "no") << " scale operand, but one "
           << has(bool(op.getScale()));
  if (bool(op.getRng()) != signature.takesRandomState)
    return op.emitOpError()
           << "'rng' is there exactly when the quantizer rounds "
              "stochastically, but it "
           << has(bool(op.getRng()));
  size_t numAmaxes = op.getAmax().size();
  if (numAmaxes != 0 && numAmaxes != signature.numAmaxes)
    return op.emitOpError() << "expected " << signature.numAmaxes
                            << " operands of 'amax' for '"
                            << quantizer.getFamily() << "', but got "
                            << numAmaxes;
  if (returnsAmax != signature.returnsAmax)
    return op.emitOpError()
           << "'" << quantizer.getFamily() << "' returns "
           << (signature.returnsAmax ? "an" : "no")
           << " amax, but the result for one " << has(returnsAmax);
  if (op.getNoop() && failed(verifyVectorOperand(
                          op, "noop", op.getNoop().getType(), 1, f32)))
    return failure();
  if (op.getScale() && failed(verifyVectorOperand(
                           op, "scale", op.getScale().getType(), 1, f32)))
    return failure();
  for (Value amax : op.getAmax())
    if (failed(verifyVectorOperand(op, "amax", amax.getType(), 1, f32)))
      return failure();
  if (op.getRng())
    return verifyVectorOperand(op, "rng", op.getRng().getType(), 2,
                               IntegerType::get(context, 64));
  return success();
}

/// Checks that `types` are the inner tensors `expected`.
static LogicalResult verifyInnerTypes(Operation *op, LayoutAttr layout,
                                      ArrayRef<int64_t> logicalShape,
                                      TypeRange types) {
  if (types.size() != layout.size())
    return op->emitOpError() << "expected " << layout.size()
                             << " inner tensors, but got " << types.size();
  SmallVector<int64_t> shape;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (failed(layout.getShape(index, logicalShape, shape)))
      return op->emitOpError() << "the shape of inner tensor '"
                               << layout.getNames()[index].getValue()
                               << "' overflows 64 bits";
    auto shaped = cast<ShapedType>(type);
    if (shaped.getElementType() != layout.getElementTypes()[index] ||
        failed(verifyCompatibleShape(shaped.getShape(), shape)))
      return op->emitOpError()
             << "expected inner tensor " << index << " '"
             << layout.getNames()[index].getValue() << "' to be "
             << RankedTensorType::get(shape, layout.getElementTypes()[index])
             << ", but got " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// EmptyOp
//===----------------------------------------------------------------------===//

LogicalResult EmptyOp::verify() {
  TensorSpecType type = getResult().getType();
  size_t numDynamic = llvm::count_if(type.getShape(), ShapedType::isDynamic);
  if (getDynamicSizes().size() != numDynamic)
    return emitOpError() << "expected " << numDynamic
                         << " dynamic sizes, but got "
                         << getDynamicSizes().size();
  // A custom quantizer without a quantize function still allocates.
  if (!type.isQuantized() || isa<CustomAttr>(type.getQuantizer()))
    return success();
  return type.getQuantizer().verifyQuantize([&] { return emitOpError(); },
                                            type.getNominalDtype());
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::verify() {
  TensorSpecType type = getResult().getType();
  if (failed(verifySameShape(*this, "the input",
                             getLogicalShape(getInput().getType()),
                             "the result", type.getShape())))
    return failure();
  if (getInto() && getInto().getType() != type)
    return emitOpError() << "type of 'into' (" << getInto().getType()
                         << ") must equal the result's type (" << type << ")";
  if (getNoop() && !getInto())
    return emitOpError() << "'noop' needs 'into': without it there is nothing "
                            "to leave as it is";
  if (failed(verifySignature(*this, type.getQuantizer(),
                             bool(getAmaxResult()))))
    return failure();
  if (getAmaxResult() && failed(verifyVectorOperand(
                             *this, "amax result", getAmaxResult().getType(), 1,
                             Float32Type::get(getContext()))))
    return failure();
  // With what the input's type knows about the dims, and its dtype: that is
  // what the kernel reads, whatever the nominal one (H-29).
  auto emit = [&] { return emitOpError(); };
  SmallVector<int64_t> shape =
      getMergedShape(type.getShape(), getLogicalShape(getInput().getType()));
  auto refined = TensorSpecType::getChecked(
      emit, getContext(), ArrayRef<int64_t>(shape),
      getLogicalElementType(getInput().getType()), type.getQuantizer(),
      type.getRequiresGrad(), type.getDevice());
  return refined ? verifyQuantizable(emit, refined) : failure();
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  return verifySameShape(*this, "the input", getInput().getType().getShape(),
                         "the result", getLogicalShape(getResult().getType()));
}

//===----------------------------------------------------------------------===//
// AssembleOp, DisassembleOp
//===----------------------------------------------------------------------===//

// V-17
LogicalResult AssembleOp::verify() {
  TensorSpecType type = getResult().getType();
  return verifyInnerTypes(*this, type.getLayout(), type.getShape(),
                          getInners().getTypes());
}

OpFoldResult AssembleOp::fold(FoldAdaptor) {
  // assemble(disassemble(x)) -> x
  if (getInners().empty())
    return {};
  auto source = getInners().front().getDefiningOp<DisassembleOp>();
  if (!source || source.getInput().getType() != getResult().getType() ||
      source.getInners() != getInners())
    return {};
  return source.getInput();
}

LogicalResult DisassembleOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr, OpaqueProperties, RegionRange,
    SmallVectorImpl<Type> &inferredReturnTypes) {
  auto type = operands.empty() ? TensorSpecType()
                               : dyn_cast<TensorSpecType>(operands[0].getType());
  if (!type)
    return emitOptionalError(loc, "expected a TensorSpec operand");
  inferredReturnTypes = type.getInnerTypes();
  return success();
}

LogicalResult DisassembleOp::verify() {
  TensorSpecType type = getInput().getType();
  return verifyInnerTypes(*this, type.getLayout(), type.getShape(),
                          getInners().getTypes());
}

LogicalResult DisassembleOp::fold(FoldAdaptor,
                                  SmallVectorImpl<OpFoldResult> &results) {
  // disassemble(assemble(x...)) -> x...
  auto source = getInput().getDefiningOp<AssembleOp>();
  if (!source || source.getInners().getTypes() != getInners().getTypes())
    return failure();
  llvm::append_range(results, source.getInners());
  return success();
}

//===----------------------------------------------------------------------===//
// UpdateUsageOp
//===----------------------------------------------------------------------===//

LogicalResult UpdateUsageOp::verify() {
  TensorSpecType from = getInput().getType();
  TensorSpecType to = getResult().getType();
  Usage usage = to.getQuantizer().getUsage();
  QuantizerAttrInterface expected = from.getQuantizer().withUsage(usage);
  if (!expected || from.withQuantizer(expected) != to)
    return emitOpError() << "expected a result type that differs from " << from
                         << " in usage only, but got " << to;
  UsageChange change = from.getQuantizer().getUsageChange(usage);
  if (change.kind == UsageChange::Illegal)
    return emitOpError() << "cannot change usage of '"
                         << from.getQuantizer().getFamily() << "' from "
                         << stringifyUsage(from.getQuantizer().getUsage())
                         << " to " << stringifyUsage(usage) << ": "
                         << change.reason;
  return success();
}

OpFoldResult UpdateUsageOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return {};
}

LogicalResult UpdateUsageOp::canonicalize(UpdateUsageOp op,
                                          PatternRewriter &rewriter) {
  // quantize followed by a drop, without another use, is a narrower quantize.
  // Not where the random stream depends on the usage, nor in place.
  auto quantize = op.getInput().getDefiningOp<QuantizeOp>();
  if (!quantize)
    return rewriter.notifyMatchFailure(op, "input is not quantized here");
  if (!quantize.getResult().hasOneUse())
    return rewriter.notifyMatchFailure(op, "quantize has other uses");
  if (quantize.getInto() || quantize.getRng())
    return rewriter.notifyMatchFailure(op, "in place or stochastic");
  TensorSpecType to = op.getResult().getType();
  QuantizerAttrInterface quantizer = quantize.getResult().getType().getQuantizer();
  if (quantizer.getUsageChange(to.getQuantizer().getUsage()).kind !=
      UsageChange::Drop)
    return rewriter.notifyMatchFailure(op, "not a drop");
  QuantizeSignature before = quantizer.getQuantizeSignature();
  QuantizeSignature after = to.getQuantizer().getQuantizeSignature();
  if (before.takesScale != after.takesScale ||
      before.returnsAmax != after.returnsAmax ||
      before.numAmaxes != after.numAmaxes)
    return rewriter.notifyMatchFailure(op, "operands depend on the usage");
  // A usage that remains may be one no kernel makes alone.
  ScopedDiagnosticHandler silence(op.getContext(),
                                  [](Diagnostic &) { return success(); });
  TensorSpecType source = TensorSpecType::get(
      op.getContext(), to.getShape(),
      getLogicalElementType(quantize.getInput().getType()), to.getQuantizer(),
      to.getRequiresGrad(), to.getDevice());
  if (failed(verifyQuantizable([&] { return op.emitOpError(); }, source)))
    return rewriter.notifyMatchFailure(op, "cannot be quantized alone");
  rewriter.setInsertionPoint(quantize);
  Operation *narrow = rewriter.clone(*quantize);
  cast<QuantizeOp>(narrow).getResult().setType(to);
  rewriter.replaceOp(op, narrow->getResult(0));
  rewriter.replaceOp(quantize, narrow->getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// SwizzleOp
//===----------------------------------------------------------------------===//

LogicalResult SwizzleOp::verify() {
  TensorSpecType from = getInput().getType();
  TensorSpecType to = getResult().getType();
  QuantizerAttrInterface quantizer = from.getQuantizer();
  if (!quantizer.hasGemmScaleOrder())
    return emitOpError() << "scales of '" << quantizer.getFamily()
                         << "' have one order only";
  QuantizerAttrInterface expected =
      quantizer.withOptimizeForGemm(to.getQuantizer().getOptimizeForGemm());
  if (from.withQuantizer(expected) != to)
    return emitOpError() << "expected a result type that differs from " << from
                         << " in 'optimize_for_gemm' only, but got " << to;
  return success();
}

OpFoldResult SwizzleOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// AmaxOp, UpdateScaleOp
//===----------------------------------------------------------------------===//

/// Checks the amaxes that `amax` gives for `quantizer`.
static LogicalResult verifyAmaxes(Operation *op,
                                  QuantizerAttrInterface quantizer,
                                  TypeRange amaxes) {
  unsigned numAmaxes = quantizer.getQuantizeSignature().numAmaxes;
  if (numAmaxes == 0)
    return op->emitOpError()
           << "'" << quantizer.getFamily()
           << "' with these options does not scale by an amax of the tensor";
  if (amaxes.size() != numAmaxes)
    return op->emitOpError() << "expected " << numAmaxes << " amaxes for '"
                             << quantizer.getFamily() << "', but got "
                             << amaxes.size();
  for (Type amax : amaxes)
    if (failed(verifyVectorOperand(op, "amax", amax, 1,
                                   Float32Type::get(op->getContext()))))
      return failure();
  return success();
}

LogicalResult AmaxOp::verify() {
  return verifyAmaxes(*this, getQuantizer(), getAmaxes().getTypes());
}

/// What `update_scale` and its destination form have in common.
template <typename OpTy>
static LogicalResult verifyUpdateScale(OpTy op) {
  QuantizerAttrInterface quantizer = op.getQuantizer();
  if (!quantizer.getQuantizeSignature().takesScale)
    return op.emitOpError() << "expected a quantizer with delayed scaling, but "
                               "got '"
                            << quantizer.getFamily() << "'";
  Type f32 = Float32Type::get(op.getContext());
  auto history = cast<ShapedType>(op.getHistory().getType());
  if (history.getRank() != 1 || history.getDimSize(0) == 0 ||
      history.getElementType() != f32)
    return op.emitOpError() << "expected a history of one dim with at least "
                               "one element of f32, but got "
                            << history;
  if (failed(verifyVectorOperand(op, "amax", op.getAmax().getType(), 1, f32)))
    return failure();
  return verifyVectorOperand(op, "scale", op.getScale().getType(), 1, f32);
}

LogicalResult UpdateScaleOp::verify() { return verifyUpdateScale(*this); }

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

/// The format of an element type we convert, or nothing.
static std::optional<te::numerics::Format> getFormat(Type type) {
  using te::numerics::Format;
  return llvm::TypeSwitch<Type, std::optional<Format>>(getElementTypeOrSelf(type))
      .Case<Float32Type>([](auto) { return Format::F32; })
      .Case<BFloat16Type>([](auto) { return Format::BF16; })
      .Case<Float16Type>([](auto) { return Format::F16; })
      .Case<Float8E4M3FNType>([](auto) { return Format::E4M3; })
      .Case<Float8E5M2Type>([](auto) { return Format::E5M2; })
      .Case<Float4E2M1FNType>([](auto) { return Format::E2M1; })
      .Case<Float8E8M0FNUType>([](auto) { return Format::E8M0; })
      .Default([](Type) { return std::nullopt; });
}

LogicalResult CastOp::verify() {
  for (Type type : {getInput().getType(), getResult().getType()})
    if (!getFormat(type))
      return emitOpError() << "expected elements of f32, bf16, f16, f8E4M3FN, "
                              "f8E5M2, f4E2M1FN or f8E8M0FNU, but got "
                           << type;
  auto isWide = [](Type type) {
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() >= 16;
  };
  if (!isWide(getInput().getType()) && !isWide(getResult().getType()))
    return emitOpError() << "expected f32, bf16 or f16 on one side, but got "
                         << getInput().getType() << " and "
                         << getResult().getType();
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  // Through our own conversions: upstream's disagree on saturation and E8M0.
  std::optional<te::numerics::Format> from = getFormat(getInput().getType());
  std::optional<te::numerics::Format> to = getFormat(getResult().getType());
  auto elementType = cast<FloatType>(getElementTypeOrSelf(getResult().getType()));
  auto convert = [&](const APFloat &value) {
    uint32_t bits = value.bitcastToAPInt().getZExtValue();
    uint32_t result =
        te::numerics::encode(*to, te::numerics::decode(*from, bits));
    return APFloat(elementType.getFloatSemantics(),
                   APInt(elementType.getWidth(), result));
  };
  Attribute input = adaptor.getInput();
  if (auto scalar = dyn_cast_if_present<FloatAttr>(input))
    return FloatAttr::get(elementType, convert(scalar.getValue()));
  auto elements = dyn_cast_if_present<DenseFPElementsAttr>(input);
  if (!elements)
    return {};
  // The result may leave dims open that the constant knows.
  auto type = cast<ShapedType>(getResult().getType());
  if (!type.hasStaticShape())
    return {};
  if (elements.isSplat())
    return DenseElementsAttr::get(type,
                                  convert(elements.getSplatValue<APFloat>()));
  SmallVector<APFloat> values;
  for (const APFloat &value : elements)
    values.push_back(convert(value));
  return DenseElementsAttr::get(type, values);
}

//===----------------------------------------------------------------------===//
// ColumnSumOp
//===----------------------------------------------------------------------===//

/// The element type and the shape of the sum over the rows of `shape`.
static LogicalResult verifyColumnSum(Operation *op, ArrayRef<int64_t> shape,
                                     ShapedType sum) {
  Type dtype = sum.getElementType();
  if (!dtype.isF32() && !dtype.isBF16() && !dtype.isF16())
    return op->emitOpError()
           << "expected a sum of f32, bf16 or f16, but got " << sum;
  if (shape.empty())
    return op->emitOpError()
           << "expected an input of rank 1 or more, but got rank 0";
  if (failed(getFlattenedExtents(shape)))
    return op->emitOpError("flattened extents of the input overflow 64 bits");
  return verifySameShape(op, "the sum", sum.getShape(), "the last dim",
                         shape.take_back(1));
}

/// The outs of a sum over the rows of `shape`.
static LogicalResult verifyColumnSumOuts(Operation *op, ArrayRef<int64_t> shape,
                                         Type sum, Type chunkSums) {
  if (failed(verifyColumnSum(op, shape, cast<ShapedType>(sum))))
    return failure();
  auto chunks = cast<ShapedType>(chunkSums);
  if (!chunks.getElementType().isF32())
    return op->emitOpError()
           << "expected f32 sums of chunks, but got " << chunks;
  auto [rows, cols] = *getFlattenedExtents(shape);
  if (!ShapedType::isDynamic(rows))
    rows = llvm::divideCeilSigned(rows, columnSumChunk);
  return verifySameShape(op, "the sums of chunks", chunks.getShape(),
                         "chunks and columns", {rows, cols});
}

LogicalResult ColumnSumOp::verify() {
  return verifyColumnSum(*this, getLogicalShape(getInput().getType()),
                         getResult().getType());
}

//===----------------------------------------------------------------------===//
// CheckOp
//===----------------------------------------------------------------------===//

LogicalResult CheckOp::canonicalize(CheckOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return rewriter.notifyMatchFailure(op, "not known to hold");
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops on inner tensors
//===----------------------------------------------------------------------===//

void te::quant::getIntoEffects(Operation *op, OperandRange outs,
                               bool readsOuts, Effects &effects) {
  unsigned firstOut = outs.getBeginOperandIndex();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    unsigned index = operand.getOperandNumber();
    bool isOut = index >= firstOut && index < firstOut + outs.size();
    if (!isOut || readsOuts)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isOut)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult te::quant::verifyInto(Operation *op, ValueRange shaped,
                                    TypeRange outs) {
  bool isTensor = isa<TensorType>(outs.front());
  for (Value value : shaped)
    if (isa<TensorType>(value.getType()) != isTensor)
      return op->emitOpError()
             << "expected tensors or memrefs throughout, but got both";
  if (op->getResultTypes() != (isTensor ? outs : TypeRange()))
    return op->emitOpError()
           << "expected "
           << (isTensor ? "the types of 'outs' as results"
                        : "no results with memrefs");
  return success();
}

void QuantizeIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), bool(getNoop()), effects);
}

LogicalResult QuantizeIntoOp::verify() {
  if (getOuts().empty())
    return emitOpError() << "expected the inner tensors as 'outs'";
  if (failed(verifyInto(*this, getOperands(), getOuts().getTypes())))
    return failure();
  if (failed(verifyProducer(*this)))
    return failure();
  bool returnsAmax = getQuantizer().getQuantizeSignature().returnsAmax;
  if (failed(verifySignature(*this, getQuantizer(), returnsAmax)))
    return failure();
  ShapedType input = getInputType();
  LayoutAttr layout = getLayout(getQuantizer(), input.getElementType());
  TypeRange inners = getOuts().getTypes();
  if (getColumnSum()) {
    if (!getQuantizer().fusesColumnSum())
      return emitOpError() << "expected a quantizer that sums columns, but got "
                           << getQuantizer();
    if (getNoop())
      return emitOpError("expected no 'noop' with 'column_sum', but got both");
    if (inners.size() < 3)
      return emitOpError() << "expected inner tensors, the sum and room for the "
                              "sums of chunks as 'outs', but got "
                           << inners.size() << " operands";
    if (failed(verifyColumnSumOuts(*this, input.getShape(),
                                   inners[inners.size() - 2], inners.back())))
      return failure();
    inners = inners.drop_back(2);
  }
  if (returnsAmax) {
    if (failed(verifyVectorOperand(*this, "amax out", inners.back(), 1,
                                   Float32Type::get(getContext()))))
      return failure();
    inners = inners.drop_back();
  }
  return verifyInnerTypes(*this, layout, input.getShape(), inners);
}

void DequantizeIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOperation()->getOperands().take_back(1),
                 /*readsOuts=*/false, effects);
}

LogicalResult DequantizeIntoOp::verify() {
  if (failed(verifyInto(*this, getOperands(), getOuts().getType())))
    return failure();
  // The nominal dtype is not said here; the inner tensors tell it where it
  // matters.
  auto output = cast<ShapedType>(getOuts().getType());
  LayoutAttr layout = getLayout(getQuantizer(), output.getElementType());
  SmallVector<Type> elementTypes = llvm::map_to_vector(
      getInners().getTypes(),
      [](Type type) { return cast<ShapedType>(type).getElementType(); });
  for (Type dtype :
       {Type(Float32Type::get(getContext())),
        Type(BFloat16Type::get(getContext())),
        Type(Float16Type::get(getContext()))}) {
    LayoutAttr candidate = getLayout(getQuantizer(), dtype);
    if (candidate.getElementTypes() == ArrayRef<Type>(elementTypes))
      layout = candidate;
  }
  return verifyInnerTypes(*this, layout, output.getShape(),
                          getInners().getTypes());
}

void SwizzleIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOperation()->getOperands().take_back(1),
                 /*readsOuts=*/false, effects);
}

LogicalResult SwizzleIntoOp::verify() {
  if (failed(verifyInto(*this, {getInput(), getOuts()}, getOuts().getType())))
    return failure();
  if (!getQuantizer().hasGemmScaleOrder())
    return emitOpError() << "scales of '" << getQuantizer().getFamily()
                         << "' have one order only";
  LayoutAttr layout = getLayout(getQuantizer(), Float32Type::get(getContext()));
  // V-5
  std::optional<unsigned> index = layout.lookup(getInner());
  if (!index)
    return emitOpError() << "expected the name of an inner tensor of '"
                         << getQuantizer() << "', but got '" << getInner()
                         << "'";
  if (!llvm::is_contained(getQuantizer().getGemmOrderedInners(),
                          getInnerAttr()))
    return emitOpError() << "expected the name of scales with a GEMM order, "
                            "but got '"
                         << getInner() << "'";
  auto input = cast<ShapedType>(getInput().getType());
  auto output = cast<ShapedType>(getOuts().getType());
  if (input.getElementType() != layout.getElementTypes()[*index] ||
      output.getElementType() != input.getElementType())
    return emitOpError() << "expected elements of "
                         << layout.getElementTypes()[*index] << ", but got "
                         << input.getElementType() << " and "
                         << output.getElementType();
  return verifySameShape(*this, "the input", input.getShape(), "the output",
                         output.getShape());
}

void AmaxIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), /*readsOuts=*/false, effects);
}

LogicalResult AmaxIntoOp::verify() {
  if (getOuts().empty())
    return emitOpError() << "expected the amaxes as 'outs'";
  if (failed(verifyInto(*this, getOperands(), getOuts().getTypes())) ||
      failed(verifyProducer(*this)))
    return failure();
  return verifyAmaxes(*this, getQuantizer(), getOuts().getTypes());
}

void ColumnSumIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), /*readsOuts=*/false, effects);
}

LogicalResult ColumnSumIntoOp::verify() {
  if (getOuts().size() != 2)
    return emitOpError() << "expected the sum and room for the sums of chunks "
                            "as 'outs', but got "
                         << getOuts().size() << " operands";
  if (failed(verifyInto(*this, getOperands(), getOuts().getTypes())) ||
      failed(verifyProducer(*this)))
    return failure();
  return verifyColumnSumOuts(*this, getInputType().getShape(),
                             getOuts()[0].getType(), getOuts()[1].getType());
}

void UpdateScaleIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), /*readsOuts=*/false, effects);
}

LogicalResult UpdateScaleIntoOp::verify() {
  if (getOuts().size() != 2)
    return emitOpError() << "expected the new history and scale as 'outs', but "
                            "got "
                         << getOuts().size() << " operands";
  if (failed(verifyInto(*this, getOperands(), getOuts().getTypes())) ||
      failed(verifyUpdateScale(*this)))
    return failure();
  auto history = cast<ShapedType>(getHistory().getType());
  auto newHistory = cast<ShapedType>(getOuts()[0].getType());
  if (newHistory.getElementType() != history.getElementType())
    return emitOpError() << "expected a new history of f32, but got "
                         << newHistory;
  if (failed(verifySameShape(*this, "the history", history.getShape(),
                             "the new history", newHistory.getShape())))
    return failure();
  return verifyVectorOperand(*this, "new scale", getOuts()[1].getType(), 1,
                             Float32Type::get(getContext()));
}

void DeriveIntoOp::getEffects(Effects &effects) {
  getIntoEffects(*this, getOuts(), /*readsOuts=*/false, effects);
}

LogicalResult DeriveIntoOp::verify() {
  if (getOuts().empty())
    return emitOpError() << "expected the derived inner tensors as 'outs'";
  SmallVector<Value> shaped(getInners());
  llvm::append_range(shaped, getOuts());
  if (failed(verifyInto(*this, shaped, getOuts().getTypes())))
    return failure();
  QuantizerAttrInterface rowwise = getQuantizer().withUsage(Usage::Rowwise);
  if (getQuantizer().getUsage() != Usage::Both || !rowwise ||
      rowwise.getUsageChange(Usage::Both).kind != UsageChange::Derive)
    return emitOpError() << "expected a quantizer with both usages whose "
                            "columnwise representation can be derived, but got "
                         << getQuantizer();
  // The nominal dtype has no part in data that are codes already.
  Type f32 = Float32Type::get(getContext());
  LayoutAttr from = getLayout(rowwise, f32);
  LayoutAttr to = getLayout(getQuantizer(), f32);
  if (getInners().size() != from.size() ||
      getOuts().size() != to.size() - from.size())
    return emitOpError() << "expected " << from.size() << " inner tensors and "
                         << to.size() - from.size() << " outs, but got "
                         << getInners().size() << " and " << getOuts().size();
  return success();
}
