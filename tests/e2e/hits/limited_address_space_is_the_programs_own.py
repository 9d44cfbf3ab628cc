"""The identity index is not mapped where it would take much of a program's limit of address space.
The program sees the same identity, by the copy's attribute."""
import os

from nodes import Nodes
from processes import expect

LIMIT = 12_000_000  # a 64th of it is less than the smallest index

with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.start()
    node = nodes[0]
    nodes.push(data)
    index = os.path.join(node.runtime, "index")
    expect(os.path.getsize(index) * 64 > LIMIT, "no test")
    limited = ["prlimit", f"--as={LIMIT}", "--"]

    def maps(before):
        # cat asks for the identity of what it has opened.
        return nodes.serial(node, [*before, "cat", data.file("f1"), "/proc/self/maps"]).succeeded().stdout
    expect(index in maps([]), "the index is not used at all")
    expect(index not in maps(limited), "the index is mapped into a small address space")

    for path in (data.file("f2"), data.file("f3")):
        st = os.stat(path)
        said = nodes.serial(node, [*limited, "stat", "-c", "%i %s %Z", path]).succeeded().stdout
        expect(said == f"{st.st_ino} {st.st_size} {int(st.st_ctime)}\n", f"{path}: {said}")
    hits = node.status()["hits"]
    nodes.serial(node, [*limited, "cat", data.file("f2")]).succeeded()
    expect(node.status()["hits"] == hits + 1, "it is served from the cache")
