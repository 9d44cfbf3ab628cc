"""A warm pass of mdtraj and of MDAnalysis over one-frame files, each with its topology, asks the
file server for no cached file. MDAnalysis' lock files cost as many requests as without Zazen, and
the report has their time.

`other_files_cost_no_requests.py --times PAIRS` measures instead: warm passes, and the same on the
local disk, by turns.
"""
import json
import os
import re
import shutil
import statistics
import sys

from nodes import PYTHON, ZAZENCTL, skip
from origin_server import OriginServer
from processes import Process, expect, run

PAIRS = int(sys.argv[2]) if sys.argv[1:2] == ["--times"] else 0
FRAMES = 100 if PAIRS else 8
DELAY = "delay 2000"  # 2 ms for each request
MAKE = """
import sys, numpy, mdtraj
top = mdtraj.Topology()
chain = top.add_chain()
for i in range(500):
    top.add_atom("CA", mdtraj.element.carbon, top.add_residue("ALA", chain))
random = numpy.random.default_rng(1)
for i in range(int(sys.argv[2])):
    frame = mdtraj.Trajectory(random.random((1, 500, 3), dtype=numpy.float32), top)
    if i == 0: frame.save_pdb(sys.argv[1] + "/top.pdb")
    frame.save_xtc(f"{sys.argv[1]}/f{i}.xtc")
"""
PASS = """
import sys, time, warnings
warnings.simplefilter("ignore")
kind, directory, frames = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "mdtraj":
    import mdtraj
    load = lambda frame, top: mdtraj.load(frame, top=top).xyz.sum()
else:
    import MDAnalysis
    load = lambda frame, top: MDAnalysis.Universe(top, frame).atoms.positions.sum()
began, total = time.perf_counter(), 0.0
for i in range(frames): total += float(load(f"{directory}/f{i}.xtc", f"{directory}/top.pdb"))
print(time.perf_counter() - began, f"{total:.1f}")
"""


def zazenctl(server, *words):
    return [ZAZENCTL, "--config", server.node.config, *words]


class Script:
    """The pass of one library."""

    def __init__(self, server, kind):
        self.server, self.kind = server, kind
        self.cached = {"top.pdb", *(f"f{i}.xtc" for i in range(FRAMES))}
        self.locks = set()
        if kind == "MDAnalysis":
            self.cached |= {f".f{i}.xtc_offsets.npz" for i in range(FRAMES)}
            self.locks = {f".f{i}.xtc_offsets.lock" for i in range(FRAMES)}

    def go(self, directory, before=()):
        """Its seconds, what it found, and how often it asked the server for which name."""
        self.server.control("reset")
        argv = [*before, PYTHON, "-c", PASS, self.kind, directory, str(FRAMES)]
        process = Process(argv, self.server.env)
        pid = process.pid
        seconds, total = process.finish(100).succeeded().stdout.split()
        return float(seconds), total, self.server.asked(pid)

    def warm(self):
        return self.go(self.server.path, (*zazenctl(self.server, "run"), "--quiet"))

    def others(self):
        """The last job's calls for other files, from its report."""
        done = self.server.node.ctl("report", "last", "--json").succeeded()
        return json.loads(done.stdout)["other_files"]


def of(names, asked):
    return {name: count for name, count in asked.items() if name in names}


def check(script):
    _, right, plain = script.go(script.server.path)
    expect(all(name in plain for name in script.cached | script.locks), f"plain: {plain}")
    script.server.control(DELAY)
    _, total, asked = script.warm()
    script.server.control("delay 0")
    expect(total == right, f"{script.kind}: {total}, not {right}")
    # The first file that a process opens, the topology, is compared with the origin.
    expect(set(of(script.cached, asked)) <= {"top.pdb"} and asked.get("top.pdb", 0) <= 2,
           f"{asked}")
    expect(of(script.locks, asked) == of(script.locks, plain), f"{asked}, plain {plain}")
    # Each lock is opened twice, and its directory is asked for before: four requests.
    expect(asked["."] <= 4 * len(script.locks) + 4, f"the directory: {asked['.']} requests")
    expect(set(asked) <= script.cached | script.locks | {"."}, f"{asked}")
    # Opens, stats, and a seek to the end of each lock that is open: all that asks the server.
    told = {each["pattern"]: each for each in script.others()}
    expect(set(told) == ({".f*.xtc_offsets.lock", "."} if script.locks else set()), f"{told}")
    for name, each in told.items():
        opens, stats = (0, 2 * FRAMES) if name == "." else (2 * FRAMES, 4 * FRAMES)
        calls = each["reads"], each["writes"], each["stats"]
        expect(calls == (0, opens, stats), f"{each}")
        # A request takes 2 ms at least: an open of a lock makes four, a stat one.
        expect(each["open_seconds"] >= 0.008 * opens, f"{each}")
        expect(each["stat_seconds"] >= 0.002 * stats, f"{each}")


def check_summary(server):
    """The job's second line names the files that took the time, two seconds at least, and fits in
    80 columns."""
    name = ".f1.xtc_of_an_equilibration_with_a_long_name_offsets.lock"
    program = (f"open({server.file('f0.xtc')!r}).close()\n"
               f"for _ in range(25): open({server.file(name)!r}, 'a').close()")
    server.control("delay 20000")
    done = run(zazenctl(server, "run", PYTHON, "-c", program), server.env).succeeded()
    server.control("delay 0")
    lines = done.stderr.splitlines()
    wanted = r"zazen: other files: 25 opens, 50 stats, .* s, most for \.f\*.*\.\.\..*\.lock"
    expect(len(lines) == 2 and len(lines[1]) <= 80 and re.fullmatch(wanted, lines[1]), f"{done}")


def measure(script, local):
    script.server.control(DELAY)
    plain = script.go(script.server.path)[0]
    pairs = []
    for _ in range(PAIRS):
        warm = script.warm()[0]
        others = sum(each["open_seconds"] + each["stat_seconds"] for each in script.others())
        pairs.append((warm, script.go(local)[0], others))
    warm, at_home, others = (statistics.median(each) for each in zip(*pairs))
    ratios = sorted(one / two for one, two, _ in pairs)
    rest = sorted((one - other) / two for one, two, other in pairs)
    named = sorted(other / (one - two) for one, two, other in pairs)
    print(f"{script.kind}: {FRAMES} frames, {PAIRS} pairs, load {os.getloadavg()[0]:.0f}: without "
          f"Zazen {plain:.2f} s, warm {warm:.2f} s, local disk {at_home:.2f} s, ratio "
          f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}); other files by "
          f"the report {others:.2f} s, of the difference {statistics.median(named):.2f} "
          f"({named[0]:.2f} to {named[-1]:.2f}), ratio without them {statistics.median(rest):.3f} "
          f"({rest[0]:.3f} to {rest[-1]:.3f})")
    script.server.control("delay 0")


for module in "mdtraj", "MDAnalysis":
    found = f"import importlib.util as util, sys; sys.exit(util.find_spec('{module}') is None)"
    if run([PYTHON, "-c", found], os.environ).status != 0:
        skip(f"{module} is not installed")

with OriginServer() as server:
    run([PYTHON, "-c", MAKE, server.backing, str(FRAMES)], server.env).succeeded()
    local = server.backing + "-local"
    shutil.copytree(server.backing, local)
    server.template = "f{seq}.xtc"
    server.start_node('also = ["*.pdb", ".*_offsets.npz"]')
    # A frame that has just been written would be compared with the origin at each open.
    server.control("age 3600")
    for kind in "mdtraj", "MDAnalysis":
        script = Script(server, kind)
        if script.locks:  # MDAnalysis writes its offsets
            for directory in [server.path] + [local] * (PAIRS > 0):
                script.go(directory)
        script.warm()
        server.node.wait_for_copies(server, script.cached)
        measure(script, local) if PAIRS else check(script)
    if not PAIRS:
        check_summary(server)
