"""A program that lists on rank 0 and scatters the names."""
import os
import sys
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
world = MPI.COMM_WORLD
with open(f"{out_directory}/rank-{world.rank}", "w") as out:
    parts = None
    if world.rank == 0:
        names = sorted(name for name in os.listdir(directory) if name[1:].isdigit())
        for name in names:
            print("list", name, file=out)
        parts = [names[r :: world.size] for r in range(world.size)]
    for name in world.scatter(parts):
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        print("read", len(data), zlib.adler32(data), name, file=out)
