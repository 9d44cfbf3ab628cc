"""The reader's requests to the daemon have the shim's limits. A stopped daemon delays an open with
fill = "wait" a quarter of a second, and is then left alone for a second. Where reads are ordered, a
copy's first and last byte are looked for in memory."""
import re
import shutil
import signal
import sys

from bodhi_library import Bodhi
from nodes import BUILD, PYTHON, Nodes, skip
from processes import expect, run

if len(sys.argv) > 1:
    with Bodhi(sys.argv[1]) as reader:
        for seq in sys.argv[3:]:
            reader.read(sys.argv[2], int(seq))
    sys.exit(0)

if not shutil.which("strace"):
    skip("strace is not installed")
SIZE = 300_000

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(SIZE,), ordinary=False, keys='fill = "wait"')
    nodes.configure('read_order = "fifo"\n')
    node = nodes[0]
    node.start()
    nodes.warm(node, data, ["f0"])

    def calls_of_reader(kinds, seqs):
        calls = nodes.path("calls")
        run(["strace", "-qq", "-f", "-ttt", "-o", calls, "-e", f"trace={kinds}", PYTHON, __file__,
             node.config, data.path, *map(str, seqs)], dict(nodes.env, ZAZEN_BUILD=BUILD)).succeeded()
        with open(calls) as file:
            return file.read()

    calls = calls_of_reader("preadv2", [0])
    looks = re.findall(r"preadv2\(\d+, .*?, 1, (\d+), RWF_NOWAIT\)", calls)
    # If the first byte is not in memory, nobody looks for the last one.
    expect(looks == ["0", str(SIZE - 1)] or "EAGAIN" in calls, f"looks: {looks} in {calls}")

    node.signal(signal.SIGSTOP)
    calls = calls_of_reader("connect,poll,ppoll", range(1, 8))
    node.signal(signal.SIGCONT)
    talks = re.split(r"^(?=\d+ +[\d.]+ connect\()", calls, flags=re.M)[1:]
    expect(talks, f"it was not asked: {calls}")
    begun = [float(re.match(r"\d+ +([\d.]+)", talk).group(1)) for talk in talks]
    wait = re.compile(r"\{tv_sec=(\d+), tv_nsec=(\d+)\}.*\(Timeout\)")
    in_vain = [sum(int(seconds) + int(ns) * 1e-9 for seconds, ns in wait.findall(talk))
               for talk in talks]
    expect(0.2 < max(in_vain) < 0.26, f"seconds of each talk: {in_vain}")
    expect(all(later - earlier > 1 for earlier, later in zip(begun, begun[1:])),
           f"it is not left alone for a second: {begun}")
