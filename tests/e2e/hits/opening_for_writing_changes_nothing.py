"""An open for reading and writing leaves copies, natives and pins. While it lasts, reads go to the
origin."""
import json
import os
import subprocess

from nodes import PYTHON, Nodes
from processes import Process, expect, wait_until

HOLDER = """
import mmap, os, sys
frame, go, how = sys.argv[1:]
fd = os.open(frame, os.O_RDWR)
if how == "mapped":
    page = mmap.mmap(fd, 0)
    os.close(fd)
elif how == "marked":  # as HDF5 does: it writes a mark, and takes it away again
    first = os.pread(fd, 1, 0)
    os.pwrite(fd, b"!", 0)
    os.pwrite(fd, first, 0)
elif how == "child":
    child = os.fork()
    if child != 0:
        os._exit(0)  # the descriptor lives on in the child
open(go + ".open", "w").close()
while not os.path.exists(go):
    pass
os._exit(0)
"""
# Each opens the frame for writing in its own way and writes nothing.
OPENS = {
    "O_RDWR": "import os,sys; os.open(sys.argv[1], os.O_RDWR)",
    "O_WRONLY": "import os,sys; os.open(sys.argv[1], os.O_WRONLY)",
    "O_APPEND": "import os,sys; os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)",
    "O_CREAT": "import os,sys; os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)",
    "r+": "import sys; open(sys.argv[1], 'r+b').read()",
    "a": "import sys; open(sys.argv[1], 'ab')",
    "mmap": "import mmap,sys; f = open(sys.argv[1], 'r+b'); mmap.mmap(f.fileno(), 0)[:]",
    "link": "import os,sys; os.symlink(sys.argv[1], sys.argv[2]); os.open(sys.argv[2], os.O_RDWR)",
    "proc": "import os,sys; fd = os.open(sys.argv[1], os.O_RDONLY); os.open(f'/proc/self/fd/{fd}', os.O_RDWR)",
    "fopen": "import ctypes,sys; ctypes.CDLL(None).fopen(sys.argv[1].encode(), b'r+')",
    "freopen": "import ctypes,sys; c = ctypes.CDLL(None); c.fopen.restype = ctypes.c_void_p;"
               " c.freopen(sys.argv[1].encode(), b'r+', ctypes.c_void_p(c.fopen(b'/dev/null', b'r')))",
    "spawn": "import os,sys; os.waitpid(os.posix_spawn('/bin/true', ['true'], {}, file_actions="
             "[(os.POSIX_SPAWN_OPEN, 5, sys.argv[1], os.O_RDWR, 0)]), 0)",
    "syscall": "import ctypes,sys; ctypes.CDLL(None).syscall(257, -100, sys.argv[1].encode(), 2)",
}


def state(node, data):
    """Each held frame with its kind and pin."""
    frames = json.loads(node.ctl("ls", data.path, "--json").succeeded().stdout)["frames"]
    return {frame["name"]: (frame["kind"], frame["pinned"]) for frame in frames}


def reads_from(node, data, name):
    told = json.loads(node.ctl("explain", "--json", data.file(name)).succeeded().stdout)
    return told["paths"][0]["reads"]


def check_hit(node, data, name):
    before = node.status()
    shown = nodes.serial(node, ["cksum", data.file("f0"), data.file(name)])
    after = node.status()
    expect(shown.status == 0 and after["hits"] - before["hits"] == 2, f"{name}: no hit")
    expect(shown.stdout == subprocess.run(["cksum", data.file("f0"), data.file(name)], text=True,
                                          capture_output=True).stdout, f"{name}: other bytes")


def check_held_open(node, data, name, how):
    go = nodes.path("go " + how)
    holder = Process([PYTHON, "-c", HOLDER, data.file(name), go, how], dict(nodes.env, **nodes.shim(node)))
    nodes.running.append(holder)
    wait_until(lambda: os.path.exists(go + ".open"), "the writer to open the frame")
    expect(name not in node.copies(data), f"{how}: the copy is served while a writer has the frame open")
    expect(reads_from(node, data, name) == "origin", f"{how}: explain")
    explained = node.ctl("explain", data.file(name)).succeeded().stdout
    expect("open for writing" in explained, f"{how}: {explained}")
    before = node.status()
    nodes.serial(node, ["cat", data.file("f0"), data.file(name)]).succeeded()
    after = node.status()
    expect(after["misses"] - before["misses"] == 1, f"{how}: a reader beside the writer has a hit")
    expect(node.ctl("verify", data.path).status == 0, f"{how}: verify")
    open(go, "w").close()
    nodes.running.remove(holder)
    expect(holder.finish().status == 0, how)
    wait_until(lambda: name in node.copies(data), f"{how}: the copy to be served again")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=40, ordinary=False, sizes=(5000,))
    for name in data.frames:
        os.utime(data.file(name), (1e9, 1e9))  # whole for a long time
    nodes.start()
    node = nodes[0]
    nodes.push(data)
    node.ctl("evict", data.path, "--frames", "20-39").succeeded()
    nodes.warm(node, data, data.frames)  # those are fetched
    node.ctl("pin", data.path, "10-30").succeeded()
    before = state(node, data)
    expect(len(before) == 40 and len(set(before.values())) == 4, f"pins and kinds: {before}")

    names = sorted(data.frames - {"f0"})
    for number, (how, text) in enumerate(OPENS.items()):
        name = names[number]
        nodes.serial(node, [PYTHON, "-c", text, data.file(name), nodes.path("link")]).succeeded()
        wait_until(lambda: name in node.copies(data), f"{how}: the copy to be served again")
        check_hit(node, data, name)
    for number, how in enumerate(("open", "mapped", "marked", "child"), len(OPENS)):
        check_held_open(node, data, names[number], how)
        check_hit(node, data, names[number])
    everything = [PYTHON, "-c", "import sys\nfor f in sys.argv[1:]: open(f, 'r+b').close()"]
    nodes.serial(node, everything + [data.file(name) for name in names]).succeeded()
    wait_until(lambda: node.copies(data) == data.frames, "all copies")
    expect(state(node, data) == before, f"kinds and pins are others: {state(node, data)}")
    expect(node.ctl("verify", data.path).status == 0, "verify")
