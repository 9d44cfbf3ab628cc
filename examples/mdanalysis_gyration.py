"""The radius of gyration in each frame, by MDAnalysis; each rank takes its own frames.

    mpirun -n 8 zazenctl run -- python3 mdanalysis_gyration.py topology.pdb /sim1
"""
import os
import sys

import MDAnalysis
from mpi4py import MPI

import zazen


def main():
    topology, directory = sys.argv[1:]
    world = MPI.COMM_WORLD
    rows = []
    for path in zazen.own_frames(directory, world):
        universe = MDAnalysis.Universe(topology, path)
        rows.append((universe.trajectory.time, os.path.basename(path), universe.atoms.radius_of_gyration()))
    everywhere = world.gather(rows)
    if world.rank == 0:
        for time, name, radius in sorted(sum(everywhere, [])):
            print(f"{name} {time:.1f} {radius:.4f}")


if __name__ == "__main__":
    main()
