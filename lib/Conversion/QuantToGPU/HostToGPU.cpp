//===- HostToGPU.cpp - host code around launches --------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is an `!gpu.async.token` that each device op depends on: upstream's
// conversion uses the first dependency of an asynchronous op as its stream.
//
//===----------------------------------------------------------------------===//

#include "HostToGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace te::quant;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp te::quant::getRuntimeFunction(ModuleOp module, StringRef name,
                                               ArrayRef<Type> operands) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), operands);
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

Value te::quant::getStreamHandle(OpBuilder &builder, Location loc,
                                 Value stream) {
  return UnrealizedConversionCastOp::create(
             builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
             stream)
      .getResult(0);
}

Value te::quant::getStringPointer(OpBuilder &builder, Location loc,
                                  ModuleOp module, StringRef text) {
  LLVM::GlobalOp global;
  StringAttr value = builder.getStringAttr(text + StringRef("\0", 1));
  unsigned number = 0;
  for (auto candidate : module.getOps<LLVM::GlobalOp>()) {
    if (!candidate.getSymName().starts_with("te_quant_message_"))
      continue;
    ++number;
    if (candidate.getValueOrNull() == value)
      global = candidate;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size() + 1);
    global = LLVM::GlobalOp::create(
        builder, module.getLoc(), type, /*isConstant=*/true,
        LLVM::Linkage::Internal,
        ("te_quant_message_" + Twine(number)).str(), value);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

/// Waits for all work on `stream`, which stays open. `gpu.wait` would end a
/// stream made here and take one from a caller for an event.
static void synchronize(OpBuilder &builder, Location loc, Value stream) {
  Value handle = getStreamHandle(builder, loc, stream);
  auto module =
      builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  LLVM::CallOp::create(
      builder, loc,
      getRuntimeFunction(module, "mgpuStreamSynchronize", handle.getType()),
      handle);
}

/// Whether nothing but calls in the module refers to `function`.
static bool isCalledOnly(func::FuncOp function,
                         ArrayRef<SymbolTable::SymbolUse> uses) {
  return function.isPrivate() &&
         llvm::all_of(uses, [](const SymbolTable::SymbolUse &use) {
           return isa<func::CallOp>(use.getUser());
         });
}

static SmallVector<SymbolTable::SymbolUse> getUses(func::FuncOp function,
                                                   ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  return uses ? llvm::to_vector(*uses) : SmallVector<SymbolTable::SymbolUse>();
}

/// Moves the body of `function` to a private function that calls in the module
/// refer to, and leaves a call of it.
static func::FuncOp splitBody(func::FuncOp function,
                              ArrayRef<SymbolTable::SymbolUse> uses,
                              SymbolTable &symbols) {
  OpBuilder builder(function);
  auto body = func::FuncOp::create(
      builder, function.getLoc(), (function.getName() + "__body").str(),
      function.getFunctionType());
  body.setPrivate();
  symbols.insert(body);
  body.getBody().takeBody(function.getBody());
  for (const SymbolTable::SymbolUse &use : uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser()))
      call.setCallee(body.getName());
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto call = func::CallOp::create(builder, function.getLoc(), body,
                                   entry->getArguments());
  func::ReturnOp::create(builder, function.getLoc(), call.getResults());
  return body;
}

/// The stream of a function that is entered from outside.
static Value openStream(func::FuncOp function) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Type token = gpu::AsyncTokenType::get(function.getContext());
  ArrayRef<Type> inputs = function.getFunctionType().getInputs();
  if (!inputs.empty() && isa<LLVM::LLVMPointerType>(inputs.back()))
    return UnrealizedConversionCastOp::create(
               builder, loc, token, function.getArguments().back())
        .getResult(0);
  Value stream =
      gpu::WaitOp::create(builder, loc, token, ValueRange()).getAsyncToken();
  function.walk([&](func::ReturnOp op) {
    builder.setInsertionPoint(op);
    gpu::WaitOp::create(builder, loc, Type(), stream);
  });
  return stream;
}

StreamMap te::quant::addStreams(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      functions.push_back(function);

  // Private functions get the stream as a trailing argument.
  StreamMap streams;
  Type token = gpu::AsyncTokenType::get(module.getContext());
  auto addArgument = [&](func::FuncOp function) {
    (void)function.insertArgument(function.getNumArguments(), token, {},
                                  function.getLoc());
    streams[function] = function.getArguments().back();
  };
  SmallVector<func::FuncOp> entries;
  for (func::FuncOp function : functions) {
    SmallVector<SymbolTable::SymbolUse> uses = getUses(function, module);
    if (isCalledOnly(function, uses)) {
      addArgument(function);
      continue;
    }
    bool isCalled = llvm::any_of(uses, [](const SymbolTable::SymbolUse &use) {
      return isa<func::CallOp>(use.getUser());
    });
    if (isCalled)
      addArgument(splitBody(function, uses, symbols));
    entries.push_back(function);
  }
  for (func::FuncOp function : entries)
    streams[function] = openStream(function);

  // Calls pass their function's stream on. What is outside the module knows
  // nothing of it and must find the work done.
  for (auto [function, stream] : streams) {
    Value value = stream;
    function.walk([&](func::CallOp call) {
      OpBuilder builder(call);
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (callee && callee.isDeclaration())
        synchronize(builder, call.getLoc(), value);
      else if (callee && streams.count(callee) && callee.isPrivate())
        call.getOperandsMutable().append(value);
    });
  }
  return streams;
}

//===----------------------------------------------------------------------===//
// Device operations
//===----------------------------------------------------------------------===//

namespace {
class HostLowering {
public:
  HostLowering(func::FuncOp function, Value stream)
      : function(function), module(function->getParentOfType<ModuleOp>()),
        stream(stream), builder(function.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      if (failed(lower(op)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult lower(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<memref::AllocOp, memref::DeallocOp, memref::CopyOp,
              memref::GetGlobalOp, memref::LoadOp, gpu::LaunchFuncOp, CheckOp>(
            [&](auto concrete) { return lower(concrete); })
        .Case<memref::StoreOp>([](memref::StoreOp store) {
          return store.emitOpError("cannot be done on the host: the buffer is "
                                   "device memory");
        })
        .Default([](Operation *) { return success(); });
  }

  Type getToken() { return gpu::AsyncTokenType::get(function.getContext()); }

  static LogicalResult verifyIdentity(Operation *op, Value memref) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    if (type && type.getLayout().isIdentity())
      return success();
    return op->emitOpError() << "expected a memref with identity layout, but "
                                "got "
                             << memref.getType();
  }

  LogicalResult lower(memref::AllocOp op) {
    if (failed(verifyIdentity(op, op)))
      return failure();
    auto alloc = gpu::AllocOp::create(builder, op.getLoc(), op.getType(),
                                      getToken(), stream, op.getDynamicSizes(),
                                      op.getSymbolOperands());
    op.replaceAllUsesWith(alloc.getMemref());
    op.erase();
    return success();
  }

  LogicalResult lower(memref::DeallocOp op) {
    gpu::DeallocOp::create(builder, op.getLoc(), getToken(), stream,
                           op.getMemref());
    op.erase();
    return success();
  }

  LogicalResult lower(memref::CopyOp op) {
    if (failed(verifyIdentity(op, op.getSource())) ||
        failed(verifyIdentity(op, op.getTarget())))
      return failure();
    gpu::MemcpyOp::create(builder, op.getLoc(), getToken(), stream,
                          op.getTarget(), op.getSource());
    op.erase();
    return success();
  }

  LogicalResult lower(gpu::LaunchFuncOp op) {
    if (op.getAsyncToken())
      return success();
    op.getAsyncDependenciesMutable().assign(stream);
    OperationState state(op.getLoc(), op->getName(), op->getOperands(),
                         {getToken()}, op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    builder.create(state);
    op.erase();
    return success();
  }

  /// The pointer to the buffer's first element.
  Value getPointer(Location loc, Value memref) {
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc,
                                                                   memref);
    Value integer = arith::IndexCastOp::create(builder, loc,
                                               builder.getI64Type(), address);
    return LLVM::IntToPtrOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        integer);
  }

  /// A memref of static shape over the memory at `pointer`.
  Value makeMemRef(Location loc, Value pointer, MemRefType type) {
    MLIRContext *context = builder.getContext();
    Type i64 = builder.getI64Type();
    int64_t rank = type.getRank();
    SmallVector<Type> fields = {pointer.getType(), pointer.getType(), i64};
    if (rank > 0)
      fields.append(2, LLVM::LLVMArrayType::get(i64, rank));
    Type structType = LLVM::LLVMStructType::getLiteral(context, fields);
    Value desc = LLVM::UndefOp::create(builder, loc, structType);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      desc = LLVM::InsertValueOp::create(builder, loc, desc, value, position);
    };
    auto constant = [&](int64_t value) {
      return LLVM::ConstantOp::create(builder, loc, i64,
                                      builder.getI64IntegerAttr(value));
    };
    insert(pointer, 0);
    insert(pointer, 1);
    insert(constant(0), 2);
    int64_t stride = 1;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      insert(constant(type.getDimSize(dim)), {3, dim});
      insert(constant(stride), {4, dim});
      stride *= type.getDimSize(dim);
    }
    return UnrealizedConversionCastOp::create(builder, loc, type, desc)
        .getResult(0);
  }

  /// A function that uploads the constant `global` at its first call and
  /// returns the device's pointer to it.
  func::FuncOp getUploadFunction(memref::GlobalOp global) {
    std::string name = ("te_quant_constant_" + global.getName()).str();
    if (auto existing = module.lookupSymbol<func::FuncOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(builder);
    MLIRContext *context = builder.getContext();
    Location loc = global.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(context);
    builder.setInsertionPointToEnd(module.getBody());
    auto cache = LLVM::GlobalOp::create(
        builder, loc, pointer, /*isConstant=*/false, LLVM::Linkage::Internal,
        name + "_device", Attribute());
    {
      OpBuilder::InsertionGuard inner(builder);
      Block *init = builder.createBlock(&cache.getInitializer());
      builder.setInsertionPointToStart(init);
      Value null = LLVM::ZeroOp::create(builder, loc, pointer);
      LLVM::ReturnOp::create(builder, loc, null);
    }
    auto upload = func::FuncOp::create(
        builder, loc, name,
        builder.getFunctionType({getToken()}, {pointer}));
    upload.setPrivate();
    Block *entry = upload.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    Value token = entry->getArgument(0);
    Value address = LLVM::AddressOfOp::create(builder, loc, cache);
    Value known = LLVM::LoadOp::create(builder, loc, pointer, address);
    Value null = LLVM::ZeroOp::create(builder, loc, pointer);
    Value isNew = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                       known, null);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(pointer), isNew,
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    MemRefType type = global.getType();
    Value host = memref::GetGlobalOp::create(builder, loc, type,
                                             global.getName());
    auto device = gpu::AllocOp::create(builder, loc, type, getToken(), token,
                                       ValueRange(), ValueRange());
    gpu::MemcpyOp::create(builder, loc, getToken(), token, device.getMemref(),
                          host);
    // Other streams may use the constant from now on.
    synchronize(builder, loc, token);
    Value made = getPointer(loc, device.getMemref());
    LLVM::StoreOp::create(builder, loc, made, address);
    scf::YieldOp::create(builder, loc, made);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, known);
    builder.setInsertionPointAfter(branch);
    func::ReturnOp::create(builder, loc, branch.getResults());
    return upload;
  }

  LogicalResult lower(memref::GetGlobalOp op) {
    auto global = module.lookupSymbol<memref::GlobalOp>(op.getName());
    if (!global)
      return op.emitOpError("refers to no global in the module");
    if (global.isUninitialized() || !global.getConstant())
      return op.emitOpError("expected an initialized constant: other globals "
                            "have no place on the device");
    func::FuncOp upload = getUploadFunction(global);
    auto call = func::CallOp::create(builder, op.getLoc(), upload, stream);
    op.replaceAllUsesWith(
        makeMemRef(op.getLoc(), call.getResult(0), op.getType()));
    op.erase();
    return success();
  }

  /// A value that the host needs: copied back, after waiting for the stream.
  LogicalResult lower(memref::LoadOp op) {
    if (failed(verifyIdentity(op, op.getMemref())))
      return failure();
    Location loc = op.getLoc();
    MemRefType type = op.getMemRefType();
    Type elementType = type.getElementType();
    auto scalarType = MemRefType::get({}, elementType);
    Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      Value extent = memref::DimOp::create(builder, loc, op.getMemref(), dim);
      Value scaled = arith::MulIOp::create(builder, loc, offset, extent);
      offset = arith::AddIOp::create(builder, loc, scaled, index);
    }
    Value offset64 = arith::IndexCastOp::create(builder, loc,
                                                builder.getI64Type(), offset);
    Value base = getPointer(loc, op.getMemref());
    Type storage = elementType;
    if (isa<IndexType>(elementType))
      storage = builder.getI64Type();
    else if (elementType.isIntOrFloat())
      storage = builder.getIntegerType(
          llvm::alignTo(elementType.getIntOrFloatBitWidth(), 8));
    Value element = LLVM::GEPOp::create(builder, loc, base.getType(), storage,
                                        base, ValueRange(offset64));
    Value host;
    {
      // At the function's entry: the stack must not grow in a loop.
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&function.front());
      host = memref::AllocaOp::create(builder, loc, scalarType);
    }
    gpu::MemcpyOp::create(builder, loc, getToken(), stream, host,
                          makeMemRef(loc, element, scalarType));
    synchronize(builder, loc, stream);
    Value value = memref::LoadOp::create(builder, loc, host);
    op.replaceAllUsesWith(value);
    op.erase();
    return success();
  }

  LogicalResult lower(CheckOp op) {
    MLIRContext *context = builder.getContext();
    Location loc = op.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(context);
    LLVM::LLVMFuncOp check = getRuntimeFunction(
        module, "teRuntimeCheck", {builder.getI1Type(), pointer});
    // The C ABI extends a bool to a register.
    check.setArgAttr(0, LLVM::LLVMDialect::getZExtAttrName(),
                     builder.getUnitAttr());
    Value message = getStringPointer(builder, loc, module, op.getMessage());
    LLVM::CallOp::create(builder, loc, check,
                         ValueRange{op.getCondition(), message});
    op.erase();
    return success();
  }

  func::FuncOp function;
  ModuleOp module;
  Value stream;
  OpBuilder builder;
};
} // namespace

LogicalResult te::quant::lowerHostCode(func::FuncOp function, Value stream) {
  return HostLowering(function, stream).run();
}
