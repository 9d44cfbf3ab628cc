"""Pushed frames of one owner take at most their share of the capacity, half of it by default. A
push beyond it is refused with a reason, also after a restart, and others can still push."""
import os

from people import ALICE, BOB, SystemNode
from processes import expect

SIZE, FITS = 100_000, 5


def push(user, data):
    done = node.ctl(user, "push", data.path, "--to", f"unix:{node.node.runtime}")
    return done


with SystemNode() as node:
    his = node.dataset(3 * FITS, name="his", sizes=(SIZE,))
    hers = node.dataset(FITS, name="hers", sizes=(SIZE,))
    for top, _, names in os.walk(his.path):
        for name in [top] + [os.path.join(top, name) for name in names]:
            os.chown(name, BOB.uid, BOB.gid)
    node.start(extra=f"capacity = {2 * FITS * SIZE}\n")

    refused = push(BOB, his)
    expect(refused.status == 1 and "native_share" in refused.stderr, f"no reason: {refused}")
    expect(node.node.held(his) == FITS, f"{node.node.held(his)} natives of his")
    expect("native_share_exceeded" in node.node.said(), "the log says nothing")
    push(ALICE, hers).succeeded()
    expect(node.node.held(hers) == FITS, f"{node.node.held(hers)} natives of hers")

    for stop in (node.node.kill, node.node.stop):
        stop()
        node.node.start()
        refused = push(BOB, his)
        expect(refused.status == 1 and "native_share" in refused.stderr, f"no reason: {refused}")
        expect(node.node.held(his) == FITS, f"{node.node.held(his)} natives of his")

    # With as large a share as there is room, room is all that counts.
    node.node.stop()
    node.start(extra=f'capacity = {2 * FITS * SIZE}\nnative_share = "100%"\n')
    refused = push(BOB, his)
    expect(refused.status == 1 and "No space left" in refused.stderr, f"no reason: {refused}")
