"""A queued frame of the origin that is announced again will be pushed in its latest version. It
counts once, also where memory is full and any other frame is dropped."""
from bodhi_library import Bodhi
from nodes import Nodes
from processes import expect

MEMORY = 1_000_000

with Nodes(1) as nodes:
    data = nodes.dataset(frames=0)
    nodes.configure(f"writer_memory = {MEMORY}\n")
    with Bodhi(nodes[0].config) as writer:  # no node answers
        seq = 0
        while writer.figures().dropped == 0:
            writer.write_file(data.path, seq)
            seq += 1
        full = writer.figures()
        expect(full.waiting == seq - 1 > 1000, f"{seq}: {full}")
        for again in (0, 1, seq // 2, seq - 2):
            writer.write_file(data.path, again)
        figures = writer.figures()
        expect((figures.queued, figures.dropped) == (full.queued, 1), f"{figures}")
        writer.write_file(data.path, seq)
        expect(writer.figures().dropped == 2, f"{writer.figures()}")
