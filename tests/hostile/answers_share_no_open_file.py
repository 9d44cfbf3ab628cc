"""Clients whose questions are answered together get an open file each. None can move another one's
position, and none can write."""
import fcntl
import os
import signal
import socket

from siege import HEADER, LARGEST, LIST, STATUS, Siege, frame_packet, packet
from processes import expect
from workers import Workers

CLIENTS = 20
ROUNDS = 50  # in one of them at least two clients are answered together


def receive(client):
    answer, passed, _, _ = socket.recv_fds(client, LARGEST, 8)
    expect(HEADER.unpack(answer[:HEADER.size])[6] == 0 and len(passed) == 1, f"{answer}")
    return passed[0]


def ask_together(worker, clients, message):
    """A file for each client. The worker finds all questions at once."""
    os.kill(worker, signal.SIGSTOP)
    for client in clients:
        client.send(message)
    os.kill(worker, signal.SIGCONT)
    return [receive(client) for client in clients]


def check(files):
    for file in files:
        expect(os.lseek(file, 0, os.SEEK_CUR) == 0, "another client has moved the position")
        expect(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY, "for reading")
        os.lseek(file, 7, os.SEEK_SET)


with Siege() as siege:
    clients = [siege.connect() for _ in range(CLIENTS)]
    for client in clients:  # the worker has them
        client.send(packet(STATUS))
        os.close(receive(client))
    worker, = Workers(siege.pid).all()
    for message in (packet(STATUS), frame_packet(LIST, siege.data.path)):
        for _ in range(ROUNDS):
            files = ask_together(worker, clients, message)
            contents = {os.fstat(file).st_ino for file in files}
            check(files)
            for file in files:
                os.close(file)
            if len(contents) < CLIENTS:
                break
        else:
            expect(False, "each was answered alone, each time")
