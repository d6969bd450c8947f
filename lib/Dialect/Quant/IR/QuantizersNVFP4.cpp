//===- QuantizersNVFP4.cpp - E2M1 with E4M3 scales for blocks of 16 -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace te::quant;

LogicalResult NVFP4Attr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Usage usage, bool withRht, bool withPostRhtAmax,
                                bool with2dQuantization,
                                bool stochasticRounding, bool withAmaxReduction,
                                bool rowScaled, bool use4over6, int64_t e4m3Max,
                                ErrMode errMode, bool withRandomSignMask,
                                bool internal, bool optimizeForGemm) {
  if (e4m3Max != 448 && e4m3Max != 256)
    return emitError() << "expected e4m3_max 448 or 256, but got " << e4m3Max;
  auto excludes = [&](StringRef option, StringRef other) -> LogicalResult {
    return emitError() << "'" << option << "' excludes '" << other << "'";
  };
  if (rowScaled) {
    if (withRht)
      return excludes("row_scaled", "with_rht");
    if (with2dQuantization)
      return excludes("row_scaled", "with_2d_quantization");
    if (stochasticRounding)
      return excludes("row_scaled", "stochastic_rounding");
    if (withAmaxReduction)
      return excludes("row_scaled", "with_amax_reduction");
    if (use4over6 && QuantizerAttrInterface::includes(usage, Usage::Columnwise))
      return emitError()
             << "'row_scaled' with columnwise usage excludes 'use_4over6'";
  }
  if (use4over6) {
    if (withRht)
      return excludes("use_4over6", "with_rht");
    if (stochasticRounding)
      return excludes("use_4over6", "stochastic_rounding");
  }
  if (withRht && !withPostRhtAmax)
    return emitError() << "'with_rht' needs 'with_post_rht_amax': the amax "
                          "before the transform does not bound its results";
  return success();
}

StringRef NVFP4Attr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface NVFP4Attr::withUsage(Usage usage) const {
  // As the verifier has it.
  if (getRowScaled() && getUse_4over6() &&
      QuantizerAttrInterface::includes(usage, Usage::Columnwise))
    return {};
  return get(getContext(), usage, getWithRht(), getWithPostRhtAmax(),
             getWith_2dQuantization(), getStochasticRounding(),
             getWithAmaxReduction(), getRowScaled(), getUse_4over6(),
             getE4m3Max(), getErrMode(), getWithRandomSignMask(), getInternal(),
             getOptimizeForGemm());
}

QuantizerAttrInterface NVFP4Attr::withInternal(bool internal) const {
  return get(getContext(), getUsage(), getWithRht(), getWithPostRhtAmax(),
             getWith_2dQuantization(), getStochasticRounding(),
             getWithAmaxReduction(), getRowScaled(), getUse_4over6(),
             getE4m3Max(), getErrMode(), getWithRandomSignMask(), internal,
             getOptimizeForGemm());
}

QuantizerAttrInterface
NVFP4Attr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getUsage(), getWithRht(), getWithPostRhtAmax(),
             getWith_2dQuantization(), getStochasticRounding(),
             getWithAmaxReduction(), getRowScaled(), getUse_4over6(),
             getE4m3Max(), getErrMode(), getWithRandomSignMask(), getInternal(),
             optimizeForGemm);
}

SmallVector<StringAttr> NVFP4Attr::getGemmOrderedInners() const {
  return getNames(getContext(), {"rowwise_scale_inv", "columnwise_scale_inv"});
}

LayoutAttr NVFP4Attr::computeLayout(Type) const {
  MLIRContext *context = getContext();
  LayoutBuilder b(context);
  Type byte = IntegerType::get(context, 8);
  Type e4m3 = Float8E4M3FNType::get(context);
  Type f32 = Float32Type::get(context);
  AffineExpr one = getAffineConstantExpr(1, context);
  // 64 elements hold 4 blocks of 16.
  if (hasRowwise()) {
    b.add("rowwise_data", byte, {b.leading, b.cols.ceilDiv(2)});
    b.add("rowwise_scale_inv", e4m3,
          {b.rows.ceilDiv(128) * 128, b.cols.ceilDiv(64) * 4});
  }
  if (hasColumnwise()) {
    // D-1: two-dimensional for every rank, packed along the rows.
    b.add("columnwise_data", byte, {b.cols, b.rows.ceilDiv(2)});
    b.add("columnwise_scale_inv", e4m3,
          {b.cols.ceilDiv(128) * 128, b.rows.ceilDiv(64) * 4});
  }
  // V-4: after all data and scales.
  if (hasRowwise())
    b.add("amax_rowwise", f32, {getRowScaled() ? b.rows : one});
  if (hasColumnwise())
    b.add("amax_columnwise", f32, {getRowScaled() ? b.cols : one}); // D-2
  return b.build();
}

SmallVector<StringAttr> NVFP4Attr::getCanonicalOrder() const {
  return getNames(getContext(),
                  {"rowwise_data", "rowwise_scale_inv", "columnwise_data",
                   "columnwise_scale_inv", "amax_rowwise", "amax_columnwise"});
}

SmallVector<BlockConstraint> NVFP4Attr::getQuantizeConstraints() const {
  SmallVector<BlockConstraint> constraints;
  // Row-scaled tensors with both usages come from one kernel of 32x32 tiles.
  bool isTiled = getRowScaled() && hasColumnwise();
  bool bothExtents = getWith_2dQuantization() || isTiled;
  int64_t block = isTiled ? 32 : 16;
  if (hasRowwise()) {
    constraints.push_back({Usage::Rowwise, Extent::Cols, block});
    if (bothExtents)
      constraints.push_back({Usage::Rowwise, Extent::Rows, block});
  }
  if (hasColumnwise()) {
    constraints.push_back({Usage::Columnwise, Extent::Rows, block});
    if (bothExtents)
      constraints.push_back({Usage::Columnwise, Extent::Cols, block});
  }
  return constraints;
}

LogicalResult
NVFP4Attr::verifyQuantize(function_ref<InFlightDiagnostic()> emitError,
                          Type nominalDtype) const {
  // D-3: such a tensor only remains when rowwise usage is dropped.
  if (getRowScaled() && !hasRowwise())
    return emitError()
           << "expected usage both or rowwise for 'row_scaled', but "
              "got columnwise";
  if (getRowScaled() && hasColumnwise() && !nominalDtype.isBF16())
    return emitError() << "expected nominal dtype bf16 for 'row_scaled' with "
                          "columnwise usage, but got "
                       << nominalDtype;
  if (getWithRht() && !nominalDtype.isBF16())
    return emitError() << "expected nominal dtype bf16 for 'with_rht', but got "
                       << nominalDtype;
  return success();
}

QuantizeSignature NVFP4Attr::getQuantizeSignature() const {
  QuantizeSignature signature;
  signature.numAmaxes = getRowScaled() ? 0 : getWithRht() ? 2 : 1;
  signature.takesRandomState = getStochasticRounding();
  return signature;
}

std::optional<SmallVector<BlockConstraint>>
NVFP4Attr::getGatherConstraints() const {
  if (getRowScaled())
    return std::nullopt;
  return SmallVector<BlockConstraint>{{Usage::Rowwise, Extent::Cols, 16},
                                      {Usage::Columnwise, Extent::Rows, 16}};
}

QuantizedGather NVFP4Attr::getQuantizedGather() const {
  return QuantizedGather::QuantizedOrQuantizable;
}

bool NVFP4Attr::isRequantizationSafe() const {
  return !getStochasticRounding();
}

bool NVFP4Attr::isRowOnlyAllGather() const { return false; }

UsageChange NVFP4Attr::getUsageChange(std::optional<Usage> usage) const {
  if (usage == getUsage())
    return {UsageChange::None};
  if (!usage || getUsage() == Usage::Both)
    return {UsageChange::Drop};
  if (!hasRowwise())
    return {UsageChange::Illegal, rowwiseNotDerivable};
  if (!getWith_2dQuantization())
    return {UsageChange::Illegal, columnwiseNotDerivable};
  // U-3
  if (*usage != Usage::Both)
    return {UsageChange::Illegal, deriveFirst};
  // H-7
  if (getOptimizeForGemm())
    return {UsageChange::Illegal, "deriving columnwise needs compact scales"};
  if (getWithRht())
    return {
        UsageChange::Illegal,
        "columnwise data is transformed and cannot be derived from rowwise"};
  return {UsageChange::Derive};
}

std::optional<GemmOperand> NVFP4Attr::getGemmOperand(Usage direction) const {
  bool isRowwise = direction == Usage::Rowwise;
  MLIRContext *context = getContext();
  GemmOperand operand;
  operand.scalingMode = "E4M3 scales of 1x16 blocks";
  operand.codes = isRowwise ? "rowwise_data" : "columnwise_data";
  operand.codeType = Float4E2M1FNType::get(context);
  operand.scales = isRowwise ? "rowwise_scale_inv" : "columnwise_scale_inv";
  operand.scaleType = Float8E4M3FNType::get(context);
  operand.block = 16;
  operand.scaleOrder = getOptimizeForGemm()
                           ? GemmOperand::ScaleOrder::Tiles
                           : GemmOperand::ScaleOrder::LinesFirst;
  operand.scalePadding = 4;
  operand.factor = isRowwise ? "amax_rowwise" : "amax_columnwise";
  operand.hasLineFactors = getRowScaled();
  operand.divisor = 6 * getE4m3Max();
  //
  if (!isRowwise && getWithRht())
    operand.transform = getWithRandomSignMask()
                            ? "the Hadamard transform with random signs"
                            : "the Hadamard transform without random signs";
  operand.allowsF16Result = false;
  return operand;
}
