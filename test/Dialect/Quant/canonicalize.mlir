// Proves the folds that are exact, and that those which are not do not happen (semantics section 10).
// RUN: te-opt %s --canonicalize --cse --split-input-file | FileCheck %s

!both = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!col = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>

// CHECK-LABEL: func.func @assemble_of_disassemble(
// CHECK-SAME: %[[Q:.*]]: !te_quant
// CHECK-NEXT: return %[[Q]]
func.func @assemble_of_disassemble(%q: !row) -> !row {
  %d:2 = te_quant.disassemble %q : !row -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %r = te_quant.assemble %d#0, %d#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !row
  return %r : !row
}

// Not with the parts of two tensors, nor to another type.
// CHECK-LABEL: func.func @assemble_of_others(
// CHECK: te_quant.assemble
// CHECK: te_quant.assemble
func.func @assemble_of_others(%q: !row, %p: !row) -> (!row, !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>) {
  %d:2 = te_quant.disassemble %q : !row -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %e:2 = te_quant.disassemble %p : !row -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %r = te_quant.assemble %d#0, %e#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !row
  %s = te_quant.assemble %d#0, %d#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
  return %r, %s : !row, !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
}

// CHECK-LABEL: func.func @disassemble_of_assemble(
// CHECK-SAME: %[[D:.*]]: tensor<32x64xf8E4M3FN>, %[[S:.*]]: tensor<128x4xf8E8M0FNU>
// CHECK-NEXT: return %[[D]], %[[S]]
func.func @disassemble_of_assemble(%d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>) -> (tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %r = te_quant.assemble %d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU> -> !row
  %e:2 = te_quant.disassemble %r : !row -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %e#0, %e#1 : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @nothing_to_change(
// CHECK-SAME: %[[Q:.*]]: !te_quant
// CHECK-NEXT: return %[[Q]], %[[Q]]
func.func @nothing_to_change(%q: !row) -> (!row, !row) {
  %u = te_quant.update_usage %q : !row -> !row
  %s = te_quant.swizzle %q : !row -> !row
  return %u, %s : !row, !row
}

// CHECK-LABEL: func.func @quantize_then_drop(
// CHECK-SAME: %[[X:.*]]: tensor<32x64xbf16>
// CHECK-NEXT: %[[Q:.*]] = te_quant.quantize %[[X]] {test.kept} : tensor<32x64xbf16> -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = columnwise>>
// CHECK-NEXT: return %[[Q]]
func.func @quantize_then_drop(%x: tensor<32x64xbf16>) -> !col {
  %q = te_quant.quantize %x {test.kept} : tensor<32x64xbf16> -> !both
  %u = te_quant.update_usage %q : !both -> !col
  return %u : !col
}

// Not where the whole tensor is used too, nor in place: the tensor that is updated has both.
// CHECK-LABEL: func.func @quantize_used_twice(
// CHECK: te_quant.quantize {{.*}} -> !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
// CHECK: te_quant.update_usage
func.func @quantize_used_twice(%x: tensor<32x64xbf16>) -> (!both, !col) {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !both
  %u = te_quant.update_usage %q : !both -> !col
  return %q, %u : !both, !col
}

// CHECK-LABEL: func.func @quantize_in_place(
// CHECK: te_quant.quantize {{.*}} into
// CHECK: te_quant.update_usage
func.func @quantize_in_place(%x: tensor<32x64xbf16>, %p: !both) -> !col {
  %q = te_quant.quantize %x into %p : tensor<32x64xbf16>, !both -> !both
  %u = te_quant.update_usage %q : !both -> !col
  return %u : !col
}

// -----

// The random stream depends on the usage.
!both = !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<stochastic_rounding = true>>
!row = !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, stochastic_rounding = true>>
// CHECK-LABEL: func.func @stochastic_then_drop(
// CHECK: te_quant.quantize
// CHECK: te_quant.update_usage
func.func @stochastic_then_drop(%x: tensor<32x64xbf16>, %s: tensor<2xi64>) -> !row {
  %q = te_quant.quantize %x rng(%s) : tensor<32x64xbf16>, tensor<2xi64> -> !both
  %u = te_quant.update_usage %q : !both -> !row
  return %u : !row
}

// -----

// What no kernel makes alone (D-3) stays a drop.
!both = !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<row_scaled = true>>
!col = !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = columnwise, row_scaled = true>>
// CHECK-LABEL: func.func @row_scaled_then_drop(
// CHECK: te_quant.quantize
// CHECK: te_quant.update_usage
func.func @row_scaled_then_drop(%x: tensor<32x64xbf16>) -> !col {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !both
  %u = te_quant.update_usage %q : !both -> !col
  return %u : !col
}

// -----

!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>
!gemm = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise, optimize_for_gemm = true>>

// Quantization loses: neither way round is a no-op, not even for a family that is safe to quantize again.
// CHECK-LABEL: func.func @dequantize_of_quantize(
// CHECK: te_quant.quantize
// CHECK: te_quant.dequantize
func.func @dequantize_of_quantize(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !row
  %y = te_quant.dequantize %q : !row -> tensor<32x64xbf16>
  return %y : tensor<32x64xbf16>
}

// CHECK-LABEL: func.func @quantize_of_dequantize(
// CHECK: te_quant.dequantize
// CHECK: te_quant.quantize
func.func @quantize_of_dequantize(%q: !row) -> !row {
  %x = te_quant.dequantize %q : !row -> tensor<32x64xbf16>
  %r = te_quant.quantize %x : tensor<32x64xbf16> -> !row
  return %r : !row
}

// CHECK-LABEL: func.func @swizzle_changes(
// CHECK: te_quant.swizzle
func.func @swizzle_changes(%q: !row) -> !gemm {
  %s = te_quant.swizzle %q : !row -> !gemm
  return %s : !gemm
}

// Quantization is a function: equal ones merge, others do not.
// CHECK-LABEL: func.func @equal_quantizes(
// CHECK: %[[Q:.*]] = te_quant.quantize
// CHECK: %[[G:.*]] = te_quant.quantize
// CHECK: return %[[Q]], %[[Q]], %[[G]]
func.func @equal_quantizes(%x: tensor<32x64xbf16>) -> (!row, !row, !gemm) {
  %q = te_quant.quantize %x : tensor<32x64xbf16> -> !row
  %r = te_quant.quantize %x : tensor<32x64xbf16> -> !row
  %g = te_quant.quantize %x : tensor<32x64xbf16> -> !gemm
  return %q, %r, %g : !row, !row, !gemm
}

// -----

// Constants are converted as the kernels convert: to nearest even, saturating; NaN, zero and infinity of E8M0.
// CHECK-LABEL: func.func @cast_constants()
// CHECK-DAG: dense<[3.125000e-01, 4.480000e+02, -4.480000e+02, -0.000000e+00, 0x7F]> : tensor<5xf8E4M3FN>
// CHECK-DAG: dense<[6.000000e+00, 5.000000e-01, -6.000000e+00, 6.000000e+00]> : vector<4xf4E2M1FN>
// CHECK-DAG: dense<0x7F800000> : tensor<2xf32>
// CHECK-DAG: arith.constant 3.125000e-01 : bf16
// CHECK-NOT: te_quant.cast
func.func @cast_constants() -> (tensor<5xf8E4M3FN>, vector<4xf4E2M1FN>, tensor<2xf32>, bf16) {
  %a = arith.constant dense<[0.3, 1000.0, 0xFF800000, -0.0, 0x7FC00000]> : tensor<5xf32>
  %b = arith.constant dense<[1000.0, 0.4, -5.5, 0x7FC00000]> : vector<4xf32>
  %c = arith.constant dense<0x7C> : tensor<2xf8E5M2>
  %d = arith.constant 0.3125 : f8E4M3FN
  %e = te_quant.cast %a : tensor<5xf32> to tensor<5xf8E4M3FN>
  %f = te_quant.cast %b : vector<4xf32> to vector<4xf4E2M1FN>
  %g = te_quant.cast %c : tensor<2xf8E5M2> to tensor<2xf32>
  %h = te_quant.cast %d : f8E4M3FN to bf16
  return %e, %f, %g, %h : tensor<5xf8E4M3FN>, vector<4xf4E2M1FN>, tensor<2xf32>, bf16
}

// Narrowing and widening again loses; a type with open dims cannot hold a constant.
// CHECK-LABEL: func.func @casts_that_stay(
// CHECK: te_quant.cast
// CHECK: te_quant.cast
// CHECK: te_quant.cast
func.func @casts_that_stay(%x: f32) -> (f32, tensor<?xf16>) {
  %n = te_quant.cast %x : f32 to f8E4M3FN
  %w = te_quant.cast %n : f8E4M3FN to f32
  %c = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %d = te_quant.cast %c : tensor<2xf32> to tensor<?xf16>
  return %w, %d : f32, tensor<?xf16>
}

// CHECK-LABEL: func.func @cast_to_itself(
// CHECK-SAME: %[[X:.*]]: bf16
// CHECK-NEXT: return %[[X]]
func.func @cast_to_itself(%x: bf16) -> bf16 {
  %y = te_quant.cast %x : bf16 to bf16
  return %y : bf16
}

// CHECK-LABEL: func.func @checks(
// CHECK-NOT: "holds"
// CHECK: te_quant.check %{{.*}}, "fails"
// CHECK: te_quant.check %{{.*}}, "unknown"
func.func @checks(%c: i1) {
  %true = arith.constant true
  %false = arith.constant false
  te_quant.check %true, "holds"
  te_quant.check %false, "fails"
  te_quant.check %c, "unknown"
  return
}

// -----

// A cast to a less static type is not needed, with a region and without one.
// CHECK-LABEL: func @casts_of_inputs(
// CHECK-SAME: %[[X:.*]]: tensor<32x64xbf16>
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]] : tensor<32x64xbf16>) outs(
// CHECK: te_quant.quantize_into #{{.*}} ins(%[[X]] : tensor<32x64xbf16>) outs({{.*}}) fuse {
// CHECK: te_quant.amax_into #{{.*}} ins(%[[X]] : tensor<32x64xbf16>)
func.func @casts_of_inputs(%x: tensor<32x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>, %a: tensor<1xf32>)
    -> (tensor<32x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<1xf32>) {
  %c = tensor.cast %x : tensor<32x64xbf16> to tensor<?x64xbf16>
  %p:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%c : tensor<?x64xbf16>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %q:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%c : tensor<?x64xbf16>)
    outs(%d, %s : tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) fuse {
  ^bb0(%e: bf16):
    %n = arith.negf %e : bf16
    te_quant.yield %n : bf16
  } -> tensor<32x64xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  %m = te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%c : tensor<?x64xbf16>) outs(%a : tensor<1xf32>) -> tensor<1xf32>
  return %p#0, %q#0, %m : tensor<32x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<1xf32>
}

// -----

// The result has the type that it had.
// CHECK-LABEL: func @casts_of_destinations(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[D:.*]]: tensor<32x64xf8E4M3FN>
// CHECK: %[[R:.*]]:2 = te_quant.quantize_into {{.*}} outs(%[[D]], %{{.*}} : tensor<32x64xf8E4M3FN>,
// CHECK: tensor.cast %[[R]]#0 : tensor<32x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
func.func @casts_of_destinations(%x: tensor<?x64xbf16>, %d: tensor<32x64xf8E4M3FN>, %s: tensor<?x4xf8E8M0FNU>) -> tensor<?x64xf8E4M3FN> {
  %c = tensor.cast %d : tensor<32x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
  %p:2 = te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : tensor<?x64xbf16>)
    outs(%c, %s : tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>) -> tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  return %p#0 : tensor<?x64xf8E4M3FN>
}
