#!/usr/bin/env python3
"""Lists the rules of docs/rules.md that no code or no test names.

    check_rules.py [ROOT]

Prints a line for each rule without a comment in include or lib, or without a
test in test, unless its row says why, and for each id that the index lacks. The
last line is 'N passed, N failed', counted in rules.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import sys

INDEX = "docs/rules.md"
ID = re.compile(r"\b([BHPRV]-(?:0|[1-9][0-9]?))[abc]?\b")
ROW = re.compile(r"^\| ([BHPRV]-\d+) \|.*\|([^|]*)\|\s*$")
CODE = (("include", "lib"), (".h", ".cpp", ".td"))
# A row of a table lists the rules that it exercises.
TESTS = (("test",), (".mlir", ".cpp", ".h", ".py", ".test", ".json"))
# Hazards before the first of linear layers belong to types and usages.
FIRST_HAZARD = 9


def read_index(root):
    """id -> what its row excuses: a set of 'code', 'test', or an error."""
    rules = {}
    with open(os.path.join(root, INDEX)) as file:
        for line in file:
            match = ROW.match(line)
            if not match:
                continue
            reason = match[2].strip()
            excused = {"both": {"code", "test"}, "code": {"code"},
                       "test": {"test"}}.get(reason.split(":")[0])
            if reason and (excused is None or ":" not in reason):
                sys.exit(f"{INDEX}: expected 'code:', 'test:' or 'both:' and "
                         f"a reason in the row of {match[1]}, but got "
                         f"'{reason}'")
            rules[match[1]] = excused or set()
    return rules


def find_ids(root, where):
    """id -> one file that names it."""
    folders, suffixes = where
    found = {}
    for folder in folders:
        for path, _, files in os.walk(os.path.join(root, folder)):
            for name in sorted(files):
                if not name.endswith(suffixes):
                    continue
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    for rule in ID.findall(file.read()):
                        found.setdefault(rule, os.path.relpath(full, root))
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(__file__), "..", "..")
    rules = read_index(root)
    found = {"code": find_ids(root, CODE), "test": find_ids(root, TESTS)}
    bad = set()
    for rule, excused in rules.items():
        for kind in ("code", "test"):
            if rule not in found[kind] and kind not in excused:
                print(f"{rule}: no {kind} names it")
                bad.add(rule)
    for kind in ("code", "test"):
        for rule, path in sorted(found[kind].items()):
            is_linear = rule[0] != "H" or int(rule[2:]) >= FIRST_HAZARD
            if rule not in rules and is_linear:
                print(f"{path}: {rule} is not in {INDEX}")
                bad.add(rule)
    print(f"{len(set(rules) - bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
