"""Runs products of linalg as linear layers, plain and in a recipe, against f64.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: products.py TE_OPT TE_RUN WORK_FOLDER
"""

import subprocess
import sys

import numpy as np

from gemm import Runner, decode, encode
from linear import E4M3, ROUNDING, root

IN, OUT = 128, 96
MAPS = {"x": "(m, n, k) -> (m, k)", "(out, in)": "(m, n, k) -> (n, k)",
        "(in, out)": "(m, n, k) -> (k, n)", "y": "(m, n, k) -> (m, n)"}


def program(rows, weight, bias, dtype, sum_dtype, is_dynamic):
    """`bias`: None, or where it is added: "before" or "after" the product."""
    y = f"{'?' if is_dynamic else rows}x{OUT}x"
    x = f"tensor<{'?' if is_dynamic else rows}x{IN}x{dtype}>"
    w = f"tensor<{OUT}x{IN}x{dtype}>" if weight == "(out, in)" else (
        f"tensor<{IN}x{OUT}x{dtype}>")
    size = "(%rows)" if is_dynamic else "()"
    maps = ", ".join(f"affine_map<{MAPS[name]}>" for name in ("x", weight, "y"))
    lines = [f"func.func @main(%x: {x}, %w: {w}, %b: tensor<{OUT}x{dtype}>) -> "
             f"tensor<{y}{dtype}> {{",
             f"  %zero = arith.constant 0.0 : {sum_dtype}",
             "  %c0 = arith.constant 0 : index",
             f"  %rows = tensor.dim %x, %c0 : {x}",
             f"  %sums = tensor.empty{size} : tensor<{y}{sum_dtype}>",
             f"  %out = tensor.empty{size} : tensor<{y}{dtype}>"]
    if bias == "before":
        lines.append(f"  %init = linalg.broadcast ins(%b : tensor<{OUT}x{dtype}>) "
                     f"outs(%sums : tensor<{y}{sum_dtype}>) dimensions = [0]")
    else:
        lines.append(f"  %init = linalg.fill ins(%zero : {sum_dtype}) outs(%sums : "
                     f"tensor<{y}{sum_dtype}>) -> tensor<{y}{sum_dtype}>")
    lines.append(f"  %xw = linalg.matmul indexing_maps = [{maps}] ins(%x, %w : {x}, "
                 f"{w}) outs(%init : tensor<{y}{sum_dtype}>) -> "
                 f"tensor<{y}{sum_dtype}>")
    result = "%xw"
    if bias == "after" or sum_dtype != dtype:
        result = "%y"
        body = ["^bb0(%v: " + sum_dtype + ", %c: " + dtype + ", %o: " + dtype +
                "):"]
        value = "%v"
        if bias == "after":
            term = "%c"
            if sum_dtype != dtype:
                body.append(f"  %wide = arith.extf %c : {dtype} to {sum_dtype}")
                term = "%wide"
            body.append(f"  %sum = arith.addf %v, {term} : {sum_dtype}")
            value = "%sum"
        if sum_dtype != dtype:
            body.append(f"  %r = arith.truncf {value} : {sum_dtype} to {dtype}")
            value = "%r"
        body.append(f"  linalg.yield {value} : {dtype}")
        if bias != "after":
            body[0] = f"^bb0(%v: {sum_dtype}, %o: {dtype}):"
        ins = f"%xw, %b : tensor<{y}{sum_dtype}>, tensor<{OUT}x{dtype}>" if (
            bias == "after") else f"%xw : tensor<{y}{sum_dtype}>"
        identity = "affine_map<(m, n) -> (m, n)>"
        generic = [identity] + ["affine_map<(m, n) -> (n)>"] * (bias == "after")
        lines.append(f"  %y = linalg.generic {{indexing_maps = "
                     f"[{', '.join(generic + [identity])}], iterator_types = "
                     f'["parallel", "parallel"]}} ins({ins}) outs(%out : '
                     f"tensor<{y}{dtype}>) {{")
        lines += body + [f"}} -> tensor<{y}{dtype}>"]
    lines.append(f"  return {result} : tensor<{y}{dtype}>\n}}")
    return "\n".join(lines) + "\n"


def main():
    te_opt, te_run, work = sys.argv[1:]
    runner = Runner(None, te_run, work)
    random = np.random.default_rng(3)
    cases = [
        # rows, weight, bias, dtype, dtype of the sum, dynamic
        (64, "(out, in)", None, "bf16", "bf16", False),
        (64, "(in, out)", "before", "bf16", "bf16", False),
        (32, "(out, in)", "after", "bf16", "f32", True),
        (96, "(in, out)", "after", "f16", "f32", False),
        (32, "(out, in)", None, "f32", "f32", True),
        (64, "(in, out)", "after", "f32", "f32", False),
    ]
    for case in cases:
        rows, weight, bias, dtype, _, is_dynamic = case
        x_bits, x = encode(random.standard_normal((rows, IN)), dtype)
        shape = (OUT, IN) if weight == "(out, in)" else (IN, OUT)
        w_bits, w = encode(random.standard_normal(shape) * 0.1, dtype)
        b_bits, b = encode(random.standard_normal(OUT), dtype)
        x = x.reshape(rows, IN)
        w = w.reshape(shape) if weight == "(out, in)" else w.reshape(shape).T
        want = x @ w.T + (b if bias else 0)
        for name, option, error in (
                ("plain", "--te-quant-raise-linear", 0),
                ("mxfp8", "--te-quant-apply-recipe=recipe=mxfp8",
                 root(E4M3, E4M3))):
            lowered = subprocess.run(
                [te_opt, "-", option], input=program(*case), text=True,
                check=True, stdout=subprocess.PIPE).stdout
            runner.check(f"{case} {name}: a layer", "te_quant.linear" in lowered
                         and "linalg.matmul" not in lowered)
            sizes = (rows, IN) if is_dynamic else None
            found, _ = runner.execute(
                lowered, [(x_bits, sizes), (w_bits, None), (b_bits, None)],
                "sm_100a", "generated")
            have = decode(found[0]["data"][0], dtype).reshape(want.shape)
            distance = np.linalg.norm(have - want) / np.linalg.norm(want)
            bound = error + ROUNDING.get(dtype, 2.0 ** -11)
            runner.check(f"{case} {name}: differs by {distance:.3g}, at most "
                         f"{bound:.3g}", distance <= bound)
    held = runner.count - runner.failures
    print(f"{held} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
