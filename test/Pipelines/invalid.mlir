// A wrong option of the pipeline ends it with status 1 and without an output.
// RUN: rm -f %t
// RUN: not te-opt %s --te-quant-gpu-pipeline="format=foo" -o %t 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not te-opt %s --te-quant-gpu-pipeline="chip=sm_42" -o %t 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not te-opt %s --pass-pipeline="builtin.module(func.func(te-quant-gpu-pipeline))" -o %t 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not te-opt %s --pass-pipeline="any(te-quant-gpu-pipeline)" -o %t 2>&1 | FileCheck %s --check-prefix=ANY
// RUN: not test -e %t

// FORMAT: Cannot find option named 'foo'
// FUNCTION: error: expected pipeline 'te-quant-gpu-pipeline' to be on 'builtin.module', but got 'func.func'
// ANY: error: expected pipeline 'te-quant-gpu-pipeline' to be on 'builtin.module', but got 'any'
// CHIP: error: unknown chip 'sm_42', expected one of sm_80

func.func @f(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  return %x : tensor<32x64xf32>
}
