"""Compares column sums with a model in numpy (docs/numerics.md 0.5).

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: column_sum.py TE_RUN WORK_FOLDER
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

CHUNK = 32


def narrow(x, dtype):
    """Bits of f32 values as `dtype`, to nearest even."""
    with np.errstate(all="ignore"):
        if dtype == "f16":
            return x.astype(np.float16).view(np.uint16)
    bits = x.astype(np.float32).view(np.uint32)
    if dtype == "f32":
        return bits
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FFF, rounded).astype(np.uint16)


def widen(bits, dtype):
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float32)
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float32)


def column_sum(x):
    """f32 sums of chunks in row order, added in row order."""
    total = np.zeros(x.shape[1], np.float32)
    with np.errstate(all="ignore"):
        for first in range(0, len(x), CHUNK):
            chunk = np.zeros(x.shape[1], np.float32)
            for row in x[first:first + CHUNK]:
                chunk = chunk + row
            total = total + chunk
    return total


def is_equal(found, expected, dtype):
    nan = np.isnan(widen(found, dtype)) & np.isnan(widen(expected, dtype))
    return found.shape == expected.shape and np.all((found == expected) | nan)


class Test:
    def __init__(self, te_run, work):
        self.te_run, self.work = te_run, work
        self.failures = self.count = 0

    def check(self, shape, dtype, sum_dtype, is_dynamic=False, offset=0,
              special=False, kernel=None, quantizer=None):
        what = (f"{shape} {dtype} {sum_dtype} {is_dynamic} {offset} {special}"
                + (f" {quantizer}" if quantizer else ""))
        random = np.random.default_rng(len(what))
        x = random.standard_normal(shape)
        x *= 2.0 ** random.integers(-9, 9, (*shape[:-1], 1))
        if special:
            for value in (np.nan, np.inf, -np.inf, -0.0):
                x.reshape(-1)[random.integers(0, x.size, 3)] = value
        bits = narrow(x.astype(np.float32), dtype)
        dims = "x".join("?" if is_dynamic else str(d) for d in shape)
        tensor = f"tensor<{dims}x{dtype}>"
        cols = "?" if is_dynamic else shape[-1]
        result = f"tensor<{cols}x{sum_dtype}>"
        argument, body = f"%x: {tensor}", ""
        if offset:
            size = int(np.prod(shape))
            flat = f"tensor<{size}x{dtype}>"
            buffer = f"tensor<{size + offset}x{dtype}>"
            groups = list(range(len(shape)))
            argument = f"%buffer: {buffer}"
            body = f"""
  %flat = tensor.extract_slice %buffer[{offset}] [{size}] [1]
    : {buffer} to {flat}
  %x = tensor.expand_shape %flat [{groups}] output_shape {list(shape)}
    : {flat} into {tensor}"""
        values, types = "%s", result
        if quantizer:
            # Of the same input: the quantize makes the sum.
            quantized = f"!te_quant.tensor<{dims}x{dtype}, {quantizer}>"
            scale, scale_type = "", ""
            if "delayed" in quantizer:
                body += "\n  %scale = arith.constant dense<3.0> : tensor<1xf32>"
                scale, scale_type = " scale(%scale)", ", tensor<1xf32>"
            body += (f"\n  %q{':2' if scale else ''} = te_quant.quantize %x"
                     f"{scale} : {tensor}{scale_type} -> "
                     f"{quantized}{scale_type}")
            values += ", %q#0" if scale else ", %q"
            types += f", {quantized}"
        module = f"""
func.func @main({argument}) -> ({types}) {{{body}
  %s = te_quant.column_sum %x : {tensor} -> {result}
  return {values} : {types}
}}
"""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        path = lambda name: os.path.join(self.work, name)
        with open(path("module.mlir"), "w") as file:
            file.write(module)
        np.concatenate([np.zeros(offset, bits.dtype),
                        bits.reshape(-1)]).tofile(path("x.bin"))
        size = ":" + "x".join(map(str, shape)) if is_dynamic else ""
        subprocess.run([self.te_run, path("module.mlir"), "--entry=main",
                        "--target=emulate", "--input", path("x.bin") + size,
                        f"--emulator-stats={path('stats.json')}",
                        "--output-dir", path("out")], check=True)
        found = np.fromfile(path("out/0_data.bin"),
                            np.uint32 if sum_dtype == "f32" else np.uint16)
        rows = int(np.prod(shape[:-1]))
        sums = column_sum(widen(bits, dtype).reshape(rows, shape[-1]))
        with open(path("stats.json")) as file:
            kernels = list(json.load(file)["kernels"])
        self.count += 1
        if (not is_equal(found, narrow(sums, sum_dtype), sum_dtype)
                or kernel and kernel not in kernels
                or quantizer and any("chunks" in name for name in kernels)):
            self.failures += 1
            print("FAILED", what, kernels)


def check_quantizers(test):
    """Sums that the kernels make which quantize."""
    mxfp8 = lambda usage, more="": (
        f"#te_quant.mxfp8<f8E4M3FN, usage = {usage}{more}>")
    prefix = "quantize_mxfp8_e4m3_"
    for usage in ("rowwise", "columnwise", "both"):
        for more, name in (
                ("", ""), (", with_2d_quantization = true", "_2d"),
                (", optimize_for_gemm = true", "_swizzled")):
            for dtype in ("bf16", "f32"):
                test.check((96, 160), dtype, "f32",
                           quantizer=mxfp8(usage, more), special=True,
                           kernel=f"{prefix}{dtype}_{usage}{name}_sums_v16")
            test.check((2, 64, 96), "f16", "bf16", offset=1,
                       quantizer=mxfp8(usage, more),
                       kernel=f"{prefix}f16_{usage}{name}_sums_v1")
    test.check((3, 32, 96), "bf16", "bf16", is_dynamic=True,
               quantizer=mxfp8("both"))
    # Blocks leave one extent free.
    test.check((37, 160), "bf16", "f16", quantizer=mxfp8("rowwise"))
    test.check((64, 37), "bf16", "f32", quantizer=mxfp8("columnwise"))
    test.check((64, 40), "bf16", "f32", quantizer=mxfp8("columnwise"))
    # More chunks than padding of scales to 128 rows, and several tiles.
    test.check((32 * 17, 288), "bf16", "f32",
               quantizer=mxfp8("both", ", optimize_for_gemm = true"))
    delayed = "#te_quant.float8_delayed_scaling<f8E4M3FN>"
    prefix = "quantize_float8_delayed_scaling_e4m3_"
    for dtype in ("bf16", "f32"):
        test.check((336, 144), dtype, "f32", quantizer=delayed, special=True,
                   kernel=f"{prefix}{dtype}_both_sums_v16")
        test.check((337, 77), dtype, "f32", quantizer=delayed,
                   kernel=f"{prefix}{dtype}_both_sums_v1")
    test.check((2, 80, 48), "f16", "bf16", is_dynamic=True,
               quantizer=delayed.replace(">", ", usage = columnwise>"))
    # No rows: nothing is quantized, but the sums are zero.
    for quantizer in (mxfp8("both"), delayed):
        test.check((0, 64), "bf16", "bf16", is_dynamic=True,
                   quantizer=quantizer)
        test.check((64, 0), "bf16", "bf16", is_dynamic=True,
                   quantizer=quantizer)


def main():
    test = Test(*sys.argv[1:3])
    # Less than a chunk; a tail of a chunk; more chunks than loads at once.
    test.check((1, 8), "f32", "f32")
    test.check((33, 64), "bf16", "bf16", kernel="column_sum_chunks_bf16_v16")
    test.check((32 * 17 + 5, 40), "bf16", "f32")
    test.check((2, 35, 40), "f16", "f32", is_dynamic=True)
    test.check((160,), "f32", "f32", is_dynamic=True)
    # Several tiles of columns; other types for the result.
    test.check((70, 1160), "bf16", "f32", is_dynamic=True)
    test.check((70, 136), "f32", "f16")
    test.check((70, 136), "f16", "bf16")
    # The generic kernel.
    test.check((96, 33), "bf16", "f32", kernel="column_sum_chunks_bf16_v1")
    test.check((65, 48), "f32", "f32", offset=1,
               kernel="column_sum_chunks_f32_v1")
    test.check((64, 48), "bf16", "bf16", special=True)
    # No rows give zeros, no columns nothing.
    test.check((0, 48), "bf16", "bf16", is_dynamic=True)
    test.check((48, 0), "bf16", "bf16", is_dynamic=True)
    check_quantizers(test)
    print(f"{test.count - test.failures} of {test.count} sums are equal")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
