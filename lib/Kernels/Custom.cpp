//===- Custom.cpp - formats that functions outside implement --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launch function calls a function that the quantizer names, whose
// signature its description states. What every kernel does for itself is done
// here around the call: the no-op flag, empty tensors and the runtime's error.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "te/Kernels/KernelEmitter.h"

using namespace mlir;
using namespace te::quant;

/// On a function: the element type of the input or output that it is for,
/// which its signature does not tell.
static constexpr llvm::StringLiteral elementTypeName("te_quant.element_type");

/// The runtime function `name`, declared when it is not yet.
static LLVM::LLVMFuncOp getRuntimeFunction(ModuleOp module, StringRef name,
                                           Type result,
                                           ArrayRef<Type> operands) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(result, operands));
}

/// Whether `function` can be called with values of `types`.
static bool isCallable(Operation *function, ArrayRef<Type> types) {
  MLIRContext *context = function->getContext();
  if (auto lowered = dyn_cast<LLVM::LLVMFuncOp>(function))
    return lowered.getFunctionType() ==
           LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  // A private one has its own way to get a stream, a declared one its own ABI.
  auto defined = dyn_cast<func::FuncOp>(function);
  return defined && defined.isPublic() && !defined.isDeclaration() &&
         defined.getFunctionType() == FunctionType::get(context, types, {});
}

/// The function `name` for `op`, declared when it is not in the module.
static FailureOr<Operation *> getFunction(Operation *op, StringAttr name,
                                          unsigned numPointers,
                                          Type elementType) {
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  SmallVector<Type> types(numPointers, pointer);
  types.append({builder.getI64Type(), builder.getI64Type(), pointer});

  Operation *function = module.lookupSymbol(name);
  if (!function)
    function = getRuntimeFunction(
        module, name, LLVM::LLVMVoidType::get(module.getContext()), types);
  if (!isCallable(function, types)) {
    InFlightDiagnostic diagnostic =
        op->emitOpError()
        << "expected '" << name.getValue()
        << "' to be an llvm.func or a public func.func with a body, that takes "
        << numPointers
        << " pointers, two i64 and the stream and returns nothing";
    diagnostic.attachNote(function->getLoc()) << "but this has the name";
    return diagnostic;
  }
  auto known = function->getAttrOfType<TypeAttr>(elementTypeName);
  if (known && known.getValue() != elementType)
    return op->emitOpError()
           << "expected '" << name.getValue()
           << "' to be called for one element type, but got " << elementType
           << " here and " << known.getValue() << " before";
  function->setAttr(elementTypeName, TypeAttr::get(elementType));
  return function;
}

/// The flag at `pointer`, read after what was done on `stream`; 1 when it
/// cannot be read.
static Value emitReadFlag(ImplicitLocOpBuilder &b, ModuleOp module,
                          Value pointer, Value stream) {
  Type type = pointer.getType(), i64 = b.getI64Type();
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value host;
  {
    // Where the stack is set up once, also after inlining.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(cast<BlockArgument>(pointer).getOwner());
    host = LLVM::AllocaOp::create(b, type, b.getF32Type(), constant(1));
  }
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
  LLVM::StoreOp::create(b, one, host);
  LLVM::CallOp::create(b,
                       getRuntimeFunction(module, "mgpuMemcpy", none,
                                          {type, type, i64, type}),
                       ValueRange{host, pointer, constant(4), stream});
  LLVM::CallOp::create(
      b, getRuntimeFunction(module, "mgpuStreamSynchronize", none, {type}),
      stream);
  return LLVM::LoadOp::create(b, b.getF32Type(), host);
}

/// The launch function that calls `name` with the operands of `op`, of which
/// the second is the flag if there is one.
static FailureOr<func::FuncOp> makeLaunch(Operation *op, StringAttr name,
                                          Type elementType, bool hasNoop,
                                          KernelContext &context) {
  unsigned numPointers = op->getNumOperands();
  FailureOr<Operation *> function = getFunction(
      op, name, hasNoop ? numPointers - 1 : numPointers, elementType);
  if (failed(function))
    return failure();
  std::string launchName =
      ("custom_" + name.getValue() + (hasNoop ? "_noop" : "")).str();
  if (func::FuncOp launch = context.lookupLaunch(launchName))
    return launch;

  auto emitCall = [&](ImplicitLocOpBuilder &b, ValueRange pointers,
                      ValueRange extents, Value token) {
    ModuleOp module = context.getModule();
    Value zero = arith::ConstantIntOp::create(b, 0, 64);
    auto isNotZero = [&](Value value) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
    };
    Value isWork = arith::AndIOp::create(b, isNotZero(extents[0]),
                                         isNotZero(extents[1]));
    auto ifWork = scf::IfOp::create(b, isWork, /*withElseRegion=*/false);
    b.setInsertionPointToStart(ifWork.thenBlock());

    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value stream =
        UnrealizedConversionCastOp::create(b, pointer, token).getResult(0);
    SmallVector<Value> operands(pointers);
    Value flag;
    if (hasNoop) {
      flag = emitReadFlag(b, module, operands[1], stream);
      operands.erase(operands.begin() + 1);
    }
    llvm::append_range(operands, extents);
    operands.push_back(stream);
    Value error =
        LLVM::CallOp::create(b,
                             getRuntimeFunction(module, "teRuntimeGetError",
                                                pointer, {}),
                             ValueRange())
            .getResult();
    Value null = LLVM::ZeroOp::create(b, pointer);
    Value runs =
        LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, error, null);
    if (flag) {
      Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
      Value isOff =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, flag, one);
      runs = arith::AndIOp::create(b, runs, isOff);
    }
    auto ifRuns = scf::IfOp::create(b, runs, /*withElseRegion=*/false);
    b.setInsertionPointToStart(ifRuns.thenBlock());
    if (auto lowered = dyn_cast<LLVM::LLVMFuncOp>(*function))
      LLVM::CallOp::create(b, lowered, operands);
    else
      func::CallOp::create(b, cast<func::FuncOp>(*function), operands);
  };
  return context.makeLaunch(op->getLoc(), launchName, numPointers,
                            /*numExtents=*/2, emitCall);
}

namespace {
struct CustomKernels
    : KernelEmitterInterface::ExternalModel<CustomKernels, CustomAttr> {
  SmallVector<StringRef> getSupportedOps(Attribute) const {
    return {"quantize_into", "dequantize_into"};
  }

  FailureOr<func::FuncOp> emitQuantize(Attribute attr, QuantizeIntoOp op,
                                       KernelContext &context) const {
    auto custom = cast<CustomAttr>(attr);
    Type elementType = getElementTypeOrSelf(op.getInputs().front().getType());
    if (failed(custom.verifyQuantize([&] { return op.emitOpError(); },
                                     elementType)))
      return failure();
    return makeLaunch(op, custom.getQuantize(), elementType,
                      bool(op.getNoop()), context);
  }

  FailureOr<func::FuncOp> emitDequantize(Attribute attr, DequantizeIntoOp op,
                                         KernelContext &context) const {
    auto custom = cast<CustomAttr>(attr);
    if (!custom.getDequantize())
      return op.emitOpError()
             << "expected custom quantizer '" << custom.getFormat().getValue()
             << "' to name a 'dequantize' function";
    return makeLaunch(op, custom.getDequantize(),
                      getElementTypeOrSelf(op.getOuts().getType()),
                      /*hasNoop=*/false, context);
  }
};
} // namespace

void te::quant::attachCustomKernels(MLIRContext *context) {
  CustomAttr::attachInterface<CustomKernels>(*context);
}
