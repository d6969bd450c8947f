#!/usr/bin/env python3
#===- public_cases.py - small inputs from bug reports of other projects ----===//
#
# Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===//
"""Inputs that went wrong somewhere else, each with the right answer.

A test is named for its case (`pc_04`) and what it shows. Programs run in the
emulator for a chip without, one with some and one with all conversions in
hardware. Standard library only.

    public_cases.py --te-opt PATH --te-run PATH [--ptxas PATH]
                    [--mlir-opt PATH --plugin PATH]
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = argparse.Namespace(te_opt=None, te_run=None, ptxas=None, mlir_opt=None, plugin=None)
CHIPS = ("sm_80", "sm_90a", "sm_100a")


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def words(*patterns):
    return struct.pack(f"<{len(patterns)}I", *patterns)


def bf16(*values):
    """The upper halves of f32 values that bf16 holds exactly."""
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def pad(data, size):
    return data + bytes(size - len(data))


def run(module, inputs, chip="sm_90a", entry="main"):
    """What te-run writes, by (result, name); an error is a RuntimeError."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "module.mlir")
        with open(path, "w") as file:
            file.write(module)
        out = os.path.join(work, "out")
        command = [TOOLS.te_run, path, f"--entry={entry}", "--target=emulate",
                   f"--chip={chip}", "--output-dir", out]
        for index, item in enumerate(inputs):
            data, suffix = item if isinstance(item, tuple) else (item, "")
            name = os.path.join(work, f"in{index}.bin")
            with open(name, "wb") as file:
                file.write(data)
            command += ["--input", name + suffix]
        done = subprocess.run(command, capture_output=True, text=True)
        if "is not supported yet" in done.stderr:
            raise unittest.SkipTest(done.stderr.strip().split("error: ")[-1])
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        with open(os.path.join(out, "manifest.json")) as file:
            rows = json.load(file)
        results = {}
        for row in rows:
            with open(os.path.join(out, row["file"]), "rb") as file:
                results[row["result"], row["name"]] = file.read()
            results[row["result"], row["name"], "shape"] = row["shape"]
        return results


def opt(module, *flags):
    return subprocess.run([TOOLS.te_opt, "-", *flags], input=module,
                          capture_output=True, text=True)


def cast(source, target, count):
    """A program that casts a tensor by te_quant.cast."""
    a, b = f"tensor<{count}x{source}>", f"tensor<{count}x{target}>"
    return (f"func.func @main(%x: {a}) -> {b} {{\n"
            f"  %y = te_quant.cast %x : {a} to {b}\n  return %y : {b}\n}}\n")


def quantize(shape, dtype, quantizer, dequantize=()):
    """A program that quantizes its argument and dequantizes the result."""
    dims = "".join(f"{dim}x" for dim in shape)
    source = f"tensor<{dims}{dtype}>"
    kind = f"!te_quant.tensor<{dims}{dtype}, {quantizer}>"
    results, types = ["%q"], [kind]
    body = [f"%q = te_quant.quantize %x : {source} -> {kind}"]
    for wide in dequantize:
        results.append(f"%y{len(results)}")
        types.append(f"tensor<{dims}{wide}>")
        body.append(f"{results[-1]} = te_quant.dequantize %q : {kind} -> {types[-1]}")
    lines = "\n  ".join(body)
    return (f"func.func @main(%x: {source}) -> ({', '.join(types)}) {{\n  {lines}\n"
            f"  return {', '.join(results)} : {', '.join(types)}\n}}\n")


def dequantize(shape, quantizer, dtypes, scale_shape):
    dims = "".join(f"{dim}x" for dim in shape)
    data = f"tensor<{dims}f8E4M3FN>"
    scales = f"tensor<{scale_shape[0]}x{scale_shape[1]}xf8E8M0FNU>"
    kind = f"!te_quant.tensor<{dims}f32, {quantizer}>"
    types = [f"tensor<{dims}{dtype}>" for dtype in dtypes]
    lines = "\n  ".join(f"%y{i} = te_quant.dequantize %q : {kind} -> {type}"
                        for i, type in enumerate(types))
    names = ", ".join(f"%y{i}" for i in range(len(types)))
    return (f"func.func @main(%d: {data}, %s: {scales}) -> ({', '.join(types)}) {{\n"
            f"  %q = te_quant.assemble %d, %s : {data}, {scales} -> {kind}\n"
            f"  {lines}\n  return {names} : {', '.join(types)}\n}}\n")


ROW = "#te_quant.mxfp8<f8E4M3FN, usage = rowwise>"


class BlockScales(unittest.TestCase):
    def test_pc_01_scale_bytes_0_and_255(self):
        scales = bytearray(b"\x7f" * (128 * 4))
        scales[0], scales[4] = 0x00, 0xFF
        module = dequantize((32, 64), ROW, ("f32", "bf16", "f16"), (128, 4))
        for chip in CHIPS:
            got = run(module, [b"\x38" * (32 * 64), bytes(scales)], chip)
            wide = struct.unpack("<2048I", got[0, "data"])
            self.assertEqual(set(wide[:32]), {0x00400000}, chip)
            self.assertTrue(all(v & 0x7FFFFFFF > 0x7F800000 for v in wide[64:96]))
            self.assertEqual(set(wide[32:64] + wide[96:]), {0x3F800000})
            half = struct.unpack("<2048H", got[1, "data"])
            self.assertEqual(set(half[:32]), {0x0040})
            half = struct.unpack("<2048H", got[2, "data"])
            self.assertEqual(set(half[:32]), {0x0000})

    def test_pc_03_every_scale_code(self):
        scales = bytes(code for row in range(256) for code in (row, 0, 0, 0))
        module = dequantize((256, 32), ROW, ("f32",), (256, 4))
        for chip in CHIPS:
            got = struct.unpack("<8192I", run(module, [b"\x38" * 8192, scales], chip)[0, "data"])
            for code in range(255):
                want = bits(math.ldexp(1.0, code - 127))
                self.assertEqual(set(got[32 * code:32 * code + 32]), {want}, (chip, code))
            self.assertTrue(all(v & 0x7FFFFFFF > 0x7F800000 for v in got[255 * 32:]))

    def test_pc_04_scale_rounds_up(self):
        rows = [(560.0, 448.0, 1.0), (448.0,), (896.0,), (224.0,), (1.75,), (6.0,)]
        data = b"".join(pad(f32(*row), 128) for row in rows)
        for chip in CHIPS:
            got = run(quantize((6, 32), "f32", ROW), [data], chip)
            codes = [got[0, "rowwise_scale_inv"][4 * row] for row in range(6)]
            self.assertEqual(codes, [128, 127, 128, 126, 119, 121], chip)
            self.assertEqual(got[0, "rowwise_data"][:4], bytes([0x79, 0x76, 0x30, 0x00]))
            e5m2 = ROW.replace("f8E4M3FN", "f8E5M2")
            got = run(quantize((6, 32), "f32", e5m2), [data], chip)
            self.assertEqual(got[0, "rowwise_scale_inv"][0], 121)

    E8M0 = [(0x00000000, 0x00), (0x00000001, 0x00), (0x00400000, 0x00), (0x00400001, 0x01),
            (0x00800000, 0x01), (0x3F800000, 0x7F), (0x3F800001, 0x80), (0x7F7FFFFF, 0xFE),
            (0x7F800000, 0xFE), (0x7FC00000, 0xFF)]

    def test_pc_06_f32_to_e8m0(self):
        source = words(*(bits for bits, _ in self.E8M0))
        want = bytes(code for _, code in self.E8M0)
        for chip in CHIPS:
            got = run(cast("f32", "f8E8M0FNU", len(want)), [source], chip)
            self.assertEqual(got[0, "data"], want, chip)
        # Negative values have no place in a scale: the sign is ignored.
        for chip in CHIPS:
            got = run(cast("f32", "f8E8M0FNU", 2), [f32(-1.0, -3.0)], chip)
            self.assertEqual(got[0, "data"], bytes([0x7F, 0x81]), chip)

    def test_pc_06_folder(self):
        lines, results = [], []
        for index, (bits, _) in enumerate(self.E8M0):
            lines.append(f"%c{index} = arith.constant 0x{bits:08X} : f32\n"
                         f"%n{index} = te_quant.cast %c{index} : f32 to f8E8M0FNU\n"
                         f"%i{index} = arith.bitcast %n{index} : f8E8M0FNU to i8")
            results.append(f"%i{index}")
        types = ", ".join(["i8"] * len(results))
        module = (f"func.func @main() -> ({types}) {{\n" + "\n".join(lines) +
                  f"\nreturn {', '.join(results)} : {types}\n}}\n")
        done = opt(module, "--canonicalize")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("te_quant.cast", done.stdout)
        got = run(module, [])
        self.assertEqual([got[i, name] for i, name in
                          ((i, [k[1] for k in got if k[0] == i and len(k) == 2][0])
                           for i in range(len(results)))],
                         [bytes([code]) for _, code in self.E8M0])

    def test_pc_08_no_upstream_scaling_casts(self):
        module = quantize((32, 64), "f32", "#te_quant.mxfp8<f8E4M3FN>", ("f32",))
        done = opt(module, "--te-quant-gpu-pipeline=chip=sm_100a format=isa", "--mlir-print-ir-after-all")
        self.assertEqual(done.returncode, 0, done.stderr[:500])
        for name in ("arith.scaling_truncf", "arith.scaling_extf"):
            self.assertNotIn(name, done.stderr + done.stdout)
        # 1.6 as a scale: rounded up.
        got = run(cast("f32", "f8E8M0FNU", 1), [f32(1.6)])
        self.assertEqual(got[0, "data"], b"\x80")


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


class ElementCasts(unittest.TestCase):
    def check(self, target, pairs):
        source, want = f32(*(v for v, _ in pairs)), bytes(code for _, code in pairs)
        for chip in CHIPS:
            got = run(cast("f32", target, len(pairs)), [source], chip)
            self.assertEqual(got[0, "data"].hex(), want.hex(), chip)

    def test_pc_10_one_rounding(self):
        self.check("f8E4M3FN", [(400.199585, 0x7D), (272.156555, 0x79), (136.002075, 0x71), (1.0625001, 0x39)])
        self.check("f8E5M2", [(1.125, 0x3C), (1.625, 0x3E)])
        done = opt(cast("f32", "f8E4M3FN", 4), "--te-quant-gpu-pipeline=chip=sm_90a format=isa")
        self.assertIn("cvt.rn.satfinite.e4m3x2.f32", done.stdout)

    def test_pc_12_off_by_one_code(self):
        self.check("f8E4M3FN", [(1.8131605, 0x3F), (232.03684, 0x77), (4.25, 0x48)])

    def test_pc_13_saturation(self):
        inf = math.inf
        pairs = [(448.0, 0x7E), (464.0, 0x7E), (465.0, 0x7E), (1000.0, 0x7E), (inf, 0x7E), (-inf, 0xFE), (math.nan, 0x7F)]
        self.check("f8E4M3FN", pairs)
        # The folder gives the same.
        for value, code in (("465.0", 0x7E), ("0x7F800000", 0x7E), ("0xFF800000", 0xFE), ("0x7FC00000", 0x7F)):
            module = (f"func.func @main() -> i8 {{\n%c = arith.constant {value} : f32\n"
                      "%n = te_quant.cast %c : f32 to f8E4M3FN\n%i = arith.bitcast %n : f8E4M3FN to i8\nreturn %i : i8\n}\n")
            got = [data for key, data in run(module, []).items() if len(key) == 2]
            self.assertEqual(got, [bytes([code])], value)

    def test_pc_16_e5m2_encoder(self):
        two = lambda exponent: math.ldexp(1.0, exponent)
        self.check("f8E5M2", [(two(-16), 0x01), (1e-5, 0x01), (two(-17), 0x00), (1.5 * two(-17), 0x01), (-0.0, 0x80),
                              (65504.0, 0x7B), (61440.0, 0x7B), (57344.0, 0x7B), (math.inf, 0x7B)])

    def test_pc_18_order_of_fp4_pairs(self):
        data = bytearray(bf16(1, -6, 0.5, 3) + bytes(16 * 16 * 2 - 8))
        for chip in CHIPS:
            got = run(quantize((16, 16), "bf16", "#te_quant.nvfp4"), [bytes(data)], chip)
            self.assertEqual(got[0, "rowwise_data"][:2], bytes([0xF2, 0x51]), chip)
            self.assertEqual(got[0, "rowwise_scale_inv"][0], 0x7E)
            self.assertEqual(got[0, "columnwise_data"][0], 0x07, chip)
            self.assertEqual(got[0, "columnwise_data"][8], 0x0F, chip)
            self.assertEqual(got[0, "columnwise_scale_inv"][0], 0x69)


class Shapes(unittest.TestCase):
    def refuse(self, shape, quantizer, *texts, dtype="bf16"):
        done = opt(quantize(shape, dtype, quantizer))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_pc_24_rows_not_a_multiple(self):
        self.refuse((7984, 3072), "#te_quant.mxfp8<f8E4M3FN>", "dim 0", "7984", "32", "8000")

    def test_pc_30_last_dim_smaller_than_the_block(self):
        self.refuse((65536, 16), "#te_quant.mxfp8<f8E4M3FN>", "dim 1", "16", "32")
        self.refuse((65536, 8), "#te_quant.nvfp4", "dim 1", "8", "16")
        for dim, row, col in ((1, [1, 64], [1, 100]), (2, [1, 4], [1, 4])):
            quantizer = f"#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = {dim}>"
            done = opt(quantize((64, 100), "bf16", quantizer), "--te-quant-print-layout=format=json", "-o", os.devnull)
            self.assertEqual(done.returncode, 0, done.stderr)
            inner = {entry["name"]: entry["shape"] for entry in json.loads(done.stdout)[0]["inner"]}
            self.assertEqual((inner["rowwise_scale_inv"], inner["columnwise_scale_inv"]), (row, col))

    EMPTY = {
        "#te_quant.mxfp8<f8E4M3FN>": {"rowwise_data": [0, 256], "rowwise_scale_inv": [0, 8], "columnwise_scale_inv": [0, 256]},
        "#te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>": {"data": [0, 256], "scale_inv": [1]},
        "#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>": {"rowwise_scale_inv": [2, 0], "columnwise_scale_inv": [0, 256]},
        "#te_quant.float8_block_scaling<f8E4M3FN>": {"rowwise_scale_inv": [0, 4], "columnwise_scale_inv": [2, 0]},
        "#te_quant.nvfp4": {"rowwise_data": [0, 128], "columnwise_data": [256, 0], "rowwise_scale_inv": [0, 16],
                            "columnwise_scale_inv": [256, 0], "amax_rowwise": [1], "amax_columnwise": [1]},
    }

    def test_pc_32_no_rows(self):
        for quantizer, want in self.EMPTY.items():
            for rows in (0, "?"):
                with self.subTest(quantizer=quantizer, rows=rows):
                    module = quantize((rows, 256), "bf16", quantizer)
                    if "nvfp4" not in quantizer:
                        module = quantize((rows, 256), "bf16", quantizer, ("f32",))
                    got = run(module, [(b"", ":0x256")])
                    for name, shape in want.items():
                        self.assertEqual(got[0, name, "shape"], shape, name)
                    if "nvfp4" not in quantizer:
                        self.assertEqual(got[1, "data", "shape"], [0, 256])


class Targets(unittest.TestCase):
    PROGRAM = quantize((32, 64), "f32", "#te_quant.mxfp8<f8E4M3FN>", ("f32",))

    def test_pc_43_widen_and_narrow(self):
        for chip in ("sm_80", "sm_89", "sm_90"):
            for module in (cast("f32", "f8E4M3FN", 256), cast("f8E4M3FN", "f32", 256)):
                done = opt(module, f"--te-quant-gpu-pipeline=chip={chip} format=isa")
                self.assertEqual(done.returncode, 0, done.stderr[:400])
                self.assertEqual("cvt.rn" in done.stdout and "e4m3x2" in done.stdout, chip != "sm_80", chip)

    def test_pc_46_every_chip_or_an_error(self):
        for chip in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_100a", "sm_120", "sm_120a"):
            with tempfile.TemporaryDirectory() as folder:
                done = opt(self.PROGRAM, f"--te-quant-gpu-pipeline=chip={chip} format=isa kernels={folder}")
                self.assertEqual(done.returncode, 0, (chip, done.stderr[:400]))
                with open(os.path.join(folder, "te_quant_kernels.ptx")) as file:
                    text = file.read()
                self.assertNotIn(".extern", text)
                if TOOLS.ptxas:
                    path = os.path.join(folder, "te_quant_kernels.ptx")
                    done = subprocess.run([TOOLS.ptxas, f"-arch={chip}", path, "-o", os.devnull], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, (chip, done.stderr[:400]))
        done = opt(self.PROGRAM, "--te-quant-gpu-pipeline=chip=sm_42 format=isa")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown chip 'sm_42'", done.stderr)


class Plugins(unittest.TestCase):
    """The plugin in a stock mlir-opt; a bad path leaves its exit status at 0."""
    PIPELINE = "--pass-pipeline=builtin.module(te-quant-gpu-pipeline{chip=sm_90a format=isa})"

    def setUp(self):
        if not TOOLS.mlir_opt or not TOOLS.plugin:
            self.skipTest("no stock mlir-opt or no plugin")
        self.dialect = f"--load-dialect-plugin={TOOLS.plugin}"
        self.passes = f"--load-pass-plugin={TOOLS.plugin}"

    def stock(self, *flags):
        done = subprocess.run([TOOLS.mlir_opt, "-", *flags], input=Targets.PROGRAM, capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr[:400])
        self.assertNotIn("Stack dump", done.stderr)
        return done

    def test_pc_48_both_halves_in_any_order(self):
        for flags in ([self.dialect, self.passes], [self.passes, self.dialect], [self.dialect, self.passes] * 2):
            done = self.stock(*flags, self.PIPELINE)
            self.assertEqual(done.returncode, 0, done.stderr[:400])
            self.assertIn(".entry quantize_mxfp8", done.stdout)

    def test_pc_48_a_missing_half_is_a_message(self):
        done = self.stock(self.passes, self.PIPELINE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("te_quant", done.stderr)
        done = self.stock(self.dialect, self.PIPELINE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("te-quant-gpu-pipeline", done.stderr)
        done = self.stock(f"--load-dialect-plugin={TOOLS.plugin}.missing", f"--load-pass-plugin={TOOLS.plugin}.missing")
        self.assertEqual(done.returncode, 1)

    def test_pc_48_parse_and_print_only(self):
        done = self.stock(self.dialect)
        self.assertEqual(done.returncode, 0, done.stderr[:400])
        self.assertIn("te_quant.quantize", done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--te-opt", required=True)
    parser.add_argument("--te-run", required=True)
    parser.add_argument("--ptxas")
    parser.add_argument("--mlir-opt")
    parser.add_argument("--plugin")
    parser.add_argument("--only", default="", help="only tests whose name has this text")
    parser.parse_args(namespace=TOOLS)
    suite = unittest.TestSuite()
    for case in (BlockScales, ElementCasts, Shapes, Targets, Plugins):
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            if TOOLS.only in test.id():
                suite.addTest(test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len({test.id() for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
