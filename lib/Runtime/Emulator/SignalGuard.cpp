//===- SignalGuard.cpp - faults of kernels and host code as errors --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SignalGuard.h"

#include "Execution.h"

#include "llvm/ADT/Twine.h"

#include <array>
#include <csetjmp>
#include <csignal>
#include <mutex>

using namespace te::emulator;
using llvm::Twine;

namespace {

constexpr size_t signalStackSize = 64 * 1024;
constexpr std::array<int, 4> handledSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// A guarded call that is in progress on this thread.
struct HostGuard {
  sigjmp_buf jump;
  int signal = 0;
  uint64_t address = 0;
  HostGuard *outer = nullptr;
};

std::mutex handlerMutex;
int handlerUsers = 0;
std::array<struct sigaction, handledSignals.size()> previousActions;

} // namespace

static thread_local HostGuard *currentGuard = nullptr;

static void handleSignal(int signal, siginfo_t *info, void *context) {
  // kill() and raise() carry no address and are not faults of ours.
  if (info->si_code > 0) {
    uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
    if (sigjmp_buf *jump = noteSignalInKernel(signal, address))
      siglongjmp(*jump, 1);
    if (HostGuard *guard = currentGuard) {
      guard->signal = signal;
      guard->address = address;
      siglongjmp(guard->jump, 1);
    }
  }
  for (size_t i = 0; i < handledSignals.size(); ++i) {
    if (handledSignals[i] != signal)
      continue;
    const struct sigaction &previous = previousActions[i];
    if (previous.sa_flags & SA_SIGINFO) {
      previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_DFL) {
      // The instruction runs again, or the signal is sent again, to the
      // default action.
      struct sigaction action = {};
      action.sa_handler = SIG_DFL;
      sigaction(signal, &action, nullptr);
      if (info->si_code <= 0)
        raise(signal);
    } else if (previous.sa_handler != SIG_IGN) {
      previous.sa_handler(signal);
    }
  }
}

SignalStack::SignalStack() {
  stack_t current;
  if (sigaltstack(nullptr, &current) != 0 || !(current.ss_flags & SS_DISABLE))
    return;
  memory = std::make_unique<char[]>(signalStackSize);
  stack_t stack = {};
  stack.ss_sp = memory.get();
  stack.ss_size = signalStackSize;
  if (sigaltstack(&stack, nullptr) != 0)
    memory.reset();
}

SignalStack::~SignalStack() {
  if (!memory)
    return;
  stack_t stack = {};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

SignalScope::SignalScope() {
  std::lock_guard<std::mutex> lock(handlerMutex);
  if (handlerUsers++ > 0)
    return;
  struct sigaction action = {};
  action.sa_sigaction = handleSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < handledSignals.size(); ++i)
    sigaction(handledSignals[i], &action, &previousActions[i]);
}

SignalScope::~SignalScope() {
  std::lock_guard<std::mutex> lock(handlerMutex);
  if (--handlerUsers > 0)
    return;
  for (size_t i = 0; i < handledSignals.size(); ++i)
    sigaction(handledSignals[i], &previousActions[i], nullptr);
}

std::string te::emulator::describeSignal(int signal, uint64_t address) {
  switch (signal) {
  case SIGFPE:
    return "integer division by zero or overflow";
  case SIGILL:
    return "illegal instruction or code that cannot be reached";
  default:
    return ("access to invalid memory at 0x" + Twine::utohexstr(address)).str();
  }
}

bool te::emulator::callWithSignalGuard(void (*fn)(void *), void *arg,
                                       int &signal, uint64_t &address) {
  SignalScope signals;
  HostGuard guard;
  guard.outer = currentGuard;
  if (sigsetjmp(guard.jump, /*savesigs=*/1) == 0) {
    currentGuard = &guard;
    fn(arg);
    currentGuard = guard.outer;
    return true;
  }
  currentGuard = guard.outer;
  signal = guard.signal;
  address = guard.address;
  return false;
}
