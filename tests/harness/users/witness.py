"""A user whose requests go on while others do their worst: each must succeed, and soon.

    with Witness(BOB, node, mine, others) as witness:
        attack()
        witness.goes_on()           # some rounds more
    print(witness.slowest)

A round has, for each dataset: an invalidation, a fill that is waited for, a sample, a list; and a status.
The witness is a forked child of the user. It also looks at the heartbeat of the daemon.
"""
import errno
import mmap
import os
import struct
import time

from forked import start_as
from processes import expect, wait_until
from wire import FILL, INVALIDATE, LIST, SAMPLE, STATUS, answer_to, message, packet

LIMIT_SECONDS = 5  # on a busy machine: most take milliseconds, and none waits longer than a second for others
BEAT_LIMIT_SECONDS = 4  # it beats twice a second
SERVING = 1
FILLS = 3  # an invalidation cancels the fill that a program of the user had begun, and those that joined it


class Heartbeat:
    """Of the table in the runtime directory."""

    def __init__(self, node):
        self._table = open(os.path.join(node.node.runtime, "table"), "rb", buffering=0)
        content = self._table.read()
        before = struct.pack("<iI", node.node.pid(), SERVING)
        self._offset = content.index(before) + len(before)

    def age_seconds(self):
        beat, = struct.unpack("<q", os.pread(self._table.fileno(), 8, self._offset))
        return time.clock_gettime(time.CLOCK_MONOTONIC) - beat / 1000


class Witness:
    def __init__(self, user, node, *datasets, seconds=LIMIT_SECONDS):
        self._user, self._node, self._datasets, self._limit = user, node, datasets, seconds
        self._shared = mmap.mmap(-1, 24)  # stop, rounds, the slowest answer in us
        self.slowest = None

    def _get(self, place):
        return struct.unpack_from("<Q", self._shared, 8 * place)[0]

    def _set(self, place, value):
        struct.pack_into("<Q", self._shared, 8 * place, value)

    def __enter__(self):
        self._pipe, into = os.pipe()

        def tell():
            try:
                self._witness()
            except BaseException as error:
                os.write(into, f"{self._user}: {error!r}".encode())
        self._pid = start_as(self._user, tell)
        os.close(into)
        self.goes_on(1)
        return self

    def _witness(self):
        heart = Heartbeat(self._node)
        parent, turn = os.getppid(), 0
        while not self._get(0) and os.getppid() == parent:
            for data in self._datasets:
                names = sorted(data.frames)
                name = names[turn % len(names)]
                self._ask(message(INVALIDATE, data.path, name), f"the invalidation of {name}")
                fd = os.open(data.file(name), os.O_RDONLY)
                self._ask(message(FILL, data.path, name), f"the fill of {name}", fd)
                os.close(fd)
                self._ask(message(SAMPLE, data.path), "the sample")
                self._ask(message(LIST, data.path), "the list")
            self._ask(packet(STATUS), "the status")
            age = heart.age_seconds()
            expect(age < BEAT_LIMIT_SECONDS, f"the heart beat {age:.1f} s ago")
            turn += 1
            self._set(1, turn)

    def _ask(self, request, what, fd=None):
        begin = time.monotonic()
        for _ in range(FILLS):
            try:
                status = answer_to(self._node.node.runtime, request, fd)
            except OSError as error:
                status = repr(error)
            if status != errno.ECANCELED:
                break
        took = time.monotonic() - begin
        self._set(2, max(self._get(2), int(took * 1e6)))
        expect(status == 0, f"{what} got {status} after {took:.1f} s")
        expect(took < self._limit, f"{what} took {took:.1f} s")

    def goes_on(self, rounds=3):
        """Waits for this many rounds more, or for the first that fails."""
        until = self._get(1) + rounds
        wait_until(lambda: self._get(1) >= until or self._has_failed(), f"{self._user}'s requests", 60)
        if self._has_failed():
            self._finish()

    def _has_failed(self):
        if self._pid is None:
            return True
        pid, _ = os.waitpid(self._pid, os.WNOHANG)
        if pid != 0:
            self._pid = None
        return pid != 0

    def _finish(self):
        self._set(0, 1)
        with open(self._pipe, closefd=False) as pipe:
            trouble = pipe.read()
        self.slowest = self._get(2) / 1e6
        expect(not trouble, trouble)

    def __exit__(self, kind, error, trace):
        self._set(0, 1)
        if self._pid is not None:
            os.waitpid(self._pid, 0)
        try:
            if kind is None:
                self._finish()
        finally:
            os.close(self._pipe)
