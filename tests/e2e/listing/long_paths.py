"""Everything works with paths of more than 500 characters, far beyond a socket address."""
from nodes import Nodes

with Nodes(2, name_of_directory="x" * 250) as nodes:
    data = nodes.dataset(frames=20, name="y" * 250)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=20, misses=0)
