//===- Program.cpp - random programs for te-run ---------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Support/TeRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <utility>

using namespace te::differential;
using namespace te::reference;

static constexpr const char *chips[] = {"sm_80", "sm_90a", "sm_100a"};

/// Fragments of one program.
static constexpr size_t batchSize = 16;

//===----------------------------------------------------------------------===//
// Random inputs
//===----------------------------------------------------------------------===//

const char *te::differential::getName(DType dtype) {
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

Shape::Shape(Random &random, unsigned rowBlock, unsigned colBlock) {
  unsigned rank = 1 + pick(random, 4);
  if (rank == 1 && rowBlock > 1)
    rank = 2;
  auto makeExtent = [&](unsigned block) {
    return pick(random, 12) == 0 ? 0 : block * (1 + pick(random, 300 / block));
  };
  rows = 1;
  for (unsigned dim = 0; dim + 1 < rank; ++dim) {
    // The first leading dim carries the block; the others stay small.
    dims.push_back(dim == 0 ? makeExtent(rowBlock) : 1 + pick(random, 3));
    rows *= dims.back();
  }
  cols = makeExtent(colBlock);
  dims.push_back(cols);
}

std::string Shape::getText(bool isDynamic) const {
  std::string text;
  for (size_t dim : dims)
    text += (isDynamic ? "?" : std::to_string(dim)) + "x";
  return text;
}

std::string Shape::getSizes() const {
  std::string text = getText();
  text.pop_back();
  return text;
}

Matrix te::differential::makeInput(Random &random, DType dtype,
                                   const Shape &shape) {
  Matrix input{dtype, shape.rows, shape.cols, {}};
  size_t size = getStoredSize(dtype), count = shape.rows * shape.cols;
  input.bytes.resize(count * size);
  enum { Tame, Wild, OnlySpecial } kind = Tame;
  if (pick(random, 3) == 0)
    kind = pick(random, 8) ? Wild : OnlySpecial;
  unsigned numSpecial = kind == OnlySpecial ? 1 + pick(random, 4) : 0;
  std::normal_distribution<double> normal;
  int range = pick(random, 20);
  auto makeSpecial = [&](unsigned which) -> uint32_t {
    switch (which) {
    case 0:
      return encode(dtype, -0.0);
    case 1:
      return 1 + pick(random, 15); // subnormal
    case 2:
      return encode(dtype, std::nan(""));
    default:
      return encode(dtype, pick(random, 2) ? HUGE_VAL : -HUGE_VAL);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    double value =
        std::ldexp(normal(random), int(pick(random, range + 1)) - range / 2);
    if ((i / 64) % 7 == 3)
      value = 0;
    uint32_t code = encode(dtype, value);
    if (kind == OnlySpecial)
      code = makeSpecial(pick(random, numSpecial));
    else if (kind == Wild && pick(random, 32) == 0)
      // An infinity in nearly every block would leave little else to see.
      code = makeSpecial(pick(random, 16) ? pick(random, 3) : 3);
    for (size_t byte = 0; byte < size; ++byte)
      input.bytes[i * size + byte] = code >> (8 * byte);
  }
  return input;
}

float te::differential::makeScalar(Random &random) {
  std::normal_distribution<float> normal;
  switch (pick(random, 10)) {
  case 0:
    return 0;
  case 1:
    return std::ldexp(1.0f, -126 - int(pick(random, 24)));
  case 2:
    return std::ldexp(1.0f, 60 + int(pick(random, 67)));
  case 3:
    return HUGE_VALF;
  case 4:
    return std::ldexp(1.0f, int(pick(random, 20)) - 10);
  default:
    return std::fabs(normal(random)) *
           std::ldexp(1.0f, int(pick(random, 20)) - 10);
  }
}

//===----------------------------------------------------------------------===//
// Fragment
//===----------------------------------------------------------------------===//

std::string Fragment::addArgument(const std::string &type,
                                  llvm::ArrayRef<llvm::StringRef> bytes,
                                  const std::string &shape) {
  Argument &argument = arguments.emplace_back();
  argument.name = "%" + prefix + std::to_string(numValues++);
  argument.type = type;
  argument.shape = shape;
  for (llvm::StringRef file : bytes)
    argument.files.emplace_back(file.bytes_begin(), file.bytes_end());
  return argument.name;
}

std::string Fragment::addOp(const std::string &text, unsigned count) {
  std::string name = "%" + prefix + std::to_string(numValues++);
  body += "  " + name + (count > 1 ? ":" + std::to_string(count) : "") + " = " +
          text + "\n";
  return name;
}

void Fragment::addResult(const std::string &value, const std::string &type,
                         InnerTensors expected) {
  results.push_back({value, type, std::move(expected)});
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

namespace te::differential {
/// Fragments as one function.
class Program {
public:
  explicit Program(std::vector<const Fragment *> fragments)
      : fragments(std::move(fragments)) {}

  /// Runs the program and compares all results. Where it does not run, each of
  /// several fragments is tried alone.
  void check() const {
    auto outputs = run();
    if (outputs) {
      unsigned result = 0;
      for (const Fragment *fragment : fragments) {
        SCOPED_TRACE(fragment->description);
        for (const Fragment::Result &expected : fragment->results)
          compare(expected, result++, *outputs);
      }
    } else if (fragments.size() == 1) {
      SCOPED_TRACE(fragments.front()->description);
      ADD_FAILURE() << llvm::toString(outputs.takeError()) << "\n"
                    << getModule();
    } else {
      llvm::consumeError(outputs.takeError());
      for (const Fragment *fragment : fragments)
        Program({fragment}).check();
    }
  }

private:
  std::string getModule() const {
    std::string arguments, types, values, body;
    auto append = [](std::string &list, const std::string &item) {
      list += (list.empty() ? "" : ", ") + item;
    };
    for (const Fragment *fragment : fragments) {
      for (const Fragment::Argument &argument : fragment->arguments)
        append(arguments, argument.name + ": " + argument.type);
      for (const Fragment::Result &result : fragment->results) {
        append(values, result.value);
        append(types, result.type);
      }
      body += fragment->body;
    }
    return "func.func @main(" + arguments + ") -> (" + types + ") {\n" + body +
           "  return " + values + " : " + types + "\n}\n";
  }

  llvm::Expected<std::vector<te::testing::Output>> run() const {
    std::vector<te::testing::Input> inputs;
    for (const Fragment *fragment : fragments)
      for (const Fragment::Argument &argument : fragment->arguments)
        for (const Bytes &bytes : argument.files)
          inputs.push_back({bytes, argument.shape});
    return te::testing::runModule(getModule(), inputs,
                                  fragments.front()->chip);
  }

  static void compare(const Fragment::Result &expected, unsigned result,
                      llvm::ArrayRef<te::testing::Output> outputs) {
    for (const InnerTensor &inner : expected.expected) {
      const auto *output = llvm::find_if(outputs, [&](const auto &output) {
        return output.result == result && output.name == inner.name;
      });
      if (output == outputs.end())
        ADD_FAILURE() << expected.type << " has no '" << inner.name << "'";
      else
        EXPECT_EQ(describeDifference(inner, output->bytes), "")
            << expected.type;
    }
  }

  std::vector<const Fragment *> fragments;
};
} // namespace te::differential

static unsigned getEnv(const char *name, unsigned fallback) {
  const char *text = std::getenv(name);
  return text ? std::strtoul(text, nullptr, 10) : fallback;
}

void te::differential::check(llvm::StringRef family, Builder build) {
  unsigned count = getEnv("TE_DIFFERENTIAL_COUNT", 25);
  unsigned first = getEnv("TE_DIFFERENTIAL_SEED", 1);
  uint64_t salt = 0;
  for (char c : family)
    salt = salt * 31 + c;

  std::vector<Fragment> fragments;
  for (unsigned seed = first; seed < first + count; ++seed) {
    Random random(seed * uint64_t(7919) + salt);
    Fragment &fragment = fragments.emplace_back("v" + std::to_string(seed) + "_");
    fragment.chip = chips[pick(random, std::size(chips))];
    fragment.description = "TE_DIFFERENTIAL_COUNT=1 TE_DIFFERENTIAL_SEED=" +
                           std::to_string(seed) + " " + fragment.chip;
    build(random, fragment);
  }
  for (const char *chip : chips) {
    std::vector<const Fragment *> batch;
    for (const Fragment &fragment : fragments) {
      if (fragment.chip != chip)
        continue;
      batch.push_back(&fragment);
      if (batch.size() == batchSize)
        Program(std::exchange(batch, {})).check();
    }
    if (!batch.empty())
      Program(batch).check();
  }
}
