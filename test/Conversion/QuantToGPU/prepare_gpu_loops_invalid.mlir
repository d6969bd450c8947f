// Loops work on buffers: linalg on tensors is refused.
// RUN: te-opt %s --pass-pipeline="builtin.module(func.func(te-quant-prepare-gpu-loops))" --verify-diagnostics

func.func @tensors(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @below {{'linalg.add' op expected operands that are buffers}}
  %r = linalg.add ins(%a, %a : tensor<32xf32>, tensor<32xf32>) outs(%b : tensor<32xf32>) -> tensor<32xf32>
  return %r : tensor<32xf32>
}
