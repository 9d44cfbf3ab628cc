"""A worker has the rights of its user and no others. Only root can trace it, read its memory or see
its descriptors. It ends when it was idle for a while, and all workers end with zazend."""
import ctypes
import errno
import os
import signal
import time

from people import ALICE, ALL, BOB, TEAM, SystemNode, User
from processes import expect, wait_until
from wire import SAMPLE, ask
from workers import Workers, is_alive, status_of

CAP_LEASE = 1 << 28
PATIENCE_SECONDS = 60  # it takes 15
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
libc = ctypes.CDLL(None, use_errno=True)


def trace(request, pid):
    def attempt():
        if libc.ptrace(request, pid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    return attempt


def read_memory(pid):
    address, byte = ctypes.c_char_p(b"x"), ctypes.create_string_buffer(1)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    remote = (ctypes.c_void_p * 2)(ctypes.cast(address, ctypes.c_void_p).value, 1)
    if libc.process_vm_readv(pid, local, 1, remote, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def take_descriptor(pid):
    fd = libc.syscall(438, os.pidfd_open(pid), 0, 0)  # pidfd_getfd
    if fd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")


with SystemNode() as node:
    data = node.dataset(2, sizes=(1000,))
    node.start()
    runtime = node.node.runtime
    workers = Workers(node.node.pid())

    def serve(user):
        told = user.do(lambda: ask(runtime, SAMPLE, data.path))
        expect(told == {"value": 0}, f"{user} is told {told}")

    # Their users and groups.
    for user in ALL:
        serve(user)
        pids = workers.of(user)
        expect(len(pids) == 1, f"workers of {user}'s: {pids}")
        status = status_of(pids[0])
        expect(status["Uid"].split() == [str(user.uid)] * 4, f"{user}: {status['Uid']}")
        expect(status["Gid"].split() == [str(user.gid)] * 4, f"{user}: {status['Gid']}")
        expect(sorted(status["Groups"].split()) == sorted(map(str, user.groups)), f"{user}: {status['Groups']}")
        for kind in ("CapEff", "CapPrm"):
            rights = int(status[kind], 16)
            expect(rights & ~CAP_LEASE == 0, f"{user}: {kind} {rights:x}")
        for kind in ("CapInh", "CapAmb"):
            expect(int(status[kind], 16) == 0, f"{user}: {kind} {status[kind]}")
        expect(status["NoNewPrivs"] == "1", f"{user}: a program of another user's could be run")

    # Their user can see that they are there, and no more.
    for user in ALL:
        pid = workers.of(user)[0]
        attempts = {
            "attach": trace(PTRACE_ATTACH, pid),
            "seize": trace(PTRACE_SEIZE, pid),
            "read its memory": lambda: read_memory(pid),
            "take a descriptor": lambda: take_descriptor(pid),
            "open its memory": lambda: os.open(f"/proc/{pid}/mem", os.O_RDONLY),
            "write to its memory": lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR),
            "list its descriptors": lambda: os.listdir(f"/proc/{pid}/fd"),
            "open one of its descriptors": lambda: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY),
            "read its environment": lambda: open(f"/proc/{pid}/environ").read(),
            "see its mappings": lambda: open(f"/proc/{pid}/maps").read(),
            "enter its directory": lambda: os.listdir(f"/proc/{pid}/cwd"),
        }
        for what, attempt in attempts.items():
            code = user.refused(attempt, what)
            expect(code in (errno.EPERM, errno.EACCES), f"{user}: {what}: {os.strerror(code)}")
        for other in (workers.forker, workers.zazend):
            user.refused(trace(PTRACE_ATTACH, other), "trace root's process")
            expect(user.refused(lambda: os.kill(other, 0), "signal root's process") == errno.EPERM, "")

    # The same user with other groups is served by another one.
    outsider = User("bob without the group", BOB.uid)
    serve(outsider)
    for user in (BOB, outsider):
        serve(user)
        expect(len(workers.of(user)) == 1, f"workers of {user}: {workers.of(user)}")
    expect(len(workers.of_uid(BOB.uid)) == 2, f"workers of bob's: {workers.of_uid(BOB.uid)}")
    groups = sorted(status_of(pid)["Groups"].split() for pid in workers.of_uid(BOB.uid))
    expect(groups == [[], [str(TEAM)]], f"their groups: {groups}")

    # One that nobody needs ends. (Alice owns the dataset: zazend itself asks her worker now and then.)
    bobs = workers.of(BOB)[0]
    begin = time.monotonic()
    wait_until(lambda: not is_alive(bobs), "bob's idle worker to end", PATIENCE_SECONDS)
    expect(time.monotonic() - begin > 1, "it did not wait for more requests")
    for user in (BOB, outsider):
        serve(user)
    expect(workers.of(BOB) != [bobs], "bob has no new one")
    expect(node.node.status()["healthy"], "zazend is not well")

    # The end of zazend is everybody's, whatever they are about.
    serve(ALICE)
    stopped = workers.of(BOB)[0]
    os.kill(stopped, signal.SIGSTOP)
    everybody = workers.everybody()
    expect(len(everybody) >= 4, f"{everybody}")
    node.node.signal(signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, everybody)), f"all of {everybody} to be gone", 10)
    node.node.kill()
    node.node.start()
    serve(BOB)
