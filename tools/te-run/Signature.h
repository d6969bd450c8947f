//===- Signature.h - what a lowered function takes and returns ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_SIGNATURE_H
#define TE_RUN_SIGNATURE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace te::run {

/// One argument or result after flattening.
struct BoundaryValue {
  /// The number of the original argument or result.
  int64_t position;
  /// The inner tensor's name; `data` for a plain tensor, `value` for a scalar.
  std::string name;
  /// A tensor's element type or the scalar's type; null for a stream.
  mlir::Type elementType;
  /// Bytes of one element in memory.
  unsigned elementSize = 0;
  /// A tensor's sizes, `ShapedType::kDynamic` where unknown; none for a scalar.
  std::optional<llvm::SmallVector<int64_t>> shape;
  /// For a result: the flattened argument whose buffer it is.
  std::optional<unsigned> tiedArgument;

  bool isStream() const { return !elementType; }
  bool isTensor() const { return shape.has_value(); }
};

/// The flattened arguments and results of a function. Results that are tied to
/// an argument are listed, but not part of what the function returns.
struct Signature {
  llvm::SmallVector<BoundaryValue> arguments;
  llvm::SmallVector<BoundaryValue> results;

  /// The arguments that come from the caller of the program, without the
  /// stream.
  llvm::ArrayRef<BoundaryValue> getInputs() const {
    llvm::ArrayRef<BoundaryValue> inputs = arguments;
    if (!inputs.empty() && inputs.back().isStream())
      return inputs.drop_back();
    return inputs;
  }
};

/// Reads the signature from the attributes that expansion leaves on a function
/// (`te_quant.args`, `te_quant.results`, `te_quant.tied`) and checks that the
/// lowered function has it: memref descriptors in the form that func-to-llvm
/// gives them, scalars, and last a stream.
llvm::Expected<Signature> getSignature(mlir::LLVM::LLVMFuncOp function);

/// Prints a shape and an element type as a tensor type does, e.g. `2x?xf32`.
std::string formatShape(llvm::ArrayRef<int64_t> shape);
std::string formatType(const BoundaryValue &value);

/// Returns the bytes of a tensor of that shape, or none if 63 bits are too few.
std::optional<int64_t> getSizeInBytes(llvm::ArrayRef<int64_t> shape,
                                      unsigned elementSize);

} // namespace te::run

#endif // TE_RUN_SIGNATURE_H
