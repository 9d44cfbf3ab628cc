"""Analyses a trajectory frame by frame with MDAnalysis, as one file for each frame.

For .xtc it keeps offsets beside each frame and believes them if the frame's size and time of
change are as noted; `without-offsets` removes them first."""
import glob
import os
import sys
import warnings

import MDAnalysis

warnings.simplefilter("default")
if sys.argv[1] == "without-offsets":
    for name in glob.glob(".*_offsets.*"):
        os.remove(name)
frames = sorted((name for kind in ("xtc", "dcd", "pdb") for name in glob.glob(f"f[0-9]*.{kind}")),
                key=lambda name: (len(name), name))
frames = [name for name in frames if os.path.exists(name)]
topology = "topology.pdb" if os.path.exists("topology.pdb") else frames[0]
for name in frames:
    universe = MDAnalysis.Universe(topology, name)
    for step in universe.trajectory:
        print(name, step.frame, step.dimensions, universe.atoms.center_of_geometry(),
              universe.atoms.radius_of_gyration())
chain = MDAnalysis.Universe(topology, frames)
print(len(chain.trajectory), sum(step.positions.sum(dtype="f8") for step in chain.trajectory))
print(sorted(os.path.basename(name) for name in glob.glob(".*_offsets.npz")))
