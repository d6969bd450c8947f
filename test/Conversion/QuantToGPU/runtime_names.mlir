// What has the name of a runtime function and is none is refused; a declaration
// is the runtime's.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a --split-input-file --verify-diagnostics

// expected-error @below {{'llvm.mlir.global' op has the name 'mgpuStreamSynchronize', but names that begin with 'mgpu' are the runtime's, which 'llvm.func' may declare}}
llvm.mlir.global external @mgpuStreamSynchronize() : i32

// -----

// expected-error @below {{'func.func' op has the name 'teRuntimeCheck', but names that begin with 'teRuntime' are the runtime's}}
func.func private @teRuntimeCheck(i32)

// -----

// expected-error @below {{'llvm.func' op has the name 'mgpuMemAlloc'}}
llvm.func @mgpuMemAlloc() {
  llvm.return
}

// -----

llvm.func @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
