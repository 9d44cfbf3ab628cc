"""Without a key the kernel tells who owns a connection. It attributes a connection that its owner
has closed to root. Another user who sends everything at once and leaves stores nothing."""
import encodings.idna  # noqa: F401  the other user cannot import it
import os
import signal
import struct

from network import (CONTENT_END, PUSH, Nodes, Stranger, expect, left_overs, listen, wait_until)
from nodes import skip
from workers import Workers

if os.geteuid() != 0:
    skip("only root can become another user")
if os.path.exists("/run/munge/munge.socket.2"):
    skip("with MUNGE nobody is believed without a proof")

NOBODY = 65534
CHECKSUM = 0x2D06800538D394C2  # XXH3 of no bytes


def empty_frame(writer, data, name):
    return (writer.message(PUSH, writer.names(data.path, name)) +
            writer.message(CONTENT_END, struct.pack("<Q16x", CHECKSUM)))


def states(pid):
    """Of all its threads."""
    found = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat") as file:
            found.add(file.read().rsplit(")", 1)[1].split()[0])
    return found


def is_orphan(address):
    """The other end of a connection to that port waits for the end, and is user 0's."""
    port = f":{int(address.rsplit(':', 1)[1]):04X}"
    with open("/proc/net/tcp") as file:
        lines = [line.split() for line in file]
    return any(line[2].endswith(port) and line[3] == "05" and line[7] == "0" for line in lines)


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    listen(node, [data])

    def send_and_leave():
        """In a child that is another user; the daemon's processes sleep until all has come and the child is gone."""
        go, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                stranger = Stranger(node.address)
                introduction = stranger.introduction()
                os.write(told, b"x")
                os.close(told)
                signal.sigtimedwait([signal.SIGUSR1], 60)
                stranger.socket.sendall(introduction + empty_frame(stranger, data, "f2"))
                stranger.socket.close()
                status = 0
            except Exception as error:
                print(f"the stranger: {error!r}", flush=True)
            finally:
                os._exit(status)
        os.close(told)
        expect(os.read(go, 1) == b"x", "the stranger has the hello")
        os.close(go)
        processes = Workers(node.pid()).everybody()
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        wait_until(lambda: all(states(process) == {"T"} for process in processes), "the daemon to stop")
        os.kill(pid, signal.SIGUSR1)
        expect(os.waitpid(pid, 0)[1] == 0, "the stranger could send")
        wait_until(lambda: is_orphan(node.address), "the kernel to forget whose it was")
        for process in processes:
            os.kill(process, signal.SIGCONT)

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    send_and_leave()
    wait_until(lambda: node.status()["network"]["refused"] == 1, "the refusal")
    expect(node.held(data) == 0 and left_overs(node, data) == [], "nothing is stored")

    with Stranger(node.address) as own:  # the same bytes are a push if they are the daemon's own user's
        expect(own.introduce() == 0, "loopback")
        own.socket.sendall(empty_frame(own, data, "f1"))
        expect(own.answer() == (7, 0) and node.held(data, "native") == 1, "an empty frame")
