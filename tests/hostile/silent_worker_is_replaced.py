"""A user stops their own worker for good. It is killed when it has been silent for a while, and
a new one serves the user. Until then the user's programs read the origin, and others notice
nothing."""
import os
import signal

from people import BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import SAMPLE, ask
from witness import Witness
from workers import Workers, is_alive, state_of

PATIENCE_SECONDS = 60  # it takes 20

with SystemNode() as node:
    data, bobs = node.dataset(4, sizes=(1000,)), node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    files = [data.file(name) for name in sorted(data.frames)]
    node.start()
    workers = Workers(node.node.pid())

    def carol_is_served():
        return CAROL.do(lambda: ask(node.node.runtime, SAMPLE, data.path)) == {"value": 0}

    expect(carol_is_served(), "carol is not served")
    worker, = workers.of(CAROL)
    with Witness(BOB, node, data, bobs) as witness:
        expect(CAROL.do(lambda: os.kill(worker, signal.SIGSTOP)) == {"value": None}, "carol cannot stop it")
        wait_until(lambda: state_of(worker) == "T", "the worker to stop")
        node.check(CAROL, files, "while her worker is stopped")
        expect(is_alive(worker), "it is killed at once: no test")
        wait_until(lambda: not is_alive(worker), "the silent worker to be killed", PATIENCE_SECONDS)
        wait_until(carol_is_served, "carol to be served again")
        witness.goes_on()
    said = [line for line in node.node.said().splitlines() if "event=worker_is_silent" in line]
    expect(len(said) == 1 and f"uid={CAROL.uid}" in said[0], f"the log: {said}")
    stopped = [pid for pid in workers.everybody() if state_of(pid) == "T"]
    expect(not stopped and worker not in workers.of(CAROL), f"still stopped: {stopped}")
    node.check(CAROL, files, "afterwards")
    node.wait_for_copies(data, data.frames)
    print(f"bob's slowest answer came after {witness.slowest:.3f} s")
