#!/usr/bin/env python3
"""Runs the MLP of linear_mxfp8.mlir in a recipe and compares it with numpy in f64.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    linear_reference.py TE_RUN MODULE RECIPE FOLDER [--chip CHIP] [--stateless]

MODULE is linear_mxfp8.mlir after te-quant-apply-recipe with RECIPE (or as it is,
with `none`). Inputs and results go to FOLDER. --stateless: options of the recipe have
left out what it adds to the arguments. The reference computes with the
bf16 inputs themselves, not with what they were quantized to, so that the whole
error of the format shows.

The bound. With m mantissa bits, numbers in [2^e, 2^(e+1)) are 2^(e-m) apart. To
round to the nearest errs by at most half of that, all errors alike likely, hence by
2^(e-m) / sqrt(12) in the mean square; relative to numbers whose logarithms are
spread evenly that is d = 2^-m sqrt(3 / (8 ln 2) / 12) = 0.21 2^-m: 0.027 for E4M3,
0.053 for E5M2, 0.11 for E2M1. To round stochastically errs in the mean square by
2^(e-m) / sqrt(6), sqrt(2) times as much. Rounding to bf16 errs by at most 2^-8.
Operands have mean zero and errors are independent, so relative errors of the
operands of a product, in the Frobenius norm, add as squares, and those of sums over
it stay what they are. Say |.| for the norm and r(.) for |error| / |value|; f is the
pair of errors of input and weight, g those of the gradient and what it meets.

    h  = x W1^T + b1      error(h) = f |x W1^T| + 2^-8 |h|
    a  = silu(h)          error(a) = 1.1 error(h) + 2^-8 |a|          (|silu'| <= 1.1)
    y  = a W2^T + b2      error(y) = (r(a), f) |a W2^T| + 2^-8 |y|
    da = dy W2            error(da) = (g + 2^-8) |da|
    dh = da silu'(h)      error(dh) = 1.1 error(da) + error(h) |da| / 2 sqrt(n) + 2^-8 |dh|
                                                                      (|silu''| <= 1/2)
    dW2 = dy^T a          r = (r(a), g) + 2^-8
    dW1 = dh^T x, dx = dh W1
                          r = (r(dh), g) + 2^-8
    db2 = sums of dy      r = 2^-8
    db1 = sums of dh      r = r(dh) + 2^-8

(p, q) is the square root of p^2 + q^2, n the number of elements of h. Results may
err by 1.5 times that, for what the model leaves out: subnormal numbers, scales that
are rounded themselves, and that numbers are not spread so evenly. An operand that
is wrong or missing gives errors of about 1.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np

ROWS, FEATURES, HIDDEN = 64, 128, 256
BF16 = 2.0 ** -8
MARGIN = 1.5
E4M3, E5M2, E2M1 = (2.0 ** -m * np.sqrt(3 / (8 * np.log(2)) / 12)
                    for m in (3, 2, 1))

# The errors of input or weight, and of a gradient; the chip that has the format.
RECIPES = {
    "none": (0, 0, "sm_90a"),
    "mxfp8": (E4M3, E4M3, "sm_100a"),
    "float8_current": (E4M3, E5M2, "sm_90a"),
    "float8_block": (E4M3, E4M3, "sm_90a"),
    "delayed": (E4M3, E5M2, "sm_90a"),
    "nvfp4": (E2M1, np.sqrt(2) * E2M1, "sm_100a"),
}


def draw(random, scale, *shape):
    """bf16 numbers: their bits, and their values in f64."""
    bits = (random.standard_normal(shape) * scale).astype(np.float32)
    bits = (bits.view(np.uint32) >> 16).astype(np.uint16)
    return bits, decode(bits)


def decode(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def root(*errors):
    return float(np.sqrt(sum(error * error for error in errors)))


def reference(x, w1, b1, w2, b2, dy):
    """The results, and what the bounds are made from."""
    xw = x @ w1.T
    h = xw + b1
    sigmoid = 1 / (1 + np.exp(-h))
    a = h * sigmoid
    aw = a @ w2.T
    da = dy @ w2
    dh = da * sigmoid * (1 + h * (1 - sigmoid))
    results = {"y": aw + b2, "dw1": dh.T @ x, "db1": dh.sum(0),
               "dw2": dy.T @ a, "db2": dy.sum(0), "dx": dh @ w1}
    return results, dict(xw=xw, h=h, a=a, aw=aw, da=da, dh=dh)


def bounds(operand, gradient, results, parts):
    """The largest relative error of each result, as derived above."""
    size = {name: np.linalg.norm(value)
            for name, value in {**results, **parts}.items()}
    f, g = root(operand, operand), root(operand, gradient)
    error_h = f * size["xw"] + BF16 * size["h"]
    error_a = 1.1 * error_h + BF16 * size["a"]
    r_a = error_a / size["a"]
    error_y = root(r_a, f) * size["aw"] + BF16 * size["y"]
    error_da = (g + BF16) * size["da"]
    error_dh = (1.1 * error_da + BF16 * size["dh"] +
                error_h * size["da"] / 2 / np.sqrt(parts["h"].size))
    r_dh = error_dh / size["dh"]
    errors = {"y": error_y / size["y"], "dw1": root(r_dh, g) + BF16,
              "db1": r_dh + BF16, "dw2": root(r_a, g) + BF16, "db2": BF16,
              "dx": root(r_dh, g) + BF16}
    return {name: MARGIN * error for name, error in errors.items()}


def state(recipe, tensors):
    """What the recipe adds to the arguments of the function."""
    if recipe == "nvfp4":
        return [np.array([1234, 4096], np.int64)]  # seed and offset
    if recipe != "delayed":
        return []
    # The scales that the amaxes of a step like this one would give: of the
    # operands of each layer, in the order of the layers.
    x, w1, a, w2, dy, dh = tensors
    return [np.array([largest / np.abs(value).max()], np.float32)
            for largest, value in ((448, x), (448, w1), (448, a), (448, w2),
                                   (57344, dy), (57344, dh))]


def run(arguments, inputs):
    command = [arguments.te_run, arguments.module, "--entry=mlp",
               "--target=emulate", f"--chip={arguments.chip}",
               f"--output-dir={arguments.folder}/results"]
    for index, value in enumerate(inputs):
        path = os.path.join(arguments.folder, f"input{index}.bin")
        value.tofile(path)
        command += ["--input", path]
    subprocess.run(command, check=True)
    path = os.path.join(arguments.folder, "results")
    with open(os.path.join(path, "manifest.json")) as manifest:
        return [np.fromfile(os.path.join(path, entry["file"]), np.uint16)
                for entry in json.load(manifest)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("te_run")
    parser.add_argument("module")
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("folder")
    parser.add_argument("--chip")
    parser.add_argument("--stateless", action="store_true")
    arguments = parser.parse_args()
    operand, gradient, chip = RECIPES[arguments.recipe]
    arguments.chip = arguments.chip or chip
    os.makedirs(arguments.folder, exist_ok=True)

    random = np.random.default_rng(7)
    drawn = [draw(random, 1, ROWS, FEATURES),
             draw(random, FEATURES ** -0.5, HIDDEN, FEATURES),
             draw(random, 0.1, HIDDEN),
             draw(random, HIDDEN ** -0.5, FEATURES, HIDDEN),
             draw(random, 0.1, FEATURES),
             draw(random, 0.01, ROWS, FEATURES)]
    x, w1, b1, w2, b2, dy = (value for _, value in drawn)
    results, parts = reference(x, w1, b1, w2, b2, dy)
    allowed = bounds(operand, gradient, results, parts)
    inputs = [bits for bits, _ in drawn]
    if not arguments.stateless:
        inputs += state(arguments.recipe,
                        (x, w1, parts["a"], w2, dy, parts["dh"]))
    found = run(arguments, inputs)

    failures = 0
    print(f"{'result':<8}{'relative error':>16}{'bound':>10}")
    for (name, want), bits in zip(results.items(), found):
        have = decode(bits).reshape(want.shape)
        error = np.linalg.norm(have - want) / np.linalg.norm(want)
        held = error <= allowed[name]
        failures += not held
        print(f"{name:<8}{error:>16.3g}{allowed[name]:>10.3g}"
              f"{'' if held else '  too large'}")
    print("all within the bound" if not failures
          else f"{failures} of {len(results)} beyond the bound")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
