//===- Runtime.h - a GPU runtime that is opened at run time ---------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_RUNTIME_H
#define TE_RUN_RUNTIME_H

#include "te/Runtime/te_runtime.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace te::run {

/// The functions of te_runtime.h that we call ourselves.
struct Runtime {
  /// The library, for the engine to resolve the compiled code's calls with.
  std::string path;

  decltype(&::mgpuStreamCreate) streamCreate;
  decltype(&::mgpuStreamDestroy) streamDestroy;
  decltype(&::mgpuStreamSynchronize) streamSynchronize;
  decltype(&::mgpuMemAlloc) memAlloc;
  decltype(&::mgpuMemFree) memFree;
  decltype(&::mgpuMemcpy) memcpy;
  decltype(&::teRuntimeGetError) getError;
  decltype(&::teRuntimeClearError) clearError;
  decltype(&::teRuntimeSetGroup) setGroup;
  decltype(&::teEmulatorCommunicatorCreate) communicatorCreate;
  decltype(&::teEmulatorCommunicatorDestroy) communicatorDestroy;
  decltype(&::teEmulatorGetOptions) getOptions;
  decltype(&::teEmulatorSetOptions) setOptions;
  decltype(&::teEmulatorCallGuarded) callGuarded;
  decltype(&::teEmulatorGetFaultCount) getFaultCount;
  decltype(&::teEmulatorWriteStats) writeStats;

  /// Turns the sticky error of this thread, if there is one, into an error.
  llvm::Error takeError() const;
};

/// Opens the emulator from the library folder beside the executable's.
llvm::Expected<Runtime> openEmulator(llvm::StringRef executable);

/// Opens a library whose functions compiled code may call, for as long as the
/// process lives. It finds those of a runtime that was opened before.
llvm::Error loadLibrary(const std::string &path);

} // namespace te::run

#endif // TE_RUN_RUNTIME_H
