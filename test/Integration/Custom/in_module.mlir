// A custom format whose functions are in the module: a copy of each row's bytes,
// by the runtime, on the stream that they are given. Empty tensors included.

// REQUIRES: te-run
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "open(r'%t/x.bin', 'wb').write(bytes(range(96)))"
// RUN: te-run %s --entry=main --target=emulate --input %t/x.bin:3x8 --output-dir %t/out
// RUN: cmp %t/x.bin %t/out/0_copy.bin
// RUN: cmp %t/x.bin %t/out/1_data.bin
// RUN: %python -c "open(r'%t/none.bin', 'wb')"
// RUN: te-run %s --entry=main --target=emulate --input %t/none.bin:0x8 --output-dir %t/empty
// RUN: cmp %t/none.bin %t/empty/1_data.bin

!q = !te_quant.tensor<?x8xf32, #te_quant.custom<"copies",
    layout = #te_quant.layout<copy : f32[leading, cols]>,
    quantize = "copy_in", dequantize = "copy_out">>

func.func @main(%x: tensor<?x8xf32>) -> (!q, tensor<?x8xf32>) {
  %q = te_quant.quantize %x : tensor<?x8xf32> -> !q
  %y = te_quant.dequantize %q : !q -> tensor<?x8xf32>
  return %q, %y : !q, tensor<?x8xf32>
}

llvm.func @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)

func.func @copy_in(%x: !llvm.ptr, %copy: !llvm.ptr, %rows: i64, %cols: i64,
                   %stream: !llvm.ptr) {
  %elements = arith.muli %rows, %cols : i64
  %four = arith.constant 4 : i64
  %bytes = arith.muli %elements, %four : i64
  llvm.call @mgpuMemcpy(%copy, %x, %bytes, %stream)
    : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  return
}

llvm.func @copy_out(%copy: !llvm.ptr, %y: !llvm.ptr, %rows: i64, %cols: i64,
                    %stream: !llvm.ptr) {
  %elements = llvm.mul %rows, %cols : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %bytes = llvm.mul %elements, %four : i64
  llvm.call @mgpuMemcpy(%y, %copy, %bytes, %stream)
    : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.return
}
