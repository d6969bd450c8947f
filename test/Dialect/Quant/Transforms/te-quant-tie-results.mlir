// Proves which results te-quant-tie-results takes out of a signature, and that calls use the argument instead.
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-tie-results --split-input-file | FileCheck %s
// RUN: te-opt %s --allow-unregistered-dialect --te-quant-tie-results --te-quant-tie-results --split-input-file | FileCheck %s

// The same argument twice, a fresh result beside it, a scalar.
// CHECK-LABEL: func.func @same_argument_twice(
// CHECK-SAME: %[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>) -> (f32 {test.scalar}, memref<4xf32> {test.fresh})
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>, array<i64: 2, 1>]
// CHECK: return {test.return} %{{.*}}, %{{.*}} : f32, memref<4xf32>
func.func @same_argument_twice(%a: memref<4xf32>, %b: memref<4xf32>)
    -> (memref<4xf32> {test.tied}, f32 {test.scalar}, memref<4xf32>, memref<4xf32> {test.fresh}) {
  %c = arith.constant 1.0 : f32
  %fresh = memref.alloc() : memref<4xf32>
  return {test.return} %b, %c, %b, %fresh : memref<4xf32>, f32, memref<4xf32>, memref<4xf32>
}

// CHECK-LABEL: func.func @call(
// CHECK-SAME: %[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>) -> memref<4xf32>
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>]
// CHECK: %[[R:.*]]:2 = call @same_argument_twice(%[[A]], %[[B]]) {test.call}
// CHECK: "test.use"(%[[R]]#0, %[[B]], %[[B]])
// CHECK: return %[[R]]#1 : memref<4xf32>
func.func @call(%a: memref<4xf32>, %b: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %r:4 = call @same_argument_twice(%a, %b) {test.call} : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>, f32, memref<4xf32>, memref<4xf32>)
  "test.use"(%r#1, %r#0, %r#2) : (f32, memref<4xf32>, memref<4xf32>) -> ()
  return %r#2, %r#3 : memref<4xf32>, memref<4xf32>
}

// -----

// A cast changes the type only; the caller gets the argument cast.
// CHECK-LABEL: func.func @cast(
// CHECK-SAME: te_quant.tied = [array<i64: 0, 0>]
// CHECK-NOT: memref.cast
// CHECK: return
func.func @cast(%a: memref<4xf32>) -> memref<?xf32> {
  %c = memref.cast %a : memref<4xf32> to memref<?xf32>
  return %c : memref<?xf32>
}

// CHECK-LABEL: func.func @call_cast(
// CHECK-SAME: %[[A:.*]]: memref<4xf32>
// CHECK: %[[C:.*]] = memref.cast %[[A]] : memref<4xf32> to memref<?xf32>
// CHECK: "test.use"(%[[C]])
func.func @call_cast(%a: memref<4xf32>) {
  %r = call @cast(%a) : (memref<4xf32>) -> memref<?xf32>
  "test.use"(%r) : (memref<?xf32>) -> ()
  return
}

// The result's type contradicts the argument's: no cast leads back.
// CHECK-LABEL: func.func @cast_apart(
// CHECK-SAME: -> memref<5xf32>
// CHECK-NOT: te_quant.tied
// CHECK: return %{{.*}} : memref<5xf32>
func.func @cast_apart(%a: memref<4xf32>) -> memref<5xf32> {
  %c = memref.cast %a : memref<4xf32> to memref<?xf32>
  %d = memref.cast %c : memref<?xf32> to memref<5xf32>
  return %d : memref<5xf32>
}

// -----

// Control flow that agrees on every path.
// CHECK-LABEL: func.func @all_paths(
// CHECK-SAME: %[[N:.*]]: index, %[[C:.*]]: i1, %[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>)
// CHECK-SAME: te_quant.tied = [array<i64: 0, 2>, array<i64: 1, 2>, array<i64: 2, 2>, array<i64: 3, 3>]
func.func @all_paths(%n: index, %c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %zero = arith.constant 0 : index
  %for:2 = scf.for %i = %zero to %n step %n iter_args(%x = %a, %y = %b) -> (memref<4xf32>, memref<4xf32>) {
    %s = arith.select %c, %x, %a : memref<4xf32>
    scf.yield %s, %y : memref<4xf32>, memref<4xf32>
  }
  %if = scf.if %c -> memref<4xf32> {
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %for#0 : memref<4xf32>
  }
  %while = scf.while (%before = %if) : (memref<4xf32>) -> memref<4xf32> {
    scf.condition(%c) %before : memref<4xf32>
  } do {
  ^bb0(%after: memref<4xf32>):
    scf.yield %after : memref<4xf32>
  }
  return %for#0, %if, %while, %for#1 : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>
}

// Each of these is one buffer on one path and another on another.
// CHECK-LABEL: func.func @some_paths(
// CHECK-SAME: -> (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) {
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
func.func @some_paths(%n: index, %c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %zero = arith.constant 0 : index
  %swap:2 = scf.for %i = %zero to %n step %n iter_args(%x = %a, %y = %b) -> (memref<4xf32>, memref<4xf32>) {
    scf.yield %y, %x : memref<4xf32>, memref<4xf32>
  }
  %if = scf.if %c -> memref<4xf32> {
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %b : memref<4xf32>
  }
  %while = scf.while (%before = %a) : (memref<4xf32>) -> memref<4xf32> {
    scf.condition(%c) %before : memref<4xf32>
  } do {
  ^bb0(%after: memref<4xf32>):
    scf.yield %b : memref<4xf32>
  }
  %select = arith.select %c, %a, %b : memref<4xf32>
  return %swap#0, %if, %while, %select : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>
}

// CHECK-LABEL: func.func @blocks_agree(
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>]
func.func @blocks_agree(%c: i1, %a: memref<4xf32>) -> memref<4xf32> {
  cf.cond_br %c, ^x(%a : memref<4xf32>), ^y
^x(%p: memref<4xf32>):
  return %p : memref<4xf32>
^y:
  cf.br ^x(%a : memref<4xf32>)
}

// CHECK-LABEL: func.func @one_return_differs(
// CHECK-SAME: -> memref<4xf32> {
// CHECK: return %{{.*}} : memref<4xf32>
// CHECK: return %{{.*}} : memref<4xf32>
func.func @one_return_differs(%c: i1, %a: memref<4xf32>) -> memref<4xf32> {
  cf.cond_br %c, ^x, ^y
^x:
  return %a : memref<4xf32>
^y:
  %fresh = memref.alloc() : memref<4xf32>
  return %fresh : memref<4xf32>
}

// -----

// CHECK-LABEL: func.func @recursive(
// CHECK-SAME: %[[C:.*]]: i1, %[[A:.*]]: memref<4xf32>)
// CHECK-SAME: te_quant.tied = [array<i64: 0, 1>]
// CHECK: call @recursive(%[[C]], %[[A]]) : (i1, memref<4xf32>) -> ()
func.func @recursive(%c: i1, %a: memref<4xf32>) -> memref<4xf32> {
  cf.cond_br %c, ^x, ^y
^x:
  return %a : memref<4xf32>
^y:
  %r = call @recursive(%c, %a) : (i1, memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}

// The two swap their arguments: what comes back depends on the depth.
// CHECK-LABEL: func.func @mutual(
// CHECK-SAME: -> memref<4xf32> {
func.func @mutual(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> memref<4xf32> {
  %r = call @swapped(%c, %b, %a) : (i1, memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME: -> memref<4xf32> {
func.func @swapped(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> memref<4xf32> {
  cf.cond_br %c, ^x, ^y
^x:
  return %a : memref<4xf32>
^y:
  %r = call @mutual(%c, %a, %b) : (i1, memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}

// No path returns: nothing is known.
// CHECK-LABEL: func.func @forever(
// CHECK-SAME: -> memref<4xf32> {
func.func @forever(%a: memref<4xf32>) -> memref<4xf32> {
  %r = call @forever(%a) : (memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}

// -----

// A function that is used as a value keeps its type, and so do those that return what it returns.
// CHECK-LABEL: func.func @taken(
// CHECK-SAME: -> memref<4xf32> {
func.func @taken(%a: memref<4xf32>) -> memref<4xf32> {
  return %a : memref<4xf32>
}
// CHECK-LABEL: func.func @takes(
// CHECK-SAME: -> memref<4xf32> {
func.func @takes(%a: memref<4xf32>) -> memref<4xf32> {
  %f = constant @taken : (memref<4xf32>) -> memref<4xf32>
  %r = call @taken(%a) : (memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}

// CHECK-LABEL: func.func private @declared(memref<4xf32>) -> memref<4xf32>
func.func private @declared(%a: memref<4xf32>) -> memref<4xf32>
// CHECK-LABEL: func.func @calls_declared(
// CHECK-SAME: -> memref<4xf32> {
func.func @calls_declared(%a: memref<4xf32>) -> memref<4xf32> {
  %r = call @declared(%a) : (memref<4xf32>) -> memref<4xf32>
  return %r : memref<4xf32>
}

// Other ops' buffers and parts of an argument are no argument.
// CHECK-LABEL: func.func @part(
// CHECK-SAME: -> (memref<4xf32>, memref<2xf32, strided<[1]>>) {
func.func @part(%a: memref<4xf32>) -> (memref<4xf32>, memref<2xf32, strided<[1]>>) {
  %o = "test.op"(%a) : (memref<4xf32>) -> memref<4xf32>
  %s = memref.subview %a[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  return %o, %s : memref<4xf32>, memref<2xf32, strided<[1]>>
}
