"""A daemon that was started behind the shim, from a shell that exports it, changes its own copies
and never the origin."""
import os

from nodes import BUILD, SHIM, Nodes, skip
from processes import expect

with open(f"{BUILD}/CMakeCache.txt") as cache:
    if "\nZAZEN_SANITIZE:STRING=\n" not in cache.read():
        skip("a daemon with a sanitizer refuses to be behind any preload")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(5000,), keys='validate = "never"')
    names = [f"f{seq}" for seq in range(8)]
    before = {name: os.stat(data.file(name)) for name in names}
    nodes.env.update(LD_PRELOAD=SHIM, ZAZEN_CONFIG=nodes[0].config)
    nodes.start()
    nodes.warm(nodes[0], data, names)
    nodes.wait_for_aliens(data, 8)
    nodes.push(data)  # aliens become natives: their attribute is written again
    expect(nodes[0].held(data, "native") == 8, "the copies did not become natives")
    for name in names:
        after = os.stat(data.file(name))
        expect((before[name].st_mode, before[name].st_ctime_ns) ==
               (after.st_mode, after.st_ctime_ns), f"the daemon changed {name}: {after}")
    hits = nodes[0].status()["hits"]
    nodes.serial(nodes[0], ["cat", *(data.file(name) for name in names)]).succeeded()
    expect(nodes[0].status()["hits"] == hits + 8, "the natives are not served")
