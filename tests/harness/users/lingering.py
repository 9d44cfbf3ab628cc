"""TCP sockets whose close() blocks: there is data that nobody reads, and SO_LINGER waits for it.

    with Unread() as unread:
        unread.socket()        # in the process of whoever passes it on
    # on leaving: all of them can be closed
"""
import os
import signal
import socket
import struct
import time

from processes import expect

LINGER_SECONDS = 600


class Unread:
    """A port at which nobody reads, and nobody even accepts."""

    def __init__(self):
        self._kept = []

    def __enter__(self):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(4096)
        self._check()
        return self

    def _check(self):
        """They do block whoever closes them."""
        pid = os.fork()
        if pid == 0:
            os.close(self.socket().detach())
            os._exit(0)
        time.sleep(0.3)
        has_ended, _ = os.waitpid(pid, os.WNOHANG)
        expect(has_ended == 0, "closing them does not block: no test")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def socket(self):
        """Only the last close of it blocks, and that of a process that exits does not: so whoever makes it
        passes it on and exits. Until then it is kept."""
        sender = socket.socket()
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sender.connect(self._listener.getsockname())
        sender.setblocking(False)
        try:
            while True:
                sender.send(bytes(65536))
        except BlockingIOError:
            pass
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_SECONDS))
        self._kept.append(sender)
        return sender

    def __exit__(self, *trouble):
        self._listener.close()
