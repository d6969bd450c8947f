// PTX of every conversion for chips with different instructions: no chip aborts
// the code generator, and none calls a function.

// DEFINE: %{chip} = sm_80
// DEFINE: %{ptx} = +ptx70
// DEFINE: %{compile} = te-opt %S/../Inputs/casts.mlir \
// DEFINE:   --nvvm-attach-target="chip=%{chip} features=%{ptx}" \
// DEFINE:   --te-quant-casts-to-nvvm --te-quant-expand-casts \
// DEFINE:   --te-quant-gpu-to-nvvm --gpu-module-to-binary=format=isa \
// DEFINE:   --te-quant-write-kernels=folder=%t/%{chip} -o /dev/null

// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_86
// REDEFINE: %{ptx} = +ptx71
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_89
// REDEFINE: %{ptx} = +ptx81
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=FP8 --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{ptx} = +ptx80
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=FP8 --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_100
// REDEFINE: %{ptx} = +ptx86
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=FP8 --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_120
// REDEFINE: %{ptx} = +ptx87
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=FP8 --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_100a
// REDEFINE: %{ptx} = +ptx87
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=ALL --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_103a
// REDEFINE: %{ptx} = +ptx88
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=ALL --input-file=%t/%{chip}/kernels.ptx

// REDEFINE: %{chip} = sm_120a
// REDEFINE: %{ptx} = +ptx87
// RUN: %{compile}
// RUN: FileCheck %s --check-prefix=ALL --input-file=%t/%{chip}/kernels.ptx

// NONE-NOT: {{\.extern|e4m3|e5m2|e2m1|ue8m0|call}}
// NONE: .entry fp8(
// NONE-NOT: {{\.extern|e4m3|e5m2|e2m1|ue8m0|call}}
// NONE: .entry memrefs(
// NONE-NOT: {{\.extern|e4m3|e5m2|e2m1|ue8m0|call}}

// FP8-NOT: {{\.extern|e2m1|ue8m0|call}}
// FP8: .entry fp8(
// FP8-COUNT-8: cvt.rn.satfinite.e4m3x2.f32
// FP8: cvt.rn.satfinite.e5m2x2.f32
// FP8-NOT: {{\.extern|e2m1|ue8m0|call}}
// FP8: .entry memrefs(
// FP8: cvt.rn.f16x2.e4m3x2
// FP8-NOT: {{\.extern|e2m1|ue8m0|call}}

// The bytes of a vector leave in one store.
// ALL-NOT: {{\.extern|call}}
// ALL: .entry fp8(
// ALL-COUNT-8: cvt.rn.satfinite.e4m3x2.f32
// ALL: st.global.v4.b32
// ALL: .entry fp4(
// ALL-COUNT-8: cvt.rn.satfinite.e2m1x2.f32
// ALL-COUNT-8: cvt.rn.f16x2.e2m1x2
// ALL: .entry e8m0(
// ALL: cvt.rp.satfinite.ue8m0x2.f32
// ALL: cvt.rn.bf16x2.ue8m0x2
// ALL-NOT: {{\.extern|call}}
