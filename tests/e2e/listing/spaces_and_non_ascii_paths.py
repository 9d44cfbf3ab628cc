"""With spaces, quotes and non-ASCII characters in every path, push, job and hits work as usual."""
from nodes import Nodes

with Nodes(2, name_of_directory="Müller's Läufe № 5 (β)") as nodes:
    data = nodes.dataset(frames=20, name="Simulation 日本 1")
    nodes.start()
    nodes.push(data)
    for name in ("list_and_read_c", "list_and_read.py"):
        job = nodes.mpirun(name, data)
        job.check_exactly_once()
        job.check_report(hits=20, misses=0)
