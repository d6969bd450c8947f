//===- SignalGuard.h - faults of kernels and host code as errors ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_SIGNALGUARD_H
#define TE_RUNTIME_EMULATOR_SIGNALGUARD_H

#include <cstdint>
#include <memory>
#include <string>

namespace te::emulator {

/// Gives the calling thread a stack for signal handlers, if it has none, for
/// the life of the object.
class SignalStack {
public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;

private:
  std::unique_ptr<char[]> memory;
};

/// Installs the handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL for a scope, and
/// a signal stack for the calling thread. Signals that are not ours go to the
/// handlers before.
class SignalScope {
public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope &) = delete;
  SignalScope &operator=(const SignalScope &) = delete;

private:
  SignalStack stack;
};

/// Says what a signal of a kernel or of host code means.
std::string describeSignal(int signal, uint64_t address);

/// Runs `fn` and returns true, or the signal and the address that ended it.
bool callWithSignalGuard(void (*fn)(void *), void *arg, int &signal,
                         uint64_t &address);

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_SIGNALGUARD_H
