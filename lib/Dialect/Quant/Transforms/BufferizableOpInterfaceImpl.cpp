//===- BufferizableOpInterfaceImpl.cpp - bufferization of the quant dialect -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "te/Dialect/Quant/IR/QuantCollectiveOps.h"
#include "te/Dialect/Quant/IR/QuantGemmOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace te::quant;

namespace {
/// The op itself, on the buffers of its operands.
template <typename OpTy>
struct IntoOpModel
    : DstBufferizableOpInterfaceExternalModel<IntoOpModel<OpTy>, OpTy> {
  /// The destinations are overwritten, except where a flag may say to leave
  /// them as they are, or a product is added to the first one.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    if (!cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
      return true;
    if constexpr (std::is_same_v<OpTy, QuantizeIntoOp>)
      return bool(cast<QuantizeIntoOp>(op).getNoop());
    if constexpr (std::is_same_v<OpTy, GemmIntoOp>) {
      auto gemm = cast<GemmIntoOp>(op);
      return gemm.getAccumulate() && operand.get() == gemm.getOuts().front();
    }
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto destinationStyle = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> operands, outs;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType())) {
        operands.push_back(operand.get());
        continue;
      }
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
      if (destinationStyle.isDpsInit(&operand))
        outs.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState onBuffers(op->getLoc(), op->getName(), operands,
                             /*types=*/TypeRange(), op->getAttrs());
    for (Region &region : op->getRegions())
      onBuffers.addRegion()->takeBody(region);
    rewriter.create(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};
} // namespace

void te::quant::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TEQuantDialect *) {
    AllGatherIntoOp::attachInterface<IntoOpModel<AllGatherIntoOp>>(*context);
    AllReduceIntoOp::attachInterface<IntoOpModel<AllReduceIntoOp>>(*context);
    ReduceScatterIntoOp::attachInterface<IntoOpModel<ReduceScatterIntoOp>>(
        *context);
    QuantizeIntoOp::attachInterface<IntoOpModel<QuantizeIntoOp>>(*context);
    DequantizeIntoOp::attachInterface<IntoOpModel<DequantizeIntoOp>>(*context);
    SwizzleIntoOp::attachInterface<IntoOpModel<SwizzleIntoOp>>(*context);
    AmaxIntoOp::attachInterface<IntoOpModel<AmaxIntoOp>>(*context);
    UpdateScaleIntoOp::attachInterface<IntoOpModel<UpdateScaleIntoOp>>(
        *context);
    ColumnSumIntoOp::attachInterface<IntoOpModel<ColumnSumIntoOp>>(*context);
    DeriveIntoOp::attachInterface<IntoOpModel<DeriveIntoOp>>(*context);
    GemmIntoOp::attachInterface<IntoOpModel<GemmIntoOp>>(*context);
  });
}
