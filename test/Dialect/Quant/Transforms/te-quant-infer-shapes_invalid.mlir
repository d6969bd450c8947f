// Proves that shapes of entry points are checked, and that an op which cannot have the shapes known is left to run time with a warning.
// RUN: te-opt %s --te-quant-infer-shapes --split-input-file --verify-diagnostics

// expected-error @below {{expected 2 shapes, one for each argument that is a tensor, but got 1}}
func.func @count(%x: tensor<?xf32>, %i: index, %y: !te_quant.tensor<?xf32>) attributes {te_quant.shapes = [[8]]} {
  return
}

// -----

// expected-error @below {{expected a shape of rank 2 for argument 1, but got 1 sizes}}
func.func @rank(%i: index, %x: tensor<?x4xf32>) attributes {te_quant.shapes = [[8]]} {
  return
}

// -----

// expected-error @below {{expected dim 1 of argument 0 to be 4, but got 5}}
func.func @dim(%x: tensor<?x4xf32>) attributes {te_quant.shapes = [[8, 5]]} {
  return
}

// -----

// expected-error @below {{expected shapes for a public function with a body, but got 'hidden'}}
func.func private @hidden(%x: tensor<?xf32>) attributes {te_quant.shapes = [[8]]} {
  return
}

// -----

// expected-error @below {{expected 'te_quant.shapes' to list a list of sizes, -1 for an open one, for each argument that is a tensor, but got [8]}}
func.func @attribute(%x: tensor<?xf32>) attributes {te_quant.shapes = [8]} {
  return
}

// -----

// expected-error @below {{the shape of argument 0 makes an inner tensor overflow 64 bits}}
func.func @overflow(%x: !te_quant.tensor<?x64xf32, #te_quant.mxfp8<f8E4M3FN>>) attributes {te_quant.shapes = [[9223372036854775807, 64]]} {
  return
}

// -----

func.func @callee(%x: tensor<?xf32>) attributes {te_quant.shapes = [[8]]} {
  return
}
func.func @caller(%x: tensor<?xf32>) attributes {te_quant.shapes = [[16]]} {
  // expected-error @below {{expected argument 0 to be 'tensor<8xf32>' as 'callee' is annotated, but got 'tensor<16xf32>'}}
  call @callee(%x) : (tensor<?xf32>) -> ()
  return
}

// -----

func.func @blocks(%x: tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>> attributes {te_quant.shapes = [[30, 64]]} {
  // expected-warning @below {{the shapes known here do not fit the types of 'te_quant.quantize', whose checks are left to run time}}
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
  return %q : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
}

// -----

func.func @remainder(%x: tensor<?xf32>) -> tensor<?xf32> attributes {te_quant.shapes = [[9]]} {
  // expected-warning @below {{the shapes known here do not fit the types of 'te_quant.reduce_scatter'}}
  %r = te_quant.reduce_scatter %x {group = "g", size = 2 : i64} : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}
