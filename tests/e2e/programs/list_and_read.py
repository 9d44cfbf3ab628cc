"""The same ordinary program in Python: mpi4py, os.listdir and open."""
import os
import sys
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
with open(f"{out_directory}/rank-{MPI.COMM_WORLD.rank}", "w") as out:
    for name in os.listdir(directory):
        print("list", name, file=out)
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        assert len(data) == os.stat(path).st_size
        print("read", len(data), zlib.adler32(data), name, file=out)
