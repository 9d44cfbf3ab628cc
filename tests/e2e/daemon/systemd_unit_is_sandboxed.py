"""The systemd unit leaves the daemon an exposure of at most 2.0, and every system call that the
daemon makes under a workload."""
import os
import re
import shutil
import signal
import subprocess

from nodes import ZAZEND, Nodes, skip
from processes import expect, wait_until
from systemd_unit import UNIT, analyze, calls_beyond

MOST = 2.0

if not shutil.which("systemd-analyze") or not shutil.which("strace"):
    skip("systemd-analyze or strace is not installed")


def fill(nodes, node, data, names):
    """Again and again: a daemon under strace may be too slow to be told of a miss."""
    def filled():
        nodes.serial(node, ["cat", *(data.file(name) for name in names)]).succeeded()
        return node.counts(data, names)
    wait_until(filled, "the fills")


exposure = re.search(r"exposure level for \S+: ([0-9.]+)",
                     analyze("security", "--offline=true", UNIT).stdout)
expect(exposure and float(exposure[1]) <= MOST, f"exposure: {exposure and exposure[0]}")

with Nodes(1) as nodes:
    node = nodes[0]
    data, more = nodes.dataset(frames=8), nodes.dataset(frames=2, name="sim2")
    node.configure([data])
    calls_file = nodes.path("calls")
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", calls_file, ZAZEND, "--config",
                               node.config], env=nodes.env, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: node.ctl("status").status == 0, "the daemon to serve")
        node.ctl("push", data.path, "--to", f"unix:{node.runtime}").succeeded()
        nodes.serial(node, ["cat", data.file("f1")]).succeeded()
        node.ctl("evict", data.path).succeeded()
        fill(nodes, node, data, ["f1", "f2"])
        node.configure([data, more], "capacity = 100000000\n")
        os.kill(node.status()["pid"], signal.SIGHUP)
        wait_until(lambda: node.status()["capacity_bytes"] == 100_000_000, "the reload")
        fill(nodes, node, more, ["f1"])
    finally:
        os.kill(node.status()["pid"], signal.SIGTERM)
        tracer.wait(30)
    beyond = calls_beyond(calls_file)
    expect(not beyond, f"system calls beyond the unit's filter: {sorted(beyond)}")
