"""Clients whose questions are answered together get an open file each: none can move the position
of another, and none can write."""
import fcntl
import os
import signal
import socket

from siege import HEADER, LARGEST, LIST, STATUS, Siege, frame_packet, packet
from processes import expect

CLIENTS = 20

with Siege() as siege:
    for message in (packet(STATUS), frame_packet(LIST, siege.data.path)):
        # While it is stopped all of them ask: one answer is made for all.
        os.kill(siege.pid, signal.SIGSTOP)
        clients = [siege.connect() for _ in range(CLIENTS)]
        for client in clients:
            client.send(message)
        os.kill(siege.pid, signal.SIGCONT)
        files = []
        for client in clients:
            answer, passed, _, _ = socket.recv_fds(client, LARGEST, 8)
            expect(HEADER.unpack(answer[:HEADER.size])[6] == 0 and len(passed) == 1, f"{answer}")
            files += passed
            client.close()
        contents = {os.fstat(file).st_ino for file in files}
        expect(len(contents) < CLIENTS, "each was answered alone")
        for file in files:
            expect(os.lseek(file, 0, os.SEEK_CUR) == 0, "another client has moved the position")
            expect(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY, "for reading")
            os.lseek(file, 7, os.SEEK_SET)
        for file in files:
            os.close(file)
