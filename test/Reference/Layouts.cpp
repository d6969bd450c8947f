//===- Layouts.cpp - what every quantized tensor consists of --------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layouts.h"

namespace te::reference {

using Dims = std::vector<int64_t>;

static int64_t countBlocks(int64_t extent, int64_t block) {
  return (extent + block - 1) / block;
}

static int64_t pad(int64_t extent, int64_t multiple) {
  return countBlocks(extent, multiple) * multiple;
}

/// The last dim goes first; all others keep their order.
static Dims rotate(const Dims &shape) {
  Dims rotated = shape;
  if (!rotated.empty()) {
    rotated.pop_back();
    rotated.insert(rotated.begin(), shape.back());
  }
  return rotated;
}

std::vector<InnerShape> getInnerShapes(const Format &format, DType nominal,
                                       const Dims &shape) {
  int64_t r = 1, c = shape.empty() ? 1 : shape.back();
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    r *= shape[dim];
  bool row = format.usage.rowwise, col = format.usage.columnwise;
  DType element = format.element;

  switch (format.family) {
  case Family::CurrentScaling:
  case Family::DelayedScaling: {
    std::vector<InnerShape> inner;
    if (row || format.nonTNGemm)
      inner.push_back({"data", element, shape});
    if (col && !format.nonTNGemm)
      inner.push_back({"transpose", element, rotate(shape)});
    inner.push_back({"scale_inv", DType::F32, {1}});
    return inner;
  }

  case Family::BlockScaling: {
    std::vector<InnerShape> inner;
    bool is2D = format.blockDim == 2;
    auto add = [&](const std::string &direction, const Dims &data, int64_t along,
                   int64_t across) {
      inner.push_back({direction + "_data", element, data});
      Dims scales = is2D ? Dims{countBlocks(across, 128),
                                pad(countBlocks(along, 128), 4)}
                         : Dims{countBlocks(along, 128), pad(across, 4)};
      inner.push_back({direction + "_scale_inv", DType::F32, scales});
    };
    if (row)
      add("rowwise", shape, c, r);
    if (col)
      add("columnwise", rotate(shape), r, c);
    return inner;
  }

  case Family::MXFP8: {
    std::vector<InnerShape> inner;
    if (row) {
      inner.push_back({"rowwise_data", element, shape});
      inner.push_back({"rowwise_scale_inv",
                       DType::E8M0,
                       {pad(r, 128), pad(countBlocks(c, 32), 4)}});
    }
    if (col) {
      inner.push_back({"columnwise_data", element, shape});
      inner.push_back({"columnwise_scale_inv",
                       DType::E8M0,
                       {pad(countBlocks(r, 32), 4), pad(c, 128)}});
    }
    return inner;
  }

  case Family::NVFP4: {
    std::vector<InnerShape> inner;
    if (row) {
      Dims bytes = shape;
      if (!bytes.empty())
        bytes.back() = countBlocks(c, 2);
      inner.push_back({"rowwise_data", DType::E2M1, bytes});
      inner.push_back({"rowwise_scale_inv",
                       DType::E4M3,
                       {pad(r, 128), pad(countBlocks(c, 16), 4)}});
    }
    if (col) {
      inner.push_back(
          {"columnwise_data", DType::E2M1, {c, countBlocks(r, 2)}});
      inner.push_back({"columnwise_scale_inv",
                       DType::E4M3,
                       {pad(c, 128), pad(countBlocks(r, 16), 4)}});
    }
    if (row)
      inner.push_back(
          {"amax_rowwise", DType::F32, {format.rowScaled ? r : 1}});
    if (col)
      inner.push_back(
          {"amax_columnwise", DType::F32, {format.rowScaled ? c : 1}});
    return inner;
  }

  case Family::Identity:
    return {{"hp_data", nominal, shape}};

  case Family::Hybrid: {
    std::vector<InnerShape> inner;
    for (bool isRowwise : {true, false}) {
      if (isRowwise ? !row : !col)
        continue;
      Format child = format.children[isRowwise ? 0 : 1];
      child.usage = {isRowwise, !isRowwise};
      std::string prefix = isRowwise ? "rowwise_" : "columnwise_";
      for (InnerShape &part : getInnerShapes(child, nominal, shape)) {
        if (part.name.rfind(prefix, 0) != 0)
          part.name = prefix + part.name;
        inner.push_back(part);
      }
    }
    return inner;
  }
  }
  return {};
}

} // namespace te::reference
