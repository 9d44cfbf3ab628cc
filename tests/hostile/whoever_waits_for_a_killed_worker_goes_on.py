"""Requests wait for the worker of another user, who owns the frames. That user stops the worker,
queues connections with descriptors that cannot be closed, and kills it. The requests are
answered."""
import array
import os
import signal
import socket
import time

from forked import run_as, start_as
from lingering import Unread
from people import ALICE, BOB, CAROL, SystemNode, User
from processes import expect, wait_until
from wire import SAMPLE, ask, connect, message
from workers import Workers, descriptors_of, state_of

ROUNDS = 5  # it depends on which thread is the last to let go of the worker
OTHERS = [BOB, CAROL, User("dave", 70004), User("eve", 70005)]
LIMIT_SECONDS = 5  # on a busy machine
CROWD, MOST_CROWDS, KEPT = 500, 12, 200

with SystemNode() as node, Unread() as unread:
    data = node.dataset(4, sizes=(1000,))
    node.start()
    runtime, zazend = node.node.runtime, node.node.pid()
    workers = Workers(zazend)
    question = message(SAMPLE, data.path)

    def is_served(user):
        try:
            return user.do(lambda: ask(runtime, SAMPLE, data.path)) == {"value": 0}
        except AssertionError:
            return False

    def start_asking(user):
        """A process that ends with status 0 when it has its answer."""
        return start_as(user, lambda: os._exit(0 if ask(runtime, SAMPLE, data.path) == 0 else 2))

    def has_ended(pid):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def crowd():
        """Connections of Alice. Some have descriptors in their queues, which only the daemon holds then."""
        def connect_all():
            clients = [connect(runtime) for _ in range(CROWD)]
            for client in clients[::10]:
                fds = array.array("i", [unread.socket().fileno()])
                client.sendmsg([question], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            os._exit(0)
        run_as(ALICE, connect_all, "connect")

    def of_alice():
        return workers.of_uid(ALICE.uid)

    for turn in range(ROUNDS):
        for user in (ALICE, *OTHERS):
            wait_until(lambda: is_served(user), f"{user} to be served")
        before = descriptors_of(zazend)
        for worker in of_alice():
            os.kill(worker, signal.SIGSTOP)
        wait_until(lambda: all(state_of(worker) == "T" for worker in of_alice()), "the workers of alice to stop")
        for _ in range(MOST_CROWDS):
            crowd()
            if descriptors_of(zazend) > before + KEPT:
                break

        waiting = {user: start_asking(user) for user in OTHERS}
        time.sleep(0.3)  # they wait by then
        for worker in of_alice():
            os.kill(worker, signal.SIGKILL)
        begin = time.monotonic()
        wait_until(lambda: time.monotonic() > begin + LIMIT_SECONDS or all(map(has_ended, waiting.values())),
                   "the answers")
        late = [user for user, pid in waiting.items() if not has_ended(pid)]
        for user in late:
            os.kill(waiting[user], signal.SIGKILL)
        statuses = {user: os.waitpid(pid, 0)[1] for user, pid in waiting.items()}
        expect(not late, f"in round {turn} {late} have no answer after {LIMIT_SECONDS} s")
        expect(not any(statuses.values()), f"in round {turn}: {statuses}")
