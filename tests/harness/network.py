"""Nodes that listen for pushes on a port of this machine, a real writer (push_frames), and the
messages of bodhi/push/push_wire.h for writers that do not keep to the rules."""
import hashlib
import hmac
import os
import random
import socket
import struct
import zlib

from nodes import BUILD, ZAZENCTL, Nodes  # noqa: F401
from processes import Process, expect, run, wait_until  # noqa: F401

PUSH_FRAMES = f"{BUILD}/tests/push/push_frames"
MAGIC, VERSION = 0x3150545A, 2
BY_LOOPBACK, BY_KEY = 1, 2
HELLO, INTRODUCTION, WELCOME, HEADER = "<IHHIIQ32s", "<IHHII16s36sI32s32s", "<Ii32s", "<HHIQQiI"
PUSH, CONTENT_END, NATIVES, ANSWER, NATIVES_ANSWER, WORKING = 1, 2, 3, 4, 5, 6
REQUEST, REPLY_PART, REPLY = 9, 10, 11


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_key(nodes, name="key"):
    path = nodes.path(name)
    with open(path, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(path, 0o600)
    return path


def listen(node, datasets, key=None, extra=""):
    """Configures and starts the node; its address is node.address."""
    node.address = f"127.0.0.1:{free_port()}"
    line = f'key_file = "{key}"\n' if key else ""
    node.configure(datasets, f'listen = "{node.address}"\n{line}{extra}')
    node.start()


def content_of(name, size):
    return random.Random(name).randbytes(size)


class Content:
    """Files that no origin has yet."""
    def __init__(self, nodes, sizes):
        self.directory = nodes.path("content")
        os.makedirs(self.directory, exist_ok=True)
        self.sizes = sizes
        for name, size in sizes.items():
            with open(self.file(name), "wb") as file:
                file.write(content_of(name, size))

    def file(self, name):
        return os.path.join(self.directory, name)

    def words(self, names=None):
        return [word for name in names or self.sizes for word in (name, self.file(name))]

    def write_origin(self, data, names=None):
        for name in names or self.sizes:
            content = content_of(name, self.sizes[name])
            with open(data.file(name), "wb") as file:
                file.write(content)
            data.sums[name] = (len(content), zlib.adler32(content))
            data.names.add(name)
            data.frames.add(name)


def push(nodes, peer, key, data, how, words, seconds=100):
    """The output of push_frames: {name: status}, and how it ended."""
    path = data if isinstance(data, str) else data.path
    done = run([PUSH_FRAMES, peer, key or "-", path, how, *words], nodes.env, seconds=seconds)
    answers = {}
    for line in done.stdout.splitlines():
        if how != "natives":
            name, status = line.rsplit(" ", 1)
            answers[name] = int(status)
    return answers, done


def natives(nodes, peer, key, data):
    done = push(nodes, peer, key, data, "natives", [])[1].succeeded()
    return [int(line) for line in done.stdout.split()]


def held_file(node, data, name):
    """The copy of a frame, under its name or waiting for its origin."""
    named = node.cache + data.file(name)
    waiting = f"{node.cache}{data.path}/.zazen/waiting/{name[1:]}"
    found = [path for path in (named, waiting) if os.path.exists(path)]
    expect(len(found) == 1, f"{name} is at {found}")
    return found[0]


def check_held(node, data, content, names=None):
    """These frames, and no others, are there as natives, byte for byte."""
    names = list(names if names is not None else content.sizes)
    expect(node.held(data, "native") == len(names), f"{node.held(data, 'native')} of {len(names)}")
    for name in names:
        with open(held_file(node, data, name), "rb") as file:
            expect(file.read() == content_of(name, content.sizes[name]), f"the bytes of {name}")


def wait_for_rest(node):
    """Until no writer is connected, and nothing that one sent is on its way to the disk."""
    wait_until(lambda: node.status()["network"]["connections"] == 0, "the writers to be gone")
    wait_until(lambda: node.status()["fills_under_way"] == 0, "what they sent")


def left_overs(node, data):
    """Files in the cache that are neither frames nor the daemon's own."""
    waiting = f"{node.cache}{data.path}/.zazen/waiting"
    temporary = f"{node.cache}/.zazen/tmp"
    return os.listdir(waiting) + (os.listdir(temporary) if os.path.isdir(temporary) else [])


def receive(connection, size):
    """So many bytes, or None if the other side closed the connection."""
    data = b""
    while len(data) < size:
        try:
            part = connection.recv(size - len(data))
        except ConnectionResetError:
            return None
        if not part:
            return None
        data += part
    return data


def target_of(address):
    """How a writer that has dialled it names the node, on the loopback of this machine."""
    host, port = address.rsplit(":", 1)
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        machine = file.read(36)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(host), machine, int(port)


def session_key(secret, hello, introduction, peer):
    """From what both sides have said; the proof is not part of it."""
    return Stranger._mac(secret, b"zazen push 2" + hello + introduction[:-32] + bytes(32) + peer)


def welcome(connection, secret, methods, uid=0):
    """As a daemon does: the session's key for the daemon's messages; None if the writer has gone."""
    hello = struct.pack(HELLO, MAGIC, VERSION, methods, uid, 0, 2**40, os.urandom(32))
    connection.sendall(hello)
    introduction = receive(connection, struct.calcsize(INTRODUCTION))
    if introduction is None:
        return None
    peer = receive(connection, struct.unpack_from("<I", introduction, 12)[0])
    key = Stranger._mac(session_key(secret, hello, introduction, peer), b"daemon")
    connection.sendall(struct.pack(WELCOME, MAGIC, 0, Stranger._mac(key, b"welcome")))
    return key


class Stranger:
    """A writer that speaks the protocol by hand, without a key. It may name another node than it dials."""
    def __init__(self, address, means=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.counter, self.means = 0, means or address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive(self, size):
        return receive(self.socket, size)

    def is_closed(self):
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True

    def introduction(self, secret=b"", method=BY_LOOPBACK, credential=b""):
        """The answer to a hello; None if there was none."""
        self.hello = self.receive(struct.calcsize(HELLO))
        if self.hello is None:
            return None
        nonce = os.urandom(32)
        peer = self.means.encode()
        unproved = struct.pack(INTRODUCTION, MAGIC, VERSION, method, len(credential), len(peer),
                               *target_of(self.means), nonce, bytes(32))
        self.key = self._mac(session_key(secret, self.hello, unproved, peer), b"writer")
        return unproved[:-32] + self._mac(self.key, b"introduction") + credential + peer

    def introduce(self, secret=b"", method=BY_LOOPBACK):
        """The welcome's status; None if there was none."""
        introduction = self.introduction(secret, method)
        if introduction is None:
            return None
        self.socket.sendall(introduction)
        welcome = self.receive(struct.calcsize(WELCOME))
        return None if welcome is None else struct.unpack(WELCOME, welcome)[1]

    @staticmethod
    def _mac(key, text):
        return hmac.new(key, text, hashlib.sha256).digest()

    def message(self, kind, body, request=7, content_bytes=0):
        header = struct.pack(HEADER, kind, 0, len(body), request, content_bytes, 0, 0)
        mac = self._mac(self.key, struct.pack("<Q", self.counter) + header + body)
        self.counter += 1
        return header + body + mac

    @staticmethod
    def names(dataset, name):
        dataset, name = dataset.encode(), name.encode()
        return struct.pack("<HH", len(dataset), len(name)) + dataset + name

    @staticmethod
    def request(packet, credential=b""):
        """The body of a REQUEST: a message of a local client."""
        return struct.pack("<II", len(packet), len(credential)) + packet + credential

    def ask(self, packet, credential=b""):
        """(status, body, content) of the answer, or None if the connection was closed."""
        self.socket.sendall(self.message(REQUEST, self.request(packet, credential)))
        content = b""
        while header := self.receive(struct.calcsize(HEADER)):
            kind, _, length, request, _, status, _ = struct.unpack(HEADER, header)
            body = self.receive(length + 32)[:length]
            expect(kind in (REPLY, REPLY_PART, WORKING) and request == (0 if kind == WORKING else 7), f"{header}")
            if kind == REPLY:
                return status, body, content
            content += body
        return None

    def answer(self):
        """(request, status), or None if the connection was closed. Signs of life answer nothing."""
        while message := self.receive(struct.calcsize(HEADER) + 32):
            fields = struct.unpack(HEADER, message[:struct.calcsize(HEADER)])
            if fields[0] != WORKING:
                return fields[3], fields[5]
        return None


def held(nodes, key, data):
    """For each node the numbers of the frames that were pushed to it."""
    return [natives(nodes, node.address, key, data) for node in nodes]


def begin_push(nodes, data):
    """zazenctl push to all nodes, over TCP."""
    words = [word for node in nodes for word in ("--to", node.address)]
    return Process([ZAZENCTL, "--config", nodes[0].config, "push", data.path, "--json", *words], nodes.env)


def check_copies(nodes, data):
    """Every copy has its frame's bytes."""
    for node in nodes:
        for name in node.copies(data):
            with open(node.cache + data.file(name), "rb") as copy, open(data.file(name), "rb") as origin:
                expect(copy.read() == origin.read(), f"{name}: its bytes")
