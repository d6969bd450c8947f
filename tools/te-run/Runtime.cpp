//===- Runtime.cpp - a GPU runtime that is opened at run time -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runtime.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace llvm;
using namespace te::run;

Error Runtime::takeError() const {
  const char *message = getError();
  if (!message)
    return Error::success();
  Error error = createStringError(Twine(message));
  clearError();
  return error;
}

Expected<Runtime> te::run::openEmulator(StringRef executable) {
  // The build tree has `bin` and `lib`; an installation may call its library
  // folder otherwise.
  Runtime runtime;
  SmallString<128> path;
  for (StringRef folder : {StringRef("lib"), StringRef(TE_RUN_LIBDIR)}) {
    path = sys::path::parent_path(sys::path::parent_path(executable));
    sys::path::append(path, folder, TE_RUN_EMULATOR_LIBRARY);
    if (sys::fs::exists(path))
      break;
  }
  std::string message;
  sys::DynamicLibrary library =
      sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return createStringError("cannot load the emulator: " + message);
  runtime.path = path.str().str();

  const char *missing = nullptr;
  auto resolve = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        library.getAddressOfSymbol(name));
    if (!function)
      missing = name;
  };
  resolve(runtime.streamCreate, "mgpuStreamCreate");
  resolve(runtime.streamDestroy, "mgpuStreamDestroy");
  resolve(runtime.streamSynchronize, "mgpuStreamSynchronize");
  resolve(runtime.memAlloc, "mgpuMemAlloc");
  resolve(runtime.memFree, "mgpuMemFree");
  resolve(runtime.memcpy, "mgpuMemcpy");
  resolve(runtime.getError, "teRuntimeGetError");
  resolve(runtime.clearError, "teRuntimeClearError");
  resolve(runtime.setGroup, "teRuntimeSetGroup");
  resolve(runtime.communicatorCreate, "teEmulatorCommunicatorCreate");
  resolve(runtime.communicatorDestroy, "teEmulatorCommunicatorDestroy");
  resolve(runtime.getOptions, "teEmulatorGetOptions");
  resolve(runtime.setOptions, "teEmulatorSetOptions");
  resolve(runtime.callGuarded, "teEmulatorCallGuarded");
  resolve(runtime.getFaultCount, "teEmulatorGetFaultCount");
  resolve(runtime.writeStats, "teEmulatorWriteStats");
  if (missing)
    return createStringError("the emulator '" + runtime.path +
                             "' lacks the function '" + missing + "'");
  return runtime;
}

Error te::run::loadLibrary(const std::string &path) {
  // Symbols are resolved now: one that is missing would end the process when
  // it is called.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    // The loader's message begins with the path.
    return createStringError(Twine("cannot load ") + dlerror());
  sys::DynamicLibrary::addPermanentLibrary(library);
  return Error::success();
}
