"""In an empty dataset, and in one with ordinary files only, the job works and has nothing to read.
A push of the second one says that no name matches."""
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    empty = nodes.dataset(frames=0, ordinary=False)
    no_frames = nodes.dataset(frames=0, name="sim2")
    nodes.start()
    nodes.push(empty)
    done = nodes[0].ctl("push", no_frames.path)
    expect(done.status == 1 and "0 of 6 names match f{seq}" in done.stderr, f"{done}")
    for data in (empty, no_frames):
        job = nodes.mpirun("list_and_read_c", data)
        job.check_exactly_once()
        job.check_report(hits=0, misses=0)
