"""A node that takes a frame more slowly than writer_timeout allows for silence is not silent: the frame is
sent once, and arrives."""
import os
import socket

from bodhi_library import Bodhi
from nodes import Nodes
from processes import expect

SIZE = 1_000_000

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    key = nodes.path("key")
    with open(key, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(key, 0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\nmax_rate = "250KB"\n')
    node.start()
    config = nodes.path("writer.toml")
    with open(config, "w") as file:
        file.write(f'cache = "{nodes.path("none")}"\nruntime = "{nodes.path("none", "run")}"\n'
                   f'peers = ["{address}"]\nkey_file = "{key}"\nwriter_timeout = "1s"\n'
                   f'[[dataset]]\npath = "{data.path}"\nframes = "f{{seq}}"\n')
    with Bodhi(config) as writer:
        writer.write(data.path, 1, os.urandom(SIZE))
        writer.flush(60_000)
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (1, 0), f"{figures}")
    expect(node.held(data, "native") == 1, "it is there")
    network = node.status()["network"]
    expect(network["bytes"] == SIZE, f"sent once: {network}")
