"""Each frame is read once with more ranks than frames, one rank, one node, and unequal numbers of
ranks on the nodes."""
from nodes import Nodes

with Nodes(3) as nodes:
    few = nodes.dataset(frames=3, name="few")
    many = nodes.dataset(frames=50, name="many")
    nodes.start()
    nodes.push(few)
    nodes.push(many)
    for data in (few, many):
        for ranks in ([1, 0, 0], [4, 0, 0], [1, 3, 2], [0, 1, 5], [2, 2, 2]):
            job = nodes.mpirun("list_and_read_c", data, ranks=ranks)
            job.check_exactly_once()
            job.check_report(nodes=sum(count > 0 for count in ranks))
