"""`push = true`: a frame that is opened for writing and not changed is not pushed again. A changed
one is."""
import os

from nodes import PYTHON, Nodes
from processes import expect, wait_until

OPEN = "import os, sys\nfor f in sys.argv[1:]: os.close(os.open(f, os.O_RDWR))"
WRITE = "import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR); os.pwrite(fd, b'NEW!', 0)"


def pushed(node):
    writer = node.status()["writer"]
    return writer["pushed"] if writer["being_written"] + writer["waiting"] == 0 else None


with Nodes(2) as nodes:
    data = nodes.dataset(frames=8, ordinary=False, sizes=(5000,), keys="push = true")
    for name in data.frames:
        os.utime(data.file(name), (1e9, 1e9))  # whole for a long time
    nodes.start()
    nodes.push(data)  # some of them are on the other node
    files = [data.file(name) for name in sorted(data.frames)]
    before = [node.copies(data) for node in nodes]
    expect(before[0] and before[1] and before[0] | before[1] == data.frames, f"{before}")
    nodes.serial(nodes[0], [PYTHON, "-c", OPEN, *files]).succeeded()
    wait_until(lambda: pushed(nodes[0]) is not None, "the daemon to have looked at them")
    wait_until(lambda: [node.copies(data) for node in nodes] == before, "the copies")
    expect(pushed(nodes[0]) == 0, f"{pushed(nodes[0])} frames were pushed")
    changed = sorted(before[0])[0], sorted(before[1])[0]
    for name in changed:
        nodes.serial(nodes[0], [PYTHON, "-c", WRITE, data.file(name)]).succeeded()
    wait_until(lambda: pushed(nodes[0]) == 2, "the changed frames to be pushed")
    for name in changed:
        copies = []
        for node in nodes:
            if name in node.copies(data):
                with open(node.cache + data.file(name), "rb") as copy:
                    copies.append(copy.read(4))
        expect(b"NEW!" in copies, f"{name}: no node has what was written")
