//===- LinearRuleTest.cpp - one rule changed, everything follows -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This program defines what usage a linear layer asks of its weight (5.4) in
// place of the library: always rowwise alone. Inference, verification and
// decomposition must all change with it, for there is one source.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/IR/QuantOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace te::quant;

Usage te::quant::getLinearWeightUsage(const LinearConfig &) {
  return Usage::Rowwise;
}

namespace {

/// A function around a linear layer; `types` may be empty.
std::string getProgram(StringRef types) {
  return ("#mx = #te_quant.mxfp8<f8E4M3FN>\n"
          "func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) {\n"
          "  %r:3 = te_quant.linear %x, %w {\n"
          "    input_quantizer = #mx, weight_quantizer = #mx\n"
          "  } : tensor<64x128xbf16>, tensor<32x128xbf16>" +
          types + "\n  return\n}\n")
      .str();
}

struct LinearRuleTest : testing::Test {
  LinearRuleTest() {
    context.loadDialect<TEQuantDialect, func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      diagnostics.push_back(diagnostic.str());
      return success();
    });
  }

  OwningOpRef<ModuleOp> parse(StringRef types) {
    return parseSourceString<ModuleOp>(getProgram(types),
                                       ParserConfig(&context));
  }

  MLIRContext context;
  std::vector<std::string> diagnostics;
};

/// The usage that the saved quantized weight has.
Usage getWeightmatUsage(ModuleOp module) {
  Usage usage = Usage::Both;
  module.walk([&](LinearOp op) {
    auto type = cast<TensorSpecType>(op.getResult(2).getType());
    usage = type.getQuantizer().getUsage();
  });
  return usage;
}

TEST_F(LinearRuleTest, V2_InferenceFollows) {
  OwningOpRef<ModuleOp> module = parse("");
  ASSERT_TRUE(module);
  EXPECT_EQ(getWeightmatUsage(*module), Usage::Rowwise);
}

TEST_F(LinearRuleTest, V2_DecompositionFollows) {
  OwningOpRef<ModuleOp> module = parse("");
  ASSERT_TRUE(module);
  PassManager passes(&context);
  passes.addPass(createQuantDecomposeLinearPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  std::vector<std::pair<int64_t, Usage>> quantized;
  module->walk([&](QuantizeOp op) {
    TensorSpecType type = op.getResult().getType();
    quantized.emplace_back(type.getShape().front(),
                           type.getQuantizer().getUsage());
  });
  // The input and the weight.
  std::vector<std::pair<int64_t, Usage>> expected = {{64, Usage::Both},
                                                     {32, Usage::Rowwise}};
  EXPECT_EQ(quantized, expected);
}

TEST_F(LinearRuleTest, V2_VerificationFollows) {
  const char *library =
      " -> tensor<64x32xbf16>,"
      " !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = "
      "columnwise>>,"
      " !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>";
  EXPECT_FALSE(parse(library));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_NE(diagnostics[0].find("usage = rowwise"), std::string::npos)
      << diagnostics[0];
}

} // namespace
