//===- LayoutReport.h - what reports on tensors have in common ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H
#define TE_LIB_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace te::quant {

/// `FUNCTION.NAME`, the name as the module prints it, `argN` for arguments.
std::string getReportName(mlir::Value value, mlir::AsmState &state);

/// The bytes of a tensor, of a TensorSpec all its inner tensors; nothing where
/// dims are dynamic or 64 bits do not hold the sum.
std::optional<int64_t> getTotalBytes(mlir::Type type);

/// The sum, or nothing where a summand is missing or 64 bits do not hold it.
std::optional<int64_t> addBytes(std::optional<int64_t> a,
                                std::optional<int64_t> b);

/// A number, or `dynamic`.
std::string formatBytes(std::optional<int64_t> bytes);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_TRANSFORMS_LAYOUTREPORT_H
