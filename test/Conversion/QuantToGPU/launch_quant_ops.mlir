// What a call of a launch function passes: pointers of contiguous buffers, the
// flattened extents, the stream.
// RUN: te-opt %s --te-quant-to-gpu --cse --canonicalize | FileCheck %s

#q = #te_quant.mxfp8<f8E4M3FN, usage = rowwise>

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x3x?xf32>, %[[D:[^:]*]]: memref<?x3x?xf8E4M3FN>, %[[S:[^:]*]]: memref<?x?xf8E8M0FNU>)
// CHECK-DAG: %[[STREAM:.*]] = gpu.wait async
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK-DAG: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG: %[[BITS:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK-DAG: %[[P:.*]] = llvm.inttoptr %[[BITS]] : i64 to !llvm.ptr
// CHECK-DAG: %[[DIM0:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG: %[[DIM0I:.*]] = arith.index_cast %[[DIM0]]
// CHECK-DAG: %[[ROWS:.*]] = arith.muli %[[DIM0I]], %[[THREE]] : i64
// CHECK-DAG: %[[DIM2:.*]] = memref.dim %[[X]], %c2
// CHECK-DAG: %[[COLS:.*]] = arith.index_cast %[[DIM2]]
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise(%[[P]], %{{.*}}, %{{.*}}, %[[ROWS]], %[[COLS]], %[[STREAM]])
func.func @dynamic(%x: memref<?x3x?xf32>, %d: memref<?x3x?xf8E4M3FN>,
                   %s: memref<?x?xf8E8M0FNU>) {
  te_quant.quantize_into #q ins(%x : memref<?x3x?xf32>)
    outs(%d, %s : memref<?x3x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>)
  return
}

// Rank 1 is one row.
// CHECK-LABEL: func.func @rank_1(
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 1 : i64
// CHECK-DAG: %[[COLS:.*]] = arith.constant 64 : i64
// CHECK: call @te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROWS]], %[[COLS]], %{{.*}})
func.func @rank_1(%x: memref<64xf32>, %d: memref<64xf8E4M3FN>,
                  %s: memref<128x4xf8E8M0FNU>) {
  te_quant.quantize_into #q ins(%x : memref<64xf32>)
    outs(%d, %s : memref<64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// A contiguous buffer may start anywhere: 10 elements of 4 bytes.
// CHECK-LABEL: func.func @offset(
// CHECK-SAME: %[[X:[^:]*]]: memref<
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 40 : i64
// CHECK-DAG: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG: %[[BITS:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK: arith.addi %[[BITS]], %[[BYTES]] : i64
// CHECK-NOT: gpu.alloc
func.func @offset(%x: memref<2x64xf32, strided<[64, 1], offset: 10>>,
                  %d: memref<2x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>) {
  te_quant.quantize_into #q
    ins(%x : memref<2x64xf32, strided<[64, 1], offset: 10>>)
    outs(%d, %s : memref<2x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>)
  return
}

// Launch functions come after, one for all of the above.
// CHECK: func.func private @te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise(
// CHECK-NOT: func.func private @te_quant_launch_quantize_mxfp8_e4m3_f32_rowwise(
