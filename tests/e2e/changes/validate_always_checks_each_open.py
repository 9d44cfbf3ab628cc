"""With validate = "always" a single frame that was rewritten is never served stale."""
import os

from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=200, sizes=(3000,), keys='validate = "always"')
    nodes.start()
    nodes.push(data)
    for name in ("f17", "f99", "f150"):
        nodes.serial(nodes[0], ["cat", data.file(name)]).succeeded()
        data.rewrite(name)
        shown = nodes.serial(nodes[0], ["sha256sum", data.file(name)]).stdout
        os.link(data.file(name), nodes.path(name))  # the same bytes, by a name that is no frame's
        plain = nodes.serial(nodes[0], ["sha256sum", nodes.path(name)]).stdout
        expect(shown.split()[0] == plain.split()[0], f"old bytes of {name}")
    expect(nodes[0].status()["hits"] >= 3, "nothing was served from the cache: no test")
