"""Fills that are under way for as long as a test likes: the worker is stopped in the midst of one."""
import array
import os
import signal
import socket
import time

from processes import expect
from wire import FILL, HEADER, connect, message
from workers import state_of

FRAME_BYTES = 50_000_000  # takes a moment to copy
ATTEMPTS = 50


def _send(node, data, name):
    fd = os.open(data.file(name), os.O_RDONLY)
    client = connect(node.node.runtime)
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    client.sendmsg([message(FILL, data.path, name)], passed)
    return client


def ask_for_fill(user, node, data, name):
    """The user asks to have the frame filled, and is gone."""
    told = user.do(lambda: _send(node, data, name).close())
    expect(told == {"value": None}, f"{user} could not ask for {name}: {told}")


def wait_for_fill(user, node, data, name, seconds):
    """The answer to the user: 0 or an errno, or the exception."""
    def wait():
        client = _send(node, data, name)
        client.settimeout(seconds)
        try:
            answer = client.recv(8192)
        except TimeoutError:
            return f"nothing in {seconds} s"
        return HEADER.unpack_from(answer)[6] if answer else "the connection was closed"
    return user.do(wait).get("value", "an error")


def stop_in_a_fill(user, worker, node, data, name):
    """The user's worker is stopped while it copies the frame."""
    for attempt in range(ATTEMPTS):
        ask_for_fill(user, node, data, name)
        time.sleep(0.005 * (attempt % 10))
        os.kill(worker, signal.SIGSTOP)
        while state_of(worker) != "T":
            time.sleep(0.001)
        time.sleep(0.1)  # zazend finishes what it was told
        if node.node.status()["fills_under_way"] == 1 and name not in node.node.copies(data):
            return
        os.kill(worker, signal.SIGCONT)
        while node.node.status()["fills_under_way"] > 0:
            time.sleep(0.01)
        node.node.ctl("evict", data.path).succeeded()
    expect(False, "the copy was always faster")
