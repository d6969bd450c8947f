// What --input takes: raw files and numpy arrays for each element type, with
// shapes from the command line or the array; and what it refuses.

// RUN: rm -rf %t && mkdir %t
// RUN: te-opt %s --gpu-to-llvm -o %t/lowered.mlir
// DEFINE: %{entry} =
// DEFINE: %{input} =
// DEFINE: %{run} = te-run %t/lowered.mlir --entry=%{entry} --target=emulate \
// DEFINE:   --output-dir %t/out --input %t/%{input}
// DEFINE: %{fail} = not %{run} 2>&1 | FileCheck %s --match-full-lines \
// DEFINE:   --implicit-check-not="{{.}}" --strict-whitespace --check-prefix

// The three versions of the format, and a shape that repeats the header's.
// REDEFINE: %{entry} = f32
// REDEFINE: %{input} = v1.npy
// RUN: %files npy %t/v1.npy 1:\<f4:C:2x2 f 1 2 3 4
// RUN: %{run} && %files show %t/out/0_data.bin f | FileCheck %s --check-prefix=F32
// REDEFINE: %{input} = v2.npy:2x2
// RUN: %files npy %t/v2.npy 2:\<f4:C:2x2 f 1 2 3 4
// RUN: %{run} && %files show %t/out/0_data.bin f | FileCheck %s --check-prefix=F32
// REDEFINE: %{input} = v3.npy
// RUN: %files npy %t/v3.npy 3:\<f4:C:2x2 f 1 2 3 4
// RUN: %{run} && %files show %t/out/0_data.bin f | FileCheck %s --check-prefix=F32
// F32: 1.0 2.0 3.0 4.0

// A file whose name ends like a shape.
// REDEFINE: %{input} = raw:3x3
// RUN: cp %t/v1.npy %t/raw:3x3.npy && %files pack %t/raw:3x3 f 1 2 3 4
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=NO_SHAPE
// REDEFINE: %{input} = raw:3x3:2x2
// RUN: %{run} && %files show %t/out/0_data.bin f | FileCheck %s --check-prefix=F32
// REDEFINE: %{input} = raw:3x3.npy
// RUN: %{run} && %files show %t/out/0_data.bin f | FileCheck %s --check-prefix=F32
// NO_SHAPE: te-run: error: input 0 ('data' of argument 0): expected a shape for 'tensor<?x2xf32>', as in FILE:2x128x64 or in the header of a .npy file

// Types that numpy has no dtype for.
// REDEFINE: %{entry} = bf16
// REDEFINE: %{input} = bf16.npy
// RUN: %files npy %t/bf16.npy 1:\<V2:C:2 H 16256 16384
// RUN: %{run} && %files show %t/out/0_data.bin H | FileCheck %s --check-prefix=BF16
// RUN: %files npy %t/bf16.npy 1:bfloat16:C:2 H 16256 16384
// RUN: %{run} && %files show %t/out/0_data.bin H | FileCheck %s --check-prefix=BF16
// RUN: %files npy %t/bf16.npy 1:\<u2:C:2 H 16256 16384
// RUN: %{run} && %files show %t/out/0_data.bin H | FileCheck %s --check-prefix=BF16
// BF16: 16256 16384
// REDEFINE: %{entry} = f8
// REDEFINE: %{input} = f8.npy
// RUN: %files npy %t/f8.npy 1:\|V1:C:3 B 56 126 255
// RUN: %{run} && %files show %t/out/0_data.bin B | FileCheck %s --check-prefix=F8
// RUN: %files npy %t/f8.npy 1:float8_e4m3fn:C:3 B 56 126 255
// RUN: %{run} && %files show %t/out/0_data.bin B | FileCheck %s --check-prefix=F8
// RUN: %files npy %t/f8.npy 1:\|u1:C:3 B 56 126 255
// RUN: %{run} && %files show %t/out/0_data.bin B | FileCheck %s --check-prefix=F8
// F8: 56 126 255
// REDEFINE: %{entry} = i1
// REDEFINE: %{input} = i1.npy
// RUN: %files npy %t/i1.npy 1:\|b1:C: b 1
// RUN: %{run} && %files show %t/out/0_value.bin b | FileCheck %s --check-prefix=I1
// I1: 1

// Everything from here on fails in one line.
// RUN: rm -rf %t/out
// REDEFINE: %{entry} = f32
// REDEFINE: %{input} = bad.npy
// RUN: %files npy %t/bad.npy 1:\<f8:C:2x2 d 1 2 3 4
// RUN: %{fail} KIND
// KIND:te-run: error: input 0 ('data' of argument 0): expected the dtype '<f4' for 'f32', but got '<f8'
// RUN: %files npy %t/bad.npy 1:\<i4:C:2x2 i 1 2 3 4
// RUN: %{fail} INTEGER
// INTEGER:te-run: error: input 0 ('data' of argument 0): expected the dtype '<f4' for 'f32', but got '<i4'
// RUN: %files npy %t/bad.npy 1:\>f4:C:2x2 f 1 2 3 4
// RUN: %{fail} ENDIAN
// ENDIAN:te-run: error: input 0 ('data' of argument 0): expected little-endian elements, but got the dtype '>f4'
// RUN: %files npy %t/bad.npy 1:\<f4:F:2x2 f 1 2 3 4
// RUN: %{fail} FORTRAN
// FORTRAN:te-run: error: input 0 ('data' of argument 0): expected an array in C order, but got one in Fortran order
// RUN: %files npy %t/bad.npy 1:\<f4:C:2x3 f 1 2 3 4 5 6
// RUN: %{fail} STATIC
// STATIC:te-run: error: input 0 ('data' of argument 0): expected the shape [?x2], but got [2x3]
// RUN: %files npy %t/bad.npy 1:\<f4:C:4 f 1 2 3 4
// RUN: %{fail} RANK
// RANK:te-run: error: input 0 ('data' of argument 0): expected the shape [?x2], but got [4]
// RUN: %files npy %t/bad.npy 1:\<f4:C:2x2 f 1 2 3
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: expected 16 bytes for 'tensor<?x2xf32>' of shape [2x2], but '{{.*}}bad.npy' has 12
// RUN: %files npy %t/bad.npy 4:\<f4:C:2x2 f 1 2 3 4
// RUN: %{fail} VERSION
// VERSION:te-run: error: input 0 ('data' of argument 0): not a .npy file that can be read: expected format version 1, 2 or 3, but got 4.0
// RUN: %files pack %t/bad.npy f 1 2 3 4
// RUN: %{fail} MAGIC
// MAGIC:te-run: error: input 0 ('data' of argument 0): not a .npy file that can be read: it does not start with numpy's signature

// REDEFINE: %{input} = v1.npy:4x1
// RUN: %{fail} HEADER
// HEADER:te-run: error: input 0 ('data' of argument 0): expected the shape [4x1] that follows the file's name, but its header says [2x2]
// REDEFINE: %{input} = f32.bin:4x2
// RUN: %files pack %t/f32.bin f 1 2 3 4
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: te-run: error: input 0 ('data' of argument 0): expected 32 bytes for 'tensor<?x2xf32>' of shape [4x2], but '{{.*}}f32.bin' has 16
// REDEFINE: %{input} = f32.bin:4611686018427387904x2
// RUN: %{fail} HUGE
// HUGE:te-run: error: input 0 ('data' of argument 0): the shape [4611686018427387904x2] of 'tensor<?x2xf32>' has more bytes than 63 bits can count
// REDEFINE: %{input} = f32.bin:2xtwo
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=SPELLING
// SPELLING: te-run: error: input 0 ('data' of argument 0): expected a file, or a file with a shape like ':2x128x64', but got '{{.*}}f32.bin:2xtwo'
// REDEFINE: %{input} = nothing.bin:2x2
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: te-run: error: input 0 ('data' of argument 0): cannot read '{{.*}}nothing.bin': No such file or directory
// REDEFINE: %{input} = v1.npy --input %t/v1.npy
// RUN: %{fail} COUNT
// COUNT:te-run: error: expected 1 inputs, one for each argument after flattening: tensor<?x2xf32>; but got 2

// REDEFINE: %{entry} = f8
// REDEFINE: %{input} = f8.npy
// RUN: %files npy %t/f8.npy 1:float8_e5m2:C:3 B 56 126 255
// RUN: %{fail} F8_NAME
// F8_NAME:te-run: error: input 0 ('data' of argument 0): expected the dtype '|i1' or '|u1' or '|V1' for 'f8E4M3FN', but got 'float8_e5m2'
// REDEFINE: %{entry} = i1
// REDEFINE: %{input} = i1.bin
// RUN: %files pack %t/i1.bin b 2
// RUN: %{fail} I1_VALUE
// I1_VALUE:te-run: error: input 0 ('value' of argument 0): expected bytes 0 and 1 for 'i1', but got 2

// RUN: not ls %t/out

func.func @f32(%a: memref<?x2xf32>) -> memref<?x2xf32> attributes {
  te_quant.args = [
    {position = 0 : i64, name = "data", type = tensor<?x2xf32>}],
  te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<?x2xf32>}]} {
  return %a : memref<?x2xf32>
}

func.func @bf16(%a: memref<2xbf16>) -> memref<2xbf16> attributes {
  te_quant.args = [{position = 0 : i64, name = "data", type = tensor<2xbf16>}],
  te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<2xbf16>}]} {
  return %a : memref<2xbf16>
}

func.func @f8(%a: memref<3xf8E4M3FN>) -> memref<3xf8E4M3FN> attributes {
  te_quant.args = [
    {position = 0 : i64, name = "data", type = tensor<3xf8E4M3FN>}],
  te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<3xf8E4M3FN>}]} {
  return %a : memref<3xf8E4M3FN>
}

func.func @i1(%a: i1) -> i1 attributes {
  te_quant.args = [{position = 0 : i64, name = "value", type = i1}],
  te_quant.results = [{position = 0 : i64, name = "value", type = i1}]} {
  return %a : i1
}
