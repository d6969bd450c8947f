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

static void emitAmaxKernel(KernelBuilder &b, Type dtype, int64_t size) {
  Type type = size == 1 ? dtype : VectorType::get(size, dtype);
  Value input = b.getPointer(0), amax = b.getPointer(1);
  Value none = b.zero(withElementType(type, b.getF32Type()));
  auto emit = [&](ArrayRef<Value> offsets, ArrayRef<Value> isInside,
                  SmallVectorImpl<Value> &carried) {
    SmallVector<Value> values;
    for (auto [offset, isIn] : llvm::zip_equal(offsets, isInside))
      values.push_back(b.loadOrZero(isIn, input, type, offset));
    for (Value value : values)
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
  Type dtype = getElementTypeOrSelf(op.getInput().getType());
  int64_t size = getVectorSize(dtype);
  int64_t tileSize = getTileSize(dtype);
  KernelSpec spec;
  spec.name = ("amax_" + getKernelTypeName(dtype)).str();
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  spec.pointers = {
      {KernelPointer::Input, vectorBytes / unsigned(size), /*isVector=*/true},
      {KernelPointer::Output, 4}};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [tileSize](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildFlatGrid(b, rows, cols, tileSize);
  };
  spec.variants = {
      {vectorBytes, size,
       [=](KernelBuilder &b) { emitAmaxKernel(b, dtype, size); }},
      {1, 1, [=](KernelBuilder &b) { emitAmaxKernel(b, dtype, 1); }}};
  return context.makeLaunch(op.getLoc(), spec.name,
                            {getZeroSpec(/*numPointers=*/2, /*outs=*/{1u}), spec});
}
