"""An open with O_NONBLOCK is not refused because the daemon has a lease on the frame. The daemon
checks by a lease for writers, before and after each fill.

A process that holds such leases for far longer stands for a daemon that is preempted there. A lease
that stays is another program's: the shim passes its EAGAIN on. tar --overwrite, which opens so,
rewrites frames that others read and the daemon fills.
"""
import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time

from node import FRAMES, Node, expect

OPEN = """
import errno, os, sys, time
for _ in range(int(sys.argv[2])):
    time.sleep(0.001)
    try:
        os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


@contextlib.contextmanager
def lease_held(path, held, free):
    """By a child: for `held` seconds, again and again."""
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fd = os.open(path, os.O_RDONLY)
        while True:
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    os._exit(1)
                continue
            os.write(begun, b"!")
            time.sleep(held)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            time.sleep(free)
    os.close(begun)
    try:
        if os.read(ready, 1) != b"!":
            print("skipped: no leases here")
            sys.exit(77)
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


with Node() as node:
    node.start_daemon()
    frame = node.frame(5)

    def refusals(times, environment):
        done = node.run([sys.executable, "-c", OPEN, frame, times], environment)
        expect(done.returncode == 0, f"{done}")
        return done.stdout.split()

    with lease_held(frame, held=0.005, free=0.005):
        expect(b"EAGAIN" in refusals(100, {}), "the lease refuses opens without the shim")
        expect(refusals(100, node.shim()) == [], "with the shim none is refused")
    with lease_held(frame, held=60, free=0):
        expect(refusals(1, node.shim()) == [b"EAGAIN"], "another's lease")

    archive = node.root / "frames.tar"
    subprocess.run(["tar", "cf", archive, "-C", node.dataset, "."], check=True)
    readers = [subprocess.Popen(["sh", "-c", 'while cat "$@" > /dev/null; do :; done', "sh",
                                 *(node.frame(seq) for seq in range(FRAMES))],
                                env={**os.environ, **node.shim()}, stderr=subprocess.DEVNULL)
               for _ in range(2)]
    try:
        for _ in range(10):
            done = node.run(["tar", "xf", archive, "--overwrite", "-C", node.dataset], node.shim())
            expect(done.returncode == 0, f"tar: {done}")
        expect(all(reader.poll() is None for reader in readers), "they found every frame")
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()
