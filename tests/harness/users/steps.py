"""Workers that are traced: something is done between two system calls of theirs, whichever the test wants. Only
those count that resolve a path, or pass a message: a swap between two others makes no difference.

    with Steps(pids, swap, look) as steps:
        for step in range(1, most):
            steps.set_out([step])       # swap() before the `step`th system call from now on
            fill()
            steps.halt()                # how many there were; look() was called before each
    steps.found                         # the first answer of look() that was not None

All threads of the processes are traced by a forked child of root, which calls swap() and look().
"""
import ctypes
import json
import mmap
import os
import signal
import struct
import traceback

from processes import expect, wait_until

PTRACE_SYSCALL, PTRACE_SEIZE, PTRACE_INTERRUPT = 24, 0x4206, 0x4207
PTRACE_GET_SYSCALL_INFO, ENTRY = 0x420E, 1
TRACESYSGOOD, TRACECLONE = 1, 8
WALL = 0x40000000
# write, sendmsg, recvmsg, open, openat, openat2, readlinkat. Stats and attributes are those of descriptors.
CALLS = {"x86_64": {1, 46, 47, 2, 257, 437, 267}, "aarch64": {64, 211, 212, 56, 437, 78}}
MOST_ACTS = 8
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _ptrace(request, pid, address=None, data=None):
    if _libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x})")


class Steps:
    def __init__(self, pids, swap, look):
        self._pids, self._swap, self._look = pids, swap, look
        self._shared = mmap.mmap(-1, 8 * (4 + MOST_ACTS))  # end, ready, set out, steps, and where to act
        self.found = None

    def _get(self, place):
        return struct.unpack_from("<Q", self._shared, 8 * place)[0]

    def _set(self, place, value):
        struct.pack_into("<Q", self._shared, 8 * place, value)

    def __enter__(self):
        self._pipe, into = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._pipe)
                os.write(into, json.dumps(self._trace()).encode())
                status = 0
            except BaseException:  # a child must not run the test's own clean-up
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(into)
        wait_until(lambda: self._get(1) or self._has_ended(), "the workers to be traced")
        return self

    def _has_ended(self):
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def set_out(self, acts):
        expect(not self._has_ended(), "nobody traces the workers any more")
        for i in range(MOST_ACTS):
            self._set(4 + i, acts[i] if i < len(acts) else 0)
        self._set(3, 0)
        self._set(2, 1)

    def halt(self):
        self._set(2, 0)
        return self._get(3)

    def _trace(self):
        """In the child. Returns what look() has found."""
        parent, found = os.getppid(), None
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)  # to look whether this is to end
        for pid in self._pids:
            for thread in map(int, os.listdir(f"/proc/{pid}/task")):
                _ptrace(PTRACE_SEIZE, thread, None, TRACESYSGOOD | TRACECLONE)
                _ptrace(PTRACE_INTERRUPT, thread)
        self._set(1, 1)
        while not self._get(0) and os.getppid() == parent:
            try:
                thread, status = self._wait()
            except ChildProcessError:
                break  # they have ended
            if thread == 0 or not os.WIFSTOPPED(status):
                continue
            number = status >> 8
            if number == signal.SIGTRAP | 0x80 and self._get(2) and self._is_step(thread):
                step = self._get(3) + 1
                if step in struct.unpack_from(f"<{MOST_ACTS}Q", self._shared, 32):
                    self._swap()
                self._set(3, step)
                found = found or self._look()
            passed_on = number if number < 64 and number != signal.SIGTRAP else 0
            try:
                _ptrace(PTRACE_SYSCALL, thread, None, passed_on)
            except ProcessLookupError:
                pass
        return found

    def _wait(self):
        """As waitpid(); 0 when it is time to look."""
        status = ctypes.c_int()
        thread = _libc.waitpid(-1, ctypes.byref(status), WALL)
        if thread >= 0:
            return thread, status.value
        if ctypes.get_errno() == 10:
            raise ChildProcessError
        return 0, 0

    def _is_step(self, thread):
        info = ctypes.create_string_buffer(88)
        _ptrace(PTRACE_GET_SYSCALL_INFO, thread, 88, ctypes.addressof(info))
        return info.raw[0] == ENTRY and struct.unpack_from("<Q", info.raw, 24)[0] in CALLS[os.uname().machine]

    def __exit__(self, kind, error, trace):
        self._set(0, 1)
        with open(self._pipe, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        if kind is None:
            expect(status == 0, "the workers could not be traced")
            self.found = json.loads(answer)
