//===- KernelBuilder.cpp - how kernels loop, load, reduce and store -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace te::quant;

/// Lanes of a warp.
static constexpr int32_t warpSize = 32;

Value te::quant::buildCeilDiv(ImplicitLocOpBuilder &b, Value value,
                              int64_t divisor) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(b, number, 64);
  };
  Value sum = arith::AddIOp::create(b, value, constant(divisor - 1));
  return arith::DivUIOp::create(b, sum, constant(divisor));
}

TileGrid te::quant::buildTileGrid(ImplicitLocOpBuilder &b, Value rows,
                                  Value cols, int64_t tileRows,
                                  int64_t tileCols) {
  return {buildCeilDiv(b, rows, tileRows), buildCeilDiv(b, cols, tileCols)};
}

TileGrid te::quant::buildFlatGrid(ImplicitLocOpBuilder &b, Value rows,
                                  Value cols, int64_t tileSize) {
  Value elements = arith::MulIOp::create(b, rows, cols);
  Value one = arith::ConstantIntOp::create(b, 1, 64);
  return {one, buildCeilDiv(b, elements, tileSize)};
}

//===----------------------------------------------------------------------===//
// KernelBuilder
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(gpu::GPUFuncOp kernel, const KernelSpec &spec)
    : ImplicitLocOpBuilder(kernel.getLoc(), kernel.getContext()),
      kernel(kernel), spec(spec) {
  setInsertionPointToStart(&kernel.front());
  auto end = gpu::ReturnOp::create(*this);
  setInsertionPoint(end);
  unsigned next = 0;
  for (const KernelPointer &pointer : spec.pointers)
    pointers.push_back(pointer.role == KernelPointer::Unused
                           ? Value()
                           : kernel.getArgument(next++));
  rows = kernel.getArgument(next);
  cols = kernel.getArgument(next + 1);
  if (spec.hasDepth)
    depth = kernel.getArgument(next + 2);
  thread = arith::IndexCastOp::create(
      *this, getI64Type(), gpu::ThreadIdOp::create(*this, gpu::Dimension::x));
}

Value KernelBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(*this, value, 64);
}

Value KernelBuilder::add(Value lhs, Value rhs) {
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::mul(Value lhs, Value rhs) {
  return arith::MulIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::div(Value lhs, int64_t rhs) {
  return arith::DivUIOp::create(*this, lhs, i64(rhs));
}

Value KernelBuilder::rem(Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(*this, lhs, i64(rhs));
}

Value KernelBuilder::isLess(Value lhs, Value rhs) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, lhs, rhs);
}

Value KernelBuilder::isEqual(Value lhs, int64_t rhs) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, lhs, i64(rhs));
}

Value KernelBuilder::both(Value lhs, Value rhs) {
  return arith::AndIOp::create(*this, lhs, rhs);
}

void KernelBuilder::forEachTile(function_ref<void(Value, Value)> body) {
  forEachTile({}, [&](Value row, Value col, SmallVectorImpl<Value> &) {
    body(row, col);
  });
}

SmallVector<Value> KernelBuilder::forEachTile(
    ValueRange init,
    function_ref<void(Value, Value, SmallVectorImpl<Value> &)> body) {
  auto toI64 = [&](Value index) -> Value {
    return arith::IndexCastOp::create(*this, getI64Type(), index);
  };
  TileGrid tiles = spec.getTiles(*this, rows, cols);
  Value first = toI64(gpu::BlockIdOp::create(*this, gpu::Dimension::x));
  Value step = toI64(gpu::GridDimOp::create(*this, gpu::Dimension::x));
  Value total = mul(tiles.rows, tiles.cols);
  auto divide = [&](Value value) {
    return std::pair<Value, Value>(
        arith::DivUIOp::create(*this, value, tiles.cols),
        arith::RemUIOp::create(*this, value, tiles.cols));
  };
  auto [firstRow, firstCol] = divide(first);
  auto [stepRows, stepCols] = divide(step);
  SmallVector<Value> carried = {firstRow, firstCol};
  llvm::append_range(carried, init);
  auto loop = scf::ForOp::create(*this, first, total, step, carried);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Value row = loop.getRegionIterArgs()[0], col = loop.getRegionIterArgs()[1];
  carried.assign(loop.getRegionIterArgs().begin() + 2,
                 loop.getRegionIterArgs().end());
  body(row, col, carried);
  // (row, col) + (stepRows, stepCols) with a carry.
  Value nextCol = add(col, stepCols);
  Value isInRow = isLess(nextCol, tiles.cols);
  Value wrapped = arith::SubIOp::create(*this, nextCol, tiles.cols);
  Value nextRow = add(row, stepRows);
  nextCol = arith::SelectOp::create(*this, isInRow, nextCol, wrapped);
  nextRow = arith::SelectOp::create(*this, isInRow, nextRow, add(nextRow, 1));
  SmallVector<Value> next = {nextRow, nextCol};
  llvm::append_range(next, carried);
  scf::YieldOp::create(*this, next);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front(2));
}

SmallVector<Value> KernelBuilder::forEachAccess(int64_t tileSize, int64_t size,
                                                ValueRange init,
                                                AccessBody body) {
  constexpr int64_t atOnce = 4;
  int64_t step = spec.threadsPerBlock * size;
  Value total = mul(rows, cols);
  return forEachTile(init, [&](Value, Value tile,
                               SmallVectorImpl<Value> &carried) {
    Value first = add(mul(tile, tileSize), mul(thread, size));
    auto visit = [&](Value start, SmallVectorImpl<Value> &carried) {
      SmallVector<Value> offsets, isInside;
      for (int64_t k = 0; k < atOnce; ++k) {
        offsets.push_back(add(start, k * step));
        isInside.push_back(isLess(offsets.back(), total));
      }
      body(offsets, isInside, carried);
    };
    int64_t count = tileSize / (step * atOnce);
    if (count == 1)
      return visit(first, carried);
    SmallVector<Value> inits = llvm::to_vector(carried);
    carried = forLoop(count, inits, [&](Value index, ValueRange current) {
      SmallVector<Value> next(current);
      visit(add(first, mul(index, step * atOnce)), next);
      return next;
    });
  });
}

void KernelBuilder::inFirstThread(function_ref<void()> body) {
  Value block = arith::IndexCastOp::create(
      *this, getI64Type(), gpu::BlockIdOp::create(*this, gpu::Dimension::x));
  ifThen(both(isEqual(block, 0), isEqual(thread, 0)), body);
}

void KernelBuilder::unlessNoop(Value flag, function_ref<void()> body) {
  if (!flag)
    return body();
  Value value = load(flag, getF32Type(), i64(0));
  Value one = arith::ConstantOp::create(*this, getF32FloatAttr(1.0f));
  ifThen(arith::CmpFOp::create(*this, arith::CmpFPredicate::UNE, value, one),
         body);
}

void KernelBuilder::ifThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

void KernelBuilder::ifThenElse(Value condition, function_ref<void()> body,
                               function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
  setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

Value KernelBuilder::ifElse(Value condition, Type type,
                            function_ref<Value()> body,
                            function_ref<Value()> otherwise) {
  auto branch = scf::IfOp::create(*this, TypeRange(type), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, body());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, otherwise());
  return branch.getResult(0);
}

SmallVector<Value> KernelBuilder::forLoop(
    int64_t count, ValueRange init,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  return forRange(i64(0), i64(count), 1, init, body);
}

SmallVector<Value> KernelBuilder::forRange(
    Value lower, Value upper, int64_t step, ValueRange init,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, lower, upper, i64(step), init);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(*this, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value KernelBuilder::getAddress(Value pointer, Type elementType, Value offset) {
  return LLVM::GEPOp::create(*this, pointer.getType(), elementType, pointer,
                             ValueRange(offset),
                             LLVM::GEPNoWrapFlags::inbounds);
}

static int64_t getNumElements(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

Value KernelBuilder::loadInput(Type type, const InputIndex &index) {
  int64_t size = getNumElements(type);
  return spec.input.apply(*this, size, spec.input.load(*this, size, index));
}

Value KernelBuilder::loadInputOrZero(Value condition, Type type,
                                     const InputIndex &index) {
  return ifElse(
      condition, type, [&] { return loadInput(type, index); },
      [&] { return zero(type); });
}

SmallVector<Value> KernelBuilder::loadInputs(Value isFull,
                                             ArrayRef<Value> isInside,
                                             Type type,
                                             ArrayRef<InputIndex> indices) {
  int64_t size = getNumElements(type);
  SmallVector<Type> types = spec.input.getLoadTypes(size);
  auto loadOrZero = [&](Value condition, const InputIndex &index) {
    auto branch = scf::IfOp::create(*this, types, condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(*this, spec.input.load(*this, size, index));
    setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(*this, llvm::map_to_vector(types, [&](Type type) {
                           return zero(type);
                         }));
    return llvm::to_vector_of<Value>(branch.getResults());
  };
  SmallVector<Value> loaded;
  auto loadEachOrZero = [&] {
    for (auto [condition, index] : llvm::zip_equal(isInside, indices))
      llvm::append_range(loaded, loadOrZero(condition, index));
  };
  if (!isFull) {
    loadEachOrZero();
  } else {
    SmallVector<Type> allTypes;
    for (size_t k = 0; k < indices.size(); ++k)
      llvm::append_range(allTypes, types);
    auto branch = scf::IfOp::create(*this, allTypes, isFull,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    for (const InputIndex &index : indices)
      llvm::append_range(loaded, spec.input.load(*this, size, index));
    scf::YieldOp::create(*this, loaded);
    loaded.clear();
    setInsertionPointToStart(branch.elseBlock());
    loadEachOrZero();
    scf::YieldOp::create(*this, loaded);
    loaded.assign(branch.result_begin(), branch.result_end());
  }

  SmallVector<Value> values;
  for (size_t k = 0; k < indices.size(); ++k) {
    Value value = spec.input.apply(
        *this, size, ArrayRef(loaded).slice(k * types.size(), types.size()));
    // What a region makes of zeros may be anything.
    if (spec.input.hasRegion())
      value = arith::SelectOp::create(*this, isInside[k], value, zero(type));
    values.push_back(value);
  }
  return values;
}

/// The size of a scalar or vector in bytes, which is its alignment too.
static unsigned getAccessBytes(Type type) {
  int64_t elements = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    elements = vector.getNumElements();
  return elements * getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

Value KernelBuilder::load(Value pointer, Type type, Value offset) {
  auto argument = dyn_cast<BlockArgument>(pointer);
  bool isInput = argument && argument.getOwner()->getParentOp() == kernel &&
                 kernel.getArgAttr(argument.getArgNumber(),
                                   LLVM::LLVMDialect::getReadonlyAttrName());
  Value address = getAddress(pointer, getElementTypeOrSelf(type), offset);
  return LLVM::LoadOp::create(*this, type, address, getAccessBytes(type),
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/isInput);
}

Value KernelBuilder::loadOrZero(Value condition, Value pointer, Type type,
                                Value offset) {
  return ifElse(
      condition, type, [&] { return load(pointer, type, offset); },
      [&] { return zero(type); });
}

SmallVector<Value> KernelBuilder::loadAll(Value isFull,
                                          ArrayRef<Value> isInside,
                                          Value pointer, Type type,
                                          ArrayRef<Value> offsets) {
  SmallVector<Type> types(offsets.size(), type);
  auto branch = scf::IfOp::create(*this, types, isFull,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  SmallVector<Value> values;
  setInsertionPointToStart(branch.thenBlock());
  for (Value offset : offsets)
    values.push_back(load(pointer, type, offset));
  scf::YieldOp::create(*this, values);
  values.clear();
  setInsertionPointToStart(branch.elseBlock());
  for (auto [condition, offset] : llvm::zip_equal(isInside, offsets))
    values.push_back(loadOrZero(condition, pointer, type, offset));
  scf::YieldOp::create(*this, values);
  return llvm::to_vector_of<Value>(branch.getResults());
}

void KernelBuilder::store(Value value, Value pointer, Value offset) {
  Type type = value.getType();
  Value address = getAddress(pointer, getElementTypeOrSelf(type), offset);
  LLVM::StoreOp::create(*this, value, address, getAccessBytes(type));
}

void KernelBuilder::atomicMax(Value value, Value pointer) {
  // The bits of numbers that are not negative are in the numbers' order.
  Value bits = arith::BitcastOp::create(*this, getI32Type(), value);
  LLVM::AtomicRMWOp::create(*this, LLVM::AtomicBinOp::umax, pointer, bits,
                            LLVM::AtomicOrdering::monotonic, "device",
                            /*alignment=*/4);
}

Value KernelBuilder::makeShared(Type elementType, int64_t count) {
  constexpr unsigned space =
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  unsigned number = 0;
  std::string name;
  do
    name = (kernel.getName() + "_shared" + Twine(number++)).str();
  while (module.lookupSymbol(name));
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPoint(kernel);
    global = LLVM::GlobalOp::create(
        *this, LLVM::LLVMArrayType::get(elementType, count),
        /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
        /*alignment=*/16, space);
  }
  return LLVM::AddressOfOp::create(*this, global);
}

void KernelBuilder::barrier() { gpu::BarrierOp::create(*this); }

Value KernelBuilder::zero(Type type) {
  return arith::ConstantOp::create(*this, getZeroAttr(type));
}

Value KernelBuilder::widen(Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return value;
  Type type = getF32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return arith::ExtFOp::create(*this, type, value);
}

Value KernelBuilder::abs(Value value) {
  return math::AbsFOp::create(*this, value);
}

Value KernelBuilder::max(Value lhs, Value rhs) {
  return arith::MaxNumFOp::create(*this, lhs, rhs);
}

Value KernelBuilder::reduceMax(Value vector) {
  return vector::ReductionOp::create(*this, vector::CombiningKind::MAXNUMF,
                                     vector);
}

Value KernelBuilder::shuffleMax(Value value, unsigned lanes) {
  for (unsigned bit = 1; bit <= lanes; bit <<= 1) {
    if (!(lanes & bit))
      continue;
    auto other = gpu::ShuffleOp::create(*this, value, bit, warpSize,
                                        gpu::ShuffleMode::XOR);
    value = max(value, other.getShuffleResult());
  }
  return value;
}

Value KernelBuilder::blockMax(Value value) {
  int64_t numWarps = spec.threadsPerBlock / warpSize;
  value = shuffleMax(value, warpSize - 1);
  Value warps = makeShared(value.getType(), numWarps);
  ifThen(isEqual(rem(thread, warpSize), 0),
         [&] { store(value, warps, div(thread, warpSize)); });
  barrier();
  for (int64_t warp = 0; warp < numWarps; ++warp)
    value = max(value, load(warps, value.getType(), i64(warp)));
  return value;
}

Value KernelBuilder::concat(ValueRange vectors) {
  Value result = vectors.front();
  for (Value vector : vectors.drop_front()) {
    int64_t size = cast<VectorType>(result.getType()).getNumElements() +
                   cast<VectorType>(vector.getType()).getNumElements();
    auto mask = llvm::to_vector(llvm::seq<int64_t>(0, size));
    result = vector::ShuffleOp::create(*this, result, vector, mask);
  }
  return result;
}

Value KernelBuilder::slice(Value vector, int64_t first, int64_t size) {
  auto mask = llvm::to_vector(llvm::seq<int64_t>(first, first + size));
  return vector::ShuffleOp::create(*this, vector, vector, mask);
}

//===----------------------------------------------------------------------===//
// Zero
//===----------------------------------------------------------------------===//

KernelSpec te::quant::getZeroSpec(unsigned numPointers,
                                  ArrayRef<unsigned> outs,
                                  std::optional<unsigned> noop) {
  KernelSpec spec;
  spec.name = "zero_f32";
  if (outs.size() > 1)
    spec.name += "x" + std::to_string(outs.size());
  if (noop)
    spec.name += "_noop";
  spec.pointers.assign(numPointers, {KernelPointer::Unused});
  if (noop)
    spec.pointers[*noop] = {KernelPointer::Input, 4};
  for (unsigned out : outs)
    spec.pointers[out] = {KernelPointer::Output, 4};
  spec.threadsPerBlock = warpSize;
  spec.getTiles = [](ImplicitLocOpBuilder &b, Value, Value) {
    Value one = arith::ConstantIntOp::create(b, 1, 64);
    return TileGrid{one, one};
  };
  auto emit = [outs = llvm::to_vector(outs), noop](KernelBuilder &b) {
    b.unlessNoop(noop ? b.getPointer(*noop) : Value(), [&] {
      b.ifThen(b.isEqual(b.getThread(), 0), [&] {
        for (unsigned out : outs)
          b.store(b.zero(b.getF32Type()), b.getPointer(out), b.i64(0));
      });
    });
  };
  spec.variants = {{1, 1, emit}};
  spec.runsOnEmpty = true;
  return spec;
}

//===----------------------------------------------------------------------===//
// ScaleTensor
//===----------------------------------------------------------------------===//

// A tile of scales in GEMM order (numerics: 4.4).
static constexpr int64_t tileI = 128, tileJ = 4, tileBytes = 512;

static Value buildOffsetInTiles(KernelBuilder &b, Value i, Value j,
                                Value tiles) {
  Value tile = b.add(b.mul(b.div(i, tileI), tiles), b.div(j, tileJ));
  Value inTile =
      b.add(b.mul(b.rem(i, 32), 16), b.mul(b.div(b.rem(i, tileI), 32), tileJ));
  return b.add(b.add(b.mul(tile, tileBytes), inTile), b.rem(j, tileJ));
}

Value te::quant::buildScaleTileOffset(KernelBuilder &b, Value i, Value j,
                                      Value extentJ) {
  return buildOffsetInTiles(b, i, j, buildCeilDiv(b, extentJ, tileJ));
}

ScaleTensor::ScaleTensor(KernelBuilder &b, Value pointer,
                         ScaleGeometry geometry, bool isGemmOrder)
    : b(b), pointer(pointer), geometry(geometry), isGemmOrder(isGemmOrder) {
  bool isRowwise = geometry.blocked == Extent::Cols;
  extentI = isRowwise ? b.getRows() : b.getCols();
  extentJ =
      buildCeilDiv(b, isRowwise ? b.getCols() : b.getRows(), geometry.block);
  tiles = buildCeilDiv(b, extentJ, tileJ);
  pitch = geometry.blocksFirst ? b.mul(buildCeilDiv(b, extentI, tileI), tileI)
                               : b.mul(tiles, tileJ);
}

Value ScaleTensor::isValid(Value i, Value j) {
  return b.both(b.isLess(i, extentI), b.isLess(j, extentJ));
}

Value ScaleTensor::getOffset(Value i, Value j) {
  if (!isGemmOrder)
    return geometry.blocksFirst ? b.add(b.mul(j, pitch), i)
                                : b.add(b.mul(i, pitch), j);
  return buildOffsetInTiles(b, i, j, tiles);
}

Value ScaleTensor::load(Value i, Value j) {
  return b.load(pointer, b.getI8Type(), getOffset(i, j));
}

Value ScaleTensor::loadAlongI(Value i, Value j, int64_t count) {
  auto type = VectorType::get(count, b.getI8Type());
  if (!isGemmOrder && geometry.blocksFirst)
    return b.load(pointer, type, getOffset(i, j));
  SmallVector<Value> scales;
  for (int64_t index = 0; index < count; ++index)
    scales.push_back(load(b.add(i, index), j));
  return vector::FromElementsOp::create(b, type, scales);
}

void ScaleTensor::store(Value scale, Value i, Value j) {
  Value valid = isValid(i, j);
  if (isGemmOrder) {
    Value padded =
        arith::SelectOp::create(b, valid, scale, b.zero(scale.getType()));
    return b.store(padded, pointer, getOffset(i, j));
  }
  b.ifThen(valid, [&] { b.store(scale, pointer, getOffset(i, j)); });
}
