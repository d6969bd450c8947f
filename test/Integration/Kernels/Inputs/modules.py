"""Compares layers that contain linear layers with f64.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The bounds are those of linear.py: the relative error in the Frobenius norm that
rounding to the formats gives. A norm or an activation whose result is rounded to
bf16 before a product adds half a unit of 8 bits to one operand; a perceptron
adds the errors of two products, and its activations do not enlarge them.

Usage: modules.py TE_RUN WORK_FOLDER
"""

import subprocess
import sys

import numpy as np

from gemm import Runner, decode, encode
from linear import RECIPES, ROUNDING, attributes, root, spell

ROWS, FEATURES, OUTPUTS = 64, 128, 96
EPS = 1e-5
NAMED = {recipe.name: recipe for recipe in RECIPES}
TESTED = [NAMED[name] for name in ("none", "mxfp8", "current")]


def normalize(x, gamma, beta, kind, zero_centered):
    """The norm, with its reciprocal deviation."""
    centered = x - x.mean(1, keepdims=True) if kind == "LayerNorm" else x
    rsigma = 1 / np.sqrt((centered ** 2).mean(1, keepdims=True) + EPS)
    return centered * rsigma * (gamma + zero_centered) + beta, rsigma


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "gelu": lambda x: x * (0.5 + 0.5 * np.tanh(
        x * (0.79788456 + 0.03567741 * x * x))),
    "qgelu": lambda x: x * sigmoid(1.702 * x),
    "relu": lambda x: np.maximum(x, 0),
    "srelu": lambda x: np.maximum(x, 0) ** 2,
    "silu": lambda x: x * sigmoid(x),
}
GATES = {"glu": sigmoid, "geglu": FUNCTIONS["gelu"],
         "qgeglu": FUNCTIONS["qgelu"], "reglu": FUNCTIONS["relu"],
         "sreglu": FUNCTIONS["srelu"], "swiglu": FUNCTIONS["silu"]}


def activate(name, hidden):
    if name in FUNCTIONS:
        return FUNCTIONS[name](hidden)
    half = hidden.shape[1] // 2
    return GATES[name](hidden[:, :half]) * hidden[:, half:]


class Program:
    """The arguments of a function that calls one op, and their values."""

    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.arguments, self.inputs = [], []

    def draw(self, name, shape, scale=1.0, offset=0.0):
        bits, values = encode(
            self.random.standard_normal(shape) * scale + offset, self.dtype)
        self.arguments.append((name, spell(shape, self.dtype)))
        self.inputs.append((bits, None))
        return values.reshape(shape)

    def pass_array(self, name, values, type, shape=None):
        self.arguments.append((name, type))
        self.inputs.append((values, shape))

    def type_of(self, *names):
        types = dict(self.arguments)
        return ", ".join(types[name] for name in names)

    def module(self, lines, results):
        declared = ", ".join(f"%{name}: {type}"
                             for name, type in self.arguments)
        types = ", ".join(type for _, type in results)
        values = ", ".join(name for name, _ in results)
        body = "\n  ".join(lines)
        return (f"func.func @main({declared}) -> ({types}) {{\n  {body}\n"
                f"  return {values} : {types}\n}}\n")


def compare(runner, what, found, want, dtype, bound):
    have = decode(found["data"][0], dtype).reshape(want.shape)
    distance = np.linalg.norm(have - want) / np.linalg.norm(want)
    runner.check(f"{what} differs by {distance:.3g}, at most {bound:.3g}",
                 distance <= bound)


def check_layernorm_linear(runner, recipe, kind, zero_centered, dtype="bf16",
                           shape=(ROWS,)):
    p = Program(len(recipe.name) + len(kind), dtype)
    x = p.draw("x", shape + (FEATURES,), 2, 0.5).reshape(-1, FEATURES)
    gamma = p.draw("gamma", (FEATURES,), 0.2, 1 - zero_centered)
    w = p.draw("w", (OUTPUTS, FEATURES), 0.05)
    bias = p.draw("bias", (OUTPUTS,))
    beta = np.zeros(FEATURES)
    groups, names = "", ["x", "gamma", "w"]
    if kind == "LayerNorm":
        beta = p.draw("beta", (FEATURES,), 0.1)
        groups, names = " beta(%beta)", names + ["beta"]
    flags = attributes(recipe, [
        f"normalization = #te_quant.normalization<{kind}>",
        f"zero_centered_gamma = {'true' if zero_centered else 'false'}",
        "return_layernorm_output = true", "is_grad_enabled = false"])
    line = (f"%y, %n = te_quant.layernorm_linear %x, %gamma, %w{groups} "
            f"bias(%bias) {flags} : {p.type_of(*names, 'bias')}")
    module = p.module([line], [("%y", spell(shape + (OUTPUTS,), dtype)),
                               ("%n", spell(shape + (FEATURES,), dtype))])
    found, _ = runner.execute(module, p.inputs, recipe.chip, "generated")
    n, _ = normalize(x, gamma, beta, kind, zero_centered)
    what = f"layernorm_linear {recipe.name} {kind} {zero_centered} {dtype}"
    compare(runner, what + ": norm", found[1], n, dtype, ROUNDING[dtype])
    compare(runner, what + ": y", found[0], n @ w.T + bias, dtype,
            recipe.forward + 2 * ROUNDING[dtype])


def check_mlp(runner, recipe, activation, dtype="bf16"):
    p = Program(len(recipe.name) + len(activation), dtype)
    gated = activation in GATES
    hidden = 2 * OUTPUTS if gated else OUTPUTS
    x = p.draw("x", (ROWS, FEATURES), 2, 0.5)
    gamma = p.draw("gamma", (FEATURES,), 0.2, 1)
    w1 = p.draw("w1", (hidden, FEATURES), 0.1)
    w2 = p.draw("w2", (FEATURES, OUTPUTS), 0.1)
    b1 = p.draw("b1", (hidden,), 0.1)
    b2 = p.draw("b2", (FEATURES,), 0.1)
    quantizers = []
    for role, quantizer in zip(("input", "weight", "grad_output"),
                               recipe.quantizers):
        if quantizer:
            quantizers += [f"fc{fc}_{role}_quantizer = #te_quant.{quantizer}"
                           for fc in (1, 2)]
    flags = ", ".join(quantizers + [
        "normalization = #te_quant.normalization<RMSNorm>",
        f"activation = #te_quant.activation<{activation}>",
        "is_grad_enabled = false"])
    line = (f"%y = te_quant.layernorm_mlp %x, %gamma, %w1, %w2 bias1(%b1) "
            f"bias2(%b2) {{{flags}}} : "
            + p.type_of("x", "gamma", "w1", "w2", "b1", "b2"))
    module = p.module([line], [("%y", spell((ROWS, FEATURES), dtype))])
    found, _ = runner.execute(module, p.inputs, recipe.chip, "generated")
    n, _ = normalize(x, gamma, 0, "RMSNorm", 0)
    y = activate(activation, n @ w1.T + b1) @ w2.T + b2
    compare(runner, f"layernorm_mlp {recipe.name} {activation} {dtype}: y",
            found[0], y, dtype,
            root(recipe.forward, recipe.forward) + 4 * ROUNDING[dtype])


def grouped(recipe, splits, is_dynamic, dtype, has_dynamic_rows=False,
            rows=None):
    p = Program(len(recipe.name) + len(splits), dtype)
    rows = sum(splits) if rows is None else rows
    x = p.draw("x", (rows, FEATURES))
    if has_dynamic_rows:
        p.arguments[0] = ("x", f"tensor<?x{FEATURES}x{dtype}>")
        p.inputs[0] = (p.inputs[0][0], (rows, FEATURES))
    experts = range(len(splits))
    w = [p.draw(f"w{e}", (OUTPUTS, FEATURES), 0.05) for e in experts]
    b = [p.draw(f"b{e}", (OUTPUTS,)) for e in experts]
    names = ["x"] + [f"w{e}" for e in experts] + [f"b{e}" for e in experts]
    groups = (f"weights({', '.join(f'%w{e}' for e in experts)}) "
              f"bias({', '.join(f'%b{e}' for e in experts)})")
    more = ["is_grad_enabled = false"]
    if is_dynamic:
        p.pass_array("splits", np.array(splits, np.int64),
                     f"tensor<{len(splits)}xi64>")
        groups += " splits(%splits)"
        names.append("splits")
    else:
        more.append(f"m_splits = array<i64: {', '.join(map(str, splits))}>")
    line = (f"%y = te_quant.grouped_linear %x {groups} "
            f"{attributes(recipe, more)} : {p.type_of(*names)}")
    result = ("?" if has_dynamic_rows else str(rows)) + f"x{OUTPUTS}x{dtype}"
    module = p.module([line], [("%y", f"tensor<{result}>")])
    want, begin = [], 0
    for e, count in enumerate(splits):
        want.append(x[begin:begin + count] @ w[e].T + b[e])
        begin += count
    return module, p.inputs, np.concatenate(want)


def check_grouped(runner, recipe, splits, is_dynamic, dtype="bf16",
                  has_dynamic_rows=False):
    module, inputs, want = grouped(recipe, splits, is_dynamic, dtype,
                                   has_dynamic_rows)
    found, _ = runner.execute(module, inputs, recipe.chip, "generated")
    compare(runner, f"grouped_linear {recipe.name} {splits} "
            f"{'dynamic' if is_dynamic else 'static'} {dtype}: y", found[0],
            want, dtype, recipe.forward + ROUNDING[dtype])


def check_layernorm_linear_backward(runner, recipe, kind, dtype="bf16"):
    p = Program(len(recipe.name) + len(kind), dtype)
    x_shape, w_shape = (ROWS, FEATURES), (OUTPUTS, FEATURES)
    x = p.draw("x", x_shape, 2, 0.5)
    gamma = p.draw("gamma", (FEATURES,), 0.2, 1)
    w = p.draw("w", w_shape, 0.05)
    dy = p.draw("dy", (ROWS, OUTPUTS), 0.01)
    dn = p.draw("dn", x_shape, 0.01)
    has_mean = kind == "LayerNorm"
    beta = p.draw("beta", (FEATURES,), 0.1) if has_mean else 0
    flags = attributes(recipe, [
        f"normalization = #te_quant.normalization<{kind}>",
        "return_layernorm_output = true"])
    group, extra = (" beta(%beta)", ["beta"]) if has_mean else ("", [])
    plain = recipe.quantizers[0] is None
    saved = [] if plain else ["%wm", "%saved"]
    statistics = ["%mu", "%rsigma"] if has_mean else ["%rsigma"]
    names = ("%n", "%w") if plain else ("%saved", "%wm")
    n_type = recipe.type(0, x_shape, "columnwise", dtype)
    w_type = recipe.type(1, w_shape, "both", dtype)
    lines = [f"{', '.join(['%y', '%n'] + saved + statistics)} = "
             f"te_quant.layernorm_linear %x, %gamma, %w{group} {flags} : "
             + p.type_of("x", "gamma", "w", *extra)]
    gradients = ["%dw", "%dx", "%dg"] + ["%dbeta"] * has_mean
    f32 = f"tensor<{ROWS}xf32>"
    types = ([p.type_of("dy", "x", "gamma", *extra), n_type, w_type,
              p.type_of("w")] + [f32] * len(statistics) + [p.type_of("dn")])
    mu = "mu(%mu) " if has_mean else ""
    lines.append(
        f"{', '.join(gradients)} = te_quant.layernorm_linear_backward %dy "
        f"input(%x) gamma(%gamma){group} norm_output({names[0]}) "
        f"weightmat({names[1]}) weight(%w) {mu}rsigma(%rsigma) "
        f"grad_norm_output(%dn) {flags} : {', '.join(types)}")
    vector = spell((FEATURES,), dtype)
    results = [("%dw", spell(w_shape, dtype)), ("%dx", spell(x_shape, dtype)),
               ("%dg", vector)] + [("%dbeta", vector)] * has_mean
    found, _ = runner.execute(p.module(lines, results), p.inputs, recipe.chip,
                              "generated")
    n, rsigma = normalize(x, gamma, beta, kind, 0)
    xhat, _ = normalize(x, 1, 0, kind, 0)
    dz = dy @ w + dn
    g = dz * gamma
    inside = g - xhat * (g * xhat).mean(1, keepdims=True)
    if has_mean:
        inside -= g.mean(1, keepdims=True)
    wanted = [("dw", dy.T @ n), ("dx", rsigma * inside),
              ("dgamma", (dz * xhat).sum(0)), ("dbeta", dz.sum(0))]
    for index, _ in enumerate(results):
        name, want = wanted[index]
        compare(runner, f"layernorm_linear_backward {recipe.name} {kind} "
                f"{dtype}: {name}", found[index], want, dtype,
                recipe.backward + 3 * ROUNDING[dtype])


def check_grouped_backward(runner, recipe, splits, is_dynamic, dtype="bf16"):
    p = Program(len(recipe.name) + len(splits), dtype)
    rows, experts = sum(splits), range(len(splits))
    x = p.draw("x", (rows, FEATURES))
    dy = p.draw("dy", (rows, OUTPUTS), 0.01)
    w = [p.draw(f"w{e}", (OUTPUTS, FEATURES), 0.05) for e in experts]
    b = [p.draw(f"b{e}", (OUTPUTS,)) for e in experts]
    plain = recipe.quantizers[0] is None
    more, group, last = ["bias_requires_grad = true"], "", []
    if is_dynamic:
        p.pass_array("splits", np.array(splits, np.int64),
                     f"tensor<{len(splits)}xi64>")
        group, last = " splits(%splits)", ["splits"]
    else:
        more.append(f"m_splits = array<i64: {', '.join(map(str, splits))}>")
    flags = attributes(recipe, more)

    def each(prefix):
        return [f"{prefix}{e}" for e in experts]

    def spelled(names):
        return ", ".join("%" + name for name in names)

    saved = [] if plain else each("s") + each("m")
    inputs = ["x"] if plain else each("s")
    weightmats = each("w") if plain else each("m")
    lines = [f"{spelled(['y'] + saved)} = te_quant.grouped_linear %x "
             f"weights({spelled(each('w'))}) bias({spelled(each('b'))}){group} "
             f"{flags} : " + p.type_of("x", *each("w"), *each("b"), *last)]
    if plain:
        types = [p.type_of(*inputs, *weightmats)]
    else:
        counts = ["?"] * len(splits) if is_dynamic else splits
        types = [recipe.type(0, (count, FEATURES), "columnwise", dtype)
                 for count in counts]
        types += [recipe.type(1, (OUTPUTS, FEATURES), "both", dtype)] * len(w)
    types = ([p.type_of("dy")] + types
             + [p.type_of(*each("w"), *each("b"), *last)])
    lines.append(
        f"{spelled(each('dw') + ['dx'] + each('db'))} = "
        f"te_quant.grouped_linear_backward %dy input({spelled(inputs)}) "
        f"weightmat({spelled(weightmats)}) weights({spelled(each('w'))}) "
        f"bias({spelled(each('b'))}){group} {flags} : {', '.join(types)}")
    results = [(f"%dw{e}", spell((OUTPUTS, FEATURES), dtype)) for e in experts]
    results.append(("%dx", spell((rows, FEATURES), dtype)))
    results += [(f"%db{e}", spell((OUTPUTS,), dtype)) for e in experts]
    found, _ = runner.execute(p.module(lines, results), p.inputs, recipe.chip,
                              "generated")
    what = (f"grouped_linear_backward {recipe.name} {splits} "
            f"{'dynamic' if is_dynamic else 'static'}")
    bound = recipe.backward + ROUNDING[dtype]
    dx, begin = [], 0
    for e, count in enumerate(splits):
        part = slice(begin, begin + count)
        begin += count
        dx.append(dy[part] @ w[e])
        dw, db = found[e], found[len(splits) + 1 + e]
        if count == 0:
            runner.check(what + f": gradients of expert {e} are not zero",
                         not dw["data"][0].any() and not db["data"][0].any())
            continue
        compare(runner, what + f": dw {e}", dw, dy[part].T @ x[part], dtype,
                bound)
        compare(runner, what + f": db {e}", db, dy[part].sum(0), dtype,
                ROUNDING[dtype])
    compare(runner, what + ": dx", found[len(splits)], np.concatenate(dx),
            dtype, bound)


def slope(function, x):
    """The derivative of a function, but where it has a corner."""
    step = 1e-6
    return (function(x + step) - function(x - step)) / (2 * step)


def check_mlp_backward(runner, recipe, activation, dtype="bf16"):
    p = Program(len(recipe.name) + len(activation), dtype)
    gated = activation in GATES
    width = 2 * OUTPUTS if gated else OUTPUTS
    shapes = {"x": (ROWS, FEATURES), "w1": (width, FEATURES),
              "w2": (FEATURES, OUTPUTS)}
    x = p.draw("x", shapes["x"], 2, 0.5)
    gamma = p.draw("gamma", (FEATURES,), 0.2, 1)
    w1, w2 = p.draw("w1", shapes["w1"], 0.1), p.draw("w2", shapes["w2"], 0.1)
    dy = p.draw("dy", (ROWS, FEATURES), 0.01)
    flags = [f"fc{fc}_{role}_quantizer = #te_quant.{quantizer}"
             for role, quantizer in zip(("input", "weight", "grad_output"),
                                        recipe.quantizers)
             for fc in (1, 2) if quantizer]
    flags = "{" + ", ".join(flags + [
        "normalization = #te_quant.normalization<RMSNorm>",
        f"activation = #te_quant.activation<{activation}>"]) + "}"
    plain = recipe.quantizers[0] is None
    names = (["%y", "%n", "%h", "%a", "%r"] if plain
             else ["%y", "%n", "%m1", "%h", "%a", "%m2", "%r"])
    m1, m2 = ("%w1", "%w2") if plain else ("%m1", "%m2")
    lines = [f"{', '.join(names)} = te_quant.layernorm_mlp %x, %gamma, %w1, "
             f"%w2 {flags} : " + p.type_of("x", "gamma", "w1", "w2")]
    types = [p.type_of("dy", "x", "gamma"),
             recipe.type(0, shapes["x"], "columnwise", dtype),
             recipe.type(1, shapes["w1"], "both", dtype), p.type_of("w1"),
             spell((ROWS, width), dtype),
             recipe.type(0, (ROWS, OUTPUTS), "columnwise", dtype),
             recipe.type(1, shapes["w2"], "both", dtype), p.type_of("w2"),
             f"tensor<{ROWS}xf32>"]
    lines.append(
        "%dw1, %dw2, %dx, %dg = te_quant.layernorm_mlp_backward %dy input(%x) "
        f"gamma(%gamma) norm_output(%n) weightmat1({m1}) weight1(%w1) "
        f"hidden(%h) activated(%a) weightmat2({m2}) weight2(%w2) rsigma(%r) "
        f"{flags} : {', '.join(types)}")
    results = [("%dw1", p.type_of("w1")), ("%dw2", p.type_of("w2")),
               ("%dx", p.type_of("x")), ("%dg", p.type_of("gamma"))]
    found, _ = runner.execute(p.module(lines, results), p.inputs, recipe.chip,
                              "generated")
    n, rsigma = normalize(x, gamma, 0, "RMSNorm", 0)
    xhat, _ = normalize(x, 1, 0, "RMSNorm", 0)
    h = n @ w1.T
    da = dy @ w2
    if gated:
        first, second = h[:, :OUTPUTS], h[:, OUTPUTS:]
        function = GATES[activation]
        dh = np.concatenate([slope(function, first) * second * da,
                             function(first) * da], 1)
    else:
        dh = slope(FUNCTIONS[activation], h) * da
    dz = dh @ w1
    g = dz * gamma
    dx = rsigma * (g - xhat * (g * xhat).mean(1, keepdims=True))
    wanted = [("dw1", dh.T @ n), ("dw2", dy.T @ activate(activation, h)),
              ("dx", dx), ("dgamma", (dz * xhat).sum(0))]
    # The hidden tensor errs as a forward product, its gradient as two more.
    error = root(root(recipe.backward, recipe.backward), recipe.forward)
    for index, (name, want) in enumerate(wanted):
        compare(runner, f"layernorm_mlp_backward {recipe.name} {activation} "
                f"{dtype}: {name}", found[index], want, dtype,
                error + 6 * ROUNDING[dtype])


def check_refused(runner, splits, rows):
    """Splits that are not those of the rows."""
    module, inputs, _ = grouped(NAMED["none"], splits, True, "f32", rows=rows)
    error = ""
    try:
        runner.execute(module, inputs, "sm_90a", "generated",
                       stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as failure:
        error = failure.stderr.decode()
    runner.check(f"splits {splits} of {rows} rows: {error!r}",
                 "expected the splits to sum to the rows of the input" in error)


def main():
    te_run, work = sys.argv[1:]
    runner = Runner(None, te_run, work)
    for recipe in TESTED:
        check_layernorm_linear(runner, recipe, "LayerNorm", False)
        check_layernorm_linear(runner, recipe, "RMSNorm", True)
        for kind in ("LayerNorm", "RMSNorm"):
            check_layernorm_linear_backward(runner, recipe, kind)
        check_mlp(runner, recipe, "gelu")
        check_mlp(runner, recipe, "swiglu")
        for activation in ("gelu", "swiglu"):
            check_mlp_backward(runner, recipe, activation)
        for is_dynamic in (False, True):
            check_grouped(runner, recipe, [32, 0, 64], is_dynamic)
            check_grouped_backward(runner, recipe, [32, 0, 64], is_dynamic)
    check_layernorm_linear(runner, NAMED["none"], "LayerNorm", False, "f32",
                           (2, 8, 4))
    for kind in ("LayerNorm", "RMSNorm"):
        check_layernorm_linear_backward(runner, NAMED["none"], kind, "f32")
    for activation in list(FUNCTIONS) + list(GATES):
        check_mlp(runner, NAMED["none"], activation, "f32")
        check_mlp_backward(runner, NAMED["none"], activation, "f32")
    check_grouped(runner, NAMED["mxfp8"], [0, 32, 0, 32], True,
                  has_dynamic_rows=True)
    check_refused(runner, [32, 16, 8], 64)
    check_refused(runner, [96, -32, 0], 64)
    check_refused(runner, [32, 32, 32], 64)
    held = runner.count - runner.failures
    print(f"{held} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
