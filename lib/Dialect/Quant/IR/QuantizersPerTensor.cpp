//===- QuantizersPerTensor.cpp - per-tensor FP8, current and delayed scaling -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// What the two have in common: the storage, L-P8
//===----------------------------------------------------------------------===//

static LayoutAttr computePerTensorLayout(Type fp8Dtype, Usage usage,
                                         bool nonTNGemm) {
  MLIRContext *context = fp8Dtype.getContext();
  LayoutBuilder b(context);
  bool rowwise = QuantizerAttrInterface::includes(usage, Usage::Rowwise);
  bool columnwise = QuantizerAttrInterface::includes(usage, Usage::Columnwise);
  if (rowwise || nonTNGemm)
    b.add("data", fp8Dtype, {b.leading, b.cols});
  if (columnwise && !nonTNGemm)
    b.add("transpose", fp8Dtype, {b.cols, b.leading});
  b.add("scale_inv", Float32Type::get(context),
        {getAffineConstantExpr(1, context)});
  return b.build();
}

static SmallVector<StringAttr> getPerTensorStorageOrder(MLIRContext *context) {
  return getNames(context, {"data", "transpose", "scale_inv"});
}

static UsageChange getPerTensorUsageChange(Usage from, std::optional<Usage> to,
                                           bool nonTNGemm) {
  // One buffer serves both usages (U-5).
  if (nonTNGemm || from == to)
    return {UsageChange::None};
  if (!to)
    return {UsageChange::Drop};
  bool hadRowwise = QuantizerAttrInterface::includes(from, Usage::Rowwise);
  if (!hadRowwise)
    return {UsageChange::Illegal, rowwiseNotDerivable};
  if (from == Usage::Both)
    return {UsageChange::Drop};
  return {*to == Usage::Both ? UsageChange::Derive
                             : UsageChange::DeriveAndDrop};
}

static GemmOperand getPerTensorGemmOperand(Type fp8Dtype, Usage direction,
                                           bool nonTNGemm) {
  bool isRowwise = direction == Usage::Rowwise;
  GemmOperand operand;
  operand.scalingMode = "one scale a tensor";
  operand.codes = isRowwise || nonTNGemm ? "data" : "transpose";
  operand.codeType = fp8Dtype;
  operand.isLineMajor = isRowwise || !nonTNGemm;
  operand.factor = "scale_inv";
  // The leading dimension of what is read.
  if (operand.isLineMajor)
    operand.depthMultiple = 16;
  else
    operand.freeMultipleAsA = operand.freeMultipleAsB = 16;
  return operand;
}

//===----------------------------------------------------------------------===//
// Current scaling
//===----------------------------------------------------------------------===//

LogicalResult Float8CurrentScalingAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, Type fp8Dtype, Usage usage,
    bool forcePow2Scales, APFloat amaxEpsilon, bool withAmaxReduction,
    bool nonTNGemm, bool internal, bool optimizeForGemm) {
  if (failed(verifyFP8(emitError, fp8Dtype)))
    return failure();
  return verifyEpsilon(emitError, amaxEpsilon);
}

StringRef Float8CurrentScalingAttr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface Float8CurrentScalingAttr::withUsage(Usage usage) const {
  return get(getContext(), getFp8Dtype(), usage, getForcePow_2Scales(),
             getAmaxEpsilon(), getWithAmaxReduction(), getNonTnGemm(),
             getInternal(), getOptimizeForGemm());
}

QuantizerAttrInterface
Float8CurrentScalingAttr::withInternal(bool internal) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getForcePow_2Scales(),
             getAmaxEpsilon(), getWithAmaxReduction(), getNonTnGemm(), internal,
             getOptimizeForGemm());
}

QuantizerAttrInterface
Float8CurrentScalingAttr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getForcePow_2Scales(),
             getAmaxEpsilon(), getWithAmaxReduction(), getNonTnGemm(),
             getInternal(), optimizeForGemm);
}

QuantizerAttrInterface
Float8CurrentScalingAttr::withNonTNGemm(bool nonTNGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getForcePow_2Scales(),
             getAmaxEpsilon(), getWithAmaxReduction(), nonTNGemm,
             getInternal(), getOptimizeForGemm());
}

LayoutAttr Float8CurrentScalingAttr::computeLayout(Type) const {
  return computePerTensorLayout(getFp8Dtype(), getUsage(), getNonTnGemm());
}

SmallVector<StringAttr> Float8CurrentScalingAttr::getCanonicalOrder() const {
  return getPerTensorStorageOrder(getContext());
}

SmallVector<BlockConstraint>
Float8CurrentScalingAttr::getQuantizeConstraints() const {
  return {};
}

QuantizeSignature Float8CurrentScalingAttr::getQuantizeSignature() const {
  QuantizeSignature signature;
  signature.numAmaxes = 1;
  return signature;
}

std::optional<SmallVector<BlockConstraint>>
Float8CurrentScalingAttr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>();
}

QuantizedGather Float8CurrentScalingAttr::getQuantizedGather() const {
  return QuantizedGather::QuantizedOrQuantizable;
}

bool Float8CurrentScalingAttr::isRequantizationSafe() const { return true; }

bool Float8CurrentScalingAttr::isRowOnlyAllGather() const { return true; }

UsageChange
Float8CurrentScalingAttr::getUsageChange(std::optional<Usage> usage) const {
  return getPerTensorUsageChange(getUsage(), usage, getNonTnGemm());
}

std::optional<GemmOperand>
Float8CurrentScalingAttr::getGemmOperand(Usage direction) const {
  return getPerTensorGemmOperand(getFp8Dtype(), direction, getNonTnGemm());
}

//===----------------------------------------------------------------------===//
// Delayed scaling
//===----------------------------------------------------------------------===//

LogicalResult Float8DelayedScalingAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, Type fp8Dtype, Usage usage,
    bool nonTNGemm, bool internal, bool optimizeForGemm) {
  return verifyFP8(emitError, fp8Dtype);
}

StringRef Float8DelayedScalingAttr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface Float8DelayedScalingAttr::withUsage(Usage usage) const {
  return get(getContext(), getFp8Dtype(), usage, getNonTnGemm(), getInternal(),
             getOptimizeForGemm());
}

QuantizerAttrInterface
Float8DelayedScalingAttr::withInternal(bool internal) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getNonTnGemm(), internal,
             getOptimizeForGemm());
}

QuantizerAttrInterface
Float8DelayedScalingAttr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getNonTnGemm(),
             getInternal(), optimizeForGemm);
}

QuantizerAttrInterface
Float8DelayedScalingAttr::withNonTNGemm(bool nonTNGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), nonTNGemm, getInternal(),
             getOptimizeForGemm());
}

LayoutAttr Float8DelayedScalingAttr::computeLayout(Type) const {
  return computePerTensorLayout(getFp8Dtype(), getUsage(), getNonTnGemm());
}

SmallVector<StringAttr> Float8DelayedScalingAttr::getCanonicalOrder() const {
  return getPerTensorStorageOrder(getContext());
}

SmallVector<BlockConstraint>
Float8DelayedScalingAttr::getQuantizeConstraints() const {
  return {};
}

bool Float8DelayedScalingAttr::fusesColumnSum() const {
  // Kernels without transposed data do not work on rows.
  return hasColumnwise() && !getNonTnGemm();
}

QuantizeSignature Float8DelayedScalingAttr::getQuantizeSignature() const {
  QuantizeSignature signature;
  signature.takesScale = true;
  signature.returnsAmax = true;
  return signature;
}

std::optional<SmallVector<BlockConstraint>>
Float8DelayedScalingAttr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>();
}

QuantizedGather Float8DelayedScalingAttr::getQuantizedGather() const {
  return QuantizedGather::QuantizedOrQuantizable;
}

bool Float8DelayedScalingAttr::isRequantizationSafe() const { return false; }

bool Float8DelayedScalingAttr::isRowOnlyAllGather() const { return true; }

UsageChange
Float8DelayedScalingAttr::getUsageChange(std::optional<Usage> usage) const {
  return getPerTensorUsageChange(getUsage(), usage, getNonTnGemm());
}

std::optional<GemmOperand>
Float8DelayedScalingAttr::getGemmOperand(Usage direction) const {
  return getPerTensorGemmOperand(getFp8Dtype(), direction, getNonTnGemm());
}
