"""A warm pass of mdtraj and of MDAnalysis over one-frame files, each with its topology, asks the
file server for no cached file. MDAnalysis' lock files cost as many requests as without Zazen. The
report names the calls that make all these requests, and a time that has all their waiting.

`other_files_cost_no_requests.py --times PAIRS` measures instead: warm passes, and the same on the
local disk, by turns. `explained` is the local pass and the time of other files, to the warm pass.
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
# The first file that a process opens is compared with the origin. The accounts begin after that.
open(f"{directory}/top.pdb").close()
with open(f"{directory}/.control", "w") as control: control.write("reset")
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
        """Its seconds, what it found, and for which name it asked the server how often and how long."""
        argv = [*before, PYTHON, "-c", PASS, self.kind, directory, str(FRAMES)]
        process = Process(argv, self.server.env)
        pid = process.pid
        seconds, total = process.finish(100).succeeded().stdout.split()
        return float(seconds), total, self.server.asked(pid), self.server.held(pid)

    def warm(self):
        return self.go(self.server.path, (*zazenctl(self.server, "run"), "--quiet"))

    def others(self):
        """The last job's calls for other files, from its report, by their pattern."""
        done = self.server.node.ctl("report", "last", "--json").succeeded()
        told = {each["pattern"]: each for each in json.loads(done.stdout)["other_files"]}
        told.pop(".control")
        return told


def of(names, asked):
    return {name: count for name, count in asked.items() if name in names}


def seconds_of(told):
    return sum(each["open_seconds"] + each["stat_seconds"] for each in told.values())


def requests_of(told):
    """An open of a lock makes four, a stat one, as does a seek to the end."""
    return sum(4 * (each["reads"] + each["writes"]) + each["stats"] for each in told.values())


def check(script):
    _, right, plain, _ = script.go(script.server.path)
    expect(all(name in plain for name in script.cached | script.locks), f"plain: {plain}")
    script.server.control(DELAY)
    seconds, total, asked, held = script.warm()
    script.server.control("delay 0")
    expect(total == right, f"{script.kind}: {total}, not {right}")
    expect(of(script.locks, asked) == of(script.locks, plain), f"{asked}, plain {plain}")
    expect(set(asked) == (script.locks | {"."} if script.locks else set()), f"{asked}")
    told = script.others()
    expect(set(told) == ({".f*.xtc_offsets.lock", "."} if script.locks else set()), f"{told}")
    for name, each in told.items():
        opens, stats = (0, 2 * FRAMES) if name == "." else (2 * FRAMES, 4 * FRAMES)
        calls = each["reads"], each["writes"], each["stats"]
        expect(calls == (0, opens, stats), f"{each}")
        # A request takes 2 ms at least.
        expect(each["open_seconds"] >= 0.008 * opens, f"{each}")
        expect(each["stat_seconds"] >= 0.002 * stats, f"{each}")
    # The calls that the report names are all that asks the server, and have all the waiting for it.
    expect(requests_of(told) == sum(asked.values()), f"{told}, asked {asked}")
    expect(0.002 * sum(asked.values()) <= sum(held.values()) <= seconds_of(told) <= seconds,
           f"{seconds} s, by the report {told}, held {held}")


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


def spread(name, values):
    return {name: round(statistics.median(values), 3), f"lowest_{name}": round(min(values), 3),
            f"highest_{name}": round(max(values), 3)}


def measure(script, local):
    script.server.control(DELAY)
    plain = script.go(script.server.path)[0]
    pairs = []
    for _ in range(PAIRS):
        warm, _, asked, held = script.warm()
        told = script.others()
        pairs.append((warm, script.go(local)[0], seconds_of(told), sum(held.values()),
                      sum(asked.values()), requests_of(told)))
    script.server.control("delay 0")
    warm, at_home, others, held, asked, named = (
        round(statistics.median(each), 2) for each in zip(*pairs))
    return {"name": script.kind, "origin_seconds": round(plain, 2), "warm_seconds": warm,
            "local_seconds": at_home, "other_seconds": others, "held_seconds": held,
            "requests": asked, "named_requests": named,
            **spread("ratio", [each[0] / each[1] for each in pairs]),
            **spread("ratio_without_others", [(each[0] - each[2]) / each[1] for each in pairs]),
            **spread("explained", [(each[1] + each[2]) / each[0] for each in pairs])}


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
    libraries = []
    for kind in "mdtraj", "MDAnalysis":
        script = Script(server, kind)
        if script.locks:  # MDAnalysis writes its offsets
            for directory in [server.path] + [local] * (PAIRS > 0):
                script.go(directory)
        script.warm()
        server.node.wait_for_copies(server, script.cached)
        if PAIRS:
            libraries.append(measure(script, local))
        else:
            check(script)
    if PAIRS:
        print(json.dumps({"frames": FRAMES, "pairs": PAIRS, "load": os.getloadavg()[0],
                          "libraries": libraries}, indent=1))
    else:
        check_summary(server)
