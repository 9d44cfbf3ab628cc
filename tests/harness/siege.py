"""A daemon under attack.

    with Siege() as siege:
        siege.attack(some_function)      # in a process of its own, until the siege ends
        siege.guests(100)                # well-behaved clients: all get the right answers
    # on leaving: the attackers are ended, and the daemon is as it was before

An attacker is a function of (siege); it runs in a forked process and may take any number of
descriptors. Nothing here depends on speed: a guest waits for its answer as long as LIMIT_SECONDS.
"""
import array
import os
import resource
import signal
import socket
import sys
import time
import traceback

# flake8: noqa: F405
from messages import *  # noqa: F403
from nodes import Nodes, is_sanitized
from processes import expect, run, wait_until
from workers import private_kilobytes

LIMIT_SECONDS = 60


def descriptors(fds):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]


class Siege:
    def __init__(self, frames=64, environment=None):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._nodes = Nodes(1)
        self._nodes.env.update(environment or {})
        if is_sanitized():  # of what was freed it would keep more than an attack may take
            options = self._nodes.env.get("ASAN_OPTIONS", "")
            self._nodes.env["ASAN_OPTIONS"] = f"quarantine_size_mb=64:{options}"
        self.node = self._nodes[0]
        self.data = self._nodes.dataset(frames=frames, sizes=(100, 4096), ordinary=False)
        self._attackers = []
        self._turn = 0

    def __enter__(self):
        self._nodes.__enter__()
        try:
            self._nodes.start()
            self.pid = self.node.status()["pid"]
            self.guests(len(self.data.frames))
            self.before = self.open_descriptors(), self.private_kilobytes()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, error, trace):
        for attacker in self._attackers:
            os.kill(attacker, signal.SIGKILL)
            os.waitpid(attacker, 0)
        try:
            if kind is None:
                self._check_peace()
        except BaseException:
            self._nodes.__exit__(*sys.exc_info())
            raise
        self._nodes.__exit__(kind, error, trace)

    def connect(self, seconds=LIMIT_SECONDS):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(seconds)
        directory = os.open(self.node.runtime, os.O_PATH | os.O_DIRECTORY)
        try:
            give_up = time.monotonic() + seconds
            while True:
                try:
                    client.connect(f"/proc/self/fd/{directory}/socket")
                    return client
                except BlockingIOError:  # the backlog is full
                    expect(time.monotonic() < give_up, "nobody accepts connections")
                    time.sleep(0.002)
        finally:
            os.close(directory)

    def ask(self, message, fds=()):
        """The status of the answer, or None if the connection was closed."""
        with self.connect() as client:
            try:
                client.sendmsg([message], descriptors(fds) if fds else [])
                answer, passed, _, _ = socket.recv_fds(client, LARGEST, 8)
            except (BrokenPipeError, ConnectionResetError):
                return None
            for fd in passed:
                os.close(fd)
            return HEADER.unpack(answer[:HEADER.size])[6] if answer else None

    def guests(self, rounds):
        """Each round: a fill that is waited for, a status, a sample, a list."""
        names = sorted(self.data.frames)
        for _ in range(rounds):
            name = names[self._turn % len(names)]
            self._turn += 1
            fd = os.open(self.data.file(name), os.O_RDONLY)
            try:
                self._must_be_done(frame_packet(FILL, self.data.path, name), [fd])
            finally:
                os.close(fd)
            self._must_be_done(packet(STATUS))
            self._must_be_done(frame_packet(SAMPLE, self.data.path))
            self._must_be_done(frame_packet(LIST, self.data.path))

    def program_reads_all(self):
        """A program under the shim gets the bytes that it gets without it."""
        command = ["cat", *(self.data.file(name) for name in sorted(self.data.frames))]
        shown = self._nodes.serial(self.node, command).succeeded().stdout
        expect(shown == run(command, self._nodes.env).succeeded().stdout, "the program's bytes")

    def _must_be_done(self, message, fds=()):
        status = self.ask(message, fds)  # None: closed without an answer
        expect(status == 0, f"a guest's request {message!r} got {status}")

    def attack(self, attacker, count=1):
        """Starts the attackers and returns when each has called ready()."""
        for _ in range(count):
            self._ready, started = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(self._ready)
                self._ready = started
                try:
                    attacker(self)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(1)
            os.close(started)
            self._attackers.append(pid)
            expect(os.read(self._ready, 1) == b"r", "an attacker did not get ready")
            os.close(self._ready)

    def ready(self):
        os.write(self._ready, b"r")

    def open_descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def private_kilobytes(self):
        return private_kilobytes(self.pid)

    def _check_peace(self):
        """The daemon holds no more than before, and serves."""
        fds, kilobytes = self.before
        wait_until(lambda: self.open_descriptors() <= fds + 2,
                   f"the daemon to give back its descriptors (it had {fds})")
        # A sanitizer keeps what was freed, for a while.
        allowed = kilobytes + (384 if is_sanitized() else 48) * 1024
        expect(self.private_kilobytes() < allowed,
               f"private memory grew from {kilobytes} to {self.private_kilobytes()} kB")
        self.guests(4)


def for_ever():
    while True:
        time.sleep(60)
