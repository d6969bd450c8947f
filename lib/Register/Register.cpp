//===- Register.cpp - the only lists of what exists -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Conversion/Passes.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/Dialect/Quant/Transforms/BufferizableOpInterfaceImpl.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "te/InitAll.h"
#include "te/Kernels/KernelEmitter.h"
#include "te/Pipelines/Pipelines.h"

using namespace mlir;

void te::quant::registerAllDialects(DialectRegistry &registry) {
  registry.insert<TEQuantDialect>();
}

void te::quant::registerAllExtensions(DialectRegistry &registry) {
  registerBufferizableOpInterfaceExternalModels(registry);
  registerKernelEmitters(registry);
}

void te::quant::registerAllPasses() {
  registerTEQuantTransformsPasses();
  registerConversionPasses();
}

void te::quant::registerAllPipelines() { registerPipelines(); }
