//===- NVFP4Dequantize.cpp - kernels that read NVFP4 ----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NVFP4.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/Rules.h"

using namespace mlir;
using namespace te::quant;
using namespace te::quant::nvfp4;

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

namespace {
/// Decodes rowwise data. Operand order is the inner tensors, output. Threads
/// take a block each, or a byte where blocks may be partly in the tensor.
class Dequantize {
public:
  Dequantize(NVFP4Attr quantizer, Type dtype)
      : quantizer(quantizer), dtype(dtype),
        isBoth(quantizer.getUsage() == Usage::Both) {}

  KernelSpec getSpec() const;

private:
  void emit(KernelBuilder &b, bool isVector) const;

  unsigned getAmaxIndex() const { return isBoth ? 4 : 2; }
  unsigned getOutputIndex() const { return isBoth ? 6 : 3; }
  /// Values of a thread.
  static int64_t getSize(bool isVector) { return isVector ? blockSize : 2; }

  NVFP4Attr quantizer;
  Type dtype;
  bool isBoth;
};
} // namespace

KernelSpec Dequantize::getSpec() const {
  KernelSpec spec;
  std::string options;
  if (quantizer.getRowScaled())
    options += "_row_scaled";
  if (quantizer.getE4m3Max() != 448)
    options += "_max" + std::to_string(quantizer.getE4m3Max());
  if (quantizer.getOptimizeForGemm())
    options += "_swizzled";
  auto getName = [&](StringRef usage) {
    return ("dequantize_nvfp4_" + getKernelTypeName(dtype) + "_" + usage +
            options)
        .str();
  };
  spec.name = getName("rowwise");
  spec.launchName = getName(stringifyUsage(quantizer.getUsage()));
  spec.pointers.assign(getOutputIndex(), {KernelPointer::Unused});
  spec.pointers[0] = {KernelPointer::Input, 1, /*isVector=*/true};
  spec.pointers[1] = {KernelPointer::Input, 1};
  spec.pointers[getAmaxIndex()] = {KernelPointer::Input, 4};
  spec.pointers.push_back(
      {KernelPointer::Output, getBytes(dtype), /*isVector=*/true});
  spec.threadsPerBlock = numThreads;
  // A row of tiles is a row of the tensor.
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildTileGrid(b, rows, cols, numThreads / lineBlocks, tileSize);
  };
  Dequantize config = *this;
  spec.variants = {
      {vectorBytes, blockSize,
       [config](KernelBuilder &b) { config.emit(b, true); }},
      {1, 1, [config](KernelBuilder &b) { config.emit(b, false); }}};
  return spec;
}

void Dequantize::emit(KernelBuilder &b, bool isVector) const {
  Value data = b.getPointer(0), amaxes = b.getPointer(getAmaxIndex());
  Value output = b.getPointer(getOutputIndex());
  ScaleTensor scales(b, b.getPointer(1), getGeometry(/*isRowwise=*/true),
                     quantizer.getOptimizeForGemm());
  constexpr int64_t tileRows = numThreads / lineBlocks;
  int64_t size = getSize(isVector);
  int64_t perRow = tileSize / size;
  int64_t count = tileRows * perRow / numThreads;
  Value lineBytes = buildCeilDiv(b, b.getCols(), 2);
  auto type = VectorType::get(size / 2, b.getI8Type());
  b.forEachTile([&](Value tileRow, Value tileCol) {
    b.forLoop(count, {}, [&](Value index, ValueRange) {
      Value number = b.add(b.getThread(), b.mul(index, numThreads));
      Value row = b.add(b.mul(tileRow, tileRows), b.div(number, perRow));
      Value col =
          b.add(b.mul(tileCol, tileSize), b.mul(b.rem(number, perRow), size));
      Value isInside =
          b.both(b.isLess(row, b.getRows()), b.isLess(col, b.getCols()));
      b.ifThen(isInside, [&] {
        Value amax = b.load(amaxes, b.getF32Type(),
                            quantizer.getRowScaled() ? row : b.i64(0));
        Value factor =
            buildNVFP4DecodeFactor(b, scales.load(row, b.div(col, blockSize)),
                                   amax, quantizer.getE4m3Max());
        Value bytes =
            b.load(data, type, b.add(b.mul(row, lineBytes), b.div(col, 2)));
        Value values = buildNVFP4Values(b, bytes, factor, dtype);
        Value offset = b.add(b.mul(row, b.getCols()), col);
        if (isVector) {
          int64_t part = vectorBytes / getBytes(dtype);
          for (int64_t first = 0; first < size; first += part)
            b.store(b.slice(values, first, part), output, b.add(offset, first));
          return;
        }
        b.store(vector::ExtractOp::create(b, values, 0), output, offset);
        b.ifThen(b.isLess(b.add(col, 1), b.getCols()), [&] {
          b.store(vector::ExtractOp::create(b, values, 1), output,
                  b.add(offset, 1));
        });
      });
      return SmallVector<Value>();
    });
  });
}

FailureOr<func::FuncOp>
te::quant::nvfp4::emitDequantizeLaunch(NVFP4Attr quantizer, DequantizeIntoOp op,
                                       KernelContext &context) {
  if (!quantizer.hasRowwise())
    return op.emitOpError()
           << "expected usage rowwise or both, but got columnwise";
  Type dtype = getElementTypeOrSelf(op.getOuts().getType());
  KernelSpec spec = Dequantize(quantizer, dtype).getSpec();
  if (func::FuncOp launch = context.lookupLaunch(spec.launchName))
    return launch;
  return context.makeLaunch(op.getLoc(), spec);
}

//===----------------------------------------------------------------------===//
// Derive
//===----------------------------------------------------------------------===//

/// Columnwise data of blocks of 16x16 from rowwise data. Operand order is data,
/// scales and amax, of rowwise and then of columnwise usage.
static void emitDerive(KernelBuilder &b) {
  Type i8 = b.getI8Type();
  // Codes of a tile, a byte each.
  Value memory = b.makeShared(i8, tileSize * (tileSize + 4));
  auto getOffset = [&](Value row, Value col) {
    return b.add(b.mul(col, tileSize + 4), row);
  };
  ScaleTensor scales(b, b.getPointer(1), getGeometry(/*isRowwise=*/true),
                     /*isGemmOrder=*/false);
  ScaleTensor outScales(b, b.getPointer(4), getGeometry(/*isRowwise=*/false),
                        /*isGemmOrder=*/false);
  Value inBytes = buildCeilDiv(b, b.getCols(), 2);
  Value outBytes = buildCeilDiv(b, b.getRows(), 2);
  auto nibble = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 8);
  };
  b.inFirstThread([&] {
    b.store(b.load(b.getPointer(2), b.getF32Type(), b.i64(0)), b.getPointer(5),
            b.i64(0));
  });
  constexpr int64_t count = tileSize * tileSize / 2 / numThreads;
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value firstRow = b.mul(tileRow, tileSize);
    Value firstCol = b.mul(tileCol, tileSize);
    auto forEachByte = [&](function_ref<void(Value line, Value pair)> body) {
      b.forLoop(count, {}, [&](Value index, ValueRange) {
        Value number = b.add(b.getThread(), b.mul(index, numThreads));
        body(b.div(number, tileSize / 2),
             b.mul(b.rem(number, tileSize / 2), 2));
        return SmallVector<Value>();
      });
    };
    forEachByte([&](Value line, Value pair) {
      Value row = b.add(firstRow, line), col = b.add(firstCol, pair);
      Value isInside =
          b.both(b.isLess(row, b.getRows()), b.isLess(col, b.getCols()));
      Value byte = b.loadOrZero(isInside, b.getPointer(0), i8,
                                b.add(b.mul(row, inBytes), b.div(col, 2)));
      b.store(arith::AndIOp::create(b, byte, nibble(15)), memory,
              getOffset(line, pair));
      b.store(arith::ShRUIOp::create(b, byte, nibble(4)), memory,
              getOffset(line, b.add(pair, 1)));
    });
    b.barrier();
    forEachByte([&](Value line, Value pair) {
      Value col = b.add(firstCol, line), row = b.add(firstRow, pair);
      b.ifThen(
          b.both(b.isLess(col, b.getCols()), b.isLess(row, b.getRows())), [&] {
            Value low = b.load(memory, i8, getOffset(pair, line));
            Value high = b.load(memory, i8, getOffset(b.add(pair, 1), line));
            Value byte = arith::OrIOp::create(
                b, low, arith::ShLIOp::create(b, high, nibble(4)).getResult());
            b.store(byte, b.getPointer(3),
                    b.add(b.mul(col, outBytes), b.div(row, 2)));
          });
    });
    b.forLoop(tileBlocks / numThreads, {}, [&](Value index, ValueRange) {
      Value number = b.add(b.getThread(), b.mul(index, numThreads));
      Value col = b.add(firstCol, b.div(number, lineBlocks));
      Value block =
          b.add(b.mul(tileRow, lineBlocks), b.rem(number, lineBlocks));
      b.ifThen(outScales.isValid(col, block), [&] {
        outScales.store(
            scales.load(b.mul(block, blockSize), b.div(col, blockSize)), col,
            block);
      });
      return SmallVector<Value>();
    });
    // The next tile overwrites what others may still read.
    b.barrier();
  });
}

FailureOr<func::FuncOp>
te::quant::nvfp4::emitDeriveLaunch(DeriveIntoOp op, KernelContext &context) {
  KernelSpec spec;
  spec.name = "derive_nvfp4_2d";
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  spec.pointers = {{KernelPointer::Input, 1},  {KernelPointer::Input, 1},
                   {KernelPointer::Input, 4},  {KernelPointer::Output, 1},
                   {KernelPointer::Output, 1}, {KernelPointer::Output, 4}};
  spec.threadsPerBlock = numThreads;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildTileGrid(b, rows, cols, tileSize, tileSize);
  };
  spec.variants = {{1, 1, emitDerive}};
  return context.makeLaunch(op.getLoc(), spec);
}
