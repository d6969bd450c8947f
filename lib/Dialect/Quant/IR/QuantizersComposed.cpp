//===- QuantizersComposed.cpp - identity, hybrid and custom quantizers -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// Identity
//===----------------------------------------------------------------------===//

LogicalResult IdentityAttr::verify(function_ref<InFlightDiagnostic()>, Usage,
                                   bool, bool) {
  return success();
}

StringRef IdentityAttr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface IdentityAttr::withUsage(Usage usage) const {
  return get(getContext(), usage, getInternal(), getOptimizeForGemm());
}

QuantizerAttrInterface IdentityAttr::withInternal(bool internal) const {
  return get(getContext(), getUsage(), internal, getOptimizeForGemm());
}

QuantizerAttrInterface
IdentityAttr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getUsage(), getInternal(), optimizeForGemm);
}

bool IdentityAttr::isIdentity() const { return true; }

LayoutAttr IdentityAttr::computeLayout(Type nominalDtype) const {
  LayoutBuilder b(getContext());
  return b.add("hp_data", nominalDtype, {b.leading, b.cols}).build();
}

SmallVector<StringAttr> IdentityAttr::getCanonicalOrder() const {
  return getNames(getContext(), {"hp_data"});
}

SmallVector<BlockConstraint> IdentityAttr::getQuantizeConstraints() const {
  return {};
}

std::optional<SmallVector<BlockConstraint>>
IdentityAttr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>();
}

bool IdentityAttr::isRequantizationSafe() const { return true; }

bool IdentityAttr::isRowOnlyAllGather() const { return false; }

UsageChange IdentityAttr::getUsageChange(std::optional<Usage>) const {
  return {UsageChange::None};
}

//===----------------------------------------------------------------------===//
// Hybrid
//===----------------------------------------------------------------------===//

LogicalResult HybridAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 QuantizerAttrInterface rowwise,
                                 QuantizerAttrInterface columnwise, Usage usage,
                                 ColumnwiseSource columnwiseSource,
                                 bool internal, bool optimizeForGemm) {
  for (auto [name, child] : {std::pair<StringRef, QuantizerAttrInterface>(
                                 "rowwise", rowwise),
                             {"columnwise", columnwise}}) {
    if (!child)
      return emitError() << "expected a quantizer as the " << name << " child";
    if (isa<HybridAttr>(child))
      return emitError() << "expected a " << name
                         << " child that is not itself 'hybrid'";
    if (child.getUsage() != Usage::Both)
      return emitError() << "expected the " << name
                         << " child to leave 'usage' out, but got "
                         << stringifyUsage(child.getUsage());
    if (!child.withUsage(Usage::Rowwise))
      return emitError() << "expected a " << name
                         << " child with a usage, but got '"
                         << child.getFamily() << "'";
  }
  return success();
}

StringRef HybridAttr::getFamily() const { return getMnemonic(); }

QuantizerAttrInterface HybridAttr::getRowwiseChild() const {
  return getRowwise().withUsage(Usage::Rowwise);
}

QuantizerAttrInterface HybridAttr::getColumnwiseChild() const {
  return getColumnwise().withUsage(Usage::Columnwise);
}

SmallVector<QuantizerComponent> HybridAttr::getComponents() const {
  SmallVector<QuantizerComponent> components;
  if (hasRowwise())
    components.push_back({getRowwiseChild()});
  if (hasColumnwise()) {
    bool readsDecoded =
        getColumnwiseSource() == ColumnwiseSource::RowwiseDequantized;
    components.push_back(
        {getColumnwiseChild(),
         readsDecoded ? Attribute(getRowwiseChild()) : Attribute()});
  }
  return components;
}

QuantizerAttrInterface HybridAttr::withUsage(Usage usage) const {
  return get(getContext(), getRowwise(), getColumnwise(), usage,
             getColumnwiseSource(), getInternal(), getOptimizeForGemm());
}

QuantizerAttrInterface HybridAttr::withInternal(bool internal) const {
  return get(getContext(), getRowwise(), getColumnwise(), getUsage(),
             getColumnwiseSource(), internal, getOptimizeForGemm());
}

QuantizerAttrInterface
HybridAttr::withOptimizeForGemm(bool optimizeForGemm) const {
  return get(getContext(), getRowwise(), getColumnwise(), getUsage(),
             getColumnwiseSource(), getInternal(), optimizeForGemm);
}

/// Name of a child's inner tensor inside the hybrid: prefixed once.
static std::string prefixed(StringRef prefix, StringRef name) {
  return name.starts_with(prefix) ? name.str() : (prefix + name).str();
}

// V-32: names by direction.
LayoutAttr HybridAttr::computeLayout(Type nominalDtype) const {
  SmallVector<StringAttr> names;
  SmallVector<Type> elementTypes;
  SmallVector<AffineMap> shapes;
  auto append = [&](StringRef prefix, QuantizerAttrInterface child) {
    LayoutAttr layout = child.computeLayout(nominalDtype);
    for (StringAttr name : layout.getNames())
      names.push_back(StringAttr::get(getContext(), prefixed(prefix, name)));
    llvm::append_range(elementTypes, layout.getElementTypes());
    llvm::append_range(shapes, layout.getShapes());
  };
  if (hasRowwise())
    append("rowwise_", getRowwiseChild());
  if (hasColumnwise())
    append("columnwise_", getColumnwiseChild());
  return LayoutAttr::get(getContext(), names, elementTypes, shapes);
}

SmallVector<StringAttr> HybridAttr::getCanonicalOrder() const {
  SmallVector<StringAttr> order;
  auto append = [&](StringRef prefix, QuantizerAttrInterface child) {
    for (StringAttr name : child.getCanonicalOrder())
      order.push_back(StringAttr::get(getContext(), prefixed(prefix, name)));
  };
  append("rowwise_", getRowwiseChild());
  append("columnwise_", getColumnwiseChild());
  return order;
}

SmallVector<BlockConstraint> HybridAttr::getQuantizeConstraints() const {
  SmallVector<BlockConstraint> constraints;
  if (hasRowwise())
    llvm::append_range(constraints, getRowwiseChild().getQuantizeConstraints());
  if (hasColumnwise())
    llvm::append_range(constraints,
                       getColumnwiseChild().getQuantizeConstraints());
  return constraints;
}

/// Whether quantizing goes through the rowwise child, present or not.
static bool readsRowwise(HybridAttr hybrid) {
  return hybrid.hasRowwise() ||
         hybrid.getColumnwiseSource() == ColumnwiseSource::RowwiseDequantized;
}

LogicalResult
HybridAttr::verifyQuantize(function_ref<InFlightDiagnostic()> emitError,
                           Type nominalDtype) const {
  if (readsRowwise(*this) &&
      failed(getRowwiseChild().verifyQuantize(emitError, nominalDtype)))
    return failure();
  if (hasColumnwise())
    return getColumnwiseChild().verifyQuantize(emitError, nominalDtype);
  return success();
}

QuantizeSignature HybridAttr::getQuantizeSignature() const {
  QuantizeSignature signature;
  auto merge = [&](QuantizerAttrInterface child) {
    QuantizeSignature other = child.getQuantizeSignature();
    signature.takesScale |= other.takesScale;
    signature.returnsAmax |= other.returnsAmax;
    signature.takesRandomState |= other.takesRandomState;
  };
  if (readsRowwise(*this))
    merge(getRowwiseChild());
  if (hasColumnwise())
    merge(getColumnwiseChild());
  return signature;
}

std::optional<SmallVector<BlockConstraint>>
HybridAttr::getGatherConstraints() const {
  return SmallVector<BlockConstraint>();
}

bool HybridAttr::isRequantizationSafe() const {
  if (readsRowwise(*this) && !getRowwiseChild().isRequantizationSafe())
    return false;
  return !hasColumnwise() || getColumnwiseChild().isRequantizationSafe();
}

//
bool HybridAttr::isReconstructible() const {
  return getColumnwiseSource() == ColumnwiseSource::Original ||
         getRowwiseChild().isRequantizationSafe();
}

bool HybridAttr::isRowOnlyAllGather() const {
  return getRowwiseChild().isRowOnlyAllGather() ||
         isa<NVFP4Attr>(getColumnwise());
}

UsageChange HybridAttr::getUsageChange(std::optional<Usage> usage) const {
  if (usage == getUsage())
    return {UsageChange::None};
  if (!usage || getUsage() == Usage::Both)
    return {UsageChange::Drop};
  return {UsageChange::Illegal, hasRowwise() ? columnwiseNotDerivable
                                             : rowwiseNotDerivable};
}

//===----------------------------------------------------------------------===//
// Custom
//===----------------------------------------------------------------------===//

LogicalResult CustomAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringAttr format, LayoutAttr layout,
                                 ArrayAttr storageOrder, StringAttr quantize,
                                 StringAttr dequantize, bool internal) {
  if (format.empty())
    return emitError() << "expected a name";
  if (storageOrder)
    for (Attribute entry : storageOrder)
      if (!isa<StringAttr>(entry))
        return emitError() << "expected storage_order to list names, but got '"
                           << entry << "'";
  return success();
}

StringRef CustomAttr::getFamily() const { return getMnemonic(); }

/// The usage that the name of an inner tensor says.
static std::optional<Usage> getNamedUsage(StringAttr name) {
  if (name.getValue().starts_with("rowwise_"))
    return Usage::Rowwise;
  if (name.getValue().starts_with("columnwise_"))
    return Usage::Columnwise;
  return std::nullopt;
}

Usage CustomAttr::getUsage() const {
  uint32_t usage = 0;
  for (StringAttr name : getLayout().getNames())
    usage |= static_cast<uint32_t>(getNamedUsage(name).value_or(Usage::Both));
  return usage == 0 ? Usage::Both : static_cast<Usage>(usage);
}

QuantizerAttrInterface CustomAttr::withUsage(Usage usage) const {
  if (usage == getUsage())
    return *this;
  if (!QuantizerAttrInterface::includes(getUsage(), usage))
    return {};
  SmallVector<StringAttr> names;
  SmallVector<Type> elementTypes;
  SmallVector<AffineMap> shapes;
  LayoutAttr layout = getLayout();
  for (auto [index, name] : llvm::enumerate(layout.getNames())) {
    std::optional<Usage> named = getNamedUsage(name);
    if (!named)
      return {};
    if (*named != usage)
      continue;
    names.push_back(name);
    elementTypes.push_back(layout.getElementTypes()[index]);
    shapes.push_back(layout.getShapes()[index]);
  }
  return get(getContext(), getFormat(),
             LayoutAttr::get(getContext(), names, elementTypes, shapes),
             getStorageOrder(), getQuantize(), getDequantize(), getInternal());
}

QuantizerAttrInterface CustomAttr::withInternal(bool internal) const {
  return get(getContext(), getFormat(), getLayout(), getStorageOrder(),
             getQuantize(), getDequantize(), internal);
}

bool CustomAttr::getOptimizeForGemm() const { return false; }

QuantizerAttrInterface CustomAttr::withOptimizeForGemm(bool) const {
  return *this;
}

LayoutAttr CustomAttr::computeLayout(Type) const { return getLayout(); }

SmallVector<StringAttr> CustomAttr::getCanonicalOrder() const {
  if (!getStorageOrder())
    return llvm::to_vector(getLayout().getNames());
  return llvm::map_to_vector(getStorageOrder(), [](Attribute name) {
    return cast<StringAttr>(name);
  });
}

SmallVector<BlockConstraint> CustomAttr::getQuantizeConstraints() const {
  return {};
}

LogicalResult
CustomAttr::verifyQuantize(function_ref<InFlightDiagnostic()> emitError,
                           Type) const {
  if (getQuantize())
    return success();
  return emitError() << "expected custom quantizer '" << getFormat().getValue()
                     << "' to name a 'quantize' function";
}

std::optional<SmallVector<BlockConstraint>>
CustomAttr::getGatherConstraints() const {
  return std::nullopt;
}

bool CustomAttr::isRequantizationSafe() const { return false; }

bool CustomAttr::isRowOnlyAllGather() const { return false; }

UsageChange CustomAttr::getUsageChange(std::optional<Usage> usage) const {
  if (usage == getUsage())
    return {UsageChange::None};
  if (usage && withUsage(*usage))
    return {UsageChange::Drop};
  return {UsageChange::Illegal, "a custom layout has no such usage"};
}
