"""More users come than there can be workers, one after the other and all at once. One user comes
with more sets of groups than a user can have workers. Each of them is served within seconds, and so
is a new user."""
import os
import time

from forked import run_as, start_as
from people import BOB, TEAM, SystemNode, User
from processes import expect
from wire import SAMPLE, ask, connect
from witness import Witness
from workers import Workers, is_alive

USERS, SETS = 300, 24
MOST, MOST_OF_A_USER = 256, 8  # daemon/pool/worker_pool.h
ALONE_SECONDS, TOGETHER_SECONDS = 10, 60  # on a busy machine

with SystemNode() as node:
    data, bobs = node.dataset(4, sizes=(1000,)), node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    node.start()
    zazend = node.node.pid()
    workers = Workers(zazend)

    def be_served(seconds):
        """In a process of the user. A connection for which there is no worker is closed."""
        def insist():
            give_up = time.monotonic() + seconds
            while True:
                try:
                    if ask(node.node.runtime, SAMPLE, data.path) == 0:
                        return
                except OSError:
                    pass
                expect(time.monotonic() < give_up, f"not served within {seconds} s")
                time.sleep(0.05)
        return insist

    def count_workers():
        count = len(workers.all())
        expect(count <= MOST + MOST // 8, f"{count} workers")  # those that are being killed among them
        return count

    crowd = [User(f"user {i}", 71_000 + i) for i in range(USERS)]
    twins = [User(f"the twin with group {i}", 72_000, [TEAM + i]) for i in range(SETS)]
    with Witness(BOB, node, data, bobs) as witness:
        kept = []  # while a client is connected its worker does not end by itself
        for user in crowd:
            run_as(user, be_served(ALONE_SECONDS), "be served")
            with user.effective():
                kept.append(connect(node.node.runtime))
        expect(count_workers() > MOST - 10, "there are places left: no test")
        run_as(User("the next", 73_001), be_served(ALONE_SECONDS), "be served")
        witness.goes_on()
        for client in kept:
            client.close()

        pids = [start_as(user, be_served(TOGETHER_SECONDS)) for user in crowd]
        failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
        expect(failed == 0, f"{failed} of {USERS} users were not served")
        count_workers()
        run_as(User("the last", 73_002), be_served(ALONE_SECONDS), "be served")
        witness.goes_on()

        for user in twins:
            run_as(user, be_served(ALONE_SECONDS), "be served")
            count = len(workers.of_uid(user.uid))
            expect(count <= MOST_OF_A_USER + 1, f"{count} workers of one user")
        witness.goes_on()
    print(f"bob's slowest answer came after {witness.slowest:.3f} s")
    expect(is_alive(zazend) and node.node.status()["healthy"], "zazend is not well")
