"""A program changes frames with no free descriptor, or only one; or it cannot reach the daemon's
socket after a chroot(). It cannot tell the daemon, and the copies are root's. Others still read the
new version."""
import os

from nodes import PYTHON
from people import ALICE, BOB, SystemNode
from processes import expect, run, wait_until

# Changes one frame, with a given number of free descriptors, or in a root directory that is the dataset.
CHANGE = """
import os, resource, sys
way, free, path = sys.argv[1:]
if free == 'chroot':
    os.stat(path)  # it has used the dataset before
    os.chdir(os.path.dirname(path))
    os.chroot('.')
    path = os.path.basename(path)
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    try:
        while True:
            taken.append(os.dup(2))
    except OSError:
        pass
    for _ in range(int(free)):
        os.close(taken.pop())
if way == 'open':
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, b'new', 0)
elif way == 'rename':
    os.rename(path + '.new', path)
elif way == 'unlink':
    os.unlink(path)
elif way == 'truncate':
    os.truncate(path, 3)
elif way == 'stat':
    os.stat(path)
"""
CASES = [("open", "1"), ("open", "chroot")] + [
    (way, free) for way in ("rename", "unlink", "truncate") for free in ("0", "1", "chroot")]


def change(way, free, path):
    """As Alice, who may do a chroot() where that is the way."""
    env = dict(node.nodes.env, LD_PRELOAD=node.shim, ZAZEN_CONFIG=node.node.config)
    words = ALICE.command([PYTHON, "-I", "-c", CHANGE, way, free, path])
    if free == "chroot":
        words[1:1] = ["--inh-caps=+sys_chroot", "--ambient-caps=+sys_chroot"]
    run(words, env).succeeded()


with SystemNode() as node:
    found = node.dataset(2, name="found", sizes=(1000,))  # "sample": a stale copy is found
    datasets = [node.dataset(2, name=f"{way}-{free}", sizes=(1000,), keys='validate = "never"')
                for way, free in CASES]
    for data in [found, *datasets]:
        os.chmod(data.path, 0o755)
        for name in data.frames:
            os.chmod(data.file(name), 0o644)
            os.utime(data.file(name), (1e9, 1e9))
    node.start()
    for data in [found, *datasets]:
        node.nodes.push(data)
    # Her frames are cached: so she has a file to count in, though no program of hers has come yet.
    wait_until(lambda: os.path.exists(f"{node.node.runtime}/users/{ALICE.uid}"), "Alice's counters")
    wait_until(lambda: not any(d["checks_each_open"] for d in node.node.status()["datasets"]),
               "nothing to be in doubt")
    for (way, free), data in zip(CASES, datasets):
        path = data.file("f1")
        before = node.read(BOB, [path])
        if way == "rename":
            with open(path + ".new", "w") as file:
                file.write("another")
            os.chmod(path + ".new", 0o644)
            os.chown(path + ".new", ALICE.uid, ALICE.gid)
        change(way, free, path)
        wait_until(lambda: node.node.status_of(data)["checks_each_open"], f"{way}, {free}: the doubt")
        expect(f"event=changes_not_told dataset={data.path} " in node.node.said(),
               f"{way}, {free}: the daemon was told in another way")
        plain = node.read(BOB, [path], plain=True)
        expect(plain != before, f"{way}, {free}: nothing was changed")
        shown = node.read(BOB, [path])
        expect(shown == plain, f"{way}, {free}: {shown}, not {plain}")

    # A stale copy that such a program finds is told of in the same way.
    with open(found.file("f1"), "ab") as file:
        file.write(b"more")
    change("stat", "0", found.file("f1"))
    wait_until(lambda: node.node.status_of(found)["checks_each_open"], "the doubt about what was found")
