#!/usr/bin/env python3
"""Lists the rules of docs/rules.md that no code or no test names.

    check_rules.py [ROOT]

Prints a line for each rule without a label in include or lib, or without one in
test, unless its row says why, and for each id that the index lacks. A label is a
comment that begins with ids (`// B-7, H-16: why`), the name of a test
(`@b7_hit`, `TEST(Suite, V2_Follows)`, `def check_b14_empty`), or an entry of
`rules` in a table. Prose that mentions an id is none. The last line is 'N passed,
N failed', counted in rules.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import sys

INDEX = "docs/rules.md"
ID = re.compile(r"\b([BHPRV]-(?:0|[1-9][0-9]?))[abc]?\b")
ANY = r"(?:[BHPRVQSU]-\d+[abc]?|[DL]-[A-Z0-9]+|\d\.\d(?:\.\d)?)"
COMMENT = re.compile(rf"(?:^|\s)(?://+|#)\s*({ANY}(?:, {ANY})*)")
NAME = re.compile(r"(?:@|\bTEST\w*\(\w+,\s*|\bdef (?:test|check)_)"
                  r"([bhprvBHPRV])([1-9][0-9]?)[abc]?_")
RULES = re.compile(r'"rules": \[([^]]*)\]')
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


def find_labels(text, name):
    """The ids of a file's labels."""
    if name.endswith(".json"):
        return ID.findall(" ".join(RULES.findall(text)))
    labels = ID.findall(" ".join(COMMENT.findall(text)))
    return labels + [f"{kind.upper()}-{number}"
                     for kind, number in NAME.findall(text)]


def find_ids(root, where):
    """id -> one file that has a label of it."""
    folders, suffixes = where
    found = {}
    for folder in folders:
        for path, _, files in os.walk(os.path.join(root, folder)):
            for name in sorted(files):
                if not name.endswith(suffixes):
                    continue
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    for rule in find_labels(file.read(), name):
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
                print(f"{rule}: no {kind} has a label of it")
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
