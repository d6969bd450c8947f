"""Compares MXFP8 kernels with a model in numpy (docs/numerics.md 1, 4 and 6).

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: mxfp8_shapes.py TE_RUN WORK_FOLDER
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

BLOCK = 32
# Mantissa bits, exponent bias, largest finite value, bits of 1 / largest.
FP8 = {"f8E4M3FN": (3, 7, 448.0, 0x3B124925),
       "f8E5M2": (2, 15, 57344.0, 0x37924925)}


def decode_fp8(codes, fp8):
    mantissa_bits, bias, largest, _ = FP8[fp8]
    codes = codes.astype(np.int64)
    exponent = codes >> mantissa_bits & (1 << 7 - mantissa_bits) - 1
    mantissa = codes & (1 << mantissa_bits) - 1
    value = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias - mantissa_bits),
                     ((1 << mantissa_bits) + mantissa)
                     * 2.0 ** (exponent - bias - mantissa_bits))
    value[value > largest] = np.nan
    return np.where(codes & 0x80, -value, value)


def encode_fp8(values, fp8):
    """Nearest even, saturating; NaN is 0x7F."""
    table = decode_fp8(np.arange(128), fp8)
    table = table[~np.isnan(table)]
    between = (table[1:] + table[:-1]) / 2
    magnitude = np.minimum(np.abs(values.astype(np.float64)), table[-1])
    code = np.searchsorted(between, magnitude)
    tie = (code < len(between)) & (magnitude == between[np.minimum(
        code, len(between) - 1)])
    code = code + (tie & (code % 2 == 1))
    code = code | np.where(np.signbit(values), 0x80, 0)
    return np.where(np.isnan(values), 0x7F, code).astype(np.uint8)


def encode_e8m0(values):
    """Rounds up to a power of two."""
    bits = values.astype(np.float32).view(np.uint32) & 0x7FFFFFFF
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    is_up = ((mantissa != 0) & (exponent < 0xFE)
             & ~((exponent == 0) & (mantissa <= 0x400000)))
    code = np.where(bits == 0x7F800000, 0xFE, exponent + is_up)
    return code.astype(np.uint8)


def decode_e8m0(codes):
    codes = codes.astype(np.uint32)
    return np.where(codes == 0, np.uint32(0x00400000),
                    codes << 23).astype(np.uint32).view(np.float32)


def quantize(x, fp8, is_rowwise, is_2d):
    """FP8 codes and the scale code of each element."""
    rows, cols = x.shape
    magnitude = np.where(np.isnan(x), 0, np.abs(x)).astype(np.float32)
    high, wide = (-(-n // BLOCK) for n in x.shape)
    padded = np.zeros((high * BLOCK, wide * BLOCK), np.float32)
    padded[:rows, :cols] = magnitude
    blocks = padded.reshape(high, BLOCK, wide, BLOCK)
    axes = (1, 3) if is_2d else 3 if is_rowwise else 1
    amax = np.broadcast_to(blocks.max(axes, keepdims=True), blocks.shape)
    amax = amax.reshape(padded.shape)[:rows, :cols]
    with np.errstate(all="ignore"):
        scales = encode_e8m0(amax * np.array(FP8[fp8][3], np.uint32).view("f4"))
        scaled = x.astype(np.float32) * decode_e8m0(254 - scales)
    return encode_fp8(scaled, fp8), scales


def expected_scales(scales, is_rowwise):
    """One scale a block, [i][j]."""
    return scales[:, ::BLOCK] if is_rowwise else scales[::BLOCK].T


def swizzle(scales):
    rows, blocks = scales.shape
    tiles = -(-blocks // 4)
    out = np.zeros(-(-rows // 128) * 128 * tiles * 4, np.uint8)
    i, j = np.indices(scales.shape)
    out[((i // 128) * tiles + j // 4) * 512 + i % 32 * 16 + i % 128 // 32 * 4
        + j % 4] = scales
    return out


def make_input(shape, dtype, seed):
    """Bits of a tensor of `dtype` and its f32 values, special ones among them."""
    random = np.random.default_rng(seed)
    rows, cols = int(np.prod(shape[:-1])), shape[-1]
    x = random.standard_normal((rows, cols))
    x *= 2.0 ** random.integers(-20, 20, (rows, 1))
    x *= 2.0 ** random.integers(-6, 6, (1, cols))
    with np.errstate(all="ignore"):
        x = x.astype(np.float16 if dtype == "f16" else np.float32)
    if dtype == "bf16":
        x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    if x.size > 40:
        for value in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            x.reshape(-1)[random.integers(0, x.size, 1 + x.size // 300)] = value
    bits = x
    if dtype == "bf16":
        bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    return bits, x.astype(np.float32)


class Runner:
    def __init__(self, te_run, work):
        self.te_run, self.work, self.failures, self.count = te_run, work, 0, 0

    def run(self, module, inputs, chip):
        """The results by number and name, and the names of the kernels."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        path = lambda name: os.path.join(self.work, name)
        with open(path("module.mlir"), "w") as file:
            file.write(module)
        command = [self.te_run, path("module.mlir"), "--entry=main",
                   "--target=emulate", f"--chip={chip}",
                   f"--emulator-stats={path('stats.json')}",
                   "--output-dir", path("out")]
        for index, (bits, shape) in enumerate(inputs):
            bits.tofile(path(f"{index}.bin"))
            command += ["--input", path(f"{index}.bin")
                        + (":" + "x".join(map(str, shape)) if shape else "")]
        subprocess.run(command, check=True)
        with open(path("out/manifest.json")) as file:
            rows = json.load(file)
        with open(path("stats.json")) as file:
            kernels = list(json.load(file)["kernels"])
        return {(row["result"], row["name"]):
                (np.fromfile(path("out/" + row["file"]), np.uint8),
                 row["shape"]) for row in rows}, kernels

    def check(self, what, is_right):
        self.count += 1
        if not is_right:
            self.failures += 1
            print("FAILED", what)

    def check_tensor(self, what, results, x, fp8, usage, is_2d, is_gemm):
        for direction in ("rowwise", "columnwise"):
            if usage not in (direction, "both"):
                continue
            is_rowwise = direction == "rowwise"
            codes, scales = quantize(x, fp8, is_rowwise, is_2d)
            data, _ = results[0, direction + "_data"]
            self.check(f"{what}: {direction} data",
                       np.array_equal(data, codes.reshape(-1)))
            found, shape = results[0, direction + "_scale_inv"]
            each = expected_scales(scales, is_rowwise)
            if is_gemm:
                self.check(f"{what}: {direction} scales",
                           np.array_equal(found, swizzle(each)))
                continue
            found = found.reshape(shape)
            found = found if is_rowwise else found.T
            found = found[:each.shape[0], :each.shape[1]]
            self.check(f"{what}: {direction} scales",
                       np.array_equal(found, each))

    def check_shape(self, shape, dtype, fp8, usage, is_2d=False, is_gemm=False,
                    is_dynamic=False, offset=0, chip="sm_90a", kernel=None):
        """Quantizes and decodes. With an offset the tensor starts that many
        elements into its buffer."""
        what = " ".join(map(str, (shape, dtype, fp8, usage, is_2d, is_gemm,
                                  is_dynamic, offset)))
        bits, x = make_input(shape, dtype, seed=len(what))
        dims = "".join("?x" if is_dynamic else f"{dim}x" for dim in shape)
        kind = (f"!te_quant.tensor<{dims}{dtype}, #te_quant.mxfp8<{fp8}, "
                f"usage = {usage}, with_2d_quantization = {str(is_2d).lower()}, "
                f"optimize_for_gemm = {str(is_gemm).lower()}>>")
        tensor = f"tensor<{dims}{dtype}>"
        argument, body = f"%x: {tensor}", ""
        if offset:
            rows, cols = shape
            flat = f"tensor<{rows * cols}x{dtype}>"
            buffer = f"tensor<{offset + rows * cols}x{dtype}>"
            argument = f"%buffer: {buffer}"
            body = f"""
  %flat = tensor.extract_slice %buffer[{offset}] [{rows * cols}] [1]
    : {buffer} to {flat}
  %x = tensor.expand_shape %flat [[0, 1]] output_shape [{rows}, {cols}]
    : {flat} into {tensor}"""
            bits = np.concatenate([np.zeros(offset, bits.dtype),
                                   bits.reshape(-1)])
        module = f"""
func.func @main({argument}) -> ({kind}, tensor<{dims}f32>) {{{body}
  %q = te_quant.quantize %x : {tensor} -> {kind}
  %y = te_quant.dequantize %q : {kind} -> tensor<{dims}f32>
  return %q, %y : {kind}, tensor<{dims}f32>
}}
"""
        results, kernels = self.run(
            module, [(bits, shape if is_dynamic else None)], chip)
        self.check_tensor(what, results, x, fp8, usage, is_2d, is_gemm)
        codes, scales = quantize(x, fp8, usage != "columnwise", is_2d)
        with np.errstate(all="ignore"):
            values = decode_fp8(codes, fp8).astype(np.float32)
            values = values * decode_e8m0(scales)
        found = results[1, "data"][0].view(np.float32).reshape(x.shape)
        is_same = found.view(np.uint32) == values.view(np.uint32)
        self.check(f"{what}: decoded",
                   np.all(is_same | np.isnan(found) & np.isnan(values)))
        if kernel:
            self.check(f"{what}: expected {kernel}, ran {kernels}",
                       kernel in kernels)

    def check_noop(self, flag, is_skipped):
        kind = ("!te_quant.tensor<64x96xbf16, "
                "#te_quant.mxfp8<f8E4M3FN, optimize_for_gemm = true>>")
        module = f"""
func.func @main(%a: tensor<64x96xbf16>, %b: tensor<64x96xbf16>,
                %flag: tensor<1xf32>) -> {kind} {{
  %q = te_quant.quantize %a : tensor<64x96xbf16> -> {kind}
  %r = te_quant.quantize %b into %q noop(%flag)
    : tensor<64x96xbf16>, {kind}, tensor<1xf32> -> {kind}
  return %r : {kind}
}}
"""
        first, second = (make_input((64, 96), "bf16", seed) for seed in (1, 2))
        results, _ = self.run(
            module, [(first[0], None), (second[0], None),
                     (np.array([flag], np.float32), None)], "sm_90a")
        self.check_tensor(f"flag {flag}", results,
                          first[1] if is_skipped else second[1], "f8E4M3FN",
                          "both", is_2d=False, is_gemm=True)


def main():
    runner = Runner(*sys.argv[1:3])
    e4m3, e5m2 = "f8E4M3FN", "f8E5M2"
    # One row; rows that end inside a tile; rank 1 and 3.
    runner.check_shape((1, 32), "f32", e5m2, "rowwise", is_gemm=True)
    runner.check_shape((33, 160), "bf16", e4m3, "rowwise",
                       kernel="quantize_mxfp8_e4m3_bf16_rowwise_v16")
    runner.check_shape((64,), "f16", e4m3, "rowwise", is_dynamic=True)
    runner.check_shape((2, 3, 160), "f32", e4m3, "rowwise", is_dynamic=True)
    # Columns that no vector divides.
    runner.check_shape((32, 7), "f32", e4m3, "columnwise",
                       kernel="quantize_mxfp8_e4m3_f32_columnwise_v1")
    runner.check_shape((64, 129), "f16", e5m2, "columnwise", is_gemm=True,
                       is_dynamic=True)
    # All options with vectors, and without: the buffer starts at an odd element.
    for offset in (0, 1):
        for dtype in ("f32", "bf16", "f16"):
            for is_2d in (False, True):
                runner.check_shape((96, 160), dtype, e4m3, "both", is_2d,
                                   is_gemm=not is_2d, offset=offset)
        runner.check_shape((96, 160), "bf16", e5m2, "rowwise", is_2d=True,
                           offset=offset)
        runner.check_shape((96, 160), "f32", e5m2, "columnwise", is_2d=True,
                           is_gemm=True, offset=offset)
    # More tiles than blocks: 16 for each multiprocessor.
    runner.check_shape((2048, 32 * 17), "bf16", e4m3, "both", is_gemm=True,
                       chip="sm_87")
    # Nothing to do.
    for shape in ((0, 32), (32, 0)):
        runner.check_shape(shape, "bf16", e4m3, "both", is_dynamic=True)
    for flag in (1.0, 0.0, float("nan"), 1.0000001):
        runner.check_noop(flag, is_skipped=flag == 1.0)
    print(f"{runner.count - runner.failures} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
