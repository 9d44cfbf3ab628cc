"""A killed worker holds no frame: neither the worker that copied it, nor another that waited for
the copy."""
import os
import signal
import time

from half_a_fill import FRAME_BYTES, ask_for_fill, stop_in_a_fill, wait_for_fill
from people import BOB, CAROL, TEAM, SystemNode, User
from processes import expect, wait_until
from wire import SAMPLE, ask
from workers import Workers, is_alive

LIMIT_SECONDS = 10  # it is copied anew
TWIN = User("carol in a group", CAROL.uid, [TEAM])

with SystemNode() as node:
    data = node.dataset(1, sizes=(FRAME_BYTES,))
    node.start()
    workers = Workers(node.node.pid())
    for user in (BOB, CAROL, TWIN):
        told = user.do(lambda: ask(node.node.runtime, SAMPLE, data.path))
        expect(told == {"value": 0}, f"{user} is told {told}")
    copies, waits = workers.of(CAROL)[0], workers.of(TWIN)[0]

    stop_in_a_fill(CAROL, copies, node, data, "f0")
    ask_for_fill(TWIN, node, data, "f0")
    time.sleep(0.5)  # it waits for the other one by now
    for worker in (waits, copies):
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not is_alive(worker), "it to be dead")
        time.sleep(0.2)

    wait_until(lambda: node.node.status()["fills_under_way"] == 0, "nothing to be under way", 10)
    told = wait_for_fill(BOB, node, data, "f0", LIMIT_SECONDS)
    expect(told == 0, f"bob asks for f0 and is told: {told}")
    node.wait_for_copies(data, ["f0"])
    node.check(BOB, [data.file("f0")], "afterwards")
