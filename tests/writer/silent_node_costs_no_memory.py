"""While a node is silent and not yet found dead, its queued frames go to the others if memory would
run out. Nothing is dropped."""
import signal
import time

from bodhi_library import Bodhi, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

FRAMES = 200
MEMORY = 4_000_000

with Nodes(2) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(100_000,))
    nodes.configure(f'writer_timeout = "100s"\nwriter_memory = {MEMORY}\n')
    for node in nodes:
        node.start()
    with Bodhi(nodes[0].config) as writer:
        nodes[1].signal(signal.SIGSTOP)
        for seq in range(FRAMES):
            writer.write(data.path, seq, frame_bytes(data, seq))
            pause = time.monotonic() + 1.5  # of a simulation that is slower than one node
            wait_until(lambda: writer.figures().memory_bytes < MEMORY * 3 // 4 or
                       time.monotonic() > pause, "the node that answers")
        expect(writer.figures().dropped == 0, f"{writer.figures()}")
        nodes[1].signal(signal.SIGCONT)
        writer.flush()
        expect(writer.figures().pushed == FRAMES, f"{writer.figures()}")
