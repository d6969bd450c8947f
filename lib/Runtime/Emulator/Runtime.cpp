//===- Runtime.cpp - the mgpu* ABI on the emulated device -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is done when it is called, in the order of the calls: streams and
// events have nothing to wait for.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "ErrorState.h"
#include "Execution.h"
#include "Faults.h"
#include "KernelModule.h"
#include "SignalGuard.h"
#include "Statistics.h"
#include "te/Runtime/te_runtime.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

using namespace te::emulator;
using llvm::Twine;

namespace {
/// The limit of CUDA devices with the most shared memory.
constexpr int64_t maxSharedSize = 232448;

std::mutex optionsMutex;
TeEmulatorOptions currentOptions = {/*workers=*/0, /*checks=*/true,
                                    /*statistics=*/false,
                                    /*raceChecks=*/false};

/// Streams and events only have an identity.
struct Handle {};
} // namespace

void te::emulator::reportFault(const Twine &text) {
  std::string fault = text.str();
  StatisticsRegistry::get().addFault(fault);
  setError(fault);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

void *mgpuModuleLoad(void *data, size_t size) {
  if (hasError())
    return nullptr;
  llvm::Expected<std::unique_ptr<KernelModule>> module =
      KernelModule::load({static_cast<const char *>(data), size});
  if (!module) {
    setError(llvm::toString(module.takeError()));
    return nullptr;
  }
  return module->release();
}

void *mgpuModuleLoadJIT(void *data, int optLevel) {
  setError("the emulator does not run PTX: embed the kernels with format=llvm");
  return nullptr;
}

void mgpuModuleUnload(void *module) {
  delete static_cast<KernelModule *>(module);
}

void *mgpuModuleGetFunction(void *module, const char *name) {
  if (hasError() || !module)
    return nullptr;
  llvm::Expected<Kernel *> kernel =
      static_cast<KernelModule *>(module)->getKernel(name);
  if (!kernel) {
    setError(llvm::toString(kernel.takeError()));
    return nullptr;
  }
  return *kernel;
}

/// Checks a launch as the driver does. Returns a message if it is not valid.
static std::string checkLaunch(const Kernel &kernel,
                               const std::array<intptr_t, 3> &grid,
                               const std::array<intptr_t, 3> &block,
                               int32_t smem, size_t paramsCount) {
  auto format = [](const std::array<intptr_t, 3> &size) {
    return ("(" + Twine(size[0]) + "," + Twine(size[1]) + "," + Twine(size[2]) +
            ")")
        .str();
  };
  const std::array<intptr_t, 3> maxGrid = {INT32_MAX, 65535, 65535};
  const std::array<intptr_t, 3> maxBlock = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    if (grid[i] < 0 || grid[i] > maxGrid[i])
      return "expected a grid of at most " + format(maxGrid) +
             " blocks, but got " + format(grid);
    if (block[i] < 1 || block[i] > maxBlock[i])
      return "expected a block of 1 to " + format(maxBlock) +
             " threads, but got " + format(block);
  }
  if (block[0] * block[1] * block[2] > maxThreadsPerBlock)
    return (Twine("expected at most ") + Twine(maxThreadsPerBlock) +
            " threads per block, but got " + format(block))
        .str();
  if (kernel.requiredBlock &&
      !std::equal(block.begin(), block.end(), kernel.requiredBlock->begin())) {
    const auto &required = *kernel.requiredBlock;
    return "expected a block of " +
           format({required[0], required[1], required[2]}) +
           " threads, but got " + format(block);
  }
  if (smem < 0)
    return ("expected a size of dynamic shared memory, but got " + Twine(smem))
        .str();
  if (paramsCount != kernel.argumentCount)
    return ("expected " + Twine(kernel.argumentCount) + " arguments, but got " +
            Twine(paramsCount))
        .str();
  return {};
}

void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t smem, void *stream,
                      void **params, void **extra, size_t paramsCount) {
  if (hasError())
    return;
  if (!function)
    return setError("launch of a null kernel");
  Kernel &kernel = *static_cast<Kernel *>(function);
  std::string problem =
      checkLaunch(kernel, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, smem,
                  paramsCount);
  if (!problem.empty())
    return setError("launch of kernel '" + Twine(kernel.name) +
                    "': " + problem);
  if (gridX == 0 || gridY == 0 || gridZ == 0)
    return;

  TeEmulatorOptions options = teEmulatorGetOptions();
  bool reportsAccesses =
      options.checks || options.statistics || options.raceChecks;
  llvm::Expected<const KernelCode *> code =
      kernel.module->getCode(kernel, reportsAccesses);
  if (!code)
    return setError(llvm::toString(code.takeError()));
  int64_t sharedSize = int64_t((*code)->staticSharedSize) + smem;
  if (sharedSize > maxSharedSize)
    return setError("launch of kernel '" + Twine(kernel.name) + "': expected " +
                    "at most " + Twine(maxSharedSize) +
                    " bytes of shared memory, but got " + Twine(sharedSize));

  Launch launch;
  launch.kernel = *code;
  launch.params = params;
  launch.grid = {uint32_t(gridX), uint32_t(gridY), uint32_t(gridZ)};
  launch.block = {uint32_t(blockX), uint32_t(blockY), uint32_t(blockZ)};
  launch.dynamicSharedSize = static_cast<uint32_t>(smem);
  launch.collectsStatistics = options.statistics;
  launch.checksRaces = options.raceChecks;
  launch.allocations = DeviceMemory::get().snapshot();
  unsigned workers = options.workers > 0
                         ? static_cast<unsigned>(options.workers)
                         : std::max(1u, std::thread::hardware_concurrency());
  runLaunch(launch, workers);
  if (options.statistics)
    StatisticsRegistry::get().addLaunch(kernel.name, launch.grid, launch.block,
                                        static_cast<uint32_t>(sharedSize),
                                        launch.counts);
  if (!launch.fault.empty())
    reportFault(launch.fault);
}

void mgpuLaunchClusterKernel(void *, intptr_t, intptr_t, intptr_t, intptr_t,
                             intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                             int32_t, void *, void **, void **, size_t) {
  setError("the emulator does not support thread block clusters");
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

void *mgpuStreamCreate(void) { return hasError() ? nullptr : new Handle; }
void mgpuStreamDestroy(void *stream) { delete static_cast<Handle *>(stream); }
void mgpuStreamSynchronize(void *) {}
void mgpuStreamWaitEvent(void *, void *) {}

void *mgpuEventCreate(void) { return hasError() ? nullptr : new Handle; }
void mgpuEventDestroy(void *event) { delete static_cast<Handle *>(event); }
void mgpuEventSynchronize(void *) {}
void mgpuEventRecord(void *, void *) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *mgpuMemAlloc(uint64_t sizeInBytes, void *stream, bool isHostShared) {
  if (hasError())
    return nullptr;
  std::string error;
  void *memory = DeviceMemory::get().allocate(
      sizeInBytes, isHostShared, teEmulatorGetOptions().checks, error);
  if (!memory)
    setError(error);
  return memory;
}

void mgpuMemFree(void *ptr, void *stream) {
  if (ptr && !DeviceMemory::get().release(ptr))
    setError("mgpuMemFree of 0x" +
             Twine::utohexstr(reinterpret_cast<uint64_t>(ptr)) +
             ", which is no allocation");
}

bool te::emulator::checkRange(const void *address, uint64_t size,
                              const char *what) {
  std::string problem = DeviceMemory::get().checkRange(
      reinterpret_cast<uint64_t>(address), size, what);
  if (problem.empty())
    return true;
  reportFault(problem);
  return false;
}

void mgpuMemcpy(void *dst, void *src, size_t sizeInBytes, void *stream) {
  if (hasError() || sizeInBytes == 0 ||
      !checkRange(src, sizeInBytes, "mgpuMemcpy: read") ||
      !checkRange(dst, sizeInBytes, "mgpuMemcpy: write"))
    return;
  OpenScope open;
  memmove(dst, src, sizeInBytes);
}

template <typename T>
static void fill(void *dst, T value, size_t count, const char *what) {
  if (hasError() || count == 0 || !checkRange(dst, count * sizeof(T), what))
    return;
  OpenScope open;
  std::fill_n(static_cast<T *>(dst), count, value);
}

void mgpuMemset32(void *dst, unsigned int value, size_t count, void *stream) {
  fill<uint32_t>(dst, value, count, "mgpuMemset32: write");
}

void mgpuMemset16(void *dst, unsigned short value, size_t count,
                  void *stream) {
  fill<uint16_t>(dst, value, count, "mgpuMemset16: write");
}

void mgpuMemHostRegister(void *ptr, uint64_t sizeInBytes) {
  if (hasError() || sizeInBytes == 0)
    return;
  Allocation range;
  range.begin = reinterpret_cast<uint64_t>(ptr);
  range.size = sizeInBytes;
  range.description = "registered host memory";
  DeviceMemory::get().addRange(std::move(range));
}

void mgpuMemHostUnregister(void *ptr) {
  DeviceMemory::get().removeRange(reinterpret_cast<uint64_t>(ptr));
}

namespace {
/// A memref's descriptor is {allocated, aligned, offset, sizes[rank],
/// strides[rank]} in 64-bit words.
struct MemRefRange {
  MemRefRange(int64_t rank, const void *descriptor, int64_t elementSize) {
    const auto *words = static_cast<const int64_t *>(descriptor);
    const int64_t *sizes = words + 3, *strides = sizes + rank;
    int64_t last = 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (sizes[i] == 0)
        return;
      last += (sizes[i] - 1) * strides[i];
    }
    begin = static_cast<uint64_t>(words[1] + words[2] * elementSize);
    size = static_cast<uint64_t>((last + 1) * elementSize);
  }

  uint64_t begin = 0, size = 0;
};
} // namespace

void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                               int64_t elementSizeInBytes) {
  MemRefRange range(rank, descriptor, elementSizeInBytes);
  mgpuMemHostRegister(reinterpret_cast<void *>(range.begin), range.size);
}

void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                 int64_t elementSizeInBytes) {
  MemRefRange range(rank, descriptor, elementSizeInBytes);
  mgpuMemHostUnregister(reinterpret_cast<void *>(range.begin));
}

void mgpuSetDefaultDevice(int32_t device) {
  if (!hasError() && device != 0)
    setError("the emulator has device 0 only, but device " + Twine(device) +
             " was asked for");
}

//===----------------------------------------------------------------------===//
// The emulator's own functions
//===----------------------------------------------------------------------===//

TeEmulatorOptions teEmulatorGetOptions(void) {
  std::lock_guard<std::mutex> lock(optionsMutex);
  return currentOptions;
}

void teEmulatorSetOptions(TeEmulatorOptions options) {
  std::lock_guard<std::mutex> lock(optionsMutex);
  currentOptions = options;
}

int teEmulatorCallGuarded(void (*fn)(void *), void *arg) {
  DeviceMemory &memory = DeviceMemory::get();
  int openDepth = OpenScope::depth();
  int signal = 0;
  uint64_t address = 0;
  memory.addGuard();
  bool isComplete = callWithSignalGuard(fn, arg, signal, address);
  OpenScope::unwindTo(openDepth);
  memory.removeGuard();
  if (!isComplete) {
    if (memory.isDeviceOnly(address)) {
      std::shared_ptr<const AllocationTable> table = memory.snapshot();
      const Allocation *allocation = table->find(address);
      reportFault("host code accessed device memory at 0x" +
                  Twine::utohexstr(address) + " (" +
                  (allocation
                       ? "allocation of " + Twine(allocation->size) +
                             " bytes, offset " +
                             Twine(address - allocation->begin)
                       : Twine(table->describe(address, 1))) +
                  ")");
    } else {
      reportFault("fault in host code: " + describeSignal(signal, address));
    }
  }
  return isComplete && !hasError() ? 0 : 1;
}

uint64_t teEmulatorGetFaultCount(void) {
  return StatisticsRegistry::get().getFaultCount();
}

void teEmulatorResetStats(void) { StatisticsRegistry::get().reset(); }

int teEmulatorWriteStats(const char *path) {
  std::string problem = StatisticsRegistry::get().write(path);
  if (problem.empty())
    return 0;
  setError(problem);
  return 1;
}
