//===- consumer.cpp - a project that uses the installed dialect -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends with 0 when a type parses and has the layout of its quantizer.
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/Support/raw_ostream.h"

int main() {
  mlir::MLIRContext context;
  context.loadDialect<te::quant::TEQuantDialect>();
  mlir::Type type = mlir::parseType("!te_quant.tensor<2x48x64xbf16, "
                                    "#te_quant.mxfp8<f8E4M3FN>>",
                                    &context);
  auto spec = llvm::dyn_cast_or_null<te::quant::TensorSpecType>(type);
  if (!spec)
    return 1;
  llvm::SmallVector<mlir::Type> inners = spec.getInnerTypes();
  for (mlir::Type inner : inners)
    llvm::outs() << inner << "\n";
  return inners.size() == 4 &&
                 inners[1] ==
                     mlir::parseType("tensor<128x4xf8E8M0FNU>", &context)
             ? 0
             : 1;
}
