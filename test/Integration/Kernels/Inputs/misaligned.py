"""Runs kernels on aligned and on misaligned buffers and compares their bytes.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: misaligned.py TE_OPT TE_RUN WORK_FOLDER
"""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

SIZES = {"f32": 4, "bf16": 2, "f16": 2, "i8": 1, "f8E4M3FN": 1, "f8E5M2": 1,
         "f8E8M0FNU": 1}
ROWS, COLS = 128, 256


class Buffer:
    """An argument: a flat memref, of which the tensor is a part."""

    def __init__(self, name, shape, dtype, contents=None):
        self.name, self.shape, self.dtype = name, shape, dtype
        self.contents = contents  # none for what the program fills

    def flat(self, kind, offset):
        return f"{kind}<{offset + int(np.prod(self.shape))}x{self.dtype}>"

    def type(self, offset):
        strides = [int(np.prod(self.shape[i + 1:]))
                   for i in range(len(self.shape))]
        return (f"memref<{'x'.join(map(str, self.shape))}x{self.dtype}, "
                f"strided<{strides}, offset: {offset}>>")

    def view(self, offset):
        strides = [int(np.prod(self.shape[i + 1:]))
                   for i in range(len(self.shape))]
        return (f"  %{self.name} = memref.reinterpret_cast %{self.name}_buffer "
                f"to offset: [{offset}], sizes: {list(self.shape)}, "
                f"strides: {strides} : {self.flat('memref', offset)} to "
                f"{self.type(offset)}\n")

    def bytes(self, offset):
        """0xA5 where nothing is, before the tensor too."""
        size = SIZES[self.dtype]
        body = (np.full(int(np.prod(self.shape)) * size, 0xA5, np.uint8)
                if self.contents is None
                else np.frombuffer(self.contents.tobytes(), np.uint8))
        return np.concatenate([np.full(offset * size, 0xA5, np.uint8), body])


def inner_tensors(te_opt, quantizer, dtype):
    module = ("func.func private @f() {\n  %0 = te_quant.empty() : "
              f"!te_quant.tensor<{ROWS}x{COLS}x{dtype}, {quantizer}>\n"
              "  return\n}\n")
    done = subprocess.run(
        [te_opt, "--te-quant-print-layout=format=json", "-o", os.devnull],
        input=module, stdout=subprocess.PIPE, text=True, check=True)
    return [Buffer(inner["name"], inner["shape"], inner["dtype"])
            for inner in json.loads(done.stdout)[0]["inner"]]


def operands(buffers, offset):
    return (", ".join("%" + buffer.name for buffer in buffers) + " : "
            + ", ".join(buffer.type(offset) for buffer in buffers))


def make_module(arguments, ops, offset):
    """A function that returns all of its arguments."""
    signature = ", ".join(f"%{a.name}_buffer: {a.flat('memref', offset)}"
                          for a in arguments)
    types = ", ".join(a.flat("memref", offset) for a in arguments)
    entries = ", ".join(
        f'{{position = {i} : i64, name = "{a.name}", '
        f"type = {a.flat('tensor', offset)}}}" for i, a in enumerate(arguments))
    return (f"func.func @main({signature}) -> ({types}) attributes {{\n"
            f"    te_quant.args = [{entries}],\n"
            f"    te_quant.results = [{entries}]}} {{\n"
            + "".join(a.view(offset) for a in arguments) + ops + "  return "
            + ", ".join(f"%{a.name}_buffer" for a in arguments)
            + f" : {types}\n}}\n")


def run(te_run, work, module, arguments, offset):
    """What is in each buffer, without what comes before the tensor, and the
    kernels that ran."""
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    path = lambda name: os.path.join(work, name)
    with open(path("module.mlir"), "w") as file:
        file.write(module)
    command = [te_run, path("module.mlir"), "--entry=main", "--target=emulate",
               f"--emulator-stats={path('stats.json')}",
               "--output-dir", path("out")]
    for index, argument in enumerate(arguments):
        argument.bytes(offset).tofile(path(f"{index}.bin"))
        command += ["--input", path(f"{index}.bin")]
    subprocess.run(command, check=True)
    with open(path("out/manifest.json")) as file:
        rows = json.load(file)
    with open(path("stats.json")) as file:
        kernels = list(json.load(file)["kernels"])
    contents = {}
    for row, argument in zip(rows, arguments):
        found = np.fromfile(path("out/" + row["file"]), np.uint8)
        start = offset * SIZES[argument.dtype]
        assert np.all(found[:start] == 0xA5), f"{argument.name}: written before"
        contents[argument.name] = found[start:]
    return contents, kernels


def is_vector_kernel(name):
    match = re.search(r"_v(\d+)$", name)
    return bool(match) and int(match[1]) > 1


def main():
    te_opt, te_run, work = sys.argv[1:4]
    failures = count = 0
    scalar = lambda name, value: Buffer(name, (1,), "f32",
                                        np.array([value], np.float32))
    cases = [
        ("#te_quant.mxfp8<f8E4M3FN>", "bf16", ""),
        ("#te_quant.mxfp8<f8E5M2, optimize_for_gemm = true>", "f32", ""),
        ("#te_quant.mxfp8<f8E4M3FN, usage = columnwise>", "f16", ""),
        ("#te_quant.float8_block_scaling<f8E4M3FN>", "bf16", ""),
        ("#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
         "f32", ""),
        ("#te_quant.float8_current_scaling<f8E4M3FN>", "bf16", "amax"),
        ("#te_quant.float8_current_scaling<f8E5M2, usage = rowwise>", "f32",
         "amax"),
        ("#te_quant.float8_delayed_scaling<f8E4M3FN>", "bf16", "scale"),
        ("#te_quant.nvfp4<usage = rowwise>", "bf16", "amax"),
        ("#te_quant.nvfp4<with_2d_quantization = true>", "f32", "amax"),
    ]
    for quantizer, dtype, group in cases:
        what = f"{quantizer} {dtype}"
        random = np.random.default_rng(len(what))
        x = random.standard_normal((ROWS, COLS)).astype(np.float32)
        x *= 2.0 ** random.integers(-8, 8, (ROWS, 1)).astype(np.float32)
        bits = {"f32": lambda: x, "f16": lambda: x.astype(np.float16),
                "bf16": lambda: (x.view(np.uint32) >> 16).astype(np.uint16)}
        source = Buffer("x", (ROWS, COLS), dtype, bits[dtype]())
        decoded = Buffer("y", (ROWS, COLS), dtype)
        inners = inner_tensors(te_opt, quantizer, dtype)
        outs, given, extra = inners, "", []
        if group:
            value = scalar("given", np.abs(x).max() if group == "amax" else 3)
            extra = [value]
        if group == "scale":
            outs = inners + [Buffer("amax", (1,), "f32")]
        arguments = [source, *extra, *outs, decoded]

        def run_at(offset):
            given = (f" {group}(%given : {extra[0].type(offset)})"
                     if extra else "")
            ops = (f"  te_quant.quantize_into {quantizer} "
                   f"ins({operands([source], offset)}){given} "
                   f"outs({operands(outs, offset)})\n"
                   f"  te_quant.dequantize_into {quantizer} "
                   f"ins({operands(inners, offset)}) "
                   f"outs({operands([decoded], offset)})\n")
            return run(te_run, work, make_module(arguments, ops, offset),
                       arguments, offset)

        aligned, vector_kernels = run_at(0)
        moved, generic_kernels = run_at(1)
        problems = [f"{name}: other bytes" for name in aligned
                    if not np.array_equal(aligned[name], moved[name])]
        for op in ("quantize_", "dequantize_"):
            if not any(is_vector_kernel(name) for name in vector_kernels
                       if name.startswith(op)):
                problems.append(f"no vectors when aligned: {vector_kernels}")
            if any(is_vector_kernel(name) for name in generic_kernels
                   if name.startswith(op)):
                problems.append(f"vectors when misaligned: {generic_kernels}")
        if np.all(aligned["y"] == 0xA5):
            problems.append("nothing was written")
        count += 1
        failures += bool(problems)
        for problem in problems:
            print("FAILED", what, problem)
    print(f"{count - failures} of {count} configurations hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
