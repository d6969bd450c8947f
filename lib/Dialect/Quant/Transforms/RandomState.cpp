//===- RandomState.cpp - parts of a random stream -------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "te/Dialect/Quant/IR/LinearPlan.h"

using namespace mlir;
using namespace te::quant;

Value te::quant::shiftRandomState(OpBuilder &builder, Location loc, Value rng,
                                  unsigned part) {
  if (part == 0)
    return rng;
  // Not a sum with a constant tensor, which would be host memory.
  AffineMap identity = builder.getMultiDimIdentityMap(1);
  Value out = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{2},
                                      builder.getI64Type());
  auto state = linalg::GenericOp::create(
      builder, loc, out.getType(), rng, out,
      ArrayRef<AffineMap>{identity, identity},
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        // Element 0 is the seed, element 1 the offset.
        Value index = linalg::IndexOp::create(builder, loc, 0);
        Value isOffset = arith::IndexCastOp::create(
            builder, loc, builder.getI64Type(), index);
        Value distance = arith::ConstantOp::create(
            builder, loc,
            builder.getI64IntegerAttr(linearRandomPartSize * part));
        Value shift = arith::MulIOp::create(builder, loc, isOffset, distance);
        Value sum =
            arith::AddIOp::create(builder, loc, elements.front(), shift);
        linalg::YieldOp::create(builder, loc, sum);
      });
  return state.getResult(0);
}
