"""SIGTERM ends zazend within a second, with status 0 and with all its processes. This holds while
fills wait for a hanging origin, a worker is stopped, and clients never read. The next start finds a
clean stop."""
import array
import os
import select
import signal
import socket
import time

from forked import start_as
from hanging_server import HangingServer
from nodes import skip
from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import FILL, LIST, SAMPLE, STATUS, ask, connect, frame_packet, message, packet
from workers import Workers, is_alive, state_of

STOP_SECONDS = 2  # a second, on a machine that is not busy
FRAMES = 12  # more than there are threads for a dataset
DEAF, QUESTIONS, WAITING = 20, 200, 300

if not os.path.exists("/dev/fuse"):
    skip("no FUSE")


class Clients:
    """Processes of users that do something in two steps, and then stay."""

    def __init__(self):
        self._children = []

    def start(self, user, work):
        """work(ready) is called by the user. Returns when it has called ready(); what is returned lets it go on."""
        answer, into = os.pipe()
        wait, go = os.pipe()

        def stay():
            os.close(go)
            server.forget()
            kept = work(lambda: (os.write(into, b"r"), os.read(wait, 1)))  # noqa: F841
            os.write(into, b"d")
            signal.pause()
        self._children.append(start_as(user, stay))
        os.close(into)
        os.close(wait)
        expect(os.read(answer, 1) == b"r", f"{user} is not ready")

        def finish():
            os.write(go, b"g")
            expect(os.read(answer, 1) == b"d", f"{user} could not ask")
        return finish

    def __enter__(self):
        return self

    def __exit__(self, *trouble):
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


with SystemNode() as node, Clients() as clients:
    hung = node.dataset(0, name="hung")
    data = node.dataset(8, sizes=(1000,))
    try:
        server = HangingServer(hung.path, FRAMES, ALICE)
    except OSError as error:
        skip(f"no FUSE here: {error}")
    try:
        node.start()
        runtime, zazend = node.node.runtime, node.node.pid()
        workers = Workers(zazend)
        node.read(ALICE, [data.file(name) for name in sorted(data.frames)])
        node.wait_for_copies(data, data.frames)
        for user in (ALICE, BOB, CAROL):
            told = user.do(lambda: ask(runtime, SAMPLE, data.path))
            expect(told == {"value": 0}, f"{user} is told {told}")
        wait_until(lambda: not any(one["checks_each_open"] for one in node.node.status()["datasets"]),
                   "nothing to be in doubt")

        def fill_all(ready):
            fds = [os.open(f"{hung.path}/f{seq}", os.O_RDONLY) for seq in range(FRAMES)]
            ready()
            client = connect(runtime)
            for seq, fd in enumerate(fds):
                client.sendmsg([message(FILL, hung.path, f"f{seq}")],
                               [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
            return client, fds

        def wait_in_line(ready):
            ready()
            line = [connect(runtime) for _ in range(WAITING)]
            for client in line:
                client.send(message(SAMPLE, data.path))
            return line

        def never_read(ready):
            ready()
            deaf = [connect(runtime) for _ in range(DEAF)]
            for i, client in enumerate(deaf):
                client.setblocking(False)
                for _ in range(QUESTIONS):
                    if not select.select([], [client], [], 0.05)[1]:
                        break
                    try:
                        client.send(packet(STATUS) if i % 2 else frame_packet(LIST, ""))
                    except BlockingIOError:
                        break
            return deaf

        fill = clients.start(ALICE, fill_all)
        server.hang()
        fill()
        server.wait_for_a_question()
        clients.start(CAROL, never_read)()
        stopped = workers.of(BOB)[0]
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: state_of(stopped) == "T", "bob's worker to stop")
        clients.start(BOB, wait_in_line)()

        everybody = workers.everybody()
        begin = time.monotonic()
        node.node.signal(signal.SIGTERM)
        wait_until(lambda: not is_alive(zazend), "zazend to end", 10)
        took = time.monotonic() - begin
        wait_until(lambda: not any(map(is_alive, everybody)), f"all of {everybody} to be gone", 5)
        node.node.finish()  # with status 0
        expect(took < STOP_SECONDS, f"zazend ended after {took:.2f} s")
        print(f"zazend ended after {took:.2f} s")
    finally:
        server.close()

    node.node.start()
    expect(node.node.status()["stopped_cleanly"], "the next start finds that it was not stopped cleanly")
    expect(node.node.copies(data) == data.frames, f"copies: {node.node.copies(data)}")
    node.check(BOB, [data.file(name) for name in sorted(data.frames)], "afterwards")
