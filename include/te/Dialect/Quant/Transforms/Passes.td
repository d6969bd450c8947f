//===- Passes.td - passes on the quant dialect ----------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_TRANSFORMS_PASSES_TD
#define TE_DIALECT_QUANT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def QuantExpandPass : Pass<"te-quant-expand", "::mlir::ModuleOp"> {
  let summary = "replace TensorSpecs by their inner tensors";
  let description = [{
    Before: values of type `!te_quant.tensor` in functions, calls, `cf`
    branches, `scf.for`, `scf.if`, `scf.while` and `arith.select`. After: no
    such value is left; each has become the builtin tensors of its layout in
    canonical order, and an op that computes has become its `_into` form with
    destinations.

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16, #q> {
      %q = te_quant.quantize %x : tensor<?x64xbf16> -> !te_quant.tensor<?x64xbf16, #q>
      return %q : !te_quant.tensor<?x64xbf16, #q>
    }
    ```

    becomes

    ```text
    func.func @f(%x: tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>)
        attributes {
          te_quant.args = [
            {name = "data", position = 0 : i64, type = tensor<?x64xbf16>}
          ],
          te_quant.results = [
            {name = "rowwise_data", position = 0 : i64, type = tensor<?x64xf8E4M3FN>},
            {name = "rowwise_scale_inv", position = 0 : i64, type = tensor<?x4xf8E8M0FNU>}
          ]
        } {
      %d = tensor.empty(%rows) : tensor<?x64xf8E4M3FN>
      %s = tensor.empty(%paddedRows) : tensor<?x4xf8E8M0FNU>
      %r:2 = te_quant.quantize_into #q ins(%x : ...) outs(%d, %s : ...) -> ...
      return %r#0, %r#1 : ...
    }
    ```

    Every function, declarations included, gets `te_quant.args` and
    `te_quant.results`: an entry for each flattened argument and result with
    the position it had, the name of the inner tensor (`data` for a builtin
    tensor, `stream` for a trailing `!llvm.ptr` argument, else `value`) and the
    builtin type.

    What the types leave to run time is checked there by `te_quant.check`: that
    dynamic extents are multiples of the blocks of each present direction, and
    that an input has the static dims of the result and the shape of `into`.

    A collective of a group of one rank is its operand. Otherwise each inner
    tensor is gathered without its padding; where the gathered dim is not the
    outermost in memory, a transposition puts the parts of the ranks in place.

    Fails on an operation with TensorSpec operands or results that is none of
    the above, on a usage change that derives a representation, and where a
    dynamic size cannot be told from the inner tensors.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::te::quant::TEQuantDialect"
  ];
}

def QuantDecomposeLinearPass
    : Pass<"te-quant-decompose-linear", "::mlir::ModuleOp"> {
  let summary = "replace linear layers by what they consist of";
  let description = [{
    Before: `te_quant.linear` and `te_quant.linear_backward`. After: the ops that
    their plans list: `quantize`, `update_usage`, `dequantize`, `cast`, `gemm`,
    `column_sum` and collectives.

    ```mlir
    #mx = #te_quant.mxfp8<f8E4M3FN>
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y, %input, %weightmat = te_quant.linear %x, %w {input_quantizer = #mx, weight_quantizer = #mx}
        : tensor<64x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```

    becomes, before what nobody reads is removed,

    ```mlir
    #mx = #te_quant.mxfp8<f8E4M3FN>
    #mxcol = #te_quant.mxfp8<f8E4M3FN, usage = columnwise>
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %xq = te_quant.quantize %x : tensor<64x128xbf16> -> !te_quant.tensor<64x128xbf16, #mx>
      %wq = te_quant.quantize %w : tensor<32x128xbf16> -> !te_quant.tensor<32x128xbf16, #mx>
      %y = te_quant.gemm TN %wq, %xq : !te_quant.tensor<32x128xbf16, #mx>, !te_quant.tensor<64x128xbf16, #mx> -> tensor<64x32xbf16>
      %input = te_quant.update_usage %xq : !te_quant.tensor<64x128xbf16, #mx> -> !te_quant.tensor<64x128xbf16, #mxcol>
      return %y : tensor<64x32xbf16>
    }
    ```

    A refreshed workspace is `quantize .. into`, with `noop` where the op has
    `skip_update`; a main gradient is the gemm's `accumulate`, or is overwritten
    in its buffer. An amax that is reduced over the group is `amax`, `all_reduce`
    and `quantize .. amax`. What the plan asks of dynamic dims is checked by
    `te_quant.check`. Without a `tp_group` the group of collectives is `tp`.

    A GEMM of a format that no GEMM reads, which is a custom one, decodes its
    operands. Where a format has no f16 results (NVFP4), the GEMM gives f32,
    which is cast. A `save_original_input` that the plan does not grant is a warning.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def QuantDecomposeModulesPass
    : Pass<"te-quant-decompose-modules", "::mlir::ModuleOp"> {
  let summary = "replace layers that contain linear layers by what they contain";
  let description = [{
    Before: `te_quant.layernorm_linear`, `te_quant.layernorm_mlp`,
    `te_quant.grouped_linear` and their backward ops. After: `te_quant.linear`
    and `te_quant.linear_backward` as the plans say, and norms and activations as
    linalg ops that compute in f32 and round to the activation dtype.

    ```mlir
    func.func @f(%x: tensor<48x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<48x32xbf16> {
      %y = te_quant.grouped_linear %x weights(%w, %w) {m_splits = array<i64: 16, 32>}
        : tensor<48x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<48x32xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<48x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<48x32xbf16> {
      %x0 = tensor.extract_slice %x[0, 0] [16, 128] [1, 1] : tensor<48x128xbf16> to tensor<16x128xbf16>
      %y0 = te_quant.linear %x0, %w : tensor<16x128xbf16>, tensor<32x128xbf16>
      %empty = tensor.empty() : tensor<48x32xbf16>
      %first = tensor.insert_slice %y0 into %empty[0, 0] [16, 32] [1, 1] : tensor<16x32xbf16> into tensor<48x32xbf16>
      %x1 = tensor.extract_slice %x[16, 0] [32, 128] [1, 1] : tensor<48x128xbf16> to tensor<32x128xbf16>
      %y1 = te_quant.linear %x1, %w : tensor<32x128xbf16>, tensor<32x128xbf16>
      %y = tensor.insert_slice %y1 into %first[16, 0] [32, 32] [1, 1] : tensor<32x32xbf16> into tensor<48x32xbf16>
      return %y : tensor<48x32xbf16>
    }
    ```

    The rows of an expert that a tensor tells are read on the host, and checked
    to be those of the input by `te_quant.check`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def QuantRaiseLinearPass : Pass<"te-quant-raise-linear", "::mlir::ModuleOp"> {
  let summary = "make linear layers of matrix products that are ones";
  let description = [{
    Before: contractions of linalg, as frontends export them. After:
    `te_quant.linear` without quantizers, where one operand is a weight.

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>) -> tensor<64x32xbf16> {
      %zero = arith.constant 0.0 : bf16
      %empty = tensor.empty() : tensor<64x32xbf16>
      %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
      %xw = linalg.matmul
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
      %y = linalg.generic {
        indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%xw, %b : tensor<64x32xbf16>, tensor<32xbf16>) outs(%empty : tensor<64x32xbf16>) {
      ^bb0(%value: bf16, %bias: bf16, %unused: bf16):
        %sum = arith.addf %value, %bias : bf16
        linalg.yield %sum : bf16
      } -> tensor<64x32xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>) -> tensor<64x32xbf16> {
      %y = te_quant.linear %x, %w bias(%b) {is_grad_enabled = false}
        : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```

    A contraction is any linalg op that sums products of two operands over one
    dim: `matmul`, `batch_matmul`, `contract`, `generic`, with operands
    transposed or not, multiplied in f32 or in their own dtype. The weight is the
    operand with two dims, of which the result has the other one last; the
    other operand's dims lead the result's in their order. A weight that is
    `(in, out)` is transposed. What the product starts from is zero or a bias; a
    bias that is added later is the layer's too, as is a rounding to the dtype of
    the input. A weight that is repeated for each batch is taken before that.

    Layers sum in f32 and round once, whatever dtype the product was computed in.

    | option | meaning |
    |---|---|
    | `weights` | `parameters` (default): the weight is an argument of the function, a constant or a global, or made from one by a transpose, a reshape or a cast; `any`: whatever has two dims |
    | `is-grad-enabled` | layers save what backward needs (false) |

    A contraction that stays gets a remark with the reason.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::te::quant::TEQuantDialect"
  ];
  let options = [
    Option<"weightSource", "weights", "::te::quant::WeightSource",
           "::te::quant::WeightSource::Parameters", "What can be a weight",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::WeightSource::Parameters, "parameters",
                          "arguments, constants, globals"),
               clEnumValN(::te::quant::WeightSource::Any, "any",
                          "whatever has two dims"))}]>,
    Option<"isGradEnabled", "is-grad-enabled", "bool", "false",
           "Whether layers save what backward needs">
  ];
}

def QuantApplyRecipePass : Pass<"te-quant-apply-recipe", "::mlir::ModuleOp"> {
  let summary = "give linear layers the quantizers of a recipe";
  let description = [{
    Before: `te_quant.linear` and `te_quant.linear_backward` without quantizers,
    or contractions of linalg that `te-quant-raise-linear` knows. After: the same
    layers with the quantizers of the recipe for input, weight and gradient of
    the output. `linear_backward` is given what the quantized layer saves.

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %dy: tensor<64x32xbf16>)
        -> (tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>) {
      %y = te_quant.linear %x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>
      %dw, %dx = te_quant.linear_backward %dy input(%x) weightmat(%w) weight(%w)
        : tensor<64x32xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
      return %y, %dw, %dx : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>
    }
    ```

    becomes, with `recipe=mxfp8`,

    ```mlir
    #mx = #te_quant.mxfp8<f8E4M3FN, internal = true>
    #mxcol = #te_quant.mxfp8<f8E4M3FN, usage = columnwise, internal = true>
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %dy: tensor<64x32xbf16>)
        -> (tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>) {
      %y, %input, %weightmat = te_quant.linear %x, %w {
        input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx
      } : tensor<64x128xbf16>, tensor<32x128xbf16>
      %dw, %dx = te_quant.linear_backward %dy input(%input) weightmat(%weightmat) weight(%w) {
        input_quantizer = #mx, weight_quantizer = #mx, grad_output_quantizer = #mx
      } : tensor<64x32xbf16>, !te_quant.tensor<64x128xbf16, #mxcol>, !te_quant.tensor<32x128xbf16, #mx>, tensor<32x128xbf16>
      return %y, %dw, %dx : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xbf16>
    }
    ```

    State becomes arguments and results of the function, and of its callers:
    with delayed scaling a scale for each operand that a layer quantizes, in the
    order of the layers, and as many amaxes after the other results; where
    gradients are rounded stochastically one random state, as the last argument
    (but for a stream), of which each layer draws its own part.

    A layer that does not qualify stays as it is, with a remark that says why:
    what it would become has to verify, down to its GEMMs; with `chip` the chip
    has to have the recipe's formats.

    | option | recipes | meaning |
    |---|---|---|
    | `recipe` | | `mxfp8`, `float8_current`, `float8_block`, `nvfp4` or `delayed` |
    | `chip` | all | the chip that has to have the formats; none: any |
    | `backward-override` | all but `delayed` | `none`, `high_precision` or `dequantized` |
    | `fp8-format` | all but `nvfp4` | `e4m3`, or `hybrid`: E5M2 for gradients |
    | `with-2d-quantization` | `mxfp8`, `float8_block`, `nvfp4` | roles with 2-D blocks, or `none` |
    | `force-pow-2-scales` | `float8_current`, `float8_block` | roles whose scales are powers of two, or `none` |
    | `amax-epsilon-input`, `-weight`, `-grad-output` | `float8_current`, `float8_block` | the least amax |
    | `with-rht`, `stochastic-rounding` | `nvfp4` | false switches them off |
    | `row-scaled-activation` | `nvfp4` | an amax for each row of the input |
    | `use-4over6`, `e4m3-max-256` | `nvfp4` | `none`, `weights`, `activations` or `all` |
    | `err-mode` | `nvfp4` | what four-over-six compares, `MAE` or `MSE` |
    | `weights`, `is-grad-enabled` | all | as of `te-quant-raise-linear`, for contractions |

    Roles are `input`, `weight` and `grad_output`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::te::quant::TEQuantDialect"
  ];
  let options = [
    Option<"recipe", "recipe", "::te::quant::RecipeKind",
           "::te::quant::RecipeKind::MXFP8", "Which recipe",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::RecipeKind::MXFP8, "mxfp8",
                          "FP8 with a scale for each block of 32"),
               clEnumValN(::te::quant::RecipeKind::Float8Current,
                          "float8_current", "FP8 with the tensor's own scale"),
               clEnumValN(::te::quant::RecipeKind::Float8Block, "float8_block",
                          "FP8 with a scale for each block of 128"),
               clEnumValN(::te::quant::RecipeKind::NVFP4, "nvfp4",
                          "FP4 with a scale for each block of 16"),
               clEnumValN(::te::quant::RecipeKind::Delayed, "delayed",
                          "FP8 with a scale from earlier steps"))}]>,
    Option<"chip", "chip", "std::string", "\"\"",
           "The chip that has to have the recipe's formats">,
    Option<"backwardOverride", "backward-override",
           "::te::quant::BackwardOverride",
           "::te::quant::BackwardOverride::None",
           "In which precision layers go backward",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::BackwardOverride::None, "none",
                          "quantized"),
               clEnumValN(::te::quant::BackwardOverride::HighPrecision,
                          "high_precision", "the original operands"),
               clEnumValN(::te::quant::BackwardOverride::Dequantized,
                          "dequantized", "the decoded operands"))}]>,
    Option<"fp8Format", "fp8-format", "::te::quant::FP8Format",
           "::te::quant::FP8Format::E4M3", "The FP8 formats by direction",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::FP8Format::E4M3, "e4m3",
                          "E4M3 everywhere"),
               clEnumValN(::te::quant::FP8Format::Hybrid, "hybrid",
                          "E4M3 forward, E5M2 for gradients"),
               clEnumValN(::te::quant::FP8Format::E5M2, "e5m2",
                          "refused"))}]>,
    ListOption<"with2DQuantization", "with-2d-quantization", "std::string",
               "Roles with 2-D blocks, or none">,
    ListOption<"forcePow2Scales", "force-pow-2-scales", "std::string",
               "Roles whose scales are powers of two, or none">,
    Option<"amaxEpsilonInput", "amax-epsilon-input", "float", "0.0f",
           "The least amax of the input">,
    Option<"amaxEpsilonWeight", "amax-epsilon-weight", "float", "0.0f",
           "The least amax of the weight">,
    Option<"amaxEpsilonGradOutput", "amax-epsilon-grad-output", "float", "0.0f",
           "The least amax of the gradient of the output">,
    Option<"withRHT", "with-rht", "bool", "true",
           "Transform input and gradient">,
    Option<"stochasticRounding", "stochastic-rounding", "bool", "true",
           "Round the gradient stochastically">,
    Option<"rowScaledActivation", "row-scaled-activation", "bool", "false",
           "An amax for each row of the input">,
    Option<"use4Over6", "use-4over6", "::te::quant::RecipeScope",
           "::te::quant::RecipeScope::None",
           "The operands with four-over-six scales",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::RecipeScope::None, "none", "none"),
               clEnumValN(::te::quant::RecipeScope::Weights, "weights",
                          "the weight"),
               clEnumValN(::te::quant::RecipeScope::Activations, "activations",
                          "the input"),
               clEnumValN(::te::quant::RecipeScope::All, "all", "both"))}]>,
    Option<"e4m3Max256", "e4m3-max-256", "::te::quant::RecipeScope",
           "::te::quant::RecipeScope::All",
           "Which of those have scales of at most 256",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::RecipeScope::None, "none", "none"),
               clEnumValN(::te::quant::RecipeScope::Weights, "weights",
                          "the weight"),
               clEnumValN(::te::quant::RecipeScope::Activations, "activations",
                          "the input"),
               clEnumValN(::te::quant::RecipeScope::All, "all", "both"))}]>,
    Option<"errMode", "err-mode", "::te::quant::ErrMode",
           "::te::quant::ErrMode::MAE", "What four-over-six compares",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::ErrMode::MAE, "MAE",
                          "the mean of absolute errors"),
               clEnumValN(::te::quant::ErrMode::MSE, "MSE",
                          "the mean of squared errors"))}]>,
    Option<"weightSource", "weights", "::te::quant::WeightSource",
           "::te::quant::WeightSource::Parameters",
           "What can be a weight of a contraction",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::WeightSource::Parameters, "parameters",
                          "arguments, constants, globals"),
               clEnumValN(::te::quant::WeightSource::Any, "any",
                          "whatever has two dims"))}]>,
    Option<"isGradEnabled", "is-grad-enabled", "bool", "false",
           "Whether layers made of contractions save what backward needs">
  ];
}

def QuantInferShapesPass : Pass<"te-quant-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "make dynamic dims static where shapes are known";
  let description = [{
    Before: TensorSpecs and ranked tensors, some with dynamic dims; entry points
    may say what shapes they are called with. After: each value whose dims follow
    from static ones has them in its type.

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16, #q>
        attributes {te_quant.shapes = [[32, 64]]} {
      %q = te_quant.quantize %x : tensor<?x64xbf16> -> !te_quant.tensor<?x64xbf16, #q>
      return %q : !te_quant.tensor<?x64xbf16, #q>
    }
    ```

    becomes

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<32x64xbf16>) -> !te_quant.tensor<32x64xbf16, #q> {
      %q = te_quant.quantize %x : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #q>
      return %q : !te_quant.tensor<32x64xbf16, #q>
    }
    ```

    `te_quant.shapes` of a public function lists a shape for each argument that
    is a ranked tensor or a TensorSpec, with -1 for a dim that stays open. It
    goes away. The function's arguments and results change their types; a
    private function's do when all its callers agree, and are left alone when
    its symbol is used by anything but `func.call`. Public functions without
    shapes keep their types, so do declarations.

    Sizes are followed through all ops of this dialect, ops that implement
    `InferTypeOpInterface`, elementwise ops, destination style and linalg (a
    loop has one size), `tensor.empty`, `dim`, `cast`, `extract_slice`,
    `insert_slice`, `expand_shape` and `collapse_shape`, integer arithmetic on
    them, `scf.for`, `if`, `while`, `index_switch` and `execute_region`,
    `affine.for` and `if`, `cf` branches and calls. Where paths meet with
    different sizes a dim stays dynamic; `te-quant-print-layout` prints it as an
    expression over the logical dims.

    An op that is not known to take other types keeps its own, between a
    `tensor.cast`, or for TensorSpecs a `disassemble` and an `assemble`, on
    either side. So does one whose types contradict what is known, which only an
    op that is never reached may have: on an op of this dialect that is a
    warning, as its checks are left to run time. Nothing is rejected for it.

    | option | meaning |
    |---|---|
    | `entry` | a public function, beside those with an attribute |
    | `input-shapes` | its shapes, as `32x64,?x16`; a tensor of rank 0 has none |

    Sizes do not flow from results to operands, and a dim that is known to equal
    another dynamic one stays dynamic. Fails on shapes that do not fit the
    arguments, and on a call in the module whose operands contradict them.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"\"",
           "Function that is called with the shapes of 'input-shapes'">,
    Option<"inputShapes", "input-shapes", "std::string", "\"\"",
           "Shapes of its tensor arguments, e.g. 32x64,?x16">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
    "::te::quant::TEQuantDialect"
  ];
}

def QuantPrintLayoutPass : Pass<"te-quant-print-layout", "::mlir::ModuleOp"> {
  let summary = "print the inner tensors of every TensorSpec value";
  let description = [{
    Changes nothing. Writes to standard output, for each value of type
    `!te_quant.tensor` in the order of the module, its inner tensors with shape,
    element type and bytes, and the total against the bytes of the tensor in its
    nominal dtype. A value is named by its function's symbol and its own name
    (`argN` for arguments). A dynamic dim is an expression over `d0, d1, ...`,
    the dims of the logical shape.

    | option | meaning |
    |---|---|
    | `format` | `text` (default): a table; `json`: an array of objects |

    ```
    f.arg0: !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
      rowwise_data       (32, 64)  f8E4M3FN   2048
      rowwise_scale_inv  (128, 4)  f8E8M0FNU   512
      total                                   2560 bytes, 4096 as bf16 (62.5%)
    ```

    In JSON an object has `name`, `type`, `quantizer` (null for a plain tensor),
    `inner`, `bytes`, `nominal_bytes` and `ratio` (bytes over nominal bytes); an
    inner tensor has `name`, `shape`, `dtype` and `bytes`. Bytes are null where
    dims are dynamic, the ratio also where the tensor is empty.
  }];
  let options = [
    Option<"format", "format", "::te::quant::LayoutFormat",
           "::te::quant::LayoutFormat::Text", "What to write",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::LayoutFormat::Text, "text",
                          "a table for people"),
               clEnumValN(::te::quant::LayoutFormat::JSON, "json",
                          "an array of objects for tools"))}]>
  ];
}

def QuantPrintMemoryPass : Pass<"te-quant-print-memory", "::mlir::ModuleOp"> {
  let summary = "print what layers keep in memory until backward";
  let description = [{
    Changes nothing. Writes to standard output, for each `te_quant.linear`,
    `layernorm_linear`, `layernorm_mlp` and `grouped_linear` in the order of the
    module, what stays in memory because of it, in bytes, and what it would be
    with the same layer in high precision: without quantizers, in its activation
    dtype. A layer is named by its function and its first result.

    | purpose | what it is |
    |---|---|
    | `saved` | activations and statistics that the layer saves as values of its own |
    | `saved_weight` | quantized or cast weights that it saves |
    | `kept` | an operand or another result that backward reads again, which would be freed otherwise |
    | `workspace` | cached quantized weights, given or new |

    Parameters that are read again are no item: they are there anyway. In the
    total what several layers keep counts once. A layer in a loop counts once.

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y, %input, %weightmat = te_quant.linear %x, %w {
        input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>
      } : tensor<64x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```

    gives

    ```
    f.output: te_quant.linear
      saved         input      !te_quant.tensor<64x128xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>  8704
      saved_weight  weightmat  !te_quant.tensor<32x128xbf16, #te_quant.mxfp8<f8E4M3FN>>                      9216
      activations 8704 (saved 8704, kept 0), weights 9216, workspaces 0
      in high precision: activations 16384 (saved 0, kept 16384), weights 0; activations are 53.1%
    ```

    and a last paragraph, `total`.

    | option | meaning |
    |---|---|
    | `format` | `text` (default), or `json`: an object with `layers` and `total` |

    In JSON a layer has `name`, `op` and `items` (`slot`, `purpose`, `type`,
    `bytes`). A layer and the total have the sums `saved`, `saved_weights`, `kept`
    and `workspaces`, the same as `high_precision`, and `ratio`: saved and kept
    bytes over those in high precision. Bytes are null where dims are dynamic or 64
    bits do not hold them, in text `dynamic`; so is every sum over them.
  }];
  let options = [
    Option<"format", "format", "::te::quant::LayoutFormat",
           "::te::quant::LayoutFormat::Text", "What to write",
           [{::llvm::cl::values(
               clEnumValN(::te::quant::LayoutFormat::Text, "text",
                          "a table for people"),
               clEnumValN(::te::quant::LayoutFormat::JSON, "json",
                          "an object for tools"))}]>
  ];
}

def QuantDumpPlanPass : Pass<"te-quant-dump-plan", "::mlir::ModuleOp"> {
  let summary = "print the plan of every linear layer";
  let description = [{
    Changes nothing. Writes to standard output a JSON array with an object for
    each `te_quant.linear` and `te_quant.linear_backward` in the order of the
    module: `id`, the symbol of its function, and `outcome`, its plan.

    ```mlir
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
      %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16>
      return %y : tensor<64x32xbf16>
    }
    ```

    gives, among more,

    ```json
    [
      {"id": "f", "outcome": {"new_workspace": null, "quantizes": [], "saved": null,
        "output": {"shape": [64, 32], "dtype": "bf16", "kind": "plain", "requires_grad": false}}}
    ]
    ```

    | of | keys of `outcome` |
    |---|---|
    | both | `quantizes`, `gather`, `assertions` (what dynamic dims must meet), `scales` (the roles that take one), `random_state` |
    | `linear` | `output`, `new_workspace`, `refresh_workspace` (null without a valid workspace), `saved`, `owns_input`, `warnings` |
    | `linear_backward` | `wgrad`, `dgrad`, `grad_bias` |

    A tensor is `type`, `shape`, `dtype`, `family`, `usage`, `kind` (plain,
    wrapper or bare) and the names of its `inner` tensors; a saved slot null,
    `{"alias": name}` or `{"value": tensor}`. Dynamic dims are `d0, d1, ...` as
    those of the input, in backward of the gradient.
  }];
}

def QuantFuseProducersPass
    : Pass<"te-quant-fuse-producers", "::mlir::func::FuncOp"> {
  let summary = "move what makes the input of a quantize into the op";
  let description = [{
    Before: structured ops on tensors that compute the input of `quantize_into`,
    `amax_into` or `column_sum_into` element by element. After: their bodies are
    in the region of each op that reads them (see `quantize_into`), in front of
    what is there already, and nothing stores the input.

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
        -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
      %empty = tensor.empty() : tensor<32x64xbf16>
      %y = linalg.negf ins(%x : tensor<32x64xbf16>) outs(%empty : tensor<32x64xbf16>) -> tensor<32x64xbf16>
      %r:2 = te_quant.quantize_into #q ins(%y : tensor<32x64xbf16>)
        outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
    }
    ```

    becomes

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
        -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
      %r:2 = te_quant.quantize_into #q ins(%x : tensor<32x64xbf16>)
        outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) fuse {
      ^bb0(%e: bf16):
        %v = arith.negf %e : bf16
        te_quant.yield %v : bf16
      } -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      return %r#0, %r#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
    }
    ```

    Fused are structured ops with one result and parallel loops only, whose
    inputs have the loops' dims, the last one, all but the last one or none, in
    order, and whose body is arithmetic on scalars; constants move along. An op
    whose result has other uses than such inputs (and `tensor.dim`) stays, as
    its result is stored anyway. An op that several read is fused into each.

    Rounding is part of the ops, so that the bits are those of the program
    before.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def QuantFuseColumnSumsPass
    : Pass<"te-quant-fuse-column-sums", "::mlir::func::FuncOp"> {
  let summary = "let a quantize sum the columns that it reads";
  let description = [{
    Before: a `quantize_into` and a `column_sum_into` on tensors in one block,
    whose inputs, maps and regions are the same. After: one `quantize_into` with
    `column_sum`, in the place of the first of the two. The input is read once;
    the bits are the same.

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %b: tensor<64xbf16>,
                 %c: tensor<1x64xf32>) -> (tensor<32x64xf8E4M3FN>, tensor<64xbf16>) {
      %q:2 = te_quant.quantize_into #q ins(%x : tensor<32x64xbf16>)
        outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
      %r:2 = te_quant.column_sum_into ins(%x : tensor<32x64xbf16>)
        outs(%b, %c : tensor<64xbf16>, tensor<1x64xf32>) -> tensor<64xbf16>, tensor<1x64xf32>
      return %q#0, %r#0 : tensor<32x64xf8E4M3FN>, tensor<64xbf16>
    }
    ```

    becomes

    ```mlir
    #q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
    func.func @f(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %b: tensor<64xbf16>,
                 %c: tensor<1x64xf32>) -> (tensor<32x64xf8E4M3FN>, tensor<64xbf16>) {
      %q:4 = te_quant.quantize_into #q ins(%x : tensor<32x64xbf16>)
        outs(%d, %s, %b, %c : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<64xbf16>, tensor<1x64xf32>) column_sum
        -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<64xbf16>, tensor<1x64xf32>
      return %q#0, %q#2 : tensor<32x64xf8E4M3FN>, tensor<64xbf16>
    }
    ```

    Quantizers whose kernels do not sum columns, and a `quantize_into` with
    `noop`, are left alone.
  }];
}

def QuantTieResultsPass : Pass<"te-quant-tie-results", "::mlir::ModuleOp"> {
  let summary = "take results that are an argument's buffer out of signatures";
  let description = [{
    Before: bufferized functions. After: a result that is the buffer of an
    argument whatever path the function takes (an in-place update, a dropped
    usage, a value passed through) is no result any more; callers use the
    argument, and the function says so in `te_quant.tied`, a list of pairs of
    result and argument. Both count as in `te_quant.results` and
    `te_quant.args`, from which nothing is removed. Public functions are treated
    as private ones.

    ```mlir
    func.func private @fill(memref<32x64xbf16>, memref<32x64xf8E4M3FN>)
    func.func @update(%x: memref<32x64xbf16>, %d: memref<32x64xf8E4M3FN>) -> memref<32x64xf8E4M3FN> {
      call @fill(%x, %d) : (memref<32x64xbf16>, memref<32x64xf8E4M3FN>) -> ()
      return %d : memref<32x64xf8E4M3FN>
    }
    ```

    becomes

    ```mlir
    func.func private @fill(memref<32x64xbf16>, memref<32x64xf8E4M3FN>)
    func.func @update(%x: memref<32x64xbf16>, %d: memref<32x64xf8E4M3FN>)
        attributes {te_quant.tied = [array<i64: 0, 1>]} {
      call @fill(%x, %d) : (memref<32x64xbf16>, memref<32x64xf8E4M3FN>) -> ()
      return
    }
    ```

    Buffers are followed through `memref.cast`, `arith.select`, region and block
    control flow and calls, recursive ones included.

    A result that is an argument's buffer on one path only stays, as does one of
    a function whose symbol is used by anything but `func.call`. Buffer
    deallocation then returns a clone where it would return the argument, so a
    caller owns what it gets on every path. Run this pass before it, and
    canonicalization in between: it takes buffers that do not change out of
    loops, which deallocation would otherwise track at run time.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def QuantStackDeallocListsPass
    : Pass<"te-quant-stack-dealloc-lists", "::mlir::ModuleOp"> {
  let summary = "keep the lists of lowered deallocations in host memory";
  let description = [{
    Where a program cannot say before it runs which of several buffers are the
    same (those that a call returned), `bufferization-lower-deallocations` makes
    lists of addresses and a call of a function that compares them. The lists
    are `memref.alloc`, which on the GPU path means device memory. This pass
    turns them into `memref.alloca` in the function's entry block: host memory,
    which does not grow in a loop. Run it right after that pass.

    ```mlir
    func.func private @dealloc_helper(memref<?xindex>)
    func.func @f() {
      %list = memref.alloc() : memref<2xindex>
      %cast = memref.cast %list : memref<2xindex> to memref<?xindex>
      call @dealloc_helper(%cast) : (memref<?xindex>) -> ()
      memref.dealloc %list : memref<2xindex>
      return
    }
    ```

    becomes

    ```mlir
    func.func private @dealloc_helper(memref<?xindex>)
    func.func @f() {
      %list = memref.alloca() : memref<2xindex>
      %cast = memref.cast %list : memref<2xindex> to memref<?xindex>
      call @dealloc_helper(%cast) : (memref<?xindex>) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

#endif // TE_DIALECT_QUANT_TRANSFORMS_PASSES_TD
