//===- Program.h - a compiled function with its buffers -------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_PROGRAM_H
#define TE_RUN_PROGRAM_H

#include "Inputs.h"
#include "Lowering.h"
#include "Runtime.h"
#include "Signature.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "llvm/ADT/SetVector.h"
#include <array>

namespace te::run {

/// The value of one result.
struct Output {
  llvm::SmallVector<int64_t> shape;
  uint64_t sizeInBytes = 0;
  /// Where a tensor is on the device; null for a scalar.
  char *deviceData = nullptr;
  /// A scalar's bytes.
  std::array<char, 8> scalar = {};
};

/// A function in machine code, its arguments and its results.
class Program {
public:
  /// Compiles the function's module and runs its constructors, which load the
  /// kernels.
  static llvm::Expected<std::unique_ptr<Program>>
  compile(mlir::LLVM::LLVMFuncOp function, const Signature &signature,
          const Runtime &runtime, DiagnosticCollector &diagnostics);

  ~Program();

  /// Uploads the inputs, calls the function and waits for its kernels.
  llvm::Error run(llvm::ArrayRef<Input> inputs);

  /// The results of the last run in the order of the signature.
  llvm::ArrayRef<Output> getOutputs() const { return outputs; }

  /// Writes a result's elements in C order.
  llvm::Error write(const Output &output, llvm::raw_ostream &stream) const;

  /// Frees arguments and results.
  llvm::Error release();

private:
  Program(const Signature &signature, const Runtime &runtime)
      : signature(signature), runtime(runtime) {}

  llvm::Error upload(llvm::ArrayRef<Input> inputs);
  llvm::Error call(llvm::function_ref<void()> compiledCode);
  llvm::Error readResults(llvm::ArrayRef<Input> inputs,
                          llvm::ArrayRef<char> returned);

  const Signature &signature;
  const Runtime &runtime;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*entry)(void **) = nullptr;
  void *stream = nullptr;
  /// The arguments as the function takes them: each descriptor field, scalar or
  /// pointer in a word of its own.
  llvm::SmallVector<uint64_t> words;
  /// What the inputs were uploaded to; null for scalars.
  llvm::SmallVector<void *> inputBuffers;
  /// Everything to free. A result may be an argument's or another's buffer.
  llvm::SetVector<void *> buffers;
  llvm::SmallVector<Output> outputs;
};

} // namespace te::run

#endif // TE_RUN_PROGRAM_H
