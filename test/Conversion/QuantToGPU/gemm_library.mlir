// With gemm=library a product is a call of the runtime, and no kernel.
// RUN: te-opt %s --te-quant-to-gpu=gemm=library | FileCheck %s --implicit-check-not=gpu.module

// CHECK: llvm.func @teRuntimeGemm(!llvm.ptr, !llvm.ptr)
// CHECK-LABEL: func.func @product(
// CHECK: call @te_quant_launch_gemm_bf16_f32_f16_library(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, !gpu.async.token) -> ()
func.func @product(%a: memref<4x5xbf16>, %b: memref<3x5xf32>, %k: index, %y: memref<3x4xf16>) {
  te_quant.gemm_into TN a(%a : memref<4x5xbf16>) b(%b : memref<3x5xf32>) depth(%k) outs(%y : memref<3x4xf16>)
  return
}

// CHECK-LABEL: func.func private @te_quant_launch_gemm_bf16_f32_f16_library(
// CHECK-SAME: %[[A:[^:]*]]: !llvm.ptr, %[[B:[^:]*]]: !llvm.ptr, %[[Y:[^:]*]]: !llvm.ptr, %[[M:[^:]*]]: i64, %[[N:[^:]*]]: i64, %[[K:[^:]*]]: i64, %[[TOKEN:.*]]: !gpu.async.token
// CHECK: %[[GEMM:.*]] = llvm.alloca %c34_i64{{.*}} x i64
// CHECK: %[[CODES:.*]] = llvm.getelementptr %[[GEMM]][0]
// CHECK: llvm.store %[[A]], %[[CODES]]
// CHECK: %[[CODES_B:.*]] = llvm.getelementptr %[[GEMM]][12]
// CHECK: llvm.store %[[B]], %[[CODES_B]]
// CHECK: %[[ROWS:.*]] = llvm.getelementptr %[[GEMM]][24]
// CHECK: llvm.store %[[M]], %[[ROWS]]
// CHECK: %[[RESULT:.*]] = llvm.getelementptr %[[GEMM]][29]
// CHECK: llvm.store %[[Y]], %[[RESULT]]
// CHECK: %[[STREAM:.*]] = builtin.unrealized_conversion_cast %[[TOKEN]]
// CHECK: llvm.call @teRuntimeGemm(%[[GEMM]], %[[STREAM]])
