"""After a client that connected and asked nothing only a few may wait at the socket, so that who knocks
without end sleeps in line; a moment later there is room for many again. Nobody in line is lost."""
import os
import signal
import socket

from siege import STATUS, Siege, expect, packet, wait_until

FEW, MANY = 8, 500


def room(siege, address):
    """How many can wait at the socket of a daemon that is stopped, up to MANY. They all ask, and are answered."""
    line = []
    os.kill(siege.pid, signal.SIGSTOP)
    try:
        while len(line) < MANY:
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
            line.append(client)
            if client.connect_ex(address) != 0:
                line.pop().close()
                break
            client.send(packet(STATUS))
    finally:
        os.kill(siege.pid, signal.SIGCONT)
    for client in line:
        client.settimeout(60)
        expect(client.recv(8192), "a client in line got no answer")
        client.close()
    return len(line)


with Siege() as siege:
    directory = os.open(siege.node.runtime, os.O_PATH)
    address = f"/proc/self/fd/{directory}/socket"
    expect(room(siege, address) == MANY, "the line was short before anybody knocked")

    def is_short():
        # From another process: what else the same one has in line would be sent away with it.
        pid = os.fork()
        if pid == 0:
            siege.connect()
            os._exit(0)
        os.waitpid(pid, 0)
        return room(siege, address) <= FEW
    wait_until(is_short, "the line to be short")
    wait_until(lambda: room(siege, address) == MANY, "the line to be long again")
