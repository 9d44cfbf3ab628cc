"""Each rank asks which frames are its own, and reads them. Rank 0 prints the sum.

    mpirun -n 8 zazenctl run -- python3 own_frames.py /sim1
    mpirun -n 8 zazenctl run -- python3 own_frames.py /sim1 0 999 10

The numbers are the first frame, the last and the stride.
"""
import sys

from mpi4py import MPI

import zazen


def main():
    if len(sys.argv) not in (2, 5):
        sys.exit("usage: own_frames.py DIRECTORY [BEGIN END STRIDE]")
    world = MPI.COMM_WORLD
    own = zazen.own_frames(sys.argv[1], world, *map(int, sys.argv[2:]))
    size = 0
    for path in own:
        with open(path, "rb") as frame:
            size += len(frame.read())
    count, size = world.reduce(len(own)), world.reduce(size)
    if world.rank == 0:
        print(f"{count} frames, {size} bytes")


if __name__ == "__main__":
    main()
