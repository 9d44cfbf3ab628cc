"""A worker takes at most 8 MB that it shares with no other process: idle, while it fills frames of
any size, and afterwards."""
import os

from nodes import is_sanitized, skip
from people import BOB, SystemNode
from processes import expect, wait_until
from workers import Workers, private_kilobytes

LIMIT = 8 * 1024
SIZES, FRAMES = (4096, 3_000_000, 40_000_000), 9

if is_sanitized():
    skip("a sanitizer keeps what was freed")


def check(workers, when):
    expect(workers, f"{when}: there is no worker")
    for pid in workers:
        kilobytes = private_kilobytes(pid)
        expect(kilobytes <= LIMIT, f"{when}: worker {pid} has {kilobytes} kB")
        print(f"{when}: {kilobytes} kB")


with SystemNode() as node:
    data = node.dataset(FRAMES, sizes=SIZES)
    names = {f"f{seq}" for seq in range(FRAMES)}
    for name in names:
        os.chmod(data.file(name), 0o644)
    node.start()
    workers = Workers(node.node.pid())
    node.ctl(BOB, "status").succeeded()
    check(workers.of(BOB), "without work")
    node.read(BOB, [data.file(name) for name in names])

    def all_cached():
        check(workers.of(BOB), "while it fills")
        return node.node.counts(data, names)
    wait_until(all_cached, "all frames to be cached", seconds=60)
    check(workers.of(BOB), "afterwards")
