//===- QuantExpandComposed.cpp - tensors made of other tensors ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A composed tensor is taken apart on values: its components are quantized and
// dequantized by the same ops, which the conversion then expands. So a composed
// family has no code of its own below.
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "te/Dialect/Quant/Transforms/Patterns.h"

using namespace mlir;
using namespace te::quant;

/// A component that is only decoded has no part in the type, whose extents its
/// blocks must divide all the same.
LogicalResult te::quant::verifyExpandable(QuantizeOp op) {
  TensorSpecType type = op.getResult().getType();
  Type inputType = op.getInput().getType();
  auto spec = dyn_cast<TensorSpecType>(inputType);
  SmallVector<int64_t> shape = getMergedShape(
      type.getShape(),
      spec ? spec.getShape() : cast<RankedTensorType>(inputType).getShape());
  for (const QuantizerComponent &component :
       type.getQuantizer().getComponents()) {
    auto source = dyn_cast_if_present<QuantizerAttrInterface>(
        component.decodedFrom);
    if (!source)
      continue;
    // What it reads is the input, in the input's dtype.
    Type dtype = spec ? spec.getNominalDtype()
                      : cast<RankedTensorType>(inputType).getElementType();
    if (failed(verifyQuantizable(
            [&] { return op.emitOpError(); },
            TensorSpecType::get(op.getContext(), shape, dtype, source,
                                type.getRequiresGrad(), type.getDevice()))))
      return failure();
  }
  return success();
}

namespace {
struct DecomposeQuantizeOp : OpConversionPattern<QuantizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(QuantizeOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TensorSpecType type = op.getResult().getType();
    SmallVector<QuantizerComponent> components =
        type.getQuantizer().getComponents();
    if (components.empty())
      return rewriter.notifyMatchFailure(op, "not composed");

    Location loc = op.getLoc();
    Value amax;
    auto quantize = [&](QuantizerAttrInterface quantizer, Value input,
                        Value into) -> Value {
      QuantizeSignature signature = quantizer.getQuantizeSignature();
      auto part = QuantizeOp::create(
          rewriter, loc, type.withQuantizer(quantizer),
          signature.returnsAmax ? op.getAmaxResult().getType() : Type(), input,
          into, into ? op.getNoop() : Value(),
          signature.takesScale ? op.getScale() : Value(), ValueRange(),
          signature.takesRandomState ? op.getRng() : Value());
      copyDiscardableAttrs(op, part);
      if (signature.returnsAmax && !amax)
        amax = part.getAmaxResult();
      return part.getResult();
    };

    SmallVector<Value> intoInners;
    if (op.getInto())
      llvm::append_range(intoInners,
                         DisassembleOp::create(rewriter, loc,
                                               type.getInnerTypes(),
                                               op.getInto())
                             .getInners());
    SmallVector<Value> inners;
    llvm::SmallDenseMap<Attribute, Value> made;
    for (const QuantizerComponent &component : components) {
      auto quantizer = cast<QuantizerAttrInterface>(component.quantizer);
      TensorSpecType partType = type.withQuantizer(quantizer);
      SmallVector<Type> partTypes = partType.getInnerTypes();
      Value into;
      if (op.getInto())
        into = AssembleOp::create(
            rewriter, loc, partType,
            ArrayRef<Value>(intoInners).slice(inners.size(), partTypes.size()));
      Value input = op.getInput();
      if (auto source = dyn_cast_if_present<QuantizerAttrInterface>(
              component.decodedFrom)) {
        Value &decodable = made[source];
        if (!decodable)
          decodable = quantize(source, op.getInput(), Value());
        input = DequantizeOp::create(
            rewriter, loc,
            RankedTensorType::get(type.getShape(), type.getNominalDtype()),
            decodable);
      }
      Value part = quantize(quantizer, input, into);
      made[quantizer] = part;
      llvm::append_range(
          inners,
          DisassembleOp::create(rewriter, loc, partTypes, part).getInners());
    }
    SmallVector<Value> results = {
        AssembleOp::create(rewriter, loc, type, inners)};
    if (op.getAmaxResult())
      results.push_back(amax);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// The first component present is decoded.
struct DecomposeDequantizeOp : OpConversionPattern<DequantizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(DequantizeOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TensorSpecType type = op.getInput().getType();
    if (!type.isQuantized())
      return rewriter.notifyMatchFailure(op, "plain");
    SmallVector<QuantizerComponent> components =
        type.getQuantizer().getComponents();
    if (components.empty())
      return rewriter.notifyMatchFailure(op, "not composed");
    Location loc = op.getLoc();
    TensorSpecType partType = type.withQuantizer(
        cast<QuantizerAttrInterface>(components.front().quantizer));
    auto inners =
        DisassembleOp::create(rewriter, loc, type.getInnerTypes(),
                              op.getInput());
    Value part = AssembleOp::create(
        rewriter, loc, partType,
        inners.getInners().take_front(partType.getLayout().size()));
    auto dequantize =
        DequantizeOp::create(rewriter, loc, op.getResult().getType(), part);
    copyDiscardableAttrs(op, dequantize);
    rewriter.replaceOp(op, dequantize);
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandComposedPatterns(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  // Before the patterns for tensors that are not composed.
  patterns.add<DecomposeQuantizeOp, DecomposeDequantizeOp>(
      converter, patterns.getContext(), /*benefit=*/2);
}
