#!/usr/bin/env python3
"""Runs ctest and adds up what its suites report.

Some tests of ctest are suites of their own: lit, the golden cases, the tables.
They close with lit's summary or with a line 'N passed, N failed, N skipped',
which counts here in place of the one test that ctest sees. The last line is
the sum in that form; the exit status is 0 when nothing failed.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

Counts = collections.namedtuple("Counts", "passed failed skipped")

SUM_LINE = re.compile(
    r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
LIT_LINE = re.compile(r"^\s+([A-Z][A-Za-z ]+?)\s*: (\d+) \(")
LIT_PASSED = ("Passed", "Passed With Retry", "Expectedly Failed")
LIT_SKIPPED = ("Unsupported", "Skipped")
LIT_ELSEWHERE = ("Excluded",)  # filtered out: another suite counts it
REASON = re.compile(r"skipped without .*")


def counts_of_lit(lines):
    """The counts of lit's summary, or None where there is no summary."""
    if not any(line.startswith("Total Discovered Tests:") for line in lines):
        return None
    passed = failed = skipped = 0
    for line in lines:
        match = LIT_LINE.match(line)
        if not match:
            continue
        category, count = match[1], int(match[2])
        if category in LIT_PASSED:
            passed += count
        elif category in LIT_SKIPPED:
            skipped += count
        elif category not in LIT_ELSEWHERE:
            failed += count
    return Counts(passed, failed, skipped)


def counts_of_sum_line(lines):
    """The counts of the last line that is a sum, or None."""
    for line in reversed(lines):
        match = SUM_LINE.match(line.strip())
        if match:
            return Counts(*(int(group or 0) for group in match.groups()))
    return None


def counts_of_test(status, message, output):
    """The counts of one test of ctest: its own sum, else one test.

    `status` and `message` are those of ctest's report: run, fail, disabled or
    notrun, the last with the reason.
    """
    lines = output.splitlines()
    own = counts_of_lit(lines) or counts_of_sum_line(lines)
    if status == "run":
        return own or Counts(1, 0, 0)
    if status == "disabled" or message.startswith("SKIP_"):
        return own or Counts(0, 0, 1)
    # It failed, was not built, or stopped early whatever it counted until then.
    own = own or Counts(0, 1, 0)
    return own if own.failed else own._replace(failed=1)


def run_ctest(arguments):
    """Runs ctest; yields (name, counts, output) of each test."""
    report = os.path.join(os.path.abspath(arguments.build), "test-report.xml")
    if os.path.exists(report):
        os.remove(report)
    command = ["ctest", "--output-on-failure", "-j", str(arguments.jobs),
               "--no-tests=error", "--output-junit", report,
               "--test-output-size-passed", "10000000",
               "--test-output-size-failed", "10000000"]
    if not arguments.long:
        command += ["-LE", "long"]
    if arguments.filter:
        command += ["-R", arguments.filter]
    status = subprocess.run(command, cwd=arguments.build).returncode
    if not os.path.exists(report):
        sys.exit(f"ctest ended with status {status} and left no report")
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        message = "" if skipped is None else skipped.get("message")
        output = case.findtext("system-out") or ""
        yield (case.get("name"),
               counts_of_test(case.get("status"), message, output), output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", help="the build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", help="only tests whose name matches")
    parser.add_argument("--long", action="store_true",
                        help="also the tests labelled long")
    arguments = parser.parse_args()

    suites = collections.OrderedDict()
    reasons = []
    failures = []
    for name, counts, output in run_ctest(arguments):
        # The cases of googletest are many: one row for each of their classes.
        suite = name.split(".")[0]
        sums = suites.get(suite, Counts(0, 0, 0))
        suites[suite] = Counts(*map(sum, zip(sums, counts)))
        if counts.failed:
            failures.append(name)
        reasons += [f"{suite}: {line}" for line in REASON.findall(output)]

    print()
    for suite, counts in suites.items():
        print("{:<32} {:>6} passed {:>4} failed {:>4} skipped".format(
            suite, *counts))
    for reason in sorted(set(reasons)):
        print(reason)
    for name in failures:
        print(f"failed: {name}")
    total = Counts(*map(sum, zip(Counts(0, 0, 0), *suites.values())))
    print("{} passed, {} failed, {} skipped".format(*total), flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
