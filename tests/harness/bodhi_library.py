"""The real libbodhi.so, by ctypes, in this process; and nodes with a writer's keys."""
import ctypes
import json
import os
import socket

from nodes import BUILD, write_config
from processes import expect

LIBRARY = f"{BUILD}/bodhi/library/libbodhi.so"
NATIVE, ALIEN = 1, 2


class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "queued", "pushed", "dropped", "waiting", "spooled", "bytes", "memory_bytes",
        "spool_bytes")]

    def __str__(self):
        return str({name: getattr(self, name) for name, _ in self._fields_})


class NodeFigures(ctypes.Structure):
    _fields_ = [("pushed", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("answers", ctypes.c_uint64), ("peer", ctypes.c_char * 256)]


def _load():
    library = ctypes.CDLL(LIBRARY, use_errno=True)
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64
    size = ctypes.c_size_t
    for name, result, arguments in (
            ("open", handle, [text]), ("close", None, [handle]), ("error", text, []),
            ("write", ctypes.c_int, [handle, text, number, ctypes.c_char_p, size]),
            ("write_file", ctypes.c_int, [handle, text, number]),
            ("flush", ctypes.c_int, [handle, ctypes.c_int]),
            ("query_writer", ctypes.c_int, [handle, ctypes.POINTER(Figures), size]),
            ("query_node", ctypes.c_int, [handle, size, ctypes.POINTER(NodeFigures), size]),
            ("open_frame", ctypes.c_int, [handle, text, number]),
            ("read", ctypes.c_ssize_t, [handle, text, number, ctypes.c_char_p, size,
                                        ctypes.c_int64]),
            ("query", ctypes.c_ssize_t, [handle, text, ctypes.c_uint, number, number,
                                         ctypes.POINTER(number), size])):
        function = getattr(library, f"bodhi_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class BodhiError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.errno = ctypes.get_errno()


class Bodhi:
    library = _load()

    def __init__(self, config):
        self.handle = self.library.bodhi_open(os.fsencode(config) if config else None)
        if not self.handle:
            raise self._error()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _error(self):
        return BodhiError(self.library.bodhi_error().decode())

    def _checked(self, result):
        if result < 0:
            raise self._error()
        return result

    def write(self, simdir, seq, data):
        self._checked(self.library.bodhi_write(self.handle, os.fsencode(simdir), seq, data,
                                               len(data)))

    def write_file(self, simdir, seq):
        self._checked(self.library.bodhi_write_file(self.handle, os.fsencode(simdir), seq))

    def flush(self, timeout_ms=60_000):
        self._checked(self.library.bodhi_flush(self.handle, timeout_ms))

    def figures(self):
        figures = Figures()
        self._checked(self.library.bodhi_query_writer(self.handle, ctypes.byref(figures),
                                                      ctypes.sizeof(figures)))
        return figures

    def nodes(self):
        found, figures = [], NodeFigures()
        while self.library.bodhi_query_node(self.handle, len(found), ctypes.byref(figures),
                                            ctypes.sizeof(figures)) == 0:
            found.append((figures.peer.decode(), figures.pushed, figures.answers))
        return found

    def open_frame(self, simdir, seq):
        return self._checked(self.library.bodhi_open_frame(self.handle, os.fsencode(simdir), seq))

    def read(self, simdir, seq, size=1 << 20, offset=0):
        buffer = ctypes.create_string_buffer(max(size, 1))
        got = self._checked(self.library.bodhi_read(self.handle, os.fsencode(simdir), seq, buffer,
                                                    size, offset))
        return buffer.raw[:got]

    def query(self, simdir, kinds=NATIVE | ALIEN, first=0, last=2**64 - 1, capacity=10_000):
        seqs = (ctypes.c_uint64 * max(capacity, 1))()
        count = self._checked(self.library.bodhi_query(self.handle, os.fsencode(simdir), kinds,
                                                       first, last, seqs, capacity))
        return count, list(seqs[:min(count, capacity)])

    def close(self):
        self.library.bodhi_close(self.handle)
        self.handle = None


def free_addresses(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return [f"127.0.0.1:{port}" for port in ports]


def make_key(nodes):
    key = nodes.path("key")
    with open(key, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(key, 0o600)
    return key


def configure_writer(nodes, data, addresses, key, more):
    """The configuration of a writer on a machine without a daemon."""
    config = nodes.path("writer.toml")
    write_config(config, [data], f'cache = "{nodes.path("none")}"\nruntime = "{nodes.path("none", "run")}"\n'
                 f'peers = {json.dumps(addresses)}\nkey_file = "{key}"\n{more}\n')
    return config


def frame_bytes(data, seq):
    with open(data.file(data.template.format(seq=seq)), "rb") as file:
        return file.read()


def check_placed(nodes, data, seqs, holders=None):
    """Each frame is a native of exactly one of these nodes, and equal to the origin's bytes."""
    holders = list(nodes) if holders is None else holders
    where = {}
    for node in holders:
        for name in node.copies(data):
            where.setdefault(name, []).append(node)
    wanted = {data.template.format(seq=seq) for seq in seqs}
    expect(where.keys() == wanted, f"missing {wanted - where.keys()}, more {where.keys() - wanted}")
    for name, places in where.items():
        expect(len(places) == 1, f"{name} is on {[node.name for node in places]}")
        with open(places[0].cache + data.file(name), "rb") as copy:
            with open(data.file(name), "rb") as origin:
                expect(copy.read() == origin.read(), f"{name}: other bytes")
    natives = sum(node.held(data, "native") for node in holders)
    expect(natives == len(wanted), f"{natives} natives of {len(wanted)}")
    return {name: places[0] for name, places in where.items()}
