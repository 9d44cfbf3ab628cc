"""An attacker on the network, who has no key, cannot make a writer take more than one message into
its memory, announced or sent. A node's messages during a writer's transfer do not pile up there."""
import os
import socket
import struct
import subprocess
import threading

from network import (BY_LOOPBACK, HEADER, NATIVES_ANSWER, PUSH_FRAMES, WORKING, Nodes, Stranger, expect, receive,
                     welcome)
from nodes import is_sanitized, skip

MB = 1 << 20
ANNOUNCED, FLOOD, FRAME = 200 * MB, 256 * MB, 64 * MB
KERNEL = 32 * MB  # what both kernels may hold of what was sent
MOST = 64 * MB    # of the writer's memory, the test's own at its start included
PILE = 32 * MB

if is_sanitized():
    skip("a sanitizer keeps memory of its own")


class Node:
    """Welcomes a writer of its own user, as a daemon does, and then does as `act(socket, key)` says."""
    def __init__(self, act):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, args=(act,), daemon=True)
        self._thread.start()

    def _serve(self, act):
        connection = self._listener.accept()[0]
        try:
            self.result = act(connection, welcome(connection, b"", BY_LOOPBACK))
        finally:
            connection.close()

    def join(self):
        self._thread.join(100)
        expect(not self._thread.is_alive(), "the node has done what it does")
        self._listener.close()
        return self.result


with Nodes(1) as nodes:
    data = nodes.dataset(frames=0)
    big = nodes.path("big")
    with open(big, "wb") as file:
        file.truncate(FRAME)

    def peak_with(act, *words):
        """The most memory that the writer had, and what `act` returned. Its push must fail."""
        node = Node(act)
        writer = subprocess.Popen([PUSH_FRAMES, node.address, "-", data.path, *words], env=nodes.env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pid.append(writer.pid)
        result = node.join()
        said = writer.stderr.read()
        status, used = os.wait4(writer.pid, 0)[1:]
        writer.returncode = os.waitstatus_to_exitcode(status)
        expect(writer.returncode == 3, f"{writer.returncode}: {said}")
        return used.ru_maxrss * 1024, result

    def announce(connection, key):
        receive(connection, 1)
        connection.sendall(struct.pack(HEADER, NATIVES_ANSWER, 0, ANNOUNCED, 1, 0, 0, 0))
        return receive(connection, 1 << 20)

    def flood(kind, length):
        def act(connection, key):
            receive(connection, 1)
            piece = struct.pack(HEADER, kind, 0, length, 1, 0, 0, 0) + bytes(length + 32)
            piece *= 65536 // len(piece) + 1
            taken = 0
            try:
                while taken < FLOOD:
                    taken += connection.send(piece)
            except OSError:
                pass
            return taken
        return act

    def speak(connection, key):
        """Only what a daemon may say, and nothing is read: the writer's memory after all that."""
        receive(connection, 1)
        header = struct.pack(HEADER, WORKING, 0, 0, 0, 0, 0, 0)
        count = PILE // (len(header) + 32)
        for first in range(0, count, 1000):
            connection.sendall(b"".join(
                header + Stranger._mac(key, struct.pack("<Q", i) + header) for i in range(first, first + 1000)))
        with open(f"/proc/{pid[-1]}/status") as file:
            return int([line for line in file if line.startswith("VmHWM")][0].split()[1]) * 1024

    pid = []
    peak, _ = peak_with(announce, "natives")
    print(f"{ANNOUNCED // MB} MB announced: {peak // 1024} KB")
    expect(peak < MOST, f"the writer has taken {peak} bytes")
    for what, kind, length in (("signs of life", WORKING, 0), ("natives", NATIVES_ANSWER, 65536)):
        for words in (("fd", "f1", big), ("natives",)):
            peak, taken = peak_with(flood(kind, length), *words)
            print(f"{what} without a MAC to {words[0]}: {taken // 1024} KB sent, {peak // 1024} KB")
            expect(taken < KERNEL and peak < MOST, f"{what}: {taken} bytes were taken, {peak} in memory")
    hwm = peak_with(speak, "fd", "f1", big)[1]
    print(f"{PILE // MB} MB of signs of life while it sends: {hwm // 1024} KB")
    expect(hwm < PILE, f"the writer keeps them: {hwm}")
