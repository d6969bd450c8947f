//===- LayoutCache.h - layouts by quantizer and nominal dtype -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_IR_LAYOUTCACHE_H
#define TE_LIB_DIALECT_QUANT_IR_LAYOUTCACHE_H

#include "mlir/IR/OpImplementation.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/RWMutex.h"

namespace te::quant {

/// Thread-safe: types are verified on any thread of a context.
class LayoutCache {
public:
  LayoutAttr get(QuantizerAttrInterface quantizer, mlir::Type nominalDtype);

private:
  llvm::sys::SmartRWMutex<true> mutex;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, LayoutAttr> layouts;
};

// Entry points of the two generated attribute files, joined by the dialect.
llvm::LogicalResult printLayoutAttribute(mlir::Attribute attr,
                                         mlir::AsmPrinter &printer);
mlir::OptionalParseResult parseQuantizerAttribute(mlir::AsmParser &parser,
                                                  llvm::StringRef *mnemonic,
                                                  mlir::Type type,
                                                  mlir::Attribute &attr);
llvm::LogicalResult printQuantizerAttribute(mlir::Attribute attr,
                                            mlir::AsmPrinter &printer);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_IR_LAYOUTCACHE_H
