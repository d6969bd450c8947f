//===- ElementLoop.cpp - IR on elements, run over arrays ------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementLoop.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "te/Conversion/Passes.h"
#include "te/Conversion/Patterns.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/Runtime/te_runtime.h"
#include "te/Target/TargetInfo.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace te::test;
using te::numerics::Format;

std::string te::test::getTypeName(Format format) {
  switch (format) {
  case Format::F32:
    return "f32";
  case Format::BF16:
    return "bf16";
  case Format::F16:
    return "f16";
  case Format::E4M3:
    return "f8E4M3FN";
  case Format::E5M2:
    return "f8E5M2";
  case Format::E2M1:
    return "f4E2M1FN";
  case Format::E8M0:
    return "f8E8M0FNU";
  }
  llvm_unreachable("covered switch");
}

static std::string vectorOf(int lanes, const std::string &elementType) {
  return lanes == 1
             ? elementType
             : llvm::formatv("vector<{0}x{1}>", lanes, elementType).str();
}

static bool isPacked(Format format, int lanes) {
  return format == Format::E2M1 && lanes > 1;
}

static int getStorageBits(Format format) {
  return format == Format::E2M1 ? 8 : te::numerics::getWidth(format);
}

ElementLoop ElementLoop::cast(Format from, Format to, int lanes) {
  ElementLoop loop{from, to, lanes, ""};
  loop.ops = "%y = te_quant.cast %x : " + loop.inputType() + " to " +
             loop.outputType();
  return loop;
}

std::string ElementLoop::inputType() const {
  return vectorOf(lanes, getTypeName(from));
}

std::string ElementLoop::outputType() const {
  return vectorOf(lanes, getTypeName(to));
}

std::string ElementLoop::body() const {
  // What memory holds, and the ops between that and a value.
  auto stored = [&](Format format) {
    if (isPacked(format, lanes))
      return vectorOf(lanes / 2, "i8");
    return vectorOf(lanes, "i" + std::to_string(getStorageBits(format)));
  };
  // Vectors of three elements are padded, arrays are not.
  auto array = [&](Format format) {
    return llvm::formatv("!llvm.array<{0} x i{1}>",
                         isPacked(format, lanes) ? lanes / 2 : lanes,
                         getStorageBits(format))
        .str();
  };
  std::string load, store;
  if (isPacked(from, lanes))
    load = "%x = vector.bitcast %xb : " + stored(from) + " to " + inputType();
  else if (from == Format::E2M1)
    load = "%xt = arith.trunci %xb : i8 to i4\n"
           "%x = arith.bitcast %xt : i4 to f4E2M1FN";
  else
    load = "%x = arith.bitcast %xb : " + stored(from) + " to " + inputType();
  if (isPacked(to, lanes))
    store = "%yb = vector.bitcast %y : " + outputType() + " to " + stored(to);
  else if (to == Format::E2M1)
    store = "%yt = arith.bitcast %y : f4E2M1FN to i4\n"
            "%yb = arith.extui %yt : i4 to i8";
  else
    store = "%yb = arith.bitcast %y : " + outputType() + " to " + stored(to);
  return llvm::formatv(R"(
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %lanes = arith.constant {0} : i64
  %steps = arith.divui %n, %lanes : i64
  scf.for %i = %zero to %steps step %one : i64 {{
    %src = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {6}
    %dst = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {7}
    %xb = llvm.load %src {{alignment = 1 : i64} : !llvm.ptr -> {1}
    {3}
    {4}
    {5}
    llvm.store %yb, %dst {{alignment = 1 : i64} : {2}, !llvm.ptr
  })",
                       lanes, stored(from), stored(to), load, ops, store,
                       array(from), array(to))
      .str();
}

std::vector<uint32_t> Backend::run(const ElementLoop &loop,
                                   const std::vector<uint32_t> &inputs) {
  ElementFunction function = compile(loop);
  if (!function) {
    ADD_FAILURE() << "cannot compile " << loop.ops;
    return {};
  }
  // Elements are little-endian integers of one, two or four bytes.
  auto bytesPer = [](Format format) { return getStorageBits(format) / 8; };
  size_t size = (inputs.size() + loop.lanes - 1) / loop.lanes * loop.lanes;
  std::vector<uint8_t> in(size * bytesPer(loop.from));
  std::vector<uint8_t> out(size * bytesPer(loop.to));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (isPacked(loop.from, loop.lanes))
      in[i / 2] |= (inputs[i] & 0xF) << (i % 2 * 4);
    else
      std::memcpy(&in[i * bytesPer(loop.from)], &inputs[i],
                  bytesPer(loop.from));
  }
  function(in.data(), out.data(), static_cast<int64_t>(size));
  std::vector<uint32_t> results(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (isPacked(loop.to, loop.lanes))
      results[i] = out[i / 2] >> (i % 2 * 4) & 0xF;
    else
      std::memcpy(&results[i], &out[i * bytesPer(loop.to)], bytesPer(loop.to));
  }
  return results;
}

namespace {

/// One context for all backends, as loading all dialects takes a while.
MLIRContext &getContext() {
  static MLIRContext *context = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    DialectRegistry registry;
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    registerAllGPUToLLVMIRTranslations(registry);
    registry.insert<te::quant::TEQuantDialect>();
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

class CPUBackend : public Backend {
public:
  ElementFunction compile(const ElementLoop &loop) override {
    MLIRContext &context = getContext();
    std::string text =
        "func.func @loop(%in: !llvm.ptr, %out: !llvm.ptr, %n: i64) {\n" +
        loop.body() + "\nreturn\n}\n";
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return nullptr;
    RewritePatternSet math(&context);
    te::quant::populateExpandMathPatterns(math);
    if (failed(applyPatternsGreedily(*module, std::move(math))) ||
        failed(verifyMath(*module)))
      return nullptr;
    PassManager pm(&context);
    pm.addPass(te::quant::createQuantExpandCastsPass());
    pm.addPass(createSCFToControlFlowPass());
    pm.addPass(createConvertToLLVMPass());
    pm.addPass(createReconcileUnrealizedCastsPass());
    if (failed(pm.run(*module)))
      return nullptr;
    ExecutionEngineOptions options;
    options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
    llvm::Expected<std::unique_ptr<ExecutionEngine>> engine =
        ExecutionEngine::create(*module, options);
    if (!engine) {
      ADD_FAILURE() << llvm::toString(engine.takeError());
      return nullptr;
    }
    llvm::Expected<void *> symbol = (*engine)->lookup("loop");
    if (!symbol) {
      ADD_FAILURE() << llvm::toString(symbol.takeError());
      return nullptr;
    }
    auto *function =
        reinterpret_cast<void (*)(const void *, void *, int64_t)>(*symbol);
    // The result keeps its code alive.
    std::shared_ptr<ExecutionEngine> owner = std::move(*engine);
    return [function, owner](const void *in, void *out, int64_t n) {
      function(in, out, n);
    };
  }

private:
  /// The way to LLVM would call the math library for what is not expanded.
  static LogicalResult verifyMath(ModuleOp module) {
    return failure(
        module
            .walk([](Operation *op) {
              bool isLeft =
                  isa<math::MathDialect>(op->getDialect()) &&
                  !isa<math::AbsFOp, math::CeilOp, math::CopySignOp,
                       math::FloorOp, math::FmaOp, math::RoundEvenOp,
                       math::RsqrtOp, math::SqrtOp, math::TruncOp>(op);
              return isLeft ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted());
  }
};

class EmulatorBackend : public Backend {
public:
  explicit EmulatorBackend(std::string chip) : chip(std::move(chip)) {}

  ElementFunction compile(const ElementLoop &loop) override {
    const te::quant::TargetInfo *target = te::quant::TargetInfo::lookup(chip);
    if (!target)
      return nullptr;
    MLIRContext &context = getContext();
    std::string text =
        llvm::formatv("module attributes {{gpu.container_module} {{\n"
                      "gpu.module @kernels [#nvvm.target<chip = \"{0}\", "
                      "features = \"{1}\">] {{\n"
                      "gpu.func @loop(%in: !llvm.ptr, %out: !llvm.ptr, "
                      "%n: i64) kernel {{\n{2}\ngpu.return\n}\n}\n}\n",
                      chip, target->ptxFeature, loop.body())
            .str();
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return nullptr;
    PassManager pm(&context);
    OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
    kernels.addPass(te::quant::createQuantCastsToNVVMPass());
    kernels.addPass(te::quant::createQuantExpandCastsPass());
    kernels.addPass(te::quant::createQuantGPUToNVVMPass());
    GpuModuleToBinaryPassOptions binary;
    binary.compilationTarget = "llvm";
    pm.addPass(createGpuModuleToBinaryPass(binary));
    if (failed(pm.run(*module)))
      return nullptr;
    auto binaries = llvm::to_vector(module->getOps<gpu::BinaryOp>());
    auto object = cast<gpu::ObjectAttr>(binaries.front().getObjectsAttr()[0]);
    std::string bitcode = object.getObject().getValue().str();
    std::shared_ptr<void> handle(mgpuModuleLoad(bitcode.data(), bitcode.size()),
                                 mgpuModuleUnload);
    void *kernel = mgpuModuleGetFunction(handle.get(), "loop");
    // One thread runs the loop; sizes are those of whole elements.
    int64_t inBits = static_cast<int64_t>(getStorageBits(loop.from));
    int64_t outBits = static_cast<int64_t>(getStorageBits(loop.to));
    return [=](const void *in, void *out, int64_t n) {
      void *deviceIn = mgpuMemAlloc(n * inBits / 8, nullptr, false);
      void *deviceOut = mgpuMemAlloc(n * outBits / 8, nullptr, false);
      mgpuMemcpy(deviceIn, const_cast<void *>(in), n * inBits / 8, nullptr);
      void *params[] = {&deviceIn, &deviceOut, &n, nullptr};
      mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, /*smem=*/0, nullptr, params,
                       nullptr, /*paramsCount=*/3);
      mgpuMemcpy(out, deviceOut, n * outBits / 8, nullptr);
      mgpuMemFree(deviceIn, nullptr);
      mgpuMemFree(deviceOut, nullptr);
      if (const char *error = teRuntimeGetError())
        ADD_FAILURE() << error;
      teRuntimeClearError();
      static_cast<void>(handle);
    };
  }

private:
  std::string chip;
};

} // namespace

Backend &te::test::getBackend(const std::string &name) {
  static auto *backends = new std::map<std::string, std::unique_ptr<Backend>>;
  std::unique_ptr<Backend> &backend = (*backends)[name];
  if (!backend) {
    if (name == "cpu")
      backend = std::make_unique<CPUBackend>();
    else
      backend = std::make_unique<EmulatorBackend>(name);
  }
  return *backend;
}
