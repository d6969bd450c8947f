// An unknown chip, and none.
// RUN: te-opt %s --pass-pipeline='builtin.module(gpu.module(te-quant-casts-to-nvvm))' \
// RUN:   --split-input-file --verify-diagnostics

// expected-error @below {{'gpu.module' op expected the option chip or a #nvvm.target attribute}}
gpu.module @no_chip {
}

// -----

// expected-error @below {{'gpu.module' op expected a chip among sm_80, }}
gpu.module @unknown_chip [#nvvm.target<chip = "sm_35">] {
}
