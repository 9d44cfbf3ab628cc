"""The daemon's socket, spoken to by hand (bodhi/lean/requests/wire.h): pushes with one answer for each."""
import array
import os
import socket

from messages import HEADER, LARGEST, PUSH, REPLY, frame_packet


def connect(runtime):
    directory = os.open(runtime, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.connect(f"/proc/self/fd/{directory}/socket")  # sun_path is short
        return made
    finally:
        os.close(directory)


def send(to, packet, descriptors):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    to.sendmsg([packet], rights if descriptors else [])


def receive(source):
    """A packet and its descriptors; an empty packet is the end."""
    packet, rights, _, _ = source.recvmsg(LARGEST, socket.CMSG_SPACE(4))
    descriptors = array.array("i")
    for level, kind, data in rights:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[:len(data) - len(data) % 4])
    return packet, list(descriptors)


def push(runtime, data, names):
    """Asks for all of them; yields each that the daemon says is stored, until it says no more."""
    try:
        with connect(runtime) as daemon:
            daemon.settimeout(30)
            for request, name in enumerate(names):
                origin = os.open(data.file(name), os.O_RDONLY)
                try:
                    send(daemon, frame_packet(PUSH, data.path, name, flags=0, request=request), [origin])
                finally:
                    os.close(origin)
            for _ in names:
                packet, _ = receive(daemon)
                if len(packet) < HEADER.size:
                    return
                _, _, kind, _, _, request, status, _ = HEADER.unpack_from(packet)
                if kind == REPLY and status == 0:
                    yield names[request]
    except (ConnectionError, FileNotFoundError, BrokenPipeError):
        return
