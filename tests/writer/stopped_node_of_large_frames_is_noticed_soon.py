"""A node over TCP gets SIGSTOP while a large frame is on its way. The time without progress counts,
not the bytes that were sent. Its frames are at the other node soon after writer_timeout."""
import os
import signal
import time

from bodhi_library import Bodhi, configure_writer, free_addresses, make_key
from nodes import Nodes
from processes import expect

SIZE = 60_000_000
FRAMES = 4
TIMEOUT_S, SOON_S = 2, 25  # by its size alone a frame would be given a minute

with Nodes(2) as nodes:
    data = nodes.dataset(frames=0)
    key = make_key(nodes)
    addresses = free_addresses(2)
    for node, address in zip(nodes, addresses):
        node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n')
        node.start()
    config = configure_writer(nodes, data, addresses, key,
                              f'writer_memory = "512MB"\nwriter_timeout = "{TIMEOUT_S}s"')
    with Bodhi(config) as writer:
        for seq in range(2):
            writer.write(data.path, seq, b"small")
        writer.flush()
        expect([count for _, count, _ in writer.nodes()] == [1, 1], f"{writer.nodes()}")
        nodes[1].signal(signal.SIGSTOP)
        content = os.urandom(SIZE)
        begin = time.monotonic()
        for seq in range(2, 2 + FRAMES):
            writer.write(data.path, seq, content)
        writer.flush()
        took = time.monotonic() - begin
        print(f"{took:.1f} s")
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (2 + FRAMES, 0), f"{figures}")
        expect(writer.nodes()[1][1] == 1, f"the stopped one has none of them: {writer.nodes()}")
        expect(took < SOON_S, f"noticed after {took:.1f} s")
    nodes[1].signal(signal.SIGCONT)
