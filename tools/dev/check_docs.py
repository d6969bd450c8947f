#!/usr/bin/env python3
"""Checks that the IR in the documentation is IR.

    check_docs.py --te-opt PATH [ROOT]

Every block that is fenced as `mlir` in README.md, CONTRIBUTING.md, docs/,
examples/ and the descriptions of the .td files is parsed, verified, printed and
parsed again by te-opt. A block is either a module or a list of attributes and
types, one or several lines each. IR that is meant to be a fragment is fenced as
`text`. Relative links of the Markdown files must lead to a file.

The last line is 'N passed, N failed', counted in blocks and files with links.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import os
import re
import subprocess
import sys
import textwrap

FENCE = re.compile(r"^( *)```(\w*) *$")
ALIAS = re.compile(r"^[#!]\w+ = ")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def documents(root):
    """The Markdown and .td files that are read, relative to the root."""
    for name in ("README.md", "CONTRIBUTING.md"):
        if os.path.exists(os.path.join(root, name)):
            yield name
    for top, suffix in (("docs", ".md"), ("examples", ".md"),
                        ("benchmarks", ".md"), ("include", ".td")):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), root)
                # The reference repeats what the .td files say.
                if path.endswith(suffix) and "docs/reference/" not in path:
                    yield path


def blocks_of(text):
    """(line number, IR) of each block fenced as mlir."""
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if start is None:
            if match and match[2] == "mlir":
                start, lines = number, []
            elif match and match[2]:
                start, lines = number, None  # another language: skip to its end
        elif match and not match[2]:
            if lines is not None:
                yield start, textwrap.dedent("\n".join(lines)) + "\n"
            start = None
        elif lines is not None:
            lines.append(line)


def items_of(block):
    """The attributes and types of a block that lists them."""
    text = re.sub(r"//.*", "", block)
    item, depth = "", 0
    for line in text.splitlines():
        if depth == 0 and item.strip():
            yield item.strip()
            item = ""
        item += line + "\n"
        for char in line.replace("->", ""):
            depth += (char in "<([{") - (char in ">)]}")
    if item.strip():
        yield item.strip()


def module_of(block):
    """The block as a module that te-opt can read."""
    code = re.sub(r"//.*", "", block).strip()
    if code.startswith(("#", "!")) and not ALIAS.match(code):
        names = (f"x{index} = {item}"
                 for index, item in enumerate(items_of(block)))
        return ("func.func private @f() attributes {"
                + ",\n".join(names) + "}\n")
    return block


def error_of(te_opt, block):
    """te-opt's complaint about the block, or None."""
    done = subprocess.run(
        [te_opt, "--verify-roundtrip", "-o", os.devnull], input=module_of(block),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0] if lines else f"te-opt ended with {done.returncode}"


def broken_links(root, path, text):
    """The relative links of a Markdown file that lead nowhere."""
    for target in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        there = os.path.join(root, os.path.dirname(path), target)
        if not os.path.exists(there):
            yield target


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--te-opt", required=True)
    parser.add_argument("root", nargs="?", default=os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    arguments = parser.parse_args()

    passed = failed = 0
    for path in documents(arguments.root):
        with open(os.path.join(arguments.root, path), encoding="utf-8") as file:
            text = file.read()
        for number, block in blocks_of(text):
            error = error_of(arguments.te_opt, block)
            if error:
                print(f"{path}:{number}: {error}")
            passed += error is None
            failed += error is not None
        if path.endswith(".md"):
            broken = list(broken_links(arguments.root, path, text))
            for target in broken:
                print(f"{path}: the link to {target} leads nowhere")
            passed += not broken
            failed += bool(broken)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
