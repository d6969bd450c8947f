//===- Lowering.cpp - from a module to its entry in the LLVM dialect ------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mlir;
using namespace te::run;

char LocatedError::ID = 0;

//===----------------------------------------------------------------------===//
// DiagnosticCollector
//===----------------------------------------------------------------------===//

/// Prints a diagnostic in one line, without a location where there is none.
static std::string formatDiagnostic(Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  std::replace(message.begin(), message.end(), '\n', ' ');
  StringRef severity = diagnostic.getSeverity() == DiagnosticSeverity::Error
                           ? "error"
                           : "warning";
  auto location = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (!location)
    return ("te-run: " + severity + ": " + message).str();
  return (location.getFilename().getValue() + ":" + Twine(location.getLine()) +
          ":" + Twine(location.getColumn()) + ": " + severity + ": " + message)
      .str();
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
          if (error.empty())
            error = formatDiagnostic(diagnostic);
        } else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning) {
          warnings += formatDiagnostic(diagnostic) + '\n';
        }
        return success();
      }) {}

Error DiagnosticCollector::takeError(StringRef fallback) {
  if (error.empty())
    return createStringError(Twine(fallback));
  return make_error<LocatedError>(std::exchange(error, {}));
}

void DiagnosticCollector::printWarnings(raw_ostream &stream) {
  stream << warnings;
}

//===----------------------------------------------------------------------===//
// lowerEntry
//===----------------------------------------------------------------------===//

static bool isCallableFromOutside(Operation &op) {
  if (!isa<func::FuncOp, LLVM::LLVMFuncOp>(op) ||
      !cast<SymbolOpInterface>(op).isPublic())
    return false;
  auto function = cast<FunctionOpInterface>(op);
  // The C interface of a lowered function is another way to call it, not
  // another function.
  return !function.isExternal() &&
         !function.getName().starts_with("_mlir_ciface_");
}

static Error checkEntry(ModuleOp module, StringRef entry) {
  std::string names;
  for (Operation &op : *module.getBody()) {
    if (!isCallableFromOutside(op))
      continue;
    StringRef name = cast<FunctionOpInterface>(op).getName();
    if (name == entry)
      return Error::success();
    names += (Twine(names.empty() ? "" : ", ") + name).str();
  }
  return createStringError(
      "expected the entry to be a public function with a body, of which the "
      "module has " +
      (names.empty() ? "none" : names) + "; but got '" + entry + "'");
}

static bool isLowered(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return isa<func::FuncDialect, te::quant::TEQuantDialect>(op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Makes all functions private that the entry may not need, so that dead ones
/// go away. Quantizers name functions by strings; what any string in an
/// attribute or type names stays.
static void hideOtherFunctions(ModuleOp module, StringRef entry) {
  llvm::StringSet<> names;
  AttrTypeWalker walker;
  walker.addWalk([&](StringAttr string) { names.insert(string.getValue()); });
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != SymbolTable::getSymbolAttrName())
        walker.walk(attribute.getValue());
    for (mlir::Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (mlir::Type type : block.getArgumentTypes())
          walker.walk(type);
  });
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getName() != entry && !names.contains(function.getName()))
      function.setPrivate();
}

Expected<LLVM::LLVMFuncOp>
te::run::lowerEntry(ModuleOp module, StringRef entry, StringRef chip,
                    DiagnosticCollector &diagnostics) {
  if (Error error = checkEntry(module, entry))
    return error;
  if (!isLowered(module)) {
    hideOtherFunctions(module, entry);
    PassManager manager(module->getName());
    manager.addPass(createSymbolDCEPass());
    std::string message;
    raw_string_ostream stream(message);
    if (failed(parsePassPipeline(
            ("te-quant-gpu-pipeline{chip=" + chip + " format=llvm}").str(),
            manager, stream)))
      return createStringError("cannot build the pipeline: " + message);
    if (failed(manager.run(module)))
      return diagnostics.takeError("the pipeline failed");
  }
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(entry);
  if (!function || function.isExternal())
    return createStringError("the pipeline left no function '" + entry +
                             "' in the LLVM dialect");
  return function;
}
