//===- Gemm.cpp - kernels of matrix products ------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result has a row for each line of B and a column for each line of A: of
// every layout a kernel sees the same, lines along the contracted dimension.
// What a family is has become a `GemmOperand`; nothing here knows more of it.
//
// A block of threads makes tiles of 64x64 and goes along the lines in steps.
// Each step puts codes of 64 lines of both operands into shared memory. Without
// tensor cores they are f32 values there, a thread has 4x4 sums, and each sum
// adds its products by fused multiply-add in the order of the lines. With
// tensor cores they are the codes themselves, padded so that the words of a
// fragment lie in different banks, and a warp has 32x32 sums.
//
// The products of one block of scales are summed alone, and the sum p enters
// the result y as fma(p * scale of B, scale of A, y). Tensor cores sum products
// of FP8 with fewer bits than f32 has, which is why they also start anew, every
// 128 products, where there are no such blocks.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "te/Kernels/KernelBuilder.h"
#include "te/Kernels/Rules.h"
#include "te/Numerics/Formats.h"
#include "te/Runtime/te_runtime.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te;
using namespace te::quant;

/// Rows and columns of a tile, which are lines of B and of A.
static constexpr int64_t tileSize = 64;
static constexpr int64_t warpSize = 32;

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

namespace {
/// One operand as the op has it: how it is read, and the numbers of the
/// pointers that are read.
struct OperandConfig {
  GemmOperand format;
  unsigned codes, scales, factor;
};

/// All that kernels specialise on.
struct Config {
  OperandConfig a, b;
  /// Types of the result, and of bias and argument of gelu where they are.
  Type dtype, biasDtype, preActivationDtype;
  bool accumulates;
  /// Numbers of pointers.
  unsigned bias, result, preActivation;
  SmallVector<KernelPointer> pointers;
};
} // namespace

static unsigned getBytes(Type type) {
  return std::max<unsigned>(type.getIntOrFloatBitWidth() / 8, 1);
}

/// The operand `inners`, whose first pointer has number `first`.
static OperandConfig getOperand(QuantizerAttrInterface quantizer,
                                Usage direction, OperandRange inners,
                                unsigned first,
                                SmallVectorImpl<KernelPointer> &pointers) {
  Type dtype = getElementTypeOrSelf(inners.front().getType());
  if (!quantizer) {
    pointers.push_back({KernelPointer::Input, getBytes(dtype)});
    return {getPlainGemmOperand(dtype, direction), first, 0, 0};
  }
  // The verifier has seen that there is one.
  OperandConfig operand = {*quantizer.getGemmOperand(direction), 0, 0, 0};
  // The nominal dtype has no part in the names.
  LayoutAttr layout =
      getLayout(quantizer, Float32Type::get(quantizer.getContext()));
  for (auto [index, name] : llvm::enumerate(layout.getNames())) {
    Type type = layout.getElementTypes()[index];
    KernelPointer pointer = {KernelPointer::Input, getBytes(type)};
    if (name == operand.format.codes)
      operand.codes = first + index;
    else if (name == operand.format.scales)
      operand.scales = first + index;
    else if (name == operand.format.factor)
      operand.factor = first + index;
    else
      pointer.role = KernelPointer::Unused;
    pointers.push_back(pointer);
  }
  return operand;
}

static Config getConfig(GemmIntoOp op) {
  Config config;
  auto getQuantizer = [](std::optional<QuantizerAttrInterface> quantizer) {
    return quantizer.value_or(QuantizerAttrInterface());
  };
  config.a = getOperand(getQuantizer(op.getAQuantizer()),
                        getGemmDirection(op.getLayout(), /*isA=*/true),
                        op.getAInners(), 0, config.pointers);
  config.b =
      getOperand(getQuantizer(op.getBQuantizer()),
                 getGemmDirection(op.getLayout(), /*isA=*/false),
                 op.getBInners(), config.pointers.size(), config.pointers);
  if (op.getBias()) {
    config.biasDtype = getElementTypeOrSelf(op.getBias().getType());
    config.bias = config.pointers.size();
    config.pointers.push_back(
        {KernelPointer::Input, getBytes(config.biasDtype)});
  }
  config.dtype = getElementTypeOrSelf(op.getOuts().front().getType());
  config.result = config.pointers.size();
  config.pointers.push_back({KernelPointer::Output, getBytes(config.dtype)});
  if (op.getGelu()) {
    config.preActivationDtype =
        getElementTypeOrSelf(op.getOuts().back().getType());
    config.preActivation = config.pointers.size();
    config.pointers.push_back(
        {KernelPointer::Output, getBytes(config.preActivationDtype)});
  }
  config.accumulates = op.getAccumulate();
  return config;
}

/// `e4m3`, `e4m3_strided`, `e4m3_32xe8m0_swizzled`, `e2m1_16xe4m3_by_2688`.
static std::string getName(const GemmOperand &format) {
  std::string name = getKernelTypeName(format.codeType).str();
  if (!format.isLineMajor)
    name += "_strided";
  if (format.block) {
    name += "_" + std::to_string(format.block) + "x";
    if (format.linesPerScale > 1)
      name += std::to_string(format.linesPerScale) + "x";
    name += getKernelTypeName(format.scaleType);
    switch (format.scaleOrder) {
    case GemmOperand::ScaleOrder::LinesFirst:
      name += "_pad" + std::to_string(format.scalePadding);
      break;
    case GemmOperand::ScaleOrder::BlocksFirst:
      name += "_blocks_pad" + std::to_string(format.scalePadding);
      break;
    case GemmOperand::ScaleOrder::Tiles:
      name += "_swizzled";
      break;
    }
  }
  if (!format.factor.empty())
    name += format.hasLineFactors ? "_line_scaled" : "_scaled";
  if (format.divisor != 1)
    name += "_by_" + std::to_string(format.divisor);
  return name;
}

static std::string getName(const Config &config) {
  std::string name = "gemm_" + getName(config.a.format) + "_" +
                     getName(config.b.format) + "_" +
                     getKernelTypeName(config.dtype).str();
  if (config.biasDtype)
    name += "_bias_" + getKernelTypeName(config.biasDtype).str();
  if (config.preActivationDtype)
    name += "_gelu_" + getKernelTypeName(config.preActivationDtype).str();
  if (config.accumulates)
    name += "_accumulate";
  return name;
}

//===----------------------------------------------------------------------===//
// Operands in kernels
//===----------------------------------------------------------------------===//

namespace {
/// One operand in a kernel.
class Lines {
public:
  Lines(KernelBuilder &b, const OperandConfig &config, Value lines)
      : format(config.format), b(b), config(config), lines(lines) {}

  /// i1: whether element `k` of a line is there.
  Value isInside(Value line, Value k) {
    return b.both(isLine(line), b.isLess(k, b.getDepth()));
  }
  Value isLine(Value line) { return b.isLess(line, lines); }

  /// The f32 value of a code, zero beyond the tensor.
  Value loadValue(Value line, Value k);
  /// A code as an integer, zero beyond the tensor.
  Value loadBits(Value line, Value k) {
    return b.loadOrZero(
        isInside(line, k), b.getPointer(config.codes),
        b.getIntegerType(format.codeType.getIntOrFloatBitWidth()),
        getOffset(line, k));
  }
  /// `bytes` of codes of a line that follow each other, as bytes.
  Value loadPiece(Value line, Value k, int64_t bytes) {
    return b.loadOrZero(isInside(line, k), b.getPointer(config.codes),
                        VectorType::get(bytes, b.getI8Type()),
                        b.mul(getOffset(line, k), getBytes(format.codeType)));
  }
  /// The f32 scale of a block, zero beyond the tensor.
  Value loadScale(Value line, Value block);
  /// The f32 factor of the tensor or of a line that is there.
  Value loadFactor(Value line) {
    return b.load(b.getPointer(config.factor), b.getF32Type(),
                  format.hasLineFactors ? line : b.i64(0));
  }

  const GemmOperand &format;

private:
  /// The offset of a code in codes.
  Value getOffset(Value line, Value k) {
    return format.isLineMajor ? b.add(b.mul(line, b.getDepth()), k)
                              : b.add(b.mul(k, lines), line);
  }
  Value getScaleOffset(Value line, Value block, Value numBlocks);

  KernelBuilder &b;
  const OperandConfig &config;
  Value lines;
};
} // namespace

/// Widens a code of any format.
static Value decode(KernelBuilder &b, Value code) {
  Type type = getElementTypeOrSelf(code.getType());
  if (type.getIntOrFloatBitWidth() >= 16)
    return b.widen(code);
  return CastOp::create(b, withElementType(code.getType(), b.getF32Type()),
                        code);
}

Value Lines::loadValue(Value line, Value k) {
  Type f32 = b.getF32Type();
  Type type = format.codeType;
  Value codes = b.getPointer(config.codes);
  auto load = [&]() -> Value {
    if (type.getIntOrFloatBitWidth() >= 16)
      return b.widen(b.load(codes, type, getOffset(line, k)));
    if (!isa<Float4E2M1FNType>(type)) {
      Value byte = b.load(codes, b.getI8Type(), getOffset(line, k));
      return decode(b, arith::BitcastOp::create(b, type, byte));
    }
    // Pairs, the even element in the low half.
    Value lineBytes = buildCeilDiv(b, b.getDepth(), 2);
    Value byte = b.load(codes, VectorType::get(1, b.getI8Type()),
                        b.add(b.mul(line, lineBytes), b.div(k, 2)));
    Value pair =
        decode(b, vector::BitCastOp::create(b, VectorType::get(2, type), byte));
    return arith::SelectOp::create(b, b.isEqual(b.rem(k, 2), 0),
                                   vector::ExtractOp::create(b, pair, 0),
                                   vector::ExtractOp::create(b, pair, 1));
  };
  return b.ifElse(isInside(line, k), f32, load, [&] { return b.zero(f32); });
}

Value Lines::getScaleOffset(Value line, Value block, Value numBlocks) {
  auto pad = [&](Value extent) {
    return b.mul(buildCeilDiv(b, extent, format.scalePadding),
                 format.scalePadding);
  };
  bool isShared = format.linesPerScale > 1;
  Value group = isShared ? b.div(line, format.linesPerScale) : line;
  switch (format.scaleOrder) {
  case GemmOperand::ScaleOrder::LinesFirst:
    return b.add(b.mul(group, pad(numBlocks)), block);
  case GemmOperand::ScaleOrder::BlocksFirst: {
    Value numGroups =
        isShared ? buildCeilDiv(b, lines, format.linesPerScale) : lines;
    return b.add(b.mul(block, pad(numGroups)), group);
  }
  case GemmOperand::ScaleOrder::Tiles:
    break;
  }
  return buildScaleTileOffset(b, group, block, numBlocks);
}

Value Lines::loadScale(Value line, Value block) {
  Type f32 = b.getF32Type();
  Value numBlocks = buildCeilDiv(b, b.getDepth(), format.block);
  Value pointer = b.getPointer(config.scales);
  auto load = [&]() -> Value {
    Value offset = getScaleOffset(line, block, numBlocks);
    if (getBytes(format.scaleType) > 1)
      return b.widen(b.load(pointer, format.scaleType, offset));
    Value byte = b.load(pointer, b.getI8Type(), offset);
    return decode(b, arith::BitcastOp::create(b, format.scaleType, byte));
  };
  return b.ifElse(b.both(isLine(line), b.isLess(block, numBlocks)), f32, load,
                  [&] { return b.zero(f32); });
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

namespace {
/// What becomes of a sum of products (numerics: 8.2, 8.4).
class Epilogue {
public:
  Epilogue(KernelBuilder &b, const Config &config, Lines &a, Lines &bLines)
      : b(b), config(config), a(a), bLines(bLines),
        isEmpty(b.isEqual(b.getDepth(), 0)) {}

  /// Stores what element (row, col) of the result is, if it is in the result.
  void store(Value row, Value col, Value sum);

private:
  Value mul(Value lhs, Value rhs) { return arith::MulFOp::create(b, lhs, rhs); }
  Value add(Value lhs, Value rhs) { return arith::AddFOp::create(b, lhs, rhs); }
  Value constant(float value) {
    return buildF32Bits(b, b.getF32Type(), numerics::bitsOf(value));
  }
  Value narrow(Value value, Type dtype) {
    return dtype.isF32() ? value : CastOp::create(b, dtype, value).getResult();
  }
  bool hasLineFactors() const {
    return a.format.hasLineFactors || bLines.format.hasLineFactors;
  }

  Value scale(Value sum, Value row, Value col);
  Value gelu(Value value);

  KernelBuilder &b;
  const Config &config;
  Lines &a, &bLines;
  /// A product over nothing is zero, whatever the factors; no bias is added.
  Value isEmpty;
};
} // namespace

Value Epilogue::scale(Value sum, Value row, Value col) {
  if (a.format.factor.empty() || bLines.format.factor.empty())
    return sum;
  Value factorA = a.loadFactor(col), factorB = bLines.loadFactor(row);
  // The quotient of two constants, rounded once.
  float reciprocal =
      1.0f / static_cast<float>(a.format.divisor * bLines.format.divisor);
  if (hasLineFactors()) {
    sum = mul(sum, constant(reciprocal));
    if (a.format.hasLineFactors && bLines.format.hasLineFactors)
      return mul(mul(sum, factorB), factorA);
    return mul(sum, mul(factorB, factorA));
  }
  if (reciprocal == 1.0f)
    return mul(mul(sum, factorA), factorB);
  return mul(sum, mul(mul(factorA, factorB), constant(reciprocal)));
}

Value Epilogue::gelu(Value x) {
  // x * (0.5 + 0.5 * tanh(x * (0.79788456 + 0.03567741 * x * x)))
  Value inner = mul(mul(constant(0.03567741f), x), x);
  inner = mul(x, add(constant(0.79788456f), inner));
  Value half = mul(constant(0.5f), math::TanhOp::create(b, inner));
  return mul(x, add(constant(0.5f), half));
}

void Epilogue::store(Value row, Value col, Value sum) {
  Value zero = b.zero(b.getF32Type());
  auto unlessEmpty = [&](Value value) -> Value {
    return arith::SelectOp::create(b, isEmpty, zero, value);
  };
  b.ifThen(b.both(bLines.isLine(row), a.isLine(col)), [&] {
    Value offset = b.add(b.mul(row, b.getCols()), col);
    Value result = b.getPointer(config.result);
    auto loadOld = [&] {
      return b.widen(b.load(result, config.dtype, offset));
    };
    // P-3: row-scaled products are rounded before they are added.
    bool roundsFirst = config.accumulates && hasLineFactors();
    Value value = scale(sum, row, col);
    if (config.accumulates && !roundsFirst)
      value = add(value, loadOld());
    if (config.biasDtype)
      value = add(value, b.widen(b.load(b.getPointer(config.bias),
                                        config.biasDtype, col)));
    if (config.preActivationDtype) {
      b.store(narrow(unlessEmpty(value), config.preActivationDtype),
              b.getPointer(config.preActivation), offset);
      value = gelu(value);
    }
    if (!config.accumulates)
      return b.store(narrow(unlessEmpty(value), config.dtype), result, offset);
    if (roundsFirst)
      value = add(b.widen(narrow(value, config.dtype)), loadOld());
    b.ifThenElse(
        isEmpty, [] {},
        [&] { b.store(narrow(value, config.dtype), result, offset); });
  });
}

//===----------------------------------------------------------------------===//
// Along the lines
//===----------------------------------------------------------------------===//

namespace {
/// What the two kinds of kernels say of their way along the lines.
struct DepthLoop {
  /// Elements of a step. A multiple of `block`, or a divisor.
  int64_t step;
  /// Products of a block are summed alone; 0: there are no blocks.
  int64_t block;
  /// Sums of a thread.
  int64_t numSums;
  /// Puts the step that starts at `k` into shared memory.
  function_ref<void(Value k)> load;
  /// Adds the products of elements [first, first + count) of the step.
  function_ref<SmallVector<Value>(int64_t first, int64_t count,
                                  ValueRange sums)>
      accumulate;
  /// Adds the sums of a block to those of the blocks before.
  function_ref<SmallVector<Value>(Value block, ValueRange sums,
                                  ValueRange result)>
      merge;

  SmallVector<Value> emit(KernelBuilder &b);
};
} // namespace

SmallVector<Value> DepthLoop::emit(KernelBuilder &b) {
  Value depth = b.getDepth();
  SmallVector<Value> zeros(numSums, b.zero(b.getF32Type()));
  auto visitSteps = [&](Value first, Value end, ValueRange sums) {
    return b.forRange(first, end, step, sums, [&](Value k, ValueRange current) {
      load(k);
      return accumulate(0, step, current);
    });
  };
  if (block == 0)
    return visitSteps(b.i64(0), depth, zeros);
  if (block > step)
    return b.forRange(
        b.i64(0), depth, block, zeros, [&](Value first, ValueRange result) {
          Value end = arith::MinUIOp::create(b, depth, b.add(first, block));
          return merge(b.div(first, block), visitSteps(first, end, zeros),
                       result);
        });
  return b.forRange(b.i64(0), depth, step, zeros,
                    [&](Value k, ValueRange current) {
                      load(k);
                      SmallVector<Value> result(current);
                      for (int64_t first = 0; first < step; first += block)
                        result = merge(b.div(b.add(k, first), block),
                                       accumulate(first, block, zeros), result);
                      return result;
                    });
}

/// One merge: fma(sum * scale of B, scale of A, result).
static Value mergeScaled(KernelBuilder &b, Value sum, Value scaleB,
                         Value scaleA, Value result) {
  Value scaled = arith::MulFOp::create(b, sum, scaleB);
  return math::FmaOp::create(b, scaled, scaleA, result);
}

//===----------------------------------------------------------------------===//
// Without tensor cores
//===----------------------------------------------------------------------===//

namespace generic {
static constexpr int64_t numThreads = 256, step = 32;
/// A line in shared memory; the padding spreads lines over the banks.
static constexpr int64_t pitch = step + 1;
/// Rows and columns of a thread's sums, and how far they are apart.
static constexpr int64_t perThread = 4, distance = tileSize / perThread;
} // namespace generic

static void emitGeneric(KernelBuilder &b, const Config &config) {
  using namespace generic;
  Type f32 = b.getF32Type();
  Lines a(b, config.a, b.getCols()), bLines(b, config.b, b.getRows());
  Value sharedA = b.makeShared(f32, tileSize * pitch);
  Value sharedB = b.makeShared(f32, tileSize * pitch);
  Value t = b.getThread();
  Value rowInTile = b.div(t, distance), colInTile = b.rem(t, distance);

  auto loadLines = [&](Lines &lines, Value shared, Value firstLine, Value k) {
    // Threads that follow each other load what does.
    bool isLineMajor = lines.format.isLineMajor;
    constexpr int64_t count = tileSize * step / numThreads;
    b.forLoop(count, {}, [&](Value index, ValueRange) {
      Value number = b.add(t, b.mul(index, numThreads));
      Value line = isLineMajor ? b.div(number, step) : b.rem(number, tileSize);
      Value inStep =
          isLineMajor ? b.rem(number, step) : b.div(number, tileSize);
      Value value = lines.loadValue(b.add(firstLine, line), b.add(k, inStep));
      b.store(value, shared, b.add(b.mul(line, pitch), inStep));
      return SmallVector<Value>();
    });
  };

  Epilogue epilogue(b, config, a, bLines);
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value firstRow = b.mul(tileRow, tileSize);
    Value firstCol = b.mul(tileCol, tileSize);
    SmallVector<Value> rows, cols;
    for (int64_t i = 0; i < perThread; ++i) {
      rows.push_back(b.add(b.add(firstRow, rowInTile), i * distance));
      cols.push_back(b.add(b.add(firstCol, colInTile), i * distance));
    }
    auto load = [&](Value k) {
      // Others may still read the step before.
      b.barrier();
      loadLines(a, sharedA, firstCol, k);
      loadLines(bLines, sharedB, firstRow, k);
      b.barrier();
    };
    auto accumulate = [&](int64_t first, int64_t count, ValueRange sums) {
      return b.forLoop(count, sums, [&](Value index, ValueRange current) {
        Value k = b.add(index, first);
        auto loadShared = [&](Value shared, Value inTile) {
          SmallVector<Value> values;
          for (int64_t i = 0; i < perThread; ++i)
            values.push_back(
                b.load(shared, f32,
                       b.add(b.mul(b.add(inTile, i * distance), pitch), k)));
          return values;
        };
        SmallVector<Value> rowValues = loadShared(sharedB, rowInTile);
        SmallVector<Value> colValues = loadShared(sharedA, colInTile);
        SmallVector<Value> next;
        for (auto [number, sum] : llvm::enumerate(current))
          next.push_back(math::FmaOp::create(b, rowValues[number / perThread],
                                             colValues[number % perThread],
                                             sum));
        return next;
      });
    };
    auto merge = [&](Value block, ValueRange sums, ValueRange result) {
      SmallVector<Value> rowScales, colScales, next;
      for (int64_t i = 0; i < perThread; ++i) {
        rowScales.push_back(bLines.loadScale(rows[i], block));
        colScales.push_back(a.loadScale(cols[i], block));
      }
      for (auto [number, sum] : llvm::enumerate(sums))
        next.push_back(mergeScaled(b, sum, rowScales[number / perThread],
                                   colScales[number % perThread],
                                   result[number]));
      return next;
    };
    DepthLoop loop = {step, a.format.block, perThread * perThread,
                      load, accumulate,     merge};
    for (auto [number, sum] : llvm::enumerate(loop.emit(b)))
      epilogue.store(rows[number / perThread], cols[number % perThread], sum);
  });
}

//===----------------------------------------------------------------------===//
// With tensor cores
//===----------------------------------------------------------------------===//

namespace mma {
static constexpr int64_t numThreads = 128;
/// Bytes of a line in a step, in a multiplication, and in shared memory.
static constexpr int64_t stepBytes = 64, mmaBytes = 32, pitch = stepBytes + 16;
static constexpr unsigned vectorBytes = 16;
/// The sums of a warp are 32x32, multiplications 16x8: rows go to B's place.
static constexpr int64_t warpTile = 32, fragRows = 2, fragCols = 4;
static constexpr int64_t numSums = fragRows * fragCols * 4;
/// Where sums of FP8 start anew without blocks of scales.
static constexpr int64_t splitBlock = 128;
} // namespace mma

/// The instruction that multiplies these formats, or an empty name.
static std::string getMmaIntrinsic(const TargetInfo &target, Type a, Type b) {
  auto isFP8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  if (isFP8(a) && isFP8(b) && target.hasFP8Mma)
    return ("llvm.nvvm.mma.m16n8k32.row.col.f32." + getKernelTypeName(b) + "." +
            getKernelTypeName(a) + ".f32")
        .str();
  if (a.isBF16() && b.isBF16())
    return "llvm.nvvm.mma.m16n8k16.row.col.bf16";
  if (a.isF16() && b.isF16())
    return "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
  return {};
}

static void emitMma(KernelBuilder &b, const Config &config, StringRef intrinsic,
                    bool isVector) {
  using namespace mma;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Type codeType = config.a.format.codeType;
  int64_t bytes = getBytes(codeType);
  int64_t step = stepBytes / bytes, mmaDepth = mmaBytes / bytes;
  Lines a(b, config.a, b.getCols()), bLines(b, config.b, b.getRows());
  Value sharedA = b.makeShared(b.getI8Type(), tileSize * pitch);
  Value sharedB = b.makeShared(b.getI8Type(), tileSize * pitch);
  Value t = b.getThread();
  Value warp = b.div(t, warpSize), lane = b.rem(t, warpSize);
  Value group = b.div(lane, 4), inGroup = b.rem(lane, 4);
  constexpr int64_t warpsInRow = tileSize / warpTile;
  Value warpRow = b.mul(b.div(warp, warpsInRow), warpTile);
  Value warpCol = b.mul(b.rem(warp, warpsInRow), warpTile);

  auto loadLines = [&](Lines &lines, Value shared, Value firstLine, Value k) {
    bool isLineMajor = lines.format.isLineMajor;
    if (isVector && isLineMajor) {
      constexpr int64_t perLine = stepBytes / vectorBytes;
      SmallVector<Value> pieces, offsets;
      for (int64_t i = 0; i < tileSize * perLine; i += numThreads) {
        Value number = b.add(t, i);
        Value line = b.div(number, perLine), piece = b.rem(number, perLine);
        pieces.push_back(lines.loadPiece(
            b.add(firstLine, line), b.add(k, b.mul(piece, vectorBytes / bytes)),
            vectorBytes));
        offsets.push_back(b.add(b.mul(line, pitch), b.mul(piece, vectorBytes)));
      }
      for (auto [piece, offset] : llvm::zip_equal(pieces, offsets))
        b.store(piece, shared, offset);
      return;
    }
    b.forLoop(tileSize * step / numThreads, {}, [&](Value index, ValueRange) {
      Value number = b.add(t, b.mul(index, numThreads));
      Value line = isLineMajor ? b.div(number, step) : b.rem(number, tileSize);
      Value inStep =
          isLineMajor ? b.rem(number, step) : b.div(number, tileSize);
      Value bits = lines.loadBits(b.add(firstLine, line), b.add(k, inStep));
      b.store(bits, shared, b.add(b.mul(line, pitch / bytes), inStep));
      return SmallVector<Value>();
    });
  };
  // Four bytes of a line, of which the lanes of a group have 16.
  auto loadWord = [&](Value shared, Value line, int64_t byte) {
    Value word = b.load(
        shared, i32, b.add(b.add(b.mul(line, pitch / 4), inGroup), byte / 4));
    if (!codeType.isF16())
      return word;
    return LLVM::BitcastOp::create(b, VectorType::get(2, codeType), word)
        .getResult();
  };
  Type sumsType =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});

  Epilogue epilogue(b, config, a, bLines);
  b.forEachTile([&](Value tileRow, Value tileCol) {
    Value firstRow = b.mul(tileRow, tileSize);
    Value firstCol = b.mul(tileCol, tileSize);
    // Each lane has two rows of a fragment and two neighbouring columns.
    SmallVector<Value> rows, cols;
    for (int64_t i = 0; i < fragRows * 2; ++i)
      rows.push_back(b.add(b.add(firstRow, warpRow), b.add(group, i * 8)));
    for (int64_t i = 0; i < fragCols; ++i)
      for (int64_t j = 0; j < 2; ++j)
        cols.push_back(b.add(b.add(firstCol, warpCol),
                             b.add(b.mul(inGroup, 2), i * 8 + j)));
    auto getRow = [](int64_t number) {
      return number / (fragCols * 4) * 2 + number % 4 / 2;
    };
    auto getCol = [](int64_t number) {
      return number / 4 % fragCols * 2 + number % 2;
    };
    auto load = [&](Value k) {
      // Others may still read the step before.
      b.barrier();
      loadLines(a, sharedA, firstCol, k);
      loadLines(bLines, sharedB, firstRow, k);
      b.barrier();
    };
    auto accumulate = [&](int64_t first, int64_t count, ValueRange current) {
      SmallVector<Value> sums(current);
      for (int64_t k = first; k < first + count; k += mmaDepth) {
        int64_t byte = k * bytes;
        SmallVector<SmallVector<Value>> rowWords, colWords;
        for (int64_t i = 0; i < fragRows; ++i) {
          Value line = b.add(b.add(warpRow, group), i * 16);
          SmallVector<Value> &words = rowWords.emplace_back();
          for (int64_t half : {0, 16})
            for (int64_t below : {0, 8})
              words.push_back(
                  loadWord(sharedB, b.add(line, below), byte + half));
        }
        for (int64_t i = 0; i < fragCols; ++i) {
          Value line = b.add(b.add(warpCol, group), i * 8);
          SmallVector<Value> &words = colWords.emplace_back();
          for (int64_t half : {0, 16})
            words.push_back(loadWord(sharedA, line, byte + half));
        }
        for (int64_t i = 0; i < fragRows; ++i)
          for (int64_t j = 0; j < fragCols; ++j) {
            MutableArrayRef<Value> fragment =
                MutableArrayRef<Value>(sums).slice((i * fragCols + j) * 4, 4);
            SmallVector<Value> operands = rowWords[i];
            llvm::append_range(operands, colWords[j]);
            llvm::append_range(operands, fragment);
            Value result =
                LLVM::CallIntrinsicOp::create(
                    b, sumsType, b.getStringAttr(intrinsic), operands)
                    .getResult(0);
            for (auto [index, sum] : llvm::enumerate(fragment))
              sum = LLVM::ExtractValueOp::create(b, result, index);
          }
      }
      return sums;
    };
    bool hasScales = a.format.block != 0;
    auto merge = [&](Value block, ValueRange sums, ValueRange result) {
      SmallVector<Value> rowScales, colScales, next;
      if (hasScales) {
        for (Value row : rows)
          rowScales.push_back(bLines.loadScale(row, block));
        for (Value col : cols)
          colScales.push_back(a.loadScale(col, block));
      }
      for (auto [number, sum] : llvm::enumerate(sums)) {
        Value old = result[number];
        next.push_back(hasScales
                           ? mergeScaled(b, sum, rowScales[getRow(number)],
                                         colScales[getCol(number)], old)
                           : arith::AddFOp::create(b, old, sum).getResult());
      }
      return next;
    };
    int64_t block = hasScales ? a.format.block : bytes == 1 ? splitBlock : 0;
    DepthLoop loop = {step, block, numSums, load, accumulate, merge};
    for (auto [number, sum] : llvm::enumerate(loop.emit(b)))
      epilogue.store(rows[getRow(number)], cols[getCol(number)], sum);
  });
}

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

/// The number of a format in the runtime's interface.
static int64_t getRuntimeFormat(Type type) {
  return llvm::TypeSwitch<Type, int64_t>(type)
      .Case<BFloat16Type>([](auto) { return TE_FORMAT_BF16; })
      .Case<Float16Type>([](auto) { return TE_FORMAT_F16; })
      .Case<Float8E4M3FNType>([](auto) { return TE_FORMAT_E4M3; })
      .Case<Float8E5M2Type>([](auto) { return TE_FORMAT_E5M2; })
      .Case<Float4E2M1FNType>([](auto) { return TE_FORMAT_E2M1; })
      .Case<Float8E8M0FNUType>([](auto) { return TE_FORMAT_E8M0; })
      .Default([](Type) { return TE_FORMAT_F32; });
}

static int64_t getRuntimeOrder(GemmOperand::ScaleOrder order) {
  switch (order) {
  case GemmOperand::ScaleOrder::LinesFirst:
    return TE_SCALES_LINES_FIRST;
  case GemmOperand::ScaleOrder::BlocksFirst:
    return TE_SCALES_BLOCKS_FIRST;
  case GemmOperand::ScaleOrder::Tiles:
    break;
  }
  return TE_SCALES_TILES;
}

static LLVM::LLVMFuncOp getRuntimeGemm(ModuleOp module) {
  constexpr StringLiteral name = "teRuntimeGemm";
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  {pointer, pointer}));
}

/// Calls the runtime with a TeGemm, which is an array of words.
static void emitLibraryCall(ImplicitLocOpBuilder &b, const Config &config,
                            LLVM::LLVMFuncOp callee, ValueRange pointers,
                            ValueRange extents, Value stream) {
  Type i64 = b.getI64Type();
  Type pointerType = LLVM::LLVMPointerType::get(b.getContext());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value null = LLVM::ZeroOp::create(b, pointerType);
  SmallVector<Value> words;
  for (const OperandConfig *operand : {&config.a, &config.b}) {
    const GemmOperand &format = operand->format;
    bool hasScales = format.block != 0, hasFactor = !format.factor.empty();
    words.push_back(pointers[operand->codes]);
    words.push_back(hasScales ? pointers[operand->scales] : null);
    words.push_back(
        constant(hasScales ? getRuntimeFormat(format.scaleType) : 0));
    words.push_back(constant(format.block));
    words.push_back(constant(format.linesPerScale));
    words.push_back(constant(getRuntimeOrder(format.scaleOrder)));
    words.push_back(constant(format.scalePadding));
    words.push_back(hasFactor ? pointers[operand->factor] : null);
    words.push_back(constant(format.hasLineFactors));
    words.push_back(constant(format.divisor));
    words.push_back(constant(getRuntimeFormat(format.codeType)));
    words.push_back(constant(format.isLineMajor));
  }
  llvm::append_range(words, extents);
  auto append = [&](Type type, unsigned pointer) {
    words.push_back(type ? pointers[pointer] : null);
    words.push_back(constant(type ? getRuntimeFormat(type) : 0));
  };
  append(config.biasDtype, config.bias);
  append(config.dtype, config.result);
  words.push_back(constant(config.accumulates));
  append(config.preActivationDtype, config.preActivation);

  Value memory =
      LLVM::AllocaOp::create(b, pointerType, i64, constant(words.size()));
  for (auto [index, word] : llvm::enumerate(words)) {
    Value address = LLVM::GEPOp::create(
        b, pointerType, i64, memory,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(b, word, address);
  }
  Value handle =
      UnrealizedConversionCastOp::create(b, pointerType, stream).getResult(0);
  LLVM::CallOp::create(b, callee, ValueRange{memory, handle});
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// Whether steps and blocks fit: one is a multiple of the other.
static bool isBlock(int64_t block, int64_t step) {
  return block == 0 || block % step == 0 || step % block == 0;
}

FailureOr<func::FuncOp> te::quant::emitGemm(GemmIntoOp op,
                                            KernelContext &context) {
  Config config = getConfig(op);
  const GemmOperand &a = config.a.format, &b = config.b.format;
  if (!isBlock(a.block, generic::step))
    return op.emitOpError() << "expected blocks of scales that divide "
                            << generic::step << " or are a multiple of it, but "
                            << "got " << a.block;
  KernelSpec spec;
  spec.name = getName(config);
  if (context.usesLibraryGemm())
    spec.name += "_library";
  if (func::FuncOp launch = context.lookupLaunch(spec.name))
    return launch;
  if (context.usesLibraryGemm()) {
    LLVM::LLVMFuncOp callee = getRuntimeGemm(context.getModule());
    return context.makeLaunch(
        op.getLoc(), spec.name, config.pointers.size(), /*numExtents=*/3,
        [&](ImplicitLocOpBuilder &b, ValueRange pointers, ValueRange extents,
            Value stream) {
          emitLibraryCall(b, config, callee, pointers, extents, stream);
        });
  }
  spec.pointers = config.pointers;
  spec.hasDepth = true;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value rows, Value cols) {
    return buildTileGrid(b, rows, cols, tileSize, tileSize);
  };
  std::string intrinsic =
      getMmaIntrinsic(context.getTarget(), a.codeType, b.codeType);
  int64_t bytes = getBytes(a.codeType);
  bool isMma = !intrinsic.empty() && isBlock(a.block, mma::stepBytes / bytes) &&
               a.block % (mma::mmaBytes / bytes) == 0;
  if (!isMma) {
    spec.threadsPerBlock = generic::numThreads;
    spec.variants = {
        {1, 1, [config](KernelBuilder &b) { emitGeneric(b, config); }}};
    return context.makeLaunch(op.getLoc(), spec);
  }
  spec.launchName = spec.name;
  spec.name += "_mma";
  spec.threadsPerBlock = mma::numThreads;
  auto emit = [=](bool isVector) {
    return [=](KernelBuilder &b) { emitMma(b, config, intrinsic, isVector); };
  };
  spec.variants = {{1, 1, emit(false)}};
  for (const OperandConfig *operand : {&config.a, &config.b})
    spec.pointers[operand->codes].isVector = operand->format.isLineMajor;
  if (a.isLineMajor || b.isLineMajor)
    spec.variants.insert(spec.variants.begin(),
                         KernelVariant{mma::vectorBytes, 1, emit(true), 1,
                                       mma::vectorBytes / bytes});
  return context.makeLaunch(op.getLoc(), spec);
}
