// A command line, module or run that fails gives one line and the exit status 1,
// and leaves the results of an earlier run alone.

// RUN: rm -rf %t && mkdir -p %t/out && echo old > %t/out/manifest.json
// RUN: split-file %s %t
// RUN: te-opt %t/lowered.mlir --convert-cf-to-llvm --gpu-to-llvm -o %t/module.mlir
// DEFINE: %{rest} = --target=emulate --output-dir %t/out
// DEFINE: %{arguments} =
// DEFINE: %{fail} = not te-run %{arguments} 2>&1 | \
// DEFINE:   FileCheck %s --match-full-lines --strict-whitespace \
// DEFINE:   --implicit-check-not="{{.}}" --check-prefix

// The command line.
// REDEFINE: %{arguments} =
// RUN: %{fail} FILE
// FILE:te-run: error: expected a file with a module; see te-run --help
// REDEFINE: %{arguments} = %t/module.mlir %{rest}
// RUN: %{fail} ENTRY
// ENTRY:te-run: error: expected --entry=NAME; see te-run --help
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --output-dir %t/out
// RUN: %{fail} TARGET
// TARGET:te-run: error: expected --target=emulate; see te-run --help
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --target=emulate
// RUN: %{fail} OUTPUT
// OUTPUT:te-run: error: expected --output-dir DIR; see te-run --help
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --target=cuda --output-dir %t/out
// RUN: %{fail} CUDA
// CUDA:te-run: error: the target cuda is not supported yet, only emulate is
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --target=cpu --output-dir %t/out
// RUN: %{fail} CPU
// CPU:te-run: error: the target cpu is not supported yet, only emulate is
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --target=gpu --output-dir %t/out
// RUN: %{fail} OTHER
// OTHER:te-run: error: expected --target to be emulate, cpu or cuda, but got 'gpu'
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --chip=sm_12 %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: te-run: error: expected --chip to be one of sm_80, {{.*}}, but got 'sm_12'
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --speed=9 %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: te-run: error: Unknown command line argument '--speed=9'.
// REDEFINE: %{arguments} = %t/module.mlir --entry
// RUN: not te-run %{arguments} 2>&1 | count 1

// The output directory.
// REDEFINE: %{arguments} = %t/module.mlir --entry=nop --target=emulate --output-dir %t/module.mlir
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=IS_FILE
// IS_FILE: te-run: error: expected --output-dir to name a directory, but '{{.*}}module.mlir' is a file
// RUN: mkdir -p %t/taken/0_value.bin
// REDEFINE: %{arguments} = %t/module.mlir --entry=three --target=emulate --output-dir %t/taken
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: te-run: error: cannot write '{{.*}}0_value.bin': a directory has that name
// RUN: ls -A %t/taken | count 1
// REDEFINE: %{arguments} = %t/module.mlir --entry=three --target=emulate --output-dir %t/new/out --emulator-stats=%t/no/stats.json
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=STATS
// STATS: te-run: error: cannot write '{{.*}}stats.json': No such file or directory
// RUN: not ls %t/new

// The module.
// REDEFINE: %{arguments} = %t/nothing.mlir --entry=nop %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=NO_MODULE
// NO_MODULE: te-run: error: cannot open input file '{{.*}}nothing.mlir': No such file or directory
// REDEFINE: %{arguments} = %t/invalid.mlir --entry=nop %{rest}
// RUN: not te-run %{arguments} 2>%t/invalid.txt
// RUN: FileCheck %s --check-prefix=INVALID --input-file=%t/invalid.txt
// RUN: wc -l < %t/invalid.txt | FileCheck %s --check-prefix=ONE
// INVALID: invalid.mlir:2:3: error: 'func.return' op has 0 operands, but enclosing function (@f) returns 1
// ONE: 1
// REDEFINE: %{arguments} = %t/module.mlir --entry=hidden %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: te-run: error: expected the entry to be a public function with a body, of which the module has nop, three, {{.*}}; but got 'hidden'
// REDEFINE: %{arguments} = %t/module.mlir --entry=teRuntimeCheck %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: te-run: error: expected the entry to be a public function with a body, {{.*}}; but got 'teRuntimeCheck'

// The attributes that describe the signature.
// REDEFINE: %{arguments} = %t/module.mlir --entry=bare %{rest}
// RUN: %{fail} BARE
// BARE:te-run: error: expected the lowered function 'bare' to have the attribute 'te_quant.args', which te-quant-gpu-pipeline leaves on functions
// REDEFINE: %{arguments} = %t/module.mlir --entry=other_type %{rest}
// RUN: %{fail} TYPE
// TYPE:te-run: error: expected 'other_type' to have the type '!llvm.func<i64 (i64)>' that its 'te_quant.args' and 'te_quant.results' describe, but got '!llvm.func<i32 (i32)>'
// REDEFINE: %{arguments} = %t/module.mlir --entry=complex %{rest}
// RUN: %{fail} COMPLEX
// COMPLEX:te-run: error: expected tensors and scalars of 1 to 64 bit integers, index, 8 to 64 bit floats at the entry's boundary, but got 'tensor<2xcomplex<f32>>'
// REDEFINE: %{arguments} = %t/module.mlir --entry=path_name %{rest}
// RUN: %{fail} NAME
// NAME:te-run: error: expected the names in 'te_quant.results' to have letters, digits, '_', '-' and '$' only, but got '../x'
// REDEFINE: %{arguments} = %t/module.mlir --entry=tied %{rest}
// RUN: %{fail} TIED
// TIED:te-run: error: expected 'te_quant.tied' to be an array of pairs of a flattened result and a flattened argument, both tensors of one element type
// REDEFINE: %{arguments} = %t/module.mlir --entry=twins %{rest}
// RUN: %{fail} TWINS
// TWINS:te-run: error: expected result 0 of 'twins' to have one inner tensor 'data', but got two

// Code that cannot be linked.
// REDEFINE: %{arguments} = %t/unresolved.mlir --entry=f %{rest}
// RUN: %{fail} UNRESOLVED
// UNRESOLVED:te-run: error: expected 'defined_nowhere' to be defined in the module, the runtime, a library of --load or the C library
// REDEFINE: %{arguments} = %t/wrapper.mlir --entry=f %{rest}
// RUN: %{fail} WRAPPER
// WRAPPER:te-run: error: expected no function beside 'f' to have the name '_mlir_f'

// Runs that fail.
// REDEFINE: %{arguments} = %t/module.mlir --entry=check %{rest}
// RUN: %{fail} CHECK
// CHECK:te-run: error: rows must be a multiple of 32
// RUN: %files pack %t/x.bin f 1
// REDEFINE: %{arguments} = %t/module.mlir --entry=touch --input %t/x.bin %{rest} --emulator-stats=%t/stats.json
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=TOUCH
// RUN: FileCheck %s --check-prefix=FAULTS --input-file=%t/stats.json
// TOUCH: te-run: error: {{.*}}device memory
// FAULTS: "faults": [
// FAULTS-NEXT: device memory
// REDEFINE: %{arguments} = %t/module.mlir --entry=divide --input %t/zero.bin %{rest}
// RUN: %files pack %t/zero.bin i 0
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=DIVIDE
// DIVIDE: te-run: error: {{.*}}division by zero
// REDEFINE: %{arguments} = %t/module.mlir --entry=assert %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=ASSERT
// ASSERT: te-run: error: fault in host code: illegal instruction
// REDEFINE: %{arguments} = %t/module.mlir --entry=enormous %{rest}
// RUN: not te-run %{arguments} 2>&1 | FileCheck %s --check-prefix=ENORMOUS
// ENORMOUS: te-run: error: {{.*}}memory
// REDEFINE: %{arguments} = %t/module.mlir --entry=strided --input %t/x4.bin %{rest}
// RUN: %files pack %t/x4.bin f 1 2 3 4
// RUN: %{fail} STRIDED
// STRIDED:te-run: error: result 0 ('data'): expected a contiguous buffer, but got the strides [1x2]

// REDEFINE: %{arguments} = %t/module.mlir --entry=exits %{rest}
// RUN: %{fail} EXIT
// EXIT:te-run: error: the program called exit

// RUN: echo old | diff - %t/out/manifest.json
// RUN: ls -A %t/out | count 1

//--- invalid.mlir
func.func @f() -> f32 {
  return
}
func.func @g() -> f32 {
  return
}

//--- unresolved.mlir
llvm.func @defined_nowhere()
llvm.func @f() attributes {te_quant.args = [], te_quant.results = []} {
  llvm.call @defined_nowhere() : () -> ()
  llvm.return
}

//--- wrapper.mlir
llvm.func @f() attributes {te_quant.args = [], te_quant.results = []} {
  llvm.return
}
llvm.func @_mlir_f() {
  llvm.return
}

//--- lowered.mlir
llvm.mlir.global internal constant @message("rows must be a multiple of 32\00")
llvm.func @teRuntimeCheck(i1 {llvm.zeroext}, !llvm.ptr)

func.func @nop() attributes {te_quant.args = [], te_quant.results = []} {
  return
}
func.func @three() -> i32 attributes {te_quant.args = [], te_quant.results = [
    {position = 0 : i64, name = "value", type = i32}]} {
  %three = arith.constant 3 : i32
  return %three : i32
}
func.func private @hidden() {
  return
}
func.func @bare() {
  return
}
func.func @other_type(%a: i32) -> i32 attributes {
    te_quant.args = [{position = 0 : i64, name = "value", type = i64}],
    te_quant.results = [{position = 0 : i64, name = "value", type = i64}]} {
  return %a : i32
}
func.func @complex() attributes {te_quant.args = [
    {position = 0 : i64, name = "data", type = tensor<2xcomplex<f32>>}],
    te_quant.results = []} {
  return
}
func.func @path_name() attributes {te_quant.args = [], te_quant.results = [
    {position = 0 : i64, name = "../x", type = f32}]} {
  return
}
func.func @tied() attributes {te_quant.args = [], te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<1xf32>}],
    te_quant.tied = [array<i64: 0, 1>]} {
  return
}
func.func @twins() attributes {te_quant.args = [], te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<1xf32>},
    {position = 0 : i64, name = "data", type = tensor<1xf32>}]} {
  return
}
func.func @check() attributes {te_quant.args = [], te_quant.results = []} {
  %false = arith.constant false
  %text = llvm.mlir.addressof @message : !llvm.ptr
  llvm.call @teRuntimeCheck(%false, %text) : (i1, !llvm.ptr) -> ()
  return
}
func.func @assert() attributes {te_quant.args = [], te_quant.results = []} {
  %false = arith.constant false
  cf.assert %false, "never true"
  return
}
// Host code that reads a device buffer, as no machine with a card allows.
func.func @touch(%a: memref<f32>) -> f32 attributes {
    te_quant.args = [{position = 0 : i64, name = "data", type = tensor<f32>}],
    te_quant.results = [{position = 0 : i64, name = "value", type = f32}]} {
  %x = memref.load %a[] : memref<f32>
  return %x : f32
}
func.func @divide(%a: i32) -> i32 attributes {
    te_quant.args = [{position = 0 : i64, name = "value", type = i32}],
    te_quant.results = [{position = 0 : i64, name = "value", type = i32}]} {
  %seven = arith.constant 7 : i32
  %y = arith.divsi %seven, %a : i32
  return %y : i32
}
func.func @enormous() -> memref<?xf32> attributes {
    te_quant.args = [], te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<?xf32>}]} {
  %size = arith.constant 1000000000000000 : index
  %start = gpu.wait async
  %x, %done = gpu.alloc async [%start] (%size) : memref<?xf32>
  gpu.wait [%done]
  return %x : memref<?xf32>
}
func.func @strided(%a: memref<2x2xf32>)
    -> memref<2x2xf32, strided<[1, 2]>> attributes {
    te_quant.args = [
      {position = 0 : i64, name = "data", type = tensor<2x2xf32>}],
    te_quant.results = [
      {position = 0 : i64, name = "data", type = tensor<2x2xf32>}]} {
  %t = memref.transpose %a (i, j) -> (j, i)
    : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
  return %t : memref<2x2xf32, strided<[1, 2]>>
}
llvm.func @exit(i32)
func.func @exits() attributes {te_quant.args = [], te_quant.results = []} {
  %status = arith.constant 0 : i32
  llvm.call @exit(%status) : (i32) -> ()
  return
}
