// Proves what te-quant-infer-shapes knows: sizes through each kind of op, control flow and calls, and casts around what keeps its types. Once is as good as twice.
// RUN: te-opt %s --te-quant-infer-shapes --allow-unregistered-dialect | FileCheck %s
// RUN: te-opt %s --te-quant-infer-shapes --allow-unregistered-dialect > %t.once
// RUN: te-opt %t.once --te-quant-infer-shapes --allow-unregistered-dialect | diff %t.once -

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#both = #te_quant.mxfp8<f8E4M3FN>
#current = #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
!row = !te_quant.tensor<?x64xbf16, #row>
!both = !te_quant.tensor<?x64xbf16, #both>

// CHECK-LABEL: func.func @values(
// CHECK-SAME: %{{.*}}: tensor<32x64xbf16>)
// CHECK-SAME: -> (!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>, tensor<32x64xf32>)
// CHECK-NOT: te_quant.shapes
// CHECK: te_quant.quantize %{{.*}} : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: te_quant.update_usage {{.*}} -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
// CHECK: te_quant.swizzle {{.*}} -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
// CHECK: te_quant.dequantize {{.*}} -> tensor<32x64xf32>
func.func @values(%x: tensor<?x64xbf16>)
    -> (!te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>, tensor<?x64xf32>)
    attributes {te_quant.shapes = [[32, 64]]} {
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !both
  %u = te_quant.update_usage %q : !both -> !row
  %s = te_quant.swizzle %u : !row -> !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>
  %y = te_quant.dequantize %u : !row -> tensor<?x64xf32>
  return %s, %y : !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>, tensor<?x64xf32>
}

// An op with InferTypeOpInterface needs nothing here; assemble knows the dims that inner tensors store.
// CHECK-LABEL: func.func @inferred(
// CHECK: te_quant.all_gather {{.*}} -> !te_quant.tensor<128x64xbf16,
// CHECK: te_quant.disassemble {{.*}} -> tensor<128x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: te_quant.assemble {{.*}} : tensor<128x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU> -> !te_quant.tensor<128x64xbf16,
func.func @inferred(%x: tensor<?x64xbf16>, %scales: tensor<?x4xf8E8M0FNU>) -> !row
    attributes {te_quant.shapes = [[32, 64], [-1, 4]]} {
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !row
  %g = te_quant.all_gather %q {group = "tp", size = 4 : i64} : !row -> !row
  %p:2 = te_quant.disassemble %g : !row -> tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  %a = te_quant.assemble %p#0, %scales : tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU> -> !row
  return %a : !row
}

// CHECK-LABEL: func.func @reduced(
// CHECK: te_quant.reduce_scatter {{.*}} : tensor<32x64xbf16> -> tensor<8x64xbf16>
// CHECK: te_quant.amax #{{.*}} : tensor<8x64xbf16> -> tensor<1xf32>
// CHECK: te_quant.all_reduce sum {{.*}} : tensor<8x64xbf16>
func.func @reduced(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<1xf32>) attributes {te_quant.shapes = [[32, 64]]} {
  %r = te_quant.reduce_scatter %x {group = "tp", size = 4 : i64} : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %a = te_quant.amax #current %r : tensor<?x64xbf16> -> tensor<1xf32>
  %s = te_quant.all_reduce sum %r {group = "tp", size = 4 : i64} : tensor<?x64xbf16>
  return %s, %a : tensor<?x64xbf16>, tensor<1xf32>
}

// CHECK-LABEL: func.func @gemm(
// CHECK: te_quant.gemm TN {{.*}} -> tensor<32x16xbf16>
// CHECK: te_quant.gemm NN {{.*}} -> tensor<32x64xbf16>
// CHECK: te_quant.gemm NT {{.*}} -> tensor<16x64xbf16>
// CHECK: te_quant.gemm TN {{.*}} -> tensor<?x16xbf16>
func.func @gemm(%w: tensor<?x64xbf16>, %x: tensor<?x64xbf16>, %acc: tensor<?x16xbf16>)
    -> (tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x16xbf16>) attributes {te_quant.shapes = [[16, 64], [32, 64], [-1, 16]]} {
  %y = te_quant.gemm TN %w, %x : tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<?x?xbf16>
  %dx = te_quant.gemm NN %w, %y : tensor<?x64xbf16>, tensor<?x?xbf16> -> tensor<?x?xbf16>
  %dw = te_quant.gemm NT %x, %y : tensor<?x64xbf16>, tensor<?x?xbf16> -> tensor<?x?xbf16>
  %added = te_quant.gemm TN %w, %x accumulate(%acc) : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x16xbf16> -> tensor<?x16xbf16>
  return %y, %dx, %dw, %added : tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x16xbf16>
}

// Sizes that are operands.
// CHECK-LABEL: func.func @sizes(
// CHECK-NOT: tensor.dim
// CHECK: te_quant.empty() : !te_quant.tensor<32x64xbf16,
// CHECK: tensor.empty() : tensor<64x64xf32>
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [16, 64] [1, 1] : tensor<32x64xbf16> to tensor<16x64xbf16>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[16, 0] [16, 64] [1, 1] : tensor<16x64xbf16> into tensor<32x64xbf16>
// CHECK: tensor.collapse_shape {{.*}} into tensor<2048xbf16>
// CHECK: tensor.expand_shape {{.*}} output_shape [2, 16, 64] : tensor<32x64xbf16> into tensor<2x16x64xbf16>
func.func @sizes(%x: tensor<?x64xbf16>, %n: index)
    -> (!row, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?xbf16>, tensor<2x?x64xbf16>) attributes {te_quant.shapes = [[32, 64]]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %d = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %twice = arith.muli %d, %c2 : index
  %half = arith.divui %d, %c2 : index
  %e = te_quant.empty(%d) : !row
  %t = tensor.empty(%twice) : tensor<?x64xf32>
  %s = tensor.extract_slice %x[0, 0] [%half, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
  %i = tensor.insert_slice %s into %x[%half, 0] [%half, 64] [1, 1] : tensor<?x64xbf16> into tensor<?x64xbf16>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x64xbf16> into tensor<?xbf16>
  %o = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, %n, 64] : tensor<?x64xbf16> into tensor<2x?x64xbf16>
  return %e, %t, %i, %c, %o : !row, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?xbf16>, tensor<2x?x64xbf16>
}

// A loop has one size; elementwise operands have one shape.
// CHECK-LABEL: func.func @linalg(
// CHECK-SAME: %[[X:[^:]*]]: tensor<32x64xf32>, %[[Y:[^:]*]]: tensor<?x64xf32>
// CHECK: %[[INIT:.*]] = tensor.cast %{{.*}} : tensor<?x?xf32> to tensor<64x32xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<32x64xf32>) outs(%[[INIT]] : tensor<64x32xf32>)
// CHECK: %[[C:.*]] = tensor.cast %[[Y]] : tensor<?x64xf32> to tensor<32x64xf32>
// CHECK: arith.addf %[[X]], %[[C]] : tensor<32x64xf32>
func.func @linalg(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %n: index, %m: index) -> (tensor<?x?xf32>, tensor<?x64xf32>)
    attributes {te_quant.shapes = [[32, 64], [-1, 64]]} {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b, a)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x?xf32>
  %s = arith.addf %x, %y : tensor<?x64xf32>
  return %t, %s : tensor<?x?xf32>, tensor<?x64xf32>
}

// What is updated in place has its own shape, so that the input's is checked at run time.
// CHECK-LABEL: func.func @in_place(
// CHECK: te_quant.quantize {{.*}} : tensor<32x64xbf16>, !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>, tensor<1xf32> -> !te_quant.tensor<?x64xbf16,
func.func @in_place(%x: tensor<?x64xbf16>, %q: !row, %flag: tensor<1xf32>) -> !row
    attributes {te_quant.shapes = [[32, 64], [-1, 64], [1]]} {
  %u = te_quant.quantize %x into %q noop(%flag) : tensor<?x64xbf16>, !row, tensor<1xf32> -> !row
  return %u : !row
}

// Values that stay as they are around a loop.
// CHECK-LABEL: func.func @loops(
// CHECK: scf.for {{.*}} -> (!te_quant.tensor<32x64xbf16, {{.*}}>, tensor<?x64xbf16>)
// CHECK: te_quant.dequantize {{.*}} -> tensor<32x64xbf16>
// CHECK: scf.yield {{.*}} : !te_quant.tensor<32x64xbf16, {{.*}}>, tensor<?x64xbf16>
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
// CHECK: scf.if {{.*}} -> (tensor<32x64xbf16>)
func.func @loops(%x: tensor<?x64xbf16>, %other: tensor<?x64xbf16>, %n: index, %c: i1) -> (!row, tensor<?x64xbf16>, tensor<?x64xbf16>)
    attributes {te_quant.shapes = [[32, 64], [-1, 64]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !row
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %q, %b = %x) -> (!row, tensor<?x64xbf16>) {
    %y = te_quant.dequantize %a : !row -> tensor<?x64xbf16>
    %next = te_quant.quantize %y : tensor<?x64xbf16> -> !row
    scf.yield %next, %other : !row, tensor<?x64xbf16>
  }
  %w = scf.while (%a = %x) : (tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    scf.condition(%c) %a : tensor<?x64xbf16>
  } do {
  ^bb0(%b: tensor<?x64xbf16>):
    %s = arith.addf %b, %b : tensor<?x64xbf16>
    scf.yield %s : tensor<?x64xbf16>
  }
  %if = scf.if %c -> tensor<?x64xbf16> {
    scf.yield %w : tensor<?x64xbf16>
  } else {
    scf.yield %x : tensor<?x64xbf16>
  }
  return %r#0, %r#1, %if : !row, tensor<?x64xbf16>, tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @branches(
// CHECK: ^bb1(%{{.*}}: tensor<32x64xbf16>):
// CHECK: ^bb2(%{{.*}}: tensor<32x64xbf16>, %{{.*}}: tensor<?x64xbf16>):
func.func @branches(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>, %c: i1) -> (tensor<?x64xbf16>, tensor<?x64xbf16>)
    attributes {te_quant.shapes = [[32, 64], [-1, 64]]} {
  cf.cond_br %c, ^one(%x : tensor<?x64xbf16>), ^two(%x, %y : tensor<?x64xbf16>, tensor<?x64xbf16>)
^one(%a: tensor<?x64xbf16>):
  cf.br ^two(%a, %a : tensor<?x64xbf16>, tensor<?x64xbf16>)
^two(%p: tensor<?x64xbf16>, %q: tensor<?x64xbf16>):
  return %p, %q : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// A select of two sizes has neither.
// CHECK-LABEL: func.func @select(
// CHECK: %[[C:.*]] = tensor.cast %{{.*}} : tensor<32x64xbf16> to tensor<?x64xbf16>
// CHECK: arith.select %{{.*}}, %[[C]], %{{.*}} : tensor<?x64xbf16>
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<32x64xbf16>
func.func @select(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>, %c: i1) -> (tensor<?x64xbf16>, tensor<?x64xbf16>)
    attributes {te_quant.shapes = [[32, 64], [-1, 64]]} {
  %a = arith.select %c, %x, %y : tensor<?x64xbf16>
  %b = arith.select %c, %x, %x : tensor<?x64xbf16>
  return %a, %b : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// Private functions are refined when all their callers agree, also recursive ones.
// CHECK-LABEL: func.func private @agree(
// CHECK-SAME: tensor<32x64xbf16>, %{{.*}}: i1) -> tensor<32x64xbf16>
// CHECK-LABEL: func.func private @disagree(
// CHECK-SAME: tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16,
// CHECK-LABEL: func.func private @address_taken(
// CHECK-SAME: tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK-LABEL: func.func @not_annotated(
// CHECK-SAME: tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK-LABEL: func.func @calls(
// CHECK: call @agree(%{{.*}}, %{{.*}}) : (tensor<32x64xbf16>, i1) -> tensor<32x64xbf16>
// CHECK: call @disagree(%{{.*}}) : (tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16,
// CHECK: call @disagree(%{{.*}}) : (tensor<?x64xbf16>) -> !te_quant.tensor<?x64xbf16,
// CHECK: call @address_taken(%{{.*}}) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK: call @not_annotated(%{{.*}}) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
func.func private @agree(%x: tensor<?x64xbf16>, %c: i1) -> tensor<?x64xbf16> {
  %r = scf.if %c -> tensor<?x64xbf16> {
    %no = arith.constant false
    %s = func.call @agree(%x, %no) : (tensor<?x64xbf16>, i1) -> tensor<?x64xbf16>
    scf.yield %s : tensor<?x64xbf16>
  } else {
    scf.yield %x : tensor<?x64xbf16>
  }
  return %r : tensor<?x64xbf16>
}
func.func private @disagree(%x: tensor<?x64xbf16>) -> !row {
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !row
  return %q : !row
}
func.func private @address_taken(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  return %x : tensor<?x64xbf16>
}
func.func @not_annotated(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  return %x : tensor<?x64xbf16>
}
func.func @calls(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>, %c: i1)
    attributes {te_quant.shapes = [[32, 64], [64, 64]]} {
  %a = call @agree(%x, %c) : (tensor<?x64xbf16>, i1) -> tensor<?x64xbf16>
  %b = call @disagree(%a) : (tensor<?x64xbf16>) -> !row
  %d = call @disagree(%y) : (tensor<?x64xbf16>) -> !row
  %e = call @address_taken(%x) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %f = call @not_annotated(%x) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  "foreign.use"() {callee = @address_taken} : () -> ()
  return
}

// What is not known to take other types keeps its own between casts.
// CHECK-LABEL: func.func @foreign(
// CHECK: %[[C:.*]] = tensor.cast %{{.*}} : tensor<32x64xbf16> to tensor<?x64xbf16>
// CHECK: "foreign.op"(%[[C]]) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK: %[[P:.*]]:2 = te_quant.disassemble %{{.*}} -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
// CHECK: %[[A:.*]] = te_quant.assemble %[[P]]#0, %[[P]]#1 {{.*}} -> !te_quant.tensor<?x64xbf16,
// CHECK: "foreign.op"(%[[A]])
func.func @foreign(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> attributes {te_quant.shapes = [[32, 64]]} {
  %a = "foreign.op"(%x) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %q = te_quant.quantize %x : tensor<?x64xbf16> -> !row
  "foreign.op"(%q) : (!row) -> ()
  return %a : tensor<?x64xbf16>
}

// Region control flow whose types are tied in other ways does too.
// CHECK-LABEL: func.func @forall(
// CHECK: %[[C:.*]] = tensor.cast %{{.*}} : tensor<32x64xbf16> to tensor<?x64xbf16>
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[C]]) -> (tensor<?x64xbf16>)
func.func @forall(%x: tensor<?x64xbf16>, %n: index) -> tensor<?x64xbf16> attributes {te_quant.shapes = [[32, 64]]} {
  %r = scf.forall (%i) in (%n) shared_outs(%o = %x) -> tensor<?x64xbf16> {
    %s = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1] : tensor<?x64xbf16> to tensor<1x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0] [1, 64] [1, 1] : tensor<1x64xbf16> into tensor<?x64xbf16>
    }
  }
  return %r : tensor<?x64xbf16>
}

// What contradicts is never reached.
// CHECK-LABEL: func.func @contradicts(
// CHECK: %[[C:.*]] = tensor.cast %{{.*}} : tensor<32x64xbf16> to tensor<?x64xbf16>
// CHECK: tensor.cast %[[C]] : tensor<?x64xbf16> to tensor<64x64xbf16>
func.func @contradicts(%x: tensor<?x64xbf16>, %c: i1) -> tensor<?x64xbf16> attributes {te_quant.shapes = [[32, 64]]} {
  %r = scf.if %c -> tensor<?x64xbf16> {
    %y = tensor.cast %x : tensor<?x64xbf16> to tensor<64x64xbf16>
    %z = tensor.cast %y : tensor<64x64xbf16> to tensor<?x64xbf16>
    scf.yield %z : tensor<?x64xbf16>
  } else {
    scf.yield %x : tensor<?x64xbf16>
  }
  return %r : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @nothing_known(
// CHECK-NEXT: %[[D:.*]] = arith.constant 0 : index
// CHECK-NEXT: tensor.dim
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: te_quant.quantize
// CHECK-NEXT: return
func.func @nothing_known(%x: tensor<?x64xbf16>) -> !row {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%d) : tensor<?x64xbf16>
  %y = linalg.copy ins(%x : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %q = te_quant.quantize %y : tensor<?x64xbf16> -> !row
  return %q : !row
}
