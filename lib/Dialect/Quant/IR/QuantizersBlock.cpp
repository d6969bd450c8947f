//===- QuantizersBlock.cpp - FP8 with blocks of 1x128 and 128x128 -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace te::quant;

LogicalResult Float8BlockScalingAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, Type fp8Dtype, Usage usage,
    int64_t blockScalingDim, bool forcePow2Scales, APFloat amaxEpsilon,
    bool internal, bool optimizeForGemm) {
  if (failed(verifyFP8(emitError, fp8Dtype)))
    return failure();
  if (blockScalingDim != 1 && blockScalingDim != 2)
    return emitError() << "expected block_scaling_dim 1 or 2, but got "
                       << blockScalingDim;
  return verifyEpsilon(emitError, amaxEpsilon);
}

StringRef Float8BlockScalingAttr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface Float8BlockScalingAttr::withUsage(Usage usage) const {
  return get(getContext(), getFp8Dtype(), usage, getBlockScalingDim(),
             getForcePow_2Scales(), getAmaxEpsilon(), getInternal(),
             getOptimizeForGemm());
}

QuantizerAttrInterface
Float8BlockScalingAttr::withInternal(bool internal) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getBlockScalingDim(),
             getForcePow_2Scales(), getAmaxEpsilon(), internal,
             getOptimizeForGemm());
}

QuantizerAttrInterface
Float8BlockScalingAttr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getBlockScalingDim(),
             getForcePow_2Scales(), getAmaxEpsilon(), getInternal(),
             optimizeForGemm);
}

LayoutAttr Float8BlockScalingAttr::computeLayout(Type) const {
  LayoutBuilder b(getContext());
  Type f32 = Float32Type::get(getContext());
  bool is2D = getBlockScalingDim() == 2;
  auto blocks = [](AffineExpr extent) { return extent.ceilDiv(128); };
  auto pad = [](AffineExpr extent) { return extent.ceilDiv(4) * 4; };
  if (hasRowwise()) {
    b.add("rowwise_data", getFp8Dtype(), {b.leading, b.cols});
    if (is2D)
      b.add("rowwise_scale_inv", f32, {blocks(b.rows), pad(blocks(b.cols))});
    else
      b.add("rowwise_scale_inv", f32, {blocks(b.cols), pad(b.rows)});
  }
  if (hasColumnwise()) {
    b.add("columnwise_data", getFp8Dtype(), {b.cols, b.leading});
    if (is2D)
      b.add("columnwise_scale_inv", f32, {blocks(b.cols), pad(blocks(b.rows))});
    else
      b.add("columnwise_scale_inv", f32, {blocks(b.rows), pad(b.cols)});
  }
  return b.build();
}

SmallVector<StringAttr> Float8BlockScalingAttr::getCanonicalOrder() const {
  return getNames(getContext(),
                          {"rowwise_data", "rowwise_scale_inv",
                           "columnwise_data", "columnwise_scale_inv"});
}

// Edge tiles are legal: any extent quantizes.
SmallVector<BlockConstraint>
Float8BlockScalingAttr::getQuantizeConstraints() const {
  return {};
}

std::optional<SmallVector<BlockConstraint>>
Float8BlockScalingAttr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>{{Usage::Rowwise, Extent::Cols, 128},
                                      {Usage::Columnwise, Extent::Rows, 128}};
}

QuantizedGather Float8BlockScalingAttr::getQuantizedGather() const {
  return getBlockScalingDim() == 1 ? QuantizedGather::QuantizableShapes
                                   : QuantizedGather::Never;
}

bool Float8BlockScalingAttr::isRequantizationSafe() const { return true; }

bool Float8BlockScalingAttr::isRowOnlyAllGather() const { return false; }

UsageChange
Float8BlockScalingAttr::getUsageChange(std::optional<Usage> usage) const {
  if (usage == getUsage())
    return {UsageChange::None};
  if (!usage)
    return {UsageChange::Illegal, mustRetainData};
  if (getUsage() == Usage::Both)
    return {UsageChange::Drop};
  if (!hasRowwise())
    return {UsageChange::Illegal, rowwiseNotDerivable};
  if (getBlockScalingDim() != 2)
    return {UsageChange::Illegal, columnwiseNotDerivable};
  // U-3
  if (*usage != Usage::Both)
    return {UsageChange::Illegal, deriveFirst};
  return {UsageChange::Derive};
}

std::optional<GemmOperand>
Float8BlockScalingAttr::getGemmOperand(Usage direction) const {
  bool isRowwise = direction == Usage::Rowwise;
  bool is2D = getBlockScalingDim() == 2;
  GemmOperand operand;
  operand.scalingMode = "f32 scales of 128-element blocks";
  operand.codes = isRowwise ? "rowwise_data" : "columnwise_data";
  operand.codeType = getFp8Dtype();
  operand.scales = isRowwise ? "rowwise_scale_inv" : "columnwise_scale_inv";
  operand.scaleType = Float32Type::get(getContext());
  operand.block = 128;
  operand.linesPerScale = is2D ? 128 : 1;
  operand.scaleOrder = is2D ? GemmOperand::ScaleOrder::LinesFirst
                            : GemmOperand::ScaleOrder::BlocksFirst;
  operand.scalePadding = 4;
  operand.depthMultiple = 16;
  operand.freeMultipleAsA = 8;
  operand.freeMultipleAsB = is2D ? 1 : 8;
  return operand;
}
