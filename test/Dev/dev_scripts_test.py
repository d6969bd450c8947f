"""The scripts of tools/dev find what they look for: each is given a bad tree.

    dev_scripts_test.py --te-opt PATH

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import subprocess
import sys
import tempfile
import unittest

DEV = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                   "tools", "dev")
sys.path.insert(0, DEV)

import check_docs  # noqa: E402
import run_tests  # noqa: E402

TE_OPT = "te-opt"


class TreeTest(unittest.TestCase):
    """A test with a tree of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, name, *arguments):
        done = subprocess.run(
            [sys.executable, os.path.join(DEV, name), *arguments, self.root],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


class Layering(TreeTest):

    def check(self, path, line):
        self.write(path, line + "\n")
        return self.run_script("check_layering.py")

    def assert_forbidden(self, path, line, name):
        status, output = self.check(path, line)
        self.assertEqual(status, 1, output)
        self.assertIn(f"{path}:1: {name} includes ", output)
        self.assertIn("0 passed, 1 failed", output)

    def assert_allowed(self, path, line):
        status, output = self.check(path, line)
        self.assertEqual((status, output), (0, "1 passed, 0 failed\n"))

    def test_numerics_is_plain(self):
        self.assert_forbidden("lib/Numerics/A.cpp",
                              '#include "llvm/ADT/APInt.h"', "Numerics")

    def test_numerics_may_use_the_standard_library(self):
        self.assert_allowed("lib/Numerics/A.cpp", "#include <cmath>")

    def test_ir_may_not_use_transforms(self):
        self.assert_forbidden(
            "lib/Dialect/Quant/IR/A.cpp",
            '#include "te/Dialect/Quant/Transforms/Passes.h"', "IR")

    def test_ir_may_not_use_gpu(self):
        self.assert_forbidden("include/te/Dialect/Quant/IR/A.td",
                              'include "mlir/Dialect/GPU/IR/GPUBase.td"', "IR")

    def test_longest_prefix_decides(self):
        self.assert_allowed("lib/Dialect/Quant/IR/A.cpp",
                            '#include "mlir/Transforms/InliningUtils.h"')

    def test_transforms_may_not_use_kernels(self):
        self.assert_forbidden("lib/Dialect/Quant/Transforms/A.cpp",
                              '#include "te/Kernels/KernelEmitter.h"',
                              "Transforms")

    def test_conversions_are_apart(self):
        self.write("lib/Conversion/CastsToNVVM/B.h", "")
        status, output = self.check("lib/Conversion/QuantToGPU/A.cpp",
                                    '#include "../CastsToNVVM/B.h"')
        self.assertEqual(status, 1)
        self.assertIn("belongs to Conversion/CastsToNVVM", output)

    def test_a_header_beside_is_allowed(self):
        self.write("lib/Target/B.h", "")
        status, output = self.check("lib/Target/A.cpp", '#include "B.h"')
        self.assertEqual((status, output), (0, "2 passed, 0 failed\n"))

    def test_emulator_may_not_use_mlir(self):
        self.assert_forbidden("lib/Runtime/Emulator/A.cpp",
                              '#include "mlir/IR/Builders.h"',
                              "Runtime/Emulator")

    def test_c_headers_are_c(self):
        self.assert_forbidden("include/te-c/Quant.h",
                              '#include "te/InitAll.h"', "C API headers")

    def test_a_file_without_a_row(self):
        status, output = self.check("lib/Misc/A.cpp", "")
        self.assertEqual(status, 1)
        self.assertIn("is in no library of the table", output)

    def test_a_missing_header(self):
        status, output = self.check("lib/Target/A.cpp", '#include "Gone.h"')
        self.assertEqual(status, 1)
        self.assertIn("is found in no folder", output)


class Tree(TreeTest):

    LICENCE = ("// Part of te-mlir, under the Apache License v2.0 with LLVM "
               "Exceptions.\n// SPDX-License-Identifier: Apache-2.0 WITH "
               "LLVM-exception\n")

    def check(self, path, text):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(path, text)
        return self.run_script("check_tree.py")

    def assert_found(self, path, text, problem):
        status, output = self.check(path, text)
        self.assertEqual(status, 1, output)
        self.assertIn(problem, output)

    def test_good(self):
        status, output = self.check("lib/A.cpp", self.LICENCE)
        self.assertEqual((status, output), (0, "1 passed, 0 failed\n"))

    def test_licence(self):
        self.assert_found("lib/A.cpp", "int x;\n", "lacks the licence")

    def test_guard(self):
        self.assert_found("include/te/A/B.h", self.LICENCE,
                          "expected the include guard TE_A_B_H")

    def test_machine(self):
        self.assert_found("README.md", "see /ro" + "ot/x\n",
                          "README.md:1: mentions a folder of some machine")

    def test_later(self):
        self.assert_found("docs/a.md", "FIX" + "ME\n", "leaves work for later")

    def test_blanks(self):
        self.assert_found("docs/a.md", "a \n", "ends with a blank")
        self.assert_found("docs/a.md", "a", "lacks the line break")


class Rules(TreeTest):
    """check_rules.py"""

    def check(self, row, code="", test=""):
        self.write("docs/rules.md", row + "\n")
        self.write("lib/A.cpp", code)
        self.write("test/a.mlir", test)
        return self.run_script("check_rules.py")

    def test_good(self):
        self.assertEqual(
            self.check("| B-7 | a | |", "// B-7: b\n", "// B-7\n"),
            (0, "1 passed, 0 failed\n"))

    def test_nothing_names_it(self):
        status, output = self.check("| B-7 | a | |", "// B-" + "70\n", "// B-7\n")
        self.assertEqual(status, 1, output)
        self.assertIn("B-7: no code has a label of it", output)
        self.assertNotIn("no test has", output)

    def test_prose_is_no_label(self):
        status, output = self.check("| B-7 | a | |", "// As B-7 has it.\n",
                                    "// This is B-7.\n")
        self.assertEqual(status, 1, output)
        self.assertIn("B-7: no code has a label of it", output)
        self.assertIn("B-7: no test has a label of it", output)

    def test_names_are_labels(self):
        for name in ("func.func @b7_hit() {", "TEST_F(A, B7_Hit) {",
                     "def test_b7_hit():"):
            self.assertEqual(self.check("| B-7 | a | |", "// H-3, B-7\n", name),
                             (0, "1 passed, 0 failed\n"))

    def test_a_reason(self):
        self.assertEqual(self.check("| B-7 | a | both: of this |"),
                         (0, "1 passed, 0 failed\n"))

    def test_not_a_reason(self):
        status, output = self.check("| B-7 | a | perhaps |")
        self.assertEqual(status, 1, output)
        self.assertIn("but got 'perhaps'", output)

    def test_not_in_the_index(self):
        status, output = self.check("", "// V-3\n")
        self.assertEqual(status, 1, output)
        self.assertIn("lib/A.cpp: V-3 is not in docs/rules.md", output)


class Docs(TreeTest):

    def check(self, path, text):
        self.write(path, text)
        return self.run_script("check_docs.py", "--te-opt", TE_OPT)

    def test_attribute_and_type(self):
        status, output = self.check(
            "README.md", "```mlir\n#te_quant.mxfp8<f8E4M3FN,\n  usage = "
            "rowwise>   // x\n!te_quant.tensor<8x16xbf16>\n```\n")
        self.assertEqual((status, output), (0, "2 passed, 0 failed\n"))

    def test_bad_attribute(self):
        status, output = self.check(
            "README.md", "a\n```mlir\n#te_quant.mxfp8<f8E4M3FN, no = 1>\n```\n")
        self.assertEqual(status, 1, output)
        self.assertIn("README.md:2: <stdin>:1:", output)

    def test_bad_module_in_description(self):
        status, output = self.check(
            "include/te/A.td", "  [{\n    ```mlir\n    func.func @f() {\n"
            "      oops\n    }\n    ```\n  }];\n")
        self.assertEqual(status, 1, output)
        self.assertIn("include/te/A.td:2: <stdin>:2:", output)

    def test_fragments_are_left_alone(self):
        blocks = list(check_docs.blocks_of(
            "```text\n```mlir\n```\n```mlir\na\n```\n"))
        self.assertEqual(blocks, [(4, "a\n")])

    def test_broken_link(self):
        status, output = self.check("docs/a.md", "[b](b.md) [c](a.md#x)\n")
        self.assertEqual(status, 1, output)
        self.assertIn("docs/a.md: the link to b.md leads nowhere", output)


class Sums(unittest.TestCase):

    LIT = ("Total Discovered Tests: 9\n  Excluded           : 2 (22.22%)\n"
           "  Unsupported        : 1 (11.11%)\n"
           "  Passed             : 3 (33.33%)\n"
           "  Expectedly Failed  : 1 (11.11%)\n"
           "  Unexpectedly Passed: 1 (11.11%)\n"
           "  Failed             : 1 (11.11%)\n")

    def test_lit(self):
        self.assertEqual(run_tests.counts_of_test("fail", "", self.LIT),
                         (4, 2, 1))

    def test_sum_line(self):
        output = "1 passed, 9 failed\ngolden: 5 passed, 0 failed, 2 skipped\n"
        self.assertEqual(run_tests.counts_of_test("run", "", output), (5, 0, 2))

    def test_a_suite_that_died(self):
        self.assertEqual(
            run_tests.counts_of_test("fail", "", "5 passed, 0 failed\n"),
            (5, 1, 0))

    def test_one_test(self):
        self.assertEqual(run_tests.counts_of_test("run", "", "x"), (1, 0, 0))
        self.assertEqual(run_tests.counts_of_test("fail", "", ""), (0, 1, 0))

    def test_not_run(self):
        self.assertEqual(
            run_tests.counts_of_test("notrun", "SKIP_RETURN_CODE=77", ""),
            (0, 0, 1))
        self.assertEqual(
            run_tests.counts_of_test("notrun", "Unable to find executable", ""),
            (0, 1, 0))


if __name__ == "__main__":
    TE_OPT = sys.argv[sys.argv.index("--te-opt") + 1]
    suite = unittest.defaultTestLoader.loadTestsFromModule(
        sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
