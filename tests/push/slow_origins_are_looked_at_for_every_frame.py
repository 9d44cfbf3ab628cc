"""An origin that answers slowly is asked about every frame that arrived. Frames beyond one batch of
questions get their identity all the same."""
import os

from network import expect, free_port, push
from origin_server import OriginServer

FRAMES = 60  # each takes some 20 ms, and a look a quarter of a second at most
LOOKED_AT = 16 << 10

with OriginServer(rate=50 * LOOKED_AT, cached=False) as server:
    names = [f"f{seq}" for seq in range(FRAMES)]
    for name in names:
        server.write(name, 2 * LOOKED_AT)
    server.mount()
    address = f"127.0.0.1:{free_port()}"
    server.node.configure([server], f'listen = "{address}"\n')
    server.node.start()

    words = [word for name in names for word in (name, os.path.join(server.backing, name))]
    answers, done = push(server, address, None, server.path, "bytes", words)
    expect(answers == dict.fromkeys(names, 0), f"{[*answers.items()]} {done.stderr}")
    figures = server.node.status_of(server)
    expect(figures["native"] == FRAMES and figures["waiting"] == 0, f"{figures}")
    expect(server.copies() == set(names), f"under their names: {server.copies()}")
