"""A throttled file server as the origin (slow_origin, on FUSE), and one node that caches it.

    with OriginServer() as server:
        server.write("f0", 8 * MB)
        server.start_node()
        server.read("f0").succeeded()
        server.sent("f0")

The frames are in `server.backing`; programs and the daemon see them in `server.path`.
"""
import os
import random
import subprocess

from nodes import BUILD, PYTHON, Nodes, skip
from processes import Process, expect, wait_until

MB = 1 << 20
SLOW_ORIGIN = f"{BUILD}/tests/fills/slow_origin"

# A program that reads parts of a frame in pieces, and prints what it saw.
READER = """
import hashlib, os, sys, time
path, first, end, piece, pause = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
digest, fd = hashlib.md5(), os.open(path, os.O_RDONLY)
try:
    while first < end and (data := os.pread(fd, min(piece, end - first), first)):
        digest.update(data)
        first += len(data)
        time.sleep(pause)
    print(first, digest.hexdigest())
except OSError as error:
    print(first, digest.hexdigest(), error.errno)
"""


class OriginServer:
    def __init__(self, rate=0, cached=True):
        self._nodes = Nodes(1)
        self.env = self._nodes.env
        self.node = self._nodes[0]
        self.rate, self.cached = rate, cached
        self.backing = self._nodes.path("backing")
        self.path = self._nodes.path("origin")
        self.template, self.keys = "f{seq}", ""  # as a Dataset
        os.mkdir(self.backing)
        os.mkdir(self.path)
        self._random = random.Random(1)
        self.process = None

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, size):
        """A frame that was written long ago."""
        path = os.path.join(self.backing, name)
        with open(path, "wb") as file:
            for _ in range(0, size, MB):
                file.write(self._random.randbytes(min(MB, size)))
        os.utime(path, (10**9, 10**9))

    def content(self, name):
        with open(os.path.join(self.backing, name), "rb") as file:
            return file.read()

    def mount(self):
        mode = "cached" if self.cached else "direct"
        self.process = Process(
            [SLOW_ORIGIN, self.backing, self.path, str(self.rate), mode], self.env)

        def mounted():
            if not self.process.running():
                process, self.process = self.process, None
                said = process.finish()
                if not os.access("/dev/fuse", os.W_OK) or "fuse" in said.stderr:
                    self._nodes.__exit__(None, None, None)
                    skip(f"FUSE cannot be mounted here: {said.stderr.strip()}")
                raise AssertionError(said)
            return os.path.ismount(self.path)
        wait_until(mounted, "the origin to be mounted")

    def start_node(self, keys="", others=(), before=()):
        """Mounts the origin and starts the daemon; `others` are datasets besides it, `before` are
        words in front of the daemon's."""
        self.keys = keys
        self.mount()
        self.node.configure([self, *others])
        self.node.start(before)

    def control(self, command):
        with open(self.file(".control"), "wb", buffering=0) as file:
            file.write(command.encode())

    def _account(self, name):
        with open(self.file(name), "rb", buffering=0) as file:
            return file.read(1 << 20).decode().splitlines()

    def _by_name(self, account, pid):
        found = {}
        for count, who, name in (line.split(" ", 2) for line in self._account(account)):
            if pid in (None, int(who)):
                found[name] = found.get(name, 0) + int(count)
        return found

    def sent(self, name):
        """Bytes of this file that the server has sent."""
        return sum(int(line.split()[0]) for line in self._account(".sent") if line.split()[1] == name)

    def asked(self, pid=None):
        """How often this process, or anybody, has asked the server, by name; "." is the directory."""
        return self._by_name(".asked", pid)

    def held(self, pid=None):
        """How many seconds the server has held these requests, by name."""
        return {name: count / 1e9 for name, count in self._by_name(".held", pid).items()}

    def requests(self, pid=None):
        """The number of requests of this process, or of all, to the server."""
        return sum(self.asked(pid).values())

    def asked_below(self, directory):
        """Of these, the requests about this name in the mount point, and about all below it."""
        return sum(count for name, count in self.asked().items() if name.split("/")[0] == directory)

    def start_reader(self, name, first=0, end=1 << 40, piece=128 << 10, pause=0.0, shim=True):
        env = dict(self.env, **self._nodes.shim(self.node)) if shim else self.env
        argv = [PYTHON, "-c", READER, self.file(name), first, end, piece, pause]
        return Process(argv, env)

    def read(self, name, seconds=60, **how):
        return self.start_reader(name, **how).finish(seconds)

    def shim(self):
        return self._nodes.shim(self.node)

    def read_other(self, path):
        """A plain read through the shim of a file that is not this server's."""
        return self._nodes.serial(self.node, ["cat", path])

    def run(self, argv):
        """A program under the shim."""
        return self._nodes.serial(self.node, argv)

    def mpirun(self, program, data, ranks):
        """An MPI program on the node."""
        return self._nodes.mpirun(program, data, ranks=ranks)

    def copies(self):
        return self.node.copies(self)

    def wait_for_copy(self, name, seconds=60):
        self.node.wait_for_copies(self, [name], seconds)

    def check_copy(self, name):
        with open(os.path.join(self.node.cache + self.path, name), "rb") as file:
            expect(file.read() == self.content(name), f"the copy of {name} is not the frame")

    def check_nothing_is_held(self):
        """No copy, no temporary, no entry in a log; also after a new start."""
        expect(self.copies() == set(), f"copies: {self.copies()}")
        temporaries = os.listdir(self.node.cache + "/.zazen/tmp")
        expect(not temporaries, f"temporaries: {temporaries}")
        for log in ("native.seq", "alien.seq"):
            size = os.path.getsize(os.path.join(self.node.cache + self.path, ".zazen", log))
            expect(size == self.empty_log_bytes, f"{log} has {size} bytes")

    def note_empty_logs(self):
        path = os.path.join(self.node.cache + self.path, ".zazen", "alien.seq")
        self.empty_log_bytes = os.path.getsize(path)

    def unmount(self):
        if self.process is None:
            return
        process, self.process = self.process, None
        subprocess.run(["fusermount3", "-u", "-z", self.path], env=self.env, check=False,
                       stderr=subprocess.DEVNULL)
        process.kill_session()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # The server first: a daemon that waits for it ends.
        if kind is not None:
            self.unmount()
            return self._nodes.__exit__(kind, error, trace)
        try:
            self.node.stop()
        finally:
            self.unmount()
        return self._nodes.__exit__(kind, error, trace)
