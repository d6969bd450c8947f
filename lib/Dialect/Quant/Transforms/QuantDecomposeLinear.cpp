//===- QuantDecomposeLinear.cpp - linear layers as primitive operations ---===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is emitted is what the plan of the op says: no rule of a linear layer is
// decided here. Ids such as B-5 and 6.2 are those of docs/semantics.md.
//
//===----------------------------------------------------------------------===//

#include "DecomposeLinear.h"
#include "LogicalDims.h"
#include "RandomState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTDECOMPOSELINEARPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getShape();
  return cast<RankedTensorType>(type).getShape();
}

static Type getDtype(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getNominalDtype();
  return cast<RankedTensorType>(type).getElementType();
}

/// Null for a plain tensor.
static QuantizerAttrInterface getQuantizer(Type type) {
  auto spec = dyn_cast<TensorSpecType>(type);
  return spec ? spec.getQuantizer() : QuantizerAttrInterface();
}

/// How a GEMM reads a tensor of `type`; nothing where none can.
static std::optional<GemmOperand> getGemmOperand(Type type, Usage direction) {
  std::optional<GemmRepresentation> found =
      getGemmRepresentation(getQuantizer(type), direction);
  if (!found)
    return std::nullopt;
  if (!found->quantizer)
    return getPlainGemmOperand(getDtype(type), direction);
  return found->quantizer.getGemmOperand(direction);
}

static const LinearQuantize *findQuantize(ArrayRef<LinearQuantize> quantizes,
                                          LinearRole role) {
  auto *found = llvm::find_if(quantizes, [&](const LinearQuantize &quantize) {
    return quantize.role == role;
  });
  return found == quantizes.end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The steps that both directions are made of.
class LinearEmitter {
public:
  /// `OpTy`: an op of either direction.
  template <typename OpTy>
  LinearEmitter(OpBuilder &builder, OpTy op, ArrayRef<LinearRole> scaleRoles)
      : builder(builder), op(op), loc(op.getLoc()),
        group(op.getTpGroup().value_or("tp")), numRanks(op.getTpSize()),
        rng(op.getRng()) {
    for (auto [role, scale] : llvm::zip_equal(scaleRoles, op.getScale()))
      delayed.push_back({role, scale, Value()});
  }

protected:
  /// `value` as a plain tensor of `type`: decoded or cast where it must be.
  Value toPlain(Value value, Type type);

  /// `value` as a builtin tensor of `dtype`; null: of its own.
  Value decode(Value value, Type dtype = {});

  /// `value` with the representations of `usage`, dropping or deriving.
  Value changeUsage(Value value, Usage usage);

  Value quantize(const LinearQuantize &quantize, Value source, Value into = {},
                 Value noop = {});

  /// `after`: the quantize of what is gathered in high precision, if the plan
  /// lists it.
  Value gather(const LinearGather &gather, Value local,
               const LinearQuantize *after = nullptr);

  Value reduce(LinearReduction reduction, Value value, Type type);

  Value gemm(GemmLayout layout, Value a, Value b, Type type, Value bias = {},
             Value accumulator = {});

  /// The logical dims, or an error where they cannot be told.
  FailureOr<SmallVector<OpFoldResult>> getDims(Value value);

  /// B-13. `getOperand`: the operand that holds a role.
  LogicalResult emitAssertions(ArrayRef<LinearAssertion> assertions,
                               Value weight,
                               function_ref<Value(LinearRole)> getOperand);

  void appendAmaxes(SmallVectorImpl<Value> &results) {
    for (const Delayed &entry : delayed)
      results.push_back(entry.amax);
  }

  OpBuilder &builder;
  Operation *op;
  Location loc;

private:
  /// A role with delayed scaling.
  struct Delayed {
    LinearRole role;
    Value scale, amax;
  };

  Value quantize(LinearRole role, TensorSpecType type, Value source,
                 unsigned randomPart, bool reducesAmax, Value into, Value noop);
  Value quantizeComponents(LinearRole role, TensorSpecType type, Value source,
                           unsigned randomPart);
  SmallVector<Value> getReducedAmaxes(QuantizerAttrInterface quantizer,
                                      Value source);
  Value allGather(Value local, ArrayRef<int64_t> shape);
  Value gatherQuantized(TensorSpecType type, Value local);
  Value toOperand(Value value, Usage direction);

  StringRef group;
  int64_t numRanks;
  Value rng;
  SmallVector<Delayed, 4> delayed;
};

class ForwardEmitter : public LinearEmitter {
public:
  ForwardEmitter(OpBuilder &builder, LinearOp op, const LinearForwardPlan &plan)
      : LinearEmitter(builder, op, plan.scaleRoles), linear(op), plan(plan) {}

  FailureOr<SmallVector<Value>> run();

private:
  Value emitInput();
  Value emitWeight();
  Value emitOutput(Value weightmat, Value operand);

  LinearOp linear;
  const LinearForwardPlan &plan;
  /// The input before the gather, as it may be saved.
  Value local;
};

class BackwardEmitter : public LinearEmitter {
public:
  BackwardEmitter(OpBuilder &builder, LinearBackwardOp op,
                  const LinearBackwardPlan &plan)
      : LinearEmitter(builder, op, plan.scaleRoles), linear(op), plan(plan) {}

  FailureOr<SmallVector<Value>> run();

private:
  Value emitGradOutput();
  Value emitInput();
  Value emitDgrad(Value gradient);
  Value emitWgrad(Value input, Value gradient);
  FailureOr<Value> emitBiasGrad();
  FailureOr<Value> zeroWithoutFeatures(Value sum);

  /// What GEMMs in high precision compute with.
  Type getActivationDtype() { return getDtype(plan.gradOutput); }

  LinearBackwardOp linear;
  const LinearBackwardPlan &plan;
};
} // namespace

Value LinearEmitter::toPlain(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<TensorSpecType>(value.getType()))
    return DequantizeOp::create(builder, loc, type, value);
  auto tensor = cast<RankedTensorType>(value.getType());
  if (tensor.getElementType() != getDtype(type))
    value = CastOp::create(builder, loc, tensor.clone(getDtype(type)), value);
  if (isa<TensorSpecType>(type))
    return AssembleOp::create(builder, loc, type, value);
  return castTensor(builder, loc, value, type);
}

Value LinearEmitter::decode(Value value, Type dtype) {
  Type type = value.getType();
  return toPlain(value, RankedTensorType::get(getShape(type),
                                              dtype ? dtype : getDtype(type)));
}

Value LinearEmitter::changeUsage(Value value, Usage usage) {
  auto type = cast<TensorSpecType>(value.getType());
  QuantizerAttrInterface quantizer = type.getQuantizer().withUsage(usage);
  // A format without usages has all it needs for either.
  if (!quantizer || quantizer == type.getQuantizer())
    return value;
  return UpdateUsageOp::create(builder, loc, type.withQuantizer(quantizer),
                               value);
}

//===----------------------------------------------------------------------===//
// Quantizing
//===----------------------------------------------------------------------===//

/// B-4
SmallVector<Value>
LinearEmitter::getReducedAmaxes(QuantizerAttrInterface quantizer,
                                Value source) {
  unsigned numAmaxes = quantizer.getQuantizeSignature().numAmaxes;
  if (numAmaxes == 0)
    return {};
  SmallVector<Type> types(numAmaxes,
                          RankedTensorType::get({1}, builder.getF32Type()));
  auto amaxes = AmaxOp::create(builder, loc, types, quantizer, source);
  return llvm::map_to_vector(amaxes.getAmaxes(), [&](Value amax) -> Value {
    return AllReduceOp::create(builder, loc, amax.getType(), Reduction::Max,
                               amax, group, numRanks);
  });
}

/// A composed tensor takes no amaxes: its components do.
Value LinearEmitter::quantizeComponents(LinearRole role, TensorSpecType type,
                                        Value source, unsigned randomPart) {
  SmallVector<Value> inners;
  llvm::SmallDenseMap<Attribute, Value> made;
  auto make = [&](Attribute quantizer, Value input) {
    Value &part = made[quantizer];
    part = quantize(role,
                    type.withQuantizer(cast<QuantizerAttrInterface>(quantizer)),
                    input, randomPart, /*reducesAmax=*/true, Value(), Value());
    return part;
  };
  for (const QuantizerComponent &component :
       type.getQuantizer().getComponents()) {
    Value input = source;
    if (Attribute origin = component.decodedFrom) {
      Value decodable = made.lookup(origin);
      input = decode(decodable ? decodable : make(origin, source));
    }
    Value part = make(component.quantizer, input);
    auto partType = cast<TensorSpecType>(part.getType());
    llvm::append_range(inners, DisassembleOp::create(
                                   builder, loc, partType.getInnerTypes(), part)
                                   .getInners());
  }
  return AssembleOp::create(builder, loc, type, inners);
}

Value LinearEmitter::quantize(LinearRole role, TensorSpecType type,
                              Value source, unsigned randomPart,
                              bool reducesAmax, Value into, Value noop) {
  QuantizerAttrInterface quantizer = type.getQuantizer();
  if (reducesAmax && !quantizer.getComponents().empty())
    return quantizeComponents(role, type, source, randomPart);
  QuantizeSignature signature = quantizer.getQuantizeSignature();
  SmallVector<Value> amaxes;
  if (reducesAmax)
    amaxes = getReducedAmaxes(quantizer, source);
  auto *entry = llvm::find_if(
      delayed, [&](const Delayed &entry) { return entry.role == role; });
  auto made = QuantizeOp::create(
      builder, loc, type,
      signature.returnsAmax ? RankedTensorType::get({1}, builder.getF32Type())
                            : Type(),
      source, into, noop, signature.takesScale ? entry->scale : Value(), amaxes,
      signature.takesRandomState
          ? shiftRandomState(builder, loc, rng, randomPart)
          : Value());
  // A role may be quantized twice, before and after a gather.
  if (Value amax = made.getAmaxResult()) {
    if (entry->amax)
      amax = arith::MaxNumFOp::create(builder, loc, entry->amax, amax);
    entry->amax = amax;
  }
  return made.getResult();
}

Value LinearEmitter::quantize(const LinearQuantize &quantize, Value source,
                              Value into, Value noop) {
  Value result =
      this->quantize(quantize.role, quantize.type, source, quantize.randomPart,
                     quantize.reducesAmax, into, noop);
  return quantize.dropsRowwise ? changeUsage(result, Usage::Columnwise)
                               : result;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// `shape`: that of the gathered tensor.
Value LinearEmitter::allGather(Value local, ArrayRef<int64_t> shape) {
  Type type = local.getType();
  if (auto spec = dyn_cast<TensorSpecType>(type))
    type = spec.withShape(shape);
  else
    type = cast<RankedTensorType>(type).clone(shape);
  return AllGatherOp::create(builder, loc, type, local, group, numRanks);
}

/// B-5: each representation moves by itself, with compact scales.
Value LinearEmitter::gatherQuantized(TensorSpecType type, Value local) {
  QuantizerAttrInterface quantizer = type.getQuantizer();
  bool isSwizzled =
      quantizer.hasGemmScaleOrder() && quantizer.getOptimizeForGemm();
  TensorSpecType compact = type;
  if (isSwizzled)
    compact = type.withQuantizer(quantizer.withOptimizeForGemm(false));
  auto gatherOne = [&](Usage usage) {
    Value one = changeUsage(local, usage);
    auto spec = cast<TensorSpecType>(one.getType());
    if (isSwizzled)
      one = SwizzleOp::create(
          builder, loc,
          spec.withQuantizer(spec.getQuantizer().withOptimizeForGemm(false)),
          one);
    return allGather(one, type.getShape());
  };

  SmallVector<Value> gathered;
  if (quantizer.getUsage() != Usage::Both) {
    gathered.push_back(gatherOne(quantizer.getUsage()));
  } else if (quantizer.isRowOnlyAllGather()) {
    // The rest is derived.
    gathered.push_back(changeUsage(gatherOne(Usage::Rowwise), Usage::Both));
  } else {
    gathered.push_back(gatherOne(Usage::Rowwise));
    gathered.push_back(gatherOne(Usage::Columnwise));
  }
  Value whole = gathered.front();
  if (whole.getType() != compact) {
    llvm::SmallDenseMap<StringAttr, Value> inners;
    for (Value part : gathered) {
      auto spec = cast<TensorSpecType>(part.getType());
      auto taken =
          DisassembleOp::create(builder, loc, spec.getInnerTypes(), part);
      for (auto [name, inner] :
           llvm::zip_equal(spec.getLayout().getNames(), taken.getInners()))
        inners[name] = inner;
    }
    whole = AssembleOp::create(
        builder, loc, compact,
        llvm::map_to_vector(compact.getLayout().getNames(),
                            [&](StringAttr name) { return inners.at(name); }));
  }
  return isSwizzled ? Value(SwizzleOp::create(builder, loc, type, whole))
                    : whole;
}

Value LinearEmitter::gather(const LinearGather &gather, Value local,
                            const LinearQuantize *after) {
  if (gather.how == LinearGather::Quantized)
    return gatherQuantized(cast<TensorSpecType>(gather.type), local);
  Value whole = allGather(decode(local), getShape(gather.type));
  if (gather.how == LinearGather::HighPrecision)
    return whole;
  if (after)
    return quantize(*after, whole);
  // All ranks have the whole tensor, and so its amax.
  return quantize(gather.role, cast<TensorSpecType>(gather.type), whole,
                  gather.randomPart, /*reducesAmax=*/false, Value(), Value());
}

Value LinearEmitter::reduce(LinearReduction reduction, Value value, Type type) {
  switch (reduction) {
  case LinearReduction::None:
    return value;
  case LinearReduction::AllReduce:
    return AllReduceOp::create(builder, loc, value.getType(), Reduction::Sum,
                               value, group, numRanks);
  case LinearReduction::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, value, group, numRanks);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// 7.1: what is missing is derived.
Value LinearEmitter::toOperand(Value value, Usage direction) {
  QuantizerAttrInterface quantizer = getQuantizer(value.getType());
  if (!quantizer || getGemmRepresentation(quantizer, direction) ||
      quantizer.getUsageChange(Usage::Both).kind != UsageChange::Derive)
    return value;
  return changeUsage(value, Usage::Both);
}

Value LinearEmitter::gemm(GemmLayout layout, Value a, Value b, Type type,
                          Value bias, Value accumulator) {
  Usage aDirection = getGemmDirection(layout, /*isA=*/true);
  Usage bDirection = getGemmDirection(layout, /*isA=*/false);
  a = toOperand(a, aDirection);
  b = toOperand(b, bDirection);
  std::optional<GemmOperand> aFormat = getGemmOperand(a.getType(), aDirection);
  std::optional<GemmOperand> bFormat = getGemmOperand(b.getType(), bDirection);
  // A format that no GEMM reads is multiplied in high precision, each operand
  // as the representation decodes that would have been read.
  if (!aFormat || !bFormat) {
    auto decodeDirection = [&](Value value, Usage direction) {
      if (getQuantizer(value.getType()))
        value = changeUsage(value, direction);
      value = decode(value);
      return std::pair(value, getGemmOperand(value.getType(), direction));
    };
    std::tie(a, aFormat) = decodeDirection(a, aDirection);
    std::tie(b, bFormat) = decodeDirection(b, bDirection);
  }
  Type gemmType = type;
  Type dtype = getDtype(type);
  // 5.7: rounded once all the same.
  if (dtype.isF16() && !accumulator &&
      !(aFormat->allowsF16Result && bFormat->allowsF16Result)) {
    dtype = builder.getF32Type();
    gemmType = RankedTensorType::get(getShape(type), dtype);
  }
  if (bias) {
    // 5.5
    QuantizerAttrInterface quantizer = getQuantizer(a.getType());
    bool isQuantized =
        bool(getGemmRepresentation(quantizer, aDirection)->quantizer);
    bias = decode(bias,
                  isQuantized && dtype.isF32() ? builder.getBF16Type() : dtype);
  }
  auto product =
      GemmOp::create(builder, loc, gemmType,
                     /*preActivation=*/Type(), layout, a, b, bias, accumulator);
  return toPlain(product.getResult(), type);
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<OpFoldResult>> LinearEmitter::getDims(Value value) {
  auto spec = dyn_cast<TensorSpecType>(value.getType());
  if (!spec)
    return tensor::getMixedSizes(builder, loc, value);
  if (!canRecoverLogicalDims(spec)) {
    op->emitOpError() << "the dynamic dims of " << spec
                      << " cannot be told from its inner tensors";
    return failure();
  }
  auto inners =
      DisassembleOp::create(builder, loc, spec.getInnerTypes(), value);
  return recoverLogicalDims(builder, loc, spec, inners.getInners());
}

/// How messages call the operand of a role.
static StringRef describe(LinearRole role) {
  switch (role) {
  case LinearRole::Input:
    return "input";
  case LinearRole::Weight:
    return "weight";
  case LinearRole::Output:
    return "output";
  case LinearRole::GradOutput:
    return "gradient of the output";
  case LinearRole::GradInput:
    return "gradient of the input";
  }
  return "";
}

static StringRef describe(LinearAssertion::Dim dim) {
  switch (dim) {
  case LinearAssertion::First:
    return "first dim";
  case LinearAssertion::Rows:
    return "rows";
  case LinearAssertion::Last:
    return "last dim";
  }
  return "";
}

LogicalResult
LinearEmitter::emitAssertions(ArrayRef<LinearAssertion> assertions,
                              Value weight,
                              function_ref<Value(LinearRole)> getOperand) {
  auto toValue = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  };
  auto check = [&](Value left, Value right, const Twine &message) {
    Value isEqual = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, left, right);
    CheckOp::create(builder, loc, isEqual, message.str());
  };
  for (const LinearAssertion &assertion : assertions) {
    if (assertion.isCheckedByQuantize)
      continue;
    auto dims = getDims(getOperand(assertion.role));
    if (failed(dims))
      return failure();
    Value extent = toValue(
        assertion.dim == LinearAssertion::Last ? dims->back() : dims->front());
    if (assertion.dim == LinearAssertion::Rows)
      for (OpFoldResult size : ArrayRef(*dims).drop_front().drop_back())
        extent = arith::MulIOp::create(builder, loc, extent, toValue(size));
    std::string subject = ("expected the " + describe(assertion.dim) +
                           " of the " + describe(assertion.role) + " to ")
                              .str();
    if (assertion.multiple == 0) {
      auto weightDims = getDims(weight);
      if (failed(weightDims))
        return failure();
      check(extent, toValue(weightDims->back()),
            subject + "equal that of the weight");
      continue;
    }
    Value rest = arith::RemUIOp::create(
        builder, loc, extent,
        arith::ConstantIndexOp::create(builder, loc, assertion.multiple));
    check(rest, arith::ConstantIndexOp::create(builder, loc, 0),
          subject + "be a multiple of " + Twine(assertion.multiple));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// 5.3
Value ForwardEmitter::emitInput() {
  local = linear.getX();
  if (const LinearQuantize *quantized =
          findQuantize(plan.quantizes, LinearRole::Input))
    local = quantize(*quantized, local);
  else if (!plan.input.isOperand)
    local = toPlain(local, plan.input.local);
  return plan.input.gather ? gather(*plan.input.gather, local) : local;
}

/// 5.4
Value ForwardEmitter::emitWeight() {
  Value weight = linear.getW();
  const LinearQuantize *quantized =
      findQuantize(plan.quantizes, LinearRole::Weight);
  switch (plan.weight.source) {
  case LinearWeightPlan::Parameter:
    return weight;
  case LinearWeightPlan::Cast:
    return toPlain(weight, plan.weight.weightmat);
  case LinearWeightPlan::Workspace:
    if (!quantized)
      return linear.getWorkspace();
    return quantize(*quantized, weight, linear.getWorkspace(),
                    linear.getSkipUpdate());
  case LinearWeightPlan::Fresh:
    return quantize(*quantized, weight);
  }
  return weight;
}

/// 5.5
Value ForwardEmitter::emitOutput(Value weightmat, Value operand) {
  const LinearOutputPlan &output = plan.output;
  Value y =
      gemm(GemmLayout::TN, weightmat, operand, output.gemm, linear.getBias());
  y = reduce(output.reduction, y, output.reduced);
  if (const LinearQuantize *quantized =
          findQuantize(plan.quantizes, LinearRole::Output))
    return quantize(*quantized, y);
  return toPlain(y, output.output);
}

FailureOr<SmallVector<Value>> ForwardEmitter::run() {
  if (plan.ignoresSaveOriginalInput)
    linear.emitWarning() << "'save_original_input' is ignored: quantizing the "
                            "input again would not give the same";
  if (failed(
          emitAssertions(plan.assertions, linear.getW(), [&](LinearRole role) {
            return role == LinearRole::Weight ? linear.getW() : linear.getX();
          })))
    return failure();
  Value operand = emitInput();
  Value weightmat = emitWeight();
  SmallVector<Value> results = {emitOutput(weightmat, operand)};
  if (plan.getWorkspaceResult())
    results.push_back(weightmat);
  for (auto [index, slot] : llvm::enumerate(plan.saved)) {
    if (slot.kind != SavedSlot::Value)
      continue;
    Value saved = index == InputSlot ? local : weightmat;
    if (QuantizerAttrInterface quantizer = getQuantizer(slot.value))
      saved = changeUsage(saved, quantizer.getUsage());
    results.push_back(saved);
  }
  appendAmaxes(results);
  return results;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// 6.2, step 1
Value BackwardEmitter::emitGradOutput() {
  Value dy = linear.getDy();
  const LinearQuantize *quantized =
      findQuantize(plan.quantizes, LinearRole::GradOutput);
  if (!plan.isQuantized)
    dy = decode(dy, getActivationDtype());
  else if (quantized && quantized->where != LinearQuantize::AfterGather)
    dy = quantize(*quantized, dy);
  return plan.gradOutputGather ? gather(*plan.gradOutputGather, dy, quantized)
                               : dy;
}

/// 6.2, step 2. Also where the wgrad GEMM of TransformerEngine gives it: it is
/// the same sum in f32, rounded once.
/// H-23: then cast.
FailureOr<Value> BackwardEmitter::emitBiasGrad() {
  Value dy = plan.isQuantized ? decode(linear.getDy())
                              : decode(linear.getDy(), getActivationDtype());
  auto type =
      RankedTensorType::get(getShape(plan.gradBias), getDtype(dy.getType()));
  Value sum = ColumnSumOp::create(builder, loc, type, dy);
  if (plan.biasGradSource == BiasGradSource::WgradGemm) {
    FailureOr<Value> summed = zeroWithoutFeatures(sum);
    if (failed(summed))
      return failure();
    sum = *summed;
  }
  return toPlain(sum, plan.gradBias);
}

/// B-14: an empty GEMM gives zero, as which its bias gradient counts.
FailureOr<Value> BackwardEmitter::zeroWithoutFeatures(Value sum) {
  Value weight = linear.getWeight();
  int64_t numFeatures = getShape(weight.getType()).back();
  if (!ShapedType::isDynamic(numFeatures) && numFeatures != 0)
    return sum;
  auto type = cast<RankedTensorType>(sum.getType());
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, sum),
      type.getElementType());
  Value zeros = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  if (numFeatures == 0)
    return zeros;
  FailureOr<SmallVector<OpFoldResult>> dims = getDims(weight);
  if (failed(dims))
    return failure();
  Value isEmpty = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      getValueOrCreateConstantIndexOp(builder, loc, dims->back()),
      arith::ConstantIndexOp::create(builder, loc, 0));
  return Value(arith::SelectOp::create(builder, loc, isEmpty, zeros, sum));
}

/// 6.2, step 2: the saved input.
Value BackwardEmitter::emitInput() {
  Value input = linear.getInput();
  if (!plan.isQuantized)
    input = decode(input, getActivationDtype());
  else if (const LinearQuantize *quantized =
               findQuantize(plan.quantizes, LinearRole::Input))
    input = quantize(*quantized, input);
  return plan.inputGather ? gather(*plan.inputGather, input) : input;
}

/// 6.2, step 3
Value BackwardEmitter::emitDgrad(Value gradient) {
  Value weight =
      plan.readsWeightmat ? linear.getWeightmat() : linear.getWeight();
  // B-9
  if (const LinearQuantize *quantized =
          findQuantize(plan.quantizes, LinearRole::Weight))
    weight = quantize(*quantized, weight);
  if (!plan.isQuantized)
    weight = decode(weight, getActivationDtype());
  Value dx = gemm(GemmLayout::NN, weight, gradient, plan.dgradGemm);
  dx = reduce(plan.dgradReduction, dx, plan.dgradReduced);
  if (const LinearQuantize *quantized =
          findQuantize(plan.quantizes, LinearRole::GradInput))
    return quantize(*quantized, dx);
  return toPlain(dx, plan.dgrad);
}

/// 6.2, step 4
Value BackwardEmitter::emitWgrad(Value input, Value gradient) {
  Value mainGrad = linear.getAccumulate();
  Value dw = gemm(GemmLayout::NT, input, gradient, plan.wgrad, /*bias=*/Value(),
                  plan.accumulates ? mainGrad : Value());
  // H-24: what overwrites the main gradient is in its buffer, too.
  if (plan.tiesMainGrad && !plan.accumulates)
    return bufferization::MaterializeInDestinationOp::create(
               builder, loc, mainGrad.getType(), dw, mainGrad)
        .getResult();
  return dw;
}

FailureOr<SmallVector<Value>> BackwardEmitter::run() {
  if (failed(emitAssertions(
          plan.assertions, linear.getWeight(), [&](LinearRole role) -> Value {
            if (role == LinearRole::Weight)
              return linear.getWeight();
            return role == LinearRole::Input ? linear.getInput()
                                             : linear.getDy();
          })))
    return failure();
  Value gradBias;
  if (plan.gradBias) {
    FailureOr<Value> emitted = emitBiasGrad();
    if (failed(emitted))
      return failure();
    gradBias = *emitted;
  }
  Value gradient = emitGradOutput();
  Value dgrad = plan.dgrad ? emitDgrad(gradient) : Value();
  Value wgrad = plan.wgrad ? emitWgrad(emitInput(), gradient) : Value();
  SmallVector<Value> results;
  for (Value result : {wgrad, dgrad, gradBias})
    if (result)
      results.push_back(result);
  appendAmaxes(results);
  return results;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

template <typename EmitterTy, typename OpTy>
static LogicalResult decompose(RewriterBase &rewriter, OpTy op) {
  auto plan = op.getPlan();
  if (failed(plan))
    return op.emitOpError() << "expected operands and attributes that verify";
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> results = EmitterTy(rewriter, op, *plan).run();
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}

LogicalResult te::quant::decomposeLinear(RewriterBase &rewriter,
                                         Operation *op) {
  if (auto forward = dyn_cast<LinearOp>(op))
    return decompose<ForwardEmitter>(rewriter, forward);
  return decompose<BackwardEmitter>(rewriter, cast<LinearBackwardOp>(op));
}

namespace {
struct QuantDecomposeLinearPass
    : te::quant::impl::QuantDecomposeLinearPassBase<QuantDecomposeLinearPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LinearOp, LinearBackwardOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      if (failed(decomposeLinear(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
