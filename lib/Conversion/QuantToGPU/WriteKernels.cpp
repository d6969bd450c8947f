//===- WriteKernels.cpp - embedded kernels as files -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "te/Conversion/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTWRITEKERNELSPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;

static StringRef getExtension(gpu::CompilationTarget format) {
  switch (format) {
  case gpu::CompilationTarget::Assembly:
    return "ptx";
  case gpu::CompilationTarget::Binary:
    return "cubin";
  case gpu::CompilationTarget::Fatbin:
    return "fatbin";
  case gpu::CompilationTarget::Offload:
    return "bc";
  }
  return "bin";
}

namespace {
struct QuantWriteKernels
    : te::quant::impl::QuantWriteKernelsPassBase<QuantWriteKernels> {
  using QuantWriteKernelsPassBase::QuantWriteKernelsPassBase;

  void runOnOperation() override {
    if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
      emitError(getOperation().getLoc())
          << "cannot make folder '" << folder << "': " << error.message();
      return signalPassFailure();
    }
    for (auto binary : getOperation().getOps<gpu::BinaryOp>()) {
      for (Attribute attr : binary.getObjects()) {
        auto object = cast<gpu::ObjectAttr>(attr);
        SmallString<128> path(folder);
        llvm::sys::path::append(path, binary.getName() + "." +
                                          getExtension(object.getFormat()));
        // Embedded PTX ends with a null character that a file must not have.
        StringRef data = object.getObject().getValue();
        if (object.getFormat() == gpu::CompilationTarget::Assembly)
          data = data.take_until([](char c) { return c == '\0'; });
        llvm::Error error =
            llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
              os << data;
              return llvm::Error::success();
            });
        if (error) {
          emitError(binary.getLoc()) << "cannot write '" << path
                             << "': " << llvm::toString(std::move(error));
          return signalPassFailure();
        }
      }
    }
  }
};
} // namespace
