"""Compares linear layers, forward and backward, with f64 products.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The results are compared with products in f64 of what was given, not of what it
was quantized to, by their relative error in the Frobenius norm.

The bound. Let A' = A + E be the quantized operand, with |E| <= d |A| for each
element, so that ||E|| <= d ||A||. Inputs are independent with mean zero, and so
are their rounding errors to each other; then ||E B|| / ||A B|| is about
||E|| / ||A||, and errors of both operands add as squares:

    ||Y' - Y|| / ||Y|| <= sqrt(da^2 + db^2) + output

`d` is the largest relative error of a number of the format: half a unit of the
last of its m mantissa bits, 2^-(m+1). That is the worst error where the root of
the mean square is what counts, about 0.4 of it, which leaves room for what the
model leaves out: subnormal numbers, and that elements of one line share a
scale. For E2M1, m = 1 would give 1/4; its largest relative error is 1/5, at
2.5 and 5, but below 1 the error is up to 1/4 of the scale whatever the number
is, so 1/4 it is. Stochastic rounding errs by a whole unit instead of a half
one: 2 d. The 16 bits of bf16 results add half a unit of 8 bits, 2^-9, for each
rounding. Sums in f32 lose less than 2^-15 here.

A wrong scale, layout, transform or operand gives errors of 1 and more.

Usage: linear.py TE_RUN WORK_FOLDER
"""

import sys

import numpy as np

from gemm import Runner, decode, encode

E4M3, E5M2, E2M1 = 2.0 ** -4, 2.0 ** -3, 2.0 ** -2
ROUNDING = {"f32": 2.0 ** -15, "bf16": 2.0 ** -8}
ROWS, FEATURES, OUTPUTS = (4, 32), 256, 96


class Recipe:
    """The quantizers of the roles and the largest errors of what they make."""

    def __init__(self, name, input, weight, gradient, forward, backward,
                 scales=0, rng=0, chip="sm_90a"):
        self.name, self.chip = name, chip
        self.quantizers = (input, weight, gradient)
        # The errors in y, dx and dw.
        self.forward, self.backward = forward, backward
        self.scales, self.rng = scales, rng

    def type(self, role, shape, usage, dtype):
        dims = "".join(f"{dim}x" for dim in shape)
        quantizer = self.quantizers[role]
        if quantizer is None:
            return f"tensor<{dims}{dtype}>"
        family, options = quantizer.split("<", 1)
        options = options[:-1]
        if usage != "both":
            options += f", usage = {usage}"
        return f"!te_quant.tensor<{dims}{dtype}, #te_quant.{family}<{options}>>"


def root(a, b):
    return float(np.hypot(a, b))


NVFP4 = "nvfp4<with_rht = true, with_post_rht_amax = true"
RECIPES = [
    Recipe("none", None, None, None, 0, 0),
    Recipe("current", "float8_current_scaling<f8E4M3FN>",
           "float8_current_scaling<f8E4M3FN>",
           "float8_current_scaling<f8E5M2>", root(E4M3, E4M3),
           root(E4M3, E5M2)),
    Recipe("current_non_tn",
           "float8_current_scaling<f8E4M3FN, non_tn_gemm = true>",
           "float8_current_scaling<f8E4M3FN, non_tn_gemm = true>",
           "float8_current_scaling<f8E5M2, non_tn_gemm = true>",
           root(E4M3, E4M3), root(E4M3, E5M2), chip="sm_100a"),
    Recipe("delayed", "float8_delayed_scaling<f8E4M3FN>",
           "float8_delayed_scaling<f8E4M3FN>",
           "float8_delayed_scaling<f8E5M2>", root(E4M3, E4M3),
           root(E4M3, E5M2), scales=1),
    Recipe("block", "float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
           "float8_block_scaling<f8E4M3FN, block_scaling_dim = 2>",
           "float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
           root(E4M3, E4M3), root(E4M3, E4M3)),
    Recipe("mxfp8", "mxfp8<f8E4M3FN>", "mxfp8<f8E4M3FN>", "mxfp8<f8E4M3FN>",
           root(E4M3, E4M3), root(E4M3, E4M3)),
    Recipe("nvfp4", NVFP4 + ">", "nvfp4<with_2d_quantization = true>",
           NVFP4 + ", stochastic_rounding = true>", root(E2M1, E2M1),
           root(E2M1, 2 * E2M1), rng=1, chip="sm_100a"),
    Recipe("hybrid",
           *["hybrid<rowwise = #te_quant.mxfp8<f8E4M3FN>, columnwise = "
             "#te_quant.mxfp8<f8E5M2>>"] * 2,
           "hybrid<rowwise = #te_quant.mxfp8<f8E5M2>, columnwise = "
           "#te_quant.mxfp8<f8E5M2>>", root(E4M3, E4M3), root(E5M2, E5M2)),
]


def spell(shape, dtype):
    return f"tensor<{''.join(f'{dim}x' for dim in shape)}{dtype}>"


def attributes(recipe, more=()):
    roles = ("input_quantizer", "weight_quantizer", "grad_output_quantizer")
    parts = [f"{role} = #te_quant.{quantizer}"
             for role, quantizer in zip(roles, recipe.quantizers) if quantizer]
    return "{" + ", ".join(parts + list(more)) + "}"


def program(recipe, x, w, dtype, main_grad=None, more=(), dy=None,
            output_rows=None, gathers_input=False, has_bias=True):
    """A layer forward and backward: arguments x, w, dy and, if there are, the
    bias, scales, the random state and a main gradient; results y, dw, dx and,
    if there are, the gradient of the bias and amaxes. `more`: attributes; with
    parallelism `dy` and `output_rows` say what shapes they imply."""
    y = x[:-1] + (w[0],)
    dy = dy or y
    arguments = [("x", spell(x, dtype)), ("w", spell(w, dtype)),
                 ("dy", spell(dy, dtype))]
    if has_bias:
        arguments.append(("b", spell(w[:1], dtype)))
    scale = "tensor<1xf32>"
    arguments += [(f"s{role}", scale) for role in "xwd"[:3 * recipe.scales]]
    if recipe.rng:
        arguments.append(("rng", "tensor<2xi64>"))
    if main_grad:
        arguments.append(("main", spell(w, main_grad)))
    more = list(more) + ["bias_requires_grad = true"] * has_bias
    flags = attributes(recipe, more)
    plain = recipe.quantizers[0] is None
    saved = [recipe.type(0, x, "columnwise", dtype),
             recipe.type(1, w, "both", dtype)]
    if gathers_input and "current" in recipe.name:
        saved[0] = recipe.type(0, x, "rowwise", dtype)
    types = [spell(x, dtype), spell(w, dtype)]
    groups = ""
    if has_bias:
        groups += " bias(%b)"
        types.append(spell(w[:1], dtype))
    if recipe.scales:
        groups += " scale(%sx, %sw)"
        types += [scale] * 2
    results = ["%y"] + ["%sin", "%swm"] * (not plain)
    results += ["%ax", "%aw"] * recipe.scales
    lines = [f"{', '.join(results)} = te_quant.linear %x, %w{groups} {flags} : "
             + ", ".join(types)]
    names = ("%x", "%w") if plain else ("%sin", "%swm")
    groups = f"input({names[0]}) weightmat({names[1]}) weight(%w)"
    types = [spell(dy, dtype)]
    types += [spell(x, dtype), spell(w, dtype)] if plain else saved
    types.append(spell(w, dtype))
    if has_bias:
        groups += " bias(%b)"
        types.append(spell(w[:1], dtype))
    if main_grad:
        groups += " accumulate(%main)"
        types.append(spell(w, main_grad))
    if recipe.scales:
        groups += " scale(%sd)"
        types.append(scale)
    if recipe.rng:
        groups += " rng(%rng)"
        types.append("tensor<2xi64>")
    results = ["%dw", "%dx"] + ["%db"] * has_bias + ["%ad"] * recipe.scales
    flags = attributes(recipe, more + ["fuse_wgrad_accumulation = true"]
                       * bool(main_grad))
    lines.append(f"{', '.join(results)} = te_quant.linear_backward %dy "
                 f"{groups} {flags} : " + ", ".join(types))
    rows = output_rows or y[0]
    returned = [("%y", spell((rows,) + y[1:], dtype)),
                ("%dw", spell(w, main_grad or dtype)), ("%dx", spell(x, dtype))]
    if has_bias:
        returned.append(("%db", spell(w[:1], dtype)))
    if recipe.scales:
        returned += [("%ax", scale), ("%aw", scale), ("%ad", scale)]
    declared = ", ".join(f"%{name}: {type}" for name, type in arguments)
    body = "\n  ".join(lines)
    return (f"func.func @main({declared}) -> "
            f"({', '.join(type for _, type in returned)}) {{\n  {body}\n"
            f"  return {', '.join(name for name, _ in returned)} : "
            f"{', '.join(type for _, type in returned)}\n}}\n")


def check_recipe(runner, recipe, dtype="bf16", main_grad=None, microbatch=None):
    random = np.random.default_rng(len(recipe.name))
    x_shape, w_shape = ROWS + (FEATURES,), (OUTPUTS, FEATURES)
    y_shape = ROWS + (OUTPUTS,)

    def draw(shape, scale):
        return encode(random.standard_normal(shape) * scale, dtype)

    x_bits, x = draw(x_shape, 1)
    w_bits, w = draw(w_shape, 0.05)
    dy_bits, dy = draw(y_shape, 0.01)
    b_bits, b = draw((OUTPUTS,), 1)
    x, dy = x.reshape(-1, FEATURES), dy.reshape(-1, OUTPUTS)
    w = w.reshape(w_shape)
    inputs = [x_bits, w_bits, dy_bits, b_bits]
    if recipe.scales:
        # What the amax of the last step would give.
        inputs += [np.array([largest / np.abs(value).max()], np.float32)
                   for largest, value in ((448, x), (448, w), (57344, dy))]
    if recipe.rng:
        inputs.append(np.array([1234, 4096], np.int64))
    old = np.zeros(w_shape)
    if main_grad:
        bits, old = encode(random.standard_normal(w_shape) * 0.1, main_grad)
        old = old.reshape(w_shape)
        inputs.append(bits)
    more = [f"microbatch = #te_quant.microbatch<{microbatch}>"] if (
        microbatch) else []
    module = program(recipe, x_shape, w_shape, dtype, main_grad, more)
    found, _ = runner.execute(module, [(bits, None) for bits in inputs],
                              recipe.chip, "generated")
    what = f"{recipe.name} {dtype} {main_grad} {microbatch}"
    dw = dy.T @ x + (old if microbatch != "first" else 0)
    wanted = [("y", x @ w.T + b, dtype, recipe.forward),
              ("dw", dw, main_grad or dtype, recipe.backward),
              ("dx", dy @ w, dtype, recipe.backward),
              ("db", dy.sum(0), dtype, 0)]
    for index, (name, want, kind, error) in enumerate(wanted):
        have = decode(found[index]["data"][0], kind).reshape(want.shape)
        distance = np.linalg.norm(have - want) / np.linalg.norm(want)
        bound = error + ROUNDING[kind]
        runner.check(f"{what}: {name} differs by {distance:.3g}, at most "
                     f"{bound:.3g}", distance <= bound)
    for index, value in enumerate((x, w, dy) if recipe.scales else ()):
        have = decode(found[4 + index]["data"][0], "f32")
        runner.check(f"{what}: amax {index} {have}",
                     have == np.abs(value).max())


def main():
    te_run, work = sys.argv[1:]
    runner = Runner(None, te_run, work)
    for recipe in RECIPES:
        check_recipe(runner, recipe)
    check_recipe(runner, RECIPES[0], "f32")
    for recipe in (RECIPES[0], RECIPES[5]):
        for microbatch in ("first", "later"):
            check_recipe(runner, recipe, main_grad="f32",
                         microbatch=microbatch)
    held = runner.count - runner.failures
    print(f"{held} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
