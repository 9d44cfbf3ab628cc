"""Nodes that tell each other of changed frames, over TCP or on this machine, and programs that change
some under a node's shim."""
import json
import os
import time

from network import free_port, make_key, wait_until  # noqa: F401
from nodes import PYTHON, Nodes  # noqa: F401
from processes import expect  # noqa: F401

KEYS = 'validate = "never"'  # nothing but a notice drops a copy
QUIET = 'sweep = "off"\n'
SIZE = 5000
LIMIT_SECONDS = 15  # of a busy machine; the time that it took is printed

# Each prints when its last call had returned.
CHANGES = {
    "write": "with open(name, 'wb') as file: file.write(b'new' * 100)",
    "write_in_place": "with open(name, 'r+b') as file: file.write(b'begin')",
    "append": "with open(name, 'ab') as file: file.write(b'end')",
    "truncate": "os.truncate(name, 7)",
    "rename_over": "open(name + '.new', 'wb').write(b'renamed'); os.rename(name + '.new', name)",
    "rename_away": "os.rename(name, name + '.old')",
    "remove": "os.unlink(name)",
    "make": "open(name, 'xb').write(b'made anew')",  # it was removed, and nobody told
    "store": "import mmap\nwith open(name, 'r+b') as file: mmap.mmap(file.fileno(), 0)[10:14] = b'MMAP'",
}
PROGRAM = """
import os, sys, time
name = sys.argv[1]
exec(sys.argv[2])
print(time.monotonic())
"""


def start_nodes(nodes, over_tcp, extra=QUIET):
    """Every node names all, itself included."""
    key = make_key(nodes)
    for node in nodes:
        node.peer = f"127.0.0.1:{free_port()}" if over_tcp else f"unix:{node.runtime}"
    for node in nodes:
        head = f'listen = "{node.peer}"\nkey_file = "{key}"\n' if over_tcp else ""
        node.configure(nodes.datasets, head + extra, peers=[each.peer for each in nodes])
        node.start()
    wait_until_acquainted(nodes)


def wait_until_acquainted(nodes):
    """Each has told all others that it lives, and they have compared what they have."""
    def acquainted():
        for node in nodes:
            status = node.status()
            peers = status["changes"]["peers"]
            if len(peers) != len(nodes) - 1 or any(peer["told"] == 0 or peer["waiting"] for peer in peers):
                return False
            if any(data["checks_each_open"] for data in status["datasets"]):
                return False
        return True
    wait_until(acquainted, "the nodes to have met")


def change(nodes, node, data, name, how):
    """Changes the frame under the node's shim; when the last call of the program had returned."""
    done = nodes.serial(node, [PYTHON, "-c", PROGRAM, data.file(name), CHANGES[how]]).succeeded()
    return float(done.stdout)


def has_copy(node, data, name):
    return os.path.exists(node.cache + data.file(name))


def wait_for_drop(node, data, name, since):
    """How many seconds after `since` the copy was gone."""
    wait_until(lambda: not has_copy(node, data, name), f"{node.name} to drop {name}", LIMIT_SECONDS)
    return time.monotonic() - since


def read(nodes, node, data, name):
    done = nodes.serial(node, [PYTHON, "-c", "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())",
                               data.file(name)])
    return done.stdout.encode(errors="surrogateescape") if done.status == 0 else None


def origin_of(data, name):
    try:
        with open(data.file(name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def explain(node, data, name):
    done = node.ctl("explain", data.file(name), "--json").succeeded()
    return json.loads(done.stdout)["paths"][0]
