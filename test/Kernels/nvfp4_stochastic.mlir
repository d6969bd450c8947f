// The kernels of stochastic rounding: names, the random state, and one Philox
// draw for a block of each direction.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NAMES

!x = memref<?x?xbf16>
!f = memref<?x?xf32>
!b = memref<?x?xi8>
!s = memref<?x?xf8E4M3FN>
!a = memref<1xf32>
!g = memref<2xi64>

// NAMES-DAG: gpu.func @quantize_nvfp4_f32_rowwise_sr_v16(
// NAMES-DAG: gpu.func @quantize_nvfp4_f32_rowwise_sr_v1(
// NAMES-DAG: gpu.func @quantize_nvfp4_bf16_columnwise_sr_v16(
// NAMES-DAG: gpu.func @quantize_nvfp4_bf16_both_sr_v16(
// NAMES-DAG: gpu.func @quantize_nvfp4_bf16_columnwise_2d_sr_swizzled_noop_v16(
// NAMES-DAG: gpu.func @quantize_nvfp4_bf16_both_rht_sr_v1(
// NAMES-DAG: gpu.func @quantize_nvfp4_bf16_rowwise_2d_rht_sr_v1(

// CHECK-LABEL: func.func @state(
// CHECK-SAME: %[[STATE:[a-z0-9]+]]: memref<2xi64>
// CHECK: memref.extract_aligned_pointer_as_index %[[STATE]]
// CHECK: call @te_quant_launch_quantize_nvfp4_f32_rowwise_sr(
func.func @state(%x: !f, %g: !g, %d: !b, %s: !s, %a: !a, %o: !a) {
  te_quant.quantize_into #te_quant.nvfp4<usage = rowwise, stochastic_rounding = true>
    ins(%x : !f) amax(%a : !a) rng(%g : !g) outs(%d, %s, %o : !b, !s, !a)
  return
}

// f32 has one order of the words, whatever the extents are; seed and offset are
// read once.
// CHECK-LABEL: gpu.func @quantize_nvfp4_f32_rowwise_sr_v16(
// CHECK-SAME: %[[STATE:[a-z0-9]+]]: !llvm.ptr {llvm.align = 8 : i64, llvm.noalias, llvm.readonly}
// CHECK-COUNT-2: llvm.load {{.*}} invariant {{.*}} : !llvm.ptr -> i64
// CHECK: scf.for
// CHECK-NOT: llvm.load {{.*}} -> i64
// CHECK-COUNT-20: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: vector.bitcast {{.*}} : vector<4xi32> to vector<16xi8>
// CHECK: arith.uitofp {{.*}} : vector<16xi8> to vector<16xf32>
// CHECK: te_quant.cast {{.*}} : vector<16xf32> to vector<16xf4E2M1FN>
// CHECK-NOT: arith.mului_extended
// CHECK: gpu.return

// So has a single columnwise direction of bf16.
// CHECK-LABEL: gpu.func @quantize_nvfp4_bf16_columnwise_sr_v16(
// CHECK-NOT: arith.ori {{.*}} : i64
// CHECK: arith.mului_extended
// CHECK: gpu.return

// Else the order depends on the extents.
// CHECK-LABEL: gpu.func @quantize_nvfp4_bf16_both_sr_v16(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64, %[[COLS:[a-z0-9]+]]: i64) kernel
// CHECK: %[[BITS:.*]] = arith.ori %[[ROWS]], %[[COLS]] : i64
// CHECK: %[[REST:.*]] = arith.remui %[[BITS]], %c32_i64
// CHECK: %[[TUNED:.*]] = arith.cmpi eq, %[[REST]], %c0_i64
// CHECK: arith.select %[[TUNED]]
// CHECK-COUNT-20: arith.mului_extended
// CHECK: arith.select %[[TUNED]]
// CHECK-COUNT-20: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: gpu.return
func.func @names(%x: !x, %g: !g, %n: !a, %d: !b, %s: !s, %a: !a, %o: !a) {
  te_quant.quantize_into #te_quant.nvfp4<usage = columnwise, stochastic_rounding = true>
    ins(%x : !x) amax(%a : !a) rng(%g : !g) outs(%d, %s, %o : !b, !s, !a)
  te_quant.quantize_into #te_quant.nvfp4<stochastic_rounding = true>
    ins(%x : !x) amax(%a : !a) rng(%g : !g)
    outs(%d, %s, %d, %s, %o, %o : !b, !s, !b, !s, !a, !a)
  te_quant.quantize_into #te_quant.nvfp4<usage = columnwise, with_2d_quantization = true,
      stochastic_rounding = true, optimize_for_gemm = true>
    ins(%x : !x) noop(%n : !a) amax(%a : !a) rng(%g : !g)
    outs(%d, %s, %o : !b, !s, !a)
  te_quant.quantize_into #te_quant.nvfp4<with_rht = true, with_post_rht_amax = true,
      stochastic_rounding = true>
    ins(%x : !x) amax(%a, %a : !a, !a) rng(%g : !g)
    outs(%d, %s, %d, %s, %o, %o : !b, !s, !b, !s, !a, !a)
  te_quant.quantize_into #te_quant.nvfp4<usage = rowwise, with_rht = true,
      with_post_rht_amax = true, with_2d_quantization = true,
      stochastic_rounding = true>
    ins(%x : !x) amax(%a, %a : !a, !a) rng(%g : !g)
    outs(%d, %s, %o : !b, !s, !a)
  return
}
