"""Compares te_quant.gemm with products in f64 (docs/numerics.md).

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A program quantizes its operands and multiplies them in one function, which
returns both. The codes and scales that it returns are decoded here and
multiplied in f64. The result may differ by what f32 sums of that many products
can lose, and by the rounding to its dtype.

Usage: gemm.py TE_OPT TE_RUN WORK_FOLDER [generic | mma | library]
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

PRECISION = {"f32": 24, "bf16": 8, "f16": 11}
MINIMUM = {"f32": 2.0 ** -149, "bf16": 2.0 ** -133, "f16": 2.0 ** -24}
# Mantissa bits, exponent bias, largest finite value.
FP8 = {"f8E4M3FN": (3, 7, 448.0), "f8E5M2": (2, 15, 57344.0)}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def ceil_div(value, divisor):
    return -(-value // divisor)


def decode_fp8(codes, fp8):
    mantissa_bits, bias, largest = FP8[fp8]
    codes = codes.astype(np.int64)
    exponent = codes >> mantissa_bits & (1 << 7 - mantissa_bits) - 1
    mantissa = codes & (1 << mantissa_bits) - 1
    unit = 2.0 ** (np.maximum(exponent, 1) - bias - mantissa_bits)
    value = (mantissa + ((exponent != 0) << mantissa_bits)) * unit
    value[value > largest] = np.nan
    return np.where(codes & 0x80, -value, value)


def decode(data, dtype):
    """The f64 values of raw bytes."""
    if dtype == "f32":
        return data.view(np.float32).astype(np.float64)
    if dtype == "f16":
        return data.view(np.float16).astype(np.float64)
    if dtype == "bf16":
        bits = data.view(np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    if dtype == "f8E8M0FNU":
        return 2.0 ** (data.astype(np.float64) - 127)
    if dtype == "e2m1":
        codes = np.stack([data & 15, data >> 4], axis=-1).reshape(
            data.shape[:-1] + (-1,))
        return np.where(codes & 8, -1, 1) * E2M1[codes & 7]
    return decode_fp8(data, dtype)


def encode(values, dtype):
    """Values as `dtype`: the bytes, and the values that they stand for."""
    values = np.asarray(values, np.float32)
    if dtype == "f16":
        bits = values.astype(np.float16)
    elif dtype == "bf16":
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    else:
        bits = values
    return bits, decode(np.ascontiguousarray(bits).view(np.uint8), dtype)


def unswizzle(scales, lines, blocks):
    i, j = np.indices((lines, blocks))
    tiles = ceil_div(blocks, 4)
    return scales.reshape(-1)[((i // 128) * tiles + j // 4) * 512 + i % 32 * 16
                              + i % 128 // 32 * 4 + j % 4]


class Plain:
    """An operand that is not quantized."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.name = dtype

    def type(self, dims):
        return f"tensor<{dims}{self.dtype}>"

    def lines(self, inners, rows, cols, rowwise):
        """The operand as lines along the contracted dimension."""
        values = decode(inners["data"][0], self.dtype).reshape(rows, cols)
        return values if rowwise else values.T


class Quantized:
    """An operand that is quantized from `dtype`."""

    def __init__(self, attribute, dtype="bf16"):
        self.attribute, self.dtype = attribute, dtype
        self.name = f"{attribute} of {dtype}"

    def type(self, dims):
        return (f"!te_quant.tensor<{dims}{self.dtype}, "
                f"#te_quant.{self.attribute}>")

    def lines(self, inners, rows, cols, rowwise):
        family, _, options = self.attribute.partition("<")
        count, depth = (rows, cols) if rowwise else (cols, rows)
        prefix = "rowwise_" if rowwise else "columnwise_"
        fp8 = "f8E5M2" if "f8E5M2" in options.split(",")[0] else "f8E4M3FN"
        if family.startswith("hybrid"):
            child = options.split("#te_quant.")[1 if rowwise else 2]
            child = child.rsplit(",", 1)[0] if rowwise else child[:-1]
            # Names that have the prefix kept it.
            inner = {}
            for name, value in inners.items():
                if name.startswith(prefix):
                    short = name[len(prefix):]
                    inner[short] = inner[name] = value
            return Quantized(child, self.dtype).lines(inner, rows, cols,
                                                      rowwise)
        if family.startswith("identity"):
            values = decode(inners["hp_data"][0], self.dtype)
            return values.reshape(rows, cols) if rowwise else (
                values.reshape(rows, cols).T)
        if "delayed" in family or "current" in family:
            scale = decode(inners["scale_inv"][0], "f32")
            if rowwise or "data" in inners and "transpose" not in inners:
                codes = inners["data"][0].reshape(rows, cols)
                codes = codes if rowwise else codes.T
            else:
                codes = inners["transpose"][0].reshape(cols, rows)
            return decode_fp8(codes, fp8) * scale
        data, scales = inners[prefix + "data"], inners[prefix + "scale_inv"]
        is_gemm = "optimize_for_gemm = true" in options
        if family == "mxfp8":
            codes = data[0].reshape(rows, cols)
            codes = codes if rowwise else codes.T
            blocks = ceil_div(depth, 32)
            found = scales[0].reshape(scales[1])
            if is_gemm:
                found = unswizzle(found, count, blocks)
            else:
                found = (found if rowwise else found.T)[:count, :blocks]
            scale = np.repeat(decode(found, "f8E8M0FNU"), 32, 1)[:, :depth]
            return decode_fp8(codes, fp8) * scale
        if family == "nvfp4":
            codes = decode(data[0].reshape(count, -1), "e2m1")[:, :depth]
            blocks = ceil_div(depth, 16)
            found = scales[0].reshape(scales[1])
            found = (unswizzle(found, count, blocks) if is_gemm
                     else found[:count, :blocks])
            scale = np.repeat(decode_fp8(found, "f8E4M3FN"), 16, 1)[:, :depth]
            amax = decode(inners["amax_" + prefix[:-1]][0], "f32")
            e4m3_max = 256 if "e4m3_max = 256" in options else 448
            return codes * scale * amax[:, None] / (6 * e4m3_max)
        is_2d = "block_scaling_dim = 1" not in options
        codes = data[0].reshape(count, depth)
        found = decode(scales[0], "f32").reshape(scales[1])
        if is_2d:
            scale = np.repeat(np.repeat(found, 128, 0), 128, 1)
        else:
            scale = np.repeat(found.T, 128, 1)
        return decode_fp8(codes, fp8) * scale[:count, :depth]


def gelu(x):
    return x * (0.5 + 0.5 * np.tanh(x * (0.79788456 + 0.03567741 * x * x)))


class Runner:
    def __init__(self, te_opt, te_run, work):
        self.te_opt, self.te_run, self.work = te_opt, te_run, work
        self.failures, self.count = 0, 0

    def execute(self, module, inputs, chip, lowering, stderr=None):
        """The results by number and name, and the names of the kernels."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        path = lambda name: os.path.join(self.work, name)
        with open(path("module.mlir"), "w") as file:
            file.write(module)
        entry = path("module.mlir")
        if lowering == "library":
            entry = path("lowered.mlir")
            with open(entry, "w") as file:
                subprocess.run(
                    [self.te_opt, path("module.mlir"),
                     f"--te-quant-gpu-pipeline=chip={chip} format=llvm "
                     "gemm=library"], check=True, stdout=file)
        command = [self.te_run, entry, "--entry=main", "--target=emulate",
                   f"--chip={chip}", f"--emulator-stats={path('stats.json')}",
                   "--output-dir", path("out")]
        for index, (bits, shape) in enumerate(inputs):
            bits.tofile(path(f"{index}.bin"))
            command += ["--input", path(f"{index}.bin")
                        + (":" + "x".join(map(str, shape)) if shape else "")]
        subprocess.run(command, check=True, stderr=stderr)
        with open(path("out/manifest.json")) as file:
            rows = json.load(file)
        with open(path("stats.json")) as file:
            kernels = list(json.load(file)["kernels"])
        results = {}
        for row in rows:
            results.setdefault(row["result"], {})[row["name"]] = (
                np.fromfile(path("out/" + row["file"]), np.uint8), row["shape"])
        return results, kernels

    def check_refused(self, layout, a, b, a_shape, b_shape, message):
        """Dynamic dims that no verifier sees."""
        dims = "x".join("?" * len(a_shape)) + "x"
        types = [operand.type(dims) for operand in (a, b)]
        result = f"tensor<{dims}bf16>"
        plain = [f"tensor<{dims}{operand.dtype}>" for operand in (a, b)]
        make = "\n".join(
            f"  %{name} = te_quant.quantize %{name}_in : {kind} -> {type}"
            if isinstance(operand, Quantized)
            else f"  %{name} = tensor.cast %{name}_in : {kind} to {type}"
            for name, operand, kind, type in zip("ab", (a, b), plain, types))
        module = f"""
func.func @main(%a_in: {plain[0]}, %b_in: {plain[1]}) -> {result} {{
{make}
  %y = te_quant.gemm {layout} %a, %b : {types[0]}, {types[1]} -> {result}
  return %y : {result}
}}
"""
        inputs = [(encode(np.ones(shape), operand.dtype)[0], shape)
                  for operand, shape in ((a, a_shape), (b, b_shape))]
        error = None
        try:
            self.execute(module, inputs, "sm_90a", "generated",
                         stderr=subprocess.PIPE)
        except subprocess.CalledProcessError as failure:
            error = failure.stderr.decode()
        self.check(f"{layout} {a.name} {a_shape} by {b.name} {b_shape}: "
                   f"expected '{message}', but got {error!r}",
                   error is not None and message in error)

    def check(self, what, is_right):
        self.count += 1
        if not is_right:
            self.failures += 1
            print("FAILED", what)

    def run(self, layout, a, b, m, n, k, dtype="bf16", bias=None,
            is_gelu=False, is_accumulated=False, is_dynamic=False, chip="sm_80",
            lowering="generated", leading=None, kernel=None, seed=0):
        """Multiplies: `m` rows and `n` columns of the result."""
        if isinstance(a, str):
            a = Plain(a) if a in PRECISION else Quantized(a)
        if isinstance(b, str):
            b = Plain(b) if b in PRECISION else Quantized(b)
        epilogue = "f32" if isinstance(a, Plain) else "bf16"
        epilogue = epilogue if dtype == "f32" else dtype
        what = (f"{layout} {m}x{n}x{k} {dtype} A {a.name} B {b.name} {chip} "
                f"{lowering}" + " bias" * bool(bias) + " gelu" * is_gelu
                + " accumulate" * is_accumulated + " dynamic" * is_dynamic)
        random = np.random.default_rng(len(what) + seed)
        a_rowwise, b_rowwise = layout[0] == "T", layout[1] == "N"
        a_shape = [n, k] if a_rowwise else [k, n]
        b_shape = [m, k] if b_rowwise else [k, m]
        if leading:
            b_shape = leading + [k]
        y_shape = (b_shape[:-1] if b_rowwise else [m]) + [n]
        arguments, body, inputs = [], [], []

        def dims(shape):
            return "".join("?x" if is_dynamic else f"{dim}x" for dim in shape)

        def argument(name, shape, dtype, values):
            bits, _ = encode(values, dtype)
            inputs.append((bits, shape if is_dynamic else None))
            arguments.append(f"%{name}: tensor<{dims(shape)}{dtype}>")

        types = []
        for name, operand, shape in (("a", a, a_shape), ("b", b, b_shape)):
            rows = int(np.prod(shape[:-1]))
            values = random.standard_normal((rows, shape[-1]))
            values *= 2.0 ** random.integers(-3, 4, (rows, 1))
            values *= 2.0 ** random.integers(-3, 4, (1, shape[-1]))
            argument(f"{name}_in", shape, operand.dtype, values)
            types.append(operand.type(dims(shape)))
            if isinstance(operand, Plain):
                body.append(f"  %{name} = tensor.cast %{name}_in : {types[-1]} "
                            f"to {types[-1]}")
                continue
            plain = f"tensor<{dims(shape)}{operand.dtype}>"
            if "delayed" in operand.attribute:
                arguments.append(f"%{name}_scale: tensor<1xf32>")
                inputs.append((np.array([2.5], np.float32), None))
                body.append(f"  %{name}, %{name}_amax = te_quant.quantize "
                            f"%{name}_in scale(%{name}_scale) : {plain}, "
                            f"tensor<1xf32> -> {types[-1]}, tensor<1xf32>")
                continue
            body.append(f"  %{name} = te_quant.quantize %{name}_in : {plain} "
                        f"-> {types[-1]}")
        result = f"tensor<{dims(y_shape)}{dtype}>"
        groups, operands, results = "", list(types), [result]
        extra = {}
        if bias:
            extra["bias"] = random.standard_normal(n)
            argument("bias", [n], epilogue, extra["bias"])
            groups += " bias(%bias)"
            operands.append(f"tensor<{dims([n])}{epilogue}>")
        if is_accumulated:
            extra["old"] = random.standard_normal((m, n))
            argument("old", y_shape, dtype, extra["old"])
            groups += " accumulate(%old)"
            operands.append(result)
        if is_gelu:
            results.append(f"tensor<{dims(y_shape)}{epilogue}>")
        names = ["%y", "%pre"][:len(results)]
        body.append(f"  {', '.join(names)} = te_quant.gemm {layout} %a, %b"
                    f"{groups}{' {gelu}' * is_gelu} : {', '.join(operands)} -> "
                    f"{', '.join(results)}")
        returned = ["%a", "%b"] + names
        returned_types = types + results
        module = (f"func.func @main({', '.join(arguments)}) -> "
                  f"({', '.join(returned_types)}) {{\n" + "\n".join(body)
                  + f"\n  return {', '.join(returned)} : "
                  f"{', '.join(returned_types)}\n}}\n")
        found, kernels = self.execute(module, inputs, chip, lowering)
        a_rows = int(np.prod(a_shape[:-1]))
        b_rows = int(np.prod(b_shape[:-1]))
        a_lines = a.lines(found[0], a_rows, a_shape[-1], a_rowwise)
        b_lines = b.lines(found[1], b_rows, b_shape[-1], b_rowwise)
        value = b_lines @ a_lines.T
        size = np.abs(b_lines) @ np.abs(a_lines.T)
        # One rounding for each product and scale, and those of the epilogue.
        error = (k + 16) * 2.0 ** -24 * size
        is_row_scaled = "row_scaled" in a.name + b.name
        if is_accumulated and not is_row_scaled:
            value = value + encode(extra["old"], dtype)[1]
        if bias:
            value = value + encode(extra["bias"], epilogue)[1]
        error = error + 4 * 2.0 ** -24 * np.abs(value)
        if k == 0:
            value, error = value * 0, 0
        precision = PRECISION[dtype]

        def compare(what, index, value, error, dtype):
            precision = PRECISION[dtype]
            error = (error + 1.01 * 2.0 ** -precision * (np.abs(value) + error)
                     + MINIMUM[dtype])
            actual = decode(found[index]["data"][0], dtype).reshape(m, n)
            worst = np.max(np.abs(actual - value) / error, initial=0)
            self.check(f"{what}: off by {worst} of what is allowed",
                       bool(np.all(np.abs(actual - value) <= error)))

        if is_gelu:
            compare(what + " argument", 3, value, error, epilogue)
            value = gelu(value)
            error = 1.2 * error + 8 * 2.0 ** -24 * np.abs(value)
        if is_accumulated and is_row_scaled and k:  # P-3
            error = error + 1.01 * 2.0 ** -precision * np.abs(value)
            value = value + encode(extra["old"], dtype)[1]
        if k == 0 and is_accumulated:
            value = encode(extra["old"], dtype)[1]
        compare(what, 2, value, error, dtype)
        if kernel:
            self.check(f"{what}: expected {kernel}, ran {kernels}",
                       any(kernel in name for name in kernels))


E4M3, E5M2 = "f8E4M3FN", "f8E5M2"
LAYOUTS = ("TN", "NN", "NT")


def check_plain(runner, **options):
    for layout in LAYOUTS:
        runner.run(layout, "f32", "f32", 70, 33, 45, "f32", bias=True,
                   **options)
        runner.run(layout, "bf16", "bf16", 33, 70, 136, "bf16", bias=True,
                   is_gelu=True, **options)
        runner.run(layout, "f16", "f16", 65, 129, 72, "f16",
                   is_accumulated=True, **options)
    runner.run("TN", "f32", "bf16", 5, 1, 7, "f16", leading=[5], **options)
    runner.run("NN", "f16", "f32", 24, 9, 3, "bf16", leading=[2, 3, 4],
               is_dynamic=True, **options)
    runner.run("NT", "bf16", "bf16", 3, 5, 35, "f32", bias=True, is_gelu=True,
               is_accumulated=True, is_dynamic=True, **options)


def check_fp8(runner, **options):
    current = f"float8_current_scaling<{E4M3}"
    for layout in LAYOUTS:
        runner.run(layout, current + ">", f"float8_current_scaling<{E5M2}>",
                   80, 96, 144, "bf16", bias=True, **options)
        runner.run(layout, current + ", non_tn_gemm = true>",
                   current + ", non_tn_gemm = true>", 80, 48, 144, "f32",
                   bias=True, is_accumulated=True, **options)
        runner.run(layout, f"float8_delayed_scaling<{E4M3}>",
                   current + ">", 32, 96, 80, "f16", is_gelu=True, **options)
        mx = f"mxfp8<{E4M3}"
        runner.run(layout, mx + ">", f"mxfp8<{E5M2}>", 64, 160, 96, "bf16",
                   bias=True, is_gelu=True, **options)
        runner.run(layout, mx + ", with_2d_quantization = true, "
                   "optimize_for_gemm = true>",
                   mx + ", optimize_for_gemm = true>", 160, 96, 192, "f32",
                   **options)
        one = f"float8_block_scaling<{E4M3}, block_scaling_dim = 1>"
        two = f"float8_block_scaling<{E4M3}>"
        runner.run(layout, two, one, 24, 136, 304, "bf16", bias=True, **options)
        runner.run(layout, one, two, 33 if layout == "TN" else 40, 72, 144,
                   "f32", is_accumulated=True, **options)
        runner.run(layout, one, one, 136, 8, 112, "f16", **options)
    # Dynamic dims; B of more dims.
    row = mx + ", usage = rowwise>"
    runner.run("TN", row, row, 24, 40, 96, "bf16", leading=[2, 3, 4],
               is_dynamic=True, bias=True, **options)


def check_others(runner, **options):
    for layout in LAYOUTS:
        runner.run(layout, "nvfp4", "nvfp4<with_2d_quantization = true>", 48,
                   80, 112, "bf16", bias=True, is_gelu=True, **options)
        runner.run(layout, "nvfp4<use_4over6 = true, e4m3_max = 256, "
                   "optimize_for_gemm = true>",
                   "nvfp4<optimize_for_gemm = true>", 144, 80, 64, "f32",
                   is_accumulated=True, **options)
        runner.run(layout, "nvfp4<row_scaled = true>",
                   "nvfp4<row_scaled = true>", 32, 64, 96, "bf16", bias=True,
                   is_accumulated=True, **options)
        runner.run(layout, "nvfp4", "nvfp4<row_scaled = true>", 64, 32, 96,
                   "f32", bias=True, **options)
        hybrid = (f"hybrid<rowwise = #te_quant.mxfp8<{E4M3}>, "
                  "columnwise = #te_quant.nvfp4>")
        rowwise = layout == "TN"
        columnwise = layout == "NT"
        b = hybrid if rowwise or columnwise else (
            f"hybrid<rowwise = #te_quant.nvfp4, columnwise = "
            f"#te_quant.mxfp8<{E4M3}>>")
        runner.run(layout, hybrid, b, 32, 64, 96, "bf16", **options)
        runner.run(layout, "identity", "f32", 9, 10, 11, "f32", **options)
    rht = "nvfp4<with_rht = true, with_post_rht_amax = true>"
    runner.run("NT", rht, rht, 48, 80, 64, "bf16", **options)
    runner.run("NT", "nvfp4", "nvfp4", 48, 80, 64, "bf16", is_dynamic=True,
               **options)


def check_b14_empty(runner, **options):
    """Zero without bias, or what was there."""
    for layout in LAYOUTS:
        for is_accumulated in (False, True):
            runner.run(layout, "f32", "f32", 5, 6, 0, "f32", bias=True,
                       is_accumulated=is_accumulated, is_dynamic=True,
                       **options)
            runner.run(layout, f"mxfp8<{E4M3}>", f"mxfp8<{E4M3}>", 32, 64, 0,
                       "bf16", bias=True, is_gelu=True,
                       is_accumulated=is_accumulated, **options)
        runner.run(layout, "bf16", "bf16", 0, 6, 5, "bf16", is_dynamic=True,
                   **options)
        runner.run(layout, f"float8_current_scaling<{E4M3}>",
                   f"float8_current_scaling<{E4M3}>", 16, 0, 16, "bf16",
                   bias=True, **options)


def check_refusals(runner):
    """B-13"""
    f32 = Plain("f32")
    runner.check_refused("TN", f32, f32, (4, 5), (3, 6), "expected the "
                         "contracted extents of A and B to be equal")
    current = Quantized(f"float8_current_scaling<{E4M3}>")
    runner.check_refused("NT", current, current, (24, 64), (24, 32),
                         "expected the contracted extent of A to be a multiple "
                         "of 16 for 'float8_current_scaling'")
    block = Quantized(f"float8_block_scaling<{E4M3}, block_scaling_dim = 1>")
    runner.check_refused("TN", block, block, (64, 32), (60, 32),
                         "expected the free extent of B to be a multiple of 8 "
                         "for 'float8_block_scaling'")


def main():
    runner = Runner(*sys.argv[1:4])
    only = sys.argv[4] if len(sys.argv) > 4 else None
    if only in (None, "generic"):
        # sm_80 has no tensor cores for FP8; operands of two dtypes have none.
        check_plain(runner, chip="sm_80")
        check_fp8(runner, chip="sm_80")
        check_others(runner, chip="sm_80")
        check_b14_empty(runner, chip="sm_80")
    if only in (None, "mma"):
        check_fp8(runner, chip="sm_90a")
        check_b14_empty(runner, chip="sm_90a")
        for layout in LAYOUTS:
            for fp8 in (f"float8_current_scaling<{E4M3}>", f"mxfp8<{E5M2}>",
                        f"float8_block_scaling<{E4M3}, block_scaling_dim = 1>"):
                runner.run(layout, fp8, fp8, 96, 160, 320, chip="sm_90a",
                           kernel="_mma_v")
        # Lines that no vector divides.
        runner.run("TN", "bf16", "bf16", 20, 30, 33, chip="sm_90a",
                   kernel="_mma_v1")
        runner.run("TN", "bf16", "bf16", 200, 130, 256, chip="sm_90a",
                   kernel="_mma_v16")
        runner.run("TN", "f32", "f32", 70, 80, 2000, "f32", chip="sm_90a")
        check_refusals(runner)
    if only in (None, "library"):
        check_plain(runner, chip="sm_90a", lowering="library")
        check_fp8(runner, chip="sm_90a", lowering="library")
        check_others(runner, chip="sm_90a", lowering="library")
        check_b14_empty(runner, chip="sm_90a", lowering="library")
    held = runner.count - runner.failures
    print(f"{held} of {runner.count} comparisons hold")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
