"""Requests of other machines: those that may come are answered as those of a local client. Others, malformed
ones and those of strangers do nothing, and cost nobody else the daemon. A daemon for all users shows a holder of
the key its status, and nothing else."""
import errno
import json
import os
import random
import socket
import struct

import messages
from messages import EVICT, LIST, STATUS, example, packet
from network import BY_KEY, HEADER, REQUEST, Nodes, Stranger, expect, free_port, listen, make_key, wait_until

CARRIED = {"evict", "list", "status", "pin", "unpin", "verify", "history", "fetch"}


def friend(node, secret):
    writer = Stranger(node.address)
    expect(writer.introduce(secret, BY_KEY) == 0, "the key is good")
    return writer


def rests(node):
    wait_until(lambda: node.status()["network"]["connections"] == 0, "the sessions to end")


def every_message(node, secret, data, only_status):
    for row in messages.REQUESTS:
        with friend(node, secret) as writer:
            status, body, content = writer.ask(example(row, data.path, b"f1"))
            if row.name not in CARRIED:
                expect(status == (errno.EINVAL if row.descriptor == "one" else errno.EOPNOTSUPP), f"{row}: {status}")
            elif only_status and row.name != "status":
                expect((status, body, content) == (errno.EPERM, b"", b""), f"{row}: {status}")
            else:
                expect(status == 0, f"{row}: {status}")
            status, _, content = writer.ask(packet(STATUS, flags=0))
            expect(status == 0 and json.loads(content)["node"] == node.name, f"after {row.name}")
    expect(CARRIED == {row.name for row in messages.REQUESTS if row.carried}, "the table")


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=8)
    key = make_key(nodes)
    with open(key, "rb") as file:
        secret = file.read()
    listen(node, [data], key, 'max_connections = 8\n')
    names = sorted(data.frames)
    nodes.warm(node, data, names)

    every_message(node, secret, data, only_status=False)
    nodes.warm(node, data, names)

    # The answer to a list is what the descriptor has: one record for each frame.
    row = next(row for row in messages.REQUESTS if row.type == LIST)
    with friend(node, secret) as writer:
        status, body, content = writer.ask(example(row, data.path, b"", flags=0))
        expect(status == 0 and struct.unpack("<Q", body) == (len(names),), f"{status} {body}")
        expect(len(content) == 24 * len(names), f"{len(content)} bytes")
        unknown = writer.ask(example(row, "/nowhere", b"", flags=0))
        expect(unknown == (errno.ENOENT, b"", b""), f"{unknown}")

    # No message at all, or not a whole one.
    row = next(row for row in messages.REQUESTS if row.type == EVICT)
    good = example(row, data.path, b"", flags=0)
    chance = random.Random(18)
    for step in range(100):
        bad = bytearray(good)
        place = chance.randrange(32)
        bad[place] ^= 1 << chance.randrange(8)
        bad = bytes(bad[:chance.randrange(len(bad))] if step % 3 == 0 else bad)
        if len(bad) == len(good) and place >= 16:
            continue  # what an answer repeats, or has
        with friend(node, secret) as writer:
            if not bad:
                continue
            answer = writer.ask(bad)
            expect(answer is not None and answer[0] in (errno.EINVAL, errno.EOPNOTSUPP), f"{bad} {answer}")
    expect(node.held(data) == len(names), "a broken request has evicted frames")
    for body in (b"", b"1234567", struct.pack("<II", 8193, 0) + bytes(8193), struct.pack("<II", 2**32 - 1, 1) + b"x",
                 struct.pack("<II", 40, 0) + good, struct.pack("<II", len(good), 1) + good + b"\0"):
        with friend(node, secret) as writer:
            writer.socket.sendall(writer.message(REQUEST, body))
            expect(writer.is_closed(), f"{body[:20]} is no reason to close")

    # Without the key, or with an altered message, nothing is asked.
    with Stranger(node.address) as writer:
        expect(writer.introduce(os.urandom(32), BY_KEY) == errno.EACCES, "a stranger was let in")
    with friend(node, secret) as writer:
        message = bytearray(writer.message(REQUEST, writer.request(good)))
        message[struct.calcsize(HEADER) + 8 + 40] ^= 1
        writer.socket.sendall(message)
        expect(writer.is_closed(), "an altered request is taken")
    with friend(node, secret) as writer:
        message = writer.message(REQUEST, writer.request(packet(STATUS, flags=0)))
        writer.socket.sendall(message + message)
        expect(writer.is_closed(), "a request that is sent twice is taken twice")
    expect(node.held(data) == len(names), "a request without a proof has evicted frames")

    # A session that asks and does not read, or leaves, occupies no more than a session.
    rests(node)
    greedy = [friend(node, secret) for _ in range(8)]
    for writer in greedy:
        for _ in range(200):
            writer.socket.setblocking(False)
            try:
                writer.socket.send(writer.message(REQUEST, writer.request(packet(STATUS, flags=0))))
            except BlockingIOError:
                break
    with Stranger(node.address) as writer:
        expect(writer.introduce(secret, BY_KEY) == errno.EUSERS, "more sessions than max_connections")
    expect(json.loads(node.ctl("status", "--json").succeeded().stdout)["healthy"], "the daemon suffers")
    for writer in greedy:
        writer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.socket.close()
    rests(node)
    with friend(node, secret) as writer:
        status, _, _ = writer.ask(good)
        expect(status == 0, f"{status}")
    expect(node.held(data) == 0, "the honest request has evicted nothing")

if os.geteuid() == 0:
    from people import SystemNode
    with SystemNode() as system:
        data = system.dataset(4, sizes=(5000,))
        key = make_key(system.nodes)
        with open(key, "rb") as file:
            secret = file.read()
        system.node.address = f"127.0.0.1:{free_port()}"
        system.start(extra=f'listen = "{system.node.address}"\nkey_file = "{key}"\n')
        every_message(system.node, secret, data, only_status=True)
