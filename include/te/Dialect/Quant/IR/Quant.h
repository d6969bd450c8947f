//===- Quant.h - the quant dialect: layouts, quantizers, TensorSpec -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANT_H
#define TE_DIALECT_QUANT_IR_QUANT_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Dialect.h"

#include "te/Dialect/Quant/IR/QuantEnums.h.inc"

namespace te::quant {

/// Mutable per-context store of layouts, see `getLayout`.
class LayoutCache;

/// One of the two flattened extents: `rows` is the product of all logical dims
/// but the last, `cols` the last one.
enum class Extent { Rows, Cols };

/// "`extent` must be a multiple of `block` for the sake of `direction`".
struct BlockConstraint {
  Usage direction;
  Extent extent;
  int64_t block;
};

/// What a family's `quantize` takes and gives besides input and tensor.
struct QuantizeSignature {
  /// Takes the scale as an operand (delayed scaling).
  bool takesScale = false;
  /// How many amaxes the `amax` group may have; 0 when it takes none.
  unsigned numAmaxes = 0;
  /// Returns the amax of the input.
  bool returnsAmax = false;
  /// Rounds stochastically, from an explicit random state.
  bool takesRandomState = false;
};

/// The meaning of a change of usage.
struct UsageChange {
  enum Kind { None, Drop, Derive, DeriveAndDrop, Illegal };
  Kind kind;
  /// Why it is illegal; empty otherwise.
  llvm::StringRef reason = {};
};

/// When an all-gather moves a tensor in quantized form (semantics: B-5).
enum class QuantizedGather {
  /// Never: it is gathered in high precision and quantized after.
  Never,
  /// When the gather constraints hold for the local shape.
  QuantizableShapes,
  /// Also when the local tensor is quantized already.
  QuantizedOrQuantizable,
};

/// A part of a composed tensor.
struct QuantizerComponent {
  /// The quantizer, pinned to its direction.
  mlir::Attribute quantizer;
  /// When set, what is quantized is not the input but what it decodes to after
  /// being quantized by this one.
  mlir::Attribute decodedFrom = {};
};

/// How a gemm reads one representation of a tensor: as lines along the
/// contracted dimension, one for each index of the other dimension, the free
/// one. The lines of the rowwise representation are the rows of the flattened
/// tensor, those of the columnwise one its columns. Element k of a line is
///   code[k] * scale[k / block] * factor / divisor.
struct GemmOperand {
  /// The dims of a tensor of scales.
  enum class ScaleOrder {
    /// [line][block]
    LinesFirst,
    /// [block][line]
    BlocksFirst,
    /// Tiles of 128 lines by 4 blocks (numerics: 4.4).
    Tiles,
  };

  /// How scales apply, for diagnostics; both operands of a gemm have the same.
  llvm::StringRef scalingMode = "none";

  /// The inner tensor of codes, and what a code is. FP4 is stored in pairs along
  /// the lines.
  llvm::StringRef codes;
  mlir::Type codeType;
  /// Whether the codes of a line follow each other in memory, or else those of
  /// one index of all lines.
  bool isLineMajor = true;

  /// The scales of blocks along the lines; without them `block` is 0.
  llvm::StringRef scales = {};
  mlir::Type scaleType = {};
  int64_t block = 0;
  /// Lines that share a scale. At most one operand of a gemm may have several.
  int64_t linesPerScale = 1;
  ScaleOrder scaleOrder = ScaleOrder::LinesFirst;
  /// What the last dim of the scales is padded to a multiple of.
  int64_t scalePadding = 1;

  /// The f32 factor of the whole tensor, or one of each line; may be empty.
  llvm::StringRef factor = {};
  bool hasLineFactors = false;
  int64_t divisor = 1;

  /// The transform that was applied along the lines. It cancels in the products
  /// where both operands have the same.
  llvm::StringRef transform = {};

  /// What the contracted extent, and the free one as A and as B, must be a
  /// multiple of (semantics: 5.7).
  int64_t depthMultiple = 1, freeMultipleAsA = 1, freeMultipleAsB = 1;
  /// Whether the result may be f16.
  bool allowsF16Result = true;
};

} // namespace te::quant

#include "te/Dialect/Quant/IR/QuantDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantAttrs.h.inc"

#include "te/Dialect/Quant/IR/QuantInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantQuantizers.h.inc"

#define GET_TYPEDEF_CLASSES
#include "te/Dialect/Quant/IR/QuantTypes.h.inc"

namespace te::quant {

/// The flattened rows and columns of a logical shape, `kDynamic` where a
/// dynamic dim decides. A static zero makes the rows zero whatever the other
/// dims are. Fails when the product overflows 64 bits.
llvm::FailureOr<std::pair<int64_t, int64_t>>
getFlattenedExtents(llvm::ArrayRef<int64_t> logicalShape);

/// The dims that either shape of one rank knows; `shape` decides where both do.
llvm::SmallVector<int64_t> getMergedShape(llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> other);

/// The layout of `quantizer` for a nominal dtype, from the context's cache.
LayoutAttr getLayout(QuantizerAttrInterface quantizer, mlir::Type nominalDtype);

/// Bytes of a tensor of static `shape`, or nothing when a dim is dynamic, the
/// element type has no byte size or the product overflows.
std::optional<int64_t> getSizeInBytes(llvm::ArrayRef<int64_t> shape,
                                      mlir::Type elementType);

/// Whether `quantize` may make a tensor of this shape: every static extent is a
/// multiple of its block. Emits an error that names the dim, its value, the
/// block and the next legal size.
llvm::LogicalResult
verifyQuantizable(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                  TensorSpecType type);

/// Prints "expected dim 0 to be a multiple of 32 for rowwise 'mxfp8' blocks".
void printBlockConstraint(llvm::raw_ostream &os, TensorSpecType type,
                          BlockConstraint constraint);

/// Whether a tensor of this shape may be gathered in quantized form; nothing
/// when dynamic dims decide at run time.
std::optional<bool> isQuantizable(QuantizerAttrInterface quantizer,
                                  llvm::ArrayRef<int64_t> logicalShape);

/// Extents that must be multiples of a block for a tensor that is quantized
/// already to be gathered as it is, or nothing when it never is (B-5).
std::optional<llvm::SmallVector<BlockConstraint>>
getQuantizedGatherConstraints(QuantizerAttrInterface quantizer);

/// How much of a dim of a layout holds values: `dim` without rounding up to a
/// multiple, `e ceildiv (n / k)` of `(e ceildiv n) * k`.
mlir::AffineExpr getUnpaddedDim(mlir::AffineExpr dim);

/// Prints one dim of a layout in affine syntax over `rows`, `cols`, `leading`.
void printLayoutDim(llvm::raw_ostream &os, mlir::AffineExpr dim);

/// The same with names of the symbols' own.
void printLayoutDim(llvm::raw_ostream &os, mlir::AffineExpr dim,
                    llvm::function_ref<std::string(unsigned)> getSymbolName);

/// Parses and prints an f32 parameter: a number or its bits.
llvm::FailureOr<llvm::APFloat> parseF32(mlir::AsmParser &parser);
void printF32(mlir::AsmPrinter &printer, const llvm::APFloat &value);

/// Succeeds when `type` is f8E4M3FN or f8E5M2.
llvm::LogicalResult
verifyFP8(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
          mlir::Type type);

/// Succeeds when `epsilon` is finite and not negative.
llvm::LogicalResult
verifyEpsilon(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
              const llvm::APFloat &epsilon);

/// Builds a layout from (name, element type, dims); `leading` alone stands for
/// the leading dims.
class LayoutBuilder {
public:
  explicit LayoutBuilder(mlir::MLIRContext *context);
  LayoutBuilder &add(llvm::StringRef name, mlir::Type elementType,
                     llvm::ArrayRef<mlir::AffineExpr> dims);
  LayoutAttr build();

  mlir::AffineExpr leading, rows, cols;

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::SmallVector<mlir::Type> elementTypes;
  llvm::SmallVector<mlir::AffineMap> shapes;
};

llvm::SmallVector<mlir::StringAttr>
getNames(mlir::MLIRContext *context, llvm::ArrayRef<llvm::StringRef> names);

/// The reasons of illegal usage changes that several families share.
inline constexpr llvm::StringLiteral
    rowwiseNotDerivable("rowwise cannot be derived from columnwise"),
    columnwiseNotDerivable("columnwise cannot be derived from rowwise"),
    mustRetainData("must retain some data"),
    deriveFirst("derive with rowwise kept first, then drop");
} // namespace te::quant

#endif // TE_DIALECT_QUANT_IR_QUANT_H
