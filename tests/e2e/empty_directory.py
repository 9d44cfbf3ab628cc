"""An empty dataset, and one with ordinary files only: the job works and has nothing to read."""
from nodes import Nodes

with Nodes(2) as nodes:
    empty = nodes.dataset(frames=0, ordinary=False)
    no_frames = nodes.dataset(frames=0, name="sim2")
    nodes.start()
    for data in (empty, no_frames):
        nodes.push(data)
        job = nodes.mpirun("list_and_read_c", data)
        job.check_exactly_once()
        job.check_report(hits=0, misses=0)
