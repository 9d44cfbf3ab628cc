"""A user, who may own the frames, kills and stops their own workers again and again. The requests
of another user succeed within seconds, and both read the right bytes. Afterwards the first user is
served again, and zazend holds no more resources than at the start."""
import os
import signal

from companion import Companion
from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import FILL, SAMPLE, ask
from witness import Witness
from workers import Workers, descriptors_of, is_alive, state_of, threads_of

KILLS, STOPS = 25, 2


with SystemNode() as node:
    data = node.dataset(4, sizes=(1000, 200_000))
    bobs = node.dataset(4, owner=BOB, name="bobs", sizes=(1000, 200_000))
    files = [one.file(name) for one in (data, bobs) for name in sorted(one.frames)]
    node.start()
    zazend = node.node.pid()
    workers = Workers(zazend)

    def keep_asking():
        """A program of the attacker asks meanwhile; its answers do not matter."""
        fd = os.open(data.file("f1"), os.O_RDONLY)
        try:
            for kind, passed in ((SAMPLE, None), (FILL, fd)):
                try:
                    ask(node.node.runtime, kind, data.path, "f1" if kind == FILL else "", passed)
                except Exception:
                    pass
        finally:
            os.close(fd)

    def served(user):
        """Again, after the pause that a user is given whose workers die too often."""
        def is_served():
            try:
                return user.do(lambda: ask(node.node.runtime, SAMPLE, data.path)) == {"value": 0}
            except AssertionError:
                return False
        wait_until(is_served, f"{user} to be served again")

    def do_to_workers(user, number):
        """The user sends the signal."""
        def do():
            done = 0
            for pid in workers.of_uid(user.uid):
                try:
                    os.kill(pid, number)
                    done += 1
                except ProcessLookupError:
                    pass
            return done
        return user.do(do)["value"]

    for user in (ALICE, BOB, CAROL):
        served(user)
        node.check(user, files, "before")
    before = descriptors_of(zazend), threads_of(zazend)

    for attacker in (CAROL, ALICE):
        with Witness(BOB, node, data, bobs) as witness:
            with Companion(attacker, keep_asking):
                killed = 0
                while killed < KILLS:
                    killed += do_to_workers(attacker, signal.SIGKILL)
                witness.goes_on()
            served(attacker)
            for _ in range(STOPS):
                served(attacker)
                with Companion(attacker, keep_asking):
                    do_to_workers(attacker, signal.SIGSTOP)
                    witness.goes_on(1)
                    do_to_workers(attacker, signal.SIGCONT)
            # Stopped for good, while others read; then killed.
            do_to_workers(attacker, signal.SIGSTOP)
            wait_until(lambda: all(state_of(pid) == "T" for pid in workers.of_uid(attacker.uid)), "them to stop")
            witness.goes_on()
            node.check(BOB, files, f"{attacker}'s workers are stopped")
            do_to_workers(attacker, signal.SIGKILL)
            witness.goes_on()
            node.check(BOB, files, f"{attacker}'s workers were killed")
            served(attacker)
            node.check(attacker, files, "afterwards")
        print(f"{attacker}: bob's slowest answer came after {witness.slowest:.3f} s")

    expect(node.node.status()["pid"] == zazend and is_alive(zazend), "zazend is another one")
    fds, threads = before
    wait_until(lambda: descriptors_of(zazend) <= fds + 10 and threads_of(zazend) <= threads + 20,
               f"zazend to give back what it holds: it had {before}, and has "
               f"{descriptors_of(zazend), threads_of(zazend)}")
    expect(node.node.status()["healthy"], "zazend is not well")
