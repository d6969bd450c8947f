"""Runs programs with and without fusion of what they quantize; bytes must be equal (P-4).

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Usage: fused_producers.py TE_OPT TE_RUN WORK_FOLDER [FILTER]
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

FAMILIES = {
    "current": "#te_quant.float8_current_scaling<f8E4M3FN>",
    "current_row": "#te_quant.float8_current_scaling<f8E5M2, usage = rowwise, "
                   "force_pow_2_scales = true>",
    "delayed": "#te_quant.float8_delayed_scaling<f8E4M3FN>",
    "block1d": "#te_quant.float8_block_scaling<f8E4M3FN, block_scaling_dim = 1>",
    "block2d": "#te_quant.float8_block_scaling<f8E5M2>",
    "mxfp8": "#te_quant.mxfp8<f8E4M3FN>",
    "mxfp8_2d": "#te_quant.mxfp8<f8E5M2, with_2d_quantization = true, "
                "optimize_for_gemm = true>",
    "nvfp4": "#te_quant.nvfp4<>",
    "nvfp4_2d": "#te_quant.nvfp4<with_2d_quantization = true>",
    "nvfp4_rht": "#te_quant.nvfp4<with_rht = true, with_post_rht_amax = true>",
    "nvfp4_rows": "#te_quant.nvfp4<row_scaled = true>",
    "nvfp4_4over6": "#te_quant.nvfp4<use_4over6 = true, "
                    "with_2d_quantization = true>",
    "nvfp4_sr": "#te_quant.nvfp4<stochastic_rounding = true>",
    # Not a quantizer: the sum over rows.
    "column_sum": None,
}
# These also sum the columns of what they quantize.
WITH_SUMS = ("delayed", "mxfp8", "mxfp8_2d")
BF16_ONLY = ("nvfp4_rht", "nvfp4_rows")


def maps(rank, kind):
    dims = [f"d{i}" for i in range(rank)]
    results = {"all": dims, "cols": dims[-1:], "rows": dims[:-1],
               "none": []}[kind]
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


class Producer:
    """Inputs as (dims, element type), and the body on %a, %b, ... that makes %v."""

    def __init__(self, inputs, body):
        self.inputs, self.body = inputs, body


def producers(dtype):
    def narrow(value):
        return (f"%v = arith.truncf {value} : f32 to {dtype}" if dtype != "f32"
                else f"%v = arith.addf {value}, %zero : f32")

    silu = f"""
      %n = arith.negf %a : {dtype}
      %x = math.exp %n : {dtype}
      %d = arith.addf %x, %one : {dtype}
      %v = arith.divf %a, %d : {dtype}"""
    gelu = f"""
      %w = arith.addf %a, %b : f32
      %q = arith.mulf %w, %half32 : f32
      %e = math.erf %w : f32
      %t = math.tanh %q : f32
      %p = arith.mulf %e, %t : f32
      %s = arith.addf %p, %w : f32
      {narrow("%s")}"""
    return {
        "bias": Producer([("all", dtype), ("cols", dtype)],
                         f"%v = arith.addf %a, %b : {dtype}"),
        "residual_relu": Producer(
            [("all", dtype), ("all", dtype)],
            f"%s = arith.addf %a, %b : {dtype}\n"
            f"%v = arith.maximumf %s, %null : {dtype}"),
        "silu": Producer([("all", dtype)], silu),
        # Wider elements than the quantized ones, and a bias.
        "gelu_f32": Producer([("all", "f32"), ("cols", "f32")], gelu),
        # Four inputs with one broadcast of each kind, two of them integers.
        "scales": Producer(
            [("all", "i8"), ("rows", "f32"), ("none", "f32"), ("cols", "i32")],
            f"""
      %i = arith.sitofp %a : i8 to f32
      %j = arith.sitofp %d : i32 to f32
      %p = arith.mulf %i, %b : f32
      %q = arith.mulf %p, %c : f32
      %s = arith.subf %q, %j : f32
      {narrow("%s")}"""),
    }


def make(shape, dtype, seed, small=False):
    """Bits of random values, special ones among them."""
    random = np.random.default_rng(seed)
    if dtype.startswith("i"):
        low, high = (-128, 128) if dtype == "i8" else (-9, 9)
        return random.integers(low, high, shape).astype(
            np.int8 if dtype == "i8" else np.int32)
    x = random.standard_normal(shape)
    if not small and x.ndim > 1:
        x *= 2.0 ** random.integers(-9, 9, (*shape[:-1], 1))
        for value in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            x.reshape(-1)[random.integers(0, x.size, 1 + x.size // 900)] = value
    with np.errstate(all="ignore"):
        x = x.astype(np.float16 if dtype == "f16" else np.float32)
    if dtype == "bf16":
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    return x


class Test:
    def __init__(self, te_opt, te_run, work):
        self.te_opt, self.te_run, self.work = te_opt, te_run, work
        self.failures = self.count = 0

    def module(self, family, producer, shape, dtype, is_dynamic, offset,
               with_sums):
        rank = len(shape)
        tensor = "x".join(["?" if is_dynamic else str(d) for d in shape])
        dims = {"all": list(shape), "cols": [shape[-1]],
                "rows": list(shape[:-1]), "none": []}
        names = [f"%{'abcd'[i]}" for i in range(len(producer.inputs))]
        arguments, body, inputs = [], [], []
        types = []
        for i, (kind, element) in enumerate(producer.inputs):
            sizes = dims[kind]
            text = "".join(f"{'?' if is_dynamic else d}x" for d in sizes)
            types.append(f"tensor<{text}{element}>")
            bits = make(sizes, element, seed=7 * i + len(shape),
                        small=kind != "all")
            if offset and kind == "all" and not is_dynamic:
                # The tensor starts at an odd element of a buffer.
                size = int(np.prod(sizes))
                flat = f"tensor<{size}x{element}>"
                buffer = f"tensor<{size + offset}x{element}>"
                groups = list(range(rank))
                arguments.append(f"%buffer{i}: {buffer}")
                body.append(f"""
  %flat{i} = tensor.extract_slice %buffer{i}[{offset}] [{size}] [1]
    : {buffer} to {flat}
  %in{i} = tensor.expand_shape %flat{i} [{groups}] output_shape {list(sizes)}
    : {flat} into {types[-1]}""")
                bits = np.concatenate([np.zeros(offset, bits.dtype),
                                       bits.reshape(-1)])
            else:
                arguments.append(f"%in{i}: {types[-1]}")
            inputs.append((bits, sizes if is_dynamic and sizes else None))
        output = f"tensor<{tensor}x{dtype}>"
        empty_dims = ""
        if is_dynamic:
            for i in range(rank):
                body.append(f"""
  %i{i} = arith.constant {i} : index
  %n{i} = tensor.dim %in0, %i{i} : {types[0]}""")
            empty_dims = ", ".join(f"%n{i}" for i in range(rank))
        all_maps = ", ".join([maps(rank, kind) for kind, _ in producer.inputs]
                             + [maps(rank, "all")])
        block = ", ".join(f"{name}: {element}" for name, (_, element)
                          in zip(names, producer.inputs))
        body.append(f"""
  %zero = arith.constant -0.0 : f32
  %half32 = arith.constant 0.7978845 : f32
  %one = arith.constant 1.0 : {dtype}
  %null = arith.constant 0.0 : {dtype}
  %empty = tensor.empty({empty_dims}) : {output}
  %y = linalg.generic {{indexing_maps = [{all_maps}],
      iterator_types = [{', '.join(['"parallel"'] * rank)}]}}
      ins({', '.join(f'%in{i}' for i in range(len(names)))} : {', '.join(types)})
      outs(%empty : {output}) {{
    ^bb0({block}, %out: {dtype}):
      {producer.body}
      linalg.yield %v : {dtype}
  }} -> {output}""")
        quantizer = FAMILIES[family]
        result, results = f"!te_quant.tensor<{tensor}x{dtype}, {quantizer}>", 1
        if quantizer is None:
            result = f"tensor<{'?' if is_dynamic else shape[-1]}x{dtype}>"
            body.append(f"%q = te_quant.column_sum %y : {output} -> {result}")
        elif family == "delayed":
            arguments.append("%scale: tensor<1xf32>")
            inputs.append((np.array([3.0], np.float32), None))
            body.append(f"%q, %amax = te_quant.quantize %y scale(%scale) : "
                        f"{output}, tensor<1xf32> -> {result}, tensor<1xf32>")
            results = 2
        elif family == "nvfp4_sr":
            arguments.append("%state: tensor<2xi64>")
            inputs.append((np.array([7, 4096], np.int64), None))
            body.append(f"%q = te_quant.quantize %y rng(%state) : {output}, "
                        f"tensor<2xi64> -> {result}")
        else:
            body.append(f"%q = te_quant.quantize %y : {output} -> {result}")
        values = ", ".join(["%q", "%amax"][:results])
        kinds = ", ".join([result, "tensor<1xf32>"][:results])
        if with_sums:
            sums = f"tensor<{'?' if is_dynamic else shape[-1]}x{dtype}>"
            body.append(f"%sums = te_quant.column_sum %y : {output} -> {sums}")
            values, kinds = f"{values}, %sums", f"{kinds}, {sums}"
        lines = "\n".join(body)
        return (f"func.func @main({', '.join(arguments)}) -> ({kinds}) {{\n"
                f"{lines}\n  return {values} : {kinds}\n}}\n", inputs)

    def run(self, module, inputs, fuse):
        """All results as bytes, and the names of the kernels."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        path = lambda name: os.path.join(self.work, name)
        with open(path("module.mlir"), "w") as file:
            file.write(module)
        pipeline = f"chip=sm_90a format=llvm fuse={str(fuse).lower()}"
        subprocess.run([self.te_opt, path("module.mlir"),
                        f"--te-quant-gpu-pipeline={pipeline}",
                        "-o", path("lowered.mlir")], check=True)
        command = [self.te_run, path("lowered.mlir"), "--entry=main",
                   "--target=emulate", f"--emulator-stats={path('stats.json')}",
                   "--output-dir", path("out")]
        for index, (bits, shape) in enumerate(inputs):
            bits.tofile(path(f"{index}.bin"))
            command += ["--input", path(f"{index}.bin")
                        + (":" + "x".join(map(str, shape)) if shape else "")]
        subprocess.run(command, check=True)
        with open(path("out/manifest.json")) as file:
            rows = json.load(file)
        with open(path("stats.json")) as file:
            kernels = list(json.load(file)["kernels"])
        return [(row["name"], np.fromfile(path("out/" + row["file"]), np.uint8))
                for row in rows], kernels

    def check(self, family, name, shape, dtype, is_dynamic=False, offset=0,
              variant=None, with_sums=False):
        what = " ".join(map(str, (family, name, shape, dtype, is_dynamic,
                                  offset, with_sums)))
        module, inputs = self.module(family, producers(dtype)[name], shape,
                                     dtype, is_dynamic, offset, with_sums)
        fused, kernels = self.run(module, inputs, fuse=True)
        plain, plain_kernels = self.run(module, inputs, fuse=False)
        self.count += 1
        errors = []
        # New memory has one pattern: padding that nothing writes is equal.
        for (inner, ours), (_, theirs) in zip(fused, plain):
            if not np.array_equal(ours, theirs):
                errors.append(f"{inner}: {np.count_nonzero(ours != theirs)} of "
                              f"{ours.size} bytes differ")
        # Kernels that do not read the input have nothing to fuse.
        for kernel in kernels:
            if "_fused_" not in kernel and not kernel.startswith(
                    ("zero_", "column_sum_" + dtype)):
                errors.append(f"{kernel} ran with fusion")
        # The producer, and what sums chunks.
        if len(plain_kernels) != len(kernels) + 1 + with_sums:
            errors.append(f"expected {1 + with_sums} kernels less than "
                          f"{plain_kernels}, but got {kernels}")
        if variant and not any("_fused_" in kernel and kernel.endswith(variant)
                               for kernel in kernels):
            errors.append(f"expected kernels {variant}, but ran {kernels}")
        if errors:
            self.failures += 1
            print("FAILED", what, *errors, sep="\n  ")


def main():
    test = Test(*sys.argv[1:4])
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    for number, family in enumerate(FAMILIES):
        if wanted not in family:
            continue
        for index, name in enumerate(producers("f32")):
            dtype = ("bf16", "f16", "f32")[(number + index) % 3]
            if family in BF16_ONLY:
                dtype = "bf16"
            # Tails of tiles, with vectors; rank 3 and dynamic dims.
            if (index + number) % 2:
                test.check(family, name, (160, 224), dtype, variant="_v16")
            else:
                test.check(family, name, (3, 32, 96), dtype, is_dynamic=True,
                           variant="_v16")
        if family in WITH_SUMS:
            test.check(family, "gelu_f32", (3, 32, 96), "bf16", variant="_v16",
                       is_dynamic=True, with_sums=True)
            test.check(family, "silu", (160, 224), "f32", variant="_v16",
                       with_sums=True)
            test.check(family, "scales", (64, 96), "f16", offset=1,
                       variant="_v1", with_sums=True)
        # The generic kernels.
        test.check(family, "scales", (32, 96), "bf16", offset=1, variant="_v1")
        test.check(family, "gelu_f32", (64, 32), "bf16", offset=1, variant="_v1")
    print(f"{test.count - test.failures} of {test.count} programs are equal")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
