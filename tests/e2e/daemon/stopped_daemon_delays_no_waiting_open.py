"""With fill = "wait" and a stopped daemon (SIGSTOP), an open waits a quarter of a second, and not
until the heartbeats are missed."""
import re
import shutil
import signal

from nodes import SHIM, Nodes, skip
from processes import expect, run

if not shutil.which("strace"):
    skip("strace is not installed")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False, keys='fill = "wait"')
    node = nodes[0]
    nodes.start()
    node.signal(signal.SIGSTOP)
    calls_file = nodes.path("calls")
    files = [data.file(name) for name in sorted(data.frames)]
    run(["strace", "-qq", "-o", calls_file, "-e", "trace=connect,poll,ppoll",
         "-E", f"LD_PRELOAD={SHIM}", "-E", f"ZAZEN_CONFIG={node.config}", "cat", *files],
        nodes.env).succeeded()
    with open(calls_file) as file:
        calls = file.read()
    wait = re.compile(r"\{tv_sec=(\d+), tv_nsec=(\d+)\}.*\(Timeout\)")
    in_vain = [sum(int(seconds) + int(ns) * 1e-9 for seconds, ns in wait.findall(talk))
               for talk in re.split(r"^connect\(", calls, flags=re.M)[1:]]
    expect(in_vain, f"it was not asked: {calls}")
    expect(0.2 < max(in_vain) < 0.26, f"seconds of each talk: {in_vain}")
    node.signal(signal.SIGCONT)
