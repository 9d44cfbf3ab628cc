"""A node that takes a frame more slowly than writer_timeout allows for silence is not silent. The
frame is sent once, and arrives."""
import os

from bodhi_library import Bodhi, configure_writer, free_addresses, make_key
from nodes import Nodes
from processes import expect

SIZE = 1_000_000

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    key, address = make_key(nodes), free_addresses(1)[0]
    node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\nmax_rate = "250KB"\n')
    node.start()
    config = configure_writer(nodes, data, [address], key, 'writer_timeout = "1s"')
    with Bodhi(config) as writer:
        writer.write(data.path, 1, os.urandom(SIZE))
        writer.flush(60_000)
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (1, 0), f"{figures}")
    expect(node.held(data, "native") == 1, "it is there")
    network = node.status()["network"]
    expect(network["bytes"] == SIZE, f"sent once: {network}")
