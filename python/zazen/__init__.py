"""Trajectory frames from the analysis nodes' own disks, for Python programs.

A parallel script asks which frames are its own, and reads them by whatever library it uses:

    import zazen
    from mpi4py import MPI

    for path in zazen.own_frames("/sim1", MPI.COMM_WORLD):
        analyse(path)

`mpirun -n 8 zazenctl run -- python3 script.py` starts it, so that the frames come from the cache.
Without MPI, `own_frames("/sim1")` has all frames. `explain()`, `status()` and `report()` tell what
the cache does. docs/python.md has examples for MDAnalysis, mdtraj, LAMMPS, GROMACS and joblib.
"""
from zazen.answers import (Copy, Explanation, JobReport, Note, OtherFiles, RankReport, Status,
                           StatusOfDataset, explain, report, status)
from zazen.error import Error
from zazen.frames import Communicator, own_frames

__all__ = ["Communicator", "Copy", "Error", "Explanation", "JobReport", "Note",
           "OtherFiles", "RankReport", "Status", "StatusOfDataset", "explain", "own_frames",
           "report", "status"]
__version__ = "0.1.0"
