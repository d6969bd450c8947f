//===- RegisterKernels.cpp - which families have kernels ------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "te/Kernels/KernelEmitter.h"

using namespace mlir;
using namespace te::quant;

namespace {
struct Family {
  StringRef name;
  void (*attach)(MLIRContext *context);
};
} // namespace

/// One line for each family.
static constexpr Family families[] = {
    {CustomAttr::getMnemonic(), attachCustomKernels},
    {Float8BlockScalingAttr::getMnemonic(), attachFloat8BlockScalingKernels},
    {Float8CurrentScalingAttr::getMnemonic(),
     attachFloat8CurrentScalingKernels},
    {Float8DelayedScalingAttr::getMnemonic(),
     attachFloat8DelayedScalingKernels},
    {MXFP8Attr::getMnemonic(), attachMXFP8Kernels},
    {NVFP4Attr::getMnemonic(), attachNVFP4Kernels},
};

void te::quant::registerKernelEmitters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TEQuantDialect *) {
    for (const Family &family : families)
      family.attach(context);
  });
}

ArrayRef<StringRef> te::quant::getFamiliesWithKernels() {
  static const SmallVector<StringRef> names = llvm::map_to_vector(
      families, [](const Family &family) { return family.name; });
  return names;
}
