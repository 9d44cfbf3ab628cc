"""A process of some user that does the same again and again while the test goes on.

    with Companion(BOB, lambda: look()) as spy:
        ...
    expect(spy.found is None, ...)          # the first answer that was not None

It runs in a forked child until it is stopped or has an answer; an OSError is no answer.
"""
import ctypes
import json
import mmap
import os

from processes import expect

AT_FDCWD, RENAME_EXCHANGE = -100, 2
_libc = ctypes.CDLL(None, use_errno=True)


class Companion:
    def __init__(self, user, action):
        self._user, self._action = user, action
        self._flags = mmap.mmap(-1, 8)  # shared: [0] stop, [1] it has begun
        self.found = None

    def __enter__(self):
        self._pipe, into = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.setgroups(self._user.groups)
                os.setresgid(self._user.gid, self._user.gid, self._user.gid)
                os.setresuid(self._user.uid, self._user.uid, self._user.uid)
                os.write(into, json.dumps(self._repeat()).encode())
                os._exit(0)
            except BaseException as error:  # a child must not run the test's own clean-up
                print(f"{self._user}: {error!r}")
            os._exit(1)
        os.close(into)
        return self

    def _repeat(self):
        parent = os.getppid()
        while not self._flags[0] and os.getppid() == parent:
            try:
                found = self._action()
            except OSError:
                found = None
            self._flags[1] = 1
            if found is not None:
                return found
        return None

    def has_begun(self):
        return self._flags[1] != 0

    def __exit__(self, kind, error, trace):
        self._flags[0] = 1
        with open(self._pipe, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        if kind is None:
            expect(status == 0, f"{self._user}'s companion failed")
            self.found = json.loads(answer)


def exchange(one, other):
    """Swaps two names at once."""
    if _libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), one)


def reads_secret(paths, secret):
    """The first of these files that can be opened and has the secret in it."""
    def look():
        for path in paths:
            try:
                with open(path, "rb") as file:
                    if secret in file.read():
                        return path
            except OSError:
                pass
        return None
    return look
