"""The daemon's messages, written by hand: what a hostile client would send (bodhi/wire.h)."""
import array
import os
import socket
import struct

FILL, PUSH, INVALIDATE, SAMPLE, EVICT, LIST, STATUS, KEEP_LISTING = range(1, 9)
PUSH_CONTENT, WRITTEN, PEER_NOTICE, HISTORY = 24, 25, 30, 31
HEADER = struct.Struct("=IHHIIQiI")
MAGIC, VERSION, WAIT, OPEN_FOR_WRITING = 0x315A415A, 1, 1, 8


def connect(runtime):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(30)
    directory = os.open(runtime, os.O_PATH)
    try:
        client.connect(f"/proc/self/fd/{directory}/socket")
    finally:
        os.close(directory)
    return client


def message(kind, dataset, name="", flags=0):
    body = struct.pack("=HH", len(dataset), len(name)) + (dataset + name).encode()
    if kind == EVICT:
        body = struct.pack("=QQII", 0, 2**64 - 1, 3, len(dataset)) + dataset.encode()
    return HEADER.pack(MAGIC, VERSION, kind, len(body), WAIT | flags, 1, 0, 0) + body


def ask(runtime, kind, dataset, name="", fd=None, flags=0):
    """Sends one message and returns the status of the answer: 0 or an errno."""
    packet = message(kind, dataset, name, flags)
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
    with connect(runtime) as client:
        client.sendmsg([packet], passed)
        answer, rights, _, _ = client.recvmsg(8192, socket.CMSG_SPACE(4))
        for _, _, fds in rights:
            os.close(struct.unpack("=i", fds[:4])[0])
        return HEADER.unpack_from(answer)[6]
