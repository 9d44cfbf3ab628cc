"""A frame that is written, truncated, renamed over or removed through the shim is never served
stale."""
from nodes import PYTHON, Nodes
from processes import expect

PROGRAM = """
import os, sys
directory = sys.argv[1]
def put(name, data):
    with open(f"{directory}/{name}", "wb") as file: file.write(data)
def get(name):
    with open(f"{directory}/{name}", "rb") as file: return file.read()
for name in "f0 f1 f2 f3 f4".split(): get(name)
put("f0", b"new")
assert get("f0") == b"new"
os.truncate(f"{directory}/f1", 1)
assert len(get("f1")) == 1 and os.stat(f"{directory}/f1").st_size == 1
put("later", b"renamed")
os.rename(f"{directory}/later", f"{directory}/f2")
assert get("f2") == b"renamed"
os.unlink(f"{directory}/f3")
assert not os.path.exists(f"{directory}/f3") and "f3" not in os.listdir(directory)
with open(f"{directory}/f4", "r+b") as file: file.write(b"begin")
assert get("f4")[:5] == b"begin"
os.rename(f"{directory}/f5", f"{directory}/f6")
assert not os.path.exists(f"{directory}/f5")
"""

with Nodes(1) as nodes:
    data = nodes.dataset(frames=10, sizes=(5000,))
    nodes.start()
    nodes.push(data)
    nodes.serial(nodes[0], [PYTHON, "-c", PROGRAM, data.path]).succeeded()
    expect(nodes[0].status()["hits"] >= 5, "nothing was served from the cache: no test")
    again = nodes.serial(nodes[0], ["sh", "-c", 'cat "$0"/f0 "$0"/f2', data.path])
    expect(again.stdout == "newrenamed", f"another process: {again}")
