//===- LinearPlanParts.h - what the plans of both directions share --------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_LIB_DIALECT_QUANT_IR_LINEARPLANPARTS_H
#define TE_LIB_DIALECT_QUANT_IR_LINEARPLANPARTS_H

#include "te/Dialect/Quant/IR/LinearPlan.h"

namespace te::quant {

/// V-7: a builtin tensor or TensorSpec, wrapped or bare, as a plan sees it.
struct OperandView {
  mlir::Type type;
  llvm::ArrayRef<int64_t> shape;
  mlir::Type dtype;
  /// Null for a plain tensor.
  QuantizerAttrInterface quantizer;

  /// An empty view where there is no operand; fails for any other type.
  static llvm::FailureOr<OperandView> get(mlir::Type type, llvm::StringRef what,
                                          EmitError emitError);

  explicit operator bool() const { return static_cast<bool>(type); }
  int64_t rank() const { return shape.size(); }
};

/// A plain tensor of `shape`: a plain TensorSpec where `like` is one.
mlir::Type makePlain(llvm::ArrayRef<int64_t> shape, mlir::Type dtype,
                     mlir::Type like);

/// A quantized tensor of `shape`, or null with a diagnostic where the layout
/// overflows. It is on the device that `like` names.
TensorSpecType makeQuantized(llvm::ArrayRef<int64_t> shape, mlir::Type dtype,
                             QuantizerAttrInterface quantizer, mlir::Type like,
                             EmitError emitError, bool requiresGrad = false);

/// The quantizer with another usage, or null with a diagnostic.
QuantizerAttrInterface makeUsage(QuantizerAttrInterface quantizer, Usage usage,
                                 LinearRole role, EmitError emitError);

Usage makeUsage(bool rowwise, bool columnwise);

/// Whether a tensor has the representations of `usage` as it is.
bool hasUsage(QuantizerAttrInterface quantizer, Usage usage);

/// Whether it has them or they can be derived (3.1).
bool canHaveUsage(QuantizerAttrInterface quantizer, Usage usage);

/// What a GEMM reads of a tensor in a direction: the child of a composed one.
QuantizerAttrInterface getOperandQuantizer(QuantizerAttrInterface quantizer,
                                           Usage direction);

/// Whether the format scales by an amax of the whole tensor, which is reduced
/// over the group that holds parts of it.
/// only such have an amax to reduce.
bool scalesByTensorAmax(QuantizerAttrInterface quantizer);

/// 5.7: whether a GEMM may have its result quantized.
bool isNative(QuantizerAttrInterface quantizer);

/// 5.7: what input and weight must have in common.
llvm::LogicalResult verifyForwardPair(QuantizerAttrInterface input,
                                      QuantizerAttrInterface weight,
                                      EmitError emitError);

/// `shape` with its first dim multiplied; fails on overflow.
llvm::FailureOr<llvm::SmallVector<int64_t>>
multiplyFirstDim(llvm::ArrayRef<int64_t> shape, int64_t factor,
                 EmitError emitError);

/// What the attributes alone must meet.
llvm::LogicalResult verifyConfig(const LinearConfig &config,
                                 EmitError emitError);

/// B-2. `isIgnored`: whether the wish was not granted.
llvm::FailureOr<bool> resolveSaveOriginalInput(const LinearConfig &config,
                                               bool &isIgnored,
                                               EmitError emitError);

/// B-5: whether a gather moves the quantized form; nothing when dynamic dims
/// decide.
std::optional<bool> gathersQuantized(QuantizerAttrInterface quantizer,
                                     const OperandView &local);

/// Collects what both directions list.
class LinearPlanBuilder {
public:
  LinearPlanBuilder(llvm::SmallVectorImpl<LinearQuantize> &quantizes,
                    llvm::SmallVectorImpl<LinearAssertion> &assertions,
                    EmitError emitError)
      : emitError(emitError), quantizes(quantizes), assertions(assertions) {}

  /// Adds a quantize of a tensor of element type `sourceDtype`; fails where no
  /// kernel makes it.
  llvm::LogicalResult addQuantize(LinearQuantize quantize,
                                  mlir::Type sourceDtype);

  /// Demands that an extent be a multiple: a diagnostic where it is static, an
  /// assertion where it is not.
  llvm::LogicalResult addMultiple(LinearRole role, llvm::StringRef what,
                                  LinearAssertion::Dim dim, int64_t extent,
                                  int64_t multiple);

  /// Adds the gather of a local tensor whose operand is `local`. With
  /// `usage` it is quantized, by `quantizer` where the local tensor is plain.
  llvm::FailureOr<LinearGather>
  planGather(LinearRole role, const OperandView &local, mlir::Type dtype,
             QuantizerAttrInterface quantizer, std::optional<Usage> usage,
             int64_t tpSize);

  const EmitError emitError;

private:
  llvm::SmallVectorImpl<LinearQuantize> &quantizes;
  llvm::SmallVectorImpl<LinearAssertion> &assertions;
};

/// Numbers the parts of the random stream and lists the roles that take a
/// scale.
void finishSignature(llvm::MutableArrayRef<LinearQuantize> quantizes,
                     llvm::ArrayRef<LinearGather *> gathers,
                     llvm::SmallVectorImpl<LinearRole> &scaleRoles,
                     bool &takesRandomState);

} // namespace te::quant

#endif // TE_LIB_DIALECT_QUANT_IR_LINEARPLANPARTS_H
