"""A daemon is stopped right after programs have changed frames. The other nodes drop these copies,
or check each open until they have compared them."""
import os

from changed_frames import KEYS, PYTHON, SIZE, Nodes, expect, start_nodes

WRITER = """
import os, signal, sys
for name in sys.argv[2:]:
    with open(name, "r+b") as file:
        file.write(b"NEWER")
os.kill(int(sys.argv[1]), signal.SIGTERM)
"""
READER = """
import sys
for name in reversed(sys.argv[1:]):
    with open(name, "rb") as file:
        if file.read(5) != b"NEWER":
            print(name)
"""

for over_tcp in (False, True):
    with Nodes(2) as nodes:
        data = nodes.dataset(frames=150, sizes=(SIZE,), keys=KEYS)
        for name in data.frames:
            os.utime(data.file(name), (1e9, 1e9))
        start_nodes(nodes, over_tcp)
        for node in nodes:
            nodes.warm(node, data, sorted(data.frames))
        changed = [f"f{i}" for i in range(150)]
        nodes.serial(nodes[0], [PYTHON, "-c", WRITER, str(nodes[0].pid()), *map(data.file, changed)]).succeeded()
        nodes[0].finish()
        done = nodes.serial(nodes[1], [PYTHON, "-c", READER, *map(data.file, changed)]).succeeded()
        expect(done.stdout == "", f"old on {nodes[1].name}: {done.stdout}")
