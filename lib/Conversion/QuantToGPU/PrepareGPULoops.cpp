//===- PrepareGPULoops.cpp - host work on buffers as parallel loops -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops get one dimension because upstream's tiling maps several dynamic ones to
// the inner loops only, and then no launch appears.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "te/Conversion/Passes.h"
#include "te/Conversion/QuantToGPU/QuantToGPU.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTPREPAREGPULOOPSPASS
#include "te/Conversion/Passes.h.inc"
} // namespace te::quant

using namespace mlir;

namespace {

bool hasIdentityLayout(Value memref) {
  return cast<MemRefType>(memref.getType()).getLayout().isIdentity();
}

/// Strided copies as element-wise ops: device copies are for contiguous memory.
void rewriteStridedCopies(func::FuncOp function, RewriterBase &rewriter) {
  SmallVector<memref::CopyOp> copies;
  function.walk([&](memref::CopyOp copy) {
    if (isa<MemRefType>(copy.getSource().getType()) &&
        isa<MemRefType>(copy.getTarget().getType()) &&
        (!hasIdentityLayout(copy.getSource()) ||
         !hasIdentityLayout(copy.getTarget())))
      copies.push_back(copy);
  });
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    rewriter.eraseOp(copy);
  }
}

LogicalResult rewriteLinalg(func::FuncOp function, RewriterBase &rewriter) {
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    if (!op.hasPureBufferSemantics())
      return op.emitOpError("expected operands that are buffers");
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToParallelLoops(rewriter, op)))
      return op.emitOpError("cannot be lowered to loops");
    rewriter.eraseOp(op);
  }
  return success();
}

/// Whether `op` works on buffers element by element and could run in a kernel:
/// a loop without results, or a store.
bool isHostBufferWork(Operation *op) {
  if (isa<memref::StoreOp>(op))
    return true;
  if (!isa<scf::ForOp>(op) || op->getNumResults() != 0)
    return false;
  bool touchesBuffers = false;
  WalkResult result = op->walk([&](Operation *inner) {
    if (isa<memref::StoreOp, memref::LoadOp>(inner)) {
      touchesBuffers = true;
      return WalkResult::advance();
    }
    bool isPlain =
        isa<scf::ForOp, scf::IfOp, scf::YieldOp>(inner) || isPure(inner);
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return touchesBuffers && !result.wasInterrupted();
}

/// Puts host loops and stores on buffers into parallel loops of one iteration.
void wrapHostWork(func::FuncOp function, RewriterBase &rewriter) {
  SmallVector<Operation *> work;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ParallelOp>(op))
      return WalkResult::skip();
    if (!isHostBufferWork(op))
      return WalkResult::advance();
    work.push_back(op);
    return WalkResult::skip();
  });
  for (Operation *op : work) {
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    auto loop = scf::ParallelOp::create(rewriter, loc, zero, one, one);
    rewriter.moveOpBefore(op, loop.getBody()->getTerminator());
  }
}

/// One dimension for each outermost parallel loop, and no launch for no work.
void flattenLoops(func::FuncOp function, RewriterBase &rewriter) {
  SmallVector<scf::ParallelOp> loops;
  function.walk<WalkOrder::PreOrder>([&](scf::ParallelOp loop) {
    loops.push_back(loop);
    return WalkResult::skip();
  });
  for (scf::ParallelOp loop : loops) {
    if (!loop.getInitVals().empty())
      continue;
    rewriter.setInsertionPoint(loop);
    Location loc = loop.getLoc();
    Value isWork;
    for (auto [lower, upper] :
         llvm::zip_equal(loop.getLowerBound(), loop.getUpperBound())) {
      std::optional<int64_t> lowerConst = getConstantIntValue(lower);
      std::optional<int64_t> upperConst = getConstantIntValue(upper);
      if (lowerConst && upperConst && *lowerConst < *upperConst)
        continue;
      Value isDim = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::slt, lower, upper);
      isWork = isWork ? arith::AndIOp::create(rewriter, loc, isWork, isDim)
                            .getResult()
                      : isDim;
    }
    if (isWork) {
      auto guard = scf::IfOp::create(rewriter, loc, isWork);
      rewriter.moveOpBefore(loop, guard.thenBlock()->getTerminator());
    }
    unsigned numLoops = loop.getNumLoops();
    if (numLoops > 1) {
      std::vector<unsigned> all(numLoops);
      std::iota(all.begin(), all.end(), 0);
      rewriter.setInsertionPoint(loop);
      collapseParallelLoops(rewriter, loop, {all});
    }
  }
}

struct QuantPrepareGPULoops
    : te::quant::impl::QuantPrepareGPULoopsPassBase<QuantPrepareGPULoops> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    IRRewriter rewriter(&getContext());
    te::quant::packStridedOperands(function);
    rewriteStridedCopies(function, rewriter);
    if (failed(rewriteLinalg(function, rewriter)))
      return signalPassFailure();
    wrapHostWork(function, rewriter);
    flattenLoops(function, rewriter);
  }
};
} // namespace
