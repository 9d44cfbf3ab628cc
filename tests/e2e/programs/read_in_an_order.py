"""DIRECTORY OUT ORDER: lists and reads frames in this order: all, every (list[rank::size]), scattered
(rank 0 hands out its list), handed_out (the same, and the others list nothing), shuffled, reference
(frame 0 first, then all), by_name (list[rank::size] of names that it knows). After some opens it
waits for OUT/go."""
import os
import random
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
directory, out, order = sys.argv[1:]
lists = {"by_name": False, "handed_out": rank == 0}.get(order, True)
names = sorted(name for name in (os.listdir(directory) if lists else ()) if name[0] == "f"
               and name[1:].isdigit() and name != "f01")
if order == "by_name":
    names = [f"f{i}" for i in range(rank, 400, size)]
if order == "every":
    names = names[rank::size]
if order in ("scattered", "handed_out"):
    names = comm.scatter([names[r::size] for r in range(size)] if rank == 0 else None)
if order == "shuffled":
    random.Random(rank).shuffle(names)
if order == "reference":
    names.insert(0, "f0")
with open(f"{out}/rank-{rank}", "w"):
    for count, name in enumerate(names):
        with open(f"{directory}/{name}", "rb") as file:
            file.read()
        if count == 20:
            open(f"{out}/ready-{rank}", "w").close()
            while not os.path.exists(f"{out}/go"):
                time.sleep(0.01)
