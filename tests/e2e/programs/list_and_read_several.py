"""An ordinary program that goes through several directories: OUT, then the directories."""
import os
import sys
import zlib

from mpi4py import MPI

first, out_directory, *more = sys.argv[1:]
with open(f"{out_directory}/rank-{MPI.COMM_WORLD.rank}", "w") as out:
    for directory in [first, *more]:
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                print("read", len(data), zlib.adler32(data), path, file=out)
