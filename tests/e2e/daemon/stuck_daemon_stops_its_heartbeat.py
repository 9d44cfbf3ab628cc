"""A daemon whose serving thread is blocked stops its heartbeat, although all its other threads run.
Programs then read the origin, and the watchdog of systemd gets no sign of life. When the thread
goes on, all of this ends. While the daemon serves, the watchdog gets signs of life."""
import ctypes
import os
import socket

from nodes import Nodes, skip
from processes import expect, wait_until

SEIZE, INTERRUPT, DETACH, ALL = 0x4206, 0x4207, 17, 0x40000000
MARK = "these are the copy's own bytes"
libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request, thread):
    return libc.ptrace(request, thread, None, None) == 0


class Watchdog:
    """Receives the messages for systemd."""
    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.setblocking(False)

    def hears(self):
        words = []
        while True:
            try:
                words.append(self._socket.recv(4096).decode())
            except BlockingIOError:
                return words


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=4, sizes=(100,), ordinary=False)
    nodes.configure()
    watchdog = Watchdog(nodes.path("notify"))
    node.start(before=("env", f"NOTIFY_SOCKET={nodes.path('notify')}", "WATCHDOG_USEC=10000000"))
    heard = []
    wait_until(lambda: heard.extend(watchdog.hears()) or heard.count("WATCHDOG=1") >= 3, f"{heard}")
    expect(heard[0] == "READY=1", f"{heard}")

    def shown():
        return nodes.serial(node, ["cat", data.file("f1")]).succeeded().stdout

    origin = shown()
    nodes.warm(node, data, ["f1"])
    # Other bytes in the copy, which only its reader can tell.
    copy = node.cache + data.file("f1")
    mode = os.stat(copy).st_mode
    os.chmod(copy, 0o600)
    with open(copy, "r+") as file:
        file.write(MARK)
    os.chmod(copy, mode)
    expect(shown().startswith(MARK), "the copy is served")

    thread = node.pid()  # the first thread is the one that serves
    if not ptrace(SEIZE, thread):
        skip(f"ptrace: {os.strerror(ctypes.get_errno())}")
    expect(ptrace(INTERRUPT, thread), "PTRACE_INTERRUPT")
    os.waitpid(thread, ALL)
    watchdog.hears()
    wait_until(lambda: shown() == origin, "programs to read the origin")
    expect(watchdog.hears() == [], "the watchdog heard of a thread that is stuck")

    expect(ptrace(DETACH, thread), "PTRACE_DETACH")
    wait_until(lambda: "WATCHDOG=1" in watchdog.hears(), "the watchdog to hear of it again")
    wait_until(lambda: "heartbeat_gap" in node.said(), "the daemon to notice that it was stuck")
    expect(node.ctl("status").status == 0, "it serves again")
