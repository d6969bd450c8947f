//===- Patterns.h - patterns that expand TensorSpecs ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_PATTERNS_H
#define TE_DIALECT_QUANT_TRANSFORMS_PATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace te::quant {

/// Converts a TensorSpec into its inner builtin tensors in canonical order and
/// leaves other types alone. Materialises as `assemble` and `disassemble`.
class TensorSpecConverter : public mlir::TypeConverter {
public:
  TensorSpecConverter();
};

/// The patterns of one op or of one group of upstream ops.
void populateQuantExpandAssemblePatterns(const mlir::TypeConverter &converter,
                                         mlir::RewritePatternSet &patterns);
void populateQuantExpandCollectivesPatterns(
    const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateQuantExpandColumnSumPatterns(const mlir::TypeConverter &converter,
                                          mlir::RewritePatternSet &patterns);
void populateQuantExpandComposedPatterns(const mlir::TypeConverter &converter,
                                         mlir::RewritePatternSet &patterns);
void populateQuantExpandControlFlowPatterns(
    const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateQuantExpandDequantizePatterns(const mlir::TypeConverter &converter,
                                           mlir::RewritePatternSet &patterns);
void populateQuantExpandEmptyPatterns(const mlir::TypeConverter &converter,
                                      mlir::RewritePatternSet &patterns);
void populateQuantExpandFuncPatterns(const mlir::TypeConverter &converter,
                                     mlir::RewritePatternSet &patterns);
void populateQuantExpandGemmPatterns(const mlir::TypeConverter &converter,
                                     mlir::RewritePatternSet &patterns);
void populateQuantExpandQuantizePatterns(const mlir::TypeConverter &converter,
                                         mlir::RewritePatternSet &patterns);
void populateQuantExpandScalesPatterns(const mlir::TypeConverter &converter,
                                       mlir::RewritePatternSet &patterns);
void populateQuantExpandSwizzlePatterns(const mlir::TypeConverter &converter,
                                        mlir::RewritePatternSet &patterns);
void populateQuantExpandUpdateUsagePatterns(
    const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);

/// All of the above.
void populateQuantExpandPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_PATTERNS_H
