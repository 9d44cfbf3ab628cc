"""After kill -9 of a node while frames are written the others get its frames, evenly. No
acknowledged frame is lost, and the node gets frames again when it is back."""
import itertools

from bodhi_library import Bodhi, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

FRAMES = 300

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES)
    nodes.start()
    with Bodhi(nodes[0].config) as writer:
        for seq in range(FRAMES // 2):
            writer.write(data.path, seq, frame_bytes(data, seq))
            if seq == 60:
                nodes[1].kill()
        writer.flush()
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (FRAMES // 2, 0), f"{figures}")
        pushed = {peer: count for peer, count, _ in writer.nodes()}
        always_up = [pushed[f"unix:{nodes[i].runtime}"] for i in (0, 2)]
        expect(abs(always_up[0] - always_up[1]) <= 1, f"evenly: {pushed}")

        before = pushed[f"unix:{nodes[1].runtime}"]
        nodes[1].start()
        held = set().union(*(node.copies(data) for node in nodes))
        expect(len(held) == FRAMES // 2, f"{FRAMES // 2 - len(held)} acknowledged frames are gone")
        for node in nodes:
            for name in node.copies(data):
                with open(node.cache + data.file(name), "rb") as copy:
                    expect(copy.read() == frame_bytes(data, name[1:]), f"{name}: other bytes")

        rest = itertools.count(FRAMES // 2)

        def is_back():
            seq = next(rest)
            writer.write(data.path, seq, frame_bytes(data, seq % FRAMES))
            writer.flush()
            return writer.nodes()[1][1] > before
        wait_until(is_back, "the node to get frames again", 60)
        expect(writer.figures().dropped == 0, f"{writer.figures()}")
