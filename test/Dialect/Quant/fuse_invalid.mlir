// Proves that each check of regions on elements and of column sums refuses what it must.
// RUN: te-opt %s --split-input-file --verify-diagnostics

func.func @inputs_without_region(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected one input without a region, but got 2}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x, %x : memref<8x16xf32>, memref<8x16xf32>) outs(%a : memref<1xf32>)
  return
}

// -----

func.func @maps_without_region(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected maps only where there is a region}}
  "te_quant.amax_into"(%x, %a) <{quantizer = #te_quant.nvfp4, operandSegmentSizes = array<i32: 1, 1>, indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({}) : (memref<8x16xf32>, memref<1xf32>) -> ()
  return
}

// -----

func.func @number_of_maps(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected a map for each of 2 inputs, but got 1}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x, %x : memref<8x16xf32>, memref<8x16xf32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%e: f32, %f: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

func.func @no_input_with_all_dims(%x: memref<16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected an input with all dims}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<16xf32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1) -> (d1)>] {
  ^bb0(%e: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

func.func @permuted(%x: memref<8x16xf32>, %y: memref<16x8xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected the map of input 1 to take 2 dims to all of them, the last one, all but the last one or none, but got affine_map<(d0, d1) -> (d1, d0)>}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x, %y : memref<8x16xf32>, memref<16x8xf32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>] {
  ^bb0(%e: f32, %f: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

func.func @rank(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected input 1 to have rank 1 as its map says, but got 'memref<8x16xf32>'}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x, %x : memref<8x16xf32>, memref<8x16xf32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] {
  ^bb0(%e: f32, %f: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

func.func @dims(%x: memref<8x16xf32>, %y: memref<8xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected the dims of input 1, 'memref<8xf32>', to be those of the logical input, 'memref<8x16xf32>'}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x, %y : memref<8x16xf32>, memref<8xf32>) outs(%a : memref<1xf32>)
    fuse maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] {
  ^bb0(%e: f32, %f: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

func.func @terminator(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected the region to end with 'te_quant.yield'}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<8x16xf32>) outs(%a : memref<1xf32>) fuse {
  ^bb0(%e: f32):
    llvm.unreachable
  }
  return
}

// -----

func.func @arguments(%x: memref<8x16xf32>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected the region's arguments to be elements of the inputs ('f32'), but got ('bf16')}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<8x16xf32>) outs(%a : memref<1xf32>) fuse {
  ^bb0(%e: bf16):
    te_quant.yield %e : bf16
  }
  return
}

// -----

func.func @elements(%x: memref<8x16xi1>, %a: memref<1xf32>) {
  // expected-error @below {{'te_quant.amax_into' op expected inputs of floating-point or integer elements of 8 to 64 bits, but got 'i1'}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<8x16xi1>) outs(%a : memref<1xf32>) fuse {
  ^bb0(%e: i1):
    %v = arith.uitofp %e : i1 to f32
    te_quant.yield %v : f32
  }
  return
}

// -----

// A quotient of integers is not defined where there is no element.
func.func @division(%x: memref<8x16xi32>, %a: memref<1xf32>) {
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<8x16xi32>) outs(%a : memref<1xf32>) fuse {
  ^bb0(%e: i32):
    // expected-error @below {{'arith.divsi' op cannot be in the region of 'te_quant.amax_into': expected arithmetic on scalars that can be done for any element}}
    %q = arith.divsi %e, %e : i32
    %v = arith.sitofp %q : i32 to f32
    te_quant.yield %v : f32
  }
  return
}

// -----

func.func @capture(%x: memref<8x16xf32>, %c: f32, %a: memref<1xf32>) {
  // expected-note @below {{required by region isolation constraints}}
  te_quant.amax_into #te_quant.float8_current_scaling<f8E4M3FN> ins(%x : memref<8x16xf32>) outs(%a : memref<1xf32>) fuse {
  ^bb0(%e: f32):
    // expected-error @below {{'arith.mulf' op using value defined outside the region}}
    %v = arith.mulf %e, %c : f32
    te_quant.yield %v : f32
  }
  return
}

// -----

func.func @identity(%x: memref<8x16xf32>, %d: memref<8x16xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected no region: the quantizer cannot make its input}}
  te_quant.quantize_into #te_quant.identity ins(%x : memref<8x16xf32>) outs(%d : memref<8x16xf32>) fuse {
  ^bb0(%e: f32):
    te_quant.yield %e : f32
  }
  return
}

// -----

// The layout is that for what the region yields.
func.func @inner_type(%x: memref<8x16xbf16>, %d: memref<8x16xbf16>, %s: memref<1xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected inner tensor 0 'data' to be 'tensor<8x16xf8E4M3FN>', but got 'memref<8x16xbf16>'}}
  te_quant.quantize_into #te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise> ins(%x : memref<8x16xbf16>) outs(%d, %s : memref<8x16xbf16>, memref<1xf32>) fuse {
  ^bb0(%e: bf16):
    %v = arith.extf %e : bf16 to f32
    te_quant.yield %v : f32
  }
  return
}

// -----

func.func @column_sum_dim(%x: tensor<8x16xf32>) {
  // expected-error @below {{'te_quant.column_sum' op shape of the sum (8) must equal shape of the last dim (16)}}
  %s = te_quant.column_sum %x : tensor<8x16xf32> -> tensor<8xf32>
  return
}

// -----

func.func @column_sum_rank(%x: tensor<f32>) {
  // expected-error @below {{'te_quant.column_sum' op expected an input of rank 1 or more, but got rank 0}}
  %s = te_quant.column_sum %x : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @column_sum_overflow(%x: tensor<4611686018427387904x8x16xf32>) {
  // expected-error @below {{'te_quant.column_sum' op flattened extents of the input overflow 64 bits}}
  %s = te_quant.column_sum %x : tensor<4611686018427387904x8x16xf32> -> tensor<16xf32>
  return
}

// -----

func.func @column_sum_into_outs(%x: memref<8x16xf32>, %s: memref<16xf32>) {
  // expected-error @below {{'te_quant.column_sum_into' op expected the sum and room for the sums of chunks as 'outs', but got 1 operands}}
  te_quant.column_sum_into ins(%x : memref<8x16xf32>) outs(%s : memref<16xf32>)
  return
}

// -----

func.func @column_sum_into_type(%x: memref<8x16xf32>, %s: memref<16xi32>, %c: memref<1x16xf32>) {
  // expected-error @below {{'te_quant.column_sum_into' op expected a sum of f32, bf16 or f16, but got 'memref<16xi32>'}}
  te_quant.column_sum_into ins(%x : memref<8x16xf32>) outs(%s, %c : memref<16xi32>, memref<1x16xf32>)
  return
}

// -----

func.func @column_sum_into_chunks(%x: memref<33x16xf32>, %s: memref<16xf32>, %c: memref<1x16xf32>) {
  // expected-error @below {{'te_quant.column_sum_into' op shape of the sums of chunks (1, 16) must equal shape of chunks and columns (2, 16)}}
  te_quant.column_sum_into ins(%x : memref<33x16xf32>) outs(%s, %c : memref<16xf32>, memref<1x16xf32>)
  return
}

// -----

func.func @column_sum_into_chunk_type(%x: memref<8x16xf32>, %s: memref<16xf32>, %c: memref<1x16xbf16>) {
  // expected-error @below {{'te_quant.column_sum_into' op expected f32 sums of chunks, but got 'memref<1x16xbf16>'}}
  te_quant.column_sum_into ins(%x : memref<8x16xf32>) outs(%s, %c : memref<16xf32>, memref<1x16xbf16>)
  return
}

// -----

func.func @sums_noop(%x: memref<32x64xf32>, %f: memref<1xf32>, %d: memref<32x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>,
                     %b: memref<64xf32>, %c: memref<1x64xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected no 'noop' with 'column_sum', but got both}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<32x64xf32>) noop(%f : memref<1xf32>)
    outs(%d, %s, %b, %c : memref<32x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>, memref<64xf32>, memref<1x64xf32>) column_sum
  return
}

// -----

func.func @sums_quantizer(%x: memref<32x64xf32>, %f: memref<1xf32>, %d: memref<32x64xf8E4M3FN>, %b: memref<64xf32>,
                          %c: memref<1x64xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected a quantizer that sums columns, but got #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise>}}
  te_quant.quantize_into #te_quant.float8_delayed_scaling<f8E4M3FN, usage = rowwise> ins(%x : memref<32x64xf32>)
    scale(%f : memref<1xf32>)
    outs(%d, %f, %f, %b, %c : memref<32x64xf8E4M3FN>, memref<1xf32>, memref<1xf32>, memref<64xf32>, memref<1x64xf32>) column_sum
  return
}

// -----

func.func @sums_outs(%x: memref<32x64xf32>, %b: memref<64xf32>, %c: memref<1x64xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op expected inner tensors, the sum and room for the sums of chunks as 'outs', but got 2 operands}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<32x64xf32>)
    outs(%b, %c : memref<64xf32>, memref<1x64xf32>) column_sum
  return
}

// -----

func.func @sums_chunks(%x: memref<64x64xf32>, %d: memref<64x64xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>, %b: memref<64xf32>,
                       %c: memref<1x64xf32>) {
  // expected-error @below {{'te_quant.quantize_into' op shape of the sums of chunks (1, 64) must equal shape of chunks and columns (2, 64)}}
  te_quant.quantize_into #te_quant.mxfp8<f8E4M3FN, usage = rowwise> ins(%x : memref<64x64xf32>)
    outs(%d, %s, %b, %c : memref<64x64xf8E4M3FN>, memref<128x4xf8E8M0FNU>, memref<64xf32>, memref<1x64xf32>) column_sum
  return
}
