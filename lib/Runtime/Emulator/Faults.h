//===- Faults.h - faults of calls from the host ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_FAULTS_H
#define TE_RUNTIME_EMULATOR_FAULTS_H

#include "llvm/ADT/Twine.h"

#include <cstdint>

namespace te::emulator {

/// Makes a fault the thread's error and remembers it.
void reportFault(const llvm::Twine &text);

/// Checks that device memory at the address is one allocation, and reports a
/// fault if it is not.
bool checkRange(const void *address, uint64_t size, const char *what);

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_FAULTS_H
