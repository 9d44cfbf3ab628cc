"""A frame that a writer has open is not copied, even before the first write."""
import os

from nodes import PYTHON, Nodes
from processes import Process, expect, wait_until

WRITER = """
import mmap, os, sys
frame, go, how = sys.argv[1:]
fd = os.open(frame, os.O_RDWR)
if how == "mapped":  # only the first store moves the time
    page = mmap.mmap(fd, 3)
    page[0:1] = b"o"
    os.close(fd)
open(go + ".open", "w").close()
while not os.path.exists(go):
    pass
if how == "mapped":
    page[0:3] = b"NEW"
else:
    os.pwrite(fd, b"NEW", 0)
"""


def check(node, data, name, how):
    frame, go = data.file(name), nodes.path("go " + how)
    writer = Process([PYTHON, "-c", WRITER, frame, go, how], dict(nodes.env, **nodes.shim(node)))
    nodes.running.append(writer)
    wait_until(lambda: os.path.exists(go + ".open"), "the writer to open the frame")
    wait_until(lambda: name not in node.copies(data), "the copy to go")
    node.ctl("evict", data.path, "--frames", "7-7").succeeded()
    nodes.serial(node, ["cat", frame]).succeeded()
    nodes.warm(node, data, ["f7"])  # asked for later, and there
    expect(name not in node.copies(data), f"a frame with a writer was copied: {how}")
    open(go, "w").close()
    nodes.running.remove(writer)
    expect(writer.finish().status == 0, "the writer")
    # The first open of a process is compared in any case; so another frame goes first.
    shown = nodes.serial(node, ["head", "-qc", "3", data.file("f0"), frame])
    expect(shown.stdout.endswith("NEW"), f"after the write: {shown}")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=200, ordinary=False, sizes=(64,))
    for name in data.frames:
        with open(data.file(name), "w") as file:
            file.write("old")
        os.utime(data.file(name), (1e9, 1e9))  # whole for a long time
    nodes.start()
    node = nodes[0]
    nodes.warm(node, data, data.frames)
    check(node, data, "f151", "open")
    check(node, data, "f152", "mapped")
