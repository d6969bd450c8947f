//===- KernelModule.h - loaded kernel modules -----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_KERNELMODULE_H
#define TE_RUNTIME_EMULATOR_KERNELMODULE_H

#include "Execution.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

namespace te::emulator {

class KernelModule;

/// What mgpuModuleGetFunction returns.
struct Kernel {
  KernelModule *module = nullptr;
  llvm::Function *function = nullptr;
  std::string name;
  size_t argumentCount = 0;
  /// The block size the kernel was compiled for, if it says so.
  std::optional<std::array<uint32_t, 3>> requiredBlock;
  /// Host code without and with reported accesses, compiled when first needed.
  std::array<std::unique_ptr<KernelCode>, 2> code;
};

class KernelModule {
public:
  /// Reads and checks LLVM bitcode.
  static llvm::Expected<std::unique_ptr<KernelModule>>
  load(llvm::StringRef bitcode);
  ~KernelModule();

  llvm::Expected<Kernel *> getKernel(llvm::StringRef name);

  llvm::Expected<const KernelCode *> getCode(Kernel &kernel,
                                             bool reportsAccesses);

private:
  KernelModule() = default;
  llvm::Error link();
  llvm::Error placeVariables();
  llvm::Expected<std::unique_ptr<KernelCode>> compile(Kernel &kernel,
                                                      bool reportsAccesses);

  std::mutex mutex;
  /// Messages of the reader and the compiler, which would go to stderr.
  std::string diagnostics;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::orc::JITDylib *library = nullptr;
  llvm::StringMap<std::unique_ptr<Kernel>> kernels;
  std::vector<uint64_t> variableAddresses;
};

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_KERNELMODULE_H
