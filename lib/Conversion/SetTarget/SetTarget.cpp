//===- SetTarget.cpp - quantizers as a chip's GEMMs take them -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "te/Conversion/Passes.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/Target/TargetInfo.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTSETTARGETPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
struct QuantSetTarget
    : te::quant::impl::QuantSetTargetPassBase<QuantSetTarget> {
  using QuantSetTargetPassBase::QuantSetTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetInfo *target = TargetInfo::lookup(chip);
    if (!target) {
      emitError(module.getLoc())
          << "unknown chip '" << chip << "', expected one of "
          << TargetInfo::getKnownChips();
      return signalPassFailure();
    }

    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](QuantizerAttrInterface quantizer) -> std::optional<Attribute> {
          quantizer = quantizer.withNonTNGemm(target->hasNonTNFP8Gemm);
          if (optimizeForGemm && quantizer.hasGemmScaleOrder())
            quantizer = quantizer.withOptimizeForGemm(true);
          return Attribute(quantizer);
        });
    // Only verification can tell whether the module may change: what does not
    // fit the new types may be an op of any dialect.
    OwningOpRef<ModuleOp> rewritten = module.clone();
    replacer.recursivelyReplaceElementsIn(
        *rewritten, /*replaceAttrs=*/true, /*replaceLocs=*/false,
        /*replaceTypes=*/true);
    if (failed(verifyRewritten(*rewritten)))
      return signalPassFailure();
    module->setAttrs(rewritten->getOperation()->getAttrDictionary());
    module.getBodyRegion().takeBody(rewritten->getBodyRegion());
  }

private:
  /// Errors of the verifier say what the module would be rewritten for.
  LogicalResult verifyRewritten(ModuleOp module) {
    auto addNote = [&](Diagnostic &diagnostic) {
      diagnostic.attachNote(module.getLoc())
          << "with the quantizers that '" << getArgument() << "' makes for '"
          << chip << "'";
      return failure();
    };
    ScopedDiagnosticHandler handler(&getContext(), addNote);
    return verify(module);
  }
};
} // namespace
