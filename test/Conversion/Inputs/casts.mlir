// Every conversion of a kernel, as vectors, odd vectors and scalars.
gpu.module @kernels {
  gpu.func @fp8(%in: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) kernel {
    %x = llvm.load %in {alignment = 16 : i64} : !llvm.ptr -> vector<16xf32>
    %n = te_quant.cast %x : vector<16xf32> to vector<16xf8E4M3FN>
    %b = arith.bitcast %n : vector<16xf8E4M3FN> to vector<16xi8>
    llvm.store %b, %out {alignment = 16 : i64} : vector<16xi8>, !llvm.ptr
    %h = llvm.load %in {alignment = 4 : i64} : !llvm.ptr -> vector<3xbf16>
    %m = te_quant.cast %h : vector<3xbf16> to vector<3xf8E5M2>
    %w = te_quant.cast %m : vector<3xf8E5M2> to vector<3xf16>
    %out1 = llvm.getelementptr %out[32] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %w, %out1 {alignment = 4 : i64} : vector<3xf16>, !llvm.ptr
    %c = llvm.load %in : !llvm.ptr -> i8
    %s = arith.bitcast %c : i8 to f8E4M3FN
    %d = arith.extf %s : f8E4M3FN to f32
    %out2 = llvm.getelementptr %out[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %d, %out2 : f32, !llvm.ptr
    gpu.return
  }
  gpu.func @fp4(%in: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) kernel {
    %x = llvm.load %in {alignment = 16 : i64} : !llvm.ptr -> vector<16xf32>
    %n = te_quant.cast %x : vector<16xf32> to vector<16xf4E2M1FN>
    %b = vector.bitcast %n : vector<16xf4E2M1FN> to vector<8xi8>
    llvm.store %b, %out {alignment = 8 : i64} : vector<8xi8>, !llvm.ptr
    %c = llvm.load %in {alignment = 8 : i64} : !llvm.ptr -> vector<8xi8>
    %m = vector.bitcast %c : vector<8xi8> to vector<16xf4E2M1FN>
    %w = te_quant.cast %m : vector<16xf4E2M1FN> to vector<16xbf16>
    %out1 = llvm.getelementptr %out[32] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %w, %out1 {alignment = 16 : i64} : vector<16xbf16>, !llvm.ptr
    gpu.return
  }
  gpu.func @e8m0(%in: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) kernel {
    %x = llvm.load %in : !llvm.ptr -> f32
    %n = te_quant.cast %x : f32 to f8E8M0FNU
    %b = arith.bitcast %n : f8E8M0FNU to i8
    llvm.store %b, %out : i8, !llvm.ptr
    %w = te_quant.cast %n : f8E8M0FNU to f32
    %y = arith.mulf %w, %x : f32
    %out1 = llvm.getelementptr %out[32] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %y, %out1 : f32, !llvm.ptr
    gpu.return
  }
  // Buffers of narrow elements, as linalg on the GPU leaves them.
  gpu.func @memrefs(%in: memref<?xf8E4M3FN>, %scale: memref<?xf8E8M0FNU>, %out: memref<?xf32>) kernel {
    %i = gpu.thread_id x
    %x = memref.load %in[%i] : memref<?xf8E4M3FN>
    %y = arith.extf %x : f8E4M3FN to f32
    %one = arith.constant 1.0 : f8E8M0FNU
    memref.store %one, %scale[%i] : memref<?xf8E8M0FNU>
    memref.store %y, %out[%i] : memref<?xf32>
    gpu.return
  }
}
