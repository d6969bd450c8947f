//===- LaunchQuantOps.cpp - quantized ops as calls of launch functions ----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each launch is a call: the translation of a launch allocates on the stack,
// and many launches in one function make its code generation slow.
//
//===----------------------------------------------------------------------===//

#include "HostToGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "te/Conversion/QuantToGPU/QuantToGPU.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

static bool isQuantOp(Operation *op) {
  return isa<QuantizeIntoOp, DequantizeIntoOp, SwizzleIntoOp, AmaxIntoOp,
             UpdateScaleIntoOp, DeriveIntoOp, GemmIntoOp, ColumnSumIntoOp>(op);
}

static SmallVector<Operation *> getQuantOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isQuantOp(op))
      ops.push_back(op);
  });
  return ops;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Whether the elements of a buffer follow each other; its start may be offset.
static bool isContiguous(MemRefType type) {
  return type.getLayout().isIdentity() ||
         type.areTrailingDimsContiguous(type.getRank());
}

/// A buffer of the shape of `memref` without strides.
static Value allocateLike(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      sizes.push_back(memref::DimOp::create(b, memref, dim));
  auto packed =
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  return memref::AllocOp::create(b, packed, sizes);
}

void te::quant::packOperands(Operation *op) {
  auto destination = cast<DestinationStyleOpInterface>(op);
  // With a no-op flag the contents of outs may have to stay, and a product may
  // be added to them.
  auto quantize = dyn_cast<QuantizeIntoOp>(op);
  auto gemm = dyn_cast<GemmIntoOp>(op);
  bool readsOuts = (quantize && quantize.getNoop()) ||
                   (gemm && gemm.getAccumulate());
  ImplicitLocOpBuilder b(op->getLoc(), op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value original = operand.get();
    auto type = dyn_cast<MemRefType>(original.getType());
    if (!type || isContiguous(type))
      continue;
    b.setInsertionPoint(op);
    Value packed = allocateLike(b, original);
    bool isOut = destination.isDpsInit(&operand);
    if (!isOut || readsOuts)
      memref::CopyOp::create(b, original, packed);
    operand.set(packed);
    b.setInsertionPointAfter(op);
    auto dealloc = memref::DeallocOp::create(b, packed);
    if (isOut) {
      b.setInsertionPoint(dealloc);
      memref::CopyOp::create(b, packed, original);
    }
  }
}

void te::quant::packStridedOperands(func::FuncOp function) {
  for (Operation *op : getQuantOps(function))
    packOperands(op);
  function.walk([](Operation *op) {
    if (isa<AllGatherIntoOp, AllReduceIntoOp, ReduceScatterIntoOp>(op))
      packOperands(op);
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Value toI64(ImplicitLocOpBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI64Type(), index);
}

Value te::quant::getBufferPointer(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value address =
      toI64(b, memref::ExtractAlignedPointerAsIndexOp::create(b, memref));
  auto [strides, offset] = type.getStridesAndOffset();
  if (offset != 0) {
    Value elements;
    if (ShapedType::isDynamic(offset))
      elements = toI64(
          b, memref::ExtractStridedMetadataOp::create(b, memref).getOffset());
    else
      elements = arith::ConstantIntOp::create(b, offset, 64);
    int64_t bytes =
        llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    Value scaled = arith::MulIOp::create(
        b, elements, arith::ConstantIntOp::create(b, bytes, 64).getResult());
    address = arith::AddIOp::create(b, address, scaled);
  }
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                  address);
}

/// The flattened rows and columns of a buffer of logical shape, as i64.
static FailureOr<std::pair<Value, Value>>
getExtents(ImplicitLocOpBuilder &b, Operation *op, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  FailureOr<std::pair<int64_t, int64_t>> known =
      getFlattenedExtents(type.getShape());
  if (failed(known))
    return op->emitOpError()
           << "flattened extents of " << type << " overflow 64 bits";
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  auto getDim = [&](int64_t dim) -> Value {
    if (!type.isDynamicDim(dim))
      return constant(type.getDimSize(dim));
    return toI64(b, memref::DimOp::create(b, memref, dim));
  };
  Value rows;
  if (!ShapedType::isDynamic(known->first)) {
    rows = constant(known->first);
  } else {
    rows = getDim(0);
    for (int64_t dim = 1; dim < type.getRank() - 1; ++dim)
      rows = arith::MulIOp::create(b, rows, getDim(dim));
  }
  Value cols = ShapedType::isDynamic(known->second) ? getDim(type.getRank() - 1)
                                                    : constant(known->second);
  return std::pair(rows, cols);
}

/// The flattened extents of the logical shape that `op` works on.
static FailureOr<std::pair<Value, Value>> getExtents(ImplicitLocOpBuilder &b,
                                                     Operation *op) {
  return llvm::TypeSwitch<Operation *, FailureOr<std::pair<Value, Value>>>(op)
      .Case<FusedInputOpInterface>([&](FusedInputOpInterface fused) {
        return getExtents(b, op, fused.getShapedInput());
      })
      .Case<DequantizeIntoOp>([&](DequantizeIntoOp dequantize) {
        return getExtents(b, op, dequantize.getOuts());
      })
      .Case<UpdateScaleIntoOp>([&](UpdateScaleIntoOp update) {
        return getExtents(b, op, update.getHistory());
      })
      .Case<GemmIntoOp>([&](GemmIntoOp gemm) {
        return getExtents(b, op, gemm.getOuts().front());
      })
      .Case<SwizzleIntoOp, DeriveIntoOp>([&](auto concrete) {
        return std::pair(toI64(b, concrete.getRows()),
                         toI64(b, concrete.getCols()));
      });
}

static LogicalResult verifyHighPrecision(Operation *op, StringRef what,
                                         Type type) {
  Type dtype = getElementTypeOrSelf(type);
  if (dtype.isF32() || dtype.isBF16() || dtype.isF16())
    return success();
  return op->emitOpError() << "expected " << what
                           << " of f32, bf16 or f16, but got " << type;
}

static FailureOr<func::FuncOp> getLaunch(Operation *op,
                                         KernelContext &context) {
  if (auto gemm = dyn_cast<GemmIntoOp>(op)) {
    if (failed(verifyHighPrecision(op, "a result",
                                   gemm.getOuts().front().getType())))
      return failure();
    return emitGemm(gemm, context);
  }
  if (auto fused = dyn_cast<FusedInputOpInterface>(op))
    if (failed(verifyHighPrecision(op, "an input", fused.getInputType())))
      return failure();
  if (auto sum = dyn_cast<ColumnSumIntoOp>(op))
    return emitColumnSum(sum, context);
  Attribute quantizer =
      llvm::TypeSwitch<Operation *, Attribute>(op)
          .Case<QuantizeIntoOp, DequantizeIntoOp, SwizzleIntoOp, AmaxIntoOp,
                UpdateScaleIntoOp, DeriveIntoOp>(
              [](auto concrete) { return concrete.getQuantizer(); });
  auto emitter = dyn_cast<KernelEmitterInterface>(quantizer);
  if (!emitter)
    return emitNoKernelError(op, quantizer);
  using Launch = FailureOr<func::FuncOp>;
  return llvm::TypeSwitch<Operation *, Launch>(op)
      .Case([&](QuantizeIntoOp quantize) {
        return emitter.emitQuantize(quantize, context);
      })
      .Case([&](DequantizeIntoOp dequantize) -> Launch {
        if (failed(verifyHighPrecision(op, "an output",
                                       dequantize.getOuts().getType())))
          return failure();
        return emitter.emitDequantize(dequantize, context);
      })
      .Case([&](SwizzleIntoOp swizzle) {
        return emitter.emitSwizzle(swizzle, context);
      })
      .Case([&](AmaxIntoOp amax) {
        return emitter.emitAmax(amax, context);
      })
      .Case([&](UpdateScaleIntoOp update) {
        return emitter.emitUpdateScale(update, context);
      })
      .Case([&](DeriveIntoOp derive) {
        return emitter.emitDerive(derive, context);
      });
}

static LogicalResult lowerToCall(Operation *op, Value stream,
                                 KernelContext &context) {
  auto destination = cast<DestinationStyleOpInterface>(op);
  if (!destination.hasPureBufferSemantics())
    return op->emitOpError("expected memrefs, but got tensors: launches come "
                           "after bufferization");
  packOperands(op);
  FailureOr<func::FuncOp> launch = getLaunch(op, context);
  if (failed(launch))
    return failure();

  ImplicitLocOpBuilder b(op->getLoc(), op);
  SmallVector<Value> arguments;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      arguments.push_back(getBufferPointer(b, operand));
  FailureOr<std::pair<Value, Value>> extents = getExtents(b, op);
  if (failed(extents))
    return failure();
  arguments.append({extents->first, extents->second});
  if (auto gemm = dyn_cast<GemmIntoOp>(op))
    arguments.push_back(toI64(b, gemm.getDepth()));
  arguments.push_back(stream);
  func::CallOp::create(b, *launch, arguments);
  op->erase();
  return success();
}

LogicalResult te::quant::lowerQuantOpsToLaunches(func::FuncOp function,
                                                 Value stream,
                                                 KernelContext &context) {
  for (Operation *op : getQuantOps(function))
    if (failed(lowerToCall(op, stream, context)))
      return failure();
  return success();
}
