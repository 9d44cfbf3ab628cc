"""Lists, reads every second file, waits for OUT/go, lists again, and reads the rest.

It writes OUT/ready-N when it waits, and the second listing as "again" lines. Something may
happen to the daemons or to the directory while it waits.
"""
import os
import sys
import time
import zlib

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
rank = MPI.COMM_WORLD.rank


def read(name):
    path = os.path.join(directory, name)
    if os.path.isfile(path):
        with open(path, "rb") as file:
            data = file.read()
        print("read", len(data), zlib.adler32(data), name, file=out)


with open(f"{out_directory}/rank-{rank}", "w") as out:
    names = sorted(os.listdir(directory))
    for name in names:
        print("list", name, file=out)
    for name in names[::2]:
        read(name)
    open(f"{out_directory}/ready-{rank}", "w").close()
    give_up = time.monotonic() + 50
    while not os.path.exists(f"{out_directory}/go"):
        if time.monotonic() > give_up:
            MPI.COMM_WORLD.Abort(3)
        time.sleep(0.01)
    for name in os.listdir(directory):
        print("again", name, file=out)
    for name in names[1::2]:
        read(name)
