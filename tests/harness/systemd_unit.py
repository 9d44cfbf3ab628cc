"""The system calls that the unit of packaging/systemd allows the daemon, and those of a trace."""
import os
import re
import subprocess

from processes import expect

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "systemd",
                    "zazend.service")


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True,
                          env=dict(os.environ, SYSTEMD_PAGER="", SYSTEMD_COLORS="0"))


def members(group):
    """The system calls of a set, and of the sets in it."""
    done = analyze("syscall-filter", group)
    words = [line.strip() for line in done.stdout.splitlines() if line.startswith("    ")]
    calls = {word for word in words if re.fullmatch(r"[a-z0-9_]+", word)}
    for word in words:
        if word.startswith("@"):
            calls |= members(word)
    return calls


def settings(key):
    with open(UNIT) as file:
        return re.findall(rf"^{key}=(.*)$", file.read(), re.MULTILINE)


def allowed():
    calls = members("@default")
    for line in settings("SystemCallFilter"):
        words = line.lstrip("~").split()
        named = set().union(*(members(word) if word[0] == "@" else {word} for word in words))
        calls = calls - named if line.startswith("~") else calls | named
    return calls


def calls_beyond(trace):
    """Those in strace's output that the unit's filter does not let through."""
    with open(trace) as file:
        calls = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z0-9_]+)(?:\(| resumed)", file.read(),
                               re.MULTILINE))
    expect({"openat", "pread64", "epoll_wait", "sendmsg"} <= calls, f"a trace: {sorted(calls)}")
    return calls - allowed()
