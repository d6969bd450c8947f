"""lit: how the .mlir and .test files below this folder are run.

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import os
import re
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "te-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "Reference", "golden", "tables", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.te_obj_root, "test")

plugin = os.path.join(config.te_lib_dir,
                      "libTEQuantPlugin" + config.module_suffix)
config.substitutions += [
    ("%python", config.python_executable),
    ("%plugin", plugin),
    ("%shlibext", config.shlibext),
    ("%mlir_lib_dir", config.llvm_lib_dir),
    ("%te_lib_dir", config.te_lib_dir),
    ("%te_src_root", config.te_src_root),
]

# All tools are found on PATH, ours first.
llvm_config.with_environment(
    "PATH", [config.te_tools_dir, config.llvm_tools_dir], append_path=True)

# The switch of a whole run in which each te-opt of each test prints what it
# reads and what it makes, and parses that again.
if os.environ.get("TE_OPT_VERIFY_ROUNDTRIP"):
    llvm_config.add_tool_substitutions(
        [ToolSubst("te-opt", extra_args=["--verify-roundtrip"])],
        [config.te_tools_dir])


def add_feature(name, is_present, reason):
    """Adds a feature, or prints why the tests that require it will not run."""
    if is_present:
        config.available_features.add(name)
    else:
        lit_config.note(f"skipped without '{name}': {reason}")


def output_of(*command):
    """What the command prints, or "" where it fails."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True,
                              timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def cuda_chips():
    """The chips of this machine's GPUs, as sm_90, by asking the driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, value = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    chips = []
    for device in range(count.value):
        capability = []
        for attribute in (75, 76):  # compute capability, major and minor
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            capability.append(value.value)
        chips.append("sm_{}{}".format(*capability))
    return chips


path = config.environment["PATH"]
add_feature("ptxas", shutil.which("ptxas", path=path),
            "ptxas is not on PATH")
for chip in re.findall(r"'(sm_\w+)'", output_of("ptxas", "--help")):
    config.available_features.add("ptxas-" + chip)
add_feature("nvcc", shutil.which("nvcc", path=path), "nvcc is not on PATH")
add_feature("numpy", output_of(config.python_executable, "-c",
                               "import numpy; print(numpy.__version__)"),
            f"{config.python_executable} cannot import numpy")
add_feature("plugin", os.path.exists(plugin), f"{plugin} is not built")
add_feature("te-run",
            os.path.exists(os.path.join(config.te_tools_dir, "te-run")),
            "te-run is not built")
gpus = cuda_chips()
add_feature("cuda", gpus, "the CUDA driver reports no GPU")
config.available_features.update("cuda-" + chip for chip in gpus)
