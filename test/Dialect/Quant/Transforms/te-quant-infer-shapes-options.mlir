// Proves that an entry point may be named by options, and that they are checked.
// RUN: te-opt %s --te-quant-infer-shapes="entry=main input-shapes=32x64,?x16," | FileCheck %s
// RUN: not te-opt %s --te-quant-infer-shapes="entry=none input-shapes=8" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not te-opt %s --te-quant-infer-shapes="input-shapes=8" 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not te-opt %s --te-quant-infer-shapes="entry=main input-shapes=32xa,8,8" 2>&1 | FileCheck %s --check-prefix=TEXT
// NONE: expected a function as 'entry', but got 'none'
// ENTRY: expected 'entry' with 'input-shapes', but got none
// TEXT: expected sizes or '?' with 'x' between them in 'input-shapes', but got '32xa'

// CHECK: func.func @main(%{{.*}}: tensor<32x64xf32>, %{{.*}}: index, %{{.*}}: tensor<?x16xf32>, %{{.*}}: tensor<f32>) -> tensor<32x64xf32>
func.func @main(%x: tensor<?x?xf32>, %i: index, %y: tensor<?x?xf32>, %z: tensor<f32>) -> tensor<?x?xf32> {
  return %x : tensor<?x?xf32>
}
