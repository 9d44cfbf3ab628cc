"""A user may write anything into the counter file of their programs. That neither evicts copies of
others nor keeps them. Figures that grow, jump or go back make no dataset idle, so the user's frames
enter a full cache only now and then. Nor do they keep a dataset in use that the user may not
search, even one that the user has used."""
import os
import struct
import time

from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until

HELD, NEW, SIZE = 40, 40, 10_000
MANY = 64  # the fills of a user that count in one look
IDLE_FILLS = 256  # daemon/capacity/eviction.h
HERS, HIS = 0, 1  # datasets
DATASET = struct.Struct("=QQ")  # hits, misses


def write_counters(user, dataset, hits, misses=0):
    path = os.path.join(node.node.runtime, "users", str(user.uid))

    def write():
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, DATASET.pack(hits, misses), 8 + dataset * DATASET.size)
        os.close(fd)
    expect(user.do(write) == {"value": None}, f"{user} cannot write to {path}")


def let_it_be_seen():
    time.sleep(1.2)  # the daemon looks at the counters once a second


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
    large = node.dataset(2 * MANY, name="large", sizes=(SIZE,))  # Bob's, too
    for data in (hers, his, large):
        for name in data.frames:
            os.chmod(data.file(name), 0o644)
    node.start(extra=f"capacity = {HELD * SIZE}\n")
    for user in (BOB, CAROL):  # from now on they have a file of counters
        read_and_settle(user, [his.file("f0")])
        node.node.ctl("evict", his.path).succeeded()
    read_and_settle(ALICE, [hers.file(name) for name in hers.frames])
    expect(node.node.held(hers) == HELD, f"a full cache: {node.node.status()}")

    new = [his.file(name) for name in his.frames]
    write_counters(BOB, HIS, 10**6, 2**64 - 1)
    let_it_be_seen()
    check_that_alices_stay("figures that jump", new[:10])
    for more in range(1, 8):  # each of which would count for the most opens
        write_counters(BOB, HIS, more * 10**7)
        let_it_be_seen()
    check_that_alices_stay("figures that grow", new[10:30])
    write_counters(BOB, HIS, 0)
    let_it_be_seen()
    check_that_alices_stay("figures that go back", new[30:])

    # Bob really reads: by and by Alice's dataset is idle, whatever Carol says of it.
    node.check(CAROL, [hers.file("f0")], "as long as Carol may")
    os.chmod(hers.path, 0o700)
    names = [large.file(name) for name in large.frames]
    for turn in range(3 * IDLE_FILLS // MANY):
        missing = [name for name in names if not os.path.exists(node.copy(name))][:MANY]
        if node.node.held(hers, "alien") == 0 or len(missing) < MANY:
            break
        read_and_settle(BOB, missing)
        write_counters(CAROL, HERS, (turn + 1) * 10**6)
        let_it_be_seen()
    expect(node.node.held(hers, "alien") == 0, f"{node.node.held(hers, 'alien')} copies of hers are left")
