//===- ModulePlan.h - what layers of linear layers consist of -------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer that contains linear layers is planned as norms and activations in
// high precision around linear layers, each planned by LinearPlan.h. Ids such
// as 7.2 are those of docs/semantics.md.
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_MODULEPLAN_H
#define TE_DIALECT_QUANT_IR_MODULEPLAN_H

#include "te/Dialect/Quant/IR/LinearPlan.h"

namespace te::quant {

/// The parts of a random stream that each linear layer of a module may draw.
inline constexpr unsigned randomPartsPerLinear = 8;

/// Names the results and scales of several linear layers.
struct ModuleSignature {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string> names;
  /// What each scale is for, and so each amax.
  llvm::SmallVector<std::string> scaleNames;
  bool takesRandomState = false;

  /// Adds a result; a null type is none.
  void add(const llvm::Twine &name, mlir::Type type);
  /// Adds the scales of a linear layer.
  void addScales(const llvm::Twine &prefix, llvm::ArrayRef<LinearRole> roles,
                 const llvm::Twine &suffix = "");
  /// Adds an amax for each scale: the last results.
  void addAmaxes(mlir::MLIRContext *context);
};

//===----------------------------------------------------------------------===//
// Norms and activations
//===----------------------------------------------------------------------===//

struct NormConfig {
  Normalization normalization = Normalization::LayerNorm;
  double epsilon = 1e-5;
  bool zeroCenteredGamma = false;
  /// Whether the caller gets the normalized input as well.
  bool returnsOutput = false;
};

struct NormOperands {
  mlir::Type x, gamma, beta;
};

/// 7.2: the norm of the rows of the input.
struct NormPlan {
  /// In the activation dtype.
  mlir::RankedTensorType output;
  /// Statistics of each row in f32; RMSNorm has no mean.
  mlir::RankedTensorType mu, rsigma;
};

/// Plans the norm; `dtype` is the activation dtype.
llvm::FailureOr<NormPlan> planNorm(const NormConfig &config,
                                   const NormOperands &operands,
                                   mlir::Type dtype, EmitError emitError);

/// Whether the activation multiplies a function of the first half of a row with
/// the second half.
bool isGated(Activation activation);

//===----------------------------------------------------------------------===//
// LayerNormLinear (7.2)
//===----------------------------------------------------------------------===//

/// The saved slots in their order.
enum LayerNormLinearSlot {
  LNInputSlot,
  LNWeightmatSlot,
  LNWeightSlot,
  LNBiasSlot,
  LNGammaSlot,
  LNNormOutputSlot,
  LNMuSlot,
  LNRsigmaSlot
};
inline constexpr llvm::StringLiteral layerNormLinearSlotNames[] = {
    "input", "weightmat",   "weight", "bias",
    "gamma", "norm_output", "mu",     "rsigma"};

struct LayerNormLinearPlan {
  NormPlan norm;
  bool returnsNorm = false;
  /// The linear layer on the output of the norm, and its attributes.
  LinearConfig config;
  LinearForwardPlan linear;
  /// Empty where nothing is saved.
  llvm::SmallVector<SavedSlot, 8> saved;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<LayerNormLinearPlan>
planLayerNormLinear(const LinearConfig &config, const NormConfig &norm,
                    const LinearOperands &operands,
                    const NormOperands &normOperands, EmitError emitError);

struct LayerNormLinearBackwardOperands {
  LinearBackwardOperands linear;
  NormOperands norm;
  mlir::Type mu, rsigma, gradNormOutput;
};

struct LayerNormLinearBackwardPlan {
  LinearConfig config;
  LinearBackwardPlan linear;
  NormPlan norm;
  /// The gradients of the norm's operands; `gradBeta` is null for RMSNorm.
  mlir::RankedTensorType dgrad, gradGamma, gradBeta;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<LayerNormLinearBackwardPlan>
planLayerNormLinearBackward(const LinearConfig &config, const NormConfig &norm,
                            const LayerNormLinearBackwardOperands &operands,
                            EmitError emitError);

//===----------------------------------------------------------------------===//
// LayerNormMLP (7.3)
//===----------------------------------------------------------------------===//

struct LayerNormMLPConfig {
  LinearConfig fc1, fc2;
  Activation activation = Activation::GELU;
};

struct LayerNormMLPPlan {
  NormPlan norm;
  LinearConfig config1, config2;
  LinearForwardPlan fc1, fc2;
  /// The result of fc1, and of the activation.
  mlir::RankedTensorType hidden, activated;
  /// Whether what backward needs is returned.
  bool saves = false;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<LayerNormMLPPlan>
planLayerNormMLP(const LayerNormMLPConfig &config, const NormConfig &norm,
                 const LinearOperands &fc1, const LinearOperands &fc2,
                 const NormOperands &normOperands, EmitError emitError);

struct LayerNormMLPBackwardOperands {
  /// Of fc2: the gradient and what is saved.
  LinearBackwardOperands fc2;
  /// Of norm and fc1: `linear.dy` follows from `hidden`.
  LayerNormLinearBackwardOperands fc1;
  mlir::Type hidden;
};

struct LayerNormMLPBackwardPlan {
  LinearConfig config2;
  LinearBackwardPlan fc2;
  LayerNormLinearBackwardPlan fc1;
  /// The gradient of what the activation reads.
  mlir::RankedTensorType hidden;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<LayerNormMLPBackwardPlan> planLayerNormMLPBackward(
    const LayerNormMLPConfig &config, const NormConfig &norm,
    const LayerNormMLPBackwardOperands &operands, EmitError emitError);

//===----------------------------------------------------------------------===//
// GroupedLinear (7.4)
//===----------------------------------------------------------------------===//

struct GroupedLinearOperands {
  mlir::Type x;
  llvm::SmallVector<mlir::Type> weights, biases, workspaces;
  bool hasSkipUpdate = false;
  /// The rows of each expert, or the type of the tensor that tells them.
  std::optional<llvm::ArrayRef<int64_t>> staticSplits;
  mlir::Type dynamicSplits;
};

struct GroupedLinearPlan {
  LinearConfig config;
  /// One linear layer for each expert, on its rows.
  llvm::SmallVector<LinearForwardPlan, 0> experts;
  llvm::SmallVector<mlir::RankedTensorType> inputs;
  mlir::RankedTensorType output;
  /// Whether the number of rows is checked against the splits at run time.
  bool checksRows = false;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<GroupedLinearPlan>
planGroupedLinear(LinearConfig config, const GroupedLinearOperands &operands,
                  EmitError emitError);

struct GroupedLinearBackwardOperands {
  /// The gradient is `x`; workspaces are not read.
  GroupedLinearOperands shared;
  /// Of each expert, or the one input of all.
  llvm::SmallVector<mlir::Type> inputs;
  llvm::SmallVector<mlir::Type> weightmats, mainGrads;
};

struct GroupedLinearBackwardPlan {
  LinearConfig config;
  /// One linear layer for each expert, on its rows of the gradient.
  llvm::SmallVector<LinearBackwardPlan, 0> experts;
  llvm::SmallVector<mlir::RankedTensorType> gradients;
  /// The rows of the input of each expert where the input is saved as one.
  llvm::SmallVector<mlir::RankedTensorType> slicedInputs;
  /// All rows; null where the input is not differentiated.
  mlir::RankedTensorType dgrad;
  bool checksRows = false;
  ModuleSignature signature;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const {
    llvm::append_range(types, signature.types);
    llvm::append_range(names, signature.names);
  }
};

llvm::FailureOr<GroupedLinearBackwardPlan>
planGroupedLinearBackward(LinearConfig config,
                          const GroupedLinearBackwardOperands &operands,
                          EmitError emitError);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_IR_MODULEPLAN_H
