// PTX rounds as the IR says: nothing that the assembler may contract, nothing
// that flushes or approximates, nothing to link.
// RUN: te-opt %S/../Inputs/kernels.mlir \
// RUN:   --nvvm-attach-target="chip=sm_90a features=+ptx80" \
// RUN:   --te-quant-casts-to-nvvm --te-quant-expand-casts \
// RUN:   --te-quant-gpu-to-nvvm --gpu-module-to-binary=format=isa \
// RUN:   --te-quant-write-kernels=folder=%t -o /dev/null
// RUN: FileCheck %s --input-file=%t/kernels.ptx \
// RUN:   --implicit-check-not=.extern --implicit-check-not=.ftz \
// RUN:   --implicit-check-not=.approx --implicit-check-not=mul.f32 \
// RUN:   --implicit-check-not=add.f32 --implicit-check-not=sub.f32 \
// RUN:   --implicit-check-not=mul.bf16 --implicit-check-not=add.f16 \
// RUN:   --implicit-check-not=call

// CHECK: .entry arithmetic(
// CHECK: .maxntid 128, 1, 1
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-4: mul.rn.f32
// CHECK-COUNT-4: add.rn.f32
// CHECK-COUNT-4: div.rn.f32
// CHECK-COUNT-4: sqrt.rn.f32
// CHECK: max.f32
// CHECK: .entry block_max(
// CHECK: shfl.sync.bfly.b32
// CHECK: bar.sync
// CHECK: .entry functions(
// CHECK: fma.rn.f32
// CHECK: .entry vectors(
// CHECK-COUNT-4: cvt.rn.satfinite.e4m3x2.f32
