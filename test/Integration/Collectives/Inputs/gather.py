"""Compares collectives of two or three ranks with numpy.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: gather.py TE_RUN WORK_FOLDER
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

# Name, quantizer, local shape, and for each inner tensor the axis that grows
# with the rows, or None where all ranks hold the same.
FAMILIES = [
    ("current", "float8_current_scaling<f8E4M3FN, usage = rowwise>", (5, 24),
     {"data": 0, "scale_inv": None}),
    ("mxfp8_row", "mxfp8<f8E4M3FN, usage = rowwise>", (32, 64),
     {"rowwise_data": 0, "rowwise_scale_inv": 0}),
    ("mxfp8_col", "mxfp8<f8E5M2, usage = columnwise>", (32, 64),
     {"columnwise_data": 0, "columnwise_scale_inv": 0}),
    ("nvfp4_row", "nvfp4<usage = rowwise>", (48, 64),
     {"rowwise_data": 0, "rowwise_scale_inv": 0, "amax_rowwise": None}),
    ("nvfp4_col", "nvfp4<usage = columnwise>", (48, 64),
     {"columnwise_data": 1, "columnwise_scale_inv": 1,
      "amax_columnwise": None}),
    ("block_row", "float8_block_scaling<f8E4M3FN, usage = rowwise, "
     "block_scaling_dim = 1>", (128, 256),
     {"rowwise_data": 0, "rowwise_scale_inv": 1}),
    ("block_col", "float8_block_scaling<f8E4M3FN, usage = columnwise, "
     "block_scaling_dim = 1>", (128, 256),
     {"columnwise_data": 1, "columnwise_scale_inv": 0}),
    ("block_col_3d", "float8_block_scaling<f8E4M3FN, usage = columnwise, "
     "block_scaling_dim = 1>", (2, 64, 128),
     {"columnwise_data": 1, "columnwise_scale_inv": 0}),
]
DTYPES = {"f8E4M3FN": np.uint8, "f8E5M2": np.uint8, "f8E8M0FNU": np.uint8,
          "i8": np.uint8, "f32": np.float32}


def valid_shape(name, shape):
    """The part of an inner tensor of a logical shape that holds values."""
    rows, cols = int(np.prod(shape[:-1])), shape[-1]
    rotated = (cols, *shape[:-1])
    return {"data": shape, "scale_inv": (1,), "amax_rowwise": (1,),
            "amax_columnwise": (1,), "rowwise_data": shape,
            "mxfp8_row.rowwise_scale_inv": (rows, cols // 32),
            "mxfp8_col.columnwise_data": shape,
            "mxfp8_col.columnwise_scale_inv": (rows // 32, cols),
            "nvfp4_row.rowwise_data": (*shape[:-1], cols // 2),
            "nvfp4_row.rowwise_scale_inv": (rows, cols // 16),
            "nvfp4_col.columnwise_data": (cols, rows // 2),
            "nvfp4_col.columnwise_scale_inv": (cols, rows // 16),
            "block_row.rowwise_scale_inv": (cols // 128, rows),
            "block_col.columnwise_data": rotated,
            "block_col.columnwise_scale_inv": (rows // 128, cols)}[name]


def valid(family, inner, tensor, shape):
    family = family.removesuffix("_3d")
    for key in (f"{family}.{inner}", inner):
        try:
            return tensor[tuple(slice(n) for n in valid_shape(key, shape))]
        except KeyError:
            continue
    raise KeyError(inner)


def run(te_run, folder, program, inputs, ranks):
    """The results of each rank as lists of (name, array)."""
    os.makedirs(folder)
    path = os.path.join(folder, "program.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    command = [te_run, path, "--entry=main", "--target=emulate",
               f"--ranks={ranks}", "--output-dir", os.path.join(folder, "out")]
    for index, array in enumerate(inputs):
        name = os.path.join(folder, f"{index}.npy")
        np.save(name, array)
        command += ["--input", name]
    subprocess.run(command, check=True)
    results = []
    for rank in range(ranks):
        out = os.path.join(folder, "out", f"rank{rank}")
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        results.append([
            (entry["name"],
             np.fromfile(os.path.join(out, entry["file"]),
                         DTYPES[entry["dtype"]]).reshape(entry["shape"]))
            for entry in manifest])
    return results


def gather_program(quantizer, shape, ranks, is_dynamic):
    def spell(leading):
        dims = ["?" if is_dynamic else str(leading)] + [
            str(n) for n in shape[1:]]
        return "x".join(dims)
    local = f"!te_quant.tensor<{spell(shape[0])}xf32, #q>"
    whole = f"!te_quant.tensor<{spell(shape[0] * ranks)}xf32, #q>"
    tensor = f"tensor<{spell(shape[0])}xf32>"
    group = f'{{group = "tp", size = {ranks} : i64}}'
    amax, types = "", tensor
    if "current" in quantizer or "nvfp4" in quantizer:
        amax, types = " amax(%m)", f"{tensor}, tensor<1xf32>"
        reduced = (
            f"  %a = te_quant.amax #q %x : {tensor} -> tensor<1xf32>\n"
            f"  %m = te_quant.all_reduce max %a {group} : tensor<1xf32>\n")
    else:
        reduced = ""
    return (f"#q = #te_quant.{quantizer}\n"
            f"func.func @main(%x: {tensor}) -> ({local}, {whole}) {{\n"
            + reduced +
            f"  %q = te_quant.quantize %x{amax} : {types} -> {local}\n"
            f"  %g = te_quant.all_gather %q {group} : {local} -> {whole}\n"
            f"  return %q, %g : {local}, {whole}\n}}\n")


def check_gather(te_run, work, family, quantizer, shape, axes, ranks,
                 is_dynamic):
    case = f"{family}_{ranks}_{'dynamic' if is_dynamic else 'static'}"
    rng = np.random.default_rng(len(case))
    inputs = [(rng.standard_normal(shape) * (rank + 1)).astype(np.float32)
              for rank in range(ranks)]
    results = run(te_run, os.path.join(work, case),
                  gather_program(quantizer, shape, ranks, is_dynamic), inputs,
                  ranks)
    whole = (shape[0] * ranks, *shape[1:])
    for position, (name, axis) in enumerate(axes.items()):
        locals_ = [valid(family, name, result[position][1], shape)
                   for result in results]
        want = locals_[0] if axis is None else np.concatenate(locals_, axis)
        for rank, result in enumerate(results):
            inner, array = result[len(axes) + position]
            assert inner == name, (case, inner, name)
            got = valid(family, name, array, whole)
            assert np.array_equal(got, want), (case, rank, name)
        if axis is None:
            assert all(np.array_equal(one, want) for one in locals_), case


def check_reductions(te_run, work):
    ranks = 3
    rng = np.random.default_rng(7)
    inputs = [rng.integers(-8, 8, (6, 4)).astype(np.float32)
              for _ in range(ranks)]
    group = f'{{group = "tp", size = {ranks} : i64}}'
    program = f"""
func.func @main(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {{
  %s = te_quant.all_reduce sum %x {group} : tensor<?x4xf32>
  %m = te_quant.all_reduce max %x {group} : tensor<?x4xf32>
  %r = te_quant.reduce_scatter %x {group} : tensor<?x4xf32> -> tensor<?x4xf32>
  %g = te_quant.all_gather %r {group} : tensor<?x4xf32> -> tensor<?x4xf32>
  return %s, %m, %r, %g : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}}
"""
    results = run(te_run, os.path.join(work, "reductions"), program, inputs,
                  ranks)
    total = sum(inputs)
    for rank, result in enumerate(results):
        want = [total, np.maximum.reduce(inputs),
                total[2 * rank:2 * rank + 2], total]
        for (_, array), expected in zip(result, want):
            assert np.array_equal(array, expected), rank


def check_remainder(te_run, work):
    """A dynamic dim that the group does not divide is an error, no hang."""
    folder = os.path.join(work, "remainder")
    os.makedirs(folder)
    path = os.path.join(folder, "program.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write("""
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = te_quant.reduce_scatter %x {group = "tp", size = 2 : i64} : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}
""")
    np.save(os.path.join(folder, "x.npy"), np.zeros(3, np.float32))
    source = os.path.join(folder, "x.npy")
    done = subprocess.run(
        [te_run, path, "--entry=main", "--target=emulate", "--ranks=2",
         "--output-dir", os.path.join(folder, "out"), "--input", source,
         "--input", source], stderr=subprocess.PIPE, text=True, check=False,
        timeout=60)
    assert done.returncode == 1, done
    assert "expected dim 0 to be a multiple of 2, the size of group 'tp'" in \
        done.stderr, done.stderr
    assert not os.path.exists(os.path.join(folder, "out"))


def main():
    te_run, work = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    for family, quantizer, shape, axes in FAMILIES:
        for ranks, is_dynamic in ((2, False), (3, True)):
            check_gather(te_run, work, family, quantizer, shape, axes, ranks,
                         is_dynamic)
    check_reductions(te_run, work)
    check_remainder(te_run, work)


if __name__ == "__main__":
    main()
