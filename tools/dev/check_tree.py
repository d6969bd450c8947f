#!/usr/bin/env python3
"""Checks what holds for every file of the repository.

    check_tree.py [ROOT]

* C++, TableGen, Python and shell files carry the licence lines;
* public headers and .td files have the include guard that their path gives;
* no line mentions a folder of some machine or leaves work for later;
* text has no tabs in C++ and Python, no trailing blanks, and ends with a line
  break.

The last line is 'N passed, N failed', counted in files.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import subprocess
import sys

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
WITH_LICENCE = (".h", ".c", ".cpp", ".td", ".py", ".sh")
WITHOUT_TABS = (".h", ".c", ".cpp", ".td", ".py", ".mlir", ".cmake", ".txt")
# Files that came with their data and are kept as they are.
FOREIGN = ("test/golden/", "test/tables/")
# Spelled so that this file does not match itself.
FORBIDDEN = (
    (re.compile(r"(?<![\w.])/(?:work|root|home)" + r"/\w"),
     "mentions a folder of some machine"),
    (re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"),
     "leaves work for later"),
)


def files_of(root):
    """The files that git knows, relative to the root."""
    listed = subprocess.run(
        # The files may belong to another user, as in a container.
        ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], stdout=subprocess.PIPE, check=True).stdout
    return sorted(name for name in os.fsdecode(listed).split("\0")
                  if name and os.path.isfile(os.path.join(root, name)))


def problems_of(root, path):
    """What is wrong with one file, as lines."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [] if path.endswith(".bin") else [f"{path}: is no UTF-8"]
    problems = []
    lines = text.split("\n")
    if text and lines[-1]:
        problems.append(f"{path}: lacks the line break at its end")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and not path.endswith(".bin"):
            problems.append(f"{path}:{number}: ends with a blank")
        if "\t" in line and path.endswith(WITHOUT_TABS):
            problems.append(f"{path}:{number}: contains a tab")
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                problems.append(f"{path}:{number}: {what}")
    head = "\n".join(lines[:25])
    is_script = text.startswith("#!")
    if (path.endswith(WITH_LICENCE) or is_script) and LICENCE not in head:
        problems.append(f"{path}: lacks the licence lines")
    if path.startswith("include/te/") and path.endswith((".h", ".td")):
        guard = re.sub(r"\W", "_", path[len("include/"):]).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            problems.append(f"{path}: expected the include guard {guard}")
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..")
    passed = failed = 0
    for path in files_of(root):
        if path.startswith(FOREIGN):
            continue
        problems = problems_of(root, path)
        for problem in problems:
            print(problem)
        passed += not problems
        failed += bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
