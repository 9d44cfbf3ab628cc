"""One peer is missing, one hangs, and one of an older version knows no notices. The others learn of
changes in time, the program that changes a frame waits for none of them, and the status names them.
The older one gets no message that it does not know."""
import os
import socket
import threading

from changed_frames import (KEYS, SIZE, Nodes, change, expect, has_copy, time, wait_for_drop, wait_until)
from network import BY_KEY, free_port, make_key, receive, welcome


class OlderNode:
    """Proves itself as a daemon does, and takes down what it is sent after that."""
    def __init__(self, key):
        self._key = key
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.welcomed, self.received = 0, b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection = self._listener.accept()[0]
            welcome(connection, self._key, BY_KEY, os.geteuid())
            self.welcomed += 1
            self.received += receive(connection, 1) or b""


with Nodes(2) as nodes:
    data = nodes.dataset(frames=4, sizes=(SIZE,), keys=KEYS)
    key = make_key(nodes)
    with open(key, "rb") as file:
        older = OlderNode(file.read())
    hanging = socket.create_server(("127.0.0.1", 0))
    silent = f"127.0.0.1:{hanging.getsockname()[1]}"
    dead, nameless = f"127.0.0.1:{free_port()}", "no-such-host.invalid:7117"
    for node in nodes:
        node.peer = f"127.0.0.1:{free_port()}"
    for node in nodes:
        peers = [dead, silent, older.address, nameless, *(each.peer for each in nodes)]
        node.configure(nodes.datasets,
                       f'listen = "{node.peer}"\nkey_file = "{key}"\nsweep = "off"\n', peers=peers)
        node.start()
    here, there = nodes
    nodes.warm(there, data, sorted(data.frames))

    for name, how in (("f0", "write"), ("f1", "truncate"), ("f2", "remove")):
        began = time.monotonic()
        changed_at = change(nodes, here, data, name, how)
        took = wait_for_drop(there, data, name, changed_at)
        print(f"{how}: the program took {changed_at - began:.3f} s, and the copy went {took:.3f} s later")
    expect(has_copy(there, data, "f3"), "a frame that nobody changed was dropped")

    def failures():
        return {peer["peer"]: peer["failure"] for peer in here.status()["changes"]["peers"]}
    wait_until(lambda: all(failures()[peer] for peer in (dead, silent, older.address)), "the status to name them")
    found = failures()
    expect(found[there.peer] is None and here.peer not in found, found)
    expect("takes no notices" in found[older.address], found)
    expect(older.welcomed > 0 and not older.received, "it was sent something that it does not know")
    shown = here.ctl("status").succeeded().stdout
    expect(f"not told  {dead}: " in shown and there.peer not in shown, shown)
    said = [line for line in here.said().splitlines() if "peer_not_told" in line and older.address in line]
    expect(len(said) == 1, f"it is to be said once: {said}")
