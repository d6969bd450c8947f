//===- ErrorState.h - the sticky error of a thread ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUNTIME_EMULATOR_ERRORSTATE_H
#define TE_RUNTIME_EMULATOR_ERRORSTATE_H

#include "llvm/ADT/Twine.h"

namespace te::emulator {

bool hasError();

/// Sets the calling thread's error; the first one wins.
void setError(const llvm::Twine &message);

} // namespace te::emulator

#endif // TE_RUNTIME_EMULATOR_ERRORSTATE_H
