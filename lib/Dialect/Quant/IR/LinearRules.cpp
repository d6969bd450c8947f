//===- LinearRules.cpp - the usages that a linear layer asks for -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of its own so that a test program can link another definition and see
// inference and decomposition follow.
//
//===----------------------------------------------------------------------===//

#include "te/Dialect/Quant/IR/LinearPlan.h"

using namespace te::quant;

// 5.4
Usage te::quant::getLinearWeightUsage(const LinearConfig &config) {
  bool columnwise = config.isGradEnabled && config.inputRequiresGrad &&
                    !config.fsdp2 &&
                    config.backwardOverride == BackwardOverride::None;
  // The first pass of a recomputation quantizes for the second one as well.
  columnwise |= config.activationRecompute == ActivationRecompute::Forward;
  return columnwise ? Usage::Both : Usage::Rowwise;
}
