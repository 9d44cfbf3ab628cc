"""zazend closes refused connections even if they hold descriptors whose close() blocks. A user
whose workers die too often, and who sends thousands of such connections, locks nobody out."""
import array
import os
import signal
import socket

from forked import run_as
from lingering import Unread
from people import BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import SAMPLE, ask, connect, message
from witness import Witness
from workers import Workers, descriptors_of, is_alive, threads_of

ROUNDS, CROWD = 20, 100
KILLS = 25  # more than a user's workers may die in two seconds
KEPT = 200
THREADS = 40


with SystemNode() as node, Unread() as unread:
    data = node.dataset(4, sizes=(1000,))
    bobs = node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    node.start()
    runtime, zazend = node.node.runtime, node.node.pid()
    workers = Workers(zazend)
    question = message(SAMPLE, data.path)

    def be_refused():
        """Carol's workers die, until zazend starts no more of them for a while."""
        for _ in range(KILLS):
            run_as(CAROL, lambda: (connect(runtime), os._exit(0)), "connect")
            for worker in workers.of_uid(CAROL.uid):
                try:
                    os.kill(worker, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def crowd():
        """Each connection is Carol's last word: the process is gone, and the sockets linger in zazend."""
        clients = [connect(runtime) for _ in range(CROWD)]
        for client in clients:
            fds = array.array("i", [unread.socket().fileno()])
            client.sendmsg([question], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        os._exit(0)

    with Witness(BOB, node, data, bobs) as witness:
        witness.goes_on()
        before = descriptors_of(zazend), threads_of(zazend)
        for _ in range(ROUNDS):
            be_refused()
            os.kill(zazend, signal.SIGSTOP)  # or it might accept before Carol has sent
            run_as(CAROL, crowd, "send")
            os.kill(zazend, signal.SIGCONT)
        witness.goes_on()
        expect(threads_of(zazend) < before[1] + THREADS, f"threads: {before[1]}, {threads_of(zazend)}")
        wait_until(lambda: descriptors_of(zazend) < before[0] + KEPT,
                   f"zazend to close {ROUNDS * CROWD} connections")
    print(f"bob's slowest answer came after {witness.slowest:.3f} s")
    wait_until(lambda: CAROL.do(lambda: ask(runtime, SAMPLE, data.path)) == {"value": 0}, "Carol to be served again")
    node.node.signal(signal.SIGTERM)
    wait_until(lambda: not is_alive(zazend), "zazend to end", 10)
    node.node.finish()
