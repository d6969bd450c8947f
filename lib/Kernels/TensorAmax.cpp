//===- TensorAmax.cpp - kernels that compute the amax of a tensor ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every thread keeps a vector of maxima over all its tiles; a block merges one
// value.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t numThreads = 256;
static constexpr unsigned vectorBytes = 16;

/// Elements of a vector, and of a tile.
static int64_t getVectorSize(Type dtype) {
  return vectorBytes * 8 / dtype.getIntOrFloatBitWidth();
}
static int64_t getTileSize(Type dtype) {
  return 4 * numThreads * getVectorSize(dtype);
}

static void emitAmaxKernel(KernelBuilder &b, Type dtype, Value amax,
                           int64_t size) {
  Type type = size == 1 ? dtype : VectorType::get(size, dtype);
  Value none = b.zero(withElementType(type, b.getF32Type()));
  auto emit = [&](ArrayRef<Value> offsets, ArrayRef<Value> isInside,
                  SmallVectorImpl<Value> &carried) {
    auto indices = llvm::map_to_vector(
        offsets, [](Value offset) { return InputIndex{offset}; });
    for (Value value :
         b.loadInputs(/*isFull=*/Value(), isInside, type, indices))
      carried[0] = b.max(carried[0], b.abs(b.widen(value)));
  };
  Value largest = b.forEachAccess(getTileSize(dtype), size, none, emit)[0];
  if (size > 1)
    largest = b.reduceMax(largest);
  largest = b.blockMax(largest);
  b.ifThen(b.isEqual(b.getThread(), 0), [&] { b.atomicMax(largest, amax); });
}

FailureOr<func::FuncOp> te::quant::emitTensorAmax(AmaxIntoOp op,
                                                  KernelContext &context) {
  InputProducer input(op);
  Type dtype = input.getElementType();
  int64_t size = getVectorSize(dtype);
  int64_t tileSize = getTileSize(dtype);
  KernelSpec spec;
  spec.name =
      ("amax_" + getKernelTypeName(dtype) + input.getNameSuffix()).str();
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  spec.input = input;
  input.appendPointers(spec.pointers);
  unsigned amax = spec.pointers.size();
  spec.pointers.push_back({KernelPointer::Output, 4});
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [tileSize](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildFlatGrid(b, rows, cols, tileSize);
  };
  auto emit = [=](KernelBuilder &b, int64_t size) {
    emitAmaxKernel(b, dtype, b.getPointer(amax), size);
  };
  spec.variants = {
      {vectorBytes, size, [=](KernelBuilder &b) { emit(b, size); }},
      {1, 1, [=](KernelBuilder &b) { emit(b, 1); }}};
  return context.makeLaunch(
      op.getLoc(), spec.name,
      {getZeroSpec(/*numPointers=*/amax + 1, /*outs=*/{amax}), spec});
}
