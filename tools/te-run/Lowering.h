//===- Lowering.h - from a module to its entry in the LLVM dialect --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_LOWERING_H
#define TE_RUN_LOWERING_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace te::run {

/// Keeps the first error that MLIR reports as one line,
/// `FILE:LINE:COLUMN: error: MESSAGE`, and prints warnings in that form on
/// request. Notes and remarks are left to te-opt.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// Returns the error that was reported, or `fallback` if none was.
  llvm::Error takeError(llvm::StringRef fallback);

  void printWarnings(llvm::raw_ostream &stream);

private:
  std::string error;
  std::string warnings;
  mlir::ScopedDiagnosticHandler handler;
};

/// An error that says where it is and is printed as it stands.
class LocatedError : public llvm::ErrorInfo<LocatedError> {
public:
  static char ID;

  explicit LocatedError(std::string message) : text(std::move(message)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Finds the public function `entry` with a body and, unless the module is in
/// the LLVM dialect already, lowers what it needs for `chip`.
llvm::Expected<mlir::LLVM::LLVMFuncOp>
lowerEntry(mlir::ModuleOp module, llvm::StringRef entry, llvm::StringRef chip,
           DiagnosticCollector &diagnostics);

} // namespace te::run

#endif // TE_RUN_LOWERING_H
