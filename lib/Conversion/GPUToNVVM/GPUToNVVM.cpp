//===- GPUToNVVM.cpp - lower a gpu.module without a math library ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns of GPU to NVVM include calls of the math library for
// arith and math ops. They never match here: what needs the library is expanded
// before, and the patterns to LLVM win over them on what is left.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "te/Conversion/Passes.h"
#include "te/Conversion/Patterns.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTGPUTONVVMPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace {

constexpr unsigned warpSize = 32;

/// Constants of narrow floating-point types are integers in LLVM.
struct ConvertNarrowConstant : ConvertOpToLLVMPattern<arith::ConstantOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast<FloatType>(getElementTypeOrSelf(op.getValue().getType()));
    if (!type || type.getWidth() > 8)
      return rewriter.notifyMatchFailure(op, "not of a narrow type");
    Type integer = rewriter.getIntegerType(type.getWidth());
    Attribute value;
    if (auto scalar = dyn_cast<FloatAttr>(op.getValue()))
      value =
          rewriter.getIntegerAttr(integer, scalar.getValue().bitcastToAPInt());
    else if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue()))
      value = elements.bitcast(integer);
    else
      return rewriter.notifyMatchFailure(op, "not a dense constant");
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, getTypeConverter()->convertType(op.getType()), value);
    return success();
  }
};

struct QuantGPUToNVVMPass
    : te::quant::impl::QuantGPUToNVVMPassBase<QuantGPUToNVVMPass> {
  void runOnOperation() override {
    declared.clear();
    getOperation().walk([&](FunctionOpInterface function) {
      if (function.isExternal())
        declared.insert(function.getNameAttr());
    });
    if (failed(expand()) || failed(verifyMath()) ||
        failed(lowerControlFlow()) || failed(lowerToLLVM()) ||
        failed(lowerInlinePTX()) || failed(verifyNothingIsLeft()))
      signalPassFailure();
  }

private:
  /// Breaks up what has no single counterpart in LLVM or NVVM.
  LogicalResult expand() {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);

    populateGpuRewritePatterns(patterns);
    populateGpuSubgroupIdPatterns(patterns);
    populateGpuBreakDownSubgroupReducePatterns(patterns);
    populateGpuLowerSubgroupReduceToShufflePatterns(patterns, warpSize);
    populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns,
                                                             warpSize);

    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorContractLoweringPatterns(
        patterns, vector::VectorContractLowering::Dot);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorMultiReductionLoweringPatterns(
        patterns, vector::VectorMultiReductionLowering::InnerReduction);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    vector::populateVectorInterleaveToShufflePatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::EltWise);
    vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
    vector::populateVectorTransferLoweringPatterns(patterns,
                                                   /*maxTransferRank=*/1);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorMaskMaterializationPatterns(
        patterns, /*force32BitVectorIndices=*/false);
    vector::populateVectorStepLoweringPatterns(patterns);

    // Transfers of several dims become several of one dim.
    populateVectorToSCFConversionPatterns(
        patterns, VectorTransferToSCFOptions().enableFullUnroll());

    memref::populateExpandOpsPatterns(patterns);
    memref::populateExpandStridedMetadataPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  /// What is left of math must be instructions, or the math library would be
  /// called.
  LogicalResult verifyMath() {
    return failure(
        getOperation()
            .walk([](Operation *op) {
              if (!isa<math::MathDialect>(op->getDialect()) ||
                  isa<math::AbsFOp, math::AbsIOp, math::CeilOp,
                      math::CopySignOp, math::CountLeadingZerosOp,
                      math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp,
                      math::FmaOp, math::IsFiniteOp, math::IsInfOp,
                      math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
                      math::RoundOp, math::RsqrtOp, math::SqrtOp,
                      math::TruncOp>(op))
                return WalkResult::advance();
              op->emitOpError() << "expected a function with an expansion on "
                                   "f32, bf16 or f16, but got one on "
                                << op->getOperand(0).getType();
              return WalkResult::interrupt();
            })
            .wasInterrupted());
  }

  LogicalResult lowerControlFlow() {
    RewritePatternSet patterns(&getContext());
    populateAffineToStdConversionPatterns(patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<affine::AffineDialect, scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  LogicalResult lowerToLLVM() {
    gpu::GPUModuleOp module = getOperation();
    LowerToLLVMOptions options(
        &getContext(), DataLayout(cast<DataLayoutOpInterface>(*module)));
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);

    RewritePatternSet patterns(&getContext());
    // Below the benefit of all others, as it includes the math library.
    populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/0);
    populateGpuWMMAToNVVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    patterns.add<ConvertNarrowConstant>(converter, /*benefit=*/2);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);

    ConversionTarget target(getContext());
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return failure();
    SmallVector<UnrealizedConversionCastOp> casts;
    module.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);
    return success();
  }

  /// Some NVVM ops have no intrinsic: the translation takes them as inline PTX.
  LogicalResult lowerInlinePTX() {
    RewritePatternSet patterns(&getContext());
    populateNVVMToLLVMConversionPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  /// A cast or a vector op that is left would fail in the translation, far from
  /// its cause, and a function that a lowering declared on the device.
  LogicalResult verifyNothingIsLeft() {
    Operation *cast = nullptr;
    auto verify = [&](Operation *op) {
      if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) {
        if (!function.isExternal() ||
            declared.contains(function.getSymNameAttr()))
          return WalkResult::advance();
        function.emitOpError() << "expected no call of a library, but one of '"
                               << function.getSymName() << "' is left";
        return WalkResult::interrupt();
      }
      if (isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()) ||
          isa<gpu::GPUModuleOp>(op))
        return WalkResult::advance();
      if (isa<UnrealizedConversionCastOp>(op)) {
        cast = op;
        return WalkResult::advance();
      }
      emitNotLowered(op);
      return WalkResult::interrupt();
    };
    if (getOperation().walk(verify).wasInterrupted())
      return failure();
    // A cast is the consequence of another op, if there is one.
    return cast ? emitNotLowered(cast) : success();
  }

  static LogicalResult emitNotLowered(Operation *op) {
    return op->emitOpError("expected to be lowered to LLVM or NVVM, but no "
                           "lowering applies");
  }

  /// Functions that were declared before the pass.
  DenseSet<StringAttr> declared;
};

} // namespace
