"""An origin whose server does not answer blocks nothing else. Other datasets are served, filled and
swept, and the daemon stops at SIGTERM. Needs root, for the mount."""
import os

from nodes import Nodes, skip
from processes import expect, wait_until
from silent_server import SilentServer

if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
    skip("no root, or no FUSE")

with Nodes(1) as nodes:
    hanging = nodes.dataset(frames=20, name="hanging", template="h{seq}", ordinary=False)
    data = nodes.dataset(frames=20, name="data", sizes=(1000,), ordinary=False)
    nodes.configure('sweep = "1s"\n')
    node = nodes[0]
    node.start()
    nodes.push(hanging)
    nodes.push(data)
    try:
        server = SilentServer(hanging.path)
    except OSError as error:
        node.stop()
        skip(f"no FUSE here: {error}")
    try:
        server.wait_for_a_question()  # by the sweep: nothing else uses that dataset
        node.configure([data])  # for zazenctl, which looks at the datasets that it reads of
        names = sorted(data.frames)
        nodes.serial(node, ["cat", *map(data.file, names)]).succeeded()
        node.ctl("evict", data.path).succeeded()
        nodes.warm(node, data, names)
        node.ctl("verify", data.path).succeeded()
        data.rewrite("f3")
        wait_until(lambda: "f3" not in node.copies(data), "the sweep to find a rewritten frame")
        expect(len(node.copies(hanging)) == 20, "copies were dropped because nobody answered")
        node.stop()
    finally:
        server.close()

    # Nothing was lost by it.
    nodes.configure()
    node.start()
    wait_until(lambda: not any(d["checks_each_open"] for d in node.status()["datasets"]),
               "nothing to be in doubt")
    expect(node.held(hanging) == 20, "all copies are there")
