"""Each frame is read once with templates that have padding, a suffix, and directories around the
number."""
from nodes import Nodes

with Nodes(2) as nodes:
    padded = nodes.dataset(frames=[0, 7, 12, 999_999, 1_000_000], template="frame-{seq:06}.xtc",
                           name="padded")
    padded.write("frame-7.xtc", 10)
    padded.write("frame-0000007.xtc", 10)
    below = nodes.dataset(frames=20, template="run1/f{seq}", name="below", ordinary=False)
    around = nodes.dataset(frames=20, template="run1/{seq}/traj.dcd", name="around",
                           ordinary=False)
    nodes.start()
    for data in (padded, below, around):
        nodes.push(data)
    job = nodes.mpirun("list_and_read_c", padded)
    job.check_exactly_once()
    job.check_report(hits=5, misses=0)
    for data in (below, around):
        job = nodes.mpirun("walk_and_read.py", data)
        job.check_exactly_once()
        job.check_report(hits=20, misses=0)
