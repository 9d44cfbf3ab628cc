"""Half of the frames are native, the other half nowhere. Each is read once, with the right hits and
misses."""
from nodes import Nodes

with Nodes(4) as nodes:
    data = nodes.dataset(frames=range(0, 60, 2))
    nodes.start()
    nodes.push(data)
    data.add(range(1, 60, 2))
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=30, misses=30, nodes=4)
    job.check_bytes_moved()
