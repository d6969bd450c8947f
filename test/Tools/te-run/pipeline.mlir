// Programs on tensors are lowered and run: quantized tensors go in and out as
// their inner tensors, sizes are dynamic or zero, results are new, updated in
// place, passed through or given twice, and functions beside the entry that
// cannot be lowered do not matter.

// RUN: rm -rf %t && mkdir %t
// RUN: %files pack %t/ones.bin H 16256 --repeat 2048
// RUN: %files pack %t/zeros.bin B 0 --repeat 2048
// RUN: %files pack %t/odd.bin H 16256 --repeat 1984
// RUN: %files pack %t/empty.bin B
// RUN: %files pack %t/f4.bin f 1 2 3 4
// RUN: %files pack %t/f1.bin f 1
// RUN: %files pack %t/two.bin q 2
// RUN: %files pack %t/nine.bin q 9
// DEFINE: %{entry} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = te-run %s --entry=%{entry} --target=emulate \
// DEFINE:   --output-dir %t/%{entry} %{inputs}
// DEFINE: %{manifest} = FileCheck %s --input-file=%t/%{entry}/manifest.json \
// DEFINE:   --implicit-check-not=result --check-prefix

// One is 2^-8 times 256: the code of 256 is 0x78, the scale's 127 - 8.
// REDEFINE: %{entry} = quantize
// REDEFINE: %{inputs} = --input %t/ones.bin:32x64
// RUN: %{run} && %{manifest} QUANTIZE
// RUN: %files pack %t/codes.bin B 120 --repeat 2048
// RUN: diff %t/codes.bin %t/quantize/0_rowwise_data.bin
// RUN: %files show %t/quantize/0_rowwise_scale_inv.bin B | FileCheck %s --check-prefix=SCALES
// RUN: %files show %t/quantize/1_value.bin q | FileCheck %s --check-prefix=ROWS
// QUANTIZE: {"result":0,"name":"rowwise_data","shape":[32,64],"dtype":"f8E4M3FN","file":"0_rowwise_data.bin"}
// QUANTIZE: {"result":0,"name":"rowwise_scale_inv","shape":[128,4],"dtype":"f8E8M0FNU","file":"0_rowwise_scale_inv.bin"}
// QUANTIZE: {"result":0,"name":"columnwise_data","shape":[32,64],"dtype":"f8E4M3FN","file":"0_columnwise_data.bin"}
// QUANTIZE: {"result":0,"name":"columnwise_scale_inv","shape":[4,128],"dtype":"f8E8M0FNU","file":"0_columnwise_scale_inv.bin"}
// QUANTIZE: {"result":1,"name":"value","shape":[],"dtype":"index","file":"1_value.bin"}
// SCALES: {{^}}119 119{{ }}
// ROWS: {{^}}32{{$}}

// What te-opt has lowered gives the same.
// RUN: te-opt %s --symbol-privatize=exclude=quantize --symbol-dce \
// RUN:   --te-quant-gpu-pipeline="chip=sm_90a format=llvm" | \
// RUN:   te-run - --entry=quantize --target=emulate --output-dir %t/lowered \
// RUN:     %{inputs}
// RUN: diff -r %t/quantize %t/lowered

// No rows, whose scales have none either.
// REDEFINE: %{inputs} = --input %t/empty.bin:0x64
// RUN: %{run} && %{manifest} EMPTY
// RUN: cat %t/quantize/0_*.bin | count 0
// RUN: %files show %t/quantize/1_value.bin q | FileCheck %s --check-prefix=NO_ROWS
// EMPTY: "result":0,{{.*}}"shape":[0,64],
// EMPTY: "result":0,{{.*}}"shape":[0,4],
// EMPTY: "result":0,{{.*}}"shape":[0,64],
// EMPTY: "result":0,{{.*}}"shape":[0,128],
// EMPTY: "result":1
// NO_ROWS: {{^}}0{{$}}

// Rows that the blocks do not divide are found when it runs.
// REDEFINE: %{inputs} = --input %t/odd.bin:31x64
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: te-run: error: expected dim 0 to be a multiple of 32 for columnwise 'mxfp8' blocks

// The updated tensor is a result though the function returns nothing of it.
// REDEFINE: %{entry} = update
// RUN: %files pack %t/scales.bin B 0 --repeat 512
// REDEFINE: %{inputs} = --input %t/ones.bin --input %t/zeros.bin --input %t/scales.bin --input %t/f4.bin
// RUN: %{run} && %{manifest} UPDATE
// RUN: diff %t/codes.bin %t/update/1_rowwise_data.bin
// RUN: %files show %t/update/1_rowwise_scale_inv.bin B | FileCheck %s --check-prefix=SCALES
// RUN: diff %t/ones.bin %t/update/2_data.bin
// RUN: %files show %t/update/0_data.bin f | FileCheck %s --check-prefix=SUM
// RUN: %files show %t/update/3_data.bin f | FileCheck %s --check-prefix=SUM
// UPDATE: {"result":0,"name":"data","shape":[4],{{.*$}}
// UPDATE: {"result":1,"name":"rowwise_data","shape":[32,64],{{.*$}}
// UPDATE: {"result":1,"name":"rowwise_scale_inv","shape":[128,4],{{.*$}}
// UPDATE: {"result":2,"name":"data","shape":[32,64],"dtype":"bf16",{{.*$}}
// UPDATE: {"result":3,"name":"data","shape":[4],{{.*$}}
// SUM: {{^}}2.0 4.0 6.0 8.0{{$}}

// A scalar read back from a tensor, inside and outside of its bounds.
// REDEFINE: %{entry} = pick
// REDEFINE: %{inputs} = --input %t/f4.bin --input %t/two.bin
// RUN: %{run} && %files show %t/pick/0_value.bin f | FileCheck %s --check-prefix=PICK
// PICK: {{^}}3.0{{$}}
// REDEFINE: %{inputs} = --input %t/f4.bin --input %t/nine.bin
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: te-run: error: mgpuMemcpy: read of 4 bytes at {{.*}} is out of bounds

// A kernel that reads past the end of an argument.
// REDEFINE: %{entry} = add
// REDEFINE: %{inputs} = --input %t/f4.bin:4 --input %t/f1.bin:1 --emulator-stats=%t/stats.json
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: FileCheck %s --check-prefix=FAULTS --input-file=%t/stats.json
// RUN: not ls %t/add
// KERNEL: te-run: error: kernel 'add_kernel' {{.*}}out-of-bounds read of 4 bytes
// FAULTS: "faults": [
// FAULTS-NEXT: kernel 'add_kernel' {{.*}}out-of-bounds read of 4 bytes

// An op that nothing lowers is named where it stands.
// REDEFINE: %{entry} = complex
// REDEFINE: %{inputs} =
// RUN: not %{run} 2>%t/complex.txt
// RUN: FileCheck %s --check-prefix=COMPLEX --input-file=%t/complex.txt
// RUN: wc -l < %t/complex.txt | FileCheck %s --check-prefix=ONE
// COMPLEX: {{pipeline.mlir:[0-9]+:[0-9]+: error: 'complex.constant' op}}
// ONE: {{^ *}}1{{$}}

!plain = tensor<?x64xbf16>
!quantized = !te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN>>
!row = !te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>

func.func @quantize(%x: !plain) -> (!quantized, index) {
  %c0 = arith.constant 0 : index
  %q = te_quant.quantize %x : !plain -> !quantized
  %rows = tensor.dim %x, %c0 : !plain
  return %q, %rows : !quantized, index
}

func.func @update(%x: tensor<32x64xbf16>, %q: !row, %a: tensor<4xf32>,
                  %stream: !llvm.ptr)
    -> (tensor<4xf32>, !row, tensor<32x64xbf16>, tensor<4xf32>) {
  %r = te_quant.quantize %x into %q : tensor<32x64xbf16>, !row -> !row
  %sum = arith.addf %a, %a : tensor<4xf32>
  return %sum, %r, %x, %sum
    : tensor<4xf32>, !row, tensor<32x64xbf16>, tensor<4xf32>
}

func.func @pick(%x: tensor<4xf32>, %i: index) -> f32 {
  %v = tensor.extract %x[%i] : tensor<4xf32>
  return %v : f32
}

func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = arith.addf %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}

func.func @complex() -> tensor<2xcomplex<f32>> {
  %z = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %e = tensor.splat %z : tensor<2xcomplex<f32>>
  return %e : tensor<2xcomplex<f32>>
}
