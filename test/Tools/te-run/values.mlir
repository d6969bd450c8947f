// Every kind of value that crosses an entry's boundary: scalars of each width,
// tensors of rank 0 and of no elements, inner tensors that share the number of
// their result, and results that are arguments' buffers.

// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s --gpu-to-llvm -o %t/lowered.mlir
// RUN: %files pack %t/f32.bin f 1.5
// RUN: %files pack %t/i32.bin i -2
// RUN: %files pack %t/i1.bin b 1
// RUN: %files pack %t/i8.bin b -3
// RUN: %files pack %t/bf16.bin H 16256
// RUN: %files pack %t/f64.bin d 2.5
// RUN: %files pack %t/empty.bin f

// The order mixes widths, so that what is returned has padding.
// RUN: te-run %t/lowered.mlir --entry=scalars --target=emulate \
// RUN:   --input %t/f32.bin --input %t/i1.bin --input %t/i32.bin \
// RUN:   --input %t/i8.bin --input %t/f64.bin --input %t/bf16.bin \
// RUN:   --output-dir %t/scalars
// RUN: FileCheck %s --check-prefix=SCALARS --input-file=%t/scalars/manifest.json
// RUN: %files show %t/scalars/0_value.bin b | FileCheck %s --check-prefix=I1
// RUN: %files show %t/scalars/1_value.bin f | FileCheck %s --check-prefix=F32
// RUN: %files show %t/scalars/2_value.bin b | FileCheck %s --check-prefix=I8
// RUN: %files show %t/scalars/3_value.bin d | FileCheck %s --check-prefix=F64
// RUN: %files show %t/scalars/4_value.bin H | FileCheck %s --check-prefix=BF16
// RUN: %files show %t/scalars/5_value.bin i | FileCheck %s --check-prefix=I32

// RUN: te-run %t/lowered.mlir --entry=one_scalar --target=emulate \
// RUN:   --input %t/f32.bin --output-dir %t/one_scalar
// RUN: %files show %t/one_scalar/0_value.bin f | FileCheck %s --check-prefix=F32

// RUN: te-run %t/lowered.mlir --entry=none --target=emulate --output-dir %t/none
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t/none/manifest.json

// The same buffer comes back three times and is freed once.
// RUN: te-run %t/lowered.mlir --entry=aliases --target=emulate \
// RUN:   --input %t/f32.bin --input %t/empty.bin:0x64 --output-dir %t/aliases
// RUN: FileCheck %s --check-prefix=ALIASES --input-file=%t/aliases/manifest.json
// RUN: %files show %t/aliases/0_data.bin f | FileCheck %s --check-prefix=F32
// RUN: %files show %t/aliases/0_scale_inv.bin f | FileCheck %s --check-prefix=F32
// RUN: %files show %t/aliases/2_data.bin f | FileCheck %s --check-prefix=F32
// RUN: %files show %t/aliases/1_data.bin f | FileCheck %s --check-prefix=EMPTY

// SCALARS: "dtype":"i1",
// SCALARS: "dtype":"f32",
// SCALARS: "shape":[],"dtype":"i8",
// SCALARS: "dtype":"f64",
// SCALARS: "dtype":"bf16",
// SCALARS: "dtype":"i32",
// I1: 1
// F32: 1.5
// I8: -3
// F64: 2.5
// BF16: 16256
// I32: -2
// NONE: []
// ALIASES:      {"result":0,"name":"data","shape":[],"dtype":"f32","file":"0_data.bin"},
// ALIASES-NEXT: {"result":0,"name":"scale_inv","shape":[],"dtype":"f32","file":"0_scale_inv.bin"},
// ALIASES-NEXT: {"result":1,"name":"data","shape":[0,64],"dtype":"f32","file":"1_data.bin"},
// ALIASES-NEXT: {"result":2,"name":"data","shape":[],"dtype":"f32","file":"2_data.bin"}
// EMPTY-NOT: {{[0-9]}}

func.func @scalars(%a: f32, %b: i1, %c: i32, %d: i8, %e: f64, %f: bf16)
    -> (i1, f32, i8, f64, bf16, i32) attributes {
  te_quant.args = [
    {position = 0 : i64, name = "value", type = f32},
    {position = 1 : i64, name = "value", type = i1},
    {position = 2 : i64, name = "value", type = i32},
    {position = 3 : i64, name = "value", type = i8},
    {position = 4 : i64, name = "value", type = f64},
    {position = 5 : i64, name = "value", type = bf16}],
  te_quant.results = [
    {position = 0 : i64, name = "value", type = i1},
    {position = 1 : i64, name = "value", type = f32},
    {position = 2 : i64, name = "value", type = i8},
    {position = 3 : i64, name = "value", type = f64},
    {position = 4 : i64, name = "value", type = bf16},
    {position = 5 : i64, name = "value", type = i32}]} {
  return %b, %a, %d, %e, %f, %c : i1, f32, i8, f64, bf16, i32
}

func.func @one_scalar(%a: f32) -> f32 attributes {
  te_quant.args = [{position = 0 : i64, name = "value", type = f32}],
  te_quant.results = [{position = 0 : i64, name = "value", type = f32}]} {
  return %a : f32
}

func.func @none() attributes {te_quant.args = [], te_quant.results = []} {
  return
}

func.func @aliases(%a: memref<f32>, %b: memref<?x64xf32>)
    -> (memref<f32>, memref<f32>, memref<?x64xf32>) attributes {
  te_quant.args = [
    {position = 0 : i64, name = "data", type = tensor<f32>},
    {position = 1 : i64, name = "data", type = tensor<?x64xf32>}],
  te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<f32>},
    {position = 0 : i64, name = "scale_inv", type = tensor<f32>},
    {position = 1 : i64, name = "data", type = tensor<?x64xf32>},
    {position = 2 : i64, name = "data", type = tensor<f32>}],
  te_quant.tied = [array<i64: 3, 0>]} {
  return %a, %a, %b : memref<f32>, memref<f32>, memref<?x64xf32>
}
