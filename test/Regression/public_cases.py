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
import re
import resource
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


def layout(module):
    """What te-quant-print-layout says about a module: inner tensors by name, of each value."""
    done = opt(module, "--te-quant-print-layout=format=json", "-o", os.devnull)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return [{inner["name"]: inner for inner in value["inner"]} for value in json.loads(done.stdout)]


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

FAMILIES = ("#te_quant.float8_current_scaling<f8E4M3FN>",
            "#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
            "#te_quant.float8_block_scaling<f8E4M3FN>", "#te_quant.mxfp8<f8E4M3FN>", "#te_quant.nvfp4")


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

    def test_pc_03_scales_beyond_the_range_of_f16(self):
        # A column has one scale; 255 columns leave no room for vector loads.
        quantizer = ROW.replace("rowwise", "columnwise")
        module = dequantize((32, 255), quantizer, ("f16", "bf16"), (4, 256))
        data = b"\x38" * (16 * 255) + bytes(16 * 255)
        for chip in CHIPS:
            got = run(module, [data, pad(bytes(range(255)), 1024)], chip)
            half = struct.unpack("<8160H", got[0, "data"])
            brain = struct.unpack("<8160H", got[1, "data"])
            for code in range(255):
                value = math.ldexp(1.0, code - 127)
                want = 0x7C00 if value > 65504 else struct.unpack("<H", struct.pack("<e", value))[0]
                self.assertEqual((half[code], half[16 * 255 + code]), (want, 0), (chip, code))
                self.assertEqual((brain[code], brain[16 * 255 + code]), (bits(value) >> 16, 0), (chip, code))

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


class SmallBlocks(unittest.TestCase):
    def test_pc_19_a_block_of_zeros(self):
        # The first 128 rows and columns are zero: whole blocks of every family in both directions.
        data = b"".join(f32(*([0.0] * 128 + [1.0] * 128)) for _ in range(128)) + f32(*([1.0] * 256 * 32))
        for quantizer in FAMILIES:
            for chip in CHIPS:
                with self.subTest(quantizer=quantizer, chip=chip):
                    got = run(quantize((160, 256), "f32", quantizer, ("f32",)), [data], chip)
                    decoded = struct.unpack("<40960I", got[1, "data"])
                    self.assertTrue(all(v & 0x7F800000 != 0x7F800000 for v in decoded))
                    for row in range(128):
                        self.assertEqual(set(decoded[256 * row:256 * row + 128]), {0})
                    if "current" in quantizer:
                        self.assertEqual(got[0, "data"][:128], bytes(128))
                        continue
                    width = 64 if "nvfp4" in quantizer else 128
                    self.assertEqual(got[0, "rowwise_data"][:width], bytes(width))
                    self.assertEqual(got[0, "columnwise_data"][:width], bytes(width))
                    for direction in ("rowwise", "columnwise"):
                        scales = got[0, f"{direction}_scale_inv"]
                        if "block" in quantizer:
                            self.assertEqual(struct.unpack_from("<f", scales)[0], 1.0)
                        else:
                            self.assertEqual(scales[0], 0)

    def test_pc_19_nothing_but_negative_zeros(self):
        data = f32(-0.0) * (32 * 64)
        for quantizer in FAMILIES:
            for chip in CHIPS:
                with self.subTest(quantizer=quantizer, chip=chip):
                    got = run(quantize((32, 64), "f32", quantizer, ("f32",)), [data], chip)
                    self.assertEqual(set(struct.unpack("<2048I", got[1, "data"])), {0x80000000})
                    code = 0x88 if "nvfp4" in quantizer else 0x80
                    for key, value in got.items():
                        if len(key) == 2 and key[0] == 0 and (key[1].endswith("data") or key[1] == "transpose"):
                            self.assertEqual(set(value), {code}, key)
                    if "scale_inv" in [key[1] for key in got]:
                        self.assertEqual(got[0, "scale_inv"], f32(1.0))

    def test_pc_21_scales_that_round_to_zero(self):
        rows = [(2688.0,), (0.005,), (0.006, -0.001, 0.003)]
        data = b"".join(pad(f32(*row), 64) for row in rows)
        for chip in CHIPS:
            got = run(quantize((3, 16), "f32", "#te_quant.nvfp4<usage = rowwise>", ("f32",)), [data], chip)
            self.assertEqual(got[0, "amax_rowwise"], f32(2688.0), chip)
            self.assertEqual([got[0, "rowwise_scale_inv"][4 * row] for row in range(3)], [0x7E, 0x00, 0x01], chip)
            self.assertEqual(got[0, "rowwise_data"][16:18], bytes([0x95, 0x03]), chip)
            decoded = struct.unpack("<48f", got[1, "data"])
            self.assertEqual(decoded[16:32], (0.0,) * 16, chip)
            self.assertEqual(decoded[32:36], (0.005859375, -0.0009765625, 0.0029296875, 0.0), chip)


class ScaleOrder(unittest.TestCase):
    """The GEMM order of scales: tiles of 128 rows by 4 blocks."""
    ROW_SCALES = "tensor<256x8xf8E8M0FNU>"
    COMPACT = "!te_quant.tensor<256x256xf32, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>"
    SWIZZLED = COMPACT.replace("rowwise>", "rowwise, optimize_for_gemm = true>")

    def swizzle(self, scales, back, chip):
        source, target = (self.SWIZZLED, self.COMPACT) if back else (self.COMPACT, self.SWIZZLED)
        data = "tensor<256x256xf8E4M3FN>"
        module = (f"func.func @main(%d: {data}, %s: {self.ROW_SCALES}) -> {target} {{\n"
                  f"  %q = te_quant.assemble %d, %s : {data}, {self.ROW_SCALES} -> {source}\n"
                  f"  %t = te_quant.swizzle %q : {source} -> {target}\n  return %t : {target}\n}}\n")
        return run(module, [bytes(256 * 256), scales], chip)[0, "rowwise_scale_inv"]

    def test_pc_37_where_a_scale_sits(self):
        places = {(0, 0): 0, (1, 0): 16, (32, 0): 4, (0, 1): 1, (33, 5): 533, (127, 3): 511, (128, 0): 1024, (200, 7): 1675}
        offset = lambda r, c: (r // 128 * 2 + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4
        self.assertEqual({place: offset(*place) for place in places}, places)
        # The low and the high byte of a scale's own number, each in a pass.
        for chip in CHIPS:
            for shift in (0, 8):
                compact = bytes((i >> shift) & 0xFF for i in range(2048))
                want = bytearray(2048)
                for i in range(2048):
                    want[offset(i // 8, i % 8)] = compact[i]
                got = self.swizzle(compact, False, chip)
                self.assertEqual(got, bytes(want), chip)
                self.assertEqual(self.swizzle(got, True, chip), compact, chip)

    def test_pc_27_what_padding_holds_does_not_matter(self):
        data = bytes((i * 37 + 11) % 127 for i in range(32 * 512))
        real = bytes(0x70 + i % 24 for i in range(512))
        kind = "!te_quant.tensor<32x512xf32, " + ROW + ">"
        swizzled = kind.replace("rowwise>", "rowwise, optimize_for_gemm = true>")
        inner = "tensor<32x512xf8E4M3FN>", "tensor<128x16xf8E8M0FNU>"
        wide = "tensor<32x512xf32>"
        module = (f"func.func @main(%d: {inner[0]}, %s: {inner[1]}) -> ({wide}, {swizzled}, {wide}) {{\n"
                  f"  %q = te_quant.assemble %d, %s : {inner[0]}, {inner[1]} -> {kind}\n"
                  f"  %y = te_quant.dequantize %q : {kind} -> {wide}\n"
                  f"  %t = te_quant.swizzle %q : {kind} -> {swizzled}\n"
                  f"  %z = te_quant.dequantize %t : {swizzled} -> {wide}\n"
                  f"  return %y, %t, %z : {wide}, {swizzled}, {wide}\n}}\n")
        for chip in CHIPS:
            clean = run(module, [data, pad(real, 2048)], chip)
            self.assertEqual(clean[0, "data"], clean[2, "data"])
            self.assertEqual(run(module, [data, real + b"\xff" * 1536], chip), clean, chip)


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

    def test_pc_25_sizes_of_swizzled_scales(self):
        quantizer = "#te_quant.nvfp4<optimize_for_gemm = true>"
        got = run(quantize((464, 3072), "bf16", quantizer), [bytes(464 * 3072 * 2)])
        want = {"rowwise_data": [464, 1536], "rowwise_scale_inv": [512, 192], "columnwise_data": [3072, 232],
                "columnwise_scale_inv": [3072, 32], "amax_rowwise": [1], "amax_columnwise": [1]}
        self.assertEqual({key[1]: value for key, value in got.items() if len(key) == 3}, want)
        for name in ("rowwise_scale_inv", "columnwise_scale_inv"):
            self.assertEqual(len(got[0, name]), 98304)
        inner = layout(quantize((464, 3072), "bf16", quantizer))[0]
        self.assertEqual({name: entry["shape"] for name, entry in inner.items()}, want)

    def test_pc_29_the_block_is_not_read_off_the_shapes(self):
        # 192 columns are 6 blocks of 32; the two further columns of scales are padding.
        scales = bytes(0x70 + i % 8 if i % 8 < 6 else 0xFF for i in range(128 * 8))
        for chip in CHIPS:
            got = struct.unpack("<24576f", run(dequantize((128, 192), ROW, ("f32",), (128, 8)),
                                               [b"\x38" * (128 * 192), scales], chip)[0, "data"])
            for row in (0, 1, 127):
                self.assertEqual(got[192 * row:192 * row + 192],
                                 tuple(math.ldexp(1.0, 0x70 + col // 32 - 127) for col in range(192)), chip)
        done = opt(dequantize((128, 192), ROW, ("f32",), (128, 6)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected inner tensor 1 'rowwise_scale_inv' to be 'tensor<128x8xf8E8M0FNU>'", done.stderr)

    def test_pc_35_more_elements_than_32_bits_count(self):
        rows, cols = 1048576, 6144
        sizes = {"#te_quant.mxfp8<f8E4M3FN, usage = rowwise>": [6442450944, 201326592],
                 "#te_quant.nvfp4<usage = rowwise>": [3221225472, 402653184, 4],
                 "#te_quant.float8_current_scaling<f8E4M3FN>": [6442450944, 6442450944, 4],
                 "#te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise>": [6442450944, 8192 * 48 * 4],
                 "#te_quant.float8_block_scaling<f8E4M3FN, usage = rowwise, block_scaling_dim = 1>":
                     [6442450944, 48 * rows * 4]}
        for quantizer, want in sizes.items():
            for shape in ((rows, cols), ("?", "?")):
                with self.subTest(quantizer=quantizer, shape=shape), tempfile.TemporaryDirectory() as folder:
                    module = quantize(shape, "bf16", quantizer, ("f32",))
                    if shape[0] == rows:
                        self.assertEqual([entry["bytes"] for entry in layout(module)[0].values()], want)
                    done = opt(module, f"--te-quant-gpu-pipeline=chip=sm_90a format=isa kernels={folder}",
                               "--mlir-print-ir-after=te-quant-to-gpu", "-o", os.devnull)
                    self.assertEqual(done.returncode, 0, done.stderr[-400:])
                    self.check_grids(done.stderr)
                    for name in os.listdir(folder):
                        with open(os.path.join(folder, name)) as file:
                            self.check_offsets(file.read())

    def check_grids(self, text):
        """Constant extents of launches are within the hardware's limits."""
        constants = dict(re.findall(r"(%\S+) = arith.constant (\d+) : index", text))
        grids = re.findall(r"gpu.launch_func .*? blocks in \((\S+), (\S+), (\S+)\)", text)
        self.assertTrue(grids)
        for grid in grids:
            for name, limit in zip(grid, (2 ** 31 - 1, 65535, 65535)):
                self.assertLessEqual(int(constants.get(name, 0)), limit)

    def check_offsets(self, ptx):
        """No address comes from a product of 32 bits: what is widened is a product's factor, not its result."""
        narrow = set(re.findall(r"\b(?:mul|mad)\.lo\.[su]32 \t?(%r\d+)", ptx))
        widened = set(re.findall(r"cvt\.[su]64\.[su]32 \t?%rd\d+, (%r\d+)", ptx))
        widened |= set(re.findall(r"mul\.wide\.[su]32 \t?%rd\d+, (%r\d+)", ptx))
        self.assertFalse(narrow & widened, narrow & widened)
        self.assertRegex(ptx, r"(mul|mad)\.lo\.s64|shl\.b64|mul\.wide")

    def test_pc_40_strided_input(self):
        kind = "!te_quant.tensor<64x96xbf16, #te_quant.mxfp8<f8E4M3FN>>"
        values = struct.pack("<6144H", *(0x3F80 + i * 7 % 512 for i in range(64 * 96)))
        want = run(quantize((64, 96), "bf16", "#te_quant.mxfp8<f8E4M3FN>"), [values])
        at = lambda row, col: values[2 * (96 * row + col):][:2]

        def check(source, data, body, chip):
            module = (f"func.func @main(%x: {source}) -> {kind} {{\n{body}\n"
                      f"%q = te_quant.quantize %s : tensor<64x96xbf16> -> {kind}\nreturn %q : {kind}\n}}\n")
            self.assertEqual(run(module, [data], chip), want, (body, chip))

        for chip in CHIPS:
            # A transposed view.
            view = "memref<64x96xbf16, strided<[1, 64]>>"
            check("tensor<96x64xbf16>", b"".join(at(row, col) for col in range(96) for row in range(64)),
                  "%m = bufferization.to_buffer %x : tensor<96x64xbf16> to memref<96x64xbf16>\n"
                  f"%t = memref.transpose %m (i, j) -> (j, i) : memref<96x64xbf16> to {view}\n"
                  f"%s = bufferization.to_tensor %t restrict : {view} to tensor<64x96xbf16>", chip)
            # Rows with a pitch, from an offset that no vector load takes, and every other column.
            for pitch, offset, step in ((104, 3, 1), (104, 8, 1), (200, 1, 2)):
                rows = []
                for row in range(64):
                    line = [b"\xcd\xab"] * pitch
                    for col in range(96):
                        line[offset + step * col] = at(row, col)
                    rows += line
                check(f"tensor<64x{pitch}xbf16>", b"".join(rows),
                      f"%s = tensor.extract_slice %x[0, {offset}] [64, 96] [1, {step}] : "
                      f"tensor<64x{pitch}xbf16> to tensor<64x96xbf16>", chip)

    def test_pc_44_dynamic_slices_of_fp4_bytes(self):
        module = """
          !q = !te_quant.tensor<?x?xbf16, #te_quant.nvfp4<usage = rowwise>>
          func.func @main(%x: tensor<?x?xbf16>, %first: index, %count: index) -> (!q, tensor<?x?xi8>, index, tensor<?x?xf32>) {
            %q = te_quant.quantize %x : tensor<?x?xbf16> -> !q
            %y = te_quant.dequantize %q : !q -> tensor<?x?xf32>
            %d:3 = te_quant.disassemble %q : !q -> tensor<?x?xi8>, tensor<?x?xf8E4M3FN>, tensor<1xf32>
            %c1 = arith.constant 1 : index
            %bytes = tensor.dim %d#0, %c1 : tensor<?x?xi8>
            %slice = tensor.extract_slice %d#0[%first, 0] [%count, %bytes] [1, 1] : tensor<?x?xi8> to tensor<?x?xi8>
            return %q, %slice, %bytes, %y : !q, tensor<?x?xi8>, index, tensor<?x?xf32>
          }
        """
        data = struct.pack("<1536H", *(0x3F80 + i * 5 % 256 for i in range(48 * 32)))
        index = lambda value: value.to_bytes(8, "little")
        static = run(quantize((48, 32), "bf16", "#te_quant.nvfp4<usage = rowwise>", ("f32",)), [data])
        for chip in CHIPS:
            got = run(module, [(data, ":48x32"), index(5), index(9)], chip)
            self.assertEqual(got[0, "rowwise_data"], static[0, "rowwise_data"])
            self.assertEqual(got[0, "rowwise_data", "shape"], [48, 16])
            self.assertEqual(got[3, "data"], static[1, "data"])
            slices = {key: value for key, value in got.items() if key[0] == 1}
            self.assertEqual(slices[1, "data", "shape"], [9, 16])
            self.assertEqual(slices[1, "data"], static[0, "rowwise_data"][5 * 16:14 * 16])
        # Two values a byte from the start.
        self.assertNotIn("f4E2M1FN", opt(module, "--te-quant-expand").stdout)

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

    def test_pc_34_experts_without_rows(self):
        splits = (64, 0, 32, 0)
        weights = ", ".join(["%w"] * 4)
        done = opt("func.func @f(%x: tensor<96x512xbf16>, %w: tensor<32x512xbf16>) -> tensor<96x32xbf16> {\n"
                   f"  %y = te_quant.grouped_linear %x weights({weights}) {{m_splits = array<i64: {', '.join(map(str, splits))}>, "
                   "is_grad_enabled = false, input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}"
                   f" : tensor<96x512xbf16>, {', '.join(['tensor<32x512xbf16>'] * 4)}\n  return %y : tensor<96x32xbf16>\n}}\n",
                   "--te-quant-decompose-modules")
        self.assertEqual(done.returncode, 0, done.stderr)
        members = re.findall(r"extract_slice %\w+\[(\d+), 0\] \[(\d+), 512\]", done.stdout)
        self.assertEqual(members, [("0", "64"), ("64", "32")])
        layers = re.findall(r"te_quant.linear %.*: tensor<(\d+)x512xbf16>", done.stdout)
        self.assertEqual([int(rows) for rows in layers], list(splits))


class Usages(unittest.TestCase):
    def test_pc_39_one_buffer_where_gemm_takes_any_layout(self):
        for usage in ("both", "columnwise"):
            for flag, data in (("false", ["data", "transpose"]), ("true", ["data"])):
                quantizer = f"#te_quant.float8_current_scaling<f8E4M3FN, usage = {usage}, non_tn_gemm = {flag}>"
                want = (data[1:] if usage == "columnwise" and flag == "false" else data) + ["scale_inv"]
                module = quantize((32, 64), "bf16", quantizer, ("f32",))
                self.assertEqual(list(layout(module)[0]), want)
                # What runs has the same parts, and decodes to the same.
                got = run(module, [bf16(*([1.0, -2.0] * 1024))])
                self.assertEqual([key[1] for key in got if key[0] == 0 and len(key) == 2], want)
                self.assertEqual(got[1, "data"], f32(*([1.0, -2.0] * 1024)))

    def test_pc_42_dropping_is_a_new_value(self):
        both = "!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>"
        row = both.replace("f8E4M3FN>", "f8E4M3FN, usage = rowwise>")
        module = (f"func.func @main(%x: tensor<32x64xbf16>) -> ({row}, {both}) {{\n"
                  f"  %q = te_quant.quantize %x : tensor<32x64xbf16> -> {both}\n"
                  f"  %r = te_quant.update_usage %q : {both} -> {row}\n  return %r, %q : {row}, {both}\n}}\n")
        got = run(module, [bf16(*([1.0, 3.0] * 1024))])
        names = lambda result: [key[1] for key in got if key[0] == result and len(key) == 2]
        self.assertEqual(names(0), ["rowwise_data", "rowwise_scale_inv"])
        self.assertEqual(names(1), ["rowwise_data", "rowwise_scale_inv", "columnwise_data", "columnwise_scale_inv"])
        done = opt(f"func.func @main(%r: {row}) -> {both} {{\n  %q = te_quant.update_usage %r : {row} -> {both}\n"
                   f"  return %q : {both}\n}}\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot change usage of 'mxfp8' from rowwise to both: columnwise cannot be derived", done.stderr)

    def test_pc_42_an_update_reaches_both_parts(self):
        for quantizer in FAMILIES[:4]:
            both = f"!te_quant.tensor<64x64xbf16, {quantizer}>"
            wide = "tensor<64x64xf32>"
            types = [both.replace("f8E4M3FN", f"f8E4M3FN, usage = {usage}") for usage in ("rowwise", "columnwise")]
            module = (f"func.func @main(%old: {both}, %x: tensor<64x64xbf16>) -> ({both}, {wide}, {wide}) {{\n"
                      f"  %q = te_quant.quantize %x into %old : tensor<64x64xbf16>, {both} -> {both}\n"
                      f"  %r = te_quant.update_usage %q : {both} -> {types[0]}\n"
                      f"  %c = te_quant.update_usage %q : {both} -> {types[1]}\n"
                      f"  %y = te_quant.dequantize %r : {types[0]} -> {wide}\n"
                      f"  %z = te_quant.dequantize %c : {types[1]} -> {wide}\n"
                      f"  return %q, %y, %z : {both}, {wide}, {wide}\n}}\n")
            source = quantize((64, 64), "bf16", quantizer)
            old = run(source, [bf16(*([4.0, -1.0] * 2048))])
            parts = [value for key, value in old.items() if len(key) == 2]
            for chip in CHIPS:
                got = run(module, parts + [bf16(*([0.5, 2.0] * 2048))], chip)
                want = f32(*([0.5, 2.0] * 2048))
                self.assertEqual((got[1, "data"], got[2, "data"]), (want, want), (quantizer, chip))


class Products(unittest.TestCase):
    # Values that all formats hold exactly, under a scale of 1 where a block has a 6.
    VALUES = (6.0, -1.0, 0.5, 3.0, 0.0, 2.0, -4.0, 1.5)

    def operand(self, rows, depth, seed):
        # Each block of 16 has all of them, in an order that differs by row and column.
        return [self.VALUES[(seed * row + col + col // 16) % 8] for row in range(rows) for col in range(depth)]

    def product(self, m, n, k, quantizer):
        """te_quant.gemm, te_quant.linear and what the operands decode to."""
        a, b = (f"!te_quant.tensor<{rows}x{k}xbf16, {quantizer}>" for rows in (n, m))
        x, w, y = (f"tensor<{dims}>" for dims in (f"{m}x{k}xbf16", f"{n}x{k}xbf16", f"{m}x{n}xf32"))
        return (f"func.func @main(%x: {x}, %w: {w}) -> ({y}, {y}) {{\n"
                f"  %a = te_quant.quantize %w : {w} -> {a}\n  %b = te_quant.quantize %x : {x} -> {b}\n"
                f"  %y = te_quant.gemm TN %a, %b : {a}, {b} -> {y}\n"
                f"  %z = te_quant.linear %x, %w {{is_grad_enabled = false, activation_dtype = f32, input_quantizer = {quantizer}, "
                f"weight_quantizer = {quantizer}}} : {x}, {w}\n  return %y, %z : {y}, {y}\n}}\n")

    def test_pc_50_small_products(self):
        for quantizer, sizes in (("#te_quant.mxfp8<f8E4M3FN, usage = rowwise>", (32, 64, 512)),
                                 ("#te_quant.nvfp4<usage = rowwise>", (16, 32, 48, 512)),
                                 ("#te_quant.float8_current_scaling<f8E4M3FN, usage = rowwise>", (16, 32, 512))):
            for k in sizes:
                x, w = self.operand(16, k, 3), self.operand(16, k, 5)
                want = f32(*(sum(x[i * k + p] * w[j * k + p] for p in range(k)) for i in range(16) for j in range(16)))
                for chip in CHIPS:
                    got = run(self.product(16, 16, k, quantizer), [bf16(*x), bf16(*w)], chip)
                    if "current" in quantizer:               # 448 / 6 is no power of two: each factor is off by up to 2^-4
                        for index, (have, exact) in enumerate(zip(struct.unpack("<256f", got[0, "data"]), struct.unpack("<256f", want))):
                            i, j = divmod(index, 16)
                            size = sum(abs(x[i * k + p] * w[j * k + p]) for p in range(k))
                            self.assertLessEqual(abs(have - exact), ((1 + 2 ** -4) ** 2 - 1) * size, (k, chip))
                    else:
                        self.assertEqual(got[0, "data"], want, (quantizer, k, chip))
                    self.assertEqual(got[1, "data"], got[0, "data"], (quantizer, k, chip))

    def test_pc_50_what_no_block_divides_is_refused(self):
        done = opt("func.func @f(%x: tensor<16x512xbf16>, %w: tensor<32x512xbf16>) {\n"
                   "  te_quant.linear %x, %w {input_quantizer = #te_quant.mxfp8<f8E4M3FN>, weight_quantizer = #te_quant.mxfp8<f8E4M3FN>}"
                   " : tensor<16x512xbf16>, tensor<32x512xbf16>\n  return\n}\n")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "cannot quantize the input: expected .*multiple.* 32.*16")

    def test_pc_27_what_padding_holds_does_not_matter_to_products(self):
        types = ("tensor<32x512xf8E4M3FN>", "tensor<128x16xf8E8M0FNU>")
        kind = f"!te_quant.tensor<32x512xf32, {ROW}>"
        module = (f"func.func @main(%d: {types[0]}, %s: {types[1]}) -> tensor<32x32xf32> {{\n"
                  f"  %q = te_quant.assemble %d, %s : {types[0]}, {types[1]} -> {kind}\n"
                  f"  %y = te_quant.gemm TN %q, %q : {kind}, {kind} -> tensor<32x32xf32>\n"
                  "  return %y : tensor<32x32xf32>\n}\n")
        real = b"\x7f" * 512
        for chip in CHIPS:
            for padding in (b"\x00", b"\xff"):
                got = run(module, [b"\x38" * (32 * 512), real + padding * 1536], chip)
                self.assertEqual(got[0, "data"], f32(*([512.0] * 1024)), chip)


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


class CompileTime(unittest.TestCase):
    """Processor time of te-opt, which other work on the machine does not change."""
    def time(self, module, *flags):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = opt(module, *flags)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(done.returncode, 0, done.stderr[:400])
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_pc_49_code_size_does_not_depend_on_the_extents(self):
        for quantizer in FAMILIES:
            lines = set()
            for cols in (128, 65536, 262144):
                with self.subTest(quantizer=quantizer, cols=cols), tempfile.TemporaryDirectory() as folder:
                    module = quantize((128, cols), "bf16", quantizer)
                    seconds = self.time(module, f"--te-quant-gpu-pipeline=chip=sm_90a format=isa kernels={folder}")
                    # A fraction of a second; the bound leaves room for slow machines.
                    self.assertLess(seconds, 5)
                    with open(os.path.join(folder, "te_quant_kernels.ptx")) as file:
                        lines.add(len(file.readlines()))
                    if TOOLS.ptxas and cols == 262144:
                        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                        subprocess.run([TOOLS.ptxas, "-arch=sm_90a", os.path.join(folder, "te_quant_kernels.ptx"),
                                        "-o", os.devnull], check=True)
                        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 20)
            self.assertEqual(len(lines), 1, (quantizer, lines))

    def test_pc_49_a_thousand_ops(self):
        source, kind = "tensor<32x64xbf16>", "!te_quant.tensor<32x64xbf16, " + ROW + ">"
        kernels = set()
        for count, limit in ((1, 5), (1000, 30)):
            functions = "".join(f"func.func @f{i}(%x: {source}) -> {kind} {{\n"
                                f"  %q = te_quant.quantize %x : {source} -> {kind}\n  return %q : {kind}\n}}\n"
                                for i in range(count))
            with tempfile.TemporaryDirectory() as folder:
                flag = f"--te-quant-gpu-pipeline=chip=sm_90a format=isa kernels={folder}"
                self.assertLess(self.time(functions, flag), limit)
                with open(os.path.join(folder, "te_quant_kernels.ptx")) as file:
                    kernels.add(tuple(re.findall(r"\.entry (\w+)", file.read())))
        # One set of kernels serves all of them.
        self.assertEqual(len(kernels), 1, kernels)


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
    for case in (BlockScales, ElementCasts, SmallBlocks, ScaleOrder, Shapes, Usages, Products, Targets, CompileTime, Plugins):
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            if TOOLS.only in test.id():
                suite.addTest(test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    # A subtest counts with its test.
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
