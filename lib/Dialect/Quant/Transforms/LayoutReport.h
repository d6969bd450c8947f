//===- LayoutReport.h - inner tensors and their bytes, to be printed ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H
#define TE_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H

#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/Support/JSON.h"
#include <variant>

namespace te::quant {

/// A size: a number, or an expression over the logical dims `d0, d1, ...`.
using LayoutSize = std::variant<int64_t, std::string>;

struct InnerReport {
  llvm::StringRef name;
  llvm::SmallVector<LayoutSize> shape;
  mlir::Type elementType;
  std::optional<int64_t> bytes;
};

/// Bytes are missing where a dim is dynamic.
struct TensorReport {
  TensorSpecType type;
  llvm::SmallVector<InnerReport> inners;
  std::optional<int64_t> bytes, nominalBytes;
};

TensorReport describeTensor(TensorSpecType type);

/// The sum, if it is known and fits.
std::optional<int64_t> addBytes(std::optional<int64_t> a,
                                std::optional<int64_t> b);

std::string toString(mlir::Type type);
std::string toText(llvm::ArrayRef<LayoutSize> shape);

/// A number, or "dynamic".
std::string toText(std::optional<int64_t> bytes);

void printJSON(llvm::json::OStream &json, const InnerReport &inner);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H
