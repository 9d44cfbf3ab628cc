"""The real user of a program cannot see the cache, and its effective user can. The program compares
a copy at its first use as every other program does: a frame that was replaced without Zazen is not
served stale."""
import os

from nodes import PYTHON, Nodes
from people import BOB
from processes import expect

READ = "import os, sys; os.setresuid(int(sys.argv[2]), 0, 0); sys.stdout.write(open(sys.argv[1]).read())"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.utime(path, (1e9, 1e9))


with Nodes(1) as nodes:
    node = nodes[0]
    users = {nodes.dataset(frames=1, name=f"of{uid}", sizes=(3,), ordinary=False): uid for uid in (0, BOB.uid)}
    for data in users:
        write(data.file("f0"), "old")
    nodes.configure('sweep = "off"\n')
    node.start()
    for data, uid in users.items():
        nodes.push(data)
        write(data.path + ".new", "new")
        os.rename(data.path + ".new", data.file("f0"))
        shown = nodes.serial(node, [PYTHON, "-c", READ, data.file("f0"), str(uid)]).succeeded().stdout
        expect(shown == "new", f"real user {uid} reads {shown}")
