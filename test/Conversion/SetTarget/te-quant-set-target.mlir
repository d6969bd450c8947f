// Quantizers become what a chip's GEMMs take, wherever they stand.
// RUN: te-opt %s --te-quant-set-target=chip=sm_100a | FileCheck %s --check-prefixes=CHECK,NONTN
// RUN: te-opt %s --te-quant-set-target=chip=sm_90a | FileCheck %s --check-prefixes=CHECK,TN
// RUN: te-opt %s --te-quant-set-target=chip=sm_103 | FileCheck %s --check-prefixes=CHECK,NONTN
// RUN: te-opt %s --te-quant-set-target=chip=sm_120a | FileCheck %s --check-prefixes=CHECK,TN
// RUN: te-opt %s --te-quant-set-target="chip=sm_90a optimize-for-gemm=true" | FileCheck %s --check-prefixes=CHECK,GEMM
// There and back again is what there was, but for what stood out.
// RUN: te-opt %s --te-quant-set-target=chip=sm_100a --te-quant-set-target=chip=sm_90a -o %t.mlir
// RUN: te-opt %s --te-quant-set-target=chip=sm_90a | diff - %t.mlir

!current = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = 0.5>>
!set = !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>
!delayed = !te_quant.tensor<?x16xbf16, #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>>
!mxfp8 = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
!nvfp4 = !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise>>
!hybrid = !te_quant.tensor<32x64xbf16, #te_quant.hybrid<
    rowwise = #te_quant.float8_current_scaling<f8E4M3FN>,
    columnwise = #te_quant.mxfp8<f8E4M3FN>>>

// Attributes of ops have short names.
// NONTN: #[[DELAYED:.*]] = #te_quant.float8_delayed_scaling<f8E5M2, non_tn_gemm = true>
// TN: #[[DELAYED:.*]] = #te_quant.float8_delayed_scaling<f8E5M2>

// Functions, calls and block arguments.
// CHECK-LABEL: func.func private @declared(
// NONTN-SAME: tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = {{[^,]*}}, non_tn_gemm = true>>)
// NONTN-SAME: -> !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>>
// TN-SAME: tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = {{[^,>]*}}>>)
// TN-SAME: -> !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN>>
func.func private @declared(!current) -> !set

// CHECK-LABEL: func.func @calls(
// NONTN: cf.br ^bb1(%{{.*}} : !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = {{[^,]*}}, non_tn_gemm = true>>)
// NONTN: ^bb1(%{{.*}}: !te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<f8E4M3FN, amax_epsilon = {{[^,]*}}, non_tn_gemm = true>>):
// NONTN: call @declared(%{{.*}}) : (!te_quant.tensor<{{.*}}non_tn_gemm = true>>) -> !te_quant.tensor<{{.*}}non_tn_gemm = true>>
// TN-NOT: non_tn_gemm
func.func @calls(%x: tensor<8x16xbf16>) -> !set {
  %q = te_quant.quantize %x : tensor<8x16xbf16> -> !current
  cf.br ^bb1(%q : !current)
^bb1(%r: !current):
  %s = call @declared(%r) : (!current) -> !set
  return %s : !set
}

// Attributes of ops, and of functions.
// CHECK-LABEL: func.func @attributes(
// NONTN-SAME: my.quantizer = #[[DELAYED]]}
// TN-SAME: my.quantizer = #[[DELAYED]]}
func.func @attributes(%x: tensor<?x16xbf16>, %h: tensor<4xf32>, %s: tensor<1xf32>)
    -> (!delayed, tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) attributes {
    my.quantizer = #te_quant.float8_delayed_scaling<f8E5M2, non_tn_gemm = true>} {
  // NONTN: te_quant.quantize {{.*}} -> !te_quant.tensor<?x16xbf16, #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise, non_tn_gemm = true>>
  // TN: te_quant.quantize {{.*}} -> !te_quant.tensor<?x16xbf16, #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>>
  %q, %a = te_quant.quantize %x scale(%s) : tensor<?x16xbf16>, tensor<1xf32> -> !delayed, tensor<1xf32>
  // NONTN: te_quant.update_scale #[[DELAYED]] max
  // TN: te_quant.update_scale #[[DELAYED]] max
  %h2, %s2 = te_quant.update_scale #te_quant.float8_delayed_scaling<f8E5M2> max %h, %a, %s
    : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  return %q, %a, %h2, %s2 : !delayed, tensor<1xf32>, tensor<4xf32>, tensor<1xf32>
}

// Children of a hybrid.
// CHECK-LABEL: func.func @hybrid(
// NONTN-SAME: rowwise = #te_quant.float8_current_scaling<f8E4M3FN, non_tn_gemm = true>, columnwise = #te_quant.mxfp8<f8E4M3FN>>
// TN-SAME: rowwise = #te_quant.float8_current_scaling<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E4M3FN>>
// GEMM-SAME: rowwise = #te_quant.float8_current_scaling<f8E4M3FN>, columnwise = #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>
func.func @hybrid(%q: !hybrid) -> tensor<32x64xf32> {
  %y = te_quant.dequantize %q : !hybrid -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// The order of scales changes where it is asked for and the family has one.
// CHECK-LABEL: func.func @gemm_order(
// NONTN-SAME: #te_quant.mxfp8<f8E4M3FN>>, %{{.*}}: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise>>
// TN-SAME: #te_quant.mxfp8<f8E4M3FN>>, %{{.*}}: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise>>
// GEMM-SAME: #te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>, %{{.*}}: !te_quant.tensor<32x64xbf16, #te_quant.nvfp4<usage = rowwise, optimize_for_gemm = true>>
// GEMM-SAME: #te_quant.float8_delayed_scaling<f8E5M2, usage = rowwise>>
func.func @gemm_order(%a: !mxfp8, %b: !nvfp4, %c: !delayed) -> (!mxfp8, !nvfp4, !delayed) {
  return %a, %b, %c : !mxfp8, !nvfp4, !delayed
}

// Nested modules belong to the module.
// CHECK-LABEL: module @nested
// NONTN: func.func private @inner(!te_quant.tensor<8x16xbf16, #te_quant.float8_current_scaling<{{.*}}non_tn_gemm = true>>)
module @nested {
  func.func private @inner(!current)
}
