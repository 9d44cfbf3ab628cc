"""A copy that is fetched while a writer has the frame open, before it writes, is not kept."""
import os

from nodes import PYTHON, Nodes
from processes import Process, expect, wait_until

WRITER = """
import os, sys
frame, go = sys.argv[1:]
fd = os.open(frame, os.O_RDWR)
open(go + ".open", "w").close()
while not os.path.exists(go):
    pass
os.pwrite(fd, b"NEW", 0)
os.close(fd)
"""

with Nodes(1) as nodes:
    data = nodes.dataset(frames=200, ordinary=False, sizes=(64,))
    for name in data.frames:
        with open(data.file(name), "w") as file:
            file.write("old")
        os.utime(data.file(name), (1e9, 1e9))  # whole for a long time
    nodes.start()
    node = nodes[0]
    nodes.warm(node, data, data.frames)
    frame, go = data.file("f151"), nodes.path("go")
    writer = Process([PYTHON, "-c", WRITER, frame, go], dict(nodes.env, **nodes.shim(node)))
    nodes.running.append(writer)
    wait_until(lambda: os.path.exists(go + ".open"), "the writer to open the frame")
    wait_until(lambda: "f151" not in node.copies(data), "the copy to go")
    nodes.warm(node, data, ["f151"])  # of the old content
    nodes.serial(node, ["cat", data.file("f0")]).succeeded()  # a sample, before it can tell
    open(go, "w").close()
    nodes.running.remove(writer)
    expect(writer.finish().status == 0, "the writer")
    # The first open of a process is compared in any case; so another frame goes first.
    shown = nodes.serial(node, ["head", "-qc", "3", data.file("f0"), frame])
    expect(shown.stdout.endswith("NEW"), f"after the write: {shown}")
