"""A process that holds the port of a dead node cannot forward its sessions to another node with the
same key. The node is known by any address that leads to it directly, and by those in `known_as`."""
import errno
import socket
import struct

from network import (BY_KEY, INTRODUCTION, Content, Nodes, Stranger, check_held, expect, free_port,
                     make_key, push, target_of, wait_until)
from tampering import Proxy

with Nodes(2) as nodes:
    dead, node = nodes
    data = nodes.dataset(frames=0)
    key = make_key(nodes)
    with open(key, "rb") as file:
        secret = file.read()
    content = Content(nodes, {"f1": 1000, "f2": 5000})
    port, tunnel, dead.address = free_port(), free_port(), f"127.0.0.1:{free_port()}"
    node.configure([data], f'listen = "0.0.0.0:{port}"\nkey_file = "{key}"\n'
                           f'known_as = ["127.0.0.1:{tunnel}"]\n')
    node.start()
    node.address = f"127.0.0.1:{port}"

    def refused_by_relay(change=None):
        with Proxy(node.address, change, port=int(dead.address.rsplit(":", 1)[1])) as relay:
            expect(relay.address == dead.address, relay.address)
            answers, done = push(nodes, dead.address, key, data, "bytes", content.words())
        expect(answers == {} and done.status == 3, f"{done}")
        check_held(node, data, content, [])
        return done.stderr

    said = refused_by_relay()
    expect(f"not known as '{dead.address}'" in said and "known_as" in said, said)
    wait_until(lambda: f"it means another node, {dead.address}" in node.said(), "the log to say so")

    # A relay that says that the other node was meant: the proof is of what the writer said.
    def rename(offset, part):
        whole = bytearray(part)
        if offset == 0:
            expect(len(part) >= struct.calcsize(INTRODUCTION), "one piece")
            address, machine, number = target_of(node.address)
            struct.pack_into("<16s36sI", whole, 16, address, machine, number)
        return bytes(whole)
    expect("Permission denied" in refused_by_relay(rename), "another refusal")

    # By hand: another machine with the same loopback address, and another port.
    with Stranger(node.address) as writer:
        writer.means = f"127.0.0.1:{port}"
        expect(writer.introduce(secret, BY_KEY) == 0, "the node that was dialled")
    with Stranger(node.address, means=f"127.0.0.1:{port + 1}") as writer:
        expect(writer.introduce(secret, BY_KEY) == errno.EADDRNOTAVAIL, "another port")
    with Stranger(node.address, means=f"127.0.0.2:{port}") as writer:
        expect(writer.introduce(secret, BY_KEY) == errno.EADDRNOTAVAIL, "another address")

    # All names and addresses of the node itself.
    names = [node.address, f"localhost:{port}", f"127.0.0.9:{port}", f"0.0.0.0:{port}"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            names.append(f"{probe.getsockname()[0]}:{port}")
        except OSError:
            pass
    for name in names:
        answers, done = push(nodes, name, key, data, "bytes", content.words())
        expect(answers == {"f1": 0, "f2": 0}, f"{name}: {done}")
        check_held(node, data, content)
        node.ctl("evict", "--all").succeeded()

    # A tunnel to the same node, which the node knows of.
    with Proxy(node.address, port=tunnel) as forward:
        answers, done = push(nodes, forward.address, key, data, "bytes", content.words())
        expect(answers == {"f1": 0, "f2": 0}, f"{done}")
    check_held(node, data, content)
