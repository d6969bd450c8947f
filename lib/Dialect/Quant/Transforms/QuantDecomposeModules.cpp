//===- QuantDecomposeModules.cpp - modules as linear layers and the rest --===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms and activations become linalg ops that compute in f32 and round where
// the layer has a tensor of the activation dtype (P-4); linear layers stay what
// the plan says. Ids such as 7.2 are those of docs/semantics.md.
//
//===----------------------------------------------------------------------===//

#include "RandomState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantModuleOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTDECOMPOSEMODULESPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// Arithmetic in f32
//===----------------------------------------------------------------------===//

namespace {
/// Scalars of f32 in the body of a linalg op.
class Scalars {
public:
  Scalars(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  Value constant(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value tanh(Value x) { return math::TanhOp::create(b, loc, x); }
  Value sigmoid(Value x) {
    Value one = constant(1);
    Value power = math::ExpOp::create(b, loc, sub(constant(0), x));
    return div(one, add(one, power));
  }
  /// `y` where x is above zero, else zero; a NaN stays one.
  Value ifPositive(Value x, Value y) {
    Value zero = constant(0);
    Value isBelow =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, x, zero);
    return arith::SelectOp::create(b, loc, isBelow, zero, y);
  }

  /// Between f32 and what tensors hold.
  Value extend(Value x) {
    if (x.getType().isF32())
      return x;
    return arith::ExtFOp::create(b, loc, b.getF32Type(), x);
  }
  Value round(Value x, Type dtype) {
    if (dtype.isF32())
      return x;
    return arith::TruncFOp::create(b, loc, dtype, x);
  }

  Value activate(Activation activation, Value x);
  Value differentiate(Activation activation, Value x);

private:
  OpBuilder &b;
  Location loc;
};

using ScalarFn = function_ref<Value(Scalars &, ValueRange)>;
} // namespace

/// 7.3: the function, without the product of a gated activation.
Value Scalars::activate(Activation activation, Value x) {
  switch (activation) {
  case Activation::GELU:
  case Activation::GeGLU: {
    Value inner =
        mul(x, add(constant(0.79788456), mul(constant(0.03567741), mul(x, x))));
    return mul(x, add(constant(0.5), mul(constant(0.5), tanh(inner))));
  }
  case Activation::QGELU:
  case Activation::QGeGLU:
    return mul(x, sigmoid(mul(constant(1.702), x)));
  case Activation::ReLU:
  case Activation::ReGLU:
    return ifPositive(x, x);
  case Activation::SReLU:
  case Activation::SReGLU:
    return ifPositive(x, mul(x, x));
  case Activation::SiLU:
  case Activation::SwiGLU:
    return mul(x, sigmoid(x));
  case Activation::GLU:
    return sigmoid(x);
  }
  return x;
}

/// The derivative of `activate`.
Value Scalars::differentiate(Activation activation, Value x) {
  Value one = constant(1);
  auto sigmoidSlope = [&](Value s) { return mul(s, sub(one, s)); };
  switch (activation) {
  case Activation::GELU:
  case Activation::GeGLU: {
    Value square = mul(x, x), half = constant(0.5);
    Value t = tanh(
        mul(x, add(constant(0.79788456), mul(constant(0.03567741), square))));
    Value slope =
        add(constant(0.79788456), mul(constant(3 * 0.03567741), square));
    Value outer = mul(mul(x, sub(one, mul(t, t))), slope);
    return mul(half, add(add(one, t), outer));
  }
  case Activation::QGELU:
  case Activation::QGeGLU: {
    Value scaled = mul(constant(1.702), x);
    Value s = sigmoid(scaled);
    return add(s, mul(scaled, sigmoidSlope(s)));
  }
  case Activation::ReLU:
  case Activation::ReGLU:
    return ifPositive(x, one);
  case Activation::SReLU:
  case Activation::SReGLU:
    return ifPositive(x, mul(constant(2), x));
  case Activation::SiLU:
  case Activation::SwiGLU: {
    Value s = sigmoid(x);
    return add(s, mul(x, sigmoidSlope(s)));
  }
  case Activation::GLU:
    return sigmoidSlope(sigmoid(x));
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The results of a linear layer.
struct LinearValues {
  Value output, workspace;
  Value saved[std::size(linearSlotNames)];
  SmallVector<Value> amaxes;
};

struct NormValues {
  Value output, mu, rsigma;
};

/// The operands of a linear layer, null where there is none.
struct LinearInputs {
  Value x, w, bias, workspace, skipUpdate;
  ValueRange scales;
  Value rng;
};

class ModuleEmitter {
public:
  ModuleEmitter(OpBuilder &builder, Location loc,
                std::optional<StringRef> group)
      : builder(builder), loc(loc), group(group) {}

  NormValues norm(const NormConfig &config, const NormPlan &plan, Value x,
                  Value gamma, Value beta);

  /// What `normBackward` returns; `gradBeta` is null for RMSNorm.
  struct NormGradients {
    Value x, gamma, beta;
  };
  NormGradients normBackward(const NormConfig &config,
                             const LayerNormLinearBackwardPlan &plan, Value dz,
                             Value x, Value gamma, Value mu, Value rsigma);

  Value activate(Activation activation, Value hidden, RankedTensorType type);

  /// The gradient of `hidden` from that of what `activate` gives.
  Value activateBackward(Activation activation, Value hidden, Value gradient);

  /// The sum of two tensors, rounded to `type`.
  Value sum(RankedTensorType type, Value x, Value y);

  LinearValues linear(const LinearConfig &config, const LinearForwardPlan &plan,
                      const LinearInputs &inputs);

  LinearBackwardOp linearBackward(const LinearConfig &config,
                                  const LinearBackwardPlan &plan,
                                  ValueRange operands,
                                  ArrayRef<int32_t> segments);

  /// A builtin tensor in another element type.
  Value castTo(Value value, Type dtype);

private:
  /// As rows of the last dim, and back in the shape of `like`.
  Value toRows(Value value);
  Value fromRows(Value rows, Value like);

  /// A tensor of `type`, each element computed in f32 from those that the maps
  /// of the loops over `type` read.
  Value compute(RankedTensorType type, ValueRange inputs,
                ArrayRef<AffineMap> maps, Value sizesOf, ScalarFn fn);

  /// Sums of `fn` over the last loop in f32; the maps go from (kept, summed).
  Value sumOver(ValueRange inputs, ArrayRef<AffineMap> maps, OpFoldResult kept,
                ScalarFn fn);

  AffineMap getMap(ArrayRef<unsigned> dims, unsigned numLoops = 2) {
    SmallVector<AffineExpr> exprs;
    for (unsigned dim : dims)
      exprs.push_back(builder.getAffineDimExpr(dim));
    return AffineMap::get(numLoops, 0, exprs, builder.getContext());
  }

  /// The factor of the norm: zero-centered means less one.
  static Value getFactor(Scalars &f, Value gamma, bool isZeroCentered) {
    return isZeroCentered ? f.add(gamma, f.constant(1)) : gamma;
  }

  OpBuilder &builder;
  Location loc;
  std::optional<StringRef> group;
};
} // namespace

Value ModuleEmitter::castTo(Value value, Type dtype) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == dtype)
    return value;
  return CastOp::create(builder, loc, type.clone(dtype), value);
}

static SmallVector<ReassociationIndices> getRowReassociation(int64_t rank) {
  SmallVector<ReassociationIndices> groups(2);
  groups[0] = llvm::to_vector<2>(llvm::seq<int64_t>(0, rank - 1));
  groups[1] = {rank - 1};
  return groups;
}

Value ModuleEmitter::toRows(Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (rank == 2)
    return value;
  return tensor::CollapseShapeOp::create(builder, loc, value,
                                         getRowReassociation(rank));
}

Value ModuleEmitter::fromRows(Value rows, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  if (type.getRank() == 2)
    return rows;
  Type dtype = cast<RankedTensorType>(rows.getType()).getElementType();
  return tensor::ExpandShapeOp::create(
      builder, loc, type.clone(dtype), rows,
      getRowReassociation(type.getRank()),
      tensor::getMixedSizes(builder, loc, like));
}

Value ModuleEmitter::compute(RankedTensorType type, ValueRange inputs,
                             ArrayRef<AffineMap> maps, Value sizesOf,
                             ScalarFn fn) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, sizesOf);
  sizes.resize(type.getRank());
  for (auto [size, dim] : llvm::zip_equal(sizes, type.getShape()))
    if (!ShapedType::isDynamic(dim))
      size = builder.getIndexAttr(dim);
  Value out =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, inputs, out, allMaps, loops,
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        Scalars f(nested, loc);
        SmallVector<Value> values =
            llvm::map_to_vector(elements.drop_back(), [&](Value element) {
              return f.extend(element);
            });
        Value result = f.round(fn(f, values), type.getElementType());
        linalg::YieldOp::create(nested, loc, result);
      });
  return generic.getResult(0);
}

Value ModuleEmitter::sumOver(ValueRange inputs, ArrayRef<AffineMap> maps,
                             OpFoldResult kept, ScalarFn fn) {
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef(kept),
                                        builder.getF32Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value out = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(getMap({0}));
  auto generic = linalg::GenericOp::create(
      builder, loc, out.getType(), inputs, out, allMaps,
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel,
                                    utils::IteratorType::reduction},
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        Scalars f(nested, loc);
        SmallVector<Value> values =
            llvm::map_to_vector(elements.drop_back(), [&](Value element) {
              return f.extend(element);
            });
        Value result = f.add(elements.back(), fn(f, values));
        linalg::YieldOp::create(nested, loc, result);
      });
  return generic.getResult(0);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// 7.2: the mean and the variance are of the rows in the activation dtype.
NormValues ModuleEmitter::norm(const NormConfig &config, const NormPlan &plan,
                               Value x, Value gamma, Value beta) {
  Value source = castTo(x, plan.output.getElementType());
  Value rows = toRows(source);
  OpFoldResult numRows = tensor::getMixedSize(builder, loc, rows, 0);
  double width = plan.output.getShape().back();
  AffineMap element = getMap({0, 1}), row = getMap({0}), column = getMap({1});
  AffineMap statistic = getMap({0}, 1);
  auto toMean = [&](Scalars &f, ValueRange in) {
    return f.div(in[0], f.constant(width));
  };

  NormValues result;
  SmallVector<Value> centered = {rows};
  SmallVector<AffineMap> centeredMaps = {element};
  if (plan.mu) {
    Value total = sumOver(rows, element, numRows,
                          [](Scalars &, ValueRange in) { return in[0]; });
    result.mu = compute(plan.mu, total, statistic, total, toMean);
    centered.push_back(result.mu);
    centeredMaps.push_back(row);
  }
  auto center = [&](Scalars &f, ValueRange in) {
    return plan.mu ? f.sub(in[0], in[1]) : in[0];
  };
  Value squares =
      sumOver(centered, centeredMaps, numRows, [&](Scalars &f, ValueRange in) {
        Value distance = center(f, in);
        return f.mul(distance, distance);
      });
  result.rsigma = compute(
      plan.rsigma, squares, statistic, squares, [&](Scalars &f, ValueRange in) {
        Value variance = f.add(toMean(f, in), f.constant(config.epsilon));
        return f.div(f.constant(1), f.sqrt(variance));
      });

  SmallVector<Value> inputs = centered;
  SmallVector<AffineMap> maps = centeredMaps;
  unsigned next = inputs.size();
  llvm::append_values(inputs, result.rsigma, gamma);
  maps.append({row, column});
  if (beta) {
    inputs.push_back(beta);
    maps.push_back(column);
  }
  auto rowsType = cast<RankedTensorType>(rows.getType());
  Value normalized =
      compute(rowsType, inputs, maps, rows, [&](Scalars &f, ValueRange in) {
        Value factor = getFactor(f, in[next + 1], config.zeroCenteredGamma);
        Value scaled = f.mul(f.mul(center(f, in), in[next]), factor);
        return beta ? f.add(scaled, in[next + 2]) : scaled;
      });
  result.output = fromRows(normalized, source);
  return result;
}

ModuleEmitter::NormGradients
ModuleEmitter::normBackward(const NormConfig &config,
                            const LayerNormLinearBackwardPlan &plan, Value dz,
                            Value x, Value gamma, Value mu, Value rsigma) {
  Value source = castTo(x, plan.dgrad.getElementType());
  Value rows = toRows(source);
  Value gradient = toRows(dz);
  OpFoldResult numRows = tensor::getMixedSize(builder, loc, rows, 0);
  OpFoldResult numColumns = tensor::getMixedSize(builder, loc, rows, 1);
  double width = plan.dgrad.getShape().back();

  // Inputs of every step: gradient, x, 1 / deviation, factor, and the mean.
  SmallVector<Value> inputs = {gradient, rows, rsigma, gamma};
  if (mu)
    inputs.push_back(mu);
  auto getMaps = [&](unsigned row, unsigned column) {
    SmallVector<AffineMap> maps = {getMap({row, column}), getMap({row, column}),
                                   getMap({row}), getMap({column})};
    if (mu)
      maps.push_back(getMap({row}));
    return maps;
  };
  auto normalize = [&](Scalars &f, ValueRange in) {
    return f.mul(mu ? f.sub(in[1], in[4]) : in[1], in[2]);
  };
  auto scale = [&](Scalars &f, ValueRange in) {
    return f.mul(in[0], getFactor(f, in[3], config.zeroCenteredGamma));
  };
  auto along = [&](Scalars &f, ValueRange in) {
    return f.mul(scale(f, in), normalize(f, in));
  };
  SmallVector<AffineMap> byRow = getMaps(0, 1), byColumn = getMaps(1, 0);
  SmallVector<Value> all = inputs;
  SmallVector<AffineMap> allMaps = byRow;
  unsigned next = all.size();
  all.push_back(sumOver(inputs, byRow, numRows, along));
  allMaps.push_back(getMap({0}));
  if (mu) {
    all.push_back(sumOver(inputs, byRow, numRows, scale));
    allMaps.push_back(getMap({0}));
  }
  Value dx = compute(cast<RankedTensorType>(rows.getType()), all, allMaps, rows,
                     [&](Scalars &f, ValueRange in) {
                       Value count = f.constant(width);
                       Value inside =
                           f.sub(scale(f, in), f.mul(normalize(f, in),
                                                     f.div(in[next], count)));
                       if (mu)
                         inside = f.sub(inside, f.div(in[next + 1], count));
                       return f.mul(in[2], inside);
                     });

  NormGradients result;
  result.x = fromRows(dx, source);
  result.gamma = castTo(sumOver(inputs, byColumn, numColumns,
                                [&](Scalars &f, ValueRange in) {
                                  return f.mul(in[0], normalize(f, in));
                                }),
                        plan.gradGamma.getElementType());
  if (plan.gradBeta)
    result.beta =
        castTo(sumOver(gradient, getMap({1, 0}), numColumns,
                       [](Scalars &, ValueRange in) { return in[0]; }),
               plan.gradBeta.getElementType());
  return result;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Value ModuleEmitter::activate(Activation activation, Value hidden,
                              RankedTensorType type) {
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  if (!isGated(activation))
    return compute(type, hidden, identity, hidden,
                   [&](Scalars &f, ValueRange in) {
                     return f.activate(activation, in[0]);
                   });
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, hidden);
  sizes.back() = builder.getIndexAttr(type.getShape().back());
  auto getHalf = [&](int64_t offset) -> Value {
    offsets.back() = builder.getIndexAttr(offset);
    return tensor::ExtractSliceOp::create(builder, loc, type, hidden, offsets,
                                          sizes, strides);
  };
  Value first = getHalf(0);
  Value second = getHalf(type.getShape().back());
  return compute(type, {first, second}, {identity, identity}, first,
                 [&](Scalars &f, ValueRange in) {
                   return f.mul(f.activate(activation, in[0]), in[1]);
                 });
}

Value ModuleEmitter::activateBackward(Activation activation, Value hidden,
                                      Value gradient) {
  auto type = cast<RankedTensorType>(gradient.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  if (!isGated(activation))
    return compute(type, {hidden, gradient}, {identity, identity}, hidden,
                   [&](Scalars &f, ValueRange in) {
                     return f.mul(f.differentiate(activation, in[0]), in[1]);
                   });
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> secondOffsets = offsets;
  secondOffsets.back() = builder.getIndexAttr(type.getShape().back());
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> whole = tensor::getMixedSizes(builder, loc, hidden);
  SmallVector<OpFoldResult> sizes = whole;
  sizes.back() = builder.getIndexAttr(type.getShape().back());
  Value first = tensor::ExtractSliceOp::create(builder, loc, type, hidden,
                                               offsets, sizes, strides);
  Value second = tensor::ExtractSliceOp::create(builder, loc, type, hidden,
                                                secondOffsets, sizes, strides);
  SmallVector<AffineMap> maps(3, identity);
  Value dFirst = compute(
      type, {first, second, gradient}, maps, first,
      [&](Scalars &f, ValueRange in) {
        return f.mul(f.mul(f.differentiate(activation, in[0]), in[1]), in[2]);
      });
  Value dSecond = compute(type, {first, gradient}, ArrayRef(maps).drop_back(),
                          first, [&](Scalars &f, ValueRange in) {
                            return f.mul(f.activate(activation, in[0]), in[1]);
                          });
  Value out =
      tensor::EmptyOp::create(builder, loc, whole, type.getElementType());
  out = tensor::InsertSliceOp::create(builder, loc, dFirst, out, offsets, sizes,
                                      strides);
  return tensor::InsertSliceOp::create(builder, loc, dSecond, out,
                                       secondOffsets, sizes, strides);
}

Value ModuleEmitter::sum(RankedTensorType type, Value x, Value y) {
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return compute(type, {x, y}, {identity, identity}, x,
                 [](Scalars &f, ValueRange in) { return f.add(in[0], in[1]); });
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

/// Sets what differs from an op without attributes.
template <typename PropertiesTy>
static void setAttributes(Builder &builder, PropertiesTy &properties,
                          const LinearConfig &config,
                          std::optional<StringRef> group) {
  MLIRContext *context = builder.getContext();
  LinearConfig defaults;
  auto setFlag = [&](BoolAttr &attribute, bool value, bool standard) {
    if (value != standard)
      attribute = builder.getBoolAttr(value);
  };
  properties.input_quantizer = config.inputQuantizer;
  properties.weight_quantizer = config.weightQuantizer;
  properties.output_quantizer = config.outputQuantizer;
  properties.grad_input_quantizer = config.gradInputQuantizer;
  properties.grad_output_quantizer = config.gradOutputQuantizer;
  if (config.activationDtype)
    properties.activation_dtype = TypeAttr::get(config.activationDtype);
  setFlag(properties.is_grad_enabled, config.isGradEnabled,
          defaults.isGradEnabled);
  setFlag(properties.input_requires_grad, config.inputRequiresGrad,
          defaults.inputRequiresGrad);
  setFlag(properties.weight_requires_grad, config.weightRequiresGrad,
          defaults.weightRequiresGrad);
  setFlag(properties.bias_requires_grad, config.biasRequiresGrad,
          defaults.biasRequiresGrad);
  setFlag(properties.save_original_input, config.saveOriginalInput,
          defaults.saveOriginalInput);
  setFlag(properties.cache_weight, config.cacheWeight, defaults.cacheWeight);
  setFlag(properties.sequence_parallel, config.sequenceParallel,
          defaults.sequenceParallel);
  setFlag(properties.fsdp2, config.fsdp2, defaults.fsdp2);
  setFlag(properties.recipe_is_custom, config.recipeIsCustom,
          defaults.recipeIsCustom);
  if (config.backwardOverride != defaults.backwardOverride)
    properties.backward_override =
        BackwardOverrideAttr::get(context, config.backwardOverride);
  if (config.microbatch != defaults.microbatch)
    properties.microbatch = MicrobatchAttr::get(context, config.microbatch);
  if (config.parallelMode != defaults.parallelMode)
    properties.parallel_mode =
        ParallelModeAttr::get(context, config.parallelMode);
  if (config.activationRecompute != defaults.activationRecompute)
    properties.activation_recompute =
        ActivationRecomputeAttr::get(context, config.activationRecompute);
  if (config.tpSize != defaults.tpSize)
    properties.tp_size = builder.getI64IntegerAttr(config.tpSize);
  if (group)
    properties.tp_group = builder.getStringAttr(*group);
}

LinearValues ModuleEmitter::linear(const LinearConfig &config,
                                   const LinearForwardPlan &plan,
                                   const LinearInputs &inputs) {
  OperationState state(loc, LinearOp::getOperationName());
  auto &properties = state.getOrAddProperties<LinearOp::Properties>();
  setAttributes(builder, properties, config, group);
  SmallVector<int32_t> segments;
  for (Value operand :
       {inputs.x, inputs.w, inputs.bias, inputs.workspace, inputs.skipUpdate}) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      state.addOperands(operand);
  }
  segments.push_back(inputs.scales.size());
  state.addOperands(inputs.scales);
  segments.push_back(plan.takesRandomState ? 1 : 0);
  if (plan.takesRandomState)
    state.addOperands(inputs.rng);
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  state.addTypes(types);
  Operation *op = builder.create(state);

  LinearValues values;
  unsigned next = 0;
  values.output = op->getResult(next++);
  if (plan.getWorkspaceResult())
    values.workspace = op->getResult(next++);
  for (auto [index, slot] : llvm::enumerate(plan.saved))
    if (slot.kind == SavedSlot::Value)
      values.saved[index] = op->getResult(next++);
  llvm::append_range(values.amaxes, op->getResults().drop_front(next));
  return values;
}

LinearBackwardOp ModuleEmitter::linearBackward(const LinearConfig &config,
                                               const LinearBackwardPlan &plan,
                                               ValueRange operands,
                                               ArrayRef<int32_t> segments) {
  OperationState state(loc, LinearBackwardOp::getOperationName());
  auto &properties = state.getOrAddProperties<LinearBackwardOp::Properties>();
  setAttributes(builder, properties, config, group);
  if (config.fuseWgradAccumulation)
    properties.fuse_wgrad_accumulation = builder.getBoolAttr(true);
  state.addOperands(operands);
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  SmallVector<Type> types;
  SmallVector<std::string> names;
  plan.getResults(types, names);
  state.addTypes(types);
  return cast<LinearBackwardOp>(builder.create(state));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

template <typename OpTy>
static NormConfig getNormConfig(OpTy op) {
  NormConfig config;
  config.normalization = op.getNormalization();
  config.epsilon = op.getEps().convertToDouble();
  config.zeroCenteredGamma = op.getZeroCenteredGamma();
  config.returnsOutput = op.getReturnLayernormOutput();
  return config;
}

static void append(SmallVectorImpl<Value> &results, Value value) {
  if (value)
    results.push_back(value);
}

/// 7.2
static SmallVector<Value> emit(OpBuilder &builder, LayerNormLinearOp op,
                               const LayerNormLinearPlan &plan) {
  ModuleEmitter emitter(builder, op.getLoc(), op.getTpGroup());
  NormValues norm = emitter.norm(getNormConfig(op), plan.norm, op.getX(),
                                 op.getGamma(), op.getBeta());
  LinearValues linear =
      emitter.linear(plan.config, plan.linear,
                     {norm.output, op.getW(), op.getBias(), op.getWorkspace(),
                      op.getSkipUpdate(), op.getScale(), op.getRng()});
  SmallVector<Value> results = {linear.output};
  append(results, linear.workspace);
  if (plan.returnsNorm)
    results.push_back(norm.output);
  if (!plan.saved.empty()) {
    Value slots[] = {
        Value(),
        linear.saved[WeightmatSlot],
        Value(),
        Value(),
        Value(),
        linear.saved[InputSlot] ? linear.saved[InputSlot] : norm.output,
        norm.mu,
        norm.rsigma};
    for (auto [slot, value] : llvm::zip_equal(plan.saved, slots))
      if (slot.kind == SavedSlot::Value)
        results.push_back(value);
  }
  llvm::append_range(results, linear.amaxes);
  return results;
}

static SmallVector<Value> emit(OpBuilder &builder, LayerNormLinearBackwardOp op,
                               const LayerNormLinearBackwardPlan &plan) {
  ModuleEmitter emitter(builder, op.getLoc(), op.getTpGroup());
  SmallVector<Value> operands = {op.getDy()};
  SmallVector<int32_t> segments = {1};
  for (Value operand : {Value(op.getNormOutput()), Value(op.getWeightmat()),
                        Value(op.getWeight()), Value(op.getBias()),
                        Value(op.getAccumulate())}) {
    segments.push_back(operand ? 1 : 0);
    append(operands, operand);
  }
  llvm::append_range(operands, op.getScale());
  segments.push_back(op.getScale().size());
  segments.push_back(op.getRng() ? 1 : 0);
  append(operands, op.getRng());
  LinearBackwardOp linear =
      emitter.linearBackward(plan.config, plan.linear, operands, segments);

  unsigned next = 0;
  SmallVector<Value> results;
  if (plan.linear.wgrad)
    results.push_back(linear->getResult(next++));
  Value dz = linear->getResult(next++);
  Value gradBias;
  if (plan.linear.gradBias)
    gradBias = linear->getResult(next++);
  if (op.getGradNormOutput())
    dz = emitter.sum(plan.dgrad, dz, op.getGradNormOutput());
  ModuleEmitter::NormGradients norm =
      emitter.normBackward(getNormConfig(op), plan, dz, op.getInput(),
                           op.getGamma(), op.getMu(), op.getRsigma());
  results.push_back(norm.x);
  append(results, gradBias);
  results.push_back(norm.gamma);
  append(results, norm.beta);
  llvm::append_range(results, linear->getResults().drop_front(next));
  return results;
}

/// 7.3
static SmallVector<Value> emit(OpBuilder &builder, LayerNormMLPOp op,
                               const LayerNormMLPPlan &plan) {
  Location loc = op.getLoc();
  ModuleEmitter emitter(builder, loc, op.getTpGroup());
  NormConfig config = getNormConfig(op);
  NormValues norm =
      emitter.norm(config, plan.norm, op.getX(), op.getGamma(), op.getBeta());
  unsigned numScales = plan.fc1.scaleRoles.size();
  LinearValues fc1 = emitter.linear(
      plan.config1, plan.fc1,
      {norm.output, op.getW1(), op.getBias1(), op.getWorkspace1(),
       op.getSkipUpdate(), op.getScale().take_front(numScales), op.getRng()});
  Value activated =
      emitter.activate(op.getActivation(), fc1.output, plan.activated);
  Value rng = op.getRng();
  if (plan.fc2.takesRandomState)
    rng = shiftRandomState(builder, loc, rng, randomPartsPerLinear);
  LinearValues fc2 = emitter.linear(plan.config2, plan.fc2,
                                    {activated, op.getW2(), op.getBias2(),
                                     op.getWorkspace2(), op.getSkipUpdate(),
                                     op.getScale().drop_front(numScales), rng});

  SmallVector<Value> results = {fc2.output};
  append(results, fc1.workspace);
  append(results, fc2.workspace);
  if (config.returnsOutput)
    results.push_back(norm.output);
  if (plan.saves) {
    auto appendInput = [&](const SavedSlot &slot, Value saved, Value input,
                           bool isResult) {
      if (slot.kind == SavedSlot::Value)
        results.push_back(saved);
      else if (slot.kind == SavedSlot::Alias && !isResult)
        results.push_back(input);
    };
    appendInput(plan.fc1.saved[InputSlot], fc1.saved[InputSlot], norm.output,
                config.returnsOutput);
    append(results, fc1.saved[WeightmatSlot]);
    results.push_back(fc1.output);
    appendInput(plan.fc2.saved[InputSlot], fc2.saved[InputSlot], activated,
                /*isResult=*/false);
    append(results, fc2.saved[WeightmatSlot]);
    append(results, norm.mu);
    results.push_back(norm.rsigma);
  }
  llvm::append_range(results, fc1.amaxes);
  llvm::append_range(results, fc2.amaxes);
  return results;
}

/// The operands of a `linear_backward` by group, null where there is none.
static LinearBackwardOp emitBackward(ModuleEmitter &emitter,
                                     const LinearConfig &config,
                                     const LinearBackwardPlan &plan,
                                     ArrayRef<Value> groups, ValueRange scales,
                                     Value rng) {
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  for (Value operand : groups) {
    segments.push_back(operand ? 1 : 0);
    append(operands, operand);
  }
  llvm::append_range(operands, scales);
  segments.push_back(scales.size());
  segments.push_back(plan.takesRandomState ? 1 : 0);
  if (plan.takesRandomState)
    operands.push_back(rng);
  return emitter.linearBackward(config, plan, operands, segments);
}

static SmallVector<Value> emit(OpBuilder &builder, LayerNormMLPBackwardOp op,
                               const LayerNormMLPBackwardPlan &plan) {
  Location loc = op.getLoc();
  ModuleEmitter emitter(builder, loc, op.getTpGroup());
  unsigned numScales = plan.fc1.linear.scaleRoles.size();
  Value rng = op.getRng();
  if (plan.fc2.takesRandomState)
    rng = shiftRandomState(builder, loc, rng, randomPartsPerLinear);
  LinearBackwardOp fc2 =
      emitBackward(emitter, plan.config2, plan.fc2,
                   {op.getDy(), op.getActivated(), op.getWeightmat2(),
                    op.getWeight2(), op.getBias2(), op.getAccumulate2()},
                   op.getScale().drop_front(numScales), rng);
  auto take = [](LinearBackwardOp linear, unsigned &next, Type type) {
    return type ? Value(linear->getResult(next++)) : Value();
  };
  unsigned next2 = 0;
  Value wgrad2 = take(fc2, next2, plan.fc2.wgrad);
  Value gradient = take(fc2, next2, plan.fc2.dgrad);
  Value gradBias2 = take(fc2, next2, plan.fc2.gradBias);
  Value hidden =
      emitter.activateBackward(op.getActivation(), op.getHidden(), gradient);
  const LinearBackwardPlan &plan1 = plan.fc1.linear;
  LinearBackwardOp fc1 =
      emitBackward(emitter, plan.fc1.config, plan1,
                   {hidden, op.getNormOutput(), op.getWeightmat1(),
                    op.getWeight1(), op.getBias1(), op.getAccumulate1()},
                   op.getScale().take_front(numScales), op.getRng());
  unsigned next1 = 0;
  Value wgrad1 = take(fc1, next1, plan1.wgrad);
  Value dz = take(fc1, next1, plan1.dgrad);
  Value gradBias1 = take(fc1, next1, plan1.gradBias);
  if (op.getGradNormOutput())
    dz = emitter.sum(plan.fc1.dgrad, dz, op.getGradNormOutput());
  ModuleEmitter::NormGradients norm =
      emitter.normBackward(getNormConfig(op), plan.fc1, dz, op.getInput(),
                           op.getGamma(), op.getMu(), op.getRsigma());
  SmallVector<Value> results;
  for (Value result :
       {wgrad1, wgrad2, norm.x, gradBias1, gradBias2, norm.gamma, norm.beta})
    append(results, result);
  llvm::append_range(results, fc1->getResults().drop_front(next1));
  llvm::append_range(results, fc2->getResults().drop_front(next2));
  return results;
}

/// 7.4: the rows of each expert, checked to be those of the input where they
/// are not known.
template <typename OpTy>
static SmallVector<OpFoldResult> emitSplits(OpBuilder &builder, OpTy op,
                                            Value x, bool checksRows) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> splits;
  auto check = [&](arith::CmpIPredicate predicate, Value left, Value right,
                   StringRef message) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, left, right);
    CheckOp::create(builder, loc, holds, message);
  };
  auto toValue = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  };
  static constexpr llvm::StringLiteral wrongSum =
      "expected the splits to sum to the rows of the input";
  Value left;
  if (checksRows)
    left = toValue(tensor::getMixedSize(builder, loc, x, 0));
  for (auto index : llvm::seq<int64_t>(0, op.getWeights().size())) {
    if (std::optional<ArrayRef<int64_t>> known = op.getMSplits()) {
      splits.push_back(builder.getIndexAttr((*known)[index]));
    } else {
      Value position = arith::ConstantIndexOp::create(builder, loc, index);
      Value rows =
          tensor::ExtractOp::create(builder, loc, op.getSplits(), position);
      rows = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        rows);
      splits.push_back(rows);
    }
    if (!checksRows)
      continue;
    // Unsigned: what is negative is too large, too.
    Value rows = toValue(splits.back());
    check(arith::CmpIPredicate::ule, rows, left, wrongSum);
    left = arith::SubIOp::create(builder, loc, left, rows);
  }
  if (checksRows)
    check(arith::CmpIPredicate::eq, left,
          arith::ConstantIndexOp::create(builder, loc, 0), wrongSum);
  return splits;
}

/// The row after those from `first`.
static OpFoldResult getEnd(OpBuilder &builder, Location loc, OpFoldResult first,
                           OpFoldResult rows) {
  std::optional<int64_t> begin = getConstantIntValue(first);
  std::optional<int64_t> count = getConstantIntValue(rows);
  if (begin && count)
    return builder.getIndexAttr(*begin + *count);
  return arith::AddIOp::create(
             builder, loc, getValueOrCreateConstantIndexOp(builder, loc, first),
             getValueOrCreateConstantIndexOp(builder, loc, rows))
      .getResult();
}

static Value takeRows(OpBuilder &builder, Location loc, RankedTensorType type,
                      Value whole, OpFoldResult first, OpFoldResult rows) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  OpFoldResult width = tensor::getMixedSize(builder, loc, whole, 1);
  // A slice may not begin at the end, where an empty one can be.
  if (isZeroInteger(rows))
    return tensor::EmptyOp::create(builder, loc, {rows, width},
                                   type.getElementType());
  return tensor::ExtractSliceOp::create(builder, loc, type, whole,
                                        {first, zero}, {rows, width},
                                        {one, one});
}

/// Puts rows into `whole`, made with the rows of `like` where it is null.
static Value putRows(OpBuilder &builder, Location loc, Value part, Value whole,
                     Value like, OpFoldResult first, OpFoldResult rows) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  OpFoldResult width = tensor::getMixedSize(builder, loc, part, 1);
  if (!whole) {
    SmallVector<OpFoldResult> sizes = {
        tensor::getMixedSize(builder, loc, like, 0), width};
    whole = tensor::EmptyOp::create(
        builder, loc, sizes,
        cast<RankedTensorType>(part.getType()).getElementType());
  }
  if (isZeroInteger(rows))
    return whole;
  return tensor::InsertSliceOp::create(builder, loc, part, whole, {first, zero},
                                       {rows, width}, {one, one});
}

static SmallVector<Value> emit(OpBuilder &builder, GroupedLinearOp op,
                               const GroupedLinearPlan &plan) {
  Location loc = op.getLoc();
  ModuleEmitter emitter(builder, loc, op.getTpGroup());
  Value x = op.getX();
  SmallVector<OpFoldResult> splits =
      emitSplits(builder, op, x, plan.checksRows);
  OpFoldResult first = builder.getIndexAttr(0);
  ValueRange scales = op.getScale();
  SmallVector<LinearValues> experts;
  Value output;
  for (auto [index, expert] : llvm::enumerate(plan.experts)) {
    unsigned numScales = expert.scaleRoles.size();
    LinearInputs inputs{
        takeRows(builder, loc, plan.inputs[index], x, first, splits[index]),
        op.getWeights()[index],
        op.getBias().empty() ? Value() : op.getBias()[index],
        op.getWorkspace().empty() ? Value() : op.getWorkspace()[index],
        op.getSkipUpdate(),
        scales.take_front(numScales),
        op.getRng()};
    scales = scales.drop_front(numScales);
    if (expert.takesRandomState)
      inputs.rng = shiftRandomState(builder, loc, inputs.rng,
                                    randomPartsPerLinear * index);
    LinearValues values = emitter.linear(plan.config, expert, inputs);
    output =
        putRows(builder, loc, values.output, output, x, first, splits[index]);
    first = getEnd(builder, loc, first, splits[index]);
    experts.push_back(std::move(values));
  }
  SmallVector<Value> results = {output};
  for (const LinearValues &expert : experts)
    append(results, expert.workspace);
  for (LinearSlot slot : {InputSlot, WeightmatSlot})
    for (const LinearValues &expert : experts)
      append(results, expert.saved[slot]);
  for (const LinearValues &expert : experts)
    llvm::append_range(results, expert.amaxes);
  return results;
}

static SmallVector<Value> emit(OpBuilder &builder, GroupedLinearBackwardOp op,
                               const GroupedLinearBackwardPlan &plan) {
  Location loc = op.getLoc();
  ModuleEmitter emitter(builder, loc, op.getTpGroup());
  Value dy = op.getDy();
  SmallVector<OpFoldResult> splits =
      emitSplits(builder, op, dy, plan.checksRows);
  OpFoldResult first = builder.getIndexAttr(0);
  ValueRange scales = op.getScale();
  SmallVector<Value> wgrads, gradBiases, amaxes;
  Value dgrad;
  for (auto [index, expert] : llvm::enumerate(plan.experts)) {
    auto get = [&, index = index](ValueRange values) {
      return values.empty() ? Value() : values[index];
    };
    Value input;
    if (plan.slicedInputs.empty())
      input = get(op.getInput());
    else
      input = takeRows(builder, loc, plan.slicedInputs[index],
                       op.getInput().front(), first, splits[index]);
    SmallVector<Value> operands = {takeRows(builder, loc, plan.gradients[index],
                                            dy, first, splits[index])};
    SmallVector<int32_t> segments = {1};
    for (Value operand :
         {input, get(op.getWeightmat()), Value(op.getWeights()[index]),
          get(op.getBias()), get(op.getAccumulate())}) {
      segments.push_back(operand ? 1 : 0);
      append(operands, operand);
    }
    unsigned numScales = expert.scaleRoles.size();
    llvm::append_range(operands, scales.take_front(numScales));
    scales = scales.drop_front(numScales);
    segments.push_back(numScales);
    segments.push_back(expert.takesRandomState ? 1 : 0);
    if (expert.takesRandomState)
      operands.push_back(shiftRandomState(builder, loc, op.getRng(),
                                          randomPartsPerLinear * index));
    LinearBackwardOp linear =
        emitter.linearBackward(plan.config, expert, operands, segments);
    unsigned next = 0;
    if (expert.wgrad)
      wgrads.push_back(linear->getResult(next++));
    if (expert.dgrad)
      dgrad = putRows(builder, loc, linear->getResult(next++), dgrad, dy, first,
                      splits[index]);
    if (expert.gradBias)
      gradBiases.push_back(linear->getResult(next++));
    llvm::append_range(amaxes, linear->getResults().drop_front(next));
    first = getEnd(builder, loc, first, splits[index]);
  }
  SmallVector<Value> results = std::move(wgrads);
  append(results, dgrad);
  llvm::append_range(results, gradBiases);
  llvm::append_range(results, amaxes);
  return results;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult decompose(RewriterBase &rewriter, OpTy op) {
  auto plan = op.getPlan();
  if (failed(plan))
    return op.emitOpError() << "expected operands and attributes that verify";
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(op, emit(rewriter, op, *plan));
  return success();
}

namespace {
struct QuantDecomposeModulesPass
    : te::quant::impl::QuantDecomposeModulesPassBase<
          QuantDecomposeModulesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    WalkResult result = getOperation().walk([&](Operation *op) {
      LogicalResult done =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case<LayerNormLinearOp, LayerNormLinearBackwardOp,
                    LayerNormMLPOp, LayerNormMLPBackwardOp, GroupedLinearOp,
                    GroupedLinearBackwardOp>(
                  [&](auto op) { return decompose(rewriter, op); })
              .Default([](Operation *) { return success(); });
      return failed(done) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
