//===- FlattenKernel.cpp - kernels without address spaces -----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the host all memory is in one address space. Copying a kernel to a new
// module with every pointer type replaced is simpler and safer than changing
// types in place, and leaves behind what the kernel does not use.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "KernelTransforms.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <cstddef>

using namespace llvm;
using namespace te::emulator;

namespace {

constexpr unsigned sharedSpace = 3;

/// Replaces pointer types by those of the default address space.
class FlatTypes final : public ValueMapTypeRemapper {
public:
  Type *remapType(Type *type) override {
    auto [it, isNew] = cache.try_emplace(type, nullptr);
    if (!isNew)
      return it->second;
    Type *flat = compute(type);
    cache[type] = flat;
    return flat;
  }

private:
  Type *compute(Type *type) {
    if (auto *pointer = dyn_cast<PointerType>(type))
      return PointerType::get(pointer->getContext(), 0);
    if (auto *array = dyn_cast<ArrayType>(type))
      return ArrayType::get(remapType(array->getElementType()),
                            array->getNumElements());
    if (auto *vector = dyn_cast<VectorType>(type))
      return VectorType::get(remapType(vector->getElementType()),
                             vector->getElementCount());
    if (auto *function = dyn_cast<FunctionType>(type)) {
      SmallVector<Type *> params;
      for (Type *param : function->params())
        params.push_back(remapType(param));
      return FunctionType::get(remapType(function->getReturnType()), params,
                               function->isVarArg());
    }
    if (auto *structure = dyn_cast<StructType>(type)) {
      SmallVector<Type *> elements;
      bool isSame = true;
      for (Type *element : structure->elements()) {
        elements.push_back(remapType(element));
        isSame &= elements.back() == element;
      }
      return isSame ? type
                    : StructType::get(type->getContext(), elements,
                                      structure->isPacked());
    }
    return type;
  }

  DenseMap<Type *, Type *> cache;
};

/// Copies on demand: what a copied body mentions is copied in turn.
class Flattener final : public ValueMaterializer {
public:
  Flattener(Module &source, StringRef name)
      : unit{std::make_unique<Module>(name, source.getContext())} {}

  Function *copyFunction(Function &source);
  GlobalVariable *copyVariable(GlobalVariable &source, bool define);
  /// Copies the bodies of the functions that were mentioned.
  void finish();

  Constant *mapConstant(Constant &constant) {
    return MapValue(&constant, values, RF_None, &types, this);
  }

  Value *materialize(Value *value) override;

  KernelUnit unit;

private:
  void copyBody(Function &source, Function &copy);

  FlatTypes types;
  ValueToValueMapTy values;
  SmallVector<std::pair<Function *, Function *>> pendingBodies;
};

} // namespace

std::string te::emulator::getVariableSymbol(const GlobalVariable &variable) {
  return ("te.variable." + variable.getName()).str();
}

bool te::emulator::isPlacedVariable(const GlobalVariable &variable) {
  return variable.getAddressSpace() != sharedSpace &&
         !variable.isDeclaration() && !variable.getName().starts_with("llvm.");
}

StringRef te::emulator::getNVVMBaseName(const Function &function) {
  if (!function.isIntrinsic())
    return {};
  StringRef name = Intrinsic::getBaseName(function.getIntrinsicID());
  return name.consume_front("llvm.nvvm.") ? name : StringRef();
}

Value *Flattener::materialize(Value *value) {
  if (auto *function = dyn_cast<Function>(value))
    return copyFunction(*function);
  if (auto *variable = dyn_cast<GlobalVariable>(value))
    return copyVariable(*variable, /*define=*/false);
  if (auto *expression = dyn_cast<ConstantExpr>(value))
    if (expression->getOpcode() == Instruction::AddrSpaceCast)
      return MapValue(expression->getOperand(0), values, RF_None, &types, this);
  return nullptr;
}

Function *Flattener::copyFunction(Function &source) {
  if (Value *known = values.lookup(&source))
    return cast<Function>(known);
  Module &module = *unit.module;
  Function *copy;
  auto *type = cast<FunctionType>(types.remapType(source.getFunctionType()));
  StringRef nvvmName = getNVVMBaseName(source);
  if (!nvvmName.empty()) {
    // Not an intrinsic any more: the flat signature is not one of its own.
    copy = Function::Create(type, GlobalValue::ExternalLinkage,
                            "nvvm." + source.getName(), module);
    copy->addFnAttr(intrinsicAttribute, nvvmName);
  } else if (source.isIntrinsic()) {
    SmallVector<Type *> overloads;
    Intrinsic::getIntrinsicSignature(&source, overloads);
    for (Type *&overload : overloads)
      overload = types.remapType(overload);
    copy = Intrinsic::getOrInsertDeclaration(&module, source.getIntrinsicID(),
                                             overloads);
  } else {
    copy = Function::Create(type,
                            source.isDeclaration()
                                ? GlobalValue::ExternalLinkage
                                : GlobalValue::InternalLinkage,
                            source.getName(), module);
    if (!source.isDeclaration())
      pendingBodies.push_back({&source, copy});
  }
  values[&source] = copy;
  return copy;
}

GlobalVariable *Flattener::copyVariable(GlobalVariable &source, bool define) {
  if (Value *known = values.lookup(&source))
    return cast<GlobalVariable>(known);
  bool isShared = source.getAddressSpace() == sharedSpace;
  auto *copy = new GlobalVariable(
      *unit.module, types.remapType(source.getValueType()),
      source.isConstant(), GlobalValue::ExternalLinkage, nullptr,
      isShared ? source.getName().str() : getVariableSymbol(source));
  copy->setAlignment(
      source.getParent()->getDataLayout().getPreferredAlign(&source));
  values[&source] = copy;
  if (isShared) {
    unit.sharedVariables.push_back(copy);
    // A size of its own, or that of the launch.
    copy->setExternallyInitialized(source.isDeclaration());
    return copy;
  }
  if (!source.isDeclaration() && (define || source.isConstant())) {
    copy->setInitializer(mapConstant(*source.getInitializer()));
    if (!define)
      copy->setLinkage(GlobalValue::AvailableExternallyLinkage);
  }
  return copy;
}

/// Drops what only means something on the device, and what reporting accesses
/// makes untrue.
static void resetAttributes(Function &function) {
  AttrBuilder kept(function.getContext());
  kept.addAttribute(Attribute::NoUnwind);
  for (Attribute::AttrKind kind :
       {Attribute::Convergent, Attribute::AlwaysInline, Attribute::NoInline,
        Attribute::OptimizeNone, Attribute::NoReturn})
    if (function.hasFnAttribute(kind))
      kept.addAttribute(kind);
  AttributeList attributes = function.getAttributes();
  // A frame larger than the guard page must not step over that.
  kept.addAttribute("probe-stack", "inline-asm");
  attributes = attributes.removeFnAttributes(function.getContext())
                   .addFnAttributes(function.getContext(), kept);
  function.setAttributes(attributes);
  function.setCallingConv(CallingConv::C);
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setVisibility(GlobalValue::DefaultVisibility);
  function.setDLLStorageClass(GlobalValue::DefaultStorageClass);
  function.setComdat(nullptr);
  function.setSection("");
}

void Flattener::copyBody(Function &source, Function &copy) {
  auto argument = copy.arg_begin();
  for (Argument &original : source.args()) {
    argument->setName(original.getName());
    values[&original] = &*argument++;
  }
  SmallVector<ReturnInst *> returns;
  CloneFunctionInto(&copy, &source, values,
                    CloneFunctionChangeType::DifferentModule, returns, "",
                    nullptr, &types, this);
  copy.clearMetadata();
  resetAttributes(copy);

  for (Instruction &instruction : make_early_inc_range(instructions(copy))) {
    if (auto *cast = dyn_cast<AddrSpaceCastInst>(&instruction)) {
      cast->replaceAllUsesWith(cast->getPointerOperand());
      cast->eraseFromParent();
      continue;
    }
    if (auto *call = dyn_cast<CallInst>(&instruction)) {
      call->setCallingConv(CallingConv::C);
      Function *callee = call->getCalledFunction();
      if (!callee || !callee->isIntrinsic())
        call->setAttributes(
            call->getAttributes().removeFnAttributes(call->getContext()));
    }
  }
}

void Flattener::finish() {
  while (!pendingBodies.empty()) {
    auto [source, copy] = pendingBodies.pop_back_val();
    copyBody(*source, *copy);
  }
}

KernelUnit te::emulator::flattenKernel(Function &kernel) {
  Flattener flattener(*kernel.getParent(), kernel.getName());
  flattener.unit.kernel = flattener.copyFunction(kernel);
  flattener.finish();
  return std::move(flattener.unit);
}

std::unique_ptr<Module> te::emulator::flattenVariables(Module &module) {
  Flattener flattener(module, "variables");
  // A variable that another's value mentions is copied as a declaration, so
  // that all are defined only after that.
  for (GlobalVariable &variable : module.globals()) {
    if (!isPlacedVariable(variable))
      continue;
    GlobalVariable *copy = flattener.copyVariable(variable, /*define=*/true);
    if (!copy->hasInitializer())
      copy->setInitializer(flattener.mapConstant(*variable.getInitializer()));
    copy->setLinkage(GlobalValue::ExternalLinkage);
  }
  return std::move(flattener.unit.module);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Instruction *ThreadStateReader::getState(Function &function) {
  Instruction *&state = stateOfFunction[&function];
  if (!state) {
    IRBuilder<> entry(&function.getEntryBlock(),
                      function.getEntryBlock().getFirstInsertionPt());
    state = entry.CreateCall(getDeviceFunction(
        module, "te.thread", entry.getPtrTy(), {}, /*isPure=*/true));
  }
  return state;
}

Value *ThreadStateReader::read(IRBuilder<> &builder, Type *type,
                               size_t offset) {
  Instruction *state = getState(*builder.GetInsertBlock()->getParent());
  Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                      state, offset);
  LoadInst *load = builder.CreateLoad(type, address);
  MDNode *none = MDNode::get(module.getContext(), {});
  load->setMetadata(LLVMContext::MD_invariant_load, none);
  load->setMetadata(internalAccessMetadata, none);
  return load;
}

Error te::emulator::placeSharedMemory(KernelUnit &unit) {
  Module &module = *unit.module;
  const DataLayout &layout = module.getDataLayout();
  LLVMContext &context = module.getContext();
  auto getSize = [&](GlobalVariable *variable) -> uint64_t {
    return variable->isExternallyInitialized()
               ? 0
               : layout.getTypeAllocSize(variable->getValueType())
                     .getFixedValue();
  };

  // Variables whose size the launch gives all begin behind the others.
  DenseMap<GlobalVariable *, uint64_t> offsets;
  uint64_t size = 0;
  bool hasDynamic = false;
  for (GlobalVariable *variable : unit.sharedVariables) {
    if (variable->isExternallyInitialized()) {
      hasDynamic = true;
      continue;
    }
    size = alignTo(size, variable->getAlign().valueOrOne());
    offsets[variable] = size;
    size += getSize(variable);
  }
  if (hasDynamic)
    size = alignTo(size, 128);
  for (GlobalVariable *variable : unit.sharedVariables)
    if (variable->isExternallyInitialized())
      offsets[variable] = size;
  if (size > UINT32_MAX)
    return createStringError("kernel '" + unit.kernel->getName() + "' needs " +
                             Twine(size) + " bytes of shared memory");
  unit.staticSharedSize = static_cast<uint32_t>(size);

  SmallVector<Constant *> constants(unit.sharedVariables.begin(),
                                    unit.sharedVariables.end());
  convertUsersOfConstantsToInstructions(constants);
  ThreadStateReader reader(module);
  for (GlobalVariable *variable : unit.sharedVariables) {
    DenseMap<Function *, Value *> addresses;
    for (Use &use : make_early_inc_range(variable->uses())) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      if (!user)
        return createStringError("the address of shared variable '" +
                                 variable->getName() +
                                 "' is not used by an instruction");
      Function *function = user->getFunction();
      Value *&address = addresses[function];
      if (!address) {
        IRBuilder<> builder(reader.getState(*function)->getNextNode());
        Value *base = reader.read(builder, builder.getPtrTy(),
                                  offsetof(ThreadState, shared));
        auto *gep = GetElementPtrInst::Create(
            builder.getInt8Ty(), base, builder.getInt64(offsets[variable]),
            variable->getName());
        builder.Insert(gep);
        if (!variable->isExternallyInitialized())
          gep->setMetadata(
              objectSizeMetadata,
              MDNode::get(context, ConstantAsMetadata::get(builder.getInt64(
                                       getSize(variable)))));
        address = gep;
      }
      use.set(address);
    }
    variable->eraseFromParent();
  }
  unit.sharedVariables.clear();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

FunctionCallee te::emulator::getDeviceFunction(Module &module, StringRef name,
                                               Type *result,
                                               ArrayRef<Type *> arguments,
                                               bool isPure) {
  auto *type = FunctionType::get(result, arguments, /*isVarArg=*/false);
  FunctionCallee callee = module.getOrInsertFunction(name, type);
  auto *function = cast<Function>(callee.getCallee());
  function->addFnAttr(Attribute::NoUnwind);
  if (isPure) {
    function->setDoesNotAccessMemory();
    function->addFnAttr(Attribute::WillReturn);
    function->addFnAttr(Attribute::NoSync);
    function->addFnAttr(Attribute::NoFree);
  } else {
    function->addFnAttr(Attribute::Convergent);
  }
  return callee;
}

void te::emulator::addThunk(KernelUnit &unit, StringRef name) {
  Module &module = *unit.module;
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0);
  auto *thunk = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer}, false),
      GlobalValue::ExternalLinkage, name, module);
  thunk->addFnAttr(Attribute::NoUnwind);
  thunk->addFnAttr("probe-stack", "inline-asm");
  IRBuilder<> builder(BasicBlock::Create(context, "entry", thunk));
  SmallVector<Value *> arguments;
  for (Argument &argument : unit.kernel->args()) {
    Value *slot = builder.CreateConstInBoundsGEP1_64(
        pointer, thunk->getArg(0), argument.getArgNo());
    Value *address = builder.CreateLoad(pointer, slot);
    if (!argument.hasByValAttr()) {
      arguments.push_back(
          builder.CreateAlignedLoad(argument.getType(), address, Align(1)));
      continue;
    }
    // A by-value argument is memory of the thread's own.
    Type *type = argument.getParamByValType();
    AllocaInst *copy = builder.CreateAlloca(type);
    copy->setAlignment(std::max(copy->getAlign(),
                                argument.getParamAlign().valueOrOne()));
    builder.CreateMemCpy(copy, copy->getAlign(), address, Align(1),
                         module.getDataLayout().getTypeAllocSize(type));
    argument.removeAttr(Attribute::ByVal);
    arguments.push_back(copy);
  }
  builder.CreateCall(unit.kernel, arguments);
  builder.CreateRetVoid();
}
