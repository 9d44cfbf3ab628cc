"""A warm pass of mdtraj and of MDAnalysis over one-frame files, each opened with a topology, asks a slow server
(2 ms for each request) for no frame and no companion; the report names what is left. Prints the times beside those
of the same pass over the same files on the local disk: `other_files_cost_no_requests.py [FRAMES]`."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from nodes import ZAZENCTL, skip
from origin_server import OriginServer
from processes import expect, run

FRAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
PYTHON = "/usr/bin/python3"  # that of the packages
MAKE = """
import sys, numpy, mdtraj
top = mdtraj.Topology()
chain = top.add_chain()
for i in range(500):
    residue = top.add_residue("ALA", chain)
    top.add_atom("CA", mdtraj.element.carbon, residue)
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
print(time.perf_counter() - began, f"{total:.3f}" if kind == "mdtraj" else f"{total:.1f}")
"""


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


kinds = [kind for kind in ("mdtraj", "MDAnalysis") if has(kind)]
if "mdtraj" not in kinds:
    skip("there is no mdtraj, which makes the frames")

with OriginServer() as server:
    run([PYTHON, "-c", MAKE, server.backing, str(FRAMES)], server.env).succeeded()
    for kind in kinds:  # MDAnalysis writes its offsets
        run([PYTHON, "-c", PASS, kind, server.backing, str(FRAMES)], server.env, seconds=100).succeeded()
    made = time.time()
    local = server.backing + "-local"
    shutil.copytree(server.backing, local)
    # Copies of files that changed within a minute before are compared with the origin at each open.
    time.sleep(max(0, made + 62 - time.time()))
    server.template = "f{seq}.xtc"
    server.start_node('also = ["*.pdb", ".*_offsets.npz"]')
    server.control("delay 2000")

    def go(kind, directory, *before):
        argv = [*before, PYTHON, "-c", PASS, kind, directory, str(FRAMES)]
        done = run(argv, server.env, seconds=100).succeeded()
        seconds, total = done.stdout.split()
        return float(seconds), total, done.stderr

    ours = ZAZENCTL, "--config", server.node.config, "run"
    for kind in kinds:
        go(kind, local)  # writes the offsets of MDAnalysis, which go by ctime
        plain, right, _ = go(kind, local)
        cold, total, _ = go(kind, server.path, *ours)
        expect(total == right, f"{kind}: {total}, not {right}")
        wanted = {"top.pdb", *(f"f{i}.xtc" for i in range(FRAMES))}
        if kind == "MDAnalysis":
            wanted |= {f".f{i}.xtc_offsets.npz" for i in range(FRAMES)}
        server.node.wait_for_copies(server, wanted)
        server.control("reset")
        warm, total, said = go(kind, server.path, *ours)
        asked = server.asked()
        expect(total == right, f"{kind}: {total}, not {right}")
        # The daemon compares a sample of the copies, a stat each, when a process first uses the dataset.
        cached = {name: count for name, count in asked.items() if name in wanted and count > 4}
        expect(not cached, f"{kind}: the server was asked for {cached}")
        others = json.loads(server.node.ctl("report", "last", "--json").succeeded().stdout)["other_files"]
        told = {each["pattern"] for each in others}
        left = {re.sub(r"[0-9]+", "*", name) for name, count in asked.items()
                if name not in wanted | {"."} and count >= FRAMES}
        expect(left <= told, f"{kind}: the report has {told}, and the server was asked for {left}")
        seconds = sum(each["open_seconds"] + each["stat_seconds"] for each in others)
        print(f"{kind}: {FRAMES} frames: local disk {plain:.2f} s, slow origin cold {cold:.2f} s, "
              f"warm {warm:.2f} s ({warm / plain:.2f}), of which other files {seconds:.2f} s")
        for each in others:
            print("   ", each)
        print("   ", said.strip())
