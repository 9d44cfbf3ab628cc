"""A thousand programs of twenty users read at the same time, through the shim. Each gets the right
bytes, each user has one worker, and afterwards the frames are cached once."""
import hashlib
import os

from forked import start_as
from people import SystemNode, User
from processes import expect, wait_until
from workers import Workers, is_alive

USERS, PROCESSES, FRAMES = 20, 50, 12

with SystemNode() as node:
    data = node.dataset(FRAMES, sizes=(20_000,))
    files = [data.file(f"f{seq}") for seq in range(FRAMES)]
    node.start()
    zazend = node.node.pid()
    env = dict(node.nodes.env, LD_PRELOAD=node.shim, ZAZEN_CONFIG=node.node.config)
    expected = hashlib.sha256(b"".join(open(path, "rb").read() for path in files)).hexdigest()
    go, given = os.pipe()

    def read_all():
        """It begins when all are there."""
        os.close(given)
        os.read(go, 1)
        script = 'test "$(cat "$@" | sha256sum)" = "$0  -"'
        os.execve("/bin/sh", ["sh", "-c", script, expected, *files], env)

    users = [User(f"user {i}", 74_000 + i) for i in range(USERS)]
    running = [start_as(user, read_all) for user in users for _ in range(PROCESSES)]
    os.close(go)
    os.close(given)
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in running)
    expect(failed == 0, f"{failed} of {len(running)} programs read something else")
    expect(is_alive(zazend) and zazend == node.node.status()["pid"], "the same daemon serves")
    workers = Workers(zazend)
    for user in users:
        expect(len(workers.of_uid(user.uid)) <= 1, f"{user} has {len(workers.of_uid(user.uid))} workers")

    def all_cached():
        hits = node.read(users[0], files)
        expect(all("bytes" in hits[path] for path in files), "the bytes")
        return node.node.counts(data, {os.path.basename(path) for path in files})
    wait_until(all_cached, "all frames to be cached")
