"""DIRECTORY OUT HOW: lists before MPI_Init and reads all of it, all of it `shuffled`, `every`
size-th name of it, the same after frame 0 (`reference`), or a second listing (`unused`). `child`:
lists by a child of the rank, after MPI_Init."""
import os
import random
import subprocess
import sys
import zlib

directory, out, how = sys.argv[1:]
names = sorted(os.listdir(directory)) if how != "child" else []

from mpi4py import MPI  # noqa: E402

rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
if how == "unused":
    names = sorted(os.listdir(directory))
if how == "child":
    names = subprocess.run(["ls", directory], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split("\n")[:-1]
with open(f"{out}/rank-{rank}", "w") as file:
    frames = [name for name in names if name[0] == "f" and name[1:].isdigit() and name != "f01"]
    if how == "unused":
        frames = names
    if how in ("every", "reference"):
        frames = (["f0"] if how == "reference" else []) + frames[rank::size]
    if how == "shuffled":
        random.Random(rank).shuffle(frames)
    for name in frames:
        print("list", name, file=file)
        path = os.path.join(directory, name)
        if os.path.isdir(path):
            continue
        with open(path, "rb") as frame:
            data = frame.read()
        print("read", len(data), zlib.adler32(data), name, file=file)
