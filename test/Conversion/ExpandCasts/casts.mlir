// Conversions become integer arithmetic, and bitcasts of narrow types fold away.
// RUN: te-opt %s --te-quant-expand-casts --split-input-file | FileCheck %s \
// RUN:   --implicit-check-not=te_quant.cast --implicit-check-not=f8E \
// RUN:   --implicit-check-not=f4E

// CHECK-LABEL: func.func @f32_to_e4m3(
// CHECK-SAME: %[[X:.*]]: f32) -> i8
func.func @f32_to_e4m3(%x: f32) -> i8 {
  // CHECK-DAG: %[[NAN:.*]] = arith.constant 127 : i32
  // 448 as f32.
  // CHECK-DAG: %[[MAX:.*]] = arith.constant 1138753536 : i32
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK: %[[MAGNITUDE:.*]] = arith.andi %[[BITS]],
  // CHECK: arith.minui %[[MAGNITUDE]], %[[MAX]]
  // CHECK: arith.addf
  // CHECK: %[[IS_NAN:.*]] = arith.cmpi ugt, %[[MAGNITUDE]],
  // CHECK: %[[CODE:.*]] = arith.select %[[IS_NAN]], %[[NAN]],
  // CHECK: %[[BYTE:.*]] = arith.trunci %[[CODE]] : i32 to i8
  // CHECK: return %[[BYTE]]
  %n = te_quant.cast %x : f32 to f8E4M3FN
  %b = arith.bitcast %n : f8E4M3FN to i8
  return %b : i8
}

// -----

// CHECK-LABEL: func.func @f32_to_e8m0(
func.func @f32_to_e8m0(%x: vector<4xf32>) -> vector<4xi8> {
  // CHECK: arith.addi {{.*}} : vector<4xi32>
  // CHECK: arith.minui {{.*}} : vector<4xi32>
  // CHECK: arith.trunci {{.*}} : vector<4xi32> to vector<4xi8>
  %n = te_quant.cast %x : vector<4xf32> to vector<4xf8E8M0FNU>
  %b = arith.bitcast %n : vector<4xf8E8M0FNU> to vector<4xi8>
  return %b : vector<4xi8>
}

// -----

// 2^-127 is code 0 and a subnormal, never zero.
// CHECK-LABEL: func.func @e8m0_to_f32(
func.func @e8m0_to_f32(%b: i8) -> f32 {
  // CHECK-DAG: %[[SMALLEST:.*]] = arith.constant 4194304 : i32
  // CHECK: %[[SHIFTED:.*]] = arith.shli
  // CHECK: arith.maxui %[[SHIFTED]], %[[SMALLEST]]
  %n = arith.bitcast %b : i8 to f8E8M0FNU
  %x = te_quant.cast %n : f8E8M0FNU to f32
  return %x : f32
}

// -----

// Two codes a byte, the even one in the low half, without a vector of i4 in
// memory.
// CHECK-LABEL: func.func @f32_to_packed_e2m1(
func.func @f32_to_packed_e2m1(%x: vector<8xf32>) -> vector<4xi8> {
  // CHECK: %[[CODES:.*]] = arith.extui {{.*}} : vector<8xi4> to vector<8xi8>
  // CHECK: %[[LOW:.*]] = vector.shuffle %[[CODES]], %[[CODES]] [0, 2, 4, 6]
  // CHECK: %[[HIGH:.*]] = vector.shuffle %[[CODES]], %[[CODES]] [1, 3, 5, 7]
  // CHECK: %[[SHIFTED:.*]] = arith.shli %[[HIGH]],
  // CHECK: arith.ori %[[LOW]], %[[SHIFTED]]
  %n = te_quant.cast %x : vector<8xf32> to vector<8xf4E2M1FN>
  %b = vector.bitcast %n : vector<8xf4E2M1FN> to vector<4xi8>
  return %b : vector<4xi8>
}

// -----

// CHECK-LABEL: func.func @packed_e2m1_to_f32(
func.func @packed_e2m1_to_f32(%b: vector<1xi32>) -> vector<8xf32> {
  // CHECK: %[[BYTES:.*]] = vector.bitcast {{.*}} to vector<4xi8>
  // CHECK: %[[HIGH:.*]] = arith.shrui %[[BYTES]],
  // CHECK: vector.shuffle %[[BYTES]], %[[HIGH]] [0, 4, 1, 5, 2, 6, 3, 7]
  %n = vector.bitcast %b : vector<1xi32> to vector<8xf4E2M1FN>
  %x = te_quant.cast %n : vector<8xf4E2M1FN> to vector<8xf32>
  return %x : vector<8xf32>
}

// -----

// CHECK-LABEL: func.func @scalar_e2m1(
func.func @scalar_e2m1(%x: f32) -> i4 {
  // CHECK: arith.trunci {{.*}} : i32 to i4
  %n = te_quant.cast %x : f32 to f4E2M1FN
  %b = arith.bitcast %n : f4E2M1FN to i4
  return %b : i4
}

// -----

// CHECK-LABEL: func.func @vectors_of_two_dims(
func.func @vectors_of_two_dims(%x: vector<2x4xbf16>) -> vector<2x2xi8> {
  // CHECK: arith.addf {{.*}} : vector<2x4xf32>
  // CHECK-COUNT-2: vector.shuffle
  %n = te_quant.cast %x : vector<2x4xbf16> to vector<2x4xf4E2M1FN>
  %b = vector.bitcast %n : vector<2x4xf4E2M1FN> to vector<2x2xi8>
  return %b : vector<2x2xi8>
}

// -----

// Upstream's conversions on narrow types are ours; their folds are not used.
// CHECK-LABEL: func.func @upstream_casts(
// CHECK-NOT: arith.truncf {{.*}} to f8
func.func @upstream_casts(%x: f32, %c: i8, %h: i4) -> (i8, f64, i8) {
  // CHECK: %[[WIDE:.*]] = arith.extf {{.*}} : f32 to f64
  %n = arith.truncf %x : f32 to f8E5M2
  %b = arith.bitcast %n : f8E5M2 to i8
  %w = arith.bitcast %c : i8 to f8E8M0FNU
  %d = arith.extf %w : f8E8M0FNU to f64
  %f = arith.bitcast %h : i4 to f4E2M1FN
  %g = arith.extf %f : f4E2M1FN to f8E4M3FN
  %gb = arith.bitcast %g : f8E4M3FN to i8
  return %b, %d, %gb : i8, f64, i8
}

// -----

// 1000 saturates and E8M0 rounds up, also where the input is a constant.
// CHECK-LABEL: func.func @constants(
func.func @constants() -> (i8, i8) {
  // CHECK-DAG: %[[MAX:.*]] = arith.constant 126 : i8
  // CHECK-DAG: %[[UP:.*]] = arith.constant -128 : i8
  // CHECK: return %[[MAX]], %[[UP]]
  %x = arith.constant 1000.0 : f32
  %n = arith.truncf %x : f32 to f8E4M3FN
  %b = arith.bitcast %n : f8E4M3FN to i8
  %y = arith.constant 1.6 : f32
  %m = arith.truncf %y : f32 to f8E8M0FNU
  %c = arith.bitcast %m : f8E8M0FNU to i8
  return %b, %c : i8, i8
}

// -----

// Conversions between wide types keep upstream's meaning.
// CHECK-LABEL: func.func @wide_upstream_casts(
func.func @wide_upstream_casts(%x: f32) -> bf16 {
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %n = arith.truncf %x : f32 to bf16
  return %n : bf16
}
