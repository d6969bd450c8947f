// Kernels with the ops that our emitters and upstream's lowerings use.
gpu.module @kernels {
  gpu.func @arithmetic(%in: !llvm.ptr {llvm.noalias, llvm.readonly, llvm.align = 16 : i64}, %out: !llvm.ptr {llvm.noalias, llvm.align = 16 : i64}, %n: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %p = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
    %x = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
    %m = arith.mulf %x, %x : vector<4xf32>
    %a = arith.addf %m, %x : vector<4xf32>
    %d = arith.divf %a, %x : vector<4xf32>
    %s = math.sqrt %d : vector<4xf32>
    %max = vector.reduction <maxnumf>, %s : vector<4xf32> into f32
    %q = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %max, %q : f32, !llvm.ptr
    gpu.return
  }

  gpu.func @block_max(%in: memref<?xf32>, %out: memref<1xf32>) workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    %tid = gpu.thread_id x
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %x = memref.load %in[%tid] : memref<?xf32>
    %abs = math.absf %x : f32
    %y, %valid = gpu.shuffle xor %abs, %c16, %c32 : f32
    %max = arith.maxnumf %abs, %y : f32
    memref.store %max, %shared[%tid] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32i = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %all = scf.for %i = %c0 to %c32i step %c1 iter_args(%acc = %zero) -> f32 {
      %v = memref.load %shared[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      %r = arith.maxnumf %acc, %v : f32
      scf.yield %r : f32
    }
    %sum = gpu.all_reduce add %all uniform {} : (f32) -> f32
    memref.store %sum, %out[%c0] : memref<1xf32>
    gpu.return
  }

  gpu.func @functions(%in: !llvm.ptr, %out: !llvm.ptr) kernel {
    %x = llvm.load %in : !llvm.ptr -> f32
    %0 = math.exp %x : f32
    %1 = math.exp2 %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.log %2 : f32
    %4 = math.log2 %3 : f32
    %5 = math.log10 %4 : f32
    %6 = math.log1p %5 : f32
    %7 = math.expm1 %6 : f32
    %8 = math.erf %7 : f32
    %9 = math.erfc %8 : f32
    %10 = math.sin %9 : f32
    %11 = math.cos %10 : f32
    %12 = math.tan %11 : f32
    %13 = math.asin %12 : f32
    %14 = math.acos %13 : f32
    %15 = math.atan %14 : f32
    %16 = math.atan2 %15, %x : f32
    %17 = math.sinh %16 : f32
    %18 = math.cosh %17 : f32
    %19 = math.asinh %18 : f32
    %20 = math.acosh %19 : f32
    %21 = math.atanh %20 : f32
    %22 = math.powf %21, %x : f32
    %23 = math.sqrt %22 : f32
    %24 = math.rsqrt %23 : f32
    %25 = math.fma %24, %x, %23 : f32
    %26 = math.absf %25 : f32
    %27 = math.copysign %26, %x : f32
    %28 = math.floor %27 : f32
    %29 = math.ceil %28 : f32
    %30 = math.trunc %29 : f32
    %31 = math.round %30 : f32
    %32 = math.roundeven %31 : f32
    %33 = math.clampf %32 to [%x, %27] : f32
    %34 = arith.remf %33, %x : f32
    %35, %36 = math.sincos %34 : f32
    %37 = arith.maximumf %35, %36 : f32
    %38 = arith.minimumf %37, %x : f32
    %39 = arith.minnumf %38, %x : f32
    llvm.store %39, %out : f32, !llvm.ptr
    %b = llvm.load %in : !llvm.ptr -> bf16
    %b0 = math.exp %b : bf16
    %b1 = math.tanh %b0 : bf16
    %b2 = math.sqrt %b1 : bf16
    %b3 = math.absf %b2 : bf16
    %b4 = arith.maxnumf %b3, %b : bf16
    %b5 = arith.divf %b4, %b : bf16
    %b6 = math.fma %b5, %b, %b4 : bf16
    %out1 = llvm.getelementptr %out[32] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %b6, %out1 : bf16, !llvm.ptr
    %h = llvm.load %in : !llvm.ptr -> vector<2xf16>
    %h0 = math.erf %h : vector<2xf16>
    %h1 = arith.mulf %h0, %h : vector<2xf16>
    %h2 = arith.addf %h1, %h : vector<2xf16>
    %out2 = llvm.getelementptr %out[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %h2, %out2 : vector<2xf16>, !llvm.ptr
    %i = llvm.load %in : !llvm.ptr -> i32
    %i0 = math.ctlz %i : i32
    %i1 = math.ctpop %i0 : i32
    %i2 = math.absi %i1 : i32
    %i3 = arith.ceildivsi %i2, %i : i32
    %out3 = llvm.getelementptr %out[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %i3, %out3 : i32, !llvm.ptr
    gpu.return
  }

  gpu.func @vectors(%in: memref<?x?xf32, strided<[?, 1], offset: ?>>, %out: memref<?x?xf32>, %i: index) kernel {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %tile = vector.transfer_read %in[%i, %c0], %zero : memref<?x?xf32, strided<[?, 1], offset: ?>>, vector<2x4xf32>
    %t = vector.transpose %tile, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
    %flat = vector.shape_cast %t : vector<4x2xf32> to vector<8xf32>
    %cast = te_quant.cast %flat : vector<8xf32> to vector<8xf8E4M3FN>
    %wide = te_quant.cast %cast : vector<8xf8E4M3FN> to vector<8xf32>
    %back = vector.shape_cast %wide : vector<8xf32> to vector<2x4xf32>
    %sum = vector.multi_reduction <maxnumf>, %back, %tile [] : vector<2x4xf32> to vector<2x4xf32>
    %sub = memref.subview %out[%i, 0] [2, 4] [1, 1] : memref<?x?xf32> to memref<2x4xf32, strided<[?, 1], offset: ?>>
    vector.transfer_write %sum, %sub[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, memref<2x4xf32, strided<[?, 1], offset: ?>>
    gpu.return
  }
}
