// Conversions become instructions where the chip has them; the rest is left.
// RUN: te-opt %s --te-quant-casts-to-nvvm=chip=sm_100a \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FP8,ALL
// RUN: te-opt %s --te-quant-casts-to-nvvm=chip=sm_89 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FP8,NO-FP4
// RUN: te-opt %s --te-quant-casts-to-nvvm=chip=sm_80 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NONE,NO-FP4
// The same chip from the module's target.
// RUN: te-opt %s --nvvm-attach-target=chip=sm_100a --te-quant-casts-to-nvvm \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FP8,ALL
// A module for two chips gets what both have.
// RUN: te-opt %s --nvvm-attach-target=chip=sm_100a \
// RUN:   --nvvm-attach-target=chip=sm_89 --te-quant-casts-to-nvvm \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FP8,NO-FP4

gpu.module @kernels {
  // The first operand goes to the upper half.
  // CHECK-LABEL: func.func @to_e4m3(
  // FP8-DAG: %[[X0:.*]] = vector.extract %{{.*}}[0]
  // FP8-DAG: %[[X1:.*]] = vector.extract %{{.*}}[1]
  // FP8-DAG: %[[X2:.*]] = vector.extract %{{.*}}[2]
  // FP8-DAG: %[[X3:.*]] = vector.extract %{{.*}}[3]
  // FP8-DAG: %[[LOW:.*]] = nvvm.convert.f32x2.to.f8x2 %[[X1]], %[[X0]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
  // FP8-DAG: %[[HIGH:.*]] = nvvm.convert.f32x2.to.f8x2 %[[X3]], %[[X2]] {{.*}}(f8E4M3FN)
  // FP8: vector.from_elements %[[LOW]], %[[HIGH]] : vector<2xi16>
  // FP8: vector.bitcast %{{.*}} : vector<2xi16> to vector<4xf8E4M3FN>
  // NONE: te_quant.cast %{{.*}} : vector<4xf32> to vector<4xf8E4M3FN>
  func.func @to_e4m3(%x: vector<4xf32>) -> vector<4xf8E4M3FN> {
    %n = te_quant.cast %x : vector<4xf32> to vector<4xf8E4M3FN>
    return %n : vector<4xf8E4M3FN>
  }

  // CHECK-LABEL: func.func @odd_and_16_bits(
  // CHECK: arith.extf %{{.*}} : vector<3xbf16> to vector<3xf32>
  // FP8-COUNT-2: nvvm.convert.f32x2.to.f8x2 {{.*}}(f8E5M2)
  // FP8: vector.extract_strided_slice {{.*}} : vector<4xf8E5M2> to vector<3xf8E5M2>
  // NONE: te_quant.cast %{{.*}} : vector<3xf32> to vector<3xf8E5M2>
  func.func @odd_and_16_bits(%x: vector<3xbf16>) -> vector<3xf8E5M2> {
    %n = arith.truncf %x : vector<3xbf16> to vector<3xf8E5M2>
    return %n : vector<3xf8E5M2>
  }

  // CHECK-LABEL: func.func @scalar(
  // CHECK-SAME: %[[X:.*]]: f32)
  // FP8: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // FP8: nvvm.convert.f32x2.to.f8x2 %[[ZERO]], %[[X]]
  // FP8: arith.trunci %{{.*}} : i16 to i8
  // NONE: te_quant.cast
  func.func @scalar(%x: f32) -> f8E4M3FN {
    %n = te_quant.cast %x : f32 to f8E4M3FN
    return %n : f8E4M3FN
  }

  // CHECK-LABEL: func.func @from_e4m3(
  // FP8-COUNT-2: nvvm.convert.f8x2.to.f16x2 {{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
  // NONE: te_quant.cast
  func.func @from_e4m3(%x: vector<2x2xf8E4M3FN>) -> vector<2x2xf32> {
    %w = te_quant.cast %x : vector<2x2xf8E4M3FN> to vector<2x2xf32>
    return %w : vector<2x2xf32>
  }

  // CHECK-LABEL: func.func @to_e8m0(
  // ALL: arith.andi
  // ALL: nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
  // NO-FP4: te_quant.cast
  func.func @to_e8m0(%x: f32) -> f8E8M0FNU {
    %n = te_quant.cast %x : f32 to f8E8M0FNU
    return %n : f8E8M0FNU
  }

  // CHECK-LABEL: func.func @from_e8m0(
  // ALL: nvvm.convert.f8x2.to.bf16x2 {{.*}}(f8E8M0FNU) -> vector<2xbf16>
  // ALL-NOT: arith.extf
  // ALL: arith.shli
  // ALL-NOT: arith.extf
  // NO-FP4: te_quant.cast
  func.func @from_e8m0(%x: f8E8M0FNU) -> f32 {
    %w = te_quant.cast %x : f8E8M0FNU to f32
    return %w : f32
  }

  // The pair is the byte: no half bytes are left.
  // CHECK-LABEL: func.func @to_e2m1(
  // CHECK-SAME: %[[X:.*]]: vector<2xf32>)
  // ALL-DAG: %[[X0:.*]] = vector.extract %[[X]][0]
  // ALL-DAG: %[[X1:.*]] = vector.extract %[[X]][1]
  // ALL: %[[BYTE:.*]] = nvvm.convert.f32x2.to.f4x2 %[[X1]], %[[X0]] : i8(f4E2M1FN)
  // ALL: %[[BYTES:.*]] = vector.from_elements %[[BYTE]] : vector<1xi8>
  // ALL: return %[[BYTES]]
  // NO-FP4: te_quant.cast
  func.func @to_e2m1(%x: vector<2xf32>) -> vector<1xi8> {
    %n = te_quant.cast %x : vector<2xf32> to vector<2xf4E2M1FN>
    %b = vector.bitcast %n : vector<2xf4E2M1FN> to vector<1xi8>
    return %b : vector<1xi8>
  }

  // CHECK-LABEL: func.func @from_e2m1(
  // ALL: nvvm.convert.f4x2.to.f16x2 {{.*}} : i8(f4E2M1FN) -> vector<2xf16>
  // NO-FP4: te_quant.cast {{.*}} to vector<2xf32>
  // CHECK: arith.truncf {{.*}} : vector<2xf32> to vector<2xbf16>
  func.func @from_e2m1(%b: vector<1xi8>) -> vector<2xbf16> {
    %n = vector.bitcast %b : vector<1xi8> to vector<2xf4E2M1FN>
    %w = te_quant.cast %n : vector<2xf4E2M1FN> to vector<2xbf16>
    return %w : vector<2xbf16>
  }

  // CHECK-LABEL: func.func @wide(
  // CHECK: %[[F32:.*]] = arith.extf {{.*}} : f16 to f32
  // CHECK: arith.truncf %[[F32]] : f32 to bf16
  func.func @wide(%x: f16) -> bf16 {
    %w = te_quant.cast %x : f16 to bf16
    return %w : bf16
  }
}
