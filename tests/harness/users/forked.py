"""Processes of users that end without any clean-up: what they have open is closed by the kernel alone."""
import os
import traceback

from processes import expect


def start_as(user, action):
    """Calls action() in a child of this user; its exit status is 0 if that returns."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups(user.groups)
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
            action()
            status = 0
        except BaseException:  # a child must not run the test's own clean-up
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def run_as(user, action, what):
    expect(os.waitpid(start_as(user, action), 0)[1] == 0, f"{user} could not {what}")
