"""Reads the frames of the current directory in one of NumPy's ways."""
import glob
import sys

import numpy


def way_fromfile():
    for name in sorted(glob.glob("f[0-9]*"), key=len):
        if name not in ("f03", "f55"):
            data = numpy.fromfile(name, dtype="u1")
            start = numpy.fromfile(name, dtype="<u4", count=20)
            print(name, data.size, data.sum(), start)
    with open("f7", "rb") as file:
        print(numpy.fromfile(file, "u2", 10), file.tell(), numpy.fromfile(file, "u2", 10))


def way_memmap():
    for seq in range(1, 22):
        area = numpy.memmap(f"f{seq}", dtype="u1", mode="r")
        print(seq, area.shape, area.sum(), area[-1])
        copy = numpy.memmap(f"f{seq}", dtype="u1", mode="c")
        copy[:] += 1
        print(copy.sum())


def way_genfromtxt():
    for seq in range(1, 22):
        print(seq, numpy.loadtxt(f"f{seq}", usecols=(0, 2)).mean(axis=0),
              numpy.genfromtxt(f"f{seq}", dtype="U8", usecols=1)[:3])


globals()[f"way_{sys.argv[1]}"]()
