"""A writer on a machine without a daemon sends frames to the nodes over TCP, evenly and whole, with
a key. One node is killed meanwhile and one is stopped, and nothing is lost."""
import os
import signal

from bodhi_library import (Bodhi, BodhiError, check_placed, configure_writer, frame_bytes, free_addresses,
                           make_key)
from nodes import Nodes
from processes import expect

FRAMES = 120


with Nodes(4) as nodes:
    data = nodes.dataset(frames=FRAMES)
    key = make_key(nodes)
    addresses = free_addresses(4)
    for node, address in zip(nodes, addresses):
        node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n')
        node.start()
    config = configure_writer(nodes, data, addresses, key, 'writer_timeout = "4s"')

    with Bodhi(config) as writer:
        for seq in range(40):
            writer.write(data.path, seq, frame_bytes(data, seq))
        writer.flush()
        check_placed(nodes, data, range(40))
        expect([count for _, count, _ in writer.nodes()] == [10] * 4, f"{writer.nodes()}")
        for seq in range(40, FRAMES):
            writer.write(data.path, seq, frame_bytes(data, seq))
            if seq == 60:
                nodes[1].kill()
                nodes[2].signal(signal.SIGSTOP)
        writer.flush()
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (FRAMES, 0), f"{figures}")
        pushed = [count for _, count, _ in writer.nodes()]
        expect(abs(pushed[0] - pushed[3]) <= 1, f"evenly: {pushed}")
        expect(writer.query(data.path) == (0, []), "no daemon here")
        expect(writer.read(data.path, 5) == frame_bytes(data, 5), "the origin's bytes")
    nodes[2].signal(signal.SIGCONT)
    nodes[1].start()
    held = set().union(*(node.copies(data) for node in nodes))
    expect(held == data.frames, f"missing: {data.frames - held}")

    # A writer with another key gets nothing stored, and is told at a flush.
    with open(key, "r+b") as file:
        file.write(os.urandom(32))
    with Bodhi(config) as stranger:
        stranger.write(data.path, 7000, b"x")
        try:
            stranger.flush(-1)
        except BodhiError as error:
            expect("1 frame is still queued: no node answers" in str(error), f"says: {error}")
        else:
            expect(False, "nobody takes it")
