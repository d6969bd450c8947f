//===- QuantDialect.td - the quant dialect and its base classes -----------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_DIALECT_QUANT_IR_QUANTDIALECT_TD
#define TE_DIALECT_QUANT_IR_QUANTDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def TEQuant_Dialect : Dialect {
  let name = "te_quant";
  let cppNamespace = "::te::quant";
  let summary = "Quantized tensors as types, with their inner tensors";
  let description = [{
    A value of type `!te_quant.tensor` is a *TensorSpec*: a logical shape, a
    nominal dtype and a quantizer, without data. The quantizer, an attribute,
    alone determines which *inner tensors* (data, scales, amax) back it, in
    which order and with which shapes: its *layout*.

    The dialect is called `te_quant` in IR because MLIR itself registers a
    dialect named `quant`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasCanonicalizer = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
  // Attributes come from two generated files (layout, quantizers), so that the
  // quantizer interface can mention the layout; the dialect joins the two.
  let useDefaultAttributePrinterParser = 0;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr,
                        ::mlir::DialectAsmPrinter &printer) const override;

    /// Layouts already computed, by quantizer and nominal dtype. Thread-safe.
    LayoutCache &getLayoutCache() { return *layoutCache; }

    /// On a function after expansion: an entry `{position, name, type}` for each
    /// flattened argument and result.
    static constexpr ::llvm::StringLiteral argsAttrName{"te_quant.args"};
    static constexpr ::llvm::StringLiteral resultsAttrName{"te_quant.results"};
    /// On a function after bufferization: pairs of a flattened result that left
    /// the signature and the flattened argument whose buffer it is.
    static constexpr ::llvm::StringLiteral tiedAttrName{"te_quant.tied"};
    /// On a public function before shape inference: the shape of each argument
    /// that is a tensor, -1 where it stays open.
    static constexpr ::llvm::StringLiteral shapesAttrName{"te_quant.shapes"};

  private:
    void registerLayoutAttribute();
    void registerQuantizers();
    void registerTypes();
    void registerOps();
    void registerCollectiveOps();
    void registerGemmOps();
    void registerLinearOps();
    void registerModuleOps();

    std::shared_ptr<LayoutCache> layoutCache;
  }];
}

class TEQuant_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TEQuant_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class TEQuant_Op<string mnemonic, list<Trait> traits = []>
    : Op<TEQuant_Dialect, mnemonic, traits>;

#endif // TE_DIALECT_QUANT_IR_QUANTDIALECT_TD
