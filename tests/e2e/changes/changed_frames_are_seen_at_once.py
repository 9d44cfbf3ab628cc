"""After one process's rename or unlink has returned, another process that opens the frame reads the
new version. This holds beside fills of the same frame, and also if the changing process has no free
descriptor."""
import subprocess

from lock_step import LockStep
from nodes import Nodes
from processes import expect

COUNT = 1000

with Nodes(1) as nodes:
    data = nodes.dataset(frames=1, sizes=(10,), keys='validate = "never"')
    step = LockStep(data, 2 * COUNT)
    nodes.start()
    node = nodes[0]

    def start(argv, stdin, stdout):
        return subprocess.Popen(argv, env=dict(nodes.env, **nodes.shim(node)), stdin=stdin, stdout=stdout)

    for starved in (False, True):
        before = node.status()["fills"]
        step.run(node.cache, start, start, COUNT, starved)
        fills = node.status()["fills"] - before
        expect(fills > COUNT // 50, f"hardly anything was cached: {fills} fills, no test")
