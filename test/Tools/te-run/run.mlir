// A function with kernels runs on files: tensors of dynamic shape, a scalar and
// a stream go in, a new tensor, a tensor updated in place and a scalar come out.

// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s --convert-gpu-to-nvvm --gpu-to-llvm \
// RUN:   --gpu-module-to-binary=format=llvm --reconcile-unrealized-casts \
// RUN:   -o %t/lowered.mlir
// RUN: %files pack %t/x.bin f 1 2 3 4 5 6
// RUN: %files pack %t/acc.bin f 10 20 30 40 50 60
// RUN: %files pack %t/n.bin q 7
// RUN: te-run %t/lowered.mlir --entry=twice --target=emulate \
// RUN:   --input %t/x.bin:2x3 --input %t/acc.bin --input %t/n.bin \
// RUN:   --output-dir %t/made/out --emulator-stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/made/out/manifest.json
// RUN: %files show %t/made/out/0_data.bin f | FileCheck %s --check-prefix=TWICE
// RUN: %files show %t/made/out/1_data.bin f | FileCheck %s --check-prefix=SUM
// RUN: %files show %t/made/out/2_value.bin q | FileCheck %s --check-prefix=SCALAR
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t/stats.json
// RUN: %python -m json.tool %t/made/out/manifest.json

// A second run replaces the results of the first, and nothing else is left.
// RUN: %files pack %t/n.bin q 8
// RUN: te-run %t/lowered.mlir --entry=twice --target=emulate \
// RUN:   --input %t/x.bin:2x3 --input %t/acc.bin --input %t/n.bin \
// RUN:   --output-dir %t/made/out/ 2>&1 | count 0
// RUN: %files show %t/made/out/2_value.bin q | FileCheck %s --check-prefix=SECOND
// RUN: ls -A %t/made/out | FileCheck %s --check-prefix=FILES

// MANIFEST: [
// MANIFEST-NEXT: {"result":0,"name":"data","shape":[2,3],"dtype":"f32","file":"0_data.bin"},
// MANIFEST-NEXT: {"result":1,"name":"data","shape":[6],"dtype":"f32","file":"1_data.bin"},
// MANIFEST-NEXT: {"result":2,"name":"value","shape":[],"dtype":"index","file":"2_value.bin"}
// MANIFEST-NEXT: ]

// TWICE: 2.0 4.0 6.0 8.0 10.0 12.0
// SUM: 11.0 22.0 33.0 44.0 55.0 66.0
// SCALAR: 42
// SECOND: 48

// STATS: "twice"
// STATS: "bytes_read": 48
// STATS: "faults": []

// FILES: 0_data.bin
// FILES-NEXT: 1_data.bin
// FILES-NEXT: 2_value.bin
// FILES-NEXT: manifest.json
// FILES-NOT: {{.}}

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
    gpu.func @twice(%in: memref<?x?xf32>, %out: memref<?x?xf32>,
                    %acc: memref<6xf32>) kernel {
      %row = gpu.block_id x
      %col = gpu.thread_id x
      %cols = gpu.block_dim x
      %x = memref.load %in[%row, %col] : memref<?x?xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%row, %col] : memref<?x?xf32>
      %first = arith.muli %row, %cols : index
      %i = arith.addi %first, %col : index
      %old = memref.load %acc[%i] : memref<6xf32>
      %new = arith.addf %old, %x : f32
      memref.store %new, %acc[%i] : memref<6xf32>
      gpu.return
    }
  }

  func.func @twice(%x: memref<?x?xf32>, %acc: memref<6xf32>, %n: index,
                   %stream: !llvm.ptr) -> (memref<?x?xf32>, index) attributes {
    te_quant.args = [
      {position = 0 : i64, name = "data", type = tensor<?x?xf32>},
      {position = 1 : i64, name = "data", type = tensor<6xf32>},
      {position = 2 : i64, name = "value", type = index},
      {position = 3 : i64, name = "stream", type = !llvm.ptr}],
    te_quant.results = [
      {position = 0 : i64, name = "data", type = tensor<?x?xf32>},
      {position = 1 : i64, name = "data", type = tensor<6xf32>},
      {position = 2 : i64, name = "value", type = index}],
    te_quant.tied = [array<i64: 1, 1>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %x, %c0 : memref<?x?xf32>
    %cols = memref.dim %x, %c1 : memref<?x?xf32>
    %token = builtin.unrealized_conversion_cast %stream
      : !llvm.ptr to !gpu.async.token
    %y, %allocated = gpu.alloc async [%token] (%rows, %cols) : memref<?x?xf32>
    %done = gpu.launch_func async [%allocated] @kernels::@twice
      blocks in (%rows, %c1, %c1) threads in (%cols, %c1, %c1)
      args(%x : memref<?x?xf32>, %y : memref<?x?xf32>, %acc : memref<6xf32>)
    %size = arith.muli %rows, %cols : index
    %scaled = arith.muli %n, %size : index
    return %y, %scaled : memref<?x?xf32>, index
  }
}
