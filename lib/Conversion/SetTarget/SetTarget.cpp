//===- SetTarget.cpp - quantizers as a chip's GEMMs take them -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "te/Conversion/Passes.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Target/TargetInfo.h"
#include "llvm/ADT/TypeSwitch.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTSETTARGETPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

static QuantizerAttrInterface withGemmOrder(QuantizerAttrInterface quantizer) {
  return quantizer.hasGemmScaleOrder() ? quantizer.withOptimizeForGemm(true)
                                       : quantizer;
}

/// The quantizer whose inner tensors `op` has as operands or results, or null.
static Attribute getQuantizerOfInners(Operation *op) {
  return llvm::TypeSwitch<Operation *, Attribute>(op)
      .Case([](AssembleOp assemble) {
        return assemble.getResult().getType().getQuantizer();
      })
      .Case([](DisassembleOp disassemble) {
        return disassemble.getInput().getType().getQuantizer();
      })
      .Case<QuantizeIntoOp, DequantizeIntoOp, SwizzleIntoOp, DeriveIntoOp>(
          [](auto into) { return into.getQuantizer(); })
      .Default([](Operation *) { return Attribute(); });
}

/// Bytes that a program names stay in the order that they have, which no type
/// of theirs would tell.
static LogicalResult verifyGemmOrder(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](QuantizerAttrInterface quantizer) {
    return std::optional<Attribute>(withGemmOrder(quantizer));
  });
  WalkResult result = module.walk([&](Operation *op) {
    Attribute quantizer = getQuantizerOfInners(op);
    if (!quantizer || replacer.replace(quantizer) == quantizer)
      return WalkResult::advance();
    op->emitOpError() << "has scales in compact order as a tensor of their "
                         "own, which 'optimize-for-gemm' cannot reorder";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

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

    if (optimizeForGemm && failed(verifyGemmOrder(module)))
      return signalPassFailure();

    AttrTypeReplacer replacer;
    replacer.addReplacement([&](QuantizerAttrInterface quantizer) {
      quantizer = quantizer.withNonTNGemm(target->hasNonTNFP8Gemm);
      if (optimizeForGemm)
        quantizer = withGemmOrder(quantizer);
      return std::optional<Attribute>(quantizer);
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
