"""A user writes nonsense into the file in which his programs count: no copies of others go by it. Figures that
jump, or go back, make nobody's dataset idle, so a frame of his gets into a full cache only now and then."""
import os
import struct
import time

from people import ALICE, BOB, SystemNode
from processes import expect, wait_until

HELD, NEW, SIZE = 40, 40, 10_000
DATASET = struct.Struct("=QQ")  # hits, misses


def write_counters(user, dataset, hits):
    path = os.path.join(node.node.runtime, "users", str(user.uid))

    def write():
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, DATASET.pack(hits, 0), 8 + dataset * DATASET.size)
        os.close(fd)
    expect(user.do(write) == {"value": None}, f"{user} cannot write to {path}")
    wait_until(lambda: node.node.status()["datasets"][dataset]["hits"] == hits, "the figure")
    time.sleep(3)  # the daemon looks at the counters once a second


def read_and_settle(user, paths):
    """Reads frames of which none is cached, and waits until each was filled or refused."""
    def ended():
        figures = node.node.status()
        return figures["fills"] + figures["fills_failed"] + figures["fills_dropped"]
    wanted = ended() + len(paths)
    node.read(user, paths)
    wait_until(lambda: ended() >= wanted and node.node.status()["fills_under_way"] == 0, "the fills")


def check_that_alices_stay(when, frames):
    before = node.node.held(hers, "alien")
    for frame in frames:
        read_and_settle(BOB, [frame])
    after = node.node.held(hers, "alien")
    expect(before - after <= len(frames) // 2, f"{when}: of {before} copies of hers {after} are left")


with SystemNode() as node:
    hers = node.dataset(HELD, name="hers", sizes=(SIZE,))
    his = node.dataset(NEW, name="his", sizes=(SIZE,))
    for data in (hers, his):
        for name in data.frames:
            os.chmod(data.file(name), 0o644)
    node.start(extra=f"capacity = {HELD * SIZE}\n")
    read_and_settle(BOB, [his.file("f0")])  # from now on he has a file of counters
    node.node.ctl("evict", his.path).succeeded()
    read_and_settle(ALICE, [hers.file(name) for name in hers.frames])
    expect(node.node.held(hers) == HELD, f"a full cache: {node.node.status()}")

    new = [his.file(name) for name in his.frames]
    write_counters(BOB, 1, 10**6)
    check_that_alices_stay("figures that jump", new[:NEW // 2])
    write_counters(BOB, 1, 0)
    check_that_alices_stay("figures that go back", new[NEW // 2:])
