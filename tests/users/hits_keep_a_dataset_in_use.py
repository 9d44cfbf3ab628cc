"""A hit makes no call, and figures in a user's counters decide nothing. A dataset stays in a full cache while a
user hits it and another user misses. It is evicted when no user hits it."""
import os
import time

from people import ALICE, BOB, SystemNode
from processes import expect, wait_until

HELD, SIZE = 400, 4096
MANY = 64  # the fills of a user that count in one look (daemon/service/dataset_uses.h)
TURNS = 8  # two times as many fills as make a dataset idle (daemon/capacity/eviction.h)


def read_and_settle(user, paths):
    """Reads frames of which none is cached, and waits until each was filled or refused."""
    def ended():
        figures = node.node.status()
        return figures["fills"] + figures["fills_failed"] + figures["fills_dropped"]
    wanted = ended() + len(paths)
    node.read(user, paths)
    wait_until(lambda: ended() >= wanted and node.node.status()["fills_under_way"] == 0, "the fills")


def turn():
    names = [his.file(name) for name in his.frames]
    read_and_settle(BOB, [name for name in names if not os.path.exists(node.copy(name))][:MANY])
    time.sleep(1.2)  # the daemon looks at the counters once a second


with SystemNode() as node:
    hers = node.dataset(HELD, name="hers", sizes=(SIZE,), keys='validate = "never"')
    his = node.dataset(HELD + 2 * MANY, name="his", sizes=(SIZE,), owner=BOB, keys='validate = "never"')
    node.start(extra=f"capacity = {HELD * SIZE}\n")
    read_and_settle(ALICE, [hers.file(name) for name in hers.frames])
    expect(node.node.held(hers) == HELD, f"a full cache: {node.node.status()}")

    # One miss of 16 is let in, in the place of a random copy.
    for _ in range(TURNS):
        hits = node.hits()
        node.read(ALICE, [name for name in map(hers.file, hers.frames) if os.path.exists(node.copy(name))][:8])
        expect(node.hits() >= hits + 8, "Alice hits nothing")
        turn()
    held = node.node.held(hers)
    expect(held > HELD * 3 // 4, f"she hits it, and {held} copies of {HELD} are left")
    for _ in range(2 * TURNS):
        turn()
    held = node.node.held(hers)
    expect(held < HELD // 4, f"nobody hits it, and {held} copies of {HELD} are left")
