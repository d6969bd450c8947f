//===- inference.cpp - the time that a query of a layout takes ------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: te-benchmark-inference [LIMIT]
// Prints nanoseconds for each query and quantizer, the best of several runs.
// Exit status 1 if one takes longer than LIMIT nanoseconds (2000).
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace te::quant;

static constexpr int numRuns = 5;
static constexpr int numShapes = 64;
static constexpr int repetitions = 500;

static constexpr StringLiteral quantizers[] = {
    "#te_quant.float8_current_scaling<f8E4M3FN>",
    "#te_quant.float8_block_scaling<f8E4M3FN>",
    "#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
    "#te_quant.mxfp8<f8E4M3FN>",
    "#te_quant.nvfp4",
    "#te_quant.hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, "
    "columnwise = #te_quant.nvfp4>",
};

/// Nanoseconds of `query(i)` for i below `numShapes`, the best of the runs.
template <typename Query>
static double measure(Query query) {
  double best = 1e300;
  for (int run = 0; run != numRuns; ++run) {
    auto start = std::chrono::steady_clock::now();
    for (int repetition = 0; repetition != repetitions; ++repetition)
      for (int index = 0; index != numShapes; ++index)
        query(index);
    std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / (repetitions * numShapes));
  }
  return best;
}

int main(int argc, char **argv) {
  double limit = argc > 1 ? std::atof(argv[1]) : 2000;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TEQuantDialect>();
  Type dtype = BFloat16Type::get(&context);
  double worst = 0;
  // What queries return goes here, so that none is optimized away.
  volatile size_t sink = 0;
  llvm::outs() << "  layout   shapes    inners  new type\n";
  for (StringRef text : quantizers) {
    auto quantizer = cast<QuantizerAttrInterface>(parseAttribute(text, &context));
    SmallVector<TensorSpecType> types;
    for (int index = 0; index != numShapes; ++index)
      types.push_back(TensorSpecType::get(&context, {128 * (index + 1), 4096},
                                          dtype, quantizer, false, StringAttr()));
    LayoutAttr layout = types.front().getLayout();
    double times[] = {
        // The layout of a type, from the cache.
        measure([&](int index) { sink = types[index].getLayout().size(); }),
        // The shapes of all its inner tensors.
        measure([&](int index) {
          SmallVector<int64_t> shape;
          for (unsigned inner = 0; inner != layout.size(); ++inner) {
            (void)layout.getShape(inner, types[index].getShape(), shape);
            sink = shape.size();
          }
        }),
        // Their builtin types.
        measure([&](int index) { sink = types[index].getInnerTypes().size(); }),
        // A type of another shape and its inner tensors: inference of one op.
        measure([&](int index) {
          sink = types[index].withShape({128, 64 * (index + 1)})
                     .getInnerTypes()
                     .size();
        }),
    };
    for (double time : times) {
      llvm::outs() << llvm::format("%8.0f  ", time);
      worst = std::max(worst, time);
    }
    llvm::outs() << text << "\n";
  }
  if (worst <= limit)
    return 0;
  llvm::outs() << llvm::format("%.0f ns is more than %.0f\n", worst, limit);
  return 1;
}
