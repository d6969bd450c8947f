//===- LinearPlanParts.cpp - what the plans of both directions share -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearPlanParts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace te::quant;

StringRef te::quant::stringifyLinearRole(LinearRole role) {
  switch (role) {
  case LinearRole::Input:
    return "input";
  case LinearRole::Weight:
    return "weight";
  case LinearRole::Output:
    return "output";
  case LinearRole::GradOutput:
    return "grad_output";
  case LinearRole::GradInput:
    return "grad_input";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

FailureOr<OperandView> OperandView::get(Type type, StringRef what,
                                        EmitError emitError) {
  if (!type)
    return OperandView();
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return OperandView{type, spec.getShape(), spec.getNominalDtype(),
                       spec.getQuantizer()};
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor &&
      (tensor.getElementType().isF32() || tensor.getElementType().isBF16() ||
       tensor.getElementType().isF16()))
    return OperandView{type, tensor.getShape(), tensor.getElementType(), {}};
  emitError() << "expected the " << what
              << " to be a ranked tensor of f32, bf16 or f16, or a TensorSpec, "
                 "but got "
              << type;
  return failure();
}

Type te::quant::makePlain(ArrayRef<int64_t> shape, Type dtype, Type like) {
  auto spec = dyn_cast<TensorSpecType>(like);
  if (!spec || spec.isQuantized())
    return RankedTensorType::get(shape, dtype);
  return TensorSpecType::get(dtype.getContext(), shape, dtype,
                             /*quantizer=*/{}, /*requiresGrad=*/false,
                             spec.getDevice());
}

TensorSpecType te::quant::makeQuantized(ArrayRef<int64_t> shape, Type dtype,
                                        QuantizerAttrInterface quantizer,
                                        Type like, EmitError emitError,
                                        bool requiresGrad) {
  auto spec = dyn_cast<TensorSpecType>(like);
  return TensorSpecType::getChecked(emitError, dtype.getContext(), shape, dtype,
                                    quantizer, requiresGrad,
                                    spec ? spec.getDevice() : StringAttr());
}

//===----------------------------------------------------------------------===//
// Usages
//===----------------------------------------------------------------------===//

QuantizerAttrInterface te::quant::makeUsage(QuantizerAttrInterface quantizer,
                                            Usage usage, LinearRole role,
                                            EmitError emitError) {
  QuantizerAttrInterface result = quantizer.withUsage(usage);
  // A format without usages has all it needs for either.
  if (!result && quantizer.getUsage() == Usage::Both &&
      !quantizer.withUsage(Usage::Rowwise) &&
      !quantizer.withUsage(Usage::Columnwise))
    return quantizer;
  if (!result)
    emitError() << "expected the " << stringifyLinearRole(role)
                << " quantizer to have usage " << stringifyUsage(usage)
                << ", but got " << quantizer;
  return result;
}

Usage te::quant::makeUsage(bool rowwise, bool columnwise) {
  if (rowwise && columnwise)
    return Usage::Both;
  return rowwise ? Usage::Rowwise : Usage::Columnwise;
}

static UsageChange::Kind getChange(QuantizerAttrInterface quantizer,
                                   Usage usage) {
  return quantizer.getUsageChange(usage).kind;
}

bool te::quant::hasUsage(QuantizerAttrInterface quantizer, Usage usage) {
  if (QuantizerAttrInterface::includes(quantizer.getUsage(), usage))
    return true;
  return getChange(quantizer, usage) == UsageChange::None;
}

bool te::quant::canHaveUsage(QuantizerAttrInterface quantizer, Usage usage) {
  if (hasUsage(quantizer, usage))
    return true;
  // U-3: derive with what is there kept, then drop.
  return getChange(quantizer, Usage::Both) == UsageChange::Derive;
}

QuantizerAttrInterface
te::quant::getOperandQuantizer(QuantizerAttrInterface quantizer,
                               Usage direction) {
  QuantizerAttrInterface pinned = quantizer.withUsage(direction);
  if (!pinned)
    return quantizer;
  SmallVector<QuantizerComponent> components = pinned.getComponents();
  if (components.empty())
    return pinned;
  return cast<QuantizerAttrInterface>(components.front().quantizer);
}

bool te::quant::scalesByTensorAmax(QuantizerAttrInterface quantizer) {
  if (quantizer.getQuantizeSignature().numAmaxes > 0)
    return true;
  QuantizerAttrInterface both = quantizer.withUsage(Usage::Both);
  if (!both)
    return false;
  return llvm::any_of(both.getComponents(), [](QuantizerComponent component) {
    return scalesByTensorAmax(
        cast<QuantizerAttrInterface>(component.quantizer));
  });
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool te::quant::isNative(QuantizerAttrInterface quantizer) {
  return quantizer.getComponents().empty() &&
         quantizer.getGemmOperand(Usage::Rowwise).has_value();
}

LogicalResult te::quant::verifyForwardPair(QuantizerAttrInterface a,
                                           QuantizerAttrInterface b,
                                           EmitError emitError) {
  a = getOperandQuantizer(a, Usage::Rowwise);
  b = getOperandQuantizer(b, Usage::Rowwise);
  std::optional<GemmOperand> aOperand = a.getGemmOperand(Usage::Rowwise);
  std::optional<GemmOperand> bOperand = b.getGemmOperand(Usage::Rowwise);
  // Formats that no GEMM of ours reads go with their like.
  bool isSameMode =
      aOperand && bOperand
          ? aOperand->scalingMode == bOperand->scalingMode
          : !aOperand && !bOperand && a.getFamily() == b.getFamily();
  if (!isSameMode)
    return emitError() << "expected input and weight to have one scaling mode, "
                          "but got '"
                       << a.getFamily() << "' and '" << b.getFamily() << "'";
  if (aOperand && aOperand->linesPerScale > 1 && bOperand->linesPerScale > 1)
    return emitError() << "expected either input or weight to have 2-D blocks, "
                          "but got "
                       << a << " and " << b;
  return success();
}

FailureOr<SmallVector<int64_t>>
te::quant::multiplyFirstDim(ArrayRef<int64_t> shape, int64_t factor,
                            EmitError emitError) {
  SmallVector<int64_t> result(shape);
  if (!ShapedType::isDynamic(result[0]) &&
      llvm::MulOverflow(result[0], factor, result[0])) {
    emitError() << "the first dim of the gathered tensor overflows 64 bits";
    return failure();
  }
  return result;
}

LogicalResult te::quant::verifyConfig(const LinearConfig &config,
                                      EmitError emitError) {
  if (config.tpSize < 1)
    return emitError() << "expected tp_size of at least 1, but got "
                       << config.tpSize;
  // 5.5: sequence parallelism is part of tensor parallelism.
  if (config.sequenceParallel &&
      (config.tpSize < 2 || config.parallelMode == ParallelMode::None))
    return emitError() << "expected a parallel_mode and tp_size of at least 2 "
                          "with sequence_parallel, but got "
                       << stringifyParallelMode(config.parallelMode) << " and "
                       << config.tpSize;
  // 5.1: the cache is looked up only with a tag and without FSDP2.
  if (config.cacheWeight && config.microbatch == Microbatch::None)
    return emitError() << "expected microbatch first or later with "
                          "cache_weight, but got none";
  if (config.cacheWeight && config.fsdp2)
    return emitError() << "'cache_weight' excludes 'fsdp2'";
  return success();
}

FailureOr<bool> te::quant::resolveSaveOriginalInput(const LinearConfig &config,
                                                    bool &isIgnored,
                                                    EmitError emitError) {
  isIgnored = false;
  if (config.backwardOverride != BackwardOverride::None)
    return config.backwardOverride == BackwardOverride::HighPrecision;
  if (!config.saveOriginalInput || !config.needsInput() ||
      !config.inputQuantizer)
    return config.saveOriginalInput;
  bool isDelayed = config.inputQuantizer.getQuantizeSignature().takesScale;
  if (isDelayed && !config.recipeIsCustom) {
    emitError() << "expected save_original_input to be off with '"
                << config.inputQuantizer.getFamily()
                << "': its scale will have changed in backward";
    return failure();
  }
  //
  isIgnored = isDelayed || !config.inputQuantizer.isReconstructible();
  return !isIgnored;
}

std::optional<bool>
te::quant::gathersQuantized(QuantizerAttrInterface quantizer,
                            const OperandView &local) {
  switch (quantizer.getQuantizedGather()) {
  case QuantizedGather::Never:
    return false;
  case QuantizedGather::QuantizableShapes:
    break;
  case QuantizedGather::QuantizedOrQuantizable:
    if (local.quantizer)
      return true;
  }
  return isQuantizable(quantizer, local.shape);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

LogicalResult LinearPlanBuilder::addQuantize(LinearQuantize quantize,
                                             Type sourceDtype) {
  TensorSpecType type = quantize.type;
  // H-29: the kernel reads the source, whose dtype may not be the nominal one.
  TensorSpecType source = TensorSpecType::getChecked(
      emitError, type.getContext(), type.getShape(), sourceDtype,
      type.getQuantizer(), false, type.getDevice());
  auto emitForRole = [&] {
    InFlightDiagnostic diag = emitError();
    diag << "cannot quantize the " << stringifyLinearRole(quantize.role)
         << ": ";
    return diag;
  };
  if (!source || failed(verifyQuantizable(emitForRole, source)))
    return failure();
  auto [rows, cols] = *getFlattenedExtents(type.getShape());
  for (BlockConstraint constraint :
       type.getQuantizer().getQuantizeConstraints()) {
    bool isRows = constraint.extent == Extent::Rows;
    LinearAssertion assertion{
        quantize.role, isRows ? LinearAssertion::Rows : LinearAssertion::Last,
        constraint.block, /*isCheckedByQuantize=*/true};
    // Two directions may ask for the same.
    if (ShapedType::isDynamic(isRows ? rows : cols) &&
        !llvm::is_contained(assertions, assertion))
      assertions.push_back(assertion);
  }
  quantizes.push_back(quantize);
  return success();
}

LogicalResult LinearPlanBuilder::addMultiple(LinearRole role, StringRef what,
                                             LinearAssertion::Dim dim,
                                             int64_t extent, int64_t multiple) {
  if (ShapedType::isDynamic(extent))
    assertions.push_back({role, dim, multiple});
  else if (extent % multiple != 0)
    return emitError() << "expected the " << what << " to be a multiple of "
                       << multiple << ", but got " << extent;
  return success();
}

FailureOr<LinearGather>
LinearPlanBuilder::planGather(LinearRole role, const OperandView &local,
                              Type dtype, QuantizerAttrInterface quantizer,
                              std::optional<Usage> usage, int64_t tpSize) {
  FailureOr<SmallVector<int64_t>> shape =
      multiplyFirstDim(local.shape, tpSize, emitError);
  if (failed(shape))
    return failure();
  LinearGather gather{role, LinearGather::HighPrecision, usage, {}};
  if (!usage) {
    gather.type = makePlain(*shape, dtype, local.type);
    return gather;
  }
  QuantizerAttrInterface mover = local.quantizer ? local.quantizer : quantizer;
  // B-4, H-34
  if (mover.isRowScaled() || quantizer.isRowScaled()) {
    emitError() << "expected a quantizer of the " << stringifyLinearRole(role)
                << " that is not row-scaled where it is gathered: row scaling "
                   "excludes the amax reduction, but got "
                << mover;
    return failure();
  }
  std::optional<bool> isQuantized = gathersQuantized(mover, local);
  gather.how = isQuantized.value_or(true)
                   ? LinearGather::Quantized
                   : LinearGather::HighPrecisionThenQuantize;
  if (gather.how == LinearGather::Quantized) {
    quantizer = mover;
    if (!isQuantized) {
      auto [rows, cols] = *getFlattenedExtents(local.shape);
      // There are some, or the answer would not depend on dims.
      SmallVector<BlockConstraint> constraints = *mover.getGatherConstraints();
      for (BlockConstraint constraint : constraints) {
        bool isRows = constraint.extent == Extent::Rows;
        if (failed(addMultiple(role, stringifyLinearRole(role),
                               isRows ? LinearAssertion::Rows
                                      : LinearAssertion::Last,
                               isRows ? rows : cols, constraint.block)))
          return failure();
      }
    }
  }
  QuantizerAttrInterface gathered =
      makeUsage(quantizer, *usage, role, emitError);
  if (!gathered)
    return failure();
  gather.type = makeQuantized(*shape, dtype, gathered, local.type, emitError);
  if (!gather.type ||
      (gather.how == LinearGather::HighPrecisionThenQuantize &&
       failed(verifyQuantizable(emitError, cast<TensorSpecType>(gather.type)))))
    return failure();
  return gather;
}

void te::quant::finishSignature(MutableArrayRef<LinearQuantize> quantizes,
                                ArrayRef<LinearGather *> gathers,
                                SmallVectorImpl<LinearRole> &scaleRoles,
                                bool &takesRandomState) {
  unsigned numParts = 0;
  auto visit = [&](LinearRole role, Type type, unsigned &randomPart) {
    QuantizeSignature signature =
        cast<TensorSpecType>(type).getQuantizer().getQuantizeSignature();
    if (signature.takesScale && !llvm::is_contained(scaleRoles, role))
      scaleRoles.push_back(role);
    if (signature.takesRandomState)
      randomPart = numParts++;
  };
  for (LinearQuantize &quantize : quantizes)
    visit(quantize.role, quantize.type, quantize.randomPart);
  // What is gathered in high precision is quantized after it, unless that
  // quantize is listed by itself.
  for (LinearGather *gather : gathers) {
    bool isListed =
        llvm::any_of(quantizes, [&](const LinearQuantize &quantize) {
          return quantize.role == gather->role &&
                 quantize.where == LinearQuantize::AfterGather;
        });
    if (gather->how == LinearGather::HighPrecisionThenQuantize && !isListed)
      visit(gather->role, gather->type, gather->randomPart);
  }
  llvm::sort(scaleRoles);
  takesRandomState = numParts > 0;
}
