"""Frames that arrive together are looked up at the origin together. A frame whose origin does not
answer waits for it. The others, before it and behind it, get their identity all the same."""
import os

from network import expect, free_port, push, wait_until
from origin_server import MB, OriginServer

FRAMES = 120
SLOW = {"f30", "f31"}

with OriginServer(cached=False) as server:
    names = [f"f{seq}" for seq in range(FRAMES)]
    for name in names:
        server.write(name, 4 * MB if name in SLOW else 1)
    server.mount()
    address = f"127.0.0.1:{free_port()}"
    server.node.configure([server], f'listen = "{address}"\n')
    server.node.start()
    server.control(f"hang {2 * MB}")  # which no small frame reaches

    words = [word for name in names for word in (name, os.path.join(server.backing, name))]
    answers, done = push(server, address, None, server.path, "bytes", words)
    expect(answers == dict.fromkeys(names, 0), f"{[*answers.items()]} {done.stderr}")
    figures = server.node.status_of(server)
    expect(figures["native"] == FRAMES and figures["waiting"] == len(SLOW), f"{figures}")
    expect(server.copies() == set(names) - SLOW, f"under their names: {server.copies()}")

    server.control("release")
    for name in SLOW:
        server.read(name).succeeded()
        server.wait_for_copy(name)
        server.check_copy(name)
    wait_until(lambda: server.node.status_of(server)["waiting"] == 0, "none to wait")
