"""Compares tensor-parallel linear layers of two ranks with one of one rank.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

With column parallelism a rank has half of the outputs, with row parallelism
half of the features; sequence parallelism halves the rows in between. Where
each rank quantizes the same blocks as one rank would, the results are the same
but for the order of sums across ranks. Where a scale depends on what a rank
has, both are within the bound of linear.py from what is exact, and so within
twice of each other.

Usage: linear.py TE_RUN WORK_FOLDER
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import numpy as np

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                       os.pardir, "Kernels", "Inputs")
sys.path.insert(0, KERNELS)
SPEC = importlib.util.spec_from_file_location(
    "layers", os.path.join(KERNELS, "linear.py"))
layers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(layers)

RANKS, ROWS, FEATURES, OUTPUTS = 2, 128, 128, 128
EXACT = 1e-6


def run(te_run, folder, program, inputs):
    """The plain results of each rank; `inputs`: a list for each rank."""
    os.makedirs(folder)
    path = os.path.join(folder, "program.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    out = os.path.join(folder, "out")
    command = [te_run, path, "--entry=main", "--target=emulate",
               f"--ranks={len(inputs)}", "--output-dir", out]
    for rank, arrays in enumerate(inputs):
        for index, array in enumerate(arrays):
            name = os.path.join(folder, f"{rank}_{index}.npy")
            np.save(name, np.ascontiguousarray(array, np.float32))
            command += ["--input", name]
    subprocess.run(command, check=True)
    results = []
    for rank in range(len(inputs)):
        place = out if len(inputs) == 1 else os.path.join(out, f"rank{rank}")
        with open(os.path.join(place, "manifest.json"),
                  encoding="utf-8") as file:
            manifest = json.load(file)
        results.append([np.fromfile(os.path.join(place, entry["file"]),
                                    np.float32).reshape(entry["shape"])
                        for entry in manifest])
    return results


def compare(what, have, want, bound):
    distance = np.linalg.norm(have - want) / np.linalg.norm(want)
    assert distance <= bound, (what, distance, bound)


def check(te_run, work, recipe, forward, backward):
    random = np.random.default_rng(5)
    x = random.standard_normal((ROWS, FEATURES))
    w = random.standard_normal((OUTPUTS, FEATURES)) * 0.1
    b = random.standard_normal(OUTPUTS)
    dy = random.standard_normal((ROWS, OUTPUTS)) * 0.01

    def folder(name):
        return os.path.join(work, recipe.name + "_" + name)

    def flags(mode):
        return [f"parallel_mode = #te_quant.parallel_mode<{mode}>",
                "sequence_parallel = true", f"tp_size = {RANKS} : i64"]

    def halves(array, axis):
        return np.split(array, RANKS, axis)

    module = layers.program(recipe, x.shape, w.shape, "f32")
    [[y, dw, dx, db]] = run(te_run, folder("one"), module, [[x, w, dy, b]])

    # Columns: the input is gathered, its gradient scattered.
    inputs = list(zip(halves(x, 0), halves(w, 0), halves(dy, 1), halves(b, 0)))
    module = layers.program(recipe, inputs[0][0].shape, inputs[0][1].shape,
                            "f32", more=flags("column"),
                            dy=inputs[0][2].shape, output_rows=ROWS,
                            gathers_input=True)
    for rank, results in enumerate(run(te_run, folder("column"), module,
                                       inputs)):
        what = (recipe.name, "column", rank)
        for name, have, want, bound in zip(
                ("y", "dw", "dx", "db"), results,
                (halves(y, 1), halves(dw, 0), halves(dx, 0), halves(db, 0)),
                (forward, backward, backward, EXACT)):
            compare(what + (name,), have, want[rank], bound)

    # Rows: the output is scattered, its gradient gathered.
    module = layers.program(recipe, x.shape, w.shape, "f32", has_bias=False)
    [[y, dw, dx]] = run(te_run, folder("one_plain"), module, [[x, w, dy]])
    inputs = list(zip(halves(x, 1), halves(w, 1), halves(dy, 0)))
    module = layers.program(recipe, inputs[0][0].shape, inputs[0][1].shape,
                            "f32", more=flags("row"), dy=inputs[0][2].shape,
                            output_rows=ROWS // RANKS, has_bias=False)
    for rank, results in enumerate(run(te_run, folder("row"), module, inputs)):
        what = (recipe.name, "row", rank)
        for name, have, want, bound in zip(
                ("y", "dw", "dx"), results,
                (halves(y, 0), halves(dw, 1), halves(dx, 1)),
                (forward, backward, backward)):
            compare(what + (name,), have, want[rank], bound)


def main():
    te_run, work = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    for recipe in layers.RECIPES:
        if recipe.name in ("none", "mxfp8"):
            check(te_run, work, recipe, EXACT, EXACT)
        elif recipe.name in ("current", "block"):
            check(te_run, work, recipe, 2 * recipe.forward,
                  2 * recipe.backward)


if __name__ == "__main__":
    main()
