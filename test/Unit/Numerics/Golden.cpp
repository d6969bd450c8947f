//===- Golden.cpp - reading the golden cases ------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Golden.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace te::golden {

using reference::DType;

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream file(std::string(TE_GOLDEN_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << "cannot open " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

llvm::json::Object readJSON(const std::string &path) {
  std::vector<uint8_t> text = readFile(path);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(
      reinterpret_cast<const char *>(text.data()), text.size()));
  if (!value) {
    ADD_FAILURE() << path << ": " << llvm::toString(value.takeError());
    return {};
  }
  llvm::json::Object *object = value->getAsObject();
  EXPECT_TRUE(object) << path << ": expected an object";
  return object ? std::move(*object) : llvm::json::Object();
}

DType parseDType(llvm::StringRef name) {
  if (name == "f32")
    return DType::F32;
  if (name == "bf16")
    return DType::BF16;
  if (name == "f16")
    return DType::F16;
  if (name == "e4m3")
    return DType::E4M3;
  if (name == "e5m2")
    return DType::E5M2;
  if (name == "e2m1" || name == "e2m1x2")
    return DType::E2M1;
  EXPECT_TRUE(name == "e8m0" || name == "u8") << "unknown dtype " << name.str();
  return DType::E8M0;
}

llvm::StringRef Case::getFamily() const {
  return root.getString("family").value_or("");
}

const llvm::json::Object &Case::getOptions() const {
  static const llvm::json::Object none;
  const llvm::json::Object *options = root.getObject("options");
  return options ? *options : none;
}

bool Case::getFlag(llvm::StringRef option) const {
  return getOptions().getBoolean(option).value_or(false);
}

int64_t Case::getInteger(llvm::StringRef option, int64_t missing) const {
  return getOptions().getInteger(option).value_or(missing);
}

llvm::StringRef Case::getString(llvm::StringRef option) const {
  return getOptions().getString(option).value_or("");
}

std::optional<float> Case::getBits(llvm::StringRef option) const {
  const llvm::json::Value *value = getOptions().get(option);
  if (!value)
    return std::nullopt;
  return parseBits(*value);
}

std::vector<size_t> Case::getRowsCols() const {
  std::vector<size_t> sizes = getSizes(root, "rows_cols");
  EXPECT_EQ(sizes.size(), 2u) << name;
  sizes.resize(2);
  return sizes;
}

std::vector<uint8_t> Case::read(llvm::StringRef file) const {
  return readFile(name + "/" + file.str());
}

const std::vector<Case> &getCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> result;
    std::error_code error;
    std::filesystem::directory_iterator folders(TE_GOLDEN_DIR, error);
    EXPECT_FALSE(error) << TE_GOLDEN_DIR << ": " << error.message();
    for (const auto &folder : folders) {
      std::string name = folder.path().filename();
      if (std::filesystem::exists(folder.path() / "case.json"))
        result.push_back({name, readJSON(name + "/case.json")});
    }
    std::sort(result.begin(), result.end(),
              [](const Case &a, const Case &b) { return a.name < b.name; });
    return result;
  }();
  return cases;
}

std::vector<size_t> getSizes(const llvm::json::Object &object,
                             llvm::StringRef key) {
  std::vector<size_t> sizes;
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &size : *array)
      sizes.push_back(size.getAsInteger().value_or(0));
  return sizes;
}

float parseBits(const llvm::json::Value &value) {
  uint32_t bits = 0;
  bool failed =
      value.getAsString().value_or("").getAsInteger(/*Radix=*/0, bits);
  EXPECT_FALSE(failed) << "expected an f32 pattern";
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

} // namespace te::golden
