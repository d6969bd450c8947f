// What NVFP4 has no kernels for.
// RUN: te-opt %s --te-quant-to-gpu=chip=sm_90a -split-input-file -verify-diagnostics

// Whether a block of the transform has one line or 16 is not defined.
func.func @rht_2d(%x: memref<16x16xbf16>, %a: memref<1xf32>, %b: memref<1xf32>,
    %d: memref<16x8xi8>, %s: memref<128x4xf8E4M3FN>, %o: memref<1xf32>) {
  // expected-error @+1 {{expected usage rowwise for 'with_rht' together with 'with_2d_quantization', as the blocks of the transform are not defined, but got columnwise}}
  te_quant.quantize_into #te_quant.nvfp4<usage = columnwise, with_rht = true,
      with_post_rht_amax = true, with_2d_quantization = true>
    ins(%x : memref<16x16xbf16>) amax(%a, %b : memref<1xf32>, memref<1xf32>)
    outs(%d, %s, %o : memref<16x8xi8>, memref<128x4xf8E4M3FN>, memref<1xf32>)
  return
}

// -----

func.func @rht_2d_both(%x: memref<16x16xbf16>, %a: memref<1xf32>,
    %d: memref<16x8xi8>, %s: memref<128x4xf8E4M3FN>, %o: memref<1xf32>) {
  // expected-error @+1 {{but got both}}
  te_quant.quantize_into #te_quant.nvfp4<with_rht = true,
      with_post_rht_amax = true, with_2d_quantization = true>
    ins(%x : memref<16x16xbf16>) amax(%a, %a : memref<1xf32>, memref<1xf32>)
    outs(%d, %s, %d, %s, %o, %o : memref<16x8xi8>, memref<128x4xf8E4M3FN>,
         memref<16x8xi8>, memref<128x4xf8E4M3FN>, memref<1xf32>, memref<1xf32>)
  return
}
