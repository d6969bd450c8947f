//===- BufferizableOpInterfaceImpl.h - bufferization of the quant dialect -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define TE_DIALECT_QUANT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace te::quant {

/// Attaches upstream's bufferization interface to the ops on inner tensors.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
