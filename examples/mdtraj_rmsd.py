"""The distance of each frame from the topology's structure, by mdtraj; each rank takes its own frames.

    mpirun -n 8 zazenctl run -- python3 mdtraj_rmsd.py topology.pdb /sim1
"""
import os
import sys

import mdtraj
from mpi4py import MPI

import zazen


def main():
    topology, directory = sys.argv[1:]
    world = MPI.COMM_WORLD
    reference = mdtraj.load(topology)
    rows = []
    for path in zazen.own_frames(directory, world):
        frame = mdtraj.load(path, top=reference.topology)
        rows.append((float(frame.time[0]), os.path.basename(path), float(mdtraj.rmsd(frame, reference)[0])))
    everywhere = world.gather(rows)
    if world.rank == 0:
        for time, name, distance in sorted(sum(everywhere, [])):
            print(f"{name} {time:.1f} {distance:.4f}")


if __name__ == "__main__":
    main()
