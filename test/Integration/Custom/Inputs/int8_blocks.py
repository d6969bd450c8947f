"""Compares a custom format in a shared library with a model in numpy.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: int8_blocks.py TE_RUN LIBRARY WORK_FOLDER
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

BLOCK = 32


def quantize(x):
    """Codes and scales of f32 values, flattened to rows and columns."""
    rows, cols = x.shape
    blocks = -(-cols // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK), np.float32)
    padded[:, :cols] = x
    amax = np.abs(padded.reshape(rows, blocks, BLOCK)).max(2, initial=0)
    scale = np.where(amax == 0, np.float32(1), amax / np.float32(127))
    each = np.repeat(scale, BLOCK, axis=1)
    codes = np.rint(padded / each).astype(np.int8)
    return codes[:, :cols], scale, (codes * each)[:, :cols]


def make_input(shape, dtype, seed):
    """Bits of a tensor of `dtype`, and its f32 values as rows and columns."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape).astype(np.float32)
    x *= random.integers(0, 3, shape[:-1] + (1,)).astype(np.float32)
    bits = x
    if dtype == "bf16":
        x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
        bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    return bits, x.reshape(-1, shape[-1]) if x.size else x.reshape(
        int(np.prod(shape[:-1])), shape[-1])


class Runner:
    def __init__(self, te_run, library, work):
        self.te_run, self.library, self.work = te_run, library, work
        self.failures = self.count = 0

    def command(self, module, inputs):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        path = lambda name: os.path.join(self.work, name)
        with open(path("module.mlir"), "w") as file:
            file.write(module)
        command = [self.te_run, path("module.mlir"), "--entry=main",
                   "--target=emulate", f"--load={self.library}",
                   "--output-dir", path("out")]
        for index, (bits, shape) in enumerate(inputs):
            bits.tofile(path(f"{index}.bin"))
            command += ["--input", path(f"{index}.bin") + (
                ":" + "x".join(map(str, shape)) if shape else "")]
        return command

    def run(self, module, inputs):
        """The bytes of the results by number and name."""
        subprocess.run(self.command(module, inputs), check=True)
        out = os.path.join(self.work, "out")
        with open(os.path.join(out, "manifest.json")) as file:
            rows = json.load(file)
        return {(row["result"], row["name"]): np.fromfile(
            os.path.join(out, row["file"]), np.uint8) for row in rows}

    def check(self, what, found, expected):
        self.count += 1
        expected = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
        if not np.array_equal(found, expected):
            self.failures += 1
            print("FAILED", what)

    def check_shape(self, shape, dtype, is_dynamic=False):
        what = f"{shape} {dtype}" + (" dynamic" if is_dynamic else "")
        bits, x = make_input(shape, dtype, seed=len(what))
        dims = "".join("?x" if is_dynamic else f"{dim}x" for dim in shape)
        tensor, kind = f"tensor<{dims}{dtype}>", make_type(dims, dtype)
        module = f"""
func.func @main(%x: {tensor}) -> ({kind}, tensor<{dims}f32>) {{
  %q = te_quant.quantize %x : {tensor} -> {kind}
  %y = te_quant.dequantize %q : {kind} -> tensor<{dims}f32>
  return %q, %y : {kind}, tensor<{dims}f32>
}}
"""
        results = self.run(module, [(bits, shape if is_dynamic else None)])
        codes, scale, values = quantize(x)
        self.check(what + ": codes", results[0, "codes"], codes)
        self.check(what + ": scale", results[0, "scale"], scale)
        self.check(what + ": decoded", results[1, "data"], values)

    def check_noop(self, flag, is_skipped):
        """The update of a tensor that the caller owns."""
        kind, tensor = make_type("3x40x", "f32"), "tensor<3x40xf32>"
        module = f"""
func.func @main(%x: {tensor}, %q: {kind}, %flag: tensor<1xf32>,
                %stream: !llvm.ptr) -> {kind} {{
  %r = te_quant.quantize %x into %q noop(%flag)
    : {tensor}, {kind}, tensor<1xf32> -> {kind}
  return %r : {kind}
}}
"""
        _, old = make_input((3, 40), "f32", 1)
        bits, new = make_input((3, 40), "f32", 2)
        codes, scale, _ = quantize(old)
        results = self.run(module, [
            (bits, None), (codes, None), (scale, None),
            (np.array([flag], np.float32), None)])
        codes, scale, _ = quantize(old if is_skipped else new)
        self.check(f"flag {flag}: codes", results[0, "codes"], codes)
        self.check(f"flag {flag}: scale", results[0, "scale"], scale)

    def check_error(self, expected, change):
        """A command that fails with one line."""
        kind = make_type("4x32x", "f32")
        module = f"""
func.func @main(%x: tensor<4x32xf32>) -> {kind} {{
  %q = te_quant.quantize %x : tensor<4x32xf32> -> {kind}
  return %q : {kind}
}}
"""
        command = change(self.command(
            module, [(np.zeros((4, 32), np.float32), None)]))
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        self.count += 1
        lines = done.stderr.splitlines()
        if done.returncode != 1 or len(lines) != 1 or expected not in lines[0]:
            self.failures += 1
            print(f"FAILED {expected}: {done.returncode}, {lines}")


def make_type(dims, dtype):
    suffix = "_bf16" if dtype == "bf16" else ""
    return (f'!te_quant.tensor<{dims}{dtype}, #te_quant.custom<"int8_blocks", '
            "layout = #te_quant.layout<codes : i8[leading, cols], "
            f"scale : f32[rows, cols ceildiv {BLOCK}]>, "
            f'quantize = "int8_blocks_quantize{suffix}", '
            'dequantize = "int8_blocks_dequantize">>')


def main():
    runner = Runner(*sys.argv[1:4])
    runner.check_shape((4, 64), "f32")
    runner.check_shape((2, 3, 50), "bf16")
    runner.check_shape((7,), "f32", is_dynamic=True)
    runner.check_shape((2, 3, 33), "bf16", is_dynamic=True)
    # The library refuses to be called for nothing.
    runner.check_shape((0, 32), "f32", is_dynamic=True)
    runner.check_shape((3, 0), "f32")
    for flag in (1.0, 0.0, float("nan"), 1.0000001):
        runner.check_noop(flag, is_skipped=flag == 1.0)
    runner.check_error(
        "te-run: error: expected 'int8_blocks_quantize' to be defined in the "
        "module, the runtime, a library of --load or the C library",
        lambda command: [word for word in command if "--load" not in word])
    runner.check_error(
        "te-run: error: cannot load ./no_such_library.so: ",
        lambda command: command + ["--load=./no_such_library.so"])
    runner.check_error(
        "te-run: error: expected --load to name a library, but got an empty "
        "name", lambda command: command + ["--load="])
    print(f"{runner.count - runner.failures} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
