"""Every rank lists and reads; then rank 0 ends seconds before the others ("first") or after
them ("last"), without any communication at the end."""
import os
import sys
import time
import zlib

from mpi4py import MPI

directory, out_directory, rank_0 = sys.argv[1:4]
rank = MPI.COMM_WORLD.rank
with open(f"{out_directory}/rank-{rank}", "w") as out:
    for name in os.listdir(directory):
        print("list", name, file=out)
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            print("read", len(data), zlib.adler32(data), name, file=out)
if (rank == 0) != (rank_0 == "first"):
    time.sleep(3)
