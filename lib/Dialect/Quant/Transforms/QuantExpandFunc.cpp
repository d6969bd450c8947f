//===- QuantExpandFunc.cpp - expansion of function boundaries -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `te_quant.args` and `te_quant.results` say what each flattened argument and
// result was. Later passes keep them; callers outside the program read them.
//
//===----------------------------------------------------------------------===//

#include "QuantExpand.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace te::quant;

SmallVector<Value> te::quant::flattenValues(ArrayRef<ValueRange> values) {
  SmallVector<Value> flat;
  for (ValueRange range : values)
    llvm::append_range(flat, range);
  return flat;
}

LogicalResult te::quant::convertTypes(const TypeConverter &converter,
                                      TypeRange types,
                                      SmallVectorImpl<Type> &converted,
                                      SmallVectorImpl<size_t> &counts) {
  for (Type type : types) {
    size_t before = converted.size();
    if (failed(converter.convertType(type, converted)))
      return failure();
    counts.push_back(converted.size() - before);
  }
  return success();
}

SmallVector<SmallVector<Value>>
te::quant::splitValues(ValueRange values, ArrayRef<size_t> counts) {
  SmallVector<SmallVector<Value>> groups;
  for (size_t count : counts) {
    groups.emplace_back(values.take_front(count));
    values = values.drop_front(count);
  }
  return groups;
}

void te::quant::copyDiscardableAttrs(Operation *from, Operation *to) {
  for (NamedAttribute attr : from->getDiscardableAttrs())
    to->setDiscardableAttr(attr.getName(), attr.getValue());
}

//===----------------------------------------------------------------------===//
// Boundary attributes
//===----------------------------------------------------------------------===//

static constexpr StringLiteral argsName = TEQuantDialect::argsAttrName,
                               resultsName = TEQuantDialect::resultsAttrName;

/// One entry for each flattened type.
static ArrayAttr describeBoundary(Builder &b, TypeRange types,
                                  bool areArguments) {
  SmallVector<Attribute> entries;
  auto add = [&](size_t position, StringAttr name, Type type) {
    entries.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("position", b.getI64IntegerAttr(position)),
         b.getNamedAttr("name", name),
         b.getNamedAttr("type", TypeAttr::get(type))}));
  };
  for (auto [position, type] : llvm::enumerate(types)) {
    if (auto spec = dyn_cast<TensorSpecType>(type)) {
      for (auto [name, inner] : llvm::zip_equal(spec.getLayout().getNames(),
                                                spec.getInnerTypes()))
        add(position, name, inner);
      continue;
    }
    bool isStream = areArguments && position + 1 == types.size() &&
                    isa<LLVM::LLVMPointerType>(type);
    StringRef name = isa<ShapedType>(type) ? "data"
                     : isStream            ? "stream"
                                           : "value";
    add(position, b.getStringAttr(name), type);
  }
  return b.getArrayAttr(entries);
}

void te::quant::setBoundaryAttributes(func::FuncOp func,
                                      const TypeConverter &converter) {
  if (func->hasAttr(argsName) && func->hasAttr(resultsName) &&
      converter.isSignatureLegal(func.getFunctionType()))
    return;
  Builder b(func.getContext());
  func->setAttr(argsName, describeBoundary(b, func.getArgumentTypes(),
                                           /*areArguments=*/true));
  func->setAttr(resultsName, describeBoundary(b, func.getResultTypes(),
                                              /*areArguments=*/false));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Attributes of arguments or results, repeated for each flattened part.
static ArrayAttr repeatAttrs(ArrayAttr attrs, ArrayRef<size_t> counts) {
  if (!attrs)
    return {};
  SmallVector<Attribute> repeated;
  for (auto [attr, count] : llvm::zip_equal(attrs, counts))
    repeated.append(count, attr);
  return ArrayAttr::get(attrs.getContext(), repeated);
}

namespace {
struct ExpandFuncOp : OpConversionPattern<func::FuncOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(func::FuncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FunctionType type = op.getFunctionType();
    TypeConverter::SignatureConversion signature(type.getNumInputs());
    SmallVector<Type> inputs, results;
    SmallVector<size_t> inputCounts, resultCounts;
    if (failed(convertTypes(*typeConverter, type.getInputs(), inputs,
                            inputCounts)) ||
        failed(convertTypes(*typeConverter, type.getResults(), results,
                            resultCounts)) ||
        failed(typeConverter->convertSignatureArgs(type.getInputs(),
                                                   signature)))
      return failure();
    if (!op.isExternal() &&
        failed(rewriter.convertRegionTypes(&op.getBody(), *typeConverter,
                                           &signature)))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setFunctionTypeAttr(
          TypeAttr::get(FunctionType::get(op.getContext(), inputs, results)));
      if (ArrayAttr attrs = repeatAttrs(op.getArgAttrsAttr(), inputCounts))
        op.setArgAttrsAttr(attrs);
      if (ArrayAttr attrs = repeatAttrs(op.getResAttrsAttr(), resultCounts))
        op.setResAttrsAttr(attrs);
    });
    return success();
  }
};

struct ExpandCallOp : OpConversionPattern<func::CallOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(func::CallOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> results;
    SmallVector<size_t> resultCounts;
    if (failed(convertTypes(*typeConverter, op.getResultTypes(), results,
                            resultCounts)))
      return failure();
    SmallVector<size_t> operandCounts = llvm::map_to_vector(
        adaptor.getOperands(), [](ValueRange range) { return range.size(); });
    auto call = func::CallOp::create(rewriter, op.getLoc(), op.getCalleeAttr(),
                                     results,
                                     flattenValues(adaptor.getOperands()));
    call.setNoInline(op.getNoInline());
    if (ArrayAttr attrs = repeatAttrs(op.getArgAttrsAttr(), operandCounts))
      call.setArgAttrsAttr(attrs);
    if (ArrayAttr attrs = repeatAttrs(op.getResAttrsAttr(), resultCounts))
      call.setResAttrsAttr(attrs);
    copyDiscardableAttrs(op, call);
    rewriter.replaceOpWithMultiple(
        op, splitValues(call.getResults(), resultCounts));
    return success();
  }
};
} // namespace

void te::quant::populateQuantExpandFuncPatterns(const TypeConverter &converter,
                                                RewritePatternSet &patterns) {
  patterns.add<ExpandFuncOp, ExpandCallOp>(converter, patterns.getContext());
}
