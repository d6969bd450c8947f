//===- LayoutTest.cpp - one layout in attribute, IR and manifest ----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random quantizers and shapes: the layout attribute's answer must be that of
// the tables, which test/Reference states again on numbers. For some of them
// also the allocations of the lowered IR and what te-run writes.
// V-27, V-9
//
// TE_LAYOUT_COUNT: tuples (default 2,000). TE_LAYOUT_SAMPLE: how many of them
// are lowered and run (default 20). TE_LAYOUT_SEED: the seed of the first one;
// a failure prints its own.
//
//===----------------------------------------------------------------------===//

#include "Reference/Layouts.h"
#include "Support/TeRun.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "te/Dialect/Quant/IR/Quant.h"
#include "te/InitAll.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>

using namespace mlir;
using te::quant::LayoutAttr;
using te::quant::QuantizerAttrInterface;
using te::quant::TensorSpecType;
using namespace te::reference;

namespace {

using Random = std::mt19937_64;
using Dims = std::vector<int64_t>;

unsigned pick(Random &random, unsigned count) { return random() % count; }

unsigned getEnv(const char *name, unsigned fallback) {
  const char *text = std::getenv(name);
  return text ? std::strtoul(text, nullptr, 10) : fallback;
}

const char *getElementName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::E4M3:
    return "f8E4M3FN";
  case DType::E5M2:
    return "f8E5M2";
  case DType::E8M0:
    return "f8E8M0FNU";
  case DType::E2M1:
    return "i8";
  }
  return "";
}

std::string flag(const char *name, bool value) {
  return value ? std::string(", ") + name + " = true" : "";
}

/// A random quantizer: its text, and what of it decides about the layout.
struct Quantizer {
  /// A child of a hybrid has no usage of its own.
  Quantizer(Random &random, bool isChild) {
    constexpr Family families[] = {
        Family::CurrentScaling, Family::DelayedScaling, Family::BlockScaling,
        Family::MXFP8,          Family::NVFP4,          Family::Identity,
        Family::Hybrid};
    format.family = families[pick(random, isChild ? 6 : 7)];
    format.element = pick(random, 2) ? DType::E4M3 : DType::E5M2;
    unsigned bits = isChild ? 3 : 1 + pick(random, 3);
    format.usage = {(bits & 1) != 0, (bits & 2) != 0};
    // Options that must not matter are drawn as well.
    std::string element = getElementName(format.element);
    switch (format.family) {
    case Family::CurrentScaling:
      name = "float8_current_scaling";
      format.nonTNGemm = pick(random, 2);
      parameters = element + flag("non_tn_gemm", format.nonTNGemm) +
                   flag("force_pow_2_scales", pick(random, 2)) +
                   (pick(random, 2) ? ", amax_epsilon = 0.5" : "");
      break;
    case Family::DelayedScaling:
      name = "float8_delayed_scaling";
      format.nonTNGemm = pick(random, 2);
      parameters = element + flag("non_tn_gemm", format.nonTNGemm);
      break;
    case Family::BlockScaling:
      name = "float8_block_scaling";
      format.blockDim = 1 + pick(random, 2);
      parameters = element +
                   ", block_scaling_dim = " + std::to_string(format.blockDim) +
                   (pick(random, 2) ? ", force_pow_2_scales = false" : "");
      break;
    case Family::MXFP8:
      name = "mxfp8";
      parameters = element + flag("with_2d_quantization", pick(random, 2));
      break;
    case Family::NVFP4:
      name = "nvfp4";
      format.rowScaled = pick(random, 3) == 0;
      needsRowwise = format.rowScaled;
      if (format.rowScaled) {
        parameters = ", row_scaled = true";
      } else {
        bool withRHT = pick(random, 3) == 0;
        needsBF16 = withRHT;
        parameters = flag("with_2d_quantization", pick(random, 2)) +
                     flag("with_rht", withRHT) +
                     flag("with_post_rht_amax", withRHT) +
                     flag("use_4over6", !withRHT && pick(random, 2)) +
                     (pick(random, 2) ? ", e4m3_max = 256" : "");
      }
      break;
    case Family::Identity:
      name = "identity";
      break;
    case Family::Hybrid: {
      name = "hybrid";
      Quantizer row(random, /*isChild=*/true), col(random, /*isChild=*/true);
      format.children = {row.format, col.format};
      parameters =
          "rowwise = " + row.getText() + ", columnwise = " + col.getText() +
          (pick(random, 2) ? ", columnwise_source = rowwise_dequantized" : "");
      needsBF16 = row.needsBF16 || col.needsBF16;
      needsRowwise = col.needsRowwise;
      break;
    }
    }
    if (!isChild)
      parameters += std::string(", usage = ") +
                    (bits == 1   ? "rowwise"
                     : bits == 2 ? "columnwise"
                                 : "both") +
                    flag("internal", pick(random, 4) == 0);
    parameters += flag("optimize_for_gemm", pick(random, 4) == 0);
    if (llvm::StringRef(parameters).starts_with(", "))
      parameters.erase(0, 2);
  }

  std::string getText() const {
    return "#te_quant." + name + "<" + parameters + ">";
  }

  /// Whether a tensor can be made, apart from its shape.
  bool isFillable(DType nominal) const {
    bool isRowScaled = needsRowwise;
    if (needsBF16 && nominal != DType::BF16)
      return false;
    if (!isRowScaled)
      return true;
    // Row-scaled tensors need rowwise data, and bf16 for columnwise data.
    return format.family != Family::Hybrid && format.usage.rowwise &&
           (!format.usage.columnwise || nominal == DType::BF16);
  }

  std::string name, parameters;
  Format format;
  bool needsBF16 = false, needsRowwise = false;
};

/// A tuple with everything that a source is compared with.
struct Tuple {
  std::string getType() const {
    std::string text = "!te_quant.tensor<";
    for (int64_t size : shape)
      text += (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) + "x";
    return text + getElementName(nominal) + ", " + quantizer.getText() + ">";
  }

  std::vector<InnerShape> getInnerShapes(const Dims &sizes) const {
    return te::reference::getInnerShapes(quantizer.format, nominal, sizes);
  }

  unsigned seed;
  Quantizer quantizer;
  DType nominal;
  /// The logical shape as the type has it, and at run time.
  Dims shape, sizes;
};

Tuple makeTuple(unsigned seed) {
  Random random(seed * uint64_t(7919) + 17);
  Tuple tuple = {
      seed, Quantizer(random, /*isChild=*/false), DType::F32, {}, {}};
  constexpr DType nominals[] = {DType::F32, DType::BF16, DType::F16};
  tuple.nominal = nominals[pick(random, 3)];
  bool isDynamic = pick(random, 3) == 0;
  for (unsigned rank = pick(random, 6); rank; --rank) {
    int64_t size = pick(random, 8) ? 1 + pick(random, 20) : 0;
    // Around the multiples of the blocks.
    if (pick(random, 3) == 0)
      size = std::max(0, 16 * int(pick(random, 18)) + int(pick(random, 3)) - 1);
    tuple.sizes.push_back(size);
    tuple.shape.push_back(isDynamic && pick(random, 2) ? ShapedType::kDynamic
                                                       : size);
  }
  return tuple;
}

/// `sizes` with all dims replaced that `shape` leaves open.
Dims substitute(const Dims &shape, int64_t size) {
  Dims result = shape;
  std::replace(result.begin(), result.end(), ShapedType::kDynamic, size);
  return result;
}

class Layout : public ::testing::Test {
protected:
  Layout() {
    mlir::registerAllPasses();
    te::quant::registerAllPasses();
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    te::quant::registerAllDialects(registry);
    te::quant::registerAllExtensions(registry);
  }

  /// The tuples whose tensors te_quant.empty makes, small ones alone.
  static std::vector<Tuple> getSample() {
    unsigned count = getEnv("TE_LAYOUT_SAMPLE", 20);
    std::vector<Tuple> sample;
    for (unsigned seed = getEnv("TE_LAYOUT_SEED", 1); sample.size() < count;
         ++seed) {
      Tuple tuple = makeTuple(seed);
      int64_t elements = 1;
      for (int64_t size : tuple.sizes)
        elements *= std::max<int64_t>(size, 1);
      if (elements <= (1 << 20) && tuple.quantizer.isFillable(tuple.nominal))
        sample.push_back(tuple);
    }
    return sample;
  }

  static std::string trace(const Tuple &tuple) {
    return "TE_LAYOUT_COUNT=1 TE_LAYOUT_SAMPLE=1 TE_LAYOUT_SEED=" +
           std::to_string(tuple.seed) + " " + tuple.getType();
  }

  DialectRegistry registry;
};

/// What a layout says for one logical shape; nothing when it says nothing.
std::optional<std::vector<Dims>> evaluate(LayoutAttr layout,
                                          const Dims &logical) {
  std::vector<Dims> shapes;
  for (unsigned index = 0; index < layout.size(); ++index) {
    SmallVector<int64_t> shape;
    if (failed(layout.getShape(index, logical, shape)))
      return std::nullopt;
    shapes.emplace_back(shape.begin(), shape.end());
  }
  return shapes;
}

std::vector<Dims> getShapes(const std::vector<InnerShape> &inners) {
  std::vector<Dims> shapes;
  for (const InnerShape &inner : inners)
    shapes.push_back(inner.shape);
  return shapes;
}

TEST_F(Layout, V9_AttributeAgainstTheTables) {
  unsigned count = getEnv("TE_LAYOUT_COUNT", 2000);
  unsigned first = getEnv("TE_LAYOUT_SEED", 1);
  std::unique_ptr<MLIRContext> context;
  for (unsigned seed = first; seed < first + count; ++seed) {
    // Types live as long as their context.
    if (!context || seed % 10000 == 0) {
      context = std::make_unique<MLIRContext>(registry);
      context->loadDialect<te::quant::TEQuantDialect>();
    }
    Tuple tuple = makeTuple(seed);
    SCOPED_TRACE(trace(tuple));
    auto type = dyn_cast_if_present<TensorSpecType>(
        parseType(tuple.getType(), context.get()));
    ASSERT_TRUE(type);
    LayoutAttr layout = type.getLayout();
    std::vector<InnerShape> expected = tuple.getInnerShapes(tuple.sizes);
    ASSERT_EQ(layout.size(), expected.size());
    for (auto [index, inner] : llvm::enumerate(expected)) {
      EXPECT_EQ(layout.getNames()[index].getValue().str(), inner.name);
      std::string element;
      llvm::raw_string_ostream(element) << layout.getElementTypes()[index];
      EXPECT_EQ(element, getElementName(inner.dtype));
    }
    // At run time.
    EXPECT_EQ(evaluate(layout, tuple.sizes), getShapes(expected));
    // In the type: what all sizes have in common is static, and only that.
    auto known = evaluate(layout, tuple.shape);
    ASSERT_TRUE(known.has_value());
    std::vector<Dims> common =
        getShapes(tuple.getInnerShapes(substitute(tuple.shape, 1)));
    for (int64_t size : {0, 300, 5000}) {
      auto other =
          getShapes(tuple.getInnerShapes(substitute(tuple.shape, size)));
      for (size_t i = 0; i < common.size(); ++i)
        for (size_t dim = 0; dim < common[i].size(); ++dim)
          if (common[i][dim] != other[i][dim])
            common[i][dim] = ShapedType::kDynamic;
    }
    EXPECT_EQ(*known, common);
    if (HasFailure())
      break;
  }
}

TEST_F(Layout, AllocationsOfTheLoweredIR) {
  std::vector<Tuple> sample = getSample();
  std::string text;
  for (const Tuple &tuple : sample) {
    std::vector<std::string> arguments, names;
    for (auto [index, size] : llvm::enumerate(tuple.shape))
      if (ShapedType::isDynamic(size)) {
        names.push_back("%d" + std::to_string(index));
        arguments.push_back(names.back() + ": index");
      }
    text += "func.func @f" + std::to_string(tuple.seed) + "(" +
            llvm::join(arguments, ", ") + ") -> " + tuple.getType() +
            " {\n  %e = te_quant.empty(" + llvm::join(names, ", ") +
            ") : " + tuple.getType() + "\n  return %e : " + tuple.getType() +
            "\n}\n";
  }
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  PassManager manager(&context);
  ASSERT_TRUE(succeeded(parsePassPipeline(
      "te-quant-expand,one-shot-bufferize{bufferize-function-boundaries "
      "function-boundary-type-conversion=identity-layout-map}",
      manager)));
  ASSERT_TRUE(succeeded(manager.run(*module)));

  for (const Tuple &tuple : sample) {
    SCOPED_TRACE(trace(tuple));
    auto function =
        module->lookupSymbol<func::FuncOp>("f" + std::to_string(tuple.seed));
    ASSERT_TRUE(function);
    Operation *terminator = function.getBody().front().getTerminator();
    // What the type leaves open, the allocation does.
    std::vector<InnerShape> expected = tuple.getInnerShapes(tuple.sizes);
    ASSERT_EQ(terminator->getNumOperands(), expected.size());
    for (auto [value, inner] :
         llvm::zip_equal(terminator->getOperands(), expected)) {
      auto alloc = value.getDefiningOp<memref::AllocOp>();
      ASSERT_TRUE(alloc) << inner.name;
      MemRefType type = alloc.getType();
      std::string element;
      llvm::raw_string_ostream(element) << type.getElementType();
      EXPECT_EQ(element, getElementName(inner.dtype)) << inner.name;
      ASSERT_EQ(type.getRank(), int64_t(inner.shape.size())) << inner.name;
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        if (!ShapedType::isDynamic(size))
          EXPECT_EQ(size, inner.shape[dim]) << inner.name << " " << dim;
        else
          EXPECT_TRUE(llvm::is_contained(tuple.shape, ShapedType::kDynamic))
              << inner.name << " " << dim;
    }
  }
}

TEST_F(Layout, Manifest) {
  std::vector<Tuple> sample = getSample();
  // Some tensors a program.
  for (llvm::ArrayRef<Tuple> rest = sample; !rest.empty();) {
    llvm::ArrayRef<Tuple> batch = rest.take_front(25);
    rest = rest.drop_front(batch.size());
    std::vector<std::string> arguments, values, types;
    std::vector<te::testing::Input> inputs;
    std::string body;
    for (const Tuple &tuple : batch) {
      std::string prefix = "%t" + std::to_string(tuple.seed);
      std::vector<std::string> names;
      for (auto [index, size] : llvm::enumerate(tuple.shape)) {
        if (!ShapedType::isDynamic(size))
          continue;
        names.push_back(prefix + "_" + std::to_string(index));
        arguments.push_back(names.back() + ": index");
        te::testing::Bytes bytes;
        for (unsigned byte = 0; byte < 8; ++byte)
          bytes.push_back(tuple.sizes[index] >> (8 * byte));
        inputs.push_back({bytes, ""});
      }
      values.push_back(prefix);
      types.push_back(tuple.getType());
      body += "  " + prefix + " = te_quant.empty(" + llvm::join(names, ", ") +
              ") : " + tuple.getType() + "\n";
    }
    std::string module = "func.func @main(" + llvm::join(arguments, ", ") +
                         ") -> (" + llvm::join(types, ", ") + ") {\n" + body +
                         "  return " + llvm::join(values, ", ") + " : " +
                         llvm::join(types, ", ") + "\n}\n";
    auto outputs = te::testing::runModule(module, inputs, "sm_90a");
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError()) << "\n"
                               << module;
    size_t next = 0;
    for (auto [result, tuple] : llvm::enumerate(batch)) {
      SCOPED_TRACE(trace(tuple));
      for (const InnerShape &inner : tuple.getInnerShapes(tuple.sizes)) {
        ASSERT_LT(next, outputs->size());
        const te::testing::Output &output = (*outputs)[next++];
        EXPECT_EQ(output.result, result);
        EXPECT_EQ(output.name, inner.name);
        EXPECT_EQ(output.shape, inner.shape) << inner.name;
        EXPECT_EQ(output.dtype, getElementName(inner.dtype)) << inner.name;
        size_t bytes = getStoredSize(inner.dtype);
        for (int64_t size : inner.shape)
          bytes *= size;
        EXPECT_EQ(output.bytes.size(), bytes) << inner.name;
      }
    }
    EXPECT_EQ(next, outputs->size());
  }
}

} // namespace
