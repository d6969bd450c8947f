//===- inference.cpp - the time that shape inference takes ----------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: te-benchmark-inference [QUERY_LIMIT [LINEAR_LIMIT]]
// Prints nanoseconds for each query of a quantizer's layout and for the
// inference of a linear layer in each recipe, the best of several runs. Exit
// status 1 if a query takes longer than QUERY_LIMIT nanoseconds (2000) or a
// layer longer than LINEAR_LIMIT (50000).
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/Transforms/Recipe.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace te::quant;

static constexpr int numRuns = 5;
static constexpr int numShapes = 64;

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
static double measure(Query query, int repetitions = 500) {
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

/// Nanoseconds of the slowest query of a layout.
static double measureQueries(MLIRContext &context) {
  Type dtype = BFloat16Type::get(&context);
  double worst = 0;
  // What queries return goes here, so that none is optimized away.
  volatile size_t sink = 0;
  llvm::outs() << "  layout   shapes    inners  new type\n";
  for (StringRef text : quantizers) {
    auto quantizer =
        cast<QuantizerAttrInterface>(parseAttribute(text, &context));
    SmallVector<TensorSpecType> types;
    for (int index = 0; index != numShapes; ++index)
      types.push_back(TensorSpecType::get(&context, {128 * (index + 1), 4096},
                                          dtype, quantizer, false,
                                          StringAttr()));
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
          sink = types[index]
                     .withShape({128, 64 * (index + 1)})
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
  return worst;
}

/// What is measured of a layer.
namespace {
struct LayerTimes {
  double forward, backward, build, peer;
};
} // namespace

/// Inference of a layer whose weight and bias are trained, of many shapes.
static LayerTimes measureLayer(MLIRContext &context, const Recipe &recipe) {
  static constexpr int layerRepetitions = 20;
  Type dtype = BFloat16Type::get(&context);
  auto getType = [&](int64_t rows, int64_t cols) {
    return RankedTensorType::get({rows, cols}, dtype);
  };
  auto emit = [] { return InFlightDiagnostic(); };
  LinearConfig config;
  config.inputQuantizer = recipe.input;
  config.weightQuantizer = recipe.weight;
  config.gradOutputQuantizer = recipe.gradOutput;
  config.biasRequiresGrad = true;

  volatile size_t sink = 0;
  SmallVector<LinearOperands> operands;
  SmallVector<LinearBackwardOperands> backward;
  for (int index = 0; index != numShapes; ++index) {
    LinearOperands forward;
    forward.x = getType(128 * (index + 1), 4096);
    forward.w = getType(1024, 4096);
    forward.bias = RankedTensorType::get({1024}, dtype);
    operands.push_back(forward);
    LinearForwardPlan plan = *planLinearForward(config, forward, emit);
    auto getSlot = [&](LinearSlot slot, Type named) {
      return plan.saved[slot].kind == SavedSlot::Value ? plan.saved[slot].value
                                                       : named;
    };
    backward.push_back({plan.output.output, getSlot(InputSlot, forward.x),
                        getSlot(WeightmatSlot, forward.w), forward.w,
                        forward.bias, Type()});
  }
  // What inference of the op's results is: the plan and what it says of them.
  auto infer = [&](const auto &plan) {
    SmallVector<Type> types;
    SmallVector<std::string> names;
    plan.getResults(types, names);
    sink = types.size();
  };
  LayerTimes times;
  times.forward = measure(
      [&](int index) {
        infer(*planLinearForward(config, operands[index], emit));
      },
      layerRepetitions);
  times.backward = measure(
      [&](int index) {
        infer(*planLinearBackward(config, backward[index], emit));
      },
      layerRepetitions);

  // The op itself, made and erased, beside an op of MLIR's own.
  Location loc = UnknownLoc::get(&context);
  Block block;
  OpBuilder builder(&context);
  builder.setInsertionPointToStart(&block);
  SmallVector<SmallVector<Value>> values, peerValues;
  for (const LinearOperands &types : operands) {
    Value x = block.addArgument(types.x, loc),
          w = block.addArgument(types.w, loc),
          bias = block.addArgument(types.bias, loc);
    values.push_back({x, w, bias});
    int64_t rows = cast<RankedTensorType>(types.x).getDimSize(0);
    peerValues.push_back({x, block.addArgument(getType(4096, 1024), loc),
                          block.addArgument(getType(rows, 1024), loc)});
  }
  times.build = measure(
      [&](int index) {
        OperationState state(loc, LinearOp::getOperationName());
        auto &properties = state.getOrAddProperties<LinearOp::Properties>();
        properties.input_quantizer = recipe.input;
        properties.weight_quantizer = recipe.weight;
        properties.grad_output_quantizer = recipe.gradOutput;
        properties.bias_requires_grad = builder.getBoolAttr(true);
        bool isDelayed = recipe.input.getQuantizeSignature().takesScale;
        properties.operandSegmentSizes = {1, 1, 1, 0, 0, isDelayed ? 2 : 0, 0};
        state.addOperands(values[index]);
        // Scales are not looked at before the op is verified.
        if (isDelayed)
          state.addOperands({values[index][2], values[index][2]});
        SmallVector<Type> types;
        (void)LinearOp::inferReturnTypes(&context, loc, state.operands,
                                         DictionaryAttr::get(&context),
                                         &properties, {}, types);
        state.addTypes(types);
        builder.create(state)->erase();
      },
      layerRepetitions);
  times.peer = measure(
      [&](int index) {
        ValueRange operands = peerValues[index];
        linalg::MatmulOp::create(builder, loc, operands.take_front(2),
                                 operands.drop_front(2))
            ->erase();
      },
      layerRepetitions);
  return times;
}

/// Nanoseconds of the slowest inference of a layer.
static double measureLayers(MLIRContext &context) {
  double worst = 0;
  llvm::outs() << "\n forward  backward  build op   linalg.matmul   ratio\n";
  for (RecipeKind kind :
       {RecipeKind::MXFP8, RecipeKind::Float8Current, RecipeKind::Float8Block,
        RecipeKind::NVFP4, RecipeKind::Delayed}) {
    RecipeOptions options;
    options.kind = kind;
    Recipe recipe =
        *makeRecipe(&context, options, [] { return InFlightDiagnostic(); });
    LayerTimes times = measureLayer(context, recipe);
    llvm::outs() << llvm::format("%8.0f  %8.0f  %8.0f        %8.0f  %6.2f  ",
                                 times.forward, times.backward, times.build,
                                 times.peer, times.build / times.peer)
                 << stringifyRecipeKind(kind) << "\n";
    worst = std::max({worst, times.forward, times.backward, times.build});
  }
  return worst;
}

int main(int argc, char **argv) {
  double queryLimit = argc > 1 ? std::atof(argv[1]) : 2000;
  double layerLimit = argc > 2 ? std::atof(argv[2]) : 50000;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TEQuantDialect, linalg::LinalgDialect,
                      tensor::TensorDialect>();
  bool isSlow = false;
  auto compare = [&](double time, double limit) {
    if (time <= limit)
      return;
    llvm::outs() << llvm::format("%.0f ns is more than %.0f\n", time, limit);
    isSlow = true;
  };
  compare(measureQueries(context), queryLimit);
  compare(measureLayers(context), layerLimit);
  return isSlow ? 1 : 0;
}
