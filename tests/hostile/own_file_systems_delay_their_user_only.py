"""A user runs a FUSE file system in a user namespace, whose files look like frames, and passes them
to the daemon. The daemon refuses them. When their server hangs, every process that closes one
blocks, even a killed worker. That delays only this user, and zazend ends in time."""
import array
import errno
import os
import signal
import socket
import stat
import time

from forked import start_as
from hanging_server import HangingServer
from namespaces import enter_namespace, require_namespaces
from nodes import skip
from people import ALICE, BOB, CAROL, SystemNode, User
from processes import expect, wait_until
from wire import FILL, KEEP_LISTING, PUSH, SAMPLE, ask, connect, message
from witness import Witness
from workers import Workers, is_alive

FRAMES = 40
STOP_SECONDS = 2  # a second, on a machine that is not busy
ROOT_THERE = User("root of the namespace", 0)

require_namespaces()
if not os.path.exists("/dev/fuse"):
    skip("no FUSE")


class Attacker:
    """A process of the user with a FUSE mount of its own, that stays until the end."""

    def __init__(self, user, node, data):
        answer, into = os.pipe()
        leave, self._go = os.pipe()
        place = node.nodes.path(f"mount-{user}")
        os.mkdir(place)
        os.chown(place, user.uid, user.gid)

        def stay():
            enter_namespace()
            inode = os.stat(data.file("f0")).st_ino
            server = HangingServer(place, FRAMES, ROOT_THERE, device, inode)
            self._fds = [os.open(f"{place}/f{i}", os.O_RDONLY) for i in range(FRAMES)]
            expect(os.fstat(self._fds[0]).st_ino == inode, "the files do not look like frames")
            told = [ask(node.node.runtime, kind, data.path, "f0", self._fds[0]) for kind in (FILL, PUSH)]
            server.hang()
            clients = self._send(node, data)  # noqa: F841
            os.write(into, bytes(told))
            # If it just ended, the kernel would wait for its own server when it closes the files: for ever.
            os.close(self._go)
            os.read(leave, 1)
            os.close(server.fd)
        self._pid = start_as(user, stay)
        os.close(into)
        os.close(leave)
        self.told = list(os.read(answer, 2))
        os.close(answer)

    def _send(self, node, data):
        """In messages that want one and in those that do not, behind nonsense, and left unread."""
        packets = [message(FILL, data.path, "f0"), message(PUSH, data.path, "f1"), message(SAMPLE, data.path),
                   message(KEEP_LISTING, data.path), b"no message at all"]
        clients = []
        for number, fd in enumerate(self._fds):
            client = connect(node.node.runtime)
            if number % 2:
                client.send(b"no message at all")
            try:
                passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
                client.sendmsg([packets[number % len(packets)]], passed)
            except OSError:  # closed by now
                pass
            clients.append(client)
        return clients

    def end(self):
        os.close(self._go)
        os.waitpid(self._pid, 0)


with SystemNode() as node:
    device = node.nodes.path("fuse")  # everybody's, as in most systems
    os.mknod(device, 0o666 | stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
    os.chmod(device, 0o666)
    data, bobs = node.dataset(4, sizes=(1000,)), node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    files = [data.file(name) for name in sorted(data.frames)]
    node.start()
    zazend = node.node.pid()
    workers = Workers(zazend)
    attackers = []
    try:
        with Witness(BOB, node, data, bobs) as witness:
            for user in (CAROL, ALICE):  # Alice owns the frames that Bob reads
                attackers.append(Attacker(user, node, data))
                expect(attackers[-1].told == [errno.EPERM] * 2, f"{user} is told {attackers[-1].told}")
                witness.goes_on()
                node.check(BOB, files, f"while the server of {user} hangs")
                for pid in workers.of_uid(user.uid):
                    os.kill(pid, signal.SIGKILL)
                witness.goes_on()
                node.check(user, files, "with workers that were killed")
        print(f"bob's slowest answer came after {witness.slowest:.3f} s")

        everybody = workers.everybody()
        begin = time.monotonic()
        node.node.signal(signal.SIGTERM)
        wait_until(lambda: not is_alive(zazend), "zazend to end", 10)
        took = time.monotonic() - begin
        expect(took < STOP_SECONDS, f"zazend ended after {took:.1f} s")
        node.node.finish()
    finally:
        for attacker in reversed(attackers):  # the later ones have inherited the pipes of the earlier
            attacker.end()
    wait_until(lambda: not any(map(is_alive, everybody)), "the workers to end")
