//===- Emulator.h - running kernels written as LLVM IR in tests -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_UNIT_EMULATOR_EMULATOR_H
#define TE_TEST_UNIT_EMULATOR_EMULATOR_H

#include "te/Runtime/te_runtime.h"

#include "gtest/gtest.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace te::emulator::test {

/// Bitcode of a module for nvptx64; `ir` has no triple of its own.
std::string assemble(const std::string &ir,
                     const std::string &triple = "nvptx64-nvidia-cuda");

/// The calling thread's error, or "".
std::string getError();

/// A kernel module that is unloaded at the end.
class Module {
public:
  explicit Module(const std::string &ir);
  ~Module() { mgpuModuleUnload(handle); }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  void *getFunction(const std::string &name) const {
    return mgpuModuleGetFunction(handle, name.c_str());
  }

  void *handle;
};

/// Device memory that is freed at the end.
template <typename T>
class Buffer {
public:
  explicit Buffer(size_t count) : count(count) {
    data = static_cast<T *>(mgpuMemAlloc(count * sizeof(T), nullptr, false));
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
    mgpuMemcpy(data, const_cast<T *>(values.data()), count * sizeof(T),
               nullptr);
  }
  ~Buffer() { mgpuMemFree(data, nullptr); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  std::vector<T> read() const {
    std::vector<T> values(count);
    mgpuMemcpy(values.data(), data, count * sizeof(T), nullptr);
    return values;
  }

  T *data;
  size_t count;
};

struct Size {
  intptr_t x = 1, y = 1, z = 1;
};

/// Launches a kernel with arguments of any trivial types; buffers are passed as
/// their address.
template <typename... Args>
void launch(const Module &module, const std::string &name, Size grid,
            Size block, int32_t smem, Args... args) {
  void *params[] = {static_cast<void *>(&args)..., nullptr};
  mgpuLaunchKernel(module.getFunction(name), grid.x, grid.y, grid.z, block.x,
                   block.y, block.z, smem, nullptr, params, nullptr,
                   sizeof...(args));
}

/// Starts and ends each test without error and with default options.
class EmulatorTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
};

/// A module with one kernel @k, and the declarations that kernels need most.
/// `body` may use %tid (i32), %idx (i64, of the thread in the grid) and the
/// arguments of `params`.
std::string makeKernel(const std::string &params, const std::string &body,
                       const std::string &globals = "");

/// Runs `body` once for each row, on one thread each. It computes %r from %a, %b
/// and %c, all i64; `globals` declares what it calls.
std::vector<uint64_t>
evaluate(const std::string &globals, const std::string &body,
         const std::vector<std::array<uint64_t, 3>> &rows);

/// As above for f32 operands %x, %y, %z and the f32 result %w, as bits.
std::vector<uint32_t>
evaluateF32(const std::string &globals, const std::string &body,
            const std::vector<std::array<uint32_t, 3>> &rows);

} // namespace te::emulator::test

#endif // TE_TEST_UNIT_EMULATOR_EMULATOR_H
