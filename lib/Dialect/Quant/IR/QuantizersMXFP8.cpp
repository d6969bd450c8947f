//===- QuantizersMXFP8.cpp - FP8 with E8M0 scales for blocks of 32 -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace te::quant;

LogicalResult MXFP8Attr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Type fp8Dtype, Usage usage,
                                bool with2dQuantization, bool internal,
                                bool optimizeForGemm) {
  return verifyFP8(emitError, fp8Dtype);
}

StringRef MXFP8Attr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface MXFP8Attr::withUsage(Usage usage) const {
  return get(getContext(), getFp8Dtype(), usage, getWith_2dQuantization(),
             getInternal(), getOptimizeForGemm());
}

QuantizerAttrInterface MXFP8Attr::withInternal(bool internal) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getWith_2dQuantization(),
             internal, getOptimizeForGemm());
}

QuantizerAttrInterface
MXFP8Attr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getFp8Dtype(), getUsage(), getWith_2dQuantization(),
             getInternal(), optimizeForGemm);
}

SmallVector<StringAttr> MXFP8Attr::getGemmOrderedInners() const {
  return getNames(getContext(), {"rowwise_scale_inv", "columnwise_scale_inv"});
}

bool MXFP8Attr::fusesColumnSum() const { return true; }

LayoutAttr MXFP8Attr::computeLayout(Type) const {
  LayoutBuilder b(getContext());
  Type e8m0 = Float8E8M0FNUType::get(getContext());
  // 128 elements hold 4 blocks of 32: the two paddings of L-MX in one.
  if (hasRowwise()) {
    b.add("rowwise_data", getFp8Dtype(), {b.leading, b.cols});
    b.add("rowwise_scale_inv", e8m0,
          {b.rows.ceilDiv(128) * 128, b.cols.ceilDiv(128) * 4});
  }
  if (hasColumnwise()) {
    b.add("columnwise_data", getFp8Dtype(), {b.leading, b.cols});
    b.add("columnwise_scale_inv", e8m0,
          {b.rows.ceilDiv(128) * 4, b.cols.ceilDiv(128) * 128});
  }
  return b.build();
}

SmallVector<StringAttr> MXFP8Attr::getCanonicalOrder() const {
  return getNames(getContext(),
                          {"rowwise_data", "rowwise_scale_inv",
                           "columnwise_data", "columnwise_scale_inv"});
}

SmallVector<BlockConstraint> MXFP8Attr::getQuantizeConstraints() const {
  SmallVector<BlockConstraint> constraints;
  bool is2D = getWith_2dQuantization();
  if (hasRowwise()) {
    constraints.push_back({Usage::Rowwise, Extent::Cols, 32});
    if (is2D)
      constraints.push_back({Usage::Rowwise, Extent::Rows, 32});
  }
  if (hasColumnwise()) {
    constraints.push_back({Usage::Columnwise, Extent::Rows, 32});
    if (is2D)
      constraints.push_back({Usage::Columnwise, Extent::Cols, 32});
  }
  return constraints;
}

std::optional<SmallVector<BlockConstraint>>
MXFP8Attr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>{{Usage::Rowwise, Extent::Cols, 32},
                                      {Usage::Columnwise, Extent::Rows, 32}};
}

QuantizedGather MXFP8Attr::getQuantizedGather() const {
  return QuantizedGather::QuantizedOrQuantizable;
}

bool MXFP8Attr::isRequantizationSafe() const { return true; }

bool MXFP8Attr::isRowOnlyAllGather() const { return false; }

UsageChange MXFP8Attr::getUsageChange(std::optional<Usage> usage) const {
  if (usage == getUsage())
    return {UsageChange::None};
  if (!usage || getUsage() == Usage::Both)
    return {UsageChange::Drop};
  return {UsageChange::Illegal, hasRowwise() ? columnwiseNotDerivable
                                             : rowwiseNotDerivable};
}

std::optional<GemmOperand> MXFP8Attr::getGemmOperand(Usage direction) const {
  bool isRowwise = direction == Usage::Rowwise;
  GemmOperand operand;
  operand.scalingMode = "E8M0 scales of 1x32 blocks";
  operand.codes = isRowwise ? "rowwise_data" : "columnwise_data";
  operand.codeType = getFp8Dtype();
  operand.isLineMajor = isRowwise;
  operand.scales = isRowwise ? "rowwise_scale_inv" : "columnwise_scale_inv";
  operand.scaleType = Float8E8M0FNUType::get(getContext());
  operand.block = 32;
  operand.scaleOrder = getOptimizeForGemm() ? GemmOperand::ScaleOrder::Tiles
                       : isRowwise ? GemmOperand::ScaleOrder::LinesFirst
                                   : GemmOperand::ScaleOrder::BlocksFirst;
  operand.scalePadding = isRowwise ? 4 : 128;
  return operand;
}
