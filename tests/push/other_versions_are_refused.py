"""A writer and a daemon of different versions refuse each other and say why. The frames are at the
origin, and nothing else is stored."""
import os
import socket
import struct
import threading

from network import (BY_KEY, HELLO, MAGIC, VERSION, Nodes, Stranger, expect, listen, make_key, natives, receive,
                     wait_until)

OLD = VERSION - 1
OLD_INTRODUCTION = "<IHHII32s32s"


class OldNode:
    """The hello of the version before, to everybody. Counts what it is answered."""
    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.visitors, self.bytes = 0, 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection = self._listener.accept()[0]
            connection.sendall(struct.pack(HELLO, MAGIC, OLD, BY_KEY, os.geteuid(), 0, 2**40, os.urandom(32)))
            self.bytes += len(receive(connection, 1) or b"")
            self.visitors += 1
            connection.close()


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=4, sizes=(1000,), ordinary=False)
    key = make_key(nodes)
    listen(node, [data], key)

    old = OldNode()
    done = node.ctl("push", data.path, "--to", old.address, seconds=100)
    expect(done.status != 0, f"{done}")
    expect(f"has version {OLD} of the protocol, this program {VERSION}" in done.stderr, done.stderr)
    expect("same version" in done.stderr, done.stderr)
    wait_until(lambda: old.visitors > 0, "the node to have had a visitor")
    expect(old.bytes == 0, f"{old.bytes} bytes were sent to it")

    # The old writer, which leaves when it sees the hello, and one that does not look at it.
    with open(key, "rb") as file:
        secret = file.read()
    with Stranger(node.address) as writer:
        fields = struct.unpack(HELLO, writer.receive(struct.calcsize(HELLO)))
        expect(fields[:2] == (MAGIC, VERSION), f"{fields}")
    wait_until(lambda: "writers of another version leave so" in node.said(), "the log to say so")
    with Stranger(node.address) as writer:
        hello = writer.receive(struct.calcsize(HELLO))
        nonce = os.urandom(32)
        unproved = struct.pack(OLD_INTRODUCTION, MAGIC, OLD, BY_KEY, 0, 0, nonce, bytes(32))
        session = Stranger._mac(Stranger._mac(secret, b"zazen push 1" + hello + unproved), b"writer")
        writer.socket.sendall(unproved[:-32] + Stranger._mac(session, b"introduction"))
        expect(writer.is_closed(), "an old writer was let in")
    expect(natives(nodes, node.address, key, data) == [], "something was stored")

    node.ctl("push", data.path, "--to", node.address).succeeded()
    expect(natives(nodes, node.address, key, data) == [0, 1, 2, 3], "the origin has the frames")
