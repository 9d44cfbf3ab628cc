"""Each rank lists, tells the others its names, and reads all frames of all ranks, and those that
are named on the command line."""
import os
import sys
import zlib

from mpi4py import MPI

directory, out_directory, *more = sys.argv[1:]
world = MPI.COMM_WORLD
with open(f"{out_directory}/rank-{world.rank}", "w") as out:
    mine = [name for name in os.listdir(directory) if name[1:].isdigit()]
    for name in mine:
        print("list", name, file=out)
    for name in sorted(set(sum(world.allgather(mine), more))):
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        print("read", len(data), zlib.adler32(data), name, file=out)
