"""DIRECTORY OUT: closes standard error and opens OUT/data-RANK instead. It writes into that file
while it reads list[rank::size], so that Zazen has a reason for a message."""
import os
import sys

from mpi4py import MPI

rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
directory, out = sys.argv[1:]
os.close(2)
file = os.open(f"{out}/data-{rank}", os.O_RDWR | os.O_CREAT, 0o644)
assert file == 2
names = sorted(name for name in os.listdir(directory) if name[0] == "f" and name[1:].isdigit()
               and name != "f01")
os.write(file, b"x")
for name in names[rank::size]:
    with open(f"{directory}/{name}", "rb") as frame:
        frame.read()
    os.write(file, b"x")
open(f"{out}/rank-{rank}", "w").close()
