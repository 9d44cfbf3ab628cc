"""After SIGSTOP of a node its frames go to the others after a bounded wait, and the others' own
frames arrive meanwhile. The node gets frames again when it goes on."""
import itertools
import signal

from bodhi_library import Bodhi, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

FRAMES = 200

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES)
    nodes.configure('writer_timeout = "5s"\n')
    for node in nodes:
        node.start()
    with Bodhi(nodes[0].config) as writer:
        nodes[2].signal(signal.SIGSTOP)
        for seq in range(60):
            writer.write(data.path, seq, frame_bytes(data, seq))
        wait_until(lambda: writer.figures().pushed >= 40, "the others' frames")
        writer.flush()
        expect(writer.figures().pushed == 60 and writer.nodes()[2][1:] == (0, 0),
               f"{writer.figures()} {writer.nodes()}")
        expect(nodes[0].held(data) == nodes[1].held(data) == 30, "evenly")

        # While it is tried again one frame at a time waits for it.
        for seq in range(60, 90):
            writer.write(data.path, seq, frame_bytes(data, seq))
        wait_until(lambda: writer.figures().waiting <= 1, "all but one")
        nodes[2].signal(signal.SIGCONT)
        writer.flush()
        rest = itertools.count(90)

        def is_back():
            seq = next(rest)
            writer.write(data.path, seq, frame_bytes(data, seq % FRAMES))
            writer.flush()
            return writer.nodes()[2][2] == 1
        wait_until(is_back, "the node to get frames again", 60)
        figures = writer.figures()
        expect((figures.waiting, figures.dropped) == (0, 0), f"{figures}")
