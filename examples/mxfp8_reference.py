#!/usr/bin/env python3
"""Input and expected result of mxfp8_quantize.mlir, with numpy alone.

    mxfp8_reference.py input FILE             write the bf16 input
    mxfp8_reference.py check FILE RESULTS     print and compare what te-run wrote

The reference is written from docs/numerics.md (1.1, 1.3, 4.1, 4.2) and shares
no code with the compiler: it finds the nearest code among all values of the
format, where kernels use a conversion instruction.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import os
import sys

import numpy as np

ROWS, COLS, BLOCK = 128, 256, 32


def e4m3_values():
    """The values of the codes 0x00 to 0x7E, in order."""
    code = np.arange(0x7F)
    exponent, mantissa = code >> 3, code & 7
    return np.where(exponent == 0, mantissa * 2.0 ** -9,
                    (8 + mantissa) * 2.0 ** (exponent - 10.0))


VALUES = e4m3_values()


def to_e4m3(x):
    """f32 to E4M3 codes: nearest, ties to the even code, saturating (1.1)."""
    magnitude = np.minimum(np.abs(x.astype(np.float64)), VALUES[-1])
    upper = np.searchsorted(VALUES, np.nan_to_num(magnitude))
    lower = np.maximum(upper - 1, 0)
    to_lower, to_upper = magnitude - VALUES[lower], VALUES[upper] - magnitude
    goes_down = (to_lower < to_upper) | ((to_lower == to_upper) &
                                         (lower % 2 == 0))
    code = np.where(goes_down, lower, upper) | (np.signbit(x) * 0x80)
    return np.where(np.isnan(x), 0x7F, code).astype(np.uint8)


def to_e8m0(x):
    """f32 to E8M0 codes, up to the next power of two (1.3)."""
    with np.errstate(divide="ignore"):
        exponent = np.ceil(np.log2(x.astype(np.float64)))
    return np.clip(np.nan_to_num(exponent, posinf=127, neginf=-127) + 127,
                   0, 254).astype(np.uint8)


def quantize_rows(x):
    """Codes and scales of blocks of 32 along the last dim (4.1)."""
    blocks = x.reshape(x.shape[0], -1, BLOCK)
    amax = np.fmax.reduce(np.abs(blocks), axis=2, initial=np.float32(0))
    with np.errstate(over="ignore", invalid="ignore"):
        scale = to_e8m0(amax * np.float32(1 / 448))
        inverse = np.ldexp(np.float32(1), 127 - scale.astype(np.int32))
        scaled = (blocks * inverse[..., None]).astype(np.float32)
    return to_e4m3(scaled).reshape(x.shape), scale


def make_input():
    """bf16 bit patterns: rows of many magnitudes and the values that are easy
    to get wrong (zeros of both signs, infinity, NaN, an all-zero block)."""
    random = np.random.RandomState(2024)
    x = random.standard_normal((ROWS, COLS)).astype(np.float32)
    x *= np.exp2(random.randint(-40, 40, (ROWS, 1))).astype(np.float32)
    x[0] = np.tile(np.array([1, -2.5, 0.3, 448, -0.0, 0, 3.14159, 1e-3],
                            np.float32), COLS // 8)
    x[32, :64] = 0
    x[33, 5], x[34, 70], x[35, 200] = np.inf, -np.inf, np.nan
    x[40, :BLOCK] = np.nan
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def widen(bits):
    """bf16 bit patterns as f32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def decode(code, dtype):
    """The numbers that the codes stand for."""
    if dtype == "f8E8M0FNU":
        return np.exp2(code.astype(np.float64) - 127)
    value = VALUES[np.minimum(code & 0x7F, 0x7E)]
    value = np.where((code & 0x7F) == 0x7F, np.nan, value)
    return np.where(code & 0x80, -value, value)


def check(input_path, results):
    """Compares a folder that te-run wrote; returns the exit status."""
    x = widen(np.fromfile(input_path, np.uint16).reshape(ROWS, COLS))
    row_data, row_scale = quantize_rows(x)
    column_data, column_scale = quantize_rows(np.ascontiguousarray(x.T))
    expected = {"rowwise_data": row_data, "rowwise_scale_inv": row_scale,
                "columnwise_data": column_data.T,
                "columnwise_scale_inv": column_scale.T}
    with open(os.path.join(results, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)

    print("{:<22} {:>9} {:>10} {:>7}  {}".format(
        "inner tensor", "shape", "element", "bytes", "first values"))
    different = 0
    for entry in manifest:
        name, shape, dtype = entry["name"], entry["shape"], entry["dtype"]
        path = os.path.join(results, entry["file"])
        got = np.fromfile(path, np.uint8).reshape(shape)
        want = expected.pop(name)
        # Scales are padded to whole tiles; the padding has no meaning.
        got = got[:want.shape[0], :want.shape[1]]
        count = int((got != want).sum())
        different += count
        print("{:<22} {:>9} {:>10} {:>7}  {}  {}".format(
            name, "x".join(map(str, shape)), dtype, os.path.getsize(path),
            " ".join(f"{value:g}" for value in decode(got.flat[:5], dtype)),
            "equal" if not count else f"{count} of {want.size} differ"))
    if expected:
        print("missing: " + ", ".join(expected))
        return 1
    print("all bytes equal the numpy reference" if not different else
          f"{different} bytes differ from the numpy reference")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("input").add_argument("file")
    compare = commands.add_parser("check")
    compare.add_argument("file")
    compare.add_argument("results")
    arguments = parser.parse_args()
    if arguments.command == "input":
        make_input().tofile(arguments.file)
        return 0
    return check(arguments.file, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
