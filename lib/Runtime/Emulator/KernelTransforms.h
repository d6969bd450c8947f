//===- KernelTransforms.h - from NVPTX kernels to host code ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps from a kernel in NVVM IR to IR for the host, in order:
//
//   flattenKernel        the kernel and what it needs, without address spaces
//   placeSharedMemory    shared variables become offsets in a block's memory
//   lowerIntrinsics      llvm.nvvm.* become host IR and calls of the emulator
//   lowerArithmetic      rounding and NaN results as PTX defines them
//   instrumentAccesses   each access is reported before it happens
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_KERNELTRANSFORMS_H
#define TE_RUNTIME_EMULATOR_KERNELTRANSFORMS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace te::emulator {

/// A kernel on its way to host code, in a module of its own.
struct KernelUnit {
  std::unique_ptr<llvm::Module> module;
  llvm::Function *kernel = nullptr;
  /// Stand-ins for the shared variables, until they are placed.
  llvm::SmallVector<llvm::GlobalVariable *> sharedVariables;
  uint32_t staticSharedSize = 0;
  bool usesFibers = false;
  uint32_t siteCount = 0;
};

/// Returns an error that names what the emulator cannot run, if anything.
llvm::Error checkKernelModule(const llvm::Module &module);

/// Copies a kernel and the functions that it reaches to a new module. Global
/// variables become declarations; those that are constant keep their values
/// for the optimiser.
KernelUnit flattenKernel(llvm::Function &kernel);

/// Copies the definitions of global and constant variables to a new module.
std::unique_ptr<llvm::Module> flattenVariables(llvm::Module &module);

/// Says which variables flattenVariables defines.
bool isPlacedVariable(const llvm::GlobalVariable &variable);

/// The name of a variable in both.
std::string getVariableSymbol(const llvm::GlobalVariable &variable);

llvm::Error placeSharedMemory(KernelUnit &unit);
void lowerIntrinsics(KernelUnit &unit);
void lowerArithmetic(llvm::Module &module);
void instrumentAccesses(KernelUnit &unit);

/// Adds `void thunk(void **params)` of that name, which calls the kernel.
void addThunk(KernelUnit &unit, llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Shared by the steps
//===----------------------------------------------------------------------===//

/// Declares a function of DeviceFunctions.h. A pure one may be moved and
/// removed; the others stay where they are.
llvm::FunctionCallee getDeviceFunction(llvm::Module &module,
                                       llvm::StringRef name, llvm::Type *result,
                                       llvm::ArrayRef<llvm::Type *> arguments,
                                       bool isPure);

/// Reads fields of the running thread's ThreadState.
class ThreadStateReader {
public:
  explicit ThreadStateReader(llvm::Module &module) : module(module) {}

  /// Returns the instruction at a function's start that yields the state.
  llvm::Instruction *getState(llvm::Function &function);
  llvm::Value *read(llvm::IRBuilder<> &builder, llvm::Type *type,
                    size_t offset);

private:
  llvm::Module &module;
  llvm::DenseMap<llvm::Function *, llvm::Instruction *> stateOfFunction;
};

/// Metadata of loads that are the emulator's own and not the kernel's.
inline constexpr llvm::StringLiteral internalAccessMetadata = "te.internal";
/// Metadata of an instruction that yields the address of a shared variable;
/// holds the size.
inline constexpr llvm::StringLiteral objectSizeMetadata = "te.object";
/// Attribute of the declaration of an intrinsic: its name without llvm.nvvm.
inline constexpr llvm::StringLiteral intrinsicAttribute = "te.nvvm";

/// Returns the name without "llvm.nvvm." and type suffixes, or "".
llvm::StringRef getNVVMBaseName(const llvm::Function &function);

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_KERNELTRANSFORMS_H
