"""A daemon does not answer for a while, and a program gives up waiting for it. The other nodes
still hear of every change."""
import os

from changed_frames import KEYS, PYTHON, SIZE, Nodes, expect, has_copy, read, start_nodes, wait_until

# The daemon stands still for less than the time after which it would doubt all its copies.
WRITER = """
import os, signal, sys, time
daemon = int(sys.argv[1])
os.kill(daemon, signal.SIGSTOP)
if os.fork() == 0:
    time.sleep(0.8)
    os.kill(daemon, signal.SIGCONT)
    os._exit(0)
for name in sys.argv[2:]:
    with open(name, "r+b") as file:
        file.write(b"NEWER")
os.wait()
"""

with Nodes(2) as nodes:
    data = nodes.dataset(frames=12, sizes=(SIZE,), keys=KEYS)
    for name in data.frames:
        os.utime(data.file(name), (1e9, 1e9))
    start_nodes(nodes, over_tcp=False)
    for node in nodes:
        nodes.warm(node, data, sorted(data.frames))
    changed = [f"f{i}" for i in range(10)]
    nodes.serial(nodes[0], [PYTHON, "-c", WRITER, str(nodes[0].pid()), *map(data.file, changed)]).succeeded()
    wait_until(lambda: not any(has_copy(nodes[1], data, name) for name in changed),
               f"{nodes[1].name} to drop all of them", 15)
    expect(has_copy(nodes[1], data, "f10"), "the others stay")
    for name in changed:
        expect(read(nodes, nodes[1], data, name).startswith(b"NEWER"), f"{name} is old on {nodes[1].name}")
