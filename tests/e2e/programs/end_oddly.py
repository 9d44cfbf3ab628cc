"""Every rank lists and reads; then the job ends in the way that argv[3] names.

abort, crash, exit: the last rank leaves so, without MPI_Finalize. rank_0_first, rank_0_last:
rank 0 ends seconds before or after the others, with no communication at the end.
"""
import os
import sys
import time
import zlib

from mpi4py import MPI

directory, out_directory, how = sys.argv[1:4]
world = MPI.COMM_WORLD
with open(f"{out_directory}/rank-{world.rank}", "w") as out:
    for name in os.listdir(directory):
        print("list", name, file=out)
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            print("read", len(data), zlib.adler32(data), name, file=out)
if how in ("rank_0_first", "rank_0_last"):
    if (world.rank == 0) == (how == "rank_0_last"):
        time.sleep(3)
    sys.exit()
world.Barrier()
if world.rank == world.size - 1:
    if how == "abort":
        world.Abort(9)
    if how == "crash":
        os.abort()
    if how == "exit":
        os._exit(0)
if how != "exit":
    world.Barrier()
