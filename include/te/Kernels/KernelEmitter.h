//===- KernelEmitter.h - kernels and the functions that launch them -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is named by all that it specialises on and takes extents as
// arguments, so that ops of one configuration share it. What a family has to
// write is a `KernelSpec`; the context makes of it the `gpu.func`s and the
// private function that picks and launches one.
//
//===----------------------------------------------------------------------===//

#ifndef TE_KERNELS_KERNELEMITTER_H
#define TE_KERNELS_KERNELEMITTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Kernels/InputProducer.h"
#include "te/Target/TargetInfo.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace te::quant {

class KernelBuilder;
class KernelContext;

/// Says at `op` that the family of `quantizer` has no kernel for it, and which
/// ones it has.
llvm::LogicalResult emitNoKernelError(mlir::Operation *op,
                                      mlir::Attribute quantizer);

/// A pointer argument of a launch function.
struct KernelPointer {
  enum Role {
    /// Read through the non-coherent cache, written by nobody.
    Input,
    /// Written, and read only by whom wrote it.
    Output,
    /// An operand of the op that the kernel does not need.
    Unused,
  };
  Role role;
  /// The alignment that every caller grants, in bytes.
  unsigned alignment = 1;
  /// Whether kernels with vector accesses use them on this pointer.
  bool isVector = false;
};

/// A two-dimensional grid of tiles (i64 values); blocks loop over its tiles.
struct TileGrid {
  mlir::Value rows, cols;
};

/// One kernel of a configuration.
struct KernelVariant {
  /// Bytes of a vector access; the suffix `_v<bytes>` of the kernel's name.
  unsigned vectorBytes;
  /// What the number of columns must be a multiple of.
  int64_t colsMultiple;
  /// Builds the body.
  std::function<void(KernelBuilder &)> emit;
  /// What the number of rows must be a multiple of.
  int64_t rowsMultiple = 1;
  /// The same of the third extent, where there is one.
  int64_t depthMultiple = 1;
};

/// All kernels of one configuration.
struct KernelSpec {
  /// Name of the kernels without the suffix for vectors.
  std::string name;
  /// Name that the launch function is made of, if not `name`.
  std::string launchName;
  /// What makes the input of a kernel that loads one.
  InputProducer input;
  /// One for each memref operand of the op, in order.
  llvm::SmallVector<KernelPointer> pointers;
  int64_t threadsPerBlock;
  /// The tiles of a tensor with these flattened extents.
  std::function<TileGrid(mlir::ImplicitLocOpBuilder &, mlir::Value rows,
                         mlir::Value cols)>
      getTiles;
  /// Best first; the last one must have no demands (vectors of one byte).
  llvm::SmallVector<KernelVariant> variants;
  /// Whether an empty tensor is work too; there must be a tile for it.
  bool runsOnEmpty = false;
  /// Whether kernels take a third extent, the contracted one of a product. It
  /// has no part in the tiles, and may be zero.
  bool hasDepth = false;
};

/// The kernels and launch functions of a module, made on demand.
class KernelContext {
public:
  /// Finds what an earlier run left in the module.
  KernelContext(mlir::ModuleOp module, const TargetInfo &target,
                bool usesLibraryGemm = false);

  const TargetInfo &getTarget() const { return target; }
  /// Whether matrix products are calls of the runtime.
  bool usesLibraryGemm() const { return libraryGemm; }

  /// The launch function of the kernels `name`, or null.
  mlir::func::FuncOp lookupLaunch(llvm::StringRef name) const {
    return launches.lookup(name);
  }

  /// Makes kernels and launch function. Kernels that exist are reused. Fails
  /// with an error at `loc` when a name is taken by something else.
  llvm::FailureOr<mlir::func::FuncOp> makeLaunch(mlir::Location loc,
                                                 const KernelSpec &spec);

  /// The same for several kernels that run one after the other, each on the
  /// pointers that it has a use for: a launch function `name` (their
  /// `launchName`s mean nothing).
  llvm::FailureOr<mlir::func::FuncOp>
  makeLaunch(mlir::Location loc, llvm::StringRef name,
             llvm::ArrayRef<KernelSpec> stages);

  /// The same for what is done on the host, by `emit`.
  llvm::FailureOr<mlir::func::FuncOp> makeLaunch(
      mlir::Location loc, llvm::StringRef name, unsigned numPointers,
      unsigned numExtents,
      llvm::function_ref<void(mlir::ImplicitLocOpBuilder &,
                              mlir::ValueRange pointers,
                              mlir::ValueRange extents, mlir::Value stream)>
          emit);

  mlir::ModuleOp getModule() const { return module; }

private:
  llvm::FailureOr<mlir::gpu::GPUFuncOp>
  getOrMakeKernel(mlir::Location loc, const KernelSpec &spec,
                  const KernelVariant &variant);
  llvm::FailureOr<mlir::gpu::GPUModuleOp> getOrMakeModule(mlir::Location loc);

  mlir::ModuleOp module;
  const TargetInfo &target;
  bool libraryGemm;
  mlir::gpu::GPUModuleOp kernelModule;
  llvm::StringMap<mlir::func::FuncOp> launches;
  llvm::StringMap<mlir::gpu::GPUFuncOp> kernels;
};

/// The launch function of a `gemm_into`: pointers, rows and columns of the
/// result, the contracted extent, the stream. Operands say by themselves how
/// they are read (`GemmOperand`).
llvm::FailureOr<mlir::func::FuncOp> emitGemm(GemmIntoOp op,
                                             KernelContext &context);

/// The launch function of a `column_sum_into`, which has no quantizer.
llvm::FailureOr<mlir::func::FuncOp> emitColumnSum(ColumnSumIntoOp op,
                                                  KernelContext &context);

/// How a type is spelled in the name of a kernel: `bf16`, `e4m3`.
llvm::StringRef getKernelTypeName(mlir::Type type);

/// Attaches the kernel emitters to the quantizers.
void registerKernelEmitters(mlir::DialectRegistry &registry);

/// The families that have kernels, for diagnostics.
llvm::ArrayRef<llvm::StringRef> getFamiliesWithKernels();

} // namespace te::quant

#include "te/Kernels/KernelInterfaces.h.inc"

#endif // TE_KERNELS_KERNELEMITTER_H
