"""A passed descriptor may have, or get during the copy, any flags, owner, signal, lease and
position. The copy is right, the descriptor is unchanged, and no signal reaches zazend."""
import errno
import fcntl
import os
import random
import signal
import threading

from people import ALICE, CAROL, SystemNode
from processes import expect
from wire import EVICT, FILL, ask
from workers import state_of

F_SETSIG, F_GETSIG = 10, 11
FRAME_BYTES = 8_000_123  # its end is not aligned
ROUNDS = 5
STATE = (fcntl.F_GETFL, fcntl.F_GETOWN, F_GETSIG, fcntl.F_GETLEASE)

with SystemNode() as node:
    data = node.dataset(3, sizes=(FRAME_BYTES, 1000, 1000))
    path = data.file("f0")
    os.chmod(path, 0o600)
    os.utime(path, (1e9, 1e9))
    node.start()
    runtime, zazend = node.node.runtime, node.node.pid()
    with open(path, "rb") as file:
        content = file.read()

    def state_of_file(fd):
        return [fcntl.fcntl(fd, what) for what in STATE] + [os.lseek(fd, 0, os.SEEK_CUR)]

    def hand_over(fd, prepare, toggle):
        """The status of the fill, and what has changed of the descriptor though nobody toggled it."""
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        prepare(fd)
        before, stop = state_of_file(fd), threading.Event()

        def keep_toggling():
            while not stop.is_set():
                toggle(fd)

        thread = threading.Thread(target=keep_toggling)
        thread.start()
        status = ask(runtime, FILL, data.path, "f0", fd)
        stop.set()
        thread.join()
        changes = [pair for pair in zip(before, state_of_file(fd)) if pair[0] != pair[1]]
        return status, changes if toggle is rest else []

    def check(what, user, flags=os.O_RDONLY, prepare=lambda fd: None, toggle=None, expected=0):
        for _ in range(ROUNDS):
            expect(ask(runtime, EVICT, data.path) == 0, "the copies stay")
            fd = os.open(path, flags)  # by root: Carol may not open it herself
            try:
                answer = user.do(lambda: hand_over(fd, prepare, toggle or rest))
            finally:
                os.close(fd)
            status, changes = answer.get("value", [None, None])
            expect(status == expected, f"{what}: {user} is told {answer}")
            expect(not changes or expected == errno.EBUSY, f"{what}: the state has changed: {changes}")
            if expected == 0:
                with open(node.copy(path), "rb") as copy:
                    expect(copy.read() == content, f"{what}: the copy is wrong")
            expect(state_of(zazend) not in "TtZX", f"{what}: zazend was signalled")

    def rest(_):
        threading.Event().wait(0.001)

    def set_flags(flags):
        return lambda fd: fcntl.fcntl(fd, fcntl.F_SETFL, flags)

    def toggle_flags(flags):
        def toggle(fd):
            for value in (flags, 0):
                fcntl.fcntl(fd, fcntl.F_SETFL, value)
        return toggle

    def owned_by(pid, number):
        def prepare(fd):
            fcntl.fcntl(fd, fcntl.F_SETOWN, pid)
            fcntl.fcntl(fd, F_SETSIG, number)
            fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC)
        return prepare

    def lease(kind):
        return lambda fd: fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)

    def take_and_leave(fd):
        for kind in (fcntl.F_RDLCK, fcntl.F_UNLCK):
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
            except OSError:  # somebody has it open for writing
                pass

    # The owner's worker opens the file anew. Carol's cannot, and reads from what was passed.
    for user in (ALICE, CAROL):
        check("O_NONBLOCK", user, os.O_RDONLY | os.O_NONBLOCK)
        check("for both", user, os.O_RDWR | os.O_APPEND, expected=errno.EBUSY if user is ALICE else 0)
        check("at the end", user, prepare=lambda fd: os.lseek(fd, 0, os.SEEK_END))
        check("O_DIRECT", user, os.O_RDONLY | os.O_DIRECT)
        check("O_DIRECT, toggled", user, toggle=toggle_flags(os.O_DIRECT))
        check("O_NONBLOCK and O_ASYNC, toggled", user, toggle=toggle_flags(os.O_NONBLOCK | os.O_ASYNC))
        check("a position that moves", user, toggle=lambda fd: os.lseek(fd, random.randrange(FRAME_BYTES), 0))
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1, 0):
            check(f"owned by zazend, signal {number}", user, prepare=owned_by(zazend, number))
    check("a lease for reading", ALICE, prepare=lease(fcntl.F_RDLCK))
    check("a lease for reading, toggled", ALICE, toggle=take_and_leave)
    check("a lease for writing", ALICE, os.O_RDWR, prepare=lease(fcntl.F_WRLCK), expected=errno.EBUSY)
    expect(node.check(ALICE, [path], "afterwards") == {path}, "alice cannot read")
    node.check(CAROL, [path], "afterwards")
    expect(node.node.status()["healthy"], "zazend is not well")
