"""A recorded session is replayed, cut at each message border or anywhere, or has a bit flipped
anywhere. No frame is stored that the writer did not send, and the daemon goes on."""
import random
import socket

from network import (Content, Nodes, check_held, expect, free_port, left_overs, listen, make_key, push,
                     wait_for_rest)
from tampering import Proxy

MESSAGE = 32 + 32  # header and MAC
INTRODUCTION = 136

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    key = make_key(nodes)
    content = Content(nodes, {"f1": 1000, "f2": 5000})
    names = 4 + len(data.path) + 2
    gate = free_port()
    listen(node, [data], key, f'known_as = ["127.0.0.1:{gate}"]\n')

    def clean():
        wait_for_rest(node)
        held = node.held(data)
        node.ctl("evict", "--all").succeeded()
        expect(left_overs(node, data) == [], "left over")
        return held

    with Proxy(node.address, port=gate) as proxy:
        answers, done = push(nodes, proxy.address, key, data, "bytes", content.words())
        expect(answers == {"f1": 0, "f2": 0}, f"{done}")
    recorded = bytes(proxy.from_writer)
    expect(clean() == 2, "both were there")

    # Again, byte for byte: the daemon's number is another one by now.
    host, port = node.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as replay:
        try:
            replay.sendall(recorded)
            while replay.recv(65536):
                pass
        except ConnectionError:
            pass
    expect(clean() == 0, "a recorded session was believed")

    # Cut at the border of each message, and around it.
    borders, at = [], INTRODUCTION + len(f"127.0.0.1:{gate}")
    for name, size in content.sizes.items():
        for part in (MESSAGE + names, size, MESSAGE + 24):
            borders.append(at)
            at += part
    expect(at == len(recorded), f"{at} is not {len(recorded)}")
    for limit in sorted({max(1, border + step) for border in borders for step in (-1, 0, 1, 33)}):
        with Proxy(node.address, port=gate, limit=limit) as proxy:
            answers, done = push(nodes, proxy.address, key, data, "bytes", content.words())
        expect(done.status == 3, f"cut at {limit}: {done}")
        whole = sum(limit >= end for end in (borders[3], len(recorded)))
        held = clean()
        expect(held <= whole, f"cut at {limit}: {held} of {whole}")

    # One bit of the writer's bytes.
    chance = random.Random(6)
    places = borders + [border + step for border in borders for step in (3, 8, 20, 34)]
    places += [chance.randrange(len(recorded)) for _ in range(40)]
    for place in places:
        bit = 1 << chance.randrange(8)

        def flip(offset, part):
            part = bytearray(part)
            if offset <= place < offset + len(part):
                part[place - offset] ^= bit
            return bytes(part)
        with Proxy(node.address, port=gate, change=flip) as proxy:
            answers, done = push(nodes, proxy.address, key, data, "bytes", content.words())
        expect(done.status == 3, f"bit {bit} of {place}: {done}")
        wait_for_rest(node)
        held = [name for name in content.sizes if name in answers]
        expect(node.held(data) <= 1, f"{place}: {node.held(data)} frames")
        if held:
            check_held(node, data, content, held)
        clean()

    # A file that is not what was announced: refused, and the next one is taken.
    answers, done = push(nodes, node.address, key, data, "bytes", content.words())
    expect(answers == {"f1": 0, "f2": 0}, f"{done}")
    check_held(node, data, content)
