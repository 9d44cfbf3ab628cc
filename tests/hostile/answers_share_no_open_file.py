"""Clients whose questions are answered together get an open file each: none can move the position
of another, and none can write."""
import fcntl
import os
import signal
import socket
import struct
import termios

from siege import HEADER, LARGEST, LIST, STATUS, Siege, frame_packet, packet
from processes import expect, wait_until

CLIENTS = 20


def receive(client):
    answer, passed, _, _ = socket.recv_fds(client, LARGEST, 8)
    expect(HEADER.unpack(answer[:HEADER.size])[6] == 0 and len(passed) == 1, f"{answer}")
    return passed[0]


def was_read(client):
    return struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)))[0] == 0


with Siege() as siege:
    for message in (packet(STATUS), frame_packet(LIST, siege.data.path)):
        clients = [siege.connect() for _ in range(CLIENTS)]
        for client in clients:  # the worker has them
            client.send(packet(STATUS))
            os.close(receive(client))
        # While zazend is stopped all of them ask: one answer is made for all.
        os.kill(siege.pid, signal.SIGSTOP)
        try:
            for client in clients:
                client.send(message)
            wait_until(lambda: all(was_read(client) for client in clients), "the worker to read")
        finally:
            os.kill(siege.pid, signal.SIGCONT)
        files = []
        for client in clients:
            files.append(receive(client))
            client.close()
        contents = {os.fstat(file).st_ino for file in files}
        expect(len(contents) < CLIENTS, "each was answered alone")
        for file in files:
            expect(os.lseek(file, 0, os.SEEK_CUR) == 0, "another client has moved the position")
            expect(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY, "for reading")
            os.lseek(file, 7, os.SEEK_SET)
        for file in files:
            os.close(file)
