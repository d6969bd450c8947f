#!/usr/bin/env python3
# Tests of the Python package; the last line is 'N passed, N failed, N skipped'.
#
# Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import doctest
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import te_quant

TYPE = "!te_quant.tensor<?x32xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>"
MODULE = f"""
func.func @main(%x: tensor<?x32xf32>) -> {TYPE} {{
  %q = te_quant.quantize %x : tensor<?x32xf32> -> {TYPE}
  return %q : {TYPE}
}}
"""


class Package(unittest.TestCase):
    def test_layout_has_shapes_and_bytes(self):
        inner = te_quant.layout("!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>")
        self.assertEqual([(i.shape, i.dtype, i.nbytes) for i in inner],
                         [((32, 64), "f8E4M3FN", 2048), ((128, 4), "f8E8M0FNU", 512),
                          ((32, 64), "f8E4M3FN", 2048), ((4, 128), "f8E8M0FNU", 512)])

    def test_illegal_type_is_an_error(self):
        with self.assertRaisesRegex(te_quant.Error, "fp8_dtype"):
            te_quant.layout("!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f32>>")

    def test_run_with_a_dynamic_dim(self):
        row = struct.pack("<32f", *([560.0, 448.0, 1.0] + [0.0] * 29))
        data, scales = te_quant.run(MODULE, "main", [(row, (1, 32))])
        self.assertEqual((data.name, data.shape, data.data[:3]), ("rowwise_data", (1, 32), b"\x79\x76\x30"))
        self.assertEqual((scales.shape, scales.data[0]), ((128, 4), 128))

    def test_lower_for_a_chip(self):
        lowered = te_quant.lower(MODULE, chip="sm_100a")
        self.assertIn(b".target sm_100a", lowered.kernels["te_quant_kernels.ptx"])
        with self.assertRaisesRegex(te_quant.Error, "unknown chip"):
            te_quant.lower(MODULE, chip="sm_1")


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Package)
    suite.addTests(doctest.DocTestSuite(te_quant))
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed else 0)
