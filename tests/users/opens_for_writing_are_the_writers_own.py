"""Only a user who may write a frame may suspend its copy by an open. Rights stay as they were."""
import os

from nodes import PYTHON
from people import ALICE, BOB, CAROL, SystemNode
from processes import Process, expect, wait_until
from wire import INVALIDATE, OPEN_FOR_WRITING, ask

HOLDER = """
import os, sys
frame, go = sys.argv[1:]
fd = os.open(frame, os.O_RDWR)
open(go + ".open", "w").close()
while not os.path.exists(go):
    pass
"""

with SystemNode() as node:
    data = node.dataset(4, sizes=(5000,))
    for name in data.frames:
        os.chmod(data.file(name), 0o660)  # of alice and her team
        os.utime(data.file(name), (1e9, 1e9))
    node.start()
    node.read(ALICE, [data.file(name) for name in sorted(data.frames)])
    node.wait_for_copies(data, data.frames)
    files = [data.file(name) for name in data.frames]

    answer = CAROL.do(lambda: ask(node.node.runtime, INVALIDATE, data.path, "f1", flags=OPEN_FOR_WRITING))
    expect(node.node.copies(data) == data.frames, f"carol suspends what she may not write: {answer}")

    go = os.path.join(node.directory, "go")
    env = dict(node.nodes.env, LD_PRELOAD=node.shim, ZAZEN_CONFIG=node.node.config)
    os.chmod(node.directory, 0o777)
    holders = []
    for user in (ALICE, BOB):
        argv = user.command([PYTHON, "-c", HOLDER, data.file("f2"), f"{go}-{user}"])
        holders.append(Process(argv, env))
        node.nodes.running.append(holders[-1])
        wait_until(lambda: os.path.exists(f"{go}-{user}.open"), f"{user} to open it")
        expect(node.node.copies(data) == data.frames - {"f2"}, f"{user} has it open: {node.node.copies(data)}")
    for user, holder in zip((ALICE, BOB), holders):
        expect("f2" not in node.node.copies(data), "one of them has it open")
        node.check(BOB, files, "beside a writer")
        open(f"{go}-{user}", "w").close()
        node.nodes.running.remove(holder)
        expect(holder.finish().status == 0, f"{user}")
    wait_until(lambda: node.node.copies(data) == data.frames, "the copy to be served again")
    node.check(BOB, files, "afterwards")
    node.check(CAROL, files, "afterwards")
    expect(node.readable_copies(BOB, files) == set(files), "bob may read the copies")
    expect(node.readable_copies(CAROL, files) == set(), "carol may not")
