"""A quota on the cache (EDQUOT, on btrfs) is handled like a full cache. The program's output is the
same. Aliens are evicted for others and for a push, natives are refused with a message, and the
daemon is healthy."""
import os
import shutil

from filesystem import call, make_image
from nodes import Nodes, skip
from processes import expect, run, wait_until

SIZE, FRAMES, LIMIT_MB = 2_000_000, 32, 32

if os.geteuid() != 0 or not shutil.which("mkfs.btrfs"):
    skip("no root, or no btrfs-progs")


def mount(image, place):
    os.makedirs(place)
    make_image(image, 256)
    for words in (["mkfs.btrfs", "-q", image], ["mount", "-o", "loop", image, place],
                  ["btrfs", "quota", "enable", place],
                  ["btrfs", "qgroup", "limit", f"{LIMIT_MB}M", place]):
        status, said = call(*words)
        if status != 0:
            call("umount", place)
            skip(f"{words}: {said}")
    os.chmod(place, 0o700)


with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    more = nodes.dataset(frames=FRAMES, name="more", sizes=(SIZE,), ordinary=False)
    node = nodes[0]
    mount(nodes.path("image"), node.cache)
    try:
        nodes.configure()
        node.start()
        words = ["sha256sum", *(data.file(f"f{seq}") for seq in range(FRAMES))]
        plain = run(words, nodes.env).succeeded().stdout
        for _ in range(3):
            done = nodes.serial(node, words).succeeded()
            expect(done.stdout == plain and done.stderr == "", "the same output")
            node.settle()
        status = node.status()
        expect(8 <= status["used_files"] < FRAMES, f"as many as fit: {status['used_files']}")
        expect(status["healthy"] and status["hits"] > 0, f"{status}")

        # Of another dataset: an alien that is pushed itself becomes a native, and nothing is evicted.
        pushed = node.ctl("push", more.path)
        expect(pushed.status == 1 and "quota exceeded" in pushed.stderr.lower(), f"{pushed}")
        # Pushes that were under way when the tool gave up may be stored a moment later.
        wait_until(lambda: node.held(more, "native") >= 8, "natives to take the place of aliens")
        status = node.status()
        expect(status["evictions"] > 0, f"nobody gave way: {status}")
        expect(status["healthy"], "a quota is not a failing disk")
        done = nodes.serial(node, words).succeeded()
        expect(done.stdout == plain, "the same output with what was pushed")
        node.stop()
    finally:
        node.abandon()
        call("umount", node.cache)
