//===- ScaleSwizzle.cpp - scales to the order of GEMMs and back -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of 128 threads moves one tile of 128x4 scales: each thread the four
// of one `i`, so that what is in GEMM order is read or written in sequence.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"

using namespace mlir;
using namespace te::quant;

static constexpr int64_t tileI = 128, tileJ = 4;

namespace {
/// Moves the scales of one thread.
class ScaleMover {
public:
  ScaleMover(KernelBuilder &b, ScaleTensor &compact, ScaleTensor &gemm,
             bool isVector, bool isCompactVector)
      : b(b), compact(compact), gemm(gemm), isVector(isVector),
        isCompactVector(isCompactVector) {}

  void toGemm(Value i, Value j) {
    Type type = VectorType::get(tileJ, b.getI8Type());
    Value scales;
    auto loadEach = [&]() -> Value {
      SmallVector<Value> each;
      for (int64_t block = 0; block < tileJ; ++block) {
        Value at = b.add(j, block);
        each.push_back(b.loadOrZero(compact.isValid(i, at),
                                    compact.getPointer(), b.getI8Type(),
                                    compact.getOffset(i, at)));
      }
      return vector::FromElementsOp::create(b, cast<VectorType>(type), each);
    };
    if (isCompactVector)
      scales = b.ifElse(
          compact.isValid(i, b.add(j, tileJ - 1)), type,
          [&] {
            return b.load(compact.getPointer(), type, compact.getOffset(i, j));
          },
          loadEach);
    else
      scales = loadEach();
    if (isVector)
      return b.store(scales, gemm.getPointer(), gemm.getOffset(i, j));
    for (int64_t block = 0; block < tileJ; ++block)
      b.store(vector::ExtractOp::create(b, scales, block), gemm.getPointer(),
              gemm.getOffset(i, b.add(j, block)));
  }

  void toCompact(Value i, Value j) {
    auto type = VectorType::get(tileJ, b.getI8Type());
    Value scales;
    if (isVector) {
      scales = b.load(gemm.getPointer(), type, gemm.getOffset(i, j));
    } else {
      SmallVector<Value> each;
      for (int64_t block = 0; block < tileJ; ++block)
        each.push_back(gemm.load(i, b.add(j, block)));
      scales = vector::FromElementsOp::create(b, type, each);
    }
    auto storeEach = [&] {
      for (int64_t block = 0; block < tileJ; ++block)
        compact.store(vector::ExtractOp::create(b, scales, block), i,
                      b.add(j, block));
    };
    if (!isCompactVector)
      return storeEach();
    b.ifThenElse(
        compact.isValid(i, b.add(j, tileJ - 1)),
        [&] { b.store(scales, compact.getPointer(), compact.getOffset(i, j)); },
        storeEach);
  }

private:
  KernelBuilder &b;
  ScaleTensor &compact, &gemm;
  bool isVector, isCompactVector;
};
} // namespace

FailureOr<func::FuncOp>
te::quant::emitScaleSwizzle(SwizzleIntoOp op, QuantizerAttrInterface quantizer,
                            ScaleGeometry rowwise, ScaleGeometry columnwise,
                            KernelContext &context) {
  bool isRowwise = op.getInner() == "rowwise_scale_inv";
  if (!isRowwise && op.getInner() != "columnwise_scale_inv")
    return op.emitOpError() << "expected the name of a scale tensor, but got '"
                            << op.getInner() << "'";
  ScaleGeometry geometry = isRowwise ? rowwise : columnwise;
  bool isToGemm = quantizer.getOptimizeForGemm();
  KernelSpec spec;
  spec.name = (Twine(isToGemm ? "swizzle_" : "unswizzle_") +
               quantizer.getFamily() + (isRowwise ? "_rowwise" : "_columnwise"))
                  .str();
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;

  spec.pointers = {{KernelPointer::Input, 1, /*isVector=*/true},
                   {KernelPointer::Output, 1, /*isVector=*/true}};
  spec.threadsPerBlock = tileI;
  spec.getTiles = [=](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    Value extentI = isRowwise ? rows : cols;
    Value extentJ = buildCeilDiv(b, isRowwise ? cols : rows, geometry.block);
    return buildTileGrid(b, extentI, extentJ, tileI, tileJ);
  };
  auto emit = [=](KernelBuilder &b, bool isVector) {
    Value compactPointer = b.getPointer(isToGemm ? 0 : 1);
    Value gemmPointer = b.getPointer(isToGemm ? 1 : 0);
    ScaleTensor compact(b, compactPointer, geometry, /*isGemmOrder=*/false);
    ScaleTensor gemm(b, gemmPointer, geometry, /*isGemmOrder=*/true);
    ScaleMover mover(b, compact, gemm, isVector,
                     isVector && !geometry.blocksFirst);
    // Word `t` of a tile in GEMM order holds the scales of this `i`.
    Value t = b.getThread();
    Value inTile = b.add(b.div(t, 4), b.mul(b.rem(t, 4), 32));
    b.forEachTile([&](Value tileRow, Value tileCol) {
      Value i = b.add(b.mul(tileRow, tileI), inTile);
      Value j = b.mul(tileCol, tileJ);
      if (isToGemm)
        mover.toGemm(i, j);
      else
        mover.toCompact(i, j);
    });
  };
  spec.variants = {
      {4, 1, [=](KernelBuilder &b) { emit(b, /*isVector=*/true); }},
      {1, 1, [=](KernelBuilder &b) { emit(b, /*isVector=*/false); }}};
  return context.makeLaunch(op.getLoc(), spec);
}
