// Matrix products of linalg become linear layers, in each form that frontends
// export; what is no layer stays, with a remark.
// RUN: te-opt %s --te-quant-raise-linear --verify-diagnostics | FileCheck %s
// RUN: te-opt %s --te-quant-raise-linear="weights=any is-grad-enabled=true" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=ANY

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#last = affine_map<(m, n) -> (n)>

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[X:.*]]: tensor<64x128xbf16>, %[[W:.*]]: tensor<128x32xbf16>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<128x32xbf16>)
// CHECK: %[[Y:.*]] = te_quant.linear %[[X]], %[[T]] {is_grad_enabled = false} : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @matmul(%x: tensor<64x128xbf16>, %w: tensor<128x32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<64x32xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}
// The sum is f32, the bias comes later and then the rounding.
// CHECK-LABEL: func.func @transposed_f32_acc_bias
// CHECK-SAME: %[[X:.*]]: tensor<?x128xbf16>, %[[W:.*]]: tensor<32x128xbf16>, %[[B:[^:]*]]: tensor<32xbf16>
// CHECK-NEXT: %[[Y:.*]] = te_quant.linear %[[X]], %[[W]] bias(%[[B]]) {is_grad_enabled = false} : {{.*}} -> tensor<?x32xbf16>
// CHECK-NEXT: return %[[Y]]
// ANY-LABEL: func.func @transposed_f32_acc_bias
// ANY: te_quant.linear {{.*}} {bias_requires_grad = true}
func.func @transposed_f32_acc_bias(%x: tensor<?x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>, %empty: tensor<?x32xf32>, %e2: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %xw = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<?x128xbf16>, tensor<32x128xbf16>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
    ins(%xw, %b : tensor<?x32xf32>, tensor<32xbf16>) outs(%e2 : tensor<?x32xbf16>) {
  ^bb0(%v: f32, %bias: bf16, %o: bf16):
    %be = arith.extf %bias : bf16 to f32
    %s = arith.addf %v, %be : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
// The product starts from the bias, and the weight is transposed already.
// CHECK-LABEL: func.func @broadcast_bias
// CHECK-SAME: %[[X:.*]]: tensor<64x128xf32>, %[[W:.*]]: tensor<32x128xf32>, %[[B:.*]]: tensor<32xf32>
// CHECK-NEXT: %[[Y:.*]] = te_quant.linear %[[X]], %[[W]] bias(%[[B]])
// CHECK-NEXT: return %[[Y]]
func.func @broadcast_bias(%x: tensor<64x128xf32>, %w: tensor<32x128xf32>, %b: tensor<32xf32>) -> tensor<64x32xf32> {
  %empty = tensor.empty() : tensor<64x32xf32>
  %init = linalg.broadcast ins(%b : tensor<32xf32>) outs(%empty : tensor<64x32xf32>) dimensions = [0]
  %te = tensor.empty() : tensor<128x32xf32>
  %wt = linalg.transpose ins(%w : tensor<32x128xf32>) outs(%te : tensor<128x32xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%x, %wt : tensor<64x128xf32>, tensor<128x32xf32>) outs(%init : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
// CHECK-LABEL: func.func @generic_3d
// CHECK-NEXT: te_quant.linear %{{.*}}, %{{.*}} {is_grad_enabled = false} : tensor<4x16x128xbf16>, tensor<32x128xbf16> -> tensor<4x16x32xbf16>
func.func @generic_3d(%x: tensor<4x16x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<4x16x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<4x16x32xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>],
     iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
     ins(%x, %w : tensor<4x16x128xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<4x16x32xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %acc: bf16):
    %p = arith.mulf %a, %c : bf16
    %s = arith.addf %acc, %p : bf16
    linalg.yield %s : bf16
  } -> tensor<4x16x32xbf16>
  return %y : tensor<4x16x32xbf16>
}
// The weight is the operand whose rows are the result's last dim.
// CHECK-LABEL: func.func @left
// CHECK-SAME: %[[X:.*]]: tensor<64x128xbf16>, %[[W:.*]]: tensor<32x128xbf16>
// CHECK-NEXT: te_quant.linear %[[X]], %[[W]]
func.func @left(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %y = linalg.contract indexing_maps = [#nk, #mk, #mn] ins(%w, %x : tensor<32x128xbf16>, tensor<64x128xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}
// CHECK-LABEL: func.func @batched
// CHECK: linalg.batch_matmul
func.func @batched(%x: tensor<4x16x128xbf16>, %w: tensor<4x128x32xbf16>) -> tensor<4x16x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<4x16x32xbf16>
  // expected-remark @below {{'linalg.batch_matmul' op is no linear layer: both operands are batched}}
  %y = linalg.batch_matmul ins(%x, %w : tensor<4x16x128xbf16>, tensor<4x128x32xbf16>) outs(%zero : tensor<4x16x32xbf16>) -> tensor<4x16x32xbf16>
  return %y : tensor<4x16x32xbf16>
}
// CHECK-LABEL: func.func @activations
// CHECK: linalg.matmul
// ANY-LABEL: func.func @activations
// ANY: te_quant.linear
func.func @activations(%x: tensor<64x128xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
  %e = math.exp %w : tensor<128x64xbf16>
  %f = math.exp %x : tensor<64x128xbf16>
  // expected-remark @below {{'linalg.matmul' op is no linear layer: no operand is a parameter}}
  %y = linalg.matmul ins(%f, %e : tensor<64x128xbf16>, tensor<128x64xbf16>) outs(%zero : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}
// CHECK-LABEL: func.func @accumulates
// CHECK: linalg.matmul
func.func @accumulates(%x: tensor<64x128xbf16>, %w: tensor<128x64xbf16>, %acc: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-remark @below {{'linalg.matmul' op is no linear layer: it starts from neither zero nor a bias}}
  %y = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x64xbf16>) outs(%acc : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}
// CHECK-LABEL: func.func @ints
// CHECK: linalg.matmul
func.func @ints(%x: tensor<64x128xi8>, %w: tensor<128x64xi8>, %acc: tensor<64x64xi32>) -> tensor<64x64xi32> {
  // expected-remark @below {{'linalg.matmul' op is no linear layer: its elements are neither f32 nor bf16 nor f16}}
  %y = linalg.matmul ins(%x, %w : tensor<64x128xi8>, tensor<128x64xi8>) outs(%acc : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %y : tensor<64x64xi32>
}

// A constant and a global are weights, and so is what is cast from one.

ml_program.global private @w(dense<1.0> : tensor<32x128xf32>) : tensor<32x128xf32>

// CHECK-LABEL: func.func @global
// CHECK: %[[W:.*]] = ml_program.global_load_const @w
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[W]]
// CHECK: te_quant.linear %{{.*}}, %[[ROUNDED]]
func.func @global(%x: tensor<64x128xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %e = math.exp %x : tensor<64x128xbf16>
  %w = ml_program.global_load_const @w : tensor<32x128xf32>
  %r = arith.truncf %w : tensor<32x128xf32> to tensor<32x128xbf16>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%e, %r : tensor<64x128xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// A bias of two dims is none, and neither is what is used twice added to.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Y:.*]] = te_quant.linear %{{.*}}, %{{.*}} {is_grad_enabled = false}
// CHECK: linalg.add ins(%[[Y]]
func.func @residual(%x: tensor<64x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<64x128xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x128xbf16>
  %empty = tensor.empty() : tensor<64x128xbf16>
  %xw = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xbf16>, tensor<128x128xbf16>) outs(%zero : tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %y = linalg.add ins(%xw, %x : tensor<64x128xbf16>, tensor<64x128xbf16>) outs(%empty : tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %y : tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @zero_size
// CHECK: te_quant.linear {{.*}} : tensor<0x128xbf16>, tensor<32x128xbf16> -> tensor<0x32xbf16>
func.func @zero_size(%x: tensor<0x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<0x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<0x32xbf16>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<0x128xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<0x32xbf16>) -> tensor<0x32xbf16>
  return %y : tensor<0x32xbf16>
}

// CHECK-LABEL: func.func @columns
// CHECK: linalg.matmul
func.func @columns(%x: tensor<128x64xbf16>, %w: tensor<32x128xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  // expected-remark @below {{no operand is a weight of two dims whose output features are the last dim of the result}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, #nk, #mn] ins(%x, %w : tensor<128x64xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// A weight that is repeated for each batch is taken before that.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: %[[X:.*]]: tensor<4x16x128xbf16>, %[[W:.*]]: tensor<32x128xbf16>)
// CHECK-NOT: linalg
// CHECK: te_quant.linear %[[X]], %[[W]] {is_grad_enabled = false}
func.func @repeated(%x: tensor<4x16x128xbf16>, %w: tensor<32x128xbf16>) -> tensor<4x16x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<4x16x32xbf16>
  %te = tensor.empty() : tensor<128x32xbf16>
  %t = linalg.transpose ins(%w : tensor<32x128xbf16>) outs(%te : tensor<128x32xbf16>) permutation = [1, 0]
  %be = tensor.empty() : tensor<4x128x32xbf16>
  %b = linalg.broadcast ins(%t : tensor<128x32xbf16>) outs(%be : tensor<4x128x32xbf16>) dimensions = [0]
  %y = linalg.batch_matmul ins(%x, %b : tensor<4x16x128xbf16>, tensor<4x128x32xbf16>) outs(%zero : tensor<4x16x32xbf16>) -> tensor<4x16x32xbf16>
  return %y : tensor<4x16x32xbf16>
}

// One empty tensor and one bias serve several ops; each is erased once.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT: te_quant.linear {{.*}} bias
// CHECK-NEXT: return
func.func @shared(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<64x32xbf16>
  %bias = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%empty : tensor<64x32xbf16>) dimensions = [0]
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %xw = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>) outs(%init : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %y = linalg.add ins(%xw, %bias : tensor<64x32xbf16>, tensor<64x32xbf16>) outs(%bias : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// What is written over is no term of a sum.
// CHECK-LABEL: func.func @overwritten
// CHECK: %[[Y:.*]] = te_quant.linear %{{.*}}, %{{.*}} {is_grad_enabled = false}
// CHECK: linalg.add {{.*}} outs(%[[Y]]
func.func @overwritten(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %b: tensor<32xbf16>, %c: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %empty = tensor.empty() : tensor<64x32xbf16>
  %bias = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%empty : tensor<64x32xbf16>) dimensions = [0]
  %xw = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %y = linalg.add ins(%bias, %c : tensor<64x32xbf16>, tensor<64x32xbf16>) outs(%xw : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

// Roundings to other dtypes than the input's stay.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[Y:.*]] = te_quant.linear {{.*}} -> tensor<64x32xf32>
// CHECK: arith.truncf %[[Y]] : tensor<64x32xf32> to tensor<64x32xf8E4M3FN>
// CHECK: %[[Z:.*]] = te_quant.linear {{.*}} -> tensor<64x32xf32>
// CHECK: arith.truncf %[[Z]] : tensor<64x32xf32> to tensor<64x32xbf16>
func.func @narrow(%x: tensor<64x128xf32>, %w: tensor<32x128xf32>) -> (tensor<64x32xf8E4M3FN>, tensor<64x32xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xf32>, tensor<32x128xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = arith.truncf %y : tensor<64x32xf32> to tensor<64x32xf8E4M3FN>
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xf32>, tensor<32x128xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = arith.truncf %z : tensor<64x32xf32> to tensor<64x32xbf16>
  return %r, %s : tensor<64x32xf8E4M3FN>, tensor<64x32xbf16>
}

// Rounding twice is not rounding.
// CHECK-LABEL: func.func @twice
// CHECK: te_quant.linear
// CHECK: linalg.generic
func.func @twice(%x: tensor<64x128xbf16>, %w: tensor<32x128xbf16>, %empty: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<64x128xbf16>, tensor<32x128xbf16>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x32xf32>) outs(%empty : tensor<64x32xbf16>) {
  ^bb0(%v: f32, %o: bf16):
    %a = arith.truncf %v : f32 to f8E4M3FN
    %b = arith.extf %a : f8E4M3FN to f32
    %c = arith.truncf %b : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<64x32xbf16>
  return %z : tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @exponential
// CHECK: linalg.generic
func.func @exponential(%x: tensor<64x128xf32>, %w: tensor<32x128xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  // expected-remark @below {{it multiplies something made of its operands}}
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
     ins(%x, %w : tensor<64x128xf32>, tensor<32x128xf32>) outs(%zero : tensor<64x32xf32>) {
  ^bb0(%a: f32, %c: f32, %acc: f32):
    %e = math.exp %a : f32
    %p = arith.mulf %e, %c : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// The argument of a block that is jumped to is no parameter.
// CHECK-LABEL: func.func @jump
// CHECK: linalg.matmul
func.func @jump(%x: tensor<64x128xf32>, %w: tensor<32x128xf32>) -> tensor<64x32xf32> {
  %e = math.exp %w : tensor<32x128xf32>
  cf.br ^next(%x, %e : tensor<64x128xf32>, tensor<32x128xf32>)
^next(%a: tensor<64x128xf32>, %b: tensor<32x128xf32>):
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  // expected-remark @below {{no operand is a parameter}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<64x128xf32>, tensor<32x128xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
