//===- te-plugin.cpp - the quant dialect for a stock mlir-opt -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Load it as a dialect plugin and as a pass plugin. Everything but the two entry
// points is hidden, so that it can stand beside other plugins.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "te/InitAll.h"

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default")))
::mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "TEQuant", "0.1.0",
          [](mlir::DialectRegistry *registry) {
            te::quant::registerAllDialects(*registry);
            te::quant::registerAllExtensions(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default")))
::mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "TEQuant", "0.1.0", [] {
            te::quant::registerAllPasses();
            te::quant::registerAllPipelines();
          }};
}
