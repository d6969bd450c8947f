//===- CollectivesToRuntime.cpp - collectives as calls of the runtime -----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions are those of te/Runtime/te_runtime.h.
//
//===----------------------------------------------------------------------===//

#include "HostToGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "te/Runtime/te_runtime.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

/// The op's verifier has seen to it that it is one of these.
static TeFormat getFormat(Value memref) {
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  if (elementType.isF32())
    return TE_FORMAT_F32;
  return elementType.isF16() ? TE_FORMAT_F16 : TE_FORMAT_BF16;
}

static TeReduction getReduction(Reduction reduction) {
  return reduction == Reduction::Sum ? TE_SUM : TE_MAX;
}

namespace {
/// Makes the call of one collective.
class CallBuilder {
public:
  CallBuilder(Operation *op, Value stream)
      : op(op), b(op->getLoc(), op), stream(stream) {}

  template <typename OpTy>
  void addCommon(OpTy collective) {
    add(getStringPointer(b, op->getLoc(), getModule(), collective.getGroup()));
    add(constant(collective.getSize(), 64));
    add(getBufferPointer(b, collective.getInput()));
    add(getBufferPointer(b, collective.getOuts()));
  }

  void add(Value value) { arguments.push_back(value); }

  Value constant(int64_t value, unsigned width) {
    return arith::ConstantIntOp::create(b, value, width);
  }

  /// The number of elements of a buffer times `factor`.
  Value getCount(Value memref, int64_t factor) {
    auto type = cast<MemRefType>(memref.getType());
    Value count = constant(factor, 64);
    for (int64_t dim = 0, rank = type.getRank(); dim != rank; ++dim) {
      Value size = arith::IndexCastOp::create(
          b, b.getI64Type(), memref::DimOp::create(b, memref, dim));
      count = arith::MulIOp::create(b, count, size);
    }
    return count;
  }

  void finish(StringRef function) {
    add(getStreamHandle(b, op->getLoc(), stream));
    SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
    LLVM::CallOp::create(b, getRuntimeFunction(getModule(), function, types),
                         arguments);
    op->erase();
  }

private:
  ModuleOp getModule() { return op->getParentOfType<ModuleOp>(); }

  Operation *op;
  ImplicitLocOpBuilder b;
  Value stream;
  SmallVector<Value> arguments;
};
} // namespace

static void lower(AllGatherIntoOp op, CallBuilder &call) {
  Type elementType = cast<MemRefType>(op.getInput().getType()).getElementType();
  call.addCommon(op);
  call.add(call.getCount(
      op.getInput(),
      llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8)));
  call.finish("teAllGather");
}

static void lower(ReduceScatterIntoOp op, CallBuilder &call) {
  call.addCommon(op);
  call.add(call.getCount(op.getOuts(), 1));
  call.add(call.constant(getFormat(op.getOuts()), 32));
  call.finish("teReduceScatter");
}

static void lower(AllReduceIntoOp op, CallBuilder &call) {
  call.addCommon(op);
  call.add(call.getCount(op.getOuts(), 1));
  call.add(call.constant(getFormat(op.getOuts()), 32));
  call.add(call.constant(getReduction(op.getReduction()), 32));
  call.finish("teAllReduce");
}

LogicalResult te::quant::lowerCollectives(func::FuncOp function, Value stream) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<AllGatherIntoOp, AllReduceIntoOp, ReduceScatterIntoOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    auto destination = cast<DestinationStyleOpInterface>(op);
    if (!destination.hasPureBufferSemantics())
      return op->emitOpError("expected memrefs, but got tensors: calls of the "
                             "runtime come after bufferization");
    if (!cast<MemRefType>(op->getOperand(0).getType())
             .getElementType()
             .isIntOrFloat())
      return op->emitOpError("expected integer or float elements, but got ")
             << op->getOperand(0).getType();
    packOperands(op);
    CallBuilder call(op, stream);
    llvm::TypeSwitch<Operation *>(op)
        .Case<AllGatherIntoOp, AllReduceIntoOp, ReduceScatterIntoOp>(
            [&](auto concrete) { lower(concrete, call); });
  }
  return success();
}
