//===- NarrowFloats.h - the element types that we convert ------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_CONVERSION_COMMON_NARROWFLOATS_H
#define TE_CONVERSION_COMMON_NARROWFLOATS_H

#include "mlir/IR/BuiltinTypes.h"

namespace te::quant {

/// f8E4M3FN, f8E5M2, f4E2M1FN and f8E8M0FNU, which LLVM holds as integers.
inline bool isNarrowFloat(mlir::Type elementType) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type,
                   mlir::Float4E2M1FNType, mlir::Float8E8M0FNUType>(
      elementType);
}

/// The types on the other side of a conversion: f32, bf16 and f16.
inline bool isWideFloat(mlir::Type elementType) {
  return llvm::isa<mlir::Float32Type, mlir::BFloat16Type, mlir::Float16Type>(
      elementType);
}

/// `type` with another element type; a scalar becomes the element type.
inline mlir::Type withElementType(mlir::Type type, mlir::Type elementType) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
    return shaped.clone(elementType);
  return elementType;
}

} // namespace te::quant

#endif // TE_CONVERSION_COMMON_NARROWFLOATS_H
