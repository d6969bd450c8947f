//===- ErrorState.cpp - the sticky error of a thread ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorState.h"
#include "te/Runtime/te_runtime.h"

#include <string>

namespace {
struct ErrorState {
  bool isSet = false;
  std::string message;
};
} // namespace

static ErrorState &state() {
  static thread_local ErrorState state;
  return state;
}

bool te::emulator::hasError() { return state().isSet; }

void te::emulator::setError(const llvm::Twine &message) {
  ErrorState &error = state();
  if (error.isSet)
    return;
  error.isSet = true;
  error.message = message.str();
}

const char *teRuntimeGetError(void) {
  return state().isSet ? state().message.c_str() : nullptr;
}

void teRuntimeClearError(void) {
  state().isSet = false;
  state().message.clear();
}

void teRuntimeSetError(const char *message) {
  te::emulator::setError(message ? message : "unknown error");
}

void teRuntimeCheck(bool condition, const char *message) {
  if (!condition)
    teRuntimeSetError(message ? message : "a run-time check failed");
}
