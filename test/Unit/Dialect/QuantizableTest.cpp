//===- QuantizableTest.cpp - which tensors are gathered quantized ---------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/InitAll.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace te::quant;

/// The column `is_quantizable` of the table of layouts: true, false, or the
/// condition that dynamic dims must meet at run time.
TEST(Quantizable, AllRowsOfTheTable) {
  auto file = llvm::MemoryBuffer::getFile(TE_TABLES_DIR "/layouts.json");
  ASSERT_TRUE(bool(file));
  llvm::Expected<llvm::json::Value> table =
      llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  DialectRegistry registry;
  te::quant::registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  unsigned numRows = 0;
  for (const llvm::json::Value &value :
       *table->getAsObject()->getArray("rows")) {
    const llvm::json::Object &row = *value.getAsObject();
    const llvm::json::Value *expected = row.get("is_quantizable");
    if (expected->kind() == llvm::json::Value::Null)
      continue;
    SCOPED_TRACE(row.getString("id")->str());
    auto type = dyn_cast_if_present<TensorSpecType>(
        parseType(*row.getString("type"), &context));
    ASSERT_TRUE(type && type.isQuantized());
    std::optional<bool> answer =
        isQuantizable(type.getQuantizer(), type.getShape());
    if (expected->kind() == llvm::json::Value::String)
      EXPECT_FALSE(answer.has_value()) << expected->getAsString()->str();
    else
      EXPECT_EQ(answer, expected->getAsBoolean());
    ++numRows;
  }
  EXPECT_GT(numRows, 1500u);
}
