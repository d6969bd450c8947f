// The kernels of per-tensor FP8: names, stages, how they reach memory, PTX.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NAMES

!x = memref<?x?xbf16>
!f = memref<?x?xf32>
!d = memref<?x?xf8E4M3FN>
!e = memref<?x?xf8E5M2>
!s = memref<1xf32>

// The amax and the cast are two launches; the amax is zeroed, then merged into.
// CHECK-LABEL: func.func @current(
// CHECK: call @te_quant_launch_amax_bf16(
// CHECK: call @te_quant_launch_quantize_float8_current_scaling_e4m3_bf16_rowwise(
// CHECK-NOT: call
// CHECK: return
func.func @current(%x: !x, %a: !s, %d: !d, %i: !s) {
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : !x) outs(%a : !s)
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>
    ins(%x : !x) amax(%a : !s) outs(%d, %i : !d, !s)
  return
}

// With one buffer for both usages there is nothing to transpose, whatever the
// usage; two quantizers with one layout share a kernel.
// CHECK-LABEL: func.func @non_tn(
// CHECK-COUNT-2: call @te_quant_launch_quantize_float8_current_scaling_e4m3_bf16_rowwise(
func.func @non_tn(%x: !x, %a: !s, %d: !d, %i: !s) {
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>
    ins(%x : !x) amax(%a : !s) outs(%d, %i : !d, !s)
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = columnwise, non_tn_gemm = true>
    ins(%x : !x) amax(%a : !s) outs(%d, %i : !d, !s)
  return
}

// The name says all that a kernel specialises on, in one order.
// NAMES-DAG: gpu.func @quantize_float8_current_scaling_e4m3_f32_both_v16(
// NAMES-DAG: gpu.func @quantize_float8_current_scaling_e5m2_bf16_columnwise_pow2_eps3f000000_noop_v1(
// NAMES-DAG: gpu.func @quantize_float8_delayed_scaling_e4m3_bf16_both_v16(
// NAMES-DAG: gpu.func @quantize_float8_delayed_scaling_e4m3_bf16_rowwise_noop_v1(
func.func @names(%x: !x, %f: !f, %a: !s, %n: !s, %d: !d, %t: !d, %e: !e, %i: !s, %r: !s) {
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%f : !f) amax(%a : !s) outs(%d, %t, %i : !d, !d, !s)
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E5M2, usage = columnwise,
      force_pow_2_scales = true, amax_epsilon = 0.5>
    ins(%x : !x) noop(%n : !s) amax(%a : !s) outs(%e, %i : !e, !s)
  te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN>
    ins(%x : !x) scale(%a : !s) outs(%d, %t, %i, %r : !d, !d, !s, !s)
  te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>
    ins(%x : !x) noop(%n : !s) scale(%a : !s) outs(%d, %i, %r : !d, !s, !s)
  return
}

// The amax: 16 bytes at a time, one atomic for a block.
// CHECK-LABEL: gpu.func @amax_bf16_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: arith.maxnumf %{{.*}} : vector<8xf32>
// CHECK: vector.reduction <maxnumf>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: llvm.atomicrmw umax %{{.*}} syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr, i32
// CHECK: gpu.return

// The scale is made of the amax by each thread, without fast math.
// CHECK-LABEL: gpu.func @quantize_float8_current_scaling_e4m3_bf16_rowwise_v16(
// CHECK: llvm.load
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK: te_quant.cast %{{.*}} : vector<8xf32> to vector<8xf8E4M3FN>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<8xi8>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// The transposed copy goes through shared memory: a word for four rows in, 16
// bytes out. The input is read once and the amax recorded on the way.
// CHECK-LABEL: gpu.func @quantize_float8_delayed_scaling_e4m3_bf16_both_v16(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK-NOT: llvm.load %{{.*}} invariant
// CHECK: arith.maxnumf %{{.*}} : vector<8xf32>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<8xi8>
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : vector<4xi8>
// CHECK: gpu.barrier
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<16xi8>
// CHECK: gpu.barrier
// CHECK: llvm.atomicrmw umax
// CHECK: gpu.return

// Zeroing runs for an empty tensor as well, the reduction does not.
// CHECK-LABEL: func.func private @te_quant_launch_amax_bf16(
// CHECK-NOT: scf.if
// CHECK: gpu.launch_func async [%{{.*}}] @te_quant_kernels::@zero_f32_v1
// CHECK: scf.if
// CHECK: scf.if
// CHECK: @te_quant_kernels::@amax_bf16_v16
// CHECK: @te_quant_kernels::@amax_bf16_v1

// A launch picks vectors where all of the addresses and both extents allow it.
// CHECK-LABEL: func.func private @te_quant_launch_quantize_float8_delayed_scaling_e4m3_bf16_both(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[ROWS:.*]]: i64, %[[COLS:.*]]: i64, %{{.*}}: !gpu.async.token)
// CHECK: @te_quant_kernels::@zero_f32_v1
// CHECK-DAG: arith.remui %[[COLS]], %c8_i64
// CHECK-DAG: arith.remui %[[ROWS]], %c16_i64
