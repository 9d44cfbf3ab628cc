"""A client chooses the signal of a lease on a descriptor that it passes, and breaks the lease by
an open for writing. The daemon survives, and is not stopped. It sets nothing on a passed
descriptor."""
import fcntl
import os
import signal
import struct

from companion import Companion
from people import ALICE, SystemNode
from processes import expect, wait_until
from wire import FILL, ask

F_SETSIG, F_GETSIG = 10, 11
FILLS = 400

with SystemNode() as node:
    data = node.dataset(1, sizes=(1000,))
    node.start()
    runtime, path, pid = node.node.runtime, data.file("f0"), node.node.pid()

    def is_well():
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "TtZX"

    def break_lease():
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

    def pass_on(number):
        """Some fills; which signals their descriptors have afterwards: the end of a lease takes it."""
        signals = set()
        for _ in range(20):
            os.utime(path)
            fd = os.open(path, os.O_RDONLY)
            fcntl.fcntl(fd, F_SETSIG, number)
            try:
                ask(runtime, FILL, data.path, "f0", fd)
                signals.add(fcntl.fcntl(fd, F_GETSIG))
            except struct.error:  # the daemon has closed it
                return "no answer"
            finally:
                os.close(fd)
        return sorted(signals)

    for number in (signal.SIGUSR2, signal.SIGSTOP, signal.SIGKILL):
        with Companion(ALICE, break_lease) as writer:
            wait_until(writer.has_begun, "the writer")
            for _ in range(FILLS // 20):
                answer = ALICE.do(lambda: pass_on(number))
                expect(is_well(), f"{number!r} has reached the daemon: {answer}")
                expect(answer == {"value": [number]}, f"the daemon had a lease on what was passed: {answer}")
        expect(node.node.status()["healthy"], "the daemon is not well")
    node.check(ALICE, [path], "afterwards")
