//===- Philox.cpp - random words as IR ------------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "te/Numerics/Philox.h"

using namespace mlir;
using namespace te::quant;

/// The lower and the upper half of an i64.
static std::pair<Value, Value> buildHalves(ImplicitLocOpBuilder &b,
                                           Value value) {
  Value bits = arith::ConstantIntOp::create(b, 32, 64);
  Value high = arith::ShRUIOp::create(b, value, bits);
  return {arith::TruncIOp::create(b, b.getI32Type(), value),
          arith::TruncIOp::create(b, b.getI32Type(), high)};
}

std::array<Value, 4> te::quant::buildPhilox4x32(ImplicitLocOpBuilder &b,
                                                Value seed, Value subsequence,
                                                Value offset) {
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  auto exclusiveOr = [&](Value lhs, Value rhs) -> Value {
    return arith::XOrIOp::create(b, lhs, rhs);
  };
  auto [x, y] = buildHalves(b, offset);
  auto [z, w] = buildHalves(b, subsequence);
  auto [key0, key1] = buildHalves(b, seed);
  for (unsigned round = 0; round < numerics::kPhiloxRounds; ++round) {
    // The keys of all rounds are the same for all draws.
    Value roundKey0 = arith::AddIOp::create(
        b, key0, constant(round * numerics::kPhiloxIncrements[0]));
    Value roundKey1 = arith::AddIOp::create(
        b, key1, constant(round * numerics::kPhiloxIncrements[1]));
    auto product0 = arith::MulUIExtendedOp::create(
        b, x, constant(numerics::kPhiloxMultipliers[0]));
    auto product1 = arith::MulUIExtendedOp::create(
        b, z, constant(numerics::kPhiloxMultipliers[1]));
    x = exclusiveOr(exclusiveOr(product1.getHigh(), y), roundKey0);
    y = product1.getLow();
    z = exclusiveOr(exclusiveOr(product0.getHigh(), w), roundKey1);
    w = product0.getLow();
  }
  return {x, y, z, w};
}
