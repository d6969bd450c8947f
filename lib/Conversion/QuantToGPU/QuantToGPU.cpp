//===- QuantToGPU.cpp - kernels and launches for quantized ops ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Conversion/QuantToGPU/QuantToGPU.h"
#include "HostToGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Conversion/Passes.h"
#include "te/Target/TargetInfo.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTTOGPUPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {
struct QuantToGPU : te::quant::impl::QuantToGPUPassBase<QuantToGPU> {
  using QuantToGPUPassBase::QuantToGPUPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetInfo *target = TargetInfo::lookup(chip);
    if (!target) {
      emitError(module.getLoc())
          << "unknown chip '" << chip << "', expected one of "
          << TargetInfo::getKnownChips();
      return signalPassFailure();
    }
    if (failed(verifyRuntimeNames(module)))
      return signalPassFailure();
    StreamMap streams = addStreams(module);
    KernelContext kernels(module, *target, gemm == GemmLowering::Library);
    for (auto [function, stream] : streams)
      if (failed(lowerQuantOpsToLaunches(function, stream, kernels)) ||
          failed(lowerCollectives(function, stream)) ||
          failed(lowerHostCode(function, stream)))
        return signalPassFailure();
    attachTarget(module, *target);
  }

private:
  /// What calls of the runtime refer to is a function of the runtime: here and
  /// in upstream's conversions, which look at names alone.
  static LogicalResult verifyRuntimeNames(ModuleOp module) {
    for (Operation &op : *module.getBody()) {
      auto name =
          op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (!name || (function && function.isExternal()))
        continue;
      for (StringRef prefix : {"mgpu", "teRuntime"})
        if (name.getValue().starts_with(prefix))
          return op.emitOpError()
                 << "has the name '" << name.getValue()
                 << "', but names that begin with '" << prefix
                 << "' are the runtime's, which 'llvm.func' may declare";
    }
    return success();
  }

  /// Kernel modules are compiled for the chip with the PTX version it needs.
  static void attachTarget(ModuleOp module, const TargetInfo &target) {
    Builder builder(module.getContext());
    auto attr = NVVM::NVVMTargetAttr::get(module.getContext(), /*optLevel=*/3,
                                          "nvptx64-nvidia-cuda", target.chip,
                                          target.ptxFeature);
    module.walk([&](gpu::GPUModuleOp kernels) {
      kernels.setTargetsAttr(builder.getArrayAttr(attr));
    });
  }
};
} // namespace
