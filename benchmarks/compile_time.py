#!/usr/bin/env python3
"""Compile time of the GPU pipeline against the number of quantize ops.

    compile_time.py --te-opt PATH [--chip sm_90a] [--ops 10,100,1000,10000]
                    [--configurations N] [--limit SECONDS]

A module of N MXFP8 quantize ops, one after another in functions of 100, goes
through te-quant-gpu-pipeline. Ops of one configuration share their kernels, so
the time must grow no faster than the number of ops. One row for each size:

    ops          quantize ops in the module
    kernels      entry points in the PTX
    seconds      wall time of te-opt, the best of the runs
    per op       milliseconds per op
    ratio        per op, against the row before

Exit status 1 if a ratio is above --limit-ratio (1.5).

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile
import time

OPS_PER_FUNCTION = 100
CONFIGURATIONS = ("f8E4M3FN", "f8E5M2", "f8E4M3FN, usage = rowwise",
                  "f8E5M2, usage = rowwise", "f8E4M3FN, usage = columnwise",
                  "f8E5M2, usage = columnwise",
                  "f8E4M3FN, with_2d_quantization = true",
                  "f8E5M2, with_2d_quantization = true")


def module(ops, configurations):
    """The text of a module with that many quantize ops."""
    lines = []
    source = "tensor<?x256xbf16>"
    for start in range(0, ops, OPS_PER_FUNCTION):
        body, names, types = [], [], []
        for op in range(start, min(start + OPS_PER_FUNCTION, ops)):
            parameters = CONFIGURATIONS[op % configurations]
            result = (f"!te_quant.tensor<?x256xbf16, "
                      f"#te_quant.mxfp8<{parameters}>>")
            body.append(f"  %q{op} = te_quant.quantize %x : {source} -> "
                        f"{result}")
            names.append(f"%q{op}")
            types.append(result)
        lines += [f"func.func @layers_{start}(%x: {source}) -> "
                  f"({', '.join(types)}) {{", *body,
                  f"  return {', '.join(names)} : {', '.join(types)}", "}"]
    return "\n".join(lines) + "\n"


def measure(arguments, ops):
    """Wall time of one compilation and the number of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "module.mlir")
        with open(source, "w", encoding="utf-8") as file:
            file.write(module(ops, arguments.configurations))
        start = time.perf_counter()
        subprocess.run(
            [arguments.te_opt, source, "-o", os.devnull,
             f"--te-quant-gpu-pipeline=chip={arguments.chip} format=isa "
             f"kernels={folder}"], check=True, timeout=arguments.limit)
        seconds = time.perf_counter() - start
        kernels = 0
        for path in glob.glob(os.path.join(folder, "*.ptx")):
            with open(path, encoding="utf-8") as file:
                kernels += sum(".visible .entry" in line for line in file)
    return seconds, kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--te-opt", default="build/bin/te-opt")
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--ops", default="10,100,1000,10000",
                        help="comma-separated numbers of ops")
    parser.add_argument("--configurations", type=int, default=1,
                        choices=range(1, len(CONFIGURATIONS) + 1),
                        help="distinct quantizers that the ops alternate")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600,
                        help="seconds for one compilation")
    parser.add_argument("--limit-ratio", type=float, default=1.5)
    arguments = parser.parse_args()

    print(f"{'ops':>7} {'kernels':>8} {'seconds':>9} {'per op':>10} "
          f"{'ratio':>7}")
    before, worst = None, 0
    for ops in (int(number) for number in arguments.ops.split(",")):
        seconds, kernels = min(measure(arguments, ops)
                               for _ in range(arguments.runs))
        per_op = seconds / ops
        ratio = per_op / before if before else None
        print(f"{ops:>7} {kernels:>8} {seconds:>9.3f} {per_op * 1e3:>7.2f} ms "
              + (f"{ratio:>7.2f}" if ratio else f"{'':>7}"), flush=True)
        before, worst = per_op, max(worst, ratio or 0)
    return 1 if worst > arguments.limit_ratio else 0


if __name__ == "__main__":
    sys.exit(main())
