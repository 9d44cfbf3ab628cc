"""A user has thousands of connections in the queue before another's, and that user's worker does
nothing. The other user is answered before any of them. A flood that goes on locks nobody out."""
import os
import signal
import struct

from people import BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import SAMPLE, ask, connect, message
from workers import Workers, state_of

PROCESSES, CONNECTIONS = 40, 60  # the kernel's queue has room for 4096
GUESTS = 30


class Flood:
    """Processes of one user; each gets ready, and does the rest when it is told to."""

    def __init__(self, user, work):
        self._children = []
        for _ in range(PROCESSES):
            answer, into = os.pipe()
            wait, go = os.pipe()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    os.close(go)
                    os.setgroups([])
                    os.setresgid(user.gid, user.gid, user.gid)
                    os.setresuid(user.uid, user.uid, user.uid)
                    work(lambda: (os.write(into, b"r"), os.read(wait, 1)),
                         lambda count: os.write(into, struct.pack("=I", count)))
                    status = 0
                finally:
                    os._exit(status)
            os.close(into)
            os.close(wait)
            self._children.append((pid, answer, go))
        for _, answer, _ in self._children:
            expect(os.read(answer, 1) == b"r", "a process of the flood is not ready")

    def counts(self):
        for _, _, go in self._children:
            os.write(go, b"g")
        return sum(struct.unpack("=I", os.read(answer, 4))[0] for _, answer, _ in self._children)

    def end(self):
        for pid, answer, go in self._children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(answer)
            os.close(go)


def connect_as(user, runtime):
    os.setegid(user.gid)
    os.seteuid(user.uid)
    try:
        return connect(runtime)
    finally:
        os.seteuid(0)
        os.setegid(0)


with SystemNode() as node:
    data = node.dataset(4, sizes=(1000,))
    node.start()
    runtime, pid = node.node.runtime, node.node.pid()
    question = message(SAMPLE, "/no/such/dataset")  # answered without any work

    def stand_in_line(ready, tell):
        clients = []
        for _ in range(CONNECTIONS):
            clients.append(connect(runtime))
            clients[-1].send(question)
        ready()
        answered = 0
        for client in clients:
            client.setblocking(False)
            try:
                answered += len(client.recv(100)) > 0
            except (BlockingIOError, ConnectionResetError):
                pass
        tell(answered)

    def ask_once(ready, tell):
        with connect(runtime) as client:
            client.send(question)
            expect(client.recv(100), "no answer")
        ready()

    Flood(BOB, ask_once).end()
    bobs = Workers(pid).of_uid(BOB.uid)
    expect(bobs, "bob has no worker")
    for process in [*bobs, pid]:
        os.kill(process, signal.SIGSTOP)
        wait_until(lambda: state_of(process) == "T", "a process to stop")
    flood = Flood(BOB, stand_in_line)
    last = connect_as(CAROL, runtime)
    last.send(question)
    os.kill(pid, signal.SIGCONT)
    expect(last.recv(100), "no answer")
    before = flood.counts()
    for process in bobs:
        os.kill(process, signal.SIGCONT)
    flood.end()
    expect(before == 0, f"{before} of bob's were answered before carol's")

    def go_on_for_ever(ready, tell):
        told = False
        while True:
            try:
                with connect(runtime) as client:
                    client.send(question)
                    client.recv(100)
            except OSError:
                pass
            if not told:
                told = bool(ready())

    flood = Flood(BOB, go_on_for_ever)
    for _, _, go in flood._children:
        os.write(go, b"g")
    for _ in range(GUESTS):
        told = CAROL.do(lambda: ask(runtime, SAMPLE, data.path))
        expect(told == {"value": 0}, f"carol is told {told}")
    flood.end()
