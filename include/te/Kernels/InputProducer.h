//===- InputProducer.h - how kernels make their input ---------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel reads its logical input through `KernelBuilder::loadInput` and
// its like, which inline the op's region after the loads. Nothing else in a
// kernel knows whether there is a region.
//
//===----------------------------------------------------------------------===//

#ifndef TE_KERNELS_INPUTPRODUCER_H
#define TE_KERNELS_INPUTPRODUCER_H

#include "te/Dialect/Quant/IR/QuantOps.h"

namespace te::quant {

class KernelBuilder;
struct KernelPointer;

/// Elements of the logical input that follow each other in a row: the offset of
/// the first one in the flattened tensor, and its row and column. These two may
/// be null; where they are needed they then cost a division.
struct InputIndex {
  mlir::Value offset, row = {}, col = {};
};

/// The inputs of an op and the region on their elements. The pointers of the
/// inputs are the first ones of a launch function. Refers to the op's region.
class InputProducer {
public:
  /// Of a kernel without a logical input.
  InputProducer() = default;
  explicit InputProducer(FusedInputOpInterface op);

  /// Element type of the logical input.
  mlir::Type getElementType() const { return elementType; }
  unsigned getNumPointers() const { return inputs.size(); }
  bool hasRegion() const { return body; }

  /// The pointers of the inputs; `isVector`: kernels with vector accesses use
  /// these for what has a value for each column.
  void appendPointers(llvm::SmallVectorImpl<KernelPointer> &pointers,
                      bool isVector = true) const;

  /// What tells the kernels with this region from those with another or none,
  /// at the end of a name.
  llvm::StringRef getNameSuffix() const { return nameSuffix; }

  /// The types of what is loaded to make `size` elements.
  llvm::SmallVector<mlir::Type> getLoadTypes(int64_t size) const;
  /// Loads what `size` elements at `index` are made of.
  llvm::SmallVector<mlir::Value> load(KernelBuilder &b, int64_t size,
                                      const InputIndex &index) const;
  /// Makes `size` elements, a scalar for one.
  mlir::Value apply(KernelBuilder &b, int64_t size,
                    mlir::ValueRange loaded) const;

private:
  struct Input {
    InputAccess access;
    mlir::Type elementType;
  };

  llvm::SmallVector<Input> inputs;
  mlir::Type elementType;
  /// Null without a region.
  mlir::Block *body = nullptr;
  std::string nameSuffix;
};

} // namespace te::quant

#endif // TE_KERNELS_INPUTPRODUCER_H
