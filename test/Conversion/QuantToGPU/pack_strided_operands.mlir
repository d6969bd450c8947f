// Ops of ours get contiguous buffers before copies become loops.
// RUN: te-opt %s --pass-pipeline='builtin.module(func.func(te-quant-prepare-gpu-loops))' \
// RUN:   | FileCheck %s

#q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>

// A strided input is copied before, a strided output after the op.
// CHECK-LABEL: func.func @strided(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x64xf32, {{.*}}>, %[[D:[^:]*]]: memref<?x64xf8E4M3FN, {{.*}}>,
// CHECK: %[[PX:.*]] = memref.alloc(%{{.*}}) : memref<?x64xf32>
// CHECK: scf.parallel
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[PX]]
// CHECK: %[[PD:.*]] = memref.alloc(%{{.*}}) : memref<?x64xf8E4M3FN>
// CHECK-NOT: memref.store
// CHECK: te_quant.quantize_into {{.*}} ins(%[[PX]] : memref<?x64xf32>) outs(%[[PD]],
// CHECK: memref.load %[[PD]]
// CHECK: memref.store %{{.*}}, %[[D]]
// CHECK-DAG: memref.dealloc %[[PX]] : memref<?x64xf32>
// CHECK-DAG: memref.dealloc %[[PD]] : memref<?x64xf8E4M3FN>
func.func @strided(%x: memref<?x64xf32, strided<[100, 1], offset: ?>>,
                   %d: memref<?x64xf8E4M3FN, strided<[?, 1]>>,
                   %s: memref<?x4xf8E8M0FNU>) {
  te_quant.quantize_into #q
    ins(%x : memref<?x64xf32, strided<[100, 1], offset: ?>>)
    outs(%d, %s : memref<?x64xf8E4M3FN, strided<[?, 1]>>, memref<?x4xf8E8M0FNU>)
  return
}

// With a flag the output may have to keep its contents.
// CHECK-LABEL: func.func @strided_noop(
// CHECK-SAME: %[[D:[^:]*]]: memref<2x64xf8E4M3FN, {{.*}}>,
// CHECK: %[[PD:.*]] = memref.alloc() : memref<2x64xf8E4M3FN>
// CHECK: memref.load %[[D]]
// CHECK: memref.store %{{.*}}, %[[PD]]
// CHECK: te_quant.quantize_into
// CHECK: memref.store %{{.*}}, %[[D]]
func.func @strided_noop(%d: memref<2x64xf8E4M3FN, strided<[100, 1]>>,
                        %x: memref<2x64xf32>, %n: memref<1xf32>,
                        %s: memref<128x4xf8E8M0FNU>) {
  te_quant.quantize_into #q ins(%x : memref<2x64xf32>) noop(%n : memref<1xf32>)
    outs(%d, %s : memref<2x64xf8E4M3FN, strided<[100, 1]>>,
                  memref<128x4xf8E8M0FNU>)
  return
}

// An offset alone needs no copy, nor does a stride of a dim of size one.
// CHECK-LABEL: func.func @contiguous(
// CHECK-NOT: memref.alloc
// CHECK: te_quant.quantize_into
func.func @contiguous(%x: memref<1x64xf32, strided<[100, 1], offset: 10>>,
                      %d: memref<1x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>) {
  te_quant.quantize_into #q
    ins(%x : memref<1x64xf32, strided<[100, 1], offset: 10>>)
    outs(%d, %s : memref<1x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// Collectives too.
// CHECK-LABEL: func.func @gather(
// CHECK: %[[P:.*]] = memref.alloc() : memref<4x3xf32>
// CHECK: te_quant.all_gather_into ins(%[[P]] : memref<4x3xf32>) outs(%{{.*}} : memref<8x3xf32>)
func.func @gather(%x: memref<4x3xf32, strided<[6, 1]>>, %y: memref<8x3xf32>) {
  te_quant.all_gather_into ins(%x : memref<4x3xf32, strided<[6, 1]>>) outs(%y : memref<8x3xf32>) {group = "tp", size = 2 : i64}
  return
}
