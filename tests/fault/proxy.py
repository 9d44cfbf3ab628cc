"""Fail open: message N between the programs and their daemon is cut off, delayed, garbled,
shortened or answered with nonsense, for every N. Output and exit status of the program are those
without Zazen. It is not blocked, and never reads stale bytes."""
import hashlib
import os
import socket
import threading
import time

import daemon_socket
from nodes import PYTHON, Nodes
from processes import expect, run

MUCH_TOO_LONG = 10  # seconds; what is promised is 250 ms, but the machine may be busy
DELAY = 1.0

# Lists, reads, rewrites one frame, reads again: fills, samples, invalidations and answers.
PROGRAM = """
import hashlib, os, sys
for directory in sys.argv[2:]:
    names = sorted(os.listdir(directory))
    print(names)
    for name in names:
        path = os.path.join(directory, name)
        data = open(path, "rb").read()
        print(name, os.stat(path).st_size, hashlib.sha256(data).hexdigest())
    path = os.path.join(directory, names[0])
    with open(path, "wb") as file:
        file.write(sys.argv[1].encode())
    print(open(path, "rb").read())
try:
    open(os.path.join(directory, "f999"), "rb")
except OSError as error:
    print(error)
sys.exit(7)
"""


class Proxy:
    """Stands where the daemon's socket was; passes packets and descriptors on."""

    def __init__(self, runtime):
        self.messages = 0
        self.fault, self.at = None, None
        self._lock = threading.Lock()
        self._own, self._real = f"{runtime}/socket", f"{runtime}/socket.behind"
        os.rename(self._own, self._real)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._directory = os.open(runtime, os.O_RDONLY | os.O_DIRECTORY)
        self._listener.bind(f"/proc/self/fd/{self._directory}/socket")
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, fault, at):
        """`at` is the number of the message, or None for each."""
        with self._lock:
            self.messages, self.fault, self.at = 0, fault, at

    def close(self):
        self._listener.close()
        os.rename(self._real, self._own)
        os.close(self._directory)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            daemon.connect(f"/proc/self/fd/{self._directory}/socket.behind")
            for source, to in ((client, daemon), (daemon, client)):
                threading.Thread(target=self._carry, args=(source, to), daemon=True).start()

    def _carry(self, source, to):
        descriptors = []
        try:
            while True:
                packet, descriptors = daemon_socket.receive(source)
                if not packet:
                    break
                packet = self._spoil(packet)
                if packet is None:
                    break
                daemon_socket.send(to, packet, descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                descriptors = []
        except OSError:
            pass
        for descriptor in descriptors:
            os.close(descriptor)
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _spoil(self, packet):
        with self._lock:
            self.messages += 1
            if self.fault is None or self.at not in (None, self.messages):
                return packet
            fault = self.fault
        return fault(packet)


def cut(packet):
    return None


def delay(packet):
    time.sleep(DELAY)
    return packet


def garble(packet):
    """The same bytes for the same packet, whatever they are."""
    noise = hashlib.shake_128(packet).digest(len(packet))
    return bytes(a ^ b for a, b in zip(packet, noise))


def shorten(packet):
    return packet[:len(packet) // 2]


def refuse(packet):
    """Answers become ENOENT; requests become answers, which are nonsense to a daemon."""
    spoilt = bytearray(packet)
    spoilt[6:8] = (daemon_socket.REPLY).to_bytes(2, "little")
    spoilt[24:28] = (2).to_bytes(4, "little")
    return bytes(spoilt)


FAULTS = (cut, delay, garble, shorten, refuse)

with Nodes(1) as nodes:
    node = nodes[0]
    datasets = [nodes.dataset(frames=3, name="sim1", ordinary=False),
                nodes.dataset(frames=3, name="sim2", ordinary=False, keys='fill = "wait"')]
    nodes.start()
    paths = [data.path for data in datasets]
    changed = [os.path.join(path, "f0") for path in paths]
    contents = {}
    for path in changed:
        with open(path, "rb") as file:
            contents[path] = file.read()

    def restore():
        """The origin as it was, and nothing or everything in the cache."""
        for path, data in contents.items():
            with open(path + ".new", "wb") as file:
                file.write(data)
            os.rename(path + ".new", path)

    def program(word, env):
        began = time.monotonic()
        done = run([PYTHON, "-c", PROGRAM, word, *paths], env)
        return (done.status, done.stdout, done.stderr), time.monotonic() - began

    shim = dict(nodes.env, **nodes.shim(node))
    word = "rewritten"
    plain, _ = program(word, nodes.env)
    restore()
    proxy = Proxy(node.runtime)

    def trial(fault, at, full):
        restore()
        proxy.set(None, None)
        node.ctl("evict", "--all").succeeded()
        if full:
            nodes.push(datasets[0])
            nodes.push(datasets[1])
        proxy.set(fault, at)
        shown, seconds = program(word, shim)
        what = f"{fault.__name__ if fault else 'nothing'} at {at}, cache {'full' if full else 'empty'}"
        expect(shown == plain, f"{what}: {shown}, not {plain}")
        expect(seconds < MUCH_TOO_LONG, f"{what}: took {seconds:.1f} s")
        messages = proxy.messages
        for path in changed:  # whether or not the daemon knows of it
            done = run(["cat", path], shim).succeeded()
            expect(done.stdout == word, f"{what}: {path} reads as {done.stdout!r}")
        return messages, seconds

    longest, trials = 0.0, 0
    for full in (False, True):
        count, _ = trial(None, None, full)
        expect(count >= 2, f"only {count} messages: the program does not speak to the daemon")
        for fault in FAULTS:
            for at in [*range(1, count + 1), None]:
                _, seconds = trial(fault, at, full)
                longest, trials = max(longest, seconds), trials + 1
    proxy.set(None, None)
    expect(node.ctl("status").status == 0, "the daemon is healthy after all that")
    proxy.close()
    print(f"{trials} trials, the longest took {longest:.2f} s")
