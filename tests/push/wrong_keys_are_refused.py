"""A writer with another key or none stores nothing. A key file that others can read is refused at
the start, and so is a port for all machines without a key."""
import errno
import os
import shutil
import tempfile

from network import (BY_KEY, BY_LOOPBACK, PUSH_FRAMES, Content, Nodes, Stranger, check_held, expect, free_port,
                     listen, make_key, push)
from nodes import ZAZEND
from processes import run

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    key, other = make_key(nodes), make_key(nodes, "other")
    content = Content(nodes, {"f1": 1000})

    def refused(extra, *words):
        node.configure([data], extra)
        done = run([ZAZEND, "--config", node.config], nodes.env, seconds=20)
        expect(done.status != 0 and done.stderr.startswith("zazend: error: "), f"{extra}: {done}")
        for word in words:
            expect(word in done.stderr, f"{word!r} is not in {done.stderr}")

    port = free_port()
    munge = os.path.exists("/run/munge/munge.socket.2")
    if not munge:
        refused(f'listen = "0.0.0.0:{port}"\n', "0.0.0.0", "key_file")
        refused(f'listen = "[::]:{port}"\n', "key_file")
        if os.geteuid() == 0:
            refused(f'listen = "127.0.0.1:{port}"\nusers = "all"\n', "key_file")
    for name, content_of_key, mode, word in (("short", b"x" * 15, 0o600, "16"),
                                             ("open", b"x" * 32, 0o640, "chmod 600"),
                                             ("missing", None, 0, "/dev/urandom")):
        path = nodes.path(name)
        if content_of_key is not None:
            with open(path, "wb") as file:
                file.write(content_of_key)
            os.chmod(path, mode)
        refused(f'listen = "127.0.0.1:{port}"\nkey_file = "{path}"\n', "key file", path, word)
    for wrong in ("nowhere", "n0:", ":7117", "n0:70000", "::1:7117", "[::1]", "n0:7117x"):
        refused(f'listen = "{wrong}"\n', "HOST:PORT")

    listen(node, [data], key)
    for wrong in (other, None):
        answers, done = push(nodes, node.address, wrong, data, "bytes", content.words())
        expect(answers == {} and done.status == 3, f"{done}")
    for secret, method in ((b"", BY_LOOPBACK), (b"", BY_KEY), (os.urandom(32), BY_KEY)):
        with Stranger(node.address) as stranger:
            expect(stranger.introduce(secret, method) == errno.EACCES, "a stranger was let in")
            expect(stranger.is_closed(), "and is not closed")
    check_held(node, data, content, [])
    expect(node.status()["network"]["refused"] >= 4, f"{node.status()['network']}")
    with open(key, "rb") as file:
        secret = file.read()
    with Stranger(node.address) as friend:
        expect(friend.introduce(secret, BY_KEY) == 0, "the key is the only difference")
    answers, done = push(nodes, node.address, key, data, "bytes", content.words())
    expect(answers == {"f1": 0}, f"{done}")
    check_held(node, data, content)
    node.stop()

    # Without a key, by loopback: the daemon's own user, and nobody else.
    if os.geteuid() == 0:
        listen(node, [data])
        with tempfile.TemporaryDirectory() as shared:
            os.chmod(shared, 0o755)
            shutil.copy(PUSH_FRAMES, shared)
            shutil.copy(content.file("f1"), shared)
            other = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                         f"{shared}/push_frames", node.address, "-", data.path, "bytes", "f2", f"{shared}/f1"],
                        nodes.env, cwd="/", seconds=60)
        if not munge:
            expect(other.status == 3 and "65534" in node.said(), f"{other}")
        check_held(node, data, content)
