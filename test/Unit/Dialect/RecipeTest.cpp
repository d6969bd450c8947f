//===- RecipeTest.cpp - recipes as a library ------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/Transforms/Recipe.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace te::quant;

namespace {
class RecipeTest : public ::testing::Test {
protected:
  RecipeTest() { context.loadDialect<TEQuantDialect>(); }

  FailureOr<Recipe> make(const RecipeOptions &options) {
    return makeRecipe(&context, options,
                      [&] { return emitError(UnknownLoc::get(&context)); });
  }

  MLIRContext context;
};
} // namespace

TEST_F(RecipeTest, EveryKindHasThreeQuantizers) {
  for (auto [kind, family] :
       {std::pair<RecipeKind, StringRef>{RecipeKind::MXFP8, "mxfp8"},
        {RecipeKind::Float8Current, "float8_current_scaling"},
        {RecipeKind::Float8Block, "float8_block_scaling"},
        {RecipeKind::NVFP4, "nvfp4"},
        {RecipeKind::Delayed, "float8_delayed_scaling"}}) {
    RecipeOptions options;
    options.kind = kind;
    FailureOr<Recipe> recipe = make(options);
    ASSERT_TRUE(succeeded(recipe));
    for (QuantizerAttrInterface quantizer :
         {recipe->input, recipe->weight, recipe->gradOutput}) {
      EXPECT_EQ(quantizer.getFamily(), family);
      EXPECT_TRUE(quantizer.getInternal());
      EXPECT_EQ(quantizer.getUsage(), Usage::Both);
    }
  }
}

//
TEST_F(RecipeTest, RowAlignment) {
  EXPECT_EQ(getRowAlignment(RecipeKind::MXFP8), 32);
  EXPECT_EQ(getRowAlignment(RecipeKind::NVFP4), 128);
  for (RecipeKind kind : {RecipeKind::Float8Current, RecipeKind::Float8Block,
                          RecipeKind::Delayed})
    EXPECT_EQ(getRowAlignment(kind), 16);
}

//
TEST_F(RecipeTest, Availability) {
  auto isAvailable = [](RecipeKind kind, unsigned capability) {
    std::string reason;
    bool result = isRecipeAvailable(kind, capability, reason);
    EXPECT_EQ(result, reason.empty());
    return result;
  };
  EXPECT_TRUE(isAvailable(RecipeKind::Float8Current, 89));
  EXPECT_FALSE(isAvailable(RecipeKind::Delayed, 87));
  EXPECT_TRUE(isAvailable(RecipeKind::Float8Block, 90));
  EXPECT_FALSE(isAvailable(RecipeKind::Float8Block, 89));
  EXPECT_TRUE(isAvailable(RecipeKind::MXFP8, 103));
  EXPECT_FALSE(isAvailable(RecipeKind::MXFP8, 90));
  EXPECT_FALSE(isAvailable(RecipeKind::MXFP8, 120));
  EXPECT_TRUE(isAvailable(RecipeKind::NVFP4, 120));
  EXPECT_FALSE(isAvailable(RecipeKind::NVFP4, 90));
}

// Row-scaled four-over-six exists in one direction only.
TEST_F(RecipeTest, RowScaledFourOverSix) {
  RecipeOptions options;
  options.kind = RecipeKind::NVFP4;
  options.withRHT = false;
  options.rowScaledActivation = true;
  options.use4Over6 = RecipeScope::All;
  FailureOr<Recipe> recipe = make(options);
  ASSERT_TRUE(succeeded(recipe));
  EXPECT_EQ(recipe->input.getUsage(), Usage::Rowwise);
  EXPECT_FALSE(recipe->input.withUsage(Usage::Both));
  EXPECT_TRUE(recipe->weight.withUsage(Usage::Both));
}
