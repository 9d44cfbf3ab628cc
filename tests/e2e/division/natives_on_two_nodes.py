"""A dataset pushed to two nodes separately: each frame is read once, by one of its holders."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=40)
    nodes.start()
    nodes.push(data, "--to", f"unix:{nodes[0].runtime}")
    nodes.push(data, "--to", f"unix:{nodes[1].runtime}")
    expect([node.held(data, "native") for node in nodes] == [40, 40, 0], "the pushes")
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=40, misses=0)
    expect(set(job.reader_node().values()) <= {"n0", "n1"}, "a node without copies reads")
