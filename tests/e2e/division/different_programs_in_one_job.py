"""An MPMD job of C, C++, Python and Fortran programs: each frame once among them."""
from nodes import Nodes

with Nodes(4) as nodes:
    data = nodes.dataset(frames=40)
    nodes.start()
    nodes.push(data)
    programs = ["list_and_read_c", "list_and_read_cxx", "list_and_read.py", "list_and_read_f08"]
    job = nodes.mpirun(programs, data)
    job.check_exactly_once()
    job.check_report(hits=40, misses=0)
