"""The report is complete if rank 0 ends long before the others, or long after them."""
from nodes import Nodes

with Nodes(2) as nodes:
    data = nodes.dataset(frames=40)
    nodes.start()
    nodes.push(data)
    for rank_0 in ("rank_0_first", "rank_0_last"):
        nodes.mpirun("end_oddly_c", data, after=[rank_0]).check_exactly_once()
