"""A frame that is evicted while it is open and mapped reads the same, and keeps its identity."""
import os
import subprocess

from nodes import PYTHON, SOURCES, Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=1, sizes=(3_000_001,), ordinary=False)
    nodes.start()
    node = nodes[0]
    nodes.warm(node, data, ["f0"])
    path = data.file("f0")
    reader = subprocess.Popen([PYTHON, f"{SOURCES}/hold_open.py", path], text=True,
                              env=dict(nodes.env, **nodes.shim(node)),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        expect(reader.stdout.readline() == "ready\n", "the reader is ready")
        copies = [os.path.realpath(f"/proc/{reader.pid}/fd/{fd}")
                  for fd in os.listdir(f"/proc/{reader.pid}/fd")]
        expect(node.cache + path in copies, f"it reads the copy: {copies}")
        node.ctl("evict", path).succeeded()
        expect(node.copies(data) == set(), "the copy's name is gone")
        said = reader.communicate("go\n", timeout=60)[0].split()
    finally:
        reader.kill()
        reader.wait()
    st = os.stat(path)
    size, sum_ = data.sums["f0"]
    expect(said == [str(sum_), str(sum_), str(st.st_dev), str(st.st_ino), str(size),
                    str(st.st_mtime_ns), "same"], f"{said}")
