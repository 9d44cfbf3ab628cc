"""The children of a rank (fork, ls, find, sh, python) see the rank's view, whether the daemon is
alive or dead."""
import json
import os

from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20, keys='audit = "warn"')  # they read nothing
    nodes.start()
    nodes.push(data)
    running = nodes.start_mpirun("start_children.py", data)
    running.wait_until_ready()
    for node in nodes:
        node.kill()
    running.go()
    job = running.finish().succeeded()
    seen = []
    for rank in range(4):
        with open(os.path.join(job.out, f"children-{rank}")) as file:
            phases = json.load(file)
        own = phases["before"]["own"]
        expect(set(own) & data.frames and not data.frames <= set(own), f"rank {rank}: {own}")
        seen += set(own) & data.frames
        for phase, listings in phases.items():
            for kind, names in listings.items():
                expect(names == own, f"rank {rank}, {phase}, {kind}: {names}, not {own}")
    expect(sorted(seen) == sorted(data.frames), "the ranks' views are no partition")
