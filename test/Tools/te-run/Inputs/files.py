"""Writes and prints the files of te-run's tests, without numpy.

    files.py pack FILE FORMAT VALUE...        values in the format of `struct`,
                                              with --repeat N last N times
    files.py npy FILE HEADER FORMAT VALUE...  behind a .npy header, given as
                                              VERSION:DESCR:ORDER:SHAPE
    files.py show FILE FORMAT                 print the values

Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import struct
import sys


def pack(code, values):
    convert = float if code in "efd" else int
    return b"".join(struct.pack("<" + code, convert(value)) for value in values)


def npy_header(text):
    version, descr, order, shape = text.split(":")
    header = repr({"descr": descr, "fortran_order": order == "F",
                   "shape": tuple(int(size) for size in shape.split("x") if size)})
    length = "<H" if version == "1" else "<I"
    # The data is aligned to 64 bytes, as numpy writes it.
    start = 8 + struct.calcsize(length)
    header += " " * (-(start + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY" + bytes([int(version), 0]) +
            struct.pack(length, len(header)) + header.encode())


def main(command, path, *rest):
    if command == "show":
        with open(path, "rb") as file:
            print(*(value for value, in struct.iter_unpack("<" + rest[0],
                                                           file.read())))
        return
    contents = b"" if command == "pack" else npy_header(rest[0])
    code, *values = rest if command == "pack" else rest[1:]
    if "--repeat" in values:
        *values, _, count = values
        values *= int(count)
    with open(path, "wb") as file:
        file.write(contents + pack(code, values))


main(*sys.argv[1:])
