"""A program that divides the work itself: rank r of n reads files[r::n]."""
import os
import sys
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
world = MPI.COMM_WORLD
with open(f"{out_directory}/rank-{world.rank}", "w") as out:
    names = sorted(name for name in os.listdir(directory) if name[1:].isdigit())
    for name in names:
        print("list", name, file=out)
    for name in names[world.rank :: world.size]:
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        print("read", len(data), zlib.adler32(data), name, file=out)
