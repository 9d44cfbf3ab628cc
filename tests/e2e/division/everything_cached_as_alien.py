"""The next job reads the aliens of one job on the same nodes, all from the cache."""
from nodes import Nodes
from processes import expect

with Nodes(4) as nodes:
    data = nodes.dataset(frames=61)
    nodes.start()
    first = nodes.mpirun("list_and_read_c", data)
    first.check_exactly_once()
    nodes.wait_for_aliens(data, 61)
    second = nodes.mpirun("list_and_read_c", data)
    second.check_exactly_once()
    second.check_report(hits=61, misses=0)
    expect(first.reader_node() == second.reader_node(), "a frame was read on another node")
    expect(nodes.held(data, "alien") == 61, "frames were cached twice")
