// Proves that collectives become calls of the runtime on contiguous buffers: the name of the group once, sizes in bytes or elements, the numbers of types and reductions, the stream.
// RUN: te-opt %s --te-quant-to-gpu --cse --canonicalize | FileCheck %s

// CHECK-DAG: llvm.func @teAllGather(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
// CHECK-DAG: llvm.func @teReduceScatter(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i32, !llvm.ptr)
// CHECK-DAG: llvm.func @teAllReduce(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i32, i32, !llvm.ptr)
// CHECK-DAG: llvm.mlir.global internal constant @[[NAME:.*]]("tp\00")

// CHECK-LABEL: func.func @calls(
// CHECK-DAG: %[[GROUP:.*]] = llvm.mlir.addressof @[[NAME]]
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 96 : i64
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 24 : i64
// bf16 and max have the same number.
// CHECK-DAG: %[[BF16:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[F32:.*]] = arith.constant 0 : i32
// CHECK: llvm.call @teAllGather(%[[GROUP]], %[[TWO]], %{{.*}}, %{{.*}}, %[[BYTES]], %{{.*}})
// CHECK: llvm.call @teReduceScatter(%[[GROUP]], %[[TWO]], %{{.*}}, %{{.*}}, %[[COUNT]], %[[BF16]], %{{.*}})
// CHECK: %[[DIM:.*]] = memref.dim
// CHECK: %[[N:.*]] = arith.index_cast %[[DIM]] : index to i64
// CHECK: llvm.call @teAllReduce(%[[GROUP]], %[[TWO]], %{{.*}}, %{{.*}}, %[[N]], %[[F32]], %[[BF16]], %{{.*}})
func.func @calls(%a: memref<4x6xf32>, %b: memref<8x6xf32>, %c: memref<8x6xbf16>, %d: memref<4x6xbf16>, %e: memref<?xf32>) {
  te_quant.all_gather_into ins(%a : memref<4x6xf32>) outs(%b : memref<8x6xf32>) {group = "tp", size = 2 : i64}
  te_quant.reduce_scatter_into ins(%c : memref<8x6xbf16>) outs(%d : memref<4x6xbf16>) {group = "tp", size = 2 : i64}
  te_quant.all_reduce_into max ins(%e : memref<?xf32>) outs(%e : memref<?xf32>) {group = "tp", size = 2 : i64}
  return
}
