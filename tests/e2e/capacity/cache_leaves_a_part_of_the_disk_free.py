"""Without keep_free the copies leave a twentieth of the disk free; with keep_free they leave that
amount. A reload changes it. The disk is a 64 MB file system."""
import os
import signal

from filesystem import FileSystem
from nodes import Nodes
from processes import expect, run, wait_until

SIZE, FRAMES = 1_000_000, 70

with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    node = nodes[0]
    words = ["sha256sum", *(data.file(f"f{seq}") for seq in range(FRAMES))]
    plain = run(words, nodes.env).succeeded().stdout
    with FileSystem(nodes.path("image"), node.cache, 64):
        def free():
            disk = os.statvfs(node.cache)
            return disk.f_bavail / disk.f_blocks

        def check(least, what):
            """As much is free as must be, and not more than three frames beyond it."""
            for _ in range(3):
                expect(nodes.serial(node, words).succeeded().stdout == plain, "the same output")
                node.settle()
            expect(least <= free() < least + 0.06, f"{what}: {free():.3f} is free")

        nodes.configure()
        node.start()
        check(0.05, "by default")
        expect("below keep_free" not in node.ctl("doctor").stdout, "that is in order")

        nodes.configure('keep_free = "30%"\n')
        node.signal(signal.SIGHUP)
        wait_until(lambda: free() >= 0.30, "copies to go")
        expect("keep_free=30%" in node.said(), node.said())
        check(0.30, "after a reload")

        nodes.configure("keep_free = 0\n")
        node.signal(signal.SIGHUP)
        wait_until(lambda: "keep_free=0" in node.said(), "the second reload")
        check(0, "all of the disk")
        nodes.configure()
        node.stop()
        node.start()
        wait_until(lambda: free() >= 0.05, "the limit to be kept at the next start")
        node.stop()
