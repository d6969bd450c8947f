#!/usr/bin/env python3
"""Time of the whole pipeline against the number of linear layers.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    pipeline_time.py --te-opt PATH [--recipe mxfp8] [--chip sm_100a]
                     [--layers 1,10,100,1000] [--per-function 10] [--runs 1]

A network of N linear layers, forward and backward, each with a weight and a bias
of its own, in functions of --per-function layers. It goes through
te-quant-apply-recipe and te-quant-gpu-pipeline, down to PTX and host code in the
LLVM dialect. The peer in the same run is the same network with three
linalg.matmul for a layer, lowered to loops and the LLVM dialect by MLIR's own
passes. One row for each N:

    layers       linear layers in the module
    kernels      entry points in the PTX
    seconds      wall time of te-opt, the best of the runs
    per layer    milliseconds per layer
    growth       exponent of the time against the row before: 1 is linear
    peer         seconds of the peer, and ours against it

What does not depend on N, such as the kernels, counts in the first rows. Exit
status 1 if an exponent is above --limit (1.2).
"""

import argparse
import glob
import math
import os
import subprocess
import sys
import tempfile
import time

ROWS, FEATURES = 256, 512
PEER_PIPELINE = (
    "builtin.module(one-shot-bufferize{bufferize-function-boundaries},"
    "func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,"
    "convert-cf-to-llvm,reconcile-unrealized-casts)")


def declare(names, types):
    return ", ".join(f"%{name}: {type}" for name, type in zip(names, types))


def network(num_layers, per_function, emit_forward, emit_backward):
    """Functions of layers, each the input of the next, then backward."""
    x, w = f"tensor<{ROWS}x{FEATURES}xbf16>", f"tensor<{FEATURES}x{FEATURES}xbf16>"
    b = f"tensor<{FEATURES}xbf16>"
    text = []
    for start in range(0, num_layers, per_function):
        layers = range(start, min(start + per_function, num_layers))
        names = ["x", "dy"] + [f"{kind}{layer}" for layer in layers
                               for kind in "wb"]
        types = [x, x] + [w, b] * len(layers)
        body, value = [], "x"
        for layer in layers:
            body.append(emit_forward(layer, value, x, w, b))
            value, output = f"y{layer}", f"y{layer}"
        gradient, results = "dy", [output]
        for layer in reversed(layers):
            previous = f"y{layer - 1}" if layer > start else "x"
            body.append(emit_backward(layer, previous, gradient, x, w, b))
            gradient = f"dx{layer}"
            results.append(f"dw{layer}")
        results.append(gradient)
        result_types = [x] + [w] * len(layers) + [x]
        text.append(f"func.func @layers_{start}({declare(names, types)}) -> "
                    f"({', '.join(result_types)}) {{\n" + "\n".join(body) +
                    "\n  return " + ", ".join(f"%{name}" for name in results) +
                    f" : {', '.join(result_types)}\n}}\n")
    return "\n".join(text)


def emit_linear(layer, value, x, w, b):
    return (f"  %y{layer} = te_quant.linear %{value}, %w{layer} bias(%b{layer}) "
            f"{{bias_requires_grad = true}} : {x}, {w}, {b}")


def emit_linear_backward(layer, value, gradient, x, w, b):
    return (f"  %dw{layer}, %dx{layer}, %db{layer} = te_quant.linear_backward "
            f"%{gradient} input(%{value}) weightmat(%w{layer}) "
            f"weight(%w{layer}) bias(%b{layer}) {{bias_requires_grad = true}} : "
            f"{x}, {x}, {w}, {w}, {b}")


def emit_product(name, a, b, type_a, type_b, result, maps):
    maps = ", ".join(f"affine_map<(m, n, k) -> ({dims})>" for dims in maps)
    return (f"  %zero_{name} = arith.constant 0.0 : bf16\n"
            f"  %empty_{name} = tensor.empty() : {result}\n"
            f"  %init_{name} = linalg.fill ins(%zero_{name} : bf16) "
            f"outs(%empty_{name} : {result}) -> {result}\n"
            f"  %{name} = linalg.matmul indexing_maps = [{maps}] ins(%{a}, %{b} : "
            f"{type_a}, {type_b}) outs(%init_{name} : {result}) -> {result}")


def emit_matmul(layer, value, x, w, b):
    return emit_product(f"y{layer}", value, f"w{layer}", x, w, x,
                        ("m, k", "n, k", "m, n"))


def emit_matmul_backward(layer, value, gradient, x, w, b):
    return (emit_product(f"dw{layer}", gradient, value, x, x, w,
                         ("k, m", "k, n", "m, n")) + "\n" +
            emit_product(f"dx{layer}", gradient, f"w{layer}", x, w, x,
                         ("m, k", "k, n", "m, n")))


def measure(command, runs):
    """Seconds of a command, the best of the runs."""
    best = math.inf
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def count_kernels(folder):
    count = 0
    for path in glob.glob(os.path.join(folder, "*.ptx")):
        with open(path) as file:
            count += sum(line.startswith(".visible .entry") for line in file)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--te-opt", required=True)
    parser.add_argument("--recipe", default="mxfp8")
    parser.add_argument("--chip", default="sm_100a")
    parser.add_argument("--layers", default="1,10,100,1000")
    parser.add_argument("--per-function", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.2)
    arguments = parser.parse_args()

    is_linear = True
    previous = None
    print(" layers  kernels   seconds    per layer  growth      peer   ratio")
    for num_layers in map(int, arguments.layers.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            ours = os.path.join(folder, "ours.mlir")
            peer = os.path.join(folder, "peer.mlir")
            kernels = os.path.join(folder, "kernels")
            with open(ours, "w") as file:
                file.write(network(num_layers, arguments.per_function,
                                   emit_linear, emit_linear_backward))
            with open(peer, "w") as file:
                file.write(network(num_layers, arguments.per_function,
                                   emit_matmul, emit_matmul_backward))
            seconds = measure(
                [arguments.te_opt, ours,
                 f"--te-quant-apply-recipe=recipe={arguments.recipe}",
                 f"--te-quant-gpu-pipeline=chip={arguments.chip} format=isa "
                 f"kernels={kernels}", "-o", os.devnull], arguments.runs)
            peer_seconds = measure(
                [arguments.te_opt, peer, f"--pass-pipeline={PEER_PIPELINE}",
                 "-o", os.devnull], arguments.runs)
            num_kernels = count_kernels(kernels)
        growth = None
        if previous:
            growth = (math.log(seconds / previous[1]) /
                      math.log(num_layers / previous[0]))
            is_linear = is_linear and growth <= arguments.limit
        print(f"{num_layers:>7}  {num_kernels:>7}  {seconds:>8.3f}  "
              f"{1000 * seconds / num_layers:>8.2f} ms  "
              f"{'' if growth is None else format(growth, '.2f'):>6}  "
              f"{peer_seconds:>8.3f}  {seconds / peer_seconds:>6.2f}",
              flush=True)
        previous = num_layers, seconds
    if not is_linear:
        print(f"the time grows with a power above {arguments.limit}")
    return 0 if is_linear else 1


if __name__ == "__main__":
    sys.exit(main())
