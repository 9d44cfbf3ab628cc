"""One message to a daemon, and the answer to it."""
import array
import os
import socket
import struct

# flake8: noqa: F405
from messages import *  # noqa: F403


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
    if kind == EVICT:  # natives, too
        return packet(kind, struct.pack("=QQII", 0, 2**64 - 1, 3, len(dataset)) + dataset.encode(), WAIT | flags)
    return frame_packet(kind, dataset, name, WAIT | flags)


def ask(runtime, kind, dataset, name="", fd=None, flags=0):
    """Sends one message and returns the status of the answer: 0 or an errno."""
    return answer_to(runtime, message(kind, dataset, name, flags), fd)


def answer_to(runtime, request, fd=None):
    """The same for a message that is made already; None if the daemon has closed the connection."""
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
    with connect(runtime) as client:
        client.sendmsg([request], passed)
        answer, rights, _, _ = client.recvmsg(8192, socket.CMSG_SPACE(4))
        for _, _, fds in rights:
            os.close(struct.unpack("=i", fds[:4])[0])
        return HEADER.unpack_from(answer)[6] if answer else None
