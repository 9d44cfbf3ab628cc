"""The same as long_paths in a short directory: sockets and views do not depend on the path's
length."""
import tempfile

from nodes import Nodes

with Nodes(2, parent=tempfile.gettempdir()) as nodes:
    data = nodes.dataset(frames=20)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=20, misses=0)
