//===- CollectiveOps.cpp - operations across the ranks of a group ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "OpSupport.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace te::quant;

#define GET_OP_CLASSES
#include "te/Dialect/Quant/IR/QuantCollectiveOps.cpp.inc"

void TEQuantDialect::registerCollectiveOps() {
  addOperations<
#define GET_OP_LIST
#include "te/Dialect/Quant/IR/QuantCollectiveOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// `type` with another size of dim 0; null, with an error, where there is no
/// such tensor.
static Type withDim0(std::optional<Location> loc, Type type, int64_t size) {
  SmallVector<int64_t> shape(getLogicalShape(type));
  shape.front() = size;
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return TensorSpecType::getChecked(
        [&] { return emitError(loc.value_or(UnknownLoc::get(
                  type.getContext()))); },
        type.getContext(), ArrayRef<int64_t>(shape), spec.getNominalDtype(),
        spec.getQuantizer(), spec.getRequiresGrad(), spec.getDevice());
  return cast<RankedTensorType>(type).clone(shape);
}

static LogicalResult inferAllGather(std::optional<Location> loc, Type type,
                                    int64_t groupSize,
                                    SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> shape = getLogicalShape(type);
  if (shape.empty())
    return emitOptionalError(loc, "expected an operand with a dim 0, but got ",
                             type);
  int64_t size = shape.front();
  if (!ShapedType::isDynamic(size) &&
      llvm::MulOverflow(size, groupSize, size))
    return emitOptionalError(loc, "dim 0 of the result overflows 64 bits");
  results.push_back(withDim0(loc, type, size));
  return success(bool(results.back()));
}

static LogicalResult inferReduceScatter(std::optional<Location> loc, Type type,
                                        int64_t groupSize,
                                        SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> shape = getLogicalShape(type);
  if (shape.empty())
    return emitOptionalError(loc, "expected an operand with a dim 0, but got ",
                             type);
  int64_t size = shape.front();
  if (!ShapedType::isDynamic(size)) {
    if (size % groupSize != 0)
      return emitOptionalError(loc, "expected dim 0 to be a multiple of ",
                               groupSize, ", the size of the group, but got ",
                               size);
    size /= groupSize;
  }
  results.push_back(withDim0(loc, type, size));
  return success(bool(results.back()));
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferAllGather(loc, adaptor.getInput().getType(), adaptor.getSize(),
                        types);
}

LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location> loc,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  return inferReduceScatter(loc, adaptor.getInput().getType(),
                            adaptor.getSize(), types);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult verifyGroup(OpTy op) {
  if (!op.getGroup().empty())
    return success();
  return op.emitOpError() << "expected the name of a group, but got ''";
}

/// B-5: what is gathered in quantized form.
static LogicalResult verifyQuantizedGather(AllGatherOp op,
                                           TensorSpecType type) {
  QuantizerAttrInterface quantizer = type.getQuantizer();
  StringRef family = quantizer.getFamily();
  std::optional<SmallVector<BlockConstraint>> constraints =
      getQuantizedGatherConstraints(quantizer);
  if (!constraints)
    return op.emitOpError() << "expected a family that is gathered in "
                               "quantized form, but got "
                            << quantizer
                            << ": dequantize, gather and quantize again";
  if (quantizer.getUsage() == Usage::Both)
    return op.emitOpError()
           << "expected a tensor with one representation, but got usage "
           << stringifyUsage(quantizer.getUsage());
  if (quantizer.isRowOnlyAllGather() && quantizer.getUsage() != Usage::Rowwise)
    return op.emitOpError() << "expected usage rowwise, the only one in which "
                               "'"
                            << family << "' is gathered, but got "
                            << stringifyUsage(quantizer.getUsage());
  if (quantizer.hasGemmScaleOrder() && quantizer.getOptimizeForGemm())
    return op.emitOpError() << "expected compact scales, but got scales in "
                               "GEMM order: swizzle the result instead";
  // The one dim of a tensor of rank 1 is the columns, along which blocks lie.
  if (!quantizer.getGatherConstraints()->empty() && type.getRank() < 2)
    return op.emitOpError() << "expected rank 2 or more to gather '" << family
                            << "', but got " << type.getRank();
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  for (BlockConstraint constraint : *constraints) {
    int64_t size = constraint.extent == Extent::Rows ? rows : cols;
    if (ShapedType::isDynamic(size) || size % constraint.block == 0)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    printBlockConstraint(os, type, constraint);
    return op.emitOpError() << text << ", but got " << size;
  }
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyGroup(*this)))
    return failure();
  auto type = dyn_cast<TensorSpecType>(getInput().getType());
  if (!type || !type.isQuantized())
    return success();
  return verifyQuantizedGather(*this, type);
}

LogicalResult ReduceScatterOp::verify() { return verifyGroup(*this); }

LogicalResult AllReduceOp::verify() { return verifyGroup(*this); }

//===----------------------------------------------------------------------===//
// Folding: a group of one rank
//===----------------------------------------------------------------------===//

OpFoldResult AllGatherOp::fold(FoldAdaptor) {
  return getSize() == 1 ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult ReduceScatterOp::fold(FoldAdaptor) {
  return getSize() == 1 ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult AllReduceOp::fold(FoldAdaptor) {
  return getSize() == 1 ? OpFoldResult(getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Ops on inner tensors
//===----------------------------------------------------------------------===//

/// What the three have in common: `inRatio` times dim 0 of the input is
/// `outRatio` times dim 0 of the output.
template <typename OpTy>
static LogicalResult verifyCollectiveInto(OpTy op, int64_t inRatio,
                                          int64_t outRatio) {
  if (failed(verifyGroup(op)) ||
      failed(verifyInto(op, {op.getInput(), op.getOuts()},
                        op.getOuts().getType())))
    return failure();
  auto input = cast<ShapedType>(op.getInput().getType());
  auto output = cast<ShapedType>(op.getOuts().getType());
  if (input.getElementType() != output.getElementType())
    return op.emitOpError() << "element type of the input ("
                            << input.getElementType()
                            << ") must equal that of the output ("
                            << output.getElementType() << ")";
  if (inRatio == outRatio)
    return verifySameShape(op, "the input", input.getShape(), "the output",
                           output.getShape());
  if (input.getRank() == 0 || output.getRank() == 0)
    return op.emitOpError() << "expected tensors with a dim 0, but got "
                            << input << " and " << output;
  if (failed(verifySameShape(op, "the input below dim 0",
                             input.getShape().drop_front(),
                             "the output below dim 0",
                             output.getShape().drop_front())))
    return failure();
  if (input.isDynamicDim(0) || output.isDynamicDim(0))
    return success();
  int64_t left, right;
  if (!llvm::MulOverflow(input.getDimSize(0), inRatio, left) &&
      !llvm::MulOverflow(output.getDimSize(0), outRatio, right) &&
      left == right)
    return success();
  return op.emitOpError() << "dim 0 of the input (" << input.getDimSize(0)
                          << ") does not go with dim 0 of the output ("
                          << output.getDimSize(0) << ") in a group of "
                          << op.getSize();
}

/// The reducing ones are done by the runtime, which knows these types.
template <typename OpTy>
static LogicalResult verifyReducible(OpTy op) {
  Type elementType = cast<ShapedType>(op.getInput().getType()).getElementType();
  if (elementType.isF32() || elementType.isBF16() || elementType.isF16())
    return success();
  return op.emitOpError() << "expected elements of f32, bf16 or f16, but got "
                          << elementType;
}

LogicalResult AllGatherIntoOp::verify() {
  return verifyCollectiveInto(*this, getSize(), 1);
}

LogicalResult ReduceScatterIntoOp::verify() {
  if (failed(verifyCollectiveInto(*this, 1, getSize())))
    return failure();
  return verifyReducible(*this);
}

LogicalResult AllReduceIntoOp::verify() {
  if (failed(verifyCollectiveInto(*this, 1, 1)))
    return failure();
  return verifyReducible(*this);
}

template <typename OpTy>
static void getCollectiveEffects(OpTy op, Effects &effects) {
  getIntoEffects(op, op->getOperands().take_back(1), /*readsOuts=*/false,
                 effects);
}

void AllGatherIntoOp::getEffects(Effects &effects) {
  getCollectiveEffects(*this, effects);
}

void ReduceScatterIntoOp::getEffects(Effects &effects) {
  getCollectiveEffects(*this, effects);
}

void AllReduceIntoOp::getEffects(Effects &effects) {
  getCollectiveEffects(*this, effects);
}
