//===- NpyTest.cpp - headers of numpy's array files -----------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <gtest/gtest.h>

using namespace te::run;

namespace {

std::string makeFile(const std::string &header, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file += version;
  file += '\0';
  size_t lengthBytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < lengthBytes; ++i)
    file += char(header.size() >> 8 * i);
  return file + header;
}

/// The error of parsing a file, or "" if there is none.
std::string getError(const std::string &file) {
  llvm::Expected<NpyHeader> header = parseNpyHeader(file);
  return header ? std::string() : llvm::toString(header.takeError());
}

TEST(NpyTest, ReadsWhatNumpyWrites) {
  std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
  for (char version : {1, 2, 3}) {
    llvm::Expected<NpyHeader> header =
        parseNpyHeader(makeFile(text, version) + "data");
    ASSERT_TRUE(bool(header)) << llvm::toString(header.takeError());
    EXPECT_EQ(header->descr, "<f4");
    EXPECT_FALSE(header->isFortranOrder);
    EXPECT_EQ(header->shape, (llvm::SmallVector<int64_t>{2, 3}));
    EXPECT_EQ(header->dataOffset, text.size() + (version == 1 ? 10 : 12));
  }
}

TEST(NpyTest, ReadsEveryRank) {
  auto getShape = [](const std::string &shape) {
    llvm::Expected<NpyHeader> header = parseNpyHeader(
        makeFile("{\"shape\": " + shape +
                 ", \"descr\": \"|u1\", \"fortran_order\": True}"));
    EXPECT_TRUE(bool(header)) << llvm::toString(header.takeError());
    if (!header)
      return llvm::SmallVector<int64_t>{-1};
    EXPECT_TRUE(header->isFortranOrder);
    return header->shape;
  };
  EXPECT_EQ(getShape("()"), (llvm::SmallVector<int64_t>{}));
  EXPECT_EQ(getShape("(7,)"), (llvm::SmallVector<int64_t>{7}));
  EXPECT_EQ(getShape("(0, 5)"), (llvm::SmallVector<int64_t>{0, 5}));
  EXPECT_EQ(getShape("(10L, 3L)"), (llvm::SmallVector<int64_t>{10, 3}));
}

TEST(NpyTest, RefusesWhatIsNotAHeader) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(getError(makeFile(good)), "");
  // No prefix of a file is one, whatever it ends in.
  std::string file = makeFile(good);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(getError(file.substr(0, size)), "") << size;

  EXPECT_NE(getError(makeFile(good, 4)), "");
  EXPECT_NE(getError(makeFile("")), "");
  EXPECT_NE(getError(makeFile("{}")), "");
  EXPECT_NE(getError(makeFile("{'descr': '<f4'}")), "");
  EXPECT_NE(
      getError(makeFile("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}")),
      "");
  EXPECT_NE(getError(makeFile(
                "{'descr': '<f4', 'fortran_order': False, 'shape': 2}")),
            "");
  EXPECT_NE(getError(makeFile(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}")),
            "");
  EXPECT_NE(getError(makeFile("{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (99999999999999999999,)}")),
            "");
  EXPECT_NE(getError(makeFile("{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2,), 'more': 1}")),
            "");
}

TEST(NpyTest, NamesStructuredDtypes) {
  std::string error =
      getError(makeFile("{'descr': [('a', '<f4')], 'fortran_order': False, "
                        "'shape': (2,)}"));
  EXPECT_NE(error.find("structured dtype '[('a', '<f4')]'"), std::string::npos)
      << error;
}

TEST(NpyTest, ReadsDtypes) {
  auto expectDtype = [](const char *descr, char kind, unsigned size,
                        bool isBigEndian) {
    llvm::Expected<NpyDtype> dtype = parseNpyDtype(descr);
    ASSERT_TRUE(bool(dtype)) << llvm::toString(dtype.takeError());
    EXPECT_EQ(dtype->kind, kind) << descr;
    EXPECT_EQ(dtype->sizeInBytes, size) << descr;
    EXPECT_EQ(dtype->isBigEndian, isBigEndian) << descr;
  };
  expectDtype("<f4", 'f', 4, false);
  expectDtype(">i8", 'i', 8, true);
  expectDtype("|b1", 'b', 1, false);
  expectDtype("<V2", 'V', 2, false);
  expectDtype("u1", 'u', 1, false);
  expectDtype("bfloat16", 'V', 2, false);
  expectDtype("float8_e8m0fnu", 'V', 1, false);
  for (const char *descr : {"", "<", "<f", "4", "<ff", "float4_e2m1fn"}) {
    llvm::Expected<NpyDtype> dtype = parseNpyDtype(descr);
    EXPECT_FALSE(bool(dtype)) << descr;
    llvm::consumeError(dtype.takeError());
  }
}

} // namespace
