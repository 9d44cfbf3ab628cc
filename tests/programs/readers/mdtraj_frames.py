"""Analyses a trajectory frame by frame with mdtraj, as one file for each frame."""
import glob

import mdtraj

topology = mdtraj.load("topology.pdb").topology
frames = sorted(glob.glob("f[0-9]*.xtc") + glob.glob("f[0-9]*.dcd"),
                key=lambda name: (len(name), name))
for name in frames:
    frame = mdtraj.load(name, top=topology)
    print(name, frame, frame.time, mdtraj.compute_rg(frame), frame.xyz[0, 5])
whole = mdtraj.load(frames, top="topology.pdb")
print(whole, mdtraj.rmsd(whole, whole, 0))
for piece in mdtraj.iterload(frames[7], top=topology, chunk=1):
    print(piece.xyz.sum())
