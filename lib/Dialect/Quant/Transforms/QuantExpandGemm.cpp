//===- QuantExpandGemm.cpp - expansion of gemm ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operand becomes the inner tensors of the one representation that is
// read, whatever the tensor is composed of.
//
//===----------------------------------------------------------------------===//

#include "LogicalDims.h"
#include "QuantExpand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/Transforms/LayoutEmitter.h"

using namespace mlir;
using namespace te::quant;

/// The type of a value as a spec; a builtin tensor is a plain one.
static TensorSpecType getSpec(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec;
  auto tensor = cast<RankedTensorType>(type);
  return TensorSpecType::get(type.getContext(), tensor.getShape(),
                             tensor.getElementType(), {}, false, {});
}

/// B with what the result's type knows about its dims.
static TensorSpecType getRefinedB(GemmOp op) {
  TensorSpecType type = getSpec(op.getB().getType());
  if (getGemmDirection(op.getLayout(), /*isA=*/false) != Usage::Rowwise)
    return type;
  SmallVector<int64_t> shape(getSpec(op.getResult().getType()).getShape());
  shape.back() = ShapedType::kDynamic;
  return type.withShape(getMergedShape(type.getShape(), shape));
}

LogicalResult te::quant::verifyExpandable(GemmOp op) {
  auto verify = [&](TensorSpecType type, bool canRecover) -> LogicalResult {
    if (canRecover)
      return success();
    return op.emitOpError() << "the dynamic dims of " << type
                            << " cannot be told from its inner tensors";
  };
  TensorSpecType a = getSpec(op.getA().getType()), b = getRefinedB(op);
  bool keepsDims =
      getGemmDirection(op.getLayout(), /*isA=*/false) == Usage::Rowwise;
  if (failed(verify(a, canRecoverExtents(a))))
    return failure();
  return verify(b, keepsDims ? canRecoverLogicalDims(b) : canRecoverExtents(b));
}

namespace {
/// An operand as the expanded op takes it.
struct Operand {
  QuantizerAttrInterface quantizer;
  SmallVector<Value> inners;
  /// Extents along the lines and across.
  Value depth, lines;
};

struct ExpandGemmOp : OpConversionPattern<GemmOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(GemmOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    TensorSpecType bType = getRefinedB(op);
    Operand a = getOperand(rewriter, loc, op.getLayout(), /*isA=*/true,
                           getSpec(op.getA().getType()), adaptor.getA());
    Operand b = getOperand(rewriter, loc, op.getLayout(), /*isA=*/false, bType,
                           adaptor.getB());
    auto check = [&](Value left, Value right, const Twine &message) {
      if (left == right)
        return;
      Value isEqual = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, left, right);
      CheckOp::create(rewriter, loc, isEqual, message.str());
    };
    check(a.depth, b.depth,
          "expected the contracted extents of A and B to be equal");
    emitMultipleChecks(rewriter, loc, a, /*isA=*/true, op.getLayout());
    emitMultipleChecks(rewriter, loc, b, /*isA=*/false, op.getLayout());
    Value bias =
        adaptor.getBias().empty() ? Value() : adaptor.getBias().front();
    auto getDim = [&](Value tensor, int64_t dim) {
      return tensor::DimOp::create(rewriter, loc, tensor, dim).getResult();
    };
    if (bias)
      check(getDim(bias, 0), a.lines,
            "expected the bias to have as many elements as the result has "
            "columns");

    // P-2
    SmallVector<OpFoldResult> dims;
    if (getGemmDirection(op.getLayout(), /*isA=*/false) == Usage::Rowwise) {
      dims = recoverLogicalDims(rewriter, loc, bType, adaptor.getB());
      dims.pop_back();
    } else {
      dims.push_back(b.lines);
    }
    dims.push_back(a.lines);
    auto resultType = cast<RankedTensorType>(
        getSpec(op.getResult().getType()).getInnerTypes().front());
    for (auto [index, size] : llvm::enumerate(resultType.getShape())) {
      OpFoldResult &dim = dims[index];
      if (std::optional<int64_t> known = getConstantIntValue(dim))
        dim = rewriter.getIndexAttr(*known);
      if (ShapedType::isDynamic(size) || isa<Attribute>(dim))
        continue;
      check(cast<Value>(dim),
            arith::ConstantIndexOp::create(rewriter, loc, size),
            "expected dim " + Twine(index) + " of the result to be " +
                Twine(size));
      dim = rewriter.getIndexAttr(size);
    }
    SmallVector<Value> outs;
    if (op.getAccumulator()) {
      Value accumulator = adaptor.getAccumulator().front();
      for (auto [index, dim] : llvm::enumerate(dims))
        check(getDim(accumulator, index),
              getValueOrCreateConstantIndexOp(rewriter, loc, dim),
              "expected dim " + Twine(index) +
                  " of 'accumulate' to be that of the product");
      outs.push_back(accumulator);
    } else {
      outs.push_back(tensor::EmptyOp::create(rewriter, loc, dims,
                                             resultType.getElementType()));
    }
    RankedTensorType preActivationType;
    if (op.getGelu()) {
      preActivationType = cast<RankedTensorType>(
          getSpec(op.getPreActivation().getType()).getInnerTypes().front());
      outs.push_back(tensor::EmptyOp::create(
          rewriter, loc, dims, preActivationType.getElementType()));
    }
    auto gemm = GemmIntoOp::create(rewriter, loc, TypeRange(ValueRange(outs)),
                                   op.getLayout(), a.inners, a.quantizer,
                                   b.inners, b.quantizer, bias, a.depth, outs,
                                   bool(op.getAccumulator()), op.getGelu());
    copyDiscardableAttrs(op, gemm);
    SmallVector<Value> results = {
        castTensor(rewriter, loc, gemm.getResult(0), resultType)};
    if (op.getGelu())
      results.push_back(
          castTensor(rewriter, loc, gemm.getResult(1), preActivationType));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static Operand getOperand(OpBuilder &builder, Location loc, GemmLayout layout,
                            bool isA, TensorSpecType type, ValueRange inners) {
    Usage direction = getGemmDirection(layout, isA);
    // The verifier has seen that it is there.
    GemmRepresentation found =
        *getGemmRepresentation(type.getQuantizer(), direction);
    Operand operand;
    operand.quantizer = found.quantizer;
    for (unsigned inner : found.inners)
      operand.inners.push_back(inners[inner]);
    auto [rows, cols] = recoverExtents(builder, loc, type, inners);
    bool isRowwise = direction == Usage::Rowwise;
    operand.depth = isRowwise ? cols : rows;
    operand.lines = isRowwise ? rows : cols;
    return operand;
  }

  /// What the verifier checks of static extents.
  static void emitMultipleChecks(OpBuilder &builder, Location loc,
                                 const Operand &operand, bool isA,
                                 GemmLayout layout) {
    if (!operand.quantizer)
      return;
    GemmOperand format =
        *operand.quantizer.getGemmOperand(getGemmDirection(layout, isA));
    auto check = [&](Value extent, int64_t multiple, StringRef what) {
      if (multiple == 1 || getConstantIntValue(extent))
        return;
      Value rest = arith::RemUIOp::create(
          builder, loc, extent,
          arith::ConstantIndexOp::create(builder, loc, multiple));
      Value isMultiple = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, rest,
          arith::ConstantIndexOp::create(builder, loc, 0));
      CheckOp::create(builder, loc, isMultiple,
                      ("expected the " + what + " extent of " +
                       (isA ? "A" : "B") + " to be a multiple of " +
                       Twine(multiple) + " for '" +
                       operand.quantizer.getFamily() + "'")
                          .str());
    };
    check(operand.depth, format.depthMultiple, "contracted");
    check(operand.lines, isA ? format.freeMultipleAsA : format.freeMultipleAsB,
          "free");
  }
};
} // namespace

void te::quant::populateQuantExpandGemmPatterns(const TypeConverter &converter,
                                                RewritePatternSet &patterns) {
  patterns.add<ExpandGemmOp>(converter, patterns.getContext());
}
