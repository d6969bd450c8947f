#!/usr/bin/env python3
"""Checks the include lines of the tree against the table of who may use whom.

    check_layering.py [ROOT]

Prints one line for each forbidden include, and for each source file that no row
of the table covers. The last line is 'N passed, N failed', counted in files.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import sys

# What a library may use of LLVM and its kin, by the prefix of an include. A
# name with a minus forbids; the longest matching prefix decides.
IR = ("mlir/", "llvm/", "-mlir/Conversion/", "-mlir/Dialect/GPU/",
      "-mlir/Transforms/", "mlir/Transforms/InliningUtils.h")
# A stream argument has the type !llvm.ptr.
TENSORS = ("mlir/", "llvm/", "-mlir/Conversion/", "-mlir/Dialect/GPU/",
           "-mlir/Dialect/LLVMIR/", "mlir/Dialect/LLVMIR/LLVMTypes.h")
ALL_OF_MLIR = ("mlir/", "llvm/")
ALL_OF_OURS = ("Numerics", "IR", "Target", "Transforms", "Kernels", "Conversion",
               "Pipelines", "Register", "Runtime", "CAPI")

# library, its folders, the libraries of ours it may use, what it may use of
# others. The C++ standard library and the system are open to all. A file
# belongs to the row with the longest matching folder.
TABLE = (
    ("Numerics", ("include/te/Numerics", "lib/Numerics"), (), ()),
    ("IR", ("include/te/Dialect/Quant/IR", "lib/Dialect/Quant/IR"),
     ("Numerics",), IR),
    ("Target", ("include/te/Target", "lib/Target"), (), ("llvm/",)),
    ("Transforms",
     ("include/te/Dialect/Quant/Transforms", "lib/Dialect/Quant/Transforms"),
     ("IR", "Numerics", "Target"), TENSORS),
    ("Kernels", ("include/te/Kernels", "lib/Kernels"),
     ("IR", "Numerics", "Runtime", "Target"), ALL_OF_MLIR),
    ("Conversion", ("include/te/Conversion",), ("IR", "Kernels", "Target"),
     ALL_OF_MLIR),
    ("Conversion/*", ("lib/Conversion/*",),
     ("Conversion", "Conversion/Common", "IR", "Kernels", "Numerics", "Runtime",
      "Target"),
     ALL_OF_MLIR),
    ("Pipelines", ("include/te/Pipelines", "lib/Pipelines"),
     ("Conversion", "IR", "Target", "Transforms"), ALL_OF_MLIR),
    ("Register", ("include/te/InitAll.h", "lib/Register"), ALL_OF_OURS,
     ALL_OF_MLIR),
    ("C API headers", ("include/te-c",), (), ("mlir-c/",)),
    ("CAPI", ("lib/CAPI",),
     ("C API headers", "IR", "Pipelines", "Register", "Runtime"),
     ("mlir-c/", *ALL_OF_MLIR)),
    ("Runtime", ("include/te/Runtime",), (), ()),
    ("Runtime/CUDA", ("lib/Runtime/CUDA",), ("Runtime",), ()),
    ("Runtime/Emulator", ("lib/Runtime/Emulator",), ("Numerics", "Runtime"),
     ("llvm/", "boost/context/")),
    ("tools", ("tools",), ALL_OF_OURS, ALL_OF_MLIR),
    ("Python", ("python",), ("C API headers",), ("mlir-c/",)),
)

ROOTS = ("include", "lib", "tools", "python")
SUFFIXES = (".h", ".c", ".cpp", ".td", ".inc")
INCLUDE = re.compile(r'^\s*#?\s*include\s*(["<])([^">]+)[">]')
# Includes that belong to somebody; all others are the system's.
OF_OTHERS = re.compile(r"^(mlir|llvm|mlir-c|llvm-c|clang|boost|gtest)/|^cuda|"
                       r"^nv[A-Z]|^Python\.h")


def library_of(path):
    """The table's row and the library's name for a file or a folder."""
    best = None
    for row in TABLE:
        for folder in row[1]:
            parts = path.split("/")
            pattern = folder.split("/")
            if len(parts) < len(pattern):
                continue
            if all(want in ("*", got) for want, got in zip(pattern, parts)):
                if best is None or len(pattern) > best[0]:
                    name = row[0]
                    if "*" in pattern:
                        name = name.replace("*", parts[pattern.index("*")])
                    best = (len(pattern), row, name)
    return (best[1], best[2]) if best else (None, None)


def allows(prefixes, include):
    """Whether the longest of the prefixes that match lets the include pass."""
    best = max((prefix.lstrip("-") for prefix in prefixes
                if include.startswith(prefix.lstrip("-"))),
               key=len, default=None)
    return best is not None and "-" + best not in prefixes


def problem_of(root, path, row, name, quote, include):
    """Why a file of library `name` may not have this include, or None."""
    if include.startswith(("te/", "te-c/")):
        target = library_of("include/" + include)[1]
        if target is None:
            return "is in no library of the table"
        if target == name or target in row[2]:
            return None
        return f"belongs to {target}"
    beside = os.path.normpath(
        os.path.join(os.path.dirname(path), include))
    if quote == '"' and os.path.exists(os.path.join(root, beside)):
        target = library_of(beside)[1]
        return None if target == name else f"belongs to {target}"
    if OF_OTHERS.match(include):
        return None if allows(row[3], include) else "is not open to it"
    return None if quote == "<" else "is found in no folder"


def check_file(root, path):
    """The problems of one file, as lines."""
    row, name = library_of(path)
    if row is None:
        return [f"{path}: is in no library of the table in {__file__}"]
    problems = []
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            why = problem_of(root, path, row, name, *match.groups())
            if why:
                problems.append(
                    f"{path}:{number}: {name} includes '{match[2]}', "
                    f"which {why}")
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..")
    passed = failed = 0
    for top in ROOTS:
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                if not name.endswith(SUFFIXES):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                problems = check_file(root, path)
                for problem in problems:
                    print(problem)
                passed += not problems
                failed += bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
