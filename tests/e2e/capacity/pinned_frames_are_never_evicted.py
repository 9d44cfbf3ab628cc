"""Frames that `zazenctl pin` has pinned stay in a full cache, in `evict`, and over a restart, until
they are unpinned."""
import json

from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=60, sizes=(1000,), ordinary=False)
    nodes.configure("capacity = 20000\n")
    node = nodes[0]
    node.start()
    first = [f"f{seq}" for seq in range(10)]
    said = node.ctl("pin", data.path, "0-9").succeeded().stdout
    expect("pinned" in said and "0 frames" in said, said)
    nodes.warm(node, data, first)
    nodes.wait_for_aliens(data, 10)

    def figures():
        return node.status()["datasets"][0]

    expect(figures()["pinned"] == 10 and figures()["pins"] == [[0, 9]], f"{figures()}")
    for _ in range(4):  # 50 frames compete for the other ten places
        nodes.serial(node, ["cat", *(data.file(f"f{seq}") for seq in range(10, 60))]).succeeded()
        node.settle()
    expect(set(first) <= node.copies(data), f"lost {set(first) - node.copies(data)}")
    node.ctl("push", data.path)  # natives, until no alien is left that may go
    expect(set(first) <= node.copies(data), f"lost {set(first) - node.copies(data)}")

    frames = json.loads(node.ctl("ls", data.path, "--json").succeeded().stdout)["frames"]
    expect({f["name"] for f in frames if f["pinned"]} == set(first), "ls shows who is pinned")
    node.stop()
    node.start()
    expect(figures()["pinned"] == 10, "pins survive a restart")
    gone = node.ctl("evict", data.path)
    expect("10 pinned frames stay" in gone.stdout and "hint: " in gone.stderr, f"{gone}")
    expect(node.copies(data) == set(first), f"{node.copies(data)}")
    one = node.ctl("evict", data.file("f3")).succeeded().stdout
    expect("pinned, stays" in one, one)

    node.ctl("unpin", data.file("f3")).succeeded()
    expect(figures()["pins"] == [[0, 2], [4, 9]], f"{figures()}")
    node.ctl("evict", data.file("f3")).succeeded()
    expect(node.copies(data) == set(first) - {"f3"}, "only f3 went")
    node.ctl("unpin", data.path).succeeded()
    node.ctl("evict", data.path).succeeded()
    expect(node.copies(data) == set(), "all went")

    for words in (("pin",), ("pin", data.path, "9-2"), ("pin", "/nowhere"),
                  ("unpin", data.file("f3"), "0-9")):
        expect(node.ctl(*words).status == 2, f"wrong usage: {words}")
