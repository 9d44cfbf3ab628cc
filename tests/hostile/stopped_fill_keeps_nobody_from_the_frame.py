"""A user stops their worker in the middle of a fill. Another user who waits for a fill of that
frame gets one."""
import os
import signal

from half_a_fill import FRAME_BYTES, stop_in_a_fill, wait_for_fill
from people import BOB, CAROL, SystemNode
from processes import expect, wait_until
from workers import Workers

LIMIT_SECONDS = 10  # it is copied anew

with SystemNode() as node:
    data = node.dataset(2, sizes=(FRAME_BYTES, 1000))
    node.start()
    workers = Workers(node.node.pid())

    def fill(user, name):
        told = wait_for_fill(user, node, data, name, LIMIT_SECONDS)
        expect(told == 0, f"{user} asks for {name} and is told: {told}")

    for user in (BOB, CAROL):
        fill(user, "f1")
    worker = workers.of(CAROL)[0]
    stop_in_a_fill(CAROL, worker, node, data, "f0")

    fill(BOB, "f0")
    wait_until(lambda: "f0" in node.node.copies(data), "the copy")
    node.check(BOB, [data.file("f0")], "while carol's worker is stopped")

    os.kill(worker, signal.SIGCONT)
    fill(CAROL, "f0")
    wait_until(lambda: node.node.status()["fills_under_way"] == 0, "nothing to be under way")
    node.check(CAROL, [data.file("f0")], "afterwards")
