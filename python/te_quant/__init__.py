# te_quant - quantized tensors from Python
#
# Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of quantized tensors, lowering to GPU kernels, and running them on this CPU.

The functions call `te-opt` and `te-run`, which are looked for in the folder that
the environment variable TE_QUANT_BIN names, then in the build tree beside this
package, then on the path. Standard library only.

    >>> [inner.name for inner in layout("!te_quant.tensor<32x64xbf16, #te_quant.mxfp8<f8E4M3FN>>")]
    ['rowwise_data', 'rowwise_scale_inv', 'columnwise_data', 'columnwise_scale_inv']
"""
import json
import os
import shutil
import subprocess
import tempfile
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

__all__ = ["Error", "InnerTensor", "Lowered", "Result", "layout", "lower", "run"]


class Error(RuntimeError):
    """What the compiler or the run reported, one or more lines."""


class InnerTensor(NamedTuple):
    """One buffer of a quantized tensor.

    `shape` has integers, and expressions in d0, d1, ... for dynamic dims;
    `dtype` is MLIR's spelling; `nbytes` is None where a dim is dynamic.
    """
    name: str
    shape: Tuple[Union[int, str], ...]
    dtype: str
    nbytes: Optional[int]


class Lowered(NamedTuple):
    """A lowered module: its text and each kernel module's contents by name."""
    module: str
    kernels: Dict[str, bytes]


class Result(NamedTuple):
    """One buffer of a result: `result` is the result's number in the function."""
    result: int
    name: str
    shape: Tuple[int, ...]
    dtype: str
    data: bytes


def _find_tool(name: str) -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.environ.get("TE_QUANT_BIN"), os.path.join(here, "..", "..", "build", "bin")):
        path = os.path.join(folder, name) if folder else ""
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if not path:
        raise Error(f"'{name}' is neither in TE_QUANT_BIN nor built nor on the path")
    return path


def _call(command: Sequence[str], text: Optional[str] = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Error(done.stderr.strip() or f"'{command[0]}' ended with status {done.returncode}")
    return done.stdout


def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory()
    except OSError as error:
        raise Error(f"no temporary folder can be made: {error}") from error


def layout(type_text: str) -> List[InnerTensor]:
    """The inner tensors of a TensorSpec type, in canonical order.

    Args:
        type_text: the type as MLIR spells it, `!te_quant.tensor<...>`.

    Returns:
        One InnerTensor for each buffer.

    Raises:
        Error: the type is malformed or not legal.

    >>> layout("!te_quant.tensor<?x64xbf16, #te_quant.mxfp8<f8E4M3FN, usage = rowwise>>")[1].shape
    ('(d0 ceildiv 128) * 128', 4)
    """
    module = f"func.func @spec(%arg0: {type_text}) {{\n  return\n}}\n"
    out = _call([_find_tool("te-opt"), "-", "--te-quant-print-layout=format=json", "-o", os.devnull], module)
    specs = json.loads(out)
    if not specs:
        raise Error(f"expected a TensorSpec type, but got '{type_text}'")
    return [InnerTensor(inner["name"], tuple(inner["shape"]), inner["dtype"], inner.get("bytes"))
            for inner in specs[0]["inner"]]


def lower(module: str, chip: str = "sm_90a", format: str = "isa") -> Lowered:
    """Lowers a module to LLVM with embedded kernels.

    Args:
        module: the module's text.
        chip: the GPU, e.g. `sm_100a`.
        format: `isa` (PTX), `bin`, `fatbin` or `llvm`; `bin` and `fatbin` need ptxas.

    Returns:
        The lowered text and the kernels.

    Raises:
        Error: with the compiler's located diagnostics.

    >>> "te_quant_kernels.ptx" in lower('''
    ... func.func @f(%x: tensor<32x64xf32>) -> !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN>> {
    ...   %q = te_quant.quantize %x : tensor<32x64xf32> -> !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN>>
    ...   return %q : !te_quant.tensor<32x64xf32, #te_quant.mxfp8<f8E4M3FN>>
    ... }''').kernels
    True
    """
    with _temporary_folder() as folder:
        text = _call([_find_tool("te-opt"), "-",
                      f"--te-quant-gpu-pipeline=chip={chip} format={format} kernels={folder}"], module)
        kernels = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                kernels[name] = file.read()
        return Lowered(text, kernels)


def run(module: str, entry: str, inputs: Sequence[Union[bytes, Tuple[bytes, Sequence[int]]]],
        chip: str = "sm_90a") -> List[Result]:
    """Runs a function's kernels on this CPU, in the emulator.

    Args:
        module: the module's text.
        entry: the function's name.
        inputs: one for each flattened argument, in order: its bytes in C order,
            little-endian; for an argument with dynamic dims (bytes, shape).
        chip: the GPU whose kernels are run.

    Returns:
        The buffers of all results, in order.

    Raises:
        Error: the module does not lower, an input does not fit, or a check of
            the program or of the emulator failed.

    >>> run("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }", "f", [bytes(8)])[0].shape
    (2,)
    """
    with _temporary_folder() as folder:
        path = os.path.join(folder, "module.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module)
        out = os.path.join(folder, "out")
        command = [_find_tool("te-run"), path, f"--entry={entry}", "--target=emulate", f"--chip={chip}",
                   "--output-dir", out]
        for index, item in enumerate(inputs):
            data, shape = item if isinstance(item, tuple) else (item, None)
            name = os.path.join(folder, f"{index}.bin")
            with open(name, "wb") as file:
                file.write(data)
            command += ["--input", name + (":" + "x".join(map(str, shape)) if shape is not None else "")]
        _call(command)
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            rows = json.load(file)
        results = []
        for row in rows:
            with open(os.path.join(out, row["file"]), "rb") as file:
                results.append(Result(row["result"], row["name"], tuple(row["shape"]), row["dtype"], file.read()))
        return results
