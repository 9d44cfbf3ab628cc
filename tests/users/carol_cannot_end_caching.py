"""A user who may not enter a dataset passes thousands of sockets and other nonsense as its frames.
Some of them cannot be closed. Neither zazend nor another user's worker holds one descriptor more,
and the owner's frames are cached as usual."""
import array
import errno
import os
import socket

from forked import start_as
from lingering import Unread
from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import FILL, PUSH, answer_to, connect, frame_packet, message
from workers import Workers, descriptors_of

FILLS, IN_A_CONNECTION = 3000, 100
FEW = 20

with SystemNode() as node, Unread() as unread:
    data = node.dataset(12, sizes=(1000, 50_000))
    names = sorted(data.frames)
    files = [data.file(name) for name in names]
    os.chmod(data.path, 0o750)
    node.start()
    runtime, zazend = node.node.runtime, node.node.pid()
    workers = Workers(zazend)

    def read_and_cache(user, names):
        paths = [data.file(name) for name in names]
        readable = node.check(user, paths, "as the origin")
        expect(readable == set(paths), f"{user} cannot read")
        wait_until(lambda: set(names) <= node.node.copies(data), f"the copies of {names}")

    read_and_cache(ALICE, names[:2])
    read_and_cache(BOB, names[2:4])
    expect(not node.check(CAROL, files, "closed"), "carol may enter: no test")

    def held():
        others = workers.of(ALICE) + workers.of(BOB)
        return {pid: descriptors_of(pid) for pid in (zazend, workers.forker, *others)}

    before = held()

    def hand_over_kinds():
        """Each kind of thing, and what carol is told."""
        pair = socket.socketpair()
        reading, _ = os.pipe()
        kinds = [pair[0].fileno(), reading, os.memfd_create("x")]
        kinds += [os.open(path, os.O_RDONLY) for path in ("/dev/null", "/etc/passwd", "/")]
        return [answer_to(runtime, message(kind, data.path, names[4]), fd)
                for kind in (FILL, PUSH) for fd in kinds]

    for told in CAROL.do(hand_over_kinds)["value"]:
        expect(told in (errno.EACCES, errno.EINVAL, errno.EPERM), f"carol is told {told}")

    def hand_over_many():
        """Sockets that linger first, then thousands; nobody waits for an answer."""
        fds = [unread.socket().fileno() for _ in range(8)]
        fds += [socket.socketpair()[0].detach(), os.memfd_create("x"), os.open("/etc/passwd", os.O_RDONLY)] * 4
        sent = 0
        while sent < FILLS:
            client = connect(runtime)
            for _ in range(IN_A_CONNECTION):
                packet = frame_packet(FILL, data.path, names[4 + sent % 8], 0)
                fd = array.array("i", [fds[min(sent, 8 + sent % 12)]])
                client.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
                sent += 1
            client.close()

    # Meanwhile and afterwards; when that process has ended, only the daemon has them.
    pid = start_as(CAROL, hand_over_many)
    read_and_cache(ALICE, names[4:6])
    expect(os.waitpid(pid, 0)[1] == 0, "carol could not send them")
    read_and_cache(BOB, names[6:9])
    read_and_cache(ALICE, names[9:])

    def grown():
        now = held()
        return {pid: (before[pid], now[pid]) for pid in before if pid in now and now[pid] > before[pid] + FEW}
    wait_until(lambda: not grown(), f"descriptors to be given back: {grown()}", 10)
    expect(node.node.copies(data) == set(names), f"copies: {node.node.copies(data)}")
    hits = node.hits()
    node.check(ALICE, files, "cached")
    expect(node.hits() >= hits + len(files), f"alice does not read the copies: {hits}, then {node.hits()}")
    expect(not node.check(CAROL, files, "closed") and not node.readable_copies(CAROL, files), "carol reads them")
    expect(node.node.status()["healthy"], "zazend is not well")
