// What numpy itself saves is read, and what it reads back is the same.
// REQUIRES: numpy

// RUN: rm -rf %t && mkdir %t
// RUN: split-file %s %t
// RUN: te-opt %t/copy.mlir --gpu-to-llvm -o %t/lowered.mlir
// RUN: %python %t/run.py %t/lowered.mlir %t

//--- copy.mlir
func.func @copy(%a: memref<?x3xf16>, %b: memref<?xi64>, %c: memref<?xi1>,
                %d: memref<ui8>)
    -> (memref<?x3xf16>, memref<?xi64>, memref<?xi1>, memref<ui8>) attributes {
  te_quant.args = [
    {position = 0 : i64, name = "data", type = tensor<?x3xf16>},
    {position = 1 : i64, name = "data", type = tensor<?xi64>},
    {position = 2 : i64, name = "data", type = tensor<?xi1>},
    {position = 3 : i64, name = "data", type = tensor<ui8>}],
  te_quant.results = [
    {position = 0 : i64, name = "data", type = tensor<?x3xf16>},
    {position = 1 : i64, name = "data", type = tensor<?xi64>},
    {position = 2 : i64, name = "data", type = tensor<?xi1>},
    {position = 3 : i64, name = "data", type = tensor<ui8>}]} {
  return %a, %b, %c, %d
    : memref<?x3xf16>, memref<?xi64>, memref<?xi1>, memref<ui8>
}

//--- run.py
import json
import subprocess
import sys

import numpy as np

module, folder = sys.argv[1:]
arrays = [np.arange(6, dtype=np.float16).reshape(2, 3) / 3,
          np.array([-1, 2**62], dtype=np.int64),
          np.array([True, False, True]),
          np.array(200, dtype=np.uint8)]
command = ["te-run", module, "--entry=copy", "--target=emulate",
           "--output-dir", folder + "/out"]
for index, array in enumerate(arrays):
    np.save(f"{folder}/{index}.npy", array)
    command += ["--input", f"{folder}/{index}.npy"]
subprocess.run(command, check=True)
with open(folder + "/out/manifest.json") as file:
    rows = json.load(file)
assert [row["dtype"] for row in rows] == ["f16", "i64", "i1", "ui8"], rows
for row, array in zip(rows, arrays):
    read = np.fromfile(folder + "/out/" + row["file"], array.dtype)
    np.testing.assert_array_equal(read.reshape(row["shape"]), array)
