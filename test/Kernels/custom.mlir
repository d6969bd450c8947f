// A custom format is a call of the function that its quantizer names: what the
// launch function hands it, and what it does around the call.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --cse --canonicalize | FileCheck %s

#halves = #te_quant.custom<"halves", layout = #te_quant.layout<
    codes : i8[leading, cols], scale : f32[rows]>,
  quantize = "halves_quantize", dequantize = "halves_dequantize">
#copies = #te_quant.custom<"copies", layout = #te_quant.layout<
    copy : f32[leading, cols]>, quantize = "copy_in", dequantize = "copy_out">

!x = memref<2x?x?xf32>
!c = memref<2x?x?xi8>
!s = memref<?xf32>
!f = memref<1xf32>

// Nothing is known of the library but the names.
// CHECK-DAG: llvm.func @halves_quantize(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr)
// CHECK-DAG: llvm.func @halves_dequantize(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr)

// Flattened extents; two ops share a launch function, the one with a flag has
// its own.
// CHECK-LABEL: func.func @quantize(
// CHECK: %[[DIM:.*]] = memref.dim %{{.*}}, %c1
// CHECK: %[[ROWS:.*]] = arith.muli
// CHECK: call @te_quant_launch_custom_halves_quantize(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROWS]], %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !gpu.async.token) -> ()
// CHECK: call @te_quant_launch_custom_halves_quantize(
// CHECK: call @te_quant_launch_custom_halves_quantize_noop(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
func.func @quantize(%x: !x, %f: !f, %c: !c, %s: !s, %d: !c, %t: !s) {
  te_quant.quantize_into #halves ins(%x : !x) outs(%c, %s : !c, !s)
  te_quant.quantize_into #halves ins(%x : !x) outs(%d, %t : !c, !s)
  te_quant.quantize_into #halves ins(%x : !x) noop(%f : !f) outs(%c, %s : !c, !s)
  return
}

// CHECK-LABEL: func.func @dequantize(
// CHECK: call @te_quant_launch_custom_halves_dequantize(
func.func @dequantize(%c: !c, %s: !s, %y: !x) {
  te_quant.dequantize_into #halves ins(%c, %s : !c, !s) outs(%y : !x)
  return
}

// The function may be in the module.
// CHECK-LABEL: func.func @in_module(
// CHECK: call @te_quant_launch_custom_copy_in(
// CHECK: call @te_quant_launch_custom_copy_out(
func.func @in_module(%x: memref<4x8xf32>, %c: memref<4x8xf32>,
                     %y: memref<4x8xf32>) {
  te_quant.quantize_into #copies ins(%x : memref<4x8xf32>)
    outs(%c : memref<4x8xf32>)
  te_quant.dequantize_into #copies ins(%c : memref<4x8xf32>)
    outs(%y : memref<4x8xf32>)
  return
}
func.func @copy_in(%x: !llvm.ptr, %c: !llvm.ptr, %rows: i64, %cols: i64,
                   %stream: !llvm.ptr) {
  return
}
llvm.func @copy_out(%c: !llvm.ptr, %y: !llvm.ptr, %rows: i64, %cols: i64,
                    %stream: !llvm.ptr) {
  llvm.return
}

// An empty tensor makes no call, and an error none either.
// CHECK-LABEL: func.func private @te_quant_launch_custom_halves_quantize(
// CHECK-SAME: %[[X:[^ :]*]]: !llvm.ptr, %[[C:[^ :]*]]: !llvm.ptr, %[[S:[^ :]*]]: !llvm.ptr, %[[ROWS:[^ :]*]]: i64, %[[COLS:[^ :]*]]: i64, %[[TOKEN:[^ :]*]]: !gpu.async.token) {
// CHECK-DAG: %[[HAS_ROWS:.*]] = arith.cmpi ne, %[[ROWS]], %c0_i64
// CHECK-DAG: %[[HAS_COLS:.*]] = arith.cmpi ne, %[[COLS]], %c0_i64
// CHECK: %[[WORK:.*]] = arith.andi %[[HAS_ROWS]], %[[HAS_COLS]]
// CHECK-NOT: call
// CHECK: scf.if %[[WORK]] {
// CHECK: %[[STREAM:.*]] = builtin.unrealized_conversion_cast %[[TOKEN]] : !gpu.async.token to !llvm.ptr
// CHECK: %[[ERROR:.*]] = llvm.call @teRuntimeGetError()
// CHECK: %[[RUNS:.*]] = llvm.icmp "eq" %[[ERROR]], %{{.*}}
// CHECK: scf.if %[[RUNS]] {
// CHECK: llvm.call @halves_quantize(%[[X]], %[[C]], %[[S]], %[[ROWS]], %[[COLS]], %[[STREAM]]) :
// CHECK-NOT: call
// CHECK: return

// The flag is read on the host, and kept from the function.
// CHECK-LABEL: func.func private @te_quant_launch_custom_halves_quantize_noop(
// CHECK-SAME: %[[X:[^ :]*]]: !llvm.ptr, %[[FLAG:[^ :]*]]: !llvm.ptr, %[[C:[^ :]*]]: !llvm.ptr, %[[S:[^ :]*]]: !llvm.ptr,
// CHECK: %[[HOST:.*]] = llvm.alloca
// CHECK: scf.if
// CHECK: llvm.store %cst{{.*}}, %[[HOST]] : f32
// CHECK: llvm.call @mgpuMemcpy(%[[HOST]], %[[FLAG]], %c4_i64, %[[STREAM:[^ )]*]])
// CHECK: llvm.call @mgpuStreamSynchronize(%[[STREAM]])
// CHECK: %[[VALUE:.*]] = llvm.load %[[HOST]]
// CHECK: %[[IS_OFF:.*]] = arith.cmpf une, %[[VALUE]], %cst
// CHECK: %[[RUNS:.*]] = arith.andi %{{.*}}, %[[IS_OFF]]
// CHECK: scf.if %[[RUNS]] {
// CHECK: llvm.call @halves_quantize(%[[X]], %[[C]], %[[S]], %{{.*}}, %{{.*}}, %[[STREAM]])

// CHECK-LABEL: func.func private @te_quant_launch_custom_copy_in(
// CHECK: call @copy_in(
// CHECK-LABEL: func.func private @te_quant_launch_custom_copy_out(
// CHECK: llvm.call @copy_out(
