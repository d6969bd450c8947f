//===- LinearPlan.h - what a linear layer takes, gives and does -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pure function from operand types and attributes to everything that
// inference, verification and decomposition of a linear layer need to know.
// V-2: they read the plan and nothing else.
// Ids such as B-6 and 5.4 are those of docs/semantics.md.
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_LINEARPLAN_H
#define TE_DIALECT_QUANT_IR_LINEARPLAN_H

#include "te/Dialect/Quant/IR/Quant.h"

namespace te::quant {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// What a plan is made from
//===----------------------------------------------------------------------===//

/// The attributes of a linear layer. A null quantizer: its role has none.
/// B-1: what is differentiated is said here, never read off operands.
struct LinearConfig {
  QuantizerAttrInterface inputQuantizer, weightQuantizer, outputQuantizer;
  QuantizerAttrInterface gradInputQuantizer, gradOutputQuantizer;
  /// Element type of the output; null: that of the input.
  mlir::Type activationDtype;
  bool isGradEnabled = true;
  bool inputRequiresGrad = true;
  bool weightRequiresGrad = true;
  bool biasRequiresGrad = false;
  bool saveOriginalInput = false;
  BackwardOverride backwardOverride = BackwardOverride::None;
  Microbatch microbatch = Microbatch::None;
  bool cacheWeight = false;
  ParallelMode parallelMode = ParallelMode::None;
  bool sequenceParallel = false;
  int64_t tpSize = 1;
  bool fsdp2 = false;
  ActivationRecompute activationRecompute = ActivationRecompute::Off;
  bool recipeIsCustom = false;
  /// Backward only.
  bool fuseWgradAccumulation = false;

  /// Whether the layer computes with quantized operands.
  bool isQuantized() const {
    return inputQuantizer || weightQuantizer || outputQuantizer ||
           gradInputQuantizer || gradOutputQuantizer;
  }
  bool isBackwardQuantized() const {
    return isQuantized() && backwardOverride == BackwardOverride::None;
  }
  /// 5.1: whether the input is saved, gathered forward, gathered backward.
  bool needsInput() const { return isGradEnabled && weightRequiresGrad; }
  bool gathersInput() const {
    return parallelMode == ParallelMode::Column && sequenceParallel;
  }
  bool gathersInputBackward() const {
    return weightRequiresGrad && gathersInput();
  }
  bool gathersGradOutput() const {
    return parallelMode == ParallelMode::Row && sequenceParallel;
  }
};

/// Operand types of the forward direction; null where there is no operand.
struct LinearOperands {
  mlir::Type x, w, bias, workspace;
  /// The device flag that suppresses the update of the workspace.
  bool hasSkipUpdate = false;
};

/// Operand types of the backward direction.
struct LinearBackwardOperands {
  mlir::Type dy, input, weightmat, weight, bias, mainGrad;
};

//===----------------------------------------------------------------------===//
// What a plan consists of
//===----------------------------------------------------------------------===//

enum class LinearRole { Input, Weight, Output, GradOutput, GradInput };

/// "input", "weight", ...: as in diagnostics and in the names of quantizers.
llvm::StringRef stringifyLinearRole(LinearRole role);

/// A quantize of the decomposition.
struct LinearQuantize {
  enum Where {
    Local,         // of the operand as it comes
    IntoWorkspace, // of the weight, in place
    BeforeGather,
    AfterGather,
    AtGemm,   // right before the GEMM that reads it
    ForFSDP2, // of a weight that was gathered again
    OfResult,
  };
  LinearRole role;
  /// What it makes.
  TensorSpecType type;
  Where where = Local;
  /// Whether its amax is reduced over the tensor-parallel group (B-4).
  bool reducesAmax = false;
  /// Whether its rowwise representation is there only because no kernel makes
  /// the columnwise one alone, and is dropped afterwards (H-32).
  bool dropsRowwise = false;
  /// The part of the random stream it draws from, where it rounds
  /// stochastically: `linearRandomPartSize` offsets each.
  unsigned randomPart = 0;
};

/// A quantize draws from its offset and, with the Hadamard transform, from 1024
/// after it; each of the two ranges has 1024 offsets.
inline constexpr int64_t linearRandomPartSize = 2048;

/// A gather along the first dim.
struct LinearGather {
  enum How {
    Quantized,                 // of the quantized tensor
    HighPrecisionThenQuantize, // of the decoded tensor, quantized after (B-5)
    HighPrecision,             // nothing is quantized
  };
  LinearRole role;
  How how;
  /// What the gathered tensor has; nothing in high precision.
  std::optional<Usage> usage;
  /// The gathered tensor.
  mlir::Type type;
  /// As in `LinearQuantize`, for a quantize after the gather that is not
  /// listed.
  unsigned randomPart = 0;
};

/// A collective on the result of a GEMM.
enum class LinearReduction { None, AllReduce, ReduceScatter };

/// What dynamic dims must meet at run time (B-13).
struct LinearAssertion {
  enum Dim { First, Rows, Last };
  LinearRole role;
  Dim dim;
  /// The multiple that it must be of; 0: it must equal the weight's last dim.
  int64_t multiple;
  /// Whether the quantize that needs it checks it itself.
  bool isCheckedByQuantize = false;

  bool operator==(const LinearAssertion &other) const {
    return role == other.role && dim == other.dim &&
           multiple == other.multiple &&
           isCheckedByQuantize == other.isCheckedByQuantize;
  }
};

/// A slot of what forward saves for backward.
/// V-3, P-5, 5.6: a name where the value is there already.
struct SavedSlot {
  enum Kind { None, Alias, Value } kind = None;
  /// What an alias names: `inp`, `weight`, `weight_workspace`,
  /// `new_weight_workspace` or `bias`.
  llvm::StringRef alias = {};
  /// The type of a value.
  mlir::Type value = {};

  static SavedSlot ofAlias(llvm::StringRef name) { return {Alias, name, {}}; }
  static SavedSlot ofValue(mlir::Type type) { return {Value, {}, type}; }
};

/// 5.6: the names of the slots, in their order.
enum LinearSlot { InputSlot, WeightmatSlot, WeightSlot, BiasSlot };
inline constexpr llvm::StringLiteral linearSlotNames[] = {"input", "weightmat",
                                                          "weight", "bias"};

/// 5.3: the input up to the GEMM.
struct LinearInputPlan {
  /// As it enters the gather or the GEMM.
  mlir::Type local;
  /// Whether `local` is the operand itself.
  bool isOperand = true;
  std::optional<LinearGather> gather;
  /// What the GEMM reads.
  mlir::Type gemmOperand;
};

/// 5.4: the weight up to the GEMM.
struct LinearWeightPlan {
  enum Source {
    Parameter, // the operand itself
    Cast,      // the operand in the activation dtype
    Workspace, // the given workspace
    Fresh,     // quantized here
  };
  Source source = Parameter;
  mlir::Type weightmat;
  /// Whether a given workspace is quantized again.
  bool refreshesWorkspace = false;
  /// Whether what is fresh is also a result, for the caller to keep.
  bool isNewWorkspace = false;
};

/// 5.5: the result.
struct LinearOutputPlan {
  /// The GEMM's result, after its collective, and as the caller gets it.
  mlir::Type gemm, reduced, output;
  LinearReduction reduction = LinearReduction::None;
  bool requiresGrad = false;
};

struct LinearForwardPlan {
  /// B-2, and whether it is not what was asked for.
  bool savesOriginalInput = false;
  bool ignoresSaveOriginalInput = false;

  LinearInputPlan input;
  LinearWeightPlan weight;
  LinearOutputPlan output;
  /// In the order in which they draw from the random stream.
  llvm::SmallVector<LinearQuantize, 4> quantizes;
  llvm::SmallVector<LinearAssertion, 4> assertions;

  /// Empty where nothing is saved, else the four slots.
  llvm::SmallVector<SavedSlot, 4> saved;

  /// The roles that take a scale and give an amax.
  llvm::SmallVector<LinearRole, 3> scaleRoles;
  bool takesRandomState = false;

  /// The type of the workspace result, new or refreshed, or null.
  mlir::Type getWorkspaceResult() const;
  /// 5.6: whether slot 0 is not the input itself.
  bool ownsInput() const;
  /// All results in order with their names.
  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const;
};

/// Where the bias gradient comes from (6.2, H-22).
enum class BiasGradSource { None, WgradGemm, WithQuantize, RowSum };

struct LinearBackwardPlan {
  /// Whether the GEMMs read quantized operands.
  bool isQuantized = false;

  /// The gradient of the output as its quantize or gather leaves it: what the
  /// GEMMs read, and what the row sum reads.
  mlir::Type gradOutput;
  std::optional<LinearGather> gradOutputGather;
  BiasGradSource biasGradSource = BiasGradSource::None;

  /// The saved input up to the wgrad GEMM: local, gathered, as read.
  mlir::Type localInput, wgradInput;
  std::optional<LinearGather> inputGather;

  /// The weight that the dgrad GEMM reads, before a derivation.
  mlir::Type dgradWeight;
  /// Whether it is slot 1, or else made from the weight operand.
  bool readsWeightmat = false;

  /// The GEMMs' results.
  mlir::Type dgradGemm, dgradReduced;
  LinearReduction dgradReduction = LinearReduction::None;
  /// Whether the wgrad GEMM adds to the main gradient.
  bool accumulates = false;
  /// Whether the result is the main gradient.
  bool tiesMainGrad = false;

  llvm::SmallVector<LinearQuantize, 4> quantizes;
  llvm::SmallVector<LinearAssertion, 4> assertions;

  /// Results; null where there is none.
  mlir::Type wgrad, dgrad, gradBias;
  llvm::SmallVector<LinearRole, 4> scaleRoles;
  bool takesRandomState = false;

  void getResults(llvm::SmallVectorImpl<mlir::Type> &types,
                  llvm::SmallVectorImpl<std::string> &names) const;
};

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// 5.4: the representations that are asked of a weight quantized here.
Usage getLinearWeightUsage(const LinearConfig &config);

/// The forward plan, or a diagnostic that names the rule's subject.
llvm::FailureOr<LinearForwardPlan> planLinearForward(LinearConfig config,
                                                     LinearOperands operands,
                                                     EmitError emitError);

/// The backward plan for the slots that the forward plan saved.
llvm::FailureOr<LinearBackwardPlan>
planLinearBackward(LinearConfig config, LinearBackwardOperands operands,
                   EmitError emitError);

} // namespace te::quant

#endif // TE_DIALECT_QUANT_IR_LINEARPLAN_H
