"""A dataset whose directory is replaced through the shim is served stale to no program."""
import os

from nodes import PYTHON, Nodes
from processes import Process, expect, wait_until

READER = """
import os, sys
first, second, go = sys.argv[1:]
open(first).read()
open(go + ".read", "w").close()
while not os.path.exists(go):
    pass
print(open(second).read(), end="")
"""

for keys in ('validate = "sample"', 'validate = "never"'):
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=200, ordinary=False, sizes=(64,), keys=keys)
        other = data.path + "-new"
        os.mkdir(other)
        for name in data.frames:
            for directory, text in ((data.path, "old"), (other, "new")):
                with open(os.path.join(directory, name), "w") as file:
                    file.write(text)
                os.utime(os.path.join(directory, name), (1e9, 1e9))
        nodes.start()
        node = nodes[0]
        nodes.warm(node, data, data.frames)
        go = nodes.path("go")
        reader = Process([PYTHON, "-c", READER, data.file("f1"), data.file("f150"), go],
                         dict(nodes.env, **nodes.shim(node)))
        nodes.running.append(reader)
        wait_until(lambda: os.path.exists(go + ".read"), "the reader to use the dataset")
        nodes.serial(node, ["mv", data.path, data.path + "-old"]).succeeded()
        nodes.serial(node, ["mv", other, data.path]).succeeded()
        open(go, "w").close()
        nodes.running.remove(reader)
        shown = reader.finish()
        expect(shown.stdout == "new", f"{keys}: a process that used it before: {shown}")
        shown = nodes.serial(node, ["cat", data.file("f0"), data.file("f151")])
        expect(shown.stdout == "newnew", f"{keys}: a new process: {shown}")
