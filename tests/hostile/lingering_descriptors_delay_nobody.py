"""Descriptors whose close() blocks delay only the user who passes them. They are TCP sockets with
SO_LINGER and unread data. They come where no message wants one, with malformed packets, unread in a
connection that closes, and in connections of a killed worker. zazend still ends in time."""
import array
import os
import signal
import socket
import time

from forked import run_as
from lingering import Unread
from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import FILL, SAMPLE, ask, connect, message
from witness import Witness
from workers import Workers, descriptors_of, is_alive, state_of

STOP_SECONDS = 2  # a second, on a machine that is not busy
CROWD, MOST_CROWDS = 500, 20
KEPT = 200  # connections that wait in zazend itself


with SystemNode() as node, Unread() as unread:
    data = node.dataset(4, sizes=(1000,))
    bobs = node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    node.start()
    runtime, zazend = node.node.runtime, node.node.pid()
    workers = Workers(zazend)
    question, fill = message(SAMPLE, data.path), message(FILL, data.path, "f1")

    def pass_on(client, packet):
        fds = array.array("i", [unread.socket().fileno()])
        client.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])

    def unwanted(client):
        pass_on(client, question)

    def no_frame(client):
        pass_on(client, fill)

    def malformed(client):
        pass_on(client, b"no message at all")

    def unread_behind(client):
        client.send(b"no message at all")
        pass_on(client, question)
        pass_on(client, fill)

    def send(user, ways, connections=1):
        """A process of the user sends and exits: the daemon's are the last descriptors."""
        def send_all():
            clients = [connect(runtime) for _ in range(connections)]
            for i, way in enumerate(ways):
                way(clients[-1 - i])
            os._exit(0)
        run_as(user, send_all, "send")

    def stop_worker(user):
        def is_served():
            try:
                return user.do(lambda: ask(runtime, SAMPLE, data.path)) == {"value": 0}
            except AssertionError:
                return False
        wait_until(is_served, f"{user} to be served")
        worker = workers.of(user)[0]
        os.kill(worker, signal.SIGSTOP)
        wait_until(lambda: state_of(worker) == "T", "the worker to stop")
        return worker

    def kill(worker):
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not is_alive(worker), "the worker to be dead")

    with Witness(BOB, node, data, bobs) as witness:
        witness.goes_on()
        before = descriptors_of(zazend)
        for attacker in (CAROL, ALICE):  # Alice owns the frames that Bob reads
            for way in (unwanted, no_frame, malformed, unread_behind):
                worker = stop_worker(attacker)
                send(attacker, [way])
                os.kill(worker, signal.SIGCONT)
                witness.goes_on(5)
                kill(worker)
                witness.goes_on(1)

            # In connections that the worker was sent and has not taken, and in those that wait for it.
            worker = stop_worker(attacker)
            for _ in range(MOST_CROWDS):
                send(attacker, [unwanted] * 10, CROWD)
                if descriptors_of(zazend) > before + KEPT:
                    break
            else:
                expect(False, "no connection waits in zazend: no test")
            witness.goes_on(1)
            kill(worker)
            witness.goes_on()
            stop_worker(attacker)  # the next one, too

        # Two of them are stopped, and zazend has connections to close.
        send(ALICE, [unwanted] * 10, CROWD)
        witness.goes_on()
    print(f"bob's slowest answer came after {witness.slowest:.3f} s")

    everybody = workers.everybody()
    begin = time.monotonic()
    node.node.signal(signal.SIGTERM)
    wait_until(lambda: not is_alive(zazend), "zazend to end", 10)
    took = time.monotonic() - begin
    expect(took < STOP_SECONDS, f"zazend ended after {took:.1f} s")
    node.node.finish()
    wait_until(lambda: not any(map(is_alive, everybody)), "its workers to end")
