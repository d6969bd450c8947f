//===- Layouts.h - what every quantized tensor consists of ------*- C++ -*-===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout tables of docs/semantics.md on numbers, written from them alone:
// the compiler states the same as affine expressions.
//
//===----------------------------------------------------------------------===//

#ifndef TE_TEST_REFERENCE_LAYOUTS_H
#define TE_TEST_REFERENCE_LAYOUTS_H

#include "Reference.h"

namespace te::reference {

enum class Family : uint8_t {
  CurrentScaling,
  DelayedScaling,
  BlockScaling,
  MXFP8,
  NVFP4,
  Identity,
  Hybrid
};

/// What of a quantizer decides about its inner tensors.
struct Format {
  Family family = Family::MXFP8;
  Usage usage;
  /// Of the families with FP8 data.
  DType element = DType::E4M3;
  bool nonTNGemm = false;
  int blockDim = 2;
  bool rowScaled = false;
  /// The rowwise and the columnwise one of a hybrid.
  std::vector<Format> children;
};

struct InnerShape {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

/// The inner tensors in canonical order of a tensor of that nominal dtype and
/// logical shape.
std::vector<InnerShape> getInnerShapes(const Format &format, DType nominal,
                                       const std::vector<int64_t> &shape);

} // namespace te::reference

#endif // TE_TEST_REFERENCE_LAYOUTS_H
