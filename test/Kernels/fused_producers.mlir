// Kernels with a region: which ones are shared, what they take, and that they need no library.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s
// RUN: te-opt %s --te-quant-gpu-pipeline="chip=sm_90a format=isa kernels=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX < %t/te_quant_kernels.ptx

#row = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>
#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>
!x = memref<?x?xbf16>
!d = memref<?x?xf8E4M3FN>
!s = memref<?x?xf8E8M0FNU>

// Equal regions have one kernel, whatever the rank and the names; another op, another attribute, another map or no
// region have another one.
// CHECK-LABEL: func.func @names(
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_fused_[[ADD:[0-9a-f]{16}]](
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_fused_[[ADD]](
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_fused_[[MUL:[0-9a-f]{16}]](
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_fused_[[FAST:[0-9a-f]{16}]](
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise_fused_[[BIAS:[0-9a-f]{16}]](
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_bf16_rowwise(
// CHECK-NOT: call
// CHECK: return
func.func @names(%x: !x, %y: !x, %b: memref<?xbf16>, %x3: memref<2x3x32xbf16>, %d3: memref<2x3x32xf8E4M3FN>,
                 %s3: memref<128x4xf8E8M0FNU>, %d: !d, %s: !s) {
  te_quant.quantize_into #row ins(%x, %y : !x, !x) outs(%d, %s : !d, !s) fuse {
  ^bb0(%e: bf16, %f: bf16):
    %v = arith.addf %e, %f : bf16
    te_quant.yield %v : bf16
  }
  te_quant.quantize_into #row ins(%x3, %x3 : memref<2x3x32xbf16>, memref<2x3x32xbf16>)
    outs(%d3, %s3 : memref<2x3x32xf8E4M3FN>, memref<128x4xf8E8M0FNU>) fuse {
  ^bb0(%left: bf16, %right: bf16):
    %sum = arith.addf %left, %right : bf16
    te_quant.yield %sum : bf16
  }
  te_quant.quantize_into #row ins(%x, %y : !x, !x) outs(%d, %s : !d, !s) fuse {
  ^bb0(%e: bf16, %f: bf16):
    %v = arith.mulf %e, %f : bf16
    te_quant.yield %v : bf16
  }
  te_quant.quantize_into #row ins(%x, %y : !x, !x) outs(%d, %s : !d, !s) fuse {
  ^bb0(%e: bf16, %f: bf16):
    %v = arith.addf %e, %f fastmath<nnan> : bf16
    te_quant.yield %v : bf16
  }
  te_quant.quantize_into #row ins(%x, %b : !x, memref<?xbf16>) outs(%d, %s : !d, !s) fuse maps [#all, #cols] {
  ^bb0(%e: bf16, %f: bf16):
    %v = arith.addf %e, %f : bf16
    te_quant.yield %v : bf16
  }
  te_quant.quantize_into #row ins(%x : !x) outs(%d, %s : !d, !s)
  return
}

// All kernels of a tensor-scaled op get the region; one loads a bias as a vector, a scale of the tensor as a scalar.
// CHECK-LABEL: func.func @current(
// CHECK: call @te_quant_launch_amax_f16_fused_[[GELU:[0-9a-f]{16}]](
// CHECK: call @te_quant_launch_quantize_float8_current_scaling_e4m3_f16_both_fused_[[GELU]](
// CHECK: call @te_quant_launch_column_sum_f16_bf16_fused_[[GELU]](
func.func @current(%x: memref<?x?xf32>, %b: memref<?xf32>, %c: memref<f32>, %a: memref<1xf32>, %d: !d, %p: memref<?xbf16>,
                   %q: memref<?x?xf32>) {
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%x, %b, %c : memref<?x?xf32>, memref<?xf32>, memref<f32>) outs(%a : memref<1xf32>)
    fuse maps [#all, #cols, affine_map<(d0, d1) -> ()>] {
  ^bb0(%e: f32, %f: f32, %g: f32):
    %h = arith.addf %e, %f : f32
    %i = arith.mulf %h, %g : f32
    %j = math.tanh %i : f32
    %k = math.erf %h : f32
    %l = math.exp %j : f32
    %m = arith.mulf %l, %k : f32
    %v = arith.truncf %m : f32 to f16
    te_quant.yield %v : f16
  }
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN>
    ins(%x, %b, %c : memref<?x?xf32>, memref<?xf32>, memref<f32>) amax(%a : memref<1xf32>)
    outs(%d, %d, %a : !d, !d, memref<1xf32>)
    fuse maps [#all, #cols, affine_map<(d0, d1) -> ()>] {
  ^bb0(%e: f32, %f: f32, %g: f32):
    %h = arith.addf %e, %f : f32
    %i = arith.mulf %h, %g : f32
    %j = math.tanh %i : f32
    %k = math.erf %h : f32
    %l = math.exp %j : f32
    %m = arith.mulf %l, %k : f32
    %v = arith.truncf %m : f32 to f16
    te_quant.yield %v : f16
  }
  te_quant.column_sum_into ins(%x, %b, %c : memref<?x?xf32>, memref<?xf32>, memref<f32>)
    outs(%p, %q : memref<?xbf16>, memref<?x?xf32>)
    fuse maps [#all, #cols, affine_map<(d0, d1) -> ()>] {
  ^bb0(%e: f32, %f: f32, %g: f32):
    %h = arith.addf %e, %f : f32
    %i = arith.mulf %h, %g : f32
    %j = math.tanh %i : f32
    %k = math.erf %h : f32
    %l = math.exp %j : f32
    %m = arith.mulf %l, %k : f32
    %v = arith.truncf %m : f32 to f16
    te_quant.yield %v : f16
  }
  return
}

// Inputs come first; a single value needs no alignment of vectors.
// CHECK-LABEL: gpu.func @amax_f16_fused_{{[0-9a-f]+}}_v16(
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias}
// CHECK: %[[COL:.*]] = arith.remui
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: math.tanh %{{.*}} : vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>

// PTX-NOT: .extern
// PTX: .visible .entry {{.*}}_fused_
// PTX-NOT: .extern
// PTX-NOT: call.uni
