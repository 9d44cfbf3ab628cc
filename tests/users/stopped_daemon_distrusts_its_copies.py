"""A daemon that was stopped (SIGSTOP) for longer than programs wait for it may have missed a
change, and its copies are root's. When it goes on, no stale byte is served."""
import os
import signal
import time

from nodes import PYTHON
from people import ALICE, BOB, SystemNode
from processes import expect, run, wait_until

STALE = 6  # seconds, more than kHeartbeatStaleMs
WRITE = "import os, sys; fd = os.open(sys.argv[1], os.O_WRONLY); os.pwrite(fd, b'new', 0)"


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


with SystemNode() as node:
    data = node.dataset(4, sizes=(1000,), keys='validate = "never"')
    files = [data.file(f"f{seq}") for seq in range(4)]
    node.start()
    node.nodes.push(data)
    wait_until(lambda: not any(d["checks_each_open"] for d in node.node.status()["datasets"]),
               "nothing to be in doubt")
    before = node.read(BOB, files)
    pid = node.node.pid()
    stopped_at = time.monotonic()
    node.node.signal(signal.SIGSTOP)
    wait_until(lambda: state(pid) == "T", "the daemon to stop")
    # Until no program tries to tell it.
    wait_until(lambda: time.monotonic() - stopped_at > STALE, "the heartbeat to be stale")
    env = dict(node.nodes.env, LD_PRELOAD=node.shim, ZAZEN_CONFIG=node.node.config)
    run(ALICE.command([PYTHON, "-I", "-c", WRITE, files[1]]), env).succeeded()
    expect(os.path.exists(node.copy(files[1])), "the copy of root's stayed")
    node.node.signal(signal.SIGCONT)
    wait_until(lambda: "heartbeat_gap" in node.node.said(), "the daemon to notice")
    after = node.read(BOB, files)
    plain = node.read(BOB, files, plain=True)
    for path in files:
        expect(after[path] == plain[path], f"{path}: {after[path]}, not {plain[path]}")
    expect(after[files[1]] != before[files[1]], "no test")
