// What a custom format cannot be lowered to.
// RUN: te-opt %s --te-quant-to-gpu --split-input-file --verify-diagnostics

#q = #te_quant.custom<"bare", layout = #te_quant.layout<a : i8[leading, cols]>>
func.func @no_quantize(%x: memref<4x4xf32>, %a: memref<4x4xi8>) {
  // expected-error @below {{'te_quant.quantize_into' op expected custom quantizer 'bare' to name a 'quantize' function}}
  te_quant.quantize_into #q ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xi8>)
  return
}

// -----

#q = #te_quant.custom<"bare", layout = #te_quant.layout<a : i8[leading, cols]>,
                      quantize = "f">
func.func @no_dequantize(%a: memref<4x4xi8>, %y: memref<4x4xf32>) {
  // expected-error @below {{'te_quant.dequantize_into' op expected custom quantizer 'bare' to name a 'dequantize' function}}
  te_quant.dequantize_into #q ins(%a : memref<4x4xi8>) outs(%y : memref<4x4xf32>)
  return
}

// -----

#q = #te_quant.custom<"c", layout = #te_quant.layout<a : i8[leading, cols]>,
                      quantize = "f">
func.func @element_types(%x: memref<4x4xf32>, %z: memref<4x4xbf16>,
                         %a: memref<4x4xi8>) {
  te_quant.quantize_into #q ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xi8>)
  // expected-error @below {{expected 'f' to be called for one element type, but got 'bf16' here and 'f32' before}}
  te_quant.quantize_into #q ins(%z : memref<4x4xbf16>) outs(%a : memref<4x4xi8>)
  return
}

// -----

#q = #te_quant.custom<"c", layout = #te_quant.layout<a : i8[leading, cols]>,
                      quantize = "f">
// expected-note @below {{but this has the name}}
llvm.func @f(!llvm.ptr, i64, i64, !llvm.ptr)
func.func @signature(%x: memref<4x4xf32>, %a: memref<4x4xi8>) {
  // expected-error @below {{expected 'f' to be an llvm.func or a public func.func with a body, that takes 2 pointers, two i64 and the stream and returns nothing}}
  te_quant.quantize_into #q ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xi8>)
  return
}

// -----

#q = #te_quant.custom<"c", layout = #te_quant.layout<a : i8[leading, cols]>,
                      quantize = "f">
// expected-note @below {{but this has the name}}
func.func private @f(!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr)
func.func @declared_func(%x: memref<4x4xf32>, %a: memref<4x4xi8>) {
  // expected-error @below {{expected 'f' to be an llvm.func or a public func.func with a body}}
  te_quant.quantize_into #q ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xi8>)
  return
}

// -----

#q = #te_quant.custom<"c", layout = #te_quant.layout<a : i8[leading, cols]>,
                      quantize = "f">
func.func @input_dtype(%x: memref<4x4xf64>, %a: memref<4x4xi8>) {
  // expected-error @below {{expected an input of f32, bf16 or f16, but got 'memref<4x4xf64>'}}
  te_quant.quantize_into #q ins(%x : memref<4x4xf64>) outs(%a : memref<4x4xi8>)
  return
}
