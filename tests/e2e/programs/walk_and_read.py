"""Walks a directory tree, reads every file, and names them relative to the directory."""
import os
import sys
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
with open(f"{out_directory}/rank-{MPI.COMM_WORLD.rank}", "w") as out:
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                data = file.read()
            relative = os.path.relpath(path, directory)
            print("list", relative, file=out)
            print("read", len(data), zlib.adler32(data), relative, file=out)
