"""Takes every size-th name with mpi4py. Ranks other than 0 go on writing for a second after
MPI_Finalize."""
import os
import sys
import time
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
out = open(f"{out_directory}/rank-{rank}", "w")
for name in sorted(os.listdir(directory))[rank::size]:
    path = os.path.join(directory, name)
    if os.path.isfile(path):
        with open(path, "rb") as file:
            data = file.read()
        print("read", len(data), zlib.adler32(data), name, file=out)
MPI.Finalize()
for i in range(1, 21):
    if rank != 0:
        time.sleep(0.05)
    print("late", i, file=out)
    print("rank", rank, "late", i)
