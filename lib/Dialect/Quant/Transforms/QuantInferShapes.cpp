//===- QuantInferShapes.cpp - make dynamic dims static --------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimistic data-flow analysis finds for each value a type that is at least
// as static as its own; a rewrite then gives the values these types. Both ask
// `inferTypes` what an op makes of its operands. Where an op cannot live with
// what is known, it keeps its types between casts, so that the rewrite is right
// whatever the ops are.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTINFERSHAPESPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// Types with a shape
//===----------------------------------------------------------------------===//

static bool isTensor(Type type) {
  return isa<RankedTensorType, TensorSpecType>(type);
}

/// The shape of a ranked tensor or TensorSpec.
static ArrayRef<int64_t> getShape(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getShape();
  return cast<RankedTensorType>(type).getShape();
}

/// The tensor type with another shape; null where its layout would overflow.
static Type withShape(Type type, ArrayRef<int64_t> shape) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(shape, tensor.getElementType(),
                                 tensor.getEncoding());
  auto spec = cast<TensorSpecType>(type);
  MLIRContext *context = type.getContext();
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  return TensorSpecType::getChecked(
      [&] { return emitError(UnknownLoc::get(context)); }, context, shape,
      spec.getNominalDtype(), spec.getQuantizer(), spec.getRequiresGrad(),
      spec.getDevice());
}

/// Adds to `shape` what `other` knows. Fails where the two contradict.
static LogicalResult mergeInto(SmallVectorImpl<int64_t> &shape,
                               ArrayRef<int64_t> other) {
  if (failed(verifyCompatibleShape(shape, other)))
    return failure();
  for (auto [dim, otherDim] : llvm::zip_equal(shape, other))
    if (ShapedType::isDynamic(dim))
      dim = otherDim;
  return success();
}

/// `type` with what `shape` knows; null where the two contradict.
static Type merge(Type type, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> merged(getShape(type));
  return succeeded(mergeInto(merged, shape)) ? withShape(type, merged) : Type();
}

/// The type that knows what both know; `a` where they differ in more than dims.
static Type join(Type a, Type b) {
  if (a == b || !isTensor(a) || !isTensor(b) ||
      getShape(a).size() != getShape(b).size())
    return a;
  SmallVector<int64_t> shape;
  for (auto [dim, otherDim] : llvm::zip_equal(getShape(a), getShape(b)))
    shape.push_back(dim == otherDim ? dim : ShapedType::kDynamic);
  return withShape(a, shape);
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

namespace {
/// What is known about a value.
struct Fact {
  /// Its type or a more static one; null as long as nothing reaches the value.
  Type type;
  /// The number that an integer or index is; null where it is not known.
  IntegerAttr constant;

  bool operator==(const Fact &other) const {
    return type == other.type && constant == other.constant;
  }

  static Fact join(const Fact &a, const Fact &b) {
    if (!a.type)
      return b;
    if (!b.type)
      return a;
    return {::join(a.type, b.type),
            a.constant == b.constant ? a.constant : IntegerAttr()};
  }

  void print(raw_ostream &os) const {
    os << type;
    if (constant)
      os << " = " << constant;
  }
};

/// What `inferTypes` says about an op.
struct Inferred {
  /// The types that the op takes its operands in.
  SmallVector<Type> operands;
  SmallVector<Type> results;
  /// Whether it must be made anew, as sizes become attributes.
  bool isRebuilt = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops whose sizes are operands
//===----------------------------------------------------------------------===//

/// Replaces sizes that are known operands of `op` by attributes.
static SmallVector<OpFoldResult> foldSizes(Operation *op,
                                           ArrayRef<OpFoldResult> sizes,
                                           ValueRange operands,
                                           ArrayRef<Fact> facts) {
  SmallVector<OpFoldResult> folded(sizes);
  for (OpFoldResult &size : folded) {
    auto value = dyn_cast<Value>(size);
    if (!value)
      continue;
    unsigned position = llvm::find(op->getOperands(), value) -
                        op->getOperands().begin();
    IntegerAttr constant = facts[position].constant;
    if (constant && constant.getInt() >= 0)
      size = Builder(op->getContext()).getIndexAttr(constant.getInt());
    else
      size = operands[position];
  }
  return folded;
}

static SmallVector<int64_t> getStaticShape(ArrayRef<OpFoldResult> sizes) {
  return llvm::map_to_vector(sizes, [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  });
}

static Operation *rebuild(OpBuilder &builder, tensor::EmptyOp op,
                          ValueRange operands, ArrayRef<Fact> facts) {
  return tensor::EmptyOp::create(
      builder, op.getLoc(),
      foldSizes(op, op.getMixedSizes(), operands, facts),
      op.getType().getElementType(), op.getType().getEncoding());
}

static Operation *rebuild(OpBuilder &builder, EmptyOp op, ValueRange operands,
                          ArrayRef<Fact> facts) {
  SmallVector<int64_t> shape(op.getResult().getType().getShape());
  SmallVector<Value> sizes;
  unsigned position = 0;
  for (int64_t &dim : shape) {
    if (!ShapedType::isDynamic(dim))
      continue;
    IntegerAttr constant = facts[position].constant;
    if (constant && constant.getInt() >= 0)
      dim = constant.getInt();
    else
      sizes.push_back(operands[position]);
    ++position;
  }
  Type type = withShape(op.getResult().getType(), shape);
  if (!type)
    return nullptr;
  return EmptyOp::create(builder, op.getLoc(), type, sizes);
}

static Operation *rebuild(OpBuilder &builder, tensor::ExtractSliceOp op,
                          ValueRange operands, ArrayRef<Fact> facts) {
  auto fold = [&](ArrayRef<OpFoldResult> sizes) {
    return foldSizes(op, sizes, operands, facts);
  };
  SmallVector<OpFoldResult> sizes = fold(op.getMixedSizes());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(getStaticShape(sizes)))
    if (!dropped.test(dim))
      shape.push_back(size);
  auto type = cast_if_present<RankedTensorType>(merge(op.getType(), shape));
  if (!type)
    return nullptr;
  return tensor::ExtractSliceOp::create(
      builder, op.getLoc(), type, operands.front(),
      fold(op.getMixedOffsets()), sizes, fold(op.getMixedStrides()));
}

/// The size of the one open dim of a group, from the source's dim.
static std::optional<int64_t> getOpenSize(int64_t sourceSize,
                                          ArrayRef<int64_t> group) {
  int64_t known = 1;
  for (int64_t size : group)
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(known, size, known))
      return std::nullopt;
  if (ShapedType::isDynamic(sourceSize) || known == 0 ||
      sourceSize % known != 0 ||
      llvm::count_if(group, ShapedType::isDynamic) != 1)
    return std::nullopt;
  return sourceSize / known;
}

static Operation *rebuild(OpBuilder &builder, tensor::ExpandShapeOp op,
                          ValueRange operands, ArrayRef<Fact> facts) {
  SmallVector<OpFoldResult> sizes =
      foldSizes(op, op.getMixedOutputShape(), operands, facts);
  SmallVector<int64_t> shape = getStaticShape(sizes);
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
  for (auto [sourceSize, group] :
       llvm::zip_equal(getShape(facts.front().type), groups)) {
    SmallVector<int64_t> groupShape =
        llvm::map_to_vector(group, [&](int64_t dim) { return shape[dim]; });
    std::optional<int64_t> open = getOpenSize(sourceSize, groupShape);
    if (!open)
      continue;
    for (int64_t dim : group)
      if (ShapedType::isDynamic(shape[dim])) {
        shape[dim] = *open;
        sizes[dim] = builder.getIndexAttr(*open);
      }
  }
  Type type = withShape(op.getType(), shape);
  return tensor::ExpandShapeOp::create(builder, op.getLoc(), type,
                                       operands.front(), groups, sizes);
}

static Operation *rebuild(OpBuilder &builder, tensor::InsertSliceOp op,
                          ValueRange operands, ArrayRef<Fact> facts) {
  auto fold = [&](ArrayRef<OpFoldResult> sizes) {
    return foldSizes(op, sizes, operands, facts);
  };
  return tensor::InsertSliceOp::create(
      builder, op.getLoc(), operands[0], operands[1],
      fold(op.getMixedOffsets()), fold(op.getMixedSizes()),
      fold(op.getMixedStrides()));
}

/// Makes `op` with `operands`, of which `facts` are known. Returns null where
/// there is no such op, or where its sizes are no operands.
static Operation *rebuild(OpBuilder &builder, Operation *op,
                          ValueRange operands, ArrayRef<Fact> facts) {
  return llvm::TypeSwitch<Operation *, Operation *>(op)
      .Case<tensor::EmptyOp, EmptyOp, tensor::ExtractSliceOp,
            tensor::InsertSliceOp, tensor::ExpandShapeOp>([&](auto concrete) {
        return rebuild(builder, concrete, operands, facts);
      })
      .Default([](Operation *) { return nullptr; });
}

//===----------------------------------------------------------------------===//
// Inference of one op
//===----------------------------------------------------------------------===//

namespace {
/// Finds out what types an op may have, by trying.
class OpInference {
public:
  /// `declared`: the types that the operands have in the program; `facts`: what
  /// is known about them.
  OpInference(Operation *op, TypeRange declared, ArrayRef<Fact> facts)
      : op(op), declared(declared), facts(facts) {
    for (const Fact &fact : facts)
      known.push_back(fact.type);
  }

  /// Returns nothing where the op can only keep the types it has.
  std::optional<Inferred> run() {
    if (std::optional<Inferred> inferred = inferRebuilt())
      return inferred;
    if (std::optional<Inferred> inferred = applyRule())
      if (isLegal(*inferred))
        return inferred;
    if (!toleratesStaticOperands())
      return std::nullopt;
    Inferred unchanged{known, llvm::to_vector(op->getResultTypes())};
    return isLegal(unchanged) ? std::optional(unchanged) : std::nullopt;
  }

private:
  /// Whether an op of types that verify computes the same as before.
  bool toleratesStaticOperands() {
    return isa_and_present<TEQuantDialect, arith::ArithDialect,
                           linalg::LinalgDialect, math::MathDialect,
                           tensor::TensorDialect>(op->getDialect());
  }

  /// A rule's answer, not yet verified.
  std::optional<Inferred> applyRule() {
    if (auto select = dyn_cast<arith::SelectOp>(op))
      if (!isTensor(known[0]))
        return inferSelect();
    if (op->hasTrait<OpTrait::Elementwise>() ||
        op->hasTrait<OpTrait::SameOperandsAndResultShape>() ||
        op->hasTrait<OpTrait::SameOperandsAndResultType>())
      return inferSameShape();
    return llvm::TypeSwitch<Operation *, std::optional<Inferred>>(op)
        .Case<QuantizeOp>(
            [&](QuantizeOp quantize) { return inferQuantize(quantize); })
        .Case<GemmOp>([&](GemmOp gemm) { return inferGemm(gemm); })
        .Case<DequantizeOp, UpdateUsageOp, SwizzleOp, tensor::CastOp>(
            [&](auto) { return inferFromFirst(); })
        .Case<UpdateScaleOp>([&](auto) { return inferFromFirst(); })
        .Case<AssembleOp>(
            [&](AssembleOp assemble) { return inferAssemble(assemble); })
        .Case<tensor::CollapseShapeOp>([&](tensor::CollapseShapeOp collapse) {
          return inferCollapse(collapse);
        })
        .Case<linalg::LinalgOp>(
            [&](linalg::LinalgOp linalgOp) { return inferLinalg(linalgOp); })
        .Case<InferTypeOpInterface>([&](auto) { return inferByInterface(); })
        .Case<DestinationStyleOpInterface>(
            [&](DestinationStyleOpInterface destinationStyle) {
              return inferFromInits(destinationStyle);
            })
        .Default([](Operation *) { return std::nullopt; });
  }

  Inferred unchanged() {
    return {known, llvm::to_vector(op->getResultTypes())};
  }

  /// Which of the two it gives is not known: what both have in common.
  std::optional<Inferred> inferSelect() {
    Inferred inferred = unchanged();
    Type common = join(known[1], known[2]);
    inferred.operands[1] = inferred.operands[2] = inferred.results[0] = common;
    return inferred;
  }

  /// All tensors have one shape.
  std::optional<Inferred> inferSameShape() {
    Inferred inferred = unchanged();
    std::optional<SmallVector<int64_t>> shape;
    auto add = [&](Type type) {
      if (!isTensor(type))
        return true;
      if (!shape)
        shape.emplace(getShape(type));
      return succeeded(mergeInto(*shape, getShape(type)));
    };
    if (!llvm::all_of(inferred.operands, add) ||
        !llvm::all_of(inferred.results, add))
      return std::nullopt;
    auto refine = [&](Type &type) {
      if (isTensor(type))
        type = withShape(type, *shape);
      return static_cast<bool>(type);
    };
    if (!llvm::all_of(inferred.operands, refine) ||
        !llvm::all_of(inferred.results, refine))
      return std::nullopt;
    return inferred;
  }

  /// The first result has the shape of the first operand.
  std::optional<Inferred> inferFromFirst() {
    Inferred inferred = unchanged();
    if (!isTensor(known.front()) || !isTensor(inferred.results.front()))
      return std::nullopt;
    inferred.results.front() =
        merge(inferred.results.front(), getShape(known.front()));
    if (!inferred.results.front())
      return std::nullopt;
    return inferred;
  }

  /// A tensor that is updated in place has its own shape: that the input has it
  /// too is checked at run time.
  std::optional<Inferred> inferQuantize(QuantizeOp quantize) {
    if (!quantize.getInto())
      return inferFromFirst();
    Inferred inferred = unchanged();
    Type result = merge(inferred.results.front(), getShape(known[1]));
    if (!result)
      return std::nullopt;
    inferred.operands[1] = inferred.results.front() = result;
    return inferred;
  }

  /// P-2; what is added to has its own shape, as with `into`.
  std::optional<Inferred> inferGemm(GemmOp gemm) {
    Inferred inferred = unchanged();
    SmallVector<int64_t> shape;
    if (gemm.getAccumulator()) {
      shape.assign(getShape(known.back()).begin(), getShape(known.back()).end());
    } else {
      ArrayRef<int64_t> a = getShape(known[0]), b = getShape(known[1]);
      auto aExtents = getFlattenedExtents(a), bExtents = getFlattenedExtents(b);
      if (failed(aExtents) || failed(bExtents) || b.empty())
        return std::nullopt;
      if (gemm.getLayout() == GemmLayout::NT)
        shape.push_back(bExtents->second);
      else
        llvm::append_range(shape, b.drop_back());
      shape.push_back(gemm.getLayout() == GemmLayout::TN ? aExtents->first
                                                         : aExtents->second);
    }
    for (Type &result : inferred.results) {
      if (getShape(result).size() != shape.size())
        return std::nullopt;
      result = merge(result, shape);
      if (!result)
        return std::nullopt;
    }
    if (gemm.getAccumulator())
      inferred.operands.back() = inferred.results.front();
    return inferred;
  }

  /// Dims that inner tensors store as they are.
  std::optional<Inferred> inferAssemble(AssembleOp assemble) {
    Inferred inferred = unchanged();
    TensorSpecType type = assemble.getResult().getType();
    SmallVector<int64_t> shape(type.getShape());
    MLIRContext *context = op->getContext();
    AffineExpr rows = getAffineSymbolExpr(0, context);
    AffineExpr cols = getAffineSymbolExpr(1, context);
    for (auto [innerType, map] :
         llvm::zip_equal(known, type.getLayout().getShapes())) {
      ArrayRef<int64_t> stored = getShape(innerType);
      unsigned position = 0;
      for (AffineExpr dim : map.getResults()) {
        SmallVector<int64_t> found(shape.size(), ShapedType::kDynamic);
        if (isa<AffineDimExpr>(dim)) {
          for (size_t index = 0; index + 1 < shape.size(); ++index)
            found[index] = stored[position++];
        } else {
          if (position == stored.size())
            break;
          int64_t size = stored[position++];
          if (dim == cols && !found.empty())
            found.back() = size;
          if (dim == rows && shape.size() == 2)
            found.front() = size;
        }
        if (failed(mergeInto(shape, found)))
          return std::nullopt;
      }
    }
    inferred.results.front() = withShape(type, shape);
    if (!inferred.results.front())
      return std::nullopt;
    return inferred;
  }

  std::optional<Inferred> inferCollapse(tensor::CollapseShapeOp collapse) {
    Inferred inferred = unchanged();
    SmallVector<int64_t> shape;
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      int64_t size = 1;
      for (int64_t dim : group) {
        int64_t factor = getShape(known.front())[dim];
        if (ShapedType::isDynamic(size) || ShapedType::isDynamic(factor))
          size = ShapedType::kDynamic;
        else if (llvm::MulOverflow(size, factor, size))
          return std::nullopt;
      }
      shape.push_back(size);
    }
    inferred.results.front() = merge(collapse.getType(), shape);
    if (!inferred.results.front())
      return std::nullopt;
    return inferred;
  }

  /// Each loop has one size in all operands that it indexes; destinations get
  /// what it is.
  std::optional<Inferred> inferLinalg(linalg::LinalgOp linalgOp) {
    if (!linalgOp.hasPureTensorSemantics())
      return std::nullopt;
    Inferred inferred = unchanged();
    SmallVector<int64_t> loops(linalgOp.getNumLoops(), ShapedType::kDynamic);
    auto forEachLoopDim = [&](OpOperand &operand, auto callback) {
      AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          callback(dim, loops[loop.getPosition()]);
    };
    bool isConsistent = true;
    for (OpOperand &operand : op->getOpOperands()) {
      Type type = known[operand.getOperandNumber()];
      if (!isTensor(type))
        continue;
      forEachLoopDim(operand, [&](size_t dim, int64_t &loop) {
        int64_t size = getShape(type)[dim];
        if (ShapedType::isDynamic(loop))
          loop = size;
        else if (!ShapedType::isDynamic(size))
          isConsistent &= loop == size;
      });
    }
    if (!isConsistent)
      return std::nullopt;
    for (OpOperand &init : linalgOp.getDpsInitsMutable()) {
      Type &type = inferred.operands[init.getOperandNumber()];
      SmallVector<int64_t> shape(getShape(type));
      forEachLoopDim(init,
                     [&](size_t dim, int64_t &loop) { shape[dim] = loop; });
      type = withShape(type, shape);
      inferred.results[linalgOp.getTiedOpResult(&init).getResultNumber()] =
          type;
    }
    return inferred;
  }

  std::optional<Inferred>
  inferFromInits(DestinationStyleOpInterface destinationStyle) {
    if (!destinationStyle.hasPureTensorSemantics())
      return std::nullopt;
    Inferred inferred = unchanged();
    for (OpOperand &init : destinationStyle.getDpsInitsMutable())
      if (isTensor(known[init.getOperandNumber()]))
        inferred.results[destinationStyle.getTiedOpResult(&init)
                             .getResultNumber()] =
            known[init.getOperandNumber()];
    return inferred;
  }

  std::optional<Inferred> inferByInterface() {
    auto interface = cast<InferTypeOpInterface>(op);
    Block scratch;
    SmallVector<Value> operands = makeOperands(scratch, known);
    SmallVector<Type> results;
    ScopedDiagnosticHandler silence(op->getContext(),
                                    [](Diagnostic &) { return success(); });
    if (failed(interface.inferReturnTypes(
            op->getContext(), std::nullopt, operands,
            op->getAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), results)) ||
        results.size() != op->getNumResults())
      return std::nullopt;
    // What the program says beyond that, where the op lets it.
    Inferred inferred{known, results};
    for (auto [result, before] :
         llvm::zip_equal(inferred.results, op->getResultTypes())) {
      if (!isTensor(result) || !isTensor(before))
        continue;
      Type merged = merge(result, getShape(before));
      if (!merged)
        return std::nullopt;
      result = merged;
    }
    if (isLegal(inferred))
      return inferred;
    inferred.results = results;
    return inferred;
  }

  std::optional<Inferred> inferRebuilt() {
    Block scratch;
    SmallVector<Value> operands = makeOperands(scratch, known);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&scratch);
    ScopedDiagnosticHandler silence(op->getContext(),
                                    [](Diagnostic &) { return success(); });
    Operation *rebuilt = rebuild(builder, op, operands, facts);
    if (!rebuilt || failed(verify(rebuilt)))
      return std::nullopt;
    Inferred inferred{known, llvm::to_vector(rebuilt->getResultTypes()),
                      /*isRebuilt=*/true};
    return inferred;
  }

  static SmallVector<Value> makeOperands(Block &scratch, ArrayRef<Type> types) {
    SmallVector<Value> operands;
    for (Type type : types)
      operands.push_back(
          scratch.addArgument(type, UnknownLoc::get(type.getContext())));
    return operands;
  }

  /// Whether the op verifies with these types.
  bool isLegal(const Inferred &inferred) {
    if (llvm::equal(inferred.operands, declared) &&
        llvm::equal(inferred.results, op->getResultTypes()))
      return true;
    // In its place, where a verifier finds the parent that it expects.
    Block scratch;
    Operation *trial = op->clone();
    op->getBlock()->getOperations().insert(Block::iterator(op), trial);
    trial->setOperands(makeOperands(scratch, inferred.operands));
    for (auto [result, type] :
         llvm::zip_equal(trial->getResults(), inferred.results))
      result.setType(type);
    ScopedDiagnosticHandler silence(op->getContext(),
                                    [](Diagnostic &) { return success(); });
    bool isLegal = succeeded(verify(trial, /*verifyRecursively=*/false));
    trial->erase();
    return isLegal;
  }

  Operation *op;
  TypeRange declared;
  ArrayRef<Fact> facts;
  SmallVector<Type> known;
};
} // namespace

/// The number that the result of `op` is, which takes or gives integers only
/// besides tensors.
static IntegerAttr inferConstant(Operation *op, ArrayRef<Fact> facts) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex() ||
      op->getNumRegions() != 0)
    return {};
  if (isa<tensor::DimOp>(op)) {
    IntegerAttr index = facts[1].constant;
    if (!index || !isTensor(facts[0].type))
      return {};
    ArrayRef<int64_t> shape = getShape(facts[0].type);
    int64_t dim = index.getInt();
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()) ||
        ShapedType::isDynamic(shape[dim]))
      return {};
    return Builder(op->getContext()).getIndexAttr(shape[dim]);
  }
  if (!isa_and_present<affine::AffineDialect, arith::ArithDialect,
                       index::IndexDialect>(op->getDialect()))
    return {};
  SmallVector<Attribute> constants;
  for (const Fact &fact : facts)
    constants.push_back(fact.constant);
  // Folding may change the op in place, which is not wanted here.
  SmallVector<Value> operands(op->getOperands());
  DictionaryAttr attributes = op->getAttrDictionary();
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(constants, folded)))
    return {};
  if (folded.empty()) {
    op->setOperands(operands);
    op->setAttrs(attributes);
    return {};
  }
  if (auto attribute = dyn_cast<Attribute>(folded.front()))
    return dyn_cast<IntegerAttr>(attribute);
  auto *same = llvm::find(operands, cast<Value>(folded.front()));
  return same == operands.end() ? IntegerAttr()
                                : facts[same - operands.begin()].constant;
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {
struct FactLattice : dataflow::Lattice<Fact> {
  using Lattice::Lattice;
};

class ShapeAnalysis
    : public dataflow::SparseForwardDataFlowAnalysis<FactLattice> {
public:
  ShapeAnalysis(DataFlowSolver &solver,
                const DenseMap<Value, Type> &entryTypes)
      : SparseForwardDataFlowAnalysis(solver), entryTypes(entryTypes) {}

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const FactLattice *> operands,
                               ArrayRef<FactLattice *> results) override {
    SmallVector<Fact> facts;
    for (const FactLattice *operand : operands) {
      facts.push_back(operand->getValue());
      if (!facts.back().type)
        return success();
    }
    SmallVector<Type> types = llvm::to_vector(op->getResultTypes());
    if (std::optional<Inferred> inferred =
            OpInference(op, op->getOperandTypes(), facts).run())
      types = inferred->results;
    IntegerAttr constant = inferConstant(op, facts);
    for (auto [result, type] : llvm::zip_equal(results, types))
      propagateIfChanged(result, result->join(Fact{type, constant}));
    return success();
  }

  void setToEntryState(FactLattice *lattice) override {
    Value value = lattice->getAnchor();
    auto entry = entryTypes.find(value);
    Type type = entry == entryTypes.end() ? value.getType() : entry->second;
    propagateIfChanged(lattice, lattice->join(Fact{type, IntegerAttr()}));
  }

private:
  const DenseMap<Value, Type> &entryTypes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {
class ShapeRewriter {
public:
  ShapeRewriter(ModuleOp module, DataFlowSolver &solver,
                const llvm::SetVector<Operation *> &entries)
      : module(module), entries(entries), builder(module.getContext()) {
    collectFacts(solver);
    alignTiedInputs();
    collectSignatures();
  }

  LogicalResult run() {
    SmallVector<Operation *> ops;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(rewrite(op)))
        return failure();
    for (auto &[function, type] : signatures)
      function.setFunctionType(type);
    for (DisassembleOp parts : unusedParts)
      if (parts->use_empty())
        parts.erase();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // What is known
  //===--------------------------------------------------------------------===//

  void collectFacts(DataFlowSolver &solver) {
    auto add = [&](Value value) {
      const FactLattice *lattice = solver.lookupState<FactLattice>(value);
      Fact fact{value.getType(), IntegerAttr()};
      if (lattice && lattice->getValue().type)
        fact = lattice->getValue();
      facts[value] = fact;
    };
    module.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        declared[&operand] = operand.get().getType();
      llvm::for_each(op->getResults(), add);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), add);
    });
  }

  /// Values that one operand is handed on to have one type, also where the
  /// analysis saw that some of them are never reached.
  void alignTiedInputs() {
    module.walk([&](RegionBranchOpInterface branch) {
      RegionBranchSuccessorMapping mapping;
      branch.getSuccessorOperandInputMapping(mapping);
      llvm::EquivalenceClasses<Value> classes;
      for (auto &[operand, inputs] : mapping)
        for (Value input : inputs)
          classes.unionSets(inputs.front(), input);
      for (const auto *entry : classes) {
        if (!entry->isLeader())
          continue;
        Type type = facts[entry->getData()].type;
        for (Value member : classes.members(*entry))
          type = join(type, facts[member].type);
        for (Value member : classes.members(*entry))
          facts[member].type = type;
      }
    });
  }

  /// The functions whose types may change, with their new types.
  void collectSignatures() {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isDeclaration() || !mayChange(function))
        continue;
      SmallVector<Type> inputs;
      for (Value argument : function.getArguments())
        inputs.push_back(facts[argument].type);
      SmallVector<Type> results;
      function.walk([&](func::ReturnOp op) {
        for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
          Type type = facts[operand].type;
          if (index == results.size())
            results.push_back(type);
          else
            results[index] = join(results[index], type);
        }
      });
      if (results.size() != function.getNumResults())
        results = llvm::to_vector(function.getResultTypes());
      signatures[function] =
          FunctionType::get(module.getContext(), inputs, results);
    }
  }

  bool mayChange(func::FuncOp function) {
    // After expansion the boundary is described by attributes.
    if (function->hasAttr(TEQuantDialect::argsAttrName) ||
        function->hasAttr(TEQuantDialect::resultsAttrName))
      return false;
    if (entries.contains(function))
      return true;
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(function, module);
    return function.isPrivate() && uses &&
           llvm::all_of(*uses, [](const SymbolTable::SymbolUse &use) {
             return isa<func::CallOp>(use.getUser());
           });
  }

  FunctionType getSignature(func::FuncOp function) {
    auto found = signatures.find(function);
    return found == signatures.end() ? function.getFunctionType()
                                     : found->second;
  }

  Type getType(Value value) { return facts[value].type; }

  void copyFact(Value from, Value to) {
    Fact fact = facts[from];
    facts[to] = fact;
  }

  //===--------------------------------------------------------------------===//
  // Casts
  //===--------------------------------------------------------------------===//

  Value makeCast(Location loc, Value value, Type from, Type to) {
    if (from == to)
      return value;
    // Never reached where they contradict; casts go through what both know.
    if (failed(verifyCompatibleShape(getShape(from), getShape(to)))) {
      Type common = join(from, to);
      return makeCast(loc, makeCast(loc, value, from, common), common, to);
    }
    if (isa<RankedTensorType>(to))
      return tensor::CastOp::create(builder, loc, to, value);
    // A TensorSpec has no cast of its own.
    auto parts = DisassembleOp::create(
        builder, loc, cast<TensorSpecType>(from).getInnerTypes(), value);
    return AssembleOp::create(builder, loc, to, parts.getResults());
  }

  void castOperand(OpOperand &operand, Type type) {
    Value value = operand.get();
    if (!isTensor(type) || getType(value) == type)
      return;
    // A value that kept its type is there under a cast to what is known.
    if (auto known = value.getDefiningOp<tensor::CastOp>();
        known && getType(known.getSource()) == type) {
      operand.set(known.getSource());
      return;
    }
    builder.setInsertionPoint(operand.getOwner());
    operand.set(makeCast(operand.getOwner()->getLoc(), value, getType(value),
                         type));
  }

  /// Gives the operand the type it was written with.
  void restoreOperand(OpOperand &operand) {
    castOperand(operand, declared.lookup(&operand));
  }

  /// Users of `value`, which is of type `from`, get it as what is known.
  void castUses(Value value, Type from) {
    Type to = getType(value);
    if (!isTensor(from) || from == to)
      return;
    builder.setInsertionPointAfterValue(value);
    Value cast = makeCast(value.getLoc(), value, from, to);
    copyFact(value, cast);
    // The operand of the cast is there before it.
    Operation *first = cast.getDefiningOp();
    while (!llvm::is_contained(first->getOperands(), value))
      first = first->getOperand(0).getDefiningOp();
    value.replaceAllUsesExcept(cast, first);
    facts[value].type = from;
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  /// Whether types of operands, block arguments and results follow from each
  /// other by what is handed on. Other region control flow keeps its types.
  static bool handsOnOnly(Operation *op) {
    return isa<affine::AffineForOp, affine::AffineIfOp, scf::ExecuteRegionOp,
               scf::ForOp, scf::IfOp, scf::IndexSwitchOp, scf::WhileOp>(op);
  }

  LogicalResult rewrite(Operation *op) {
    rewriteArguments(op);
    if (auto call = dyn_cast<func::CallOp>(op))
      return rewriteCall(call);
    if (isa<func::ReturnOp>(op)) {
      FunctionType type = getSignature(op->getParentOfType<func::FuncOp>());
      for (OpOperand &operand : op->getOpOperands())
        castOperand(operand, type.getResult(operand.getOperandNumber()));
      return success();
    }
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      if (handsOnOnly(op))
        rewriteRegionBranch(branch);
      else
        keepTypes(op);
      return success();
    }
    if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      rewriteBranch(branch);
      return success();
    }
    // What `scf.forall` combines must go into its block arguments themselves.
    if (isa_and_present<scf::InParallelOp>(op->getParentOp())) {
      keepTypes(op);
      return success();
    }
    // Their parents have seen to what they hand on.
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (!isa<RegionBranchTerminatorOpInterface>(op) ||
          !handsOnOnly(op->getParentOp()))
        keepTypes(op);
      return success();
    }
    rewriteOther(op);
    return success();
  }

  /// Arguments of blocks that are entered in a way we know take what is known.
  void rewriteArguments(Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        bool isKnown = !block.isEntryBlock() ||
                       handsOnOnly(op) ||
                       (function && signatures.contains(function));
        for (Value argument : llvm::to_vector<4>(
                 ValueRange(block.getArguments()))) {
          if (isKnown)
            argument.setType(getType(argument));
          else
            castUses(argument, argument.getType());
        }
      }
  }

  LogicalResult rewriteCall(func::CallOp call) {
    auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    FunctionType type = function ? getSignature(function)
                                 : call.getCalleeType();
    for (OpOperand &operand : call->getOpOperands()) {
      Type input = type.getInput(operand.getOperandNumber());
      Type actual = getType(operand.get());
      if (isTensor(input) &&
          failed(verifyCompatibleShape(getShape(actual), getShape(input))))
        return call.emitOpError()
               << "expected argument " << operand.getOperandNumber()
               << " to be " << input << " as '" << call.getCallee()
               << "' is annotated, but got " << actual;
      castOperand(operand, input);
    }
    for (OpResult result : call.getResults()) {
      Type resultType = type.getResult(result.getResultNumber());
      result.setType(resultType);
      castUses(result, resultType);
    }
    return success();
  }

  void keepTypes(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      restoreOperand(operand);
    for (Value result : op->getResults())
      castUses(result, result.getType());
  }

  void rewriteRegionBranch(RegionBranchOpInterface branch) {
    Operation *op = branch;
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    DenseMap<OpOperand *, Type> forwarded;
    llvm::DenseSet<Value> inputs;
    for (auto &[operand, successors] : mapping) {
      forwarded[operand] = getType(successors.front());
      inputs.insert(successors.begin(), successors.end());
    }
    auto rewriteOperands = [&](Operation *owner) {
      for (OpOperand &operand : owner->getOpOperands()) {
        auto found = forwarded.find(&operand);
        if (found != forwarded.end())
          castOperand(operand, found->second);
        else
          restoreOperand(operand);
      }
    };
    rewriteOperands(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!block.empty() && isa<RegionBranchTerminatorOpInterface>(
                                  block.getTerminator()))
          rewriteOperands(block.getTerminator());
    for (Value result : op->getResults()) {
      if (inputs.contains(result))
        result.setType(getType(result));
      else
        castUses(result, result.getType());
    }
  }

  void rewriteBranch(BranchOpInterface branch) {
    llvm::SmallPtrSet<OpOperand *, 8> forwarded;
    for (unsigned index = 0; index != branch->getNumSuccessors(); ++index) {
      SuccessorOperands operands = branch.getSuccessorOperands(index);
      Block *block = branch->getSuccessor(index);
      for (unsigned position = operands.getProducedOperandCount();
           position != operands.size(); ++position) {
        OpOperand &operand =
            operands.getMutableForwardedOperands()
                [position - operands.getProducedOperandCount()];
        forwarded.insert(&operand);
        castOperand(operand, getType(block->getArgument(position)));
      }
    }
    for (OpOperand &operand : branch->getOpOperands())
      if (!forwarded.contains(&operand))
        restoreOperand(operand);
    for (Value result : branch->getResults())
      castUses(result, result.getType());
  }

  /// Whether what is known about operands or results is more than was written.
  bool isRefined(Operation *op) {
    return llvm::any_of(op->getOpOperands(),
                        [&](OpOperand &operand) {
                          return getType(operand.get()) !=
                                 declared.lookup(&operand);
                        }) ||
           llvm::any_of(op->getResults(), [&](Value result) {
             return getType(result) != result.getType();
           });
  }

  void rewriteOther(Operation *op) {
    if (!isRefined(op))
      return;
    SmallVector<Fact> operandFacts;
    SmallVector<Type> operandTypes;
    for (OpOperand &operand : op->getOpOperands()) {
      operandFacts.push_back(facts[operand.get()]);
      operandTypes.push_back(declared.lookup(&operand));
    }
    std::optional<Inferred> inferred =
        OpInference(op, operandTypes, operandFacts).run();
    bool isNative =
        inferred &&
        llvm::equal(inferred->results,
                    llvm::map_range(op->getResults(), [&](Value result) {
                      return getType(result);
                    }));
    if (!isNative) {
      if (isa_and_present<TEQuantDialect>(op->getDialect()))
        emitWarning(op->getLoc())
            << "the shapes known here do not fit the types of '"
            << op->getName() << "', whose checks are left to run time";
      keepTypes(op);
      return;
    }
    if (foldAway(op))
      return;
    for (auto [operand, type] :
         llvm::zip_equal(op->getOpOperands(), inferred->operands))
      castOperand(operand, type);
    if (!inferred->isRebuilt) {
      for (Value result : op->getResults())
        result.setType(getType(result));
      return;
    }
    builder.setInsertionPoint(op);
    Operation *rebuilt = rebuild(builder, op, op->getOperands(), operandFacts);
    rebuilt->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [before, after] :
         llvm::zip_equal(op->getResults(), rebuilt->getResults()))
      copyFact(before, after);
    op->replaceAllUsesWith(rebuilt);
    op->erase();
  }

  /// A cast between types that are equal now, or the size of a static dim.
  bool foldAway(Operation *op) {
    if (isa<tensor::CastOp>(op) &&
        getType(op->getOperand(0)) == getType(op->getResult(0))) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
      return true;
    }
    // The cast that a TensorSpec has.
    if (auto assemble = dyn_cast<AssembleOp>(op)) {
      auto parts = assemble.getInners().front().getDefiningOp<DisassembleOp>();
      if (!parts || parts.getInners() != assemble.getInners() ||
          getType(parts.getInput()) != getType(assemble.getResult()))
        return false;
      assemble.getResult().replaceAllUsesWith(parts.getInput());
      op->erase();
      unusedParts.insert(parts);
      return true;
    }
    if (!isa<tensor::DimOp>(op) || !facts[op->getResult(0)].constant)
      return false;
    builder.setInsertionPoint(op);
    Value constant = arith::ConstantIndexOp::create(
        builder, op->getLoc(), facts[op->getResult(0)].constant.getInt());
    copyFact(op->getResult(0), constant);
    op->getResult(0).replaceAllUsesWith(constant);
    op->erase();
    return true;
  }

  ModuleOp module;
  const llvm::SetVector<Operation *> &entries;
  OpBuilder builder;
  DenseMap<Value, Fact> facts;
  /// Casts of TensorSpecs that may be left without a use.
  llvm::SetVector<DisassembleOp> unusedParts;
  /// The types that operands were written with.
  DenseMap<OpOperand *, Type> declared;
  llvm::MapVector<func::FuncOp, FunctionType> signatures;
};
} // namespace

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

namespace {
using Shape = SmallVector<int64_t>;

/// Collects the types that arguments of annotated functions get.
class EntryCollector {
public:
  LogicalResult add(func::FuncOp function, ArrayRef<Shape> shapes) {
    if (function.isDeclaration() || !function.isPublic())
      return emitError(function.getLoc())
             << "expected shapes for a public function with a body, but got '"
             << function.getName() << "'";
    if (function->hasAttr(TEQuantDialect::argsAttrName))
      return emitError(function.getLoc())
             << "expected shapes before TensorSpecs are expanded, but '"
             << function.getName() << "' has its boundary described";
    SmallVector<BlockArgument> tensors;
    for (BlockArgument argument : function.getArguments())
      if (isTensor(argument.getType()))
        tensors.push_back(argument);
    if (tensors.size() != shapes.size())
      return emitError(function.getLoc())
             << "expected " << tensors.size()
             << " shapes, one for each argument that is a tensor, but got "
             << shapes.size();
    for (auto [argument, shape] : llvm::zip_equal(tensors, shapes)) {
      Type &type = types.try_emplace(argument, argument.getType())
                       .first->second;
      ArrayRef<int64_t> known = getShape(type);
      if (known.size() != shape.size())
        return emitError(function.getLoc())
               << "expected a shape of rank " << known.size()
               << " for argument " << argument.getArgNumber() << ", but got "
               << shape.size() << " sizes";
      for (size_t dim = 0; dim != shape.size(); ++dim)
        if (!ShapedType::isDynamic(known[dim]) &&
            !ShapedType::isDynamic(shape[dim]) && known[dim] != shape[dim])
          return emitError(function.getLoc())
                 << "expected dim " << dim << " of argument "
                 << argument.getArgNumber() << " to be " << known[dim]
                 << ", but got " << shape[dim];
      Type refined = merge(type, shape);
      if (!refined)
        return emitError(function.getLoc())
               << "the shape of argument " << argument.getArgNumber()
               << " makes an inner tensor overflow 64 bits";
      type = refined;
    }
    functions.insert(function);
    return success();
  }

  DenseMap<Value, Type> types;
  llvm::SetVector<Operation *> functions;
};
} // namespace

static SmallVector<Shape> getShapes(ArrayAttr attribute) {
  return llvm::map_to_vector(attribute, [](Attribute entry) {
    return llvm::map_to_vector(cast<ArrayAttr>(entry), [](Attribute dim) {
      int64_t size = cast<IntegerAttr>(dim).getInt();
      return size == -1 ? ShapedType::kDynamic : size;
    });
  });
}

/// Parses "32x64,?x16"; nothing between commas is rank 0.
static FailureOr<SmallVector<Shape>> parseShapes(Location loc, StringRef text) {
  SmallVector<Shape> shapes;
  SmallVector<StringRef> entries;
  text.split(entries, ',');
  for (StringRef entry : entries) {
    Shape &shape = shapes.emplace_back();
    SmallVector<StringRef> dims;
    entry.split(dims, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/!entry.empty());
    for (StringRef dim : dims) {
      int64_t size = ShapedType::kDynamic;
      if (dim != "?" && (dim.getAsInteger(10, size) || size < 0))
        return emitError(loc) << "expected sizes or '?' with 'x' between them "
                                 "in 'input-shapes', but got '"
                              << entry << "'";
      shape.push_back(size);
    }
  }
  return shapes;
}

namespace {
struct QuantInferShapesPass
    : te::quant::impl::QuantInferShapesPassBase<QuantInferShapesPass> {
  using QuantInferShapesPassBase::QuantInferShapesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    EntryCollector collector;
    if (failed(collectEntries(collector)))
      return signalPassFailure();

    DataFlowSolver solver;
    dataflow::loadBaselineAnalyses(solver);
    solver.load<ShapeAnalysis>(collector.types);
    if (failed(solver.initializeAndRun(module)))
      return signalPassFailure();
    if (failed(ShapeRewriter(module, solver, collector.functions).run()))
      return signalPassFailure();
    for (Operation *function : collector.functions)
      function->removeAttr(TEQuantDialect::shapesAttrName);
  }

private:
  LogicalResult collectEntries(EntryCollector &collector) {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>()) {
      auto shapes =
          function->getAttrOfType<ArrayAttr>(TEQuantDialect::shapesAttrName);
      if (shapes && failed(collector.add(function, getShapes(shapes))))
        return failure();
    }
    if (entry.empty() && inputShapes.empty())
      return success();
    if (entry.empty())
      return emitError(module.getLoc())
             << "expected 'entry' with 'input-shapes', but got none";
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    if (!function)
      return emitError(module.getLoc())
             << "expected a function as 'entry', but got '" << entry << "'";
    FailureOr<SmallVector<Shape>> shapes =
        parseShapes(module.getLoc(), inputShapes);
    if (failed(shapes))
      return failure();
    return collector.add(function, *shapes);
  }
};
} // namespace
