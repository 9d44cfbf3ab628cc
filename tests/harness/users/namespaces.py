"""User namespaces, as of `unshare -Urm` and rootless containers.

    BOB.do(lambda: (enter_namespace(), ...))     # in a child of Bob's, which is root there and may mount
"""
import ctypes
import os

from nodes import skip
from people import BOB

NEWNS, NEWUSER, PR_SET_DUMPABLE = 0x20000, 0x10000000, 4
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def leave_for_namespace():
    """As `unshare -Um`: until somebody writes maps, the user is nobody there."""
    _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self is root's
    _check(_libc.unshare(NEWUSER | NEWNS), "unshare")


def enter_namespace():
    """As `unshare -Urm`."""
    uid, gid = os.getuid(), os.getgid()
    leave_for_namespace()
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def mount(source, target, kind=None, flags=0, options=None):
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(_libc.mount(*words, flags, None if options is None else os.fsencode(options)), f"mount on {target}")


def bind(source, target):
    mount(source, target, None, MS_BIND | MS_REC)


def can_mount(*mount_arguments):
    """Whether a user can do that in a namespace of their own."""
    return "value" in BOB.do(lambda: (enter_namespace(), mount(*mount_arguments)) and None)


def require_namespaces():
    if "errno" in BOB.do(enter_namespace):
        skip("users may have no user namespaces")
