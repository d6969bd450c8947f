// A layer whose scales nobody could pass on stays as it is.
// RUN: te-opt %s --te-quant-apply-recipe=recipe=delayed --allow-unregistered-dialect --verify-diagnostics | FileCheck %s

// CHECK-NOT: quantizer

func.func @loop(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %n: index) -> tensor<64x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%value = %x) -> tensor<64x64xbf16> {
    // expected-remark @below {{is not quantized: its scales or its random state would be those of 'scf.for', not of a function}}
    %next = te_quant.linear %value, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
    scf.yield %next : tensor<64x64xbf16>
  }
  return %y : tensor<64x64xbf16>
}

func.func @recursive(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-remark @below {{is not quantized: calls of 'recursive' cannot pass scales or a random state on}}
  %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
  %z = call @recursive(%y, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %z : tensor<64x64xbf16>
}

func.func @called_in_a_branch(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-remark @below {{is not quantized: calls of 'called_in_a_branch' cannot pass}}
  %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}

func.func @caller(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %flag: i1) -> tensor<64x64xbf16> {
  %y = scf.if %flag -> tensor<64x64xbf16> {
    %z = func.call @called_in_a_branch(%x, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    scf.yield %z : tensor<64x64xbf16>
  } else {
    scf.yield %x : tensor<64x64xbf16>
  }
  return %y : tensor<64x64xbf16>
}

func.func @taken(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-remark @below {{is not quantized: calls of 'taken' cannot pass}}
  %y = te_quant.linear %x, %w {is_grad_enabled = false} : tensor<64x64xbf16>, tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}

func.func @indirect() -> ((tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>) {
  %f = constant @taken : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %f : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
}

func.func @in_another_op(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) {
  "some.op"() ({
    // expected-remark @below {{its scales or its random state would be those of 'some.op', not of a function}}
    %y = te_quant.linear %x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>
    "some.end"() : () -> ()
  }) {uses = @taken} : () -> ()
  return
}
