"""A cache on a 64 MB file system fills up. The program's output is the same, and the held copies
are whole. Aliens are evicted for others, natives are refused with a message, and the daemon stays
healthy."""
import os

from filesystem import FileSystem
from nodes import Nodes
from processes import expect, run

SIZE, FRAMES = 2_000_000, 48

with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    node = nodes[0]
    with FileSystem(nodes.path("image"), node.cache, 64):
        nodes.configure("keep_free = 0\n")
        node.start()
        words = ["sha256sum", *(data.file(f"f{seq}") for seq in range(FRAMES))]
        plain = run(words, nodes.env).succeeded().stdout
        for _ in range(4):
            done = nodes.serial(node, words).succeeded()
            expect(done.stdout == plain and done.stderr == "", "the same output")
            node.settle()
        status = node.status()
        expect(20 <= status["used_files"] < FRAMES, f"as many as fit: {status['used_files']}")
        expect(status["healthy"] and status["hits"] > 0, f"{status}")
        held = node.copies(data)
        expect(len(held) == status["used_files"], f"{held} are not the copies of {status}")
        for name in held:
            with open(data.file(name), "rb") as origin, \
                 open(f"{node.cache}{data.path}/{name}", "rb") as copy:
                expect(origin.read() == copy.read(), f"{name} is whole")

        # Another program fills the rest of the disk: the daemon must not remove its files.
        with open(f"{node.cache}/theirs", "wb") as theirs:
            try:
                while True:
                    os.write(theirs.fileno(), bytes(1 << 16))
            except OSError:
                pass
        done = nodes.serial(node, words).succeeded()
        expect(done.stdout == plain and done.stderr == "", "the same output on a full disk")
        node.settle()
        expect(os.path.exists(f"{node.cache}/theirs"), "their file is there")
        pushed = node.ctl("push", data.path)
        expect(pushed.status == 1 and "No space left" in pushed.stderr, f"{pushed}")
        expect(node.status()["healthy"], "a full disk is not a failing one")
        done = nodes.serial(node, words).succeeded()
        expect(done.stdout == plain, "the same output with what was pushed")
        node.stop()
