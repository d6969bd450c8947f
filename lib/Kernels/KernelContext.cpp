//===- KernelContext.cpp - kernels and the functions that launch them -----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "te/Kernels/KernelBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

#include "te/Kernels/KernelInterfaces.cpp.inc"

static constexpr llvm::StringLiteral moduleName("te_quant_kernels");
static constexpr llvm::StringLiteral launchPrefix("te_quant_launch_");

/// Blocks of a grid for each multiprocessor: enough to fill it and to even out
/// blocks that finish early.
static constexpr int64_t blocksPerSM = 16;

StringRef te::quant::getKernelTypeName(Type type) {
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case<Float32Type>([](auto) { return "f32"; })
      .Case<BFloat16Type>([](auto) { return "bf16"; })
      .Case<Float16Type>([](auto) { return "f16"; })
      .Case<Float8E4M3FNType>([](auto) { return "e4m3"; })
      .Case<Float8E5M2Type>([](auto) { return "e5m2"; })
      .Case<Float8E8M0FNUType>([](auto) { return "e8m0"; })
      .Case<Float4E2M1FNType>([](auto) { return "e2m1"; })
      .Default([](Type) { return "unknown"; });
}

LogicalResult te::quant::emitNoKernelError(Operation *op, Attribute quantizer) {
  StringRef family = cast<QuantizerAttrInterface>(quantizer).getFamily();
  auto emitter = dyn_cast<KernelEmitterInterface>(quantizer);
  if (!emitter)
    return op->emitOpError()
           << "is not supported yet for '" << family
           << "', which has no kernels; families with kernels: "
           << llvm::join(getFamiliesWithKernels(), ", ");
  return op->emitOpError() << "is not supported yet for '" << family
                           << "', which has kernels for: "
                           << llvm::join(emitter.getSupportedOps(), ", ");
}

KernelContext::KernelContext(ModuleOp module, const TargetInfo &target,
                             bool usesLibraryGemm)
    : module(module), target(target), libraryGemm(usesLibraryGemm) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = function.getName();
    if (function.isPrivate() && !function.isDeclaration() &&
        name.consume_front(launchPrefix))
      launches[name] = function;
  }
  kernelModule = module.lookupSymbol<gpu::GPUModuleOp>(moduleName);
  if (kernelModule)
    for (auto kernel : kernelModule.getOps<gpu::GPUFuncOp>())
      kernels[kernel.getName()] = kernel;
}

FailureOr<gpu::GPUModuleOp> KernelContext::getOrMakeModule(Location loc) {
  if (kernelModule)
    return kernelModule;
  if (module.lookupSymbol(moduleName))
    return emitError(loc) << "expected the symbol '" << moduleName
                          << "' to be free for kernels, but it is taken";
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  kernelModule = gpu::GPUModuleOp::create(builder, module.getLoc(), moduleName);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  return kernelModule;
}

FailureOr<gpu::GPUFuncOp>
KernelContext::getOrMakeKernel(Location loc, const KernelSpec &spec,
                               const KernelVariant &variant) {
  std::string name = spec.name + "_v" + std::to_string(variant.vectorBytes);
  if (gpu::GPUFuncOp kernel = kernels.lookup(name))
    return kernel;
  FailureOr<gpu::GPUModuleOp> parent = getOrMakeModule(loc);
  if (failed(parent))
    return failure();

  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(parent->getBody());
  Type i64 = builder.getI64Type();
  Type pointerType = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types;
  for (const KernelPointer &pointer : spec.pointers)
    if (pointer.role != KernelPointer::Unused)
      types.push_back(pointerType);
  types.append(2 + spec.hasDepth, i64);
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(
      SmallVector<int32_t>{static_cast<int32_t>(spec.threadsPerBlock), 1, 1});
  unsigned next = 0;
  for (const KernelPointer &pointer : spec.pointers) {
    if (pointer.role == KernelPointer::Unused)
      continue;
    unsigned alignment = pointer.isVector
                             ? std::max(pointer.alignment, variant.vectorBytes)
                             : pointer.alignment;
    kernel.setArgAttr(next, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(alignment));
    kernel.setArgAttr(next, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
    if (pointer.role == KernelPointer::Input)
      kernel.setArgAttr(next, LLVM::LLVMDialect::getReadonlyAttrName(),
                        builder.getUnitAttr());
    ++next;
  }
  kernels[name] = kernel;
  KernelBuilder body(kernel, spec);
  variant.emit(body);
  return kernel;
}

/// Picks a kernel of one stage and launches it. The tensor has a tile.
static void emitStage(ImplicitLocOpBuilder &b, const TargetInfo &target,
                      const KernelSpec &spec,
                      ArrayRef<gpu::GPUFuncOp> functions, ValueRange pointers,
                      ValueRange extents, Value stream) {
  Value rows = extents[0], cols = extents[1];
  Value depth = spec.hasDepth ? extents[2] : Value();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  auto isZero = [&](Value value) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value,
                                 constant(0));
  };
  TileGrid tiles = spec.getTiles(b, rows, cols);
  Value blocks = arith::MinUIOp::create(
      b, arith::MulIOp::create(b, tiles.rows, tiles.cols),
      constant(target.numSMs * blocksPerSM));
  Value one = arith::ConstantIndexOp::create(b, 1);
  gpu::KernelDim3 grid = {
      arith::IndexCastOp::create(b, b.getIndexType(), blocks), one, one};
  gpu::KernelDim3 block = {
      arith::ConstantIndexOp::create(b, spec.threadsPerBlock), one, one};
  SmallVector<Value> kernelArguments;
  for (auto [pointer, value] : llvm::zip_equal(spec.pointers, pointers))
    if (pointer.role != KernelPointer::Unused)
      kernelArguments.push_back(value);
  llvm::append_range(kernelArguments, extents);

  for (auto [variant, kernel] : llvm::zip_equal(spec.variants, functions)) {
    // The addresses and the extents decide, all at once.
    Value bits;
    if (variant.vectorBytes > 1) {
      for (auto [pointer, value] : llvm::zip_equal(spec.pointers, pointers)) {
        if (!pointer.isVector)
          continue;
        Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), value);
        bits =
            bits ? arith::OrIOp::create(b, bits, address).getResult() : address;
      }
    }
    Value isFit;
    if (bits)
      isFit = isZero(
          arith::AndIOp::create(b, bits, constant(variant.vectorBytes - 1)));
    for (auto [extent, multiple] : {std::pair(cols, variant.colsMultiple),
                                    std::pair(rows, variant.rowsMultiple),
                                    std::pair(depth, variant.depthMultiple)}) {
      if (multiple <= 1)
        continue;
      Value isMultiple =
          isZero(arith::RemUIOp::create(b, extent, constant(multiple)));
      isFit = isFit ? arith::AndIOp::create(b, isFit, isMultiple).getResult()
                    : isMultiple;
    }
    Block *rest = nullptr;
    if (isFit) {
      auto branch = scf::IfOp::create(b, isFit, /*withElseRegion=*/true);
      rest = branch.elseBlock();
      b.setInsertionPointToStart(branch.thenBlock());
    }
    gpu::LaunchFuncOp::create(b, kernel, grid, block,
                              /*dynamicSharedMemorySize=*/Value(),
                              kernelArguments, stream.getType(), stream);
    if (!rest)
      break;
    b.setInsertionPointToStart(rest);
  }
}

FailureOr<func::FuncOp> KernelContext::makeLaunch(Location loc,
                                                  const KernelSpec &spec) {
  return makeLaunch(loc, spec.launchName.empty() ? spec.name : spec.launchName,
                    spec);
}

FailureOr<func::FuncOp>
KernelContext::makeLaunch(Location loc, StringRef shortName,
                          ArrayRef<KernelSpec> stages) {
  SmallVector<SmallVector<gpu::GPUFuncOp>> functions;
  for (const KernelSpec &spec : stages) {
    SmallVector<gpu::GPUFuncOp> &variants = functions.emplace_back();
    for (const KernelVariant &variant : spec.variants) {
      FailureOr<gpu::GPUFuncOp> kernel = getOrMakeKernel(loc, spec, variant);
      if (failed(kernel))
        return failure();
      variants.push_back(*kernel);
    }
  }

  const KernelSpec &first = stages.front();
  return makeLaunch(
      loc, shortName, first.pointers.size(), 2 + first.hasDepth,
      [&](ImplicitLocOpBuilder &b, ValueRange pointers, ValueRange extents,
          Value stream) {
        // A grid must have a block, which an empty tensor gives no work.
        Value zero = arith::ConstantIntOp::create(b, 0, 64);
        auto isNotZero = [&](Value value) -> Value {
          return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value,
                                       zero);
        };
        Value isWork = arith::AndIOp::create(b, isNotZero(extents[0]),
                                             isNotZero(extents[1]));
        Block *entry = b.getInsertionBlock();
        for (auto [spec, kernels] : llvm::zip_equal(stages, functions)) {
          b.setInsertionPointToEnd(entry);
          if (!spec.runsOnEmpty) {
            auto ifWork =
                scf::IfOp::create(b, isWork, /*withElseRegion=*/false);
            b.setInsertionPointToStart(ifWork.thenBlock());
          }
          emitStage(b, target, spec, kernels, pointers, extents, stream);
        }
      });
}

FailureOr<func::FuncOp> KernelContext::makeLaunch(
    Location loc, StringRef shortName, unsigned numPointers,
    unsigned numExtents,
    function_ref<void(ImplicitLocOpBuilder &, ValueRange, ValueRange, Value)>
        emit) {
  std::string name = (launchPrefix + shortName).str();
  if (module.lookupSymbol(name))
    return emitError(loc) << "expected the symbol '" << name
                          << "' to be free for a launch function, but it is "
                             "taken";

  MLIRContext *context = module.getContext();
  ImplicitLocOpBuilder b =
      ImplicitLocOpBuilder::atBlockEnd(loc, module.getBody());
  SmallVector<Type> types(numPointers, LLVM::LLVMPointerType::get(context));
  types.append(numExtents, b.getI64Type());
  types.push_back(gpu::AsyncTokenType::get(context));
  auto launch = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
  launch.setPrivate();
  launches[shortName] = launch;

  Block *entry = launch.addEntryBlock();
  b.setInsertionPointToStart(entry);
  ValueRange arguments = entry->getArguments();
  emit(b, arguments.take_front(numPointers),
       arguments.slice(numPointers, numExtents), arguments.back());
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b);
  return launch;
}
